"""The agent of a conversation: another one, its model, mode and settings, its login; the person's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from catena.acts.agents import session_of
from catena.acts.settings import known_templates
from catena.acts.surface import Refused
from catena.acts.unknown import unknown_argument
from catena.linear.commands.prompts import PromptCommands, announced
from catena.linear.context import LinearContext
from catena.settings.agent_choices import Readiness, agent_choices, offered_agents
from catena.settings.linear import LinearSetting
from catena.settings.templates import Template, used_templates
from catena.text.safe_text import safe_line


class AgentCommands:
    """Actions on the agent of the tab that is read, and on settings."""

    def __init__(self, context: LinearContext, prompts: PromptCommands) -> None:
        self._context = context
        self._prompts = prompts

    # --- another agent

    async def agents(self, argument: str) -> None:
        """List the agents that are here, and say how many others can be had; with ``all``, list those, too."""
        context = self._context
        if argument not in ("", "all"):
            raise Refused(unknown_argument(f"agent list {argument}", "/agent list [all]"))
        known = await asyncio.to_thread(agent_choices, context.settings, None, await offered_agents())
        missing = [each for each in known if each.readiness is Readiness.MISSING]
        for each in known:
            if argument != "all" and each in missing:
                continue
            pieces = (each.title, each.name, str(each.readiness), each.version, each.about)
            context.out.line(f"Agent: {safe_line(', '.join(filter(None, pieces)))}")
        if missing and argument != "all":
            context.out.line(f"Agent: {len(missing)} more, not installed. /agent list all reads them.")
        context.say("/agent NAME continues with another one; catena agents install NAME installs one.")

    async def announced(self) -> Sequence[str]:
        """The names of the commands that the agent has announced."""
        tab = self._context.here
        if (tab.session or tab.window.session).commands is None and not tab.busy:
            await session_of(tab)
        return announced(tab)

    # --- templates

    async def templates(self) -> Mapping[str, Template]:
        """The templates that are used, by name."""
        return used_templates(await known_templates(self._context.tabs, self._context.tab).read())

    async def use_template(self, template: Template, argument: str) -> None:
        """Put a template into the draft, filled in, and read that; ask a side question."""
        await self._context.do("templates", f"use {template.name} {argument}")
        if not template.aside:
            await self._prompts.draft()

    # --- how much is said

    async def linear(self, argument: str) -> None:
        """Say less or more: quiet, normal, verbose; or each answer once it is whole."""
        levels = (LinearSetting.QUIET, LinearSetting.NORMAL, LinearSetting.WHOLE, LinearSetting.VERBOSE)
        if not argument:
            self._context.say(
                f"Linear mode is {self._context.level}; /show detail quiet, normal, whole or verbose changes it."
            )
            return
        if argument not in levels:
            raise Refused(f"/show detail takes one of {', '.join(levels)}.")
        self._context.level = LinearSetting(argument)
        self._context.say(f"Linear mode is {argument} until you leave. /settings linear {argument} keeps it.")

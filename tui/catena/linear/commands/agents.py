"""The agent of a conversation: another one, its model, mode and settings, its login; the person's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.acts.access import known_templates
from catena.acts.agents import session_of
from catena.acts.surface import Refused
from catena.errors import InvalidSettings, SettingsNotWritten
from catena.linear.commands.prompts import PromptCommands, announced
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext
from catena.settings.agent_choices import agent_choices, offered_agents
from catena.settings.file.location import settings_path
from catena.settings.linear import LinearSetting
from catena.settings.settings import at_once, definition_of, load_settings
from catena.settings.templates import named_template
from catena.text.safe_text import safe_line


class AgentCommands:
    """Actions on the agent of the tab that is read, and on settings."""

    def __init__(self, context: LinearContext, tabs: TabCommands, prompts: PromptCommands) -> None:
        self._context = context
        self._tabs = tabs
        self._prompts = prompts

    # --- another agent

    async def agents(self) -> None:
        """List the agents: which are here, and how to get the others."""
        context = self._context
        known = await asyncio.to_thread(agent_choices, context.settings, None, await offered_agents())
        for each in known:
            pieces = (safe_line(each.title), each.name, str(each.readiness), each.version, each.about)
            context.out.line(f"Agent: {', '.join(filter(None, pieces))}")
        context.say("/agent NAME continues with another one; catena agents install NAME installs one.")

    async def announced(self) -> Sequence[str]:
        """The names of the commands that the agent has announced."""
        tab = self._context.here
        if (tab.session or tab.window.session).commands is None and not tab.busy:
            await session_of(tab)
        return announced(tab)

    # --- templates

    async def fill_template(self, name: str, argument: str) -> bool:
        """Put a template of this name into the draft, filled in; False if there is none."""
        context = self._context
        template = named_template(await known_templates(context.tabs, context.tab).read(), name)
        if template is None:
            return False
        await self._prompts.write(template.with_arguments(argument))
        await self._prompts.draft()
        return True

    # --- the person's settings

    async def settings(self, argument: str) -> None:
        """Read the settings, or one; with a value, write it into the settings file."""
        from catena.settings.effective import effective_settings
        from catena.settings.file.writing import SettingChange, file_value, key_of, write_setting

        context, path = self._context, settings_path()
        name, _, value = argument.partition(" ")
        if value.strip():
            definition = definition_of(name)
            try:
                change = SettingChange(key_of(name), file_value(definition, value.strip()))
                await asyncio.to_thread(write_setting, path, change)
            except (ValueError, SettingsNotWritten, InvalidSettings) as error:
                raise Refused(str(error)) from error
            context.settings = at_once(context.settings, load_settings(path))
            holds = f"It holds {definition.applies.value}." if definition else ""
            context.say(f"{safe_line(name)} is written into the settings file. {holds}".rstrip())
            return
        for each in await asyncio.to_thread(effective_settings, path, context.environment):
            if name and not f"{each.name}.".startswith(f"{name}."):
                continue
            told = "hidden" if each.private and each.name != name else _setting_words(each.value)
            source = (
                f"from {each.variable}" if each.variable else f"line {each.line}" if each.line else "default"
            )
            context.out.line(f"Setting: {each.name}, {told}, {source}")

    async def linear(self, argument: str) -> None:
        """Say less or more: quiet, normal, verbose."""
        levels = (LinearSetting.QUIET, LinearSetting.NORMAL, LinearSetting.VERBOSE)
        if not argument:
            self._context.say(
                f"Linear mode is {self._context.level}; /linear quiet, normal or verbose changes it."
            )
            return
        if argument not in levels:
            raise Refused(f"/linear takes one of {', '.join(levels)}.")
        self._context.level = LinearSetting(argument)
        self._context.say(f"Linear mode is {argument} until you leave. /settings linear {argument} keeps it.")


def _setting_words(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"  # as the file has it
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else safe_line(str(value))

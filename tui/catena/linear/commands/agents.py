"""The agent of a conversation: another one, its model, mode and settings, its login; the person's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.acts.access import known_templates
from catena.acts.surface import Refused
from catena.errors import InvalidSettings, SettingsNotWritten
from catena.linear.commands.prompts import PromptCommands, announced
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext
from catena.settings.agent_choices import agent_choices, offered_agents
from catena.settings.agents import find_agent, stored_agent_name
from catena.settings.file.location import settings_path
from catena.settings.linear import LinearSetting
from catena.settings.settings import at_once, definition_of, load_settings
from catena.settings.templates import named_template
from catena.terminal.programs import run_program
from catena.text import login_text
from catena.text.safe_text import safe_line
from catena.workspace.tab import Tab
from catena_acp.agents.login_methods import ENVIRONMENT, TERMINAL
from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.errors import AgentError, GivenUp, StillAtWork
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentSpec
from catena_acp.port.session_events import Option

_NO_SESSION = "Not known yet: the agent reports its settings when its session opens."


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

    async def agent(self, argument: str) -> None:
        """Continue with another agent."""
        context, tab = self._context, self._context.here

        async def prices(specs: list[AgentSpec]) -> list[str]:
            if tab.untouched or tab.conversation.read_only:
                return [""] * len(specs)
            return [price.words for price in await tab.conversation.chain.prices(tab.window, specs)]

        if argument:
            spec: AgentSpec | None = find_agent(argument, context.settings)
        else:
            spec = await self._tabs.choose_agent(
                "Choose: continue with which agent?",
                (tab.agent, tab.profile),
                prices,
                used=await tab.agents_used(),
            )
        if spec is None:
            return
        if tab.answered_by(spec):
            context.say(f"{safe_line(tab.title_of(spec))} is already in use here.")
            return
        (price,) = await prices([spec])
        await tab.window.set_agent(spec)
        context.say(
            f"Switched to {safe_line(tab.title_of(spec))}.{f' Your next prompt: {price}.' if price else ''}"
        )
        await tab.window.prepare()

    # --- its session

    async def _session(self) -> SessionState:
        tab = self._context.here
        session = await tab.window.session_opened()
        if session.link_id is None:
            await tab.window.prepare()
            session = tab.window.session
        return session

    async def announced(self) -> Sequence[str]:
        """The names of the commands that the agent has announced."""
        tab = self._context.here
        if (tab.session or tab.window.session).commands is None and not tab.busy:
            await self._session()
        return announced(tab)

    async def model(self, argument: str) -> None:
        """Choose a model."""
        session = await self._session()
        option = option_of_category(session, "model")
        if option is None:
            raise Refused("The agent offers no other models." if session.link_id else _NO_SESSION)
        await self._set(option, argument)

    async def mode(self, argument: str) -> None:
        """Choose a mode."""
        session = await self._session()
        if session.link_id is None or not session.modes:
            raise Refused("The agent offers no modes." if session.link_id else _NO_SESSION)
        names = [
            f"{safe_line(each.name)}{', now' if each.id == session.mode else ''}" for each in session.modes
        ]
        at = await self._chosen("Choose: which mode?", argument, [each.name for each in session.modes], names)
        if at is not None:
            await self._context.here.window.set_mode(session.modes[at].id)
            self._context.say(f"The mode is {safe_line(session.modes[at].name)}.")

    async def options(self, argument: str) -> None:
        """Choose any setting of the agent: `/options`, `/options NAME`, `/options NAME VALUE`."""
        session = await self._session()
        offered = [each for each in session.options if each.kind in ("select", "boolean")]
        if not offered:
            raise Refused("The agent offers no settings." if session.link_id else _NO_SESSION)
        name, _, value = argument.partition(" ")
        names = [f"{safe_line(each.name)}: {safe_line(_value_name(each))}" for each in offered]
        at = await self._chosen("Choose: which setting?", name, [each.name for each in offered], names)
        if at is not None:
            await self._set(offered[at], value.strip())

    async def _set(self, option: Option, argument: str) -> None:
        tab = self._context.here
        heading = f"Choose: {safe_line(option.name)}, now {safe_line(_value_name(option))}."
        if option.kind == "boolean":
            at = await self._chosen(heading, argument, ["on", "off"], ["on", "off"])
            value: str | bool | None = None if at is None else at == 0
        else:
            names = [each.name for each in option.choices]
            at = await self._chosen(heading, argument, names, [safe_line(name) for name in names])
            value = None if at is None else option.choices[at].id
        if value is not None:
            await tab.window.set_option(option.id, value)
            shown = ("on" if value else "off") if isinstance(value, bool) else names[at or 0]
            self._context.say(f"{safe_line(option.name)} is {safe_line(shown)}.")

    async def _chosen(
        self, heading: str, argument: str, names: Sequence[str], shown: Sequence[str]
    ) -> int | None:
        """The one that was named, else the one that the person chooses by its number."""
        if not argument:
            return await self._context.choose(heading, shown)
        wanted = argument.casefold()
        exact = [at for at, name in enumerate(names) if name.casefold() == wanted]
        begin = [at for at, name in enumerate(names) if name.casefold().startswith(wanted)]
        for found in (exact, begin):
            if len(found) == 1:
                return found[0]
        raise Refused(f"{safe_line(argument)} is not one of: {', '.join(map(safe_line, names))}.")

    # --- login

    async def login(self, argument: str) -> None:
        """Log in to the agent; then send the prompt that waits for it."""
        context, tab = self._context, self._context.here
        logins = tab.conversation.logins
        methods = await logins.methods(tab.window)
        if not methods:
            await logins.logged_in(tab.window)
            context.say(login_text.no_login_text(context.title, logins.own_way_in))
            return
        at: int | None = 0
        if len(methods) > 1:
            named = [f"{safe_line(each.name)}, {login_text.method_kind_text(each)}" for each in methods]
            at = await self._chosen("Choose: log in how?", argument, [each.name for each in methods], named)
        if at is None:
            return
        method = methods[at]
        if method.kind == ENVIRONMENT:
            self._explain(tab, method)
        elif await (
            self._in_terminal(tab, method) if method.kind == TERMINAL else self._by_agent(tab, method)
        ):
            await self._send_owed(tab)

    async def _by_agent(self, tab: Tab, method: AuthMethod) -> bool:
        context = self._context
        context.say(login_text.login_wait_text(context.title, method))
        try:
            await tab.conversation.logins.log_in(tab.window, method.id)
        except (GivenUp, StillAtWork):
            raise
        except AgentError as error:
            own_way = tab.conversation.logins.own_way_in
            context.say(login_text.login_refused_text(context.title, str(error), own_way))
            return False
        return True

    async def _in_terminal(self, tab: Tab, method: AuthMethod) -> bool:
        context = self._context
        login = await tab.conversation.logins.terminal(tab.window, method.id)
        command, leaving = login_text.terminal_login_lines(login.argv)
        if not context.echoes:
            raise Refused(f"This is no terminal; run {command} in one.")
        if not await context.confirm(f"Log in in this terminal: $ {command} {leaving}", "run it"):
            return False
        context.input.suspend()
        try:
            status = await run_program(login.argv, environment=login.env, directory=login.cwd)
        except OSError as error:
            raise Refused(login_text.login_not_started_text(login.argv[0], error.strerror)) from error
        finally:
            context.input.resume()
            context.out.interrupted()
        if status:
            context.say(login_text.login_failed_text(login.argv[0], status))
            return False
        await tab.conversation.logins.logged_in(tab.window)
        return True

    def _explain(self, tab: Tab, method: AuthMethod) -> None:
        record = tab.conversation.record
        name = stored_agent_name(record.agent, record.profile, self._context.settings)
        name = "NAME" if name.startswith("command:") else name
        variables = tab.conversation.logins.variables(method)
        lines = login_text.variable_lines(self._context.title, name, method, variables, str(settings_path()))
        self._context.out.lines(f"Note: {line.strip()}" for line in lines if line.strip())

    async def _send_owed(self, tab: Tab) -> None:
        """Send the prompt that needed the login again, if it got no answer."""
        context = self._context
        owed = await tab.conversation.logins.owed(tab.window)
        tab.trouble.logged_in()
        returned = owed.returned if owed is not None and not owed.begun else None
        edited = returned is not None and tab.draft.strip() not in ("", returned.strip())
        context.say(
            login_text.logged_in_text(context.title, owed, edited="/send sends it" if edited else None)
        )
        if owed is None:
            await tab.window.prepare()
        elif owed.begun or edited:
            pass
        elif returned is None:
            await tab.window.retry()
        else:
            tab.draft = ""
            await self._prompts.say(returned)

    async def logout(self) -> None:
        """Log out of the agent."""
        context, tab = self._context, self._context.here
        if await context.confirm(
            f"This logs out every tab with {context.title} and clears their context.", "log out"
        ):
            title = context.title
            await tab.conversation.logins.log_out(tab.window)
            context.say(f"Logged out of {title}. /login to log in again.")

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


def _value_name(option: Option) -> str:
    if isinstance(option.value, bool):
        return "on" if option.value else "off"
    return next((each.name for each in option.choices if each.id == option.value), option.value)


def _setting_words(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"  # as the file has it
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else safe_line(str(value))

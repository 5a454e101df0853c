"""Logging in and out of a tab's agent; after a login the prompt that needed it is sent."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from catena.screens.chat.actions.prompting.prompts import PromptActions
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker
from catena.settings.agents import stored_agent_name
from catena.settings.file.location import settings_path
from catena.terminal.programs import TerminalUnavailable, run_in_terminal
from catena.text import login_text
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row
from catena.workspace.tab import Tab
from catena_acp.agents.login_methods import ENVIRONMENT, TERMINAL
from catena_acp.errors import AgentError, GivenUp, StillAtWork
from catena_acp.port.abilities import AuthMethod


class LoginActions:
    """Actions on the login of the tab that was active when they began."""

    def __init__(self, context: ChatContext, prompts: PromptActions) -> None:
        self._context = context
        self._prompts = prompts

    async def login(self, argument: str = "") -> None:
        """Log in by the only method, or by the one that the person chooses; then send the prompt that waits for it."""
        tab = self._context.tab
        if tab is None:
            return
        methods = await tab.conversation.logins.methods(tab.window)
        if not methods:
            # Who logged in elsewhere comes here, too: an agent that runs may not have noticed.
            await tab.conversation.logins.logged_in(tab.window)
            self._say(tab, login_text.no_login_text(_title(tab), tab.conversation.logins.own_way_in))
            return
        method = await self._chosen(tab, methods, argument)
        if method is None:
            return
        if method.kind == ENVIRONMENT:
            await self._explain(tab, method)
        elif await (
            self._in_terminal(tab, method) if method.kind == TERMINAL else self._by_agent(tab, method)
        ):
            await self._send_owed(tab)

    async def logout(self) -> None:
        """Log out after the person has confirmed it."""
        tab = self._context.tab
        if tab is None:
            return
        title = safe_line(_title(tab))
        picker = Picker(
            f"Log out of {title}?",
            [
                Row("stay", "stay"),
                Row("out", f"log out of {title}", note="its context is cleared; the transcript stays"),
            ],
            note=f"This logs out every tab with {title} and clears their context.",
        )
        if await self._context.app.push_screen_wait(picker) == "out":
            await tab.conversation.logins.log_out(tab.window)
            self._say(tab, f"Logged out of {title}. /login to log in again.")

    async def _chosen(self, tab: Tab, methods: Sequence[AuthMethod], named: str) -> AuthMethod | None:
        if len(methods) == 1:
            return methods[0]
        for method in methods:
            if named and named.casefold() in (method.id.casefold(), method.name.casefold()):
                return method
        rows = [
            Row(
                str(at),
                method.name,
                note=method.description or "",
                detail=login_text.method_kind_text(method),
            )
            for at, method in enumerate(methods)
        ]
        chosen = await self._context.app.push_screen_wait(Picker(f"Log in to {safe_line(_title(tab))}", rows))
        return None if chosen is None else methods[int(chosen)]

    async def _by_agent(self, tab: Tab, method: AuthMethod) -> bool:
        try:
            await tab.conversation.logins.log_in(tab.window, method.id)
        except (GivenUp, StillAtWork):
            raise
        except AgentError as error:
            own_way = tab.conversation.logins.own_way_in
            self._say(tab, login_text.login_refused_text(_title(tab), str(error), own_way), wrong=True)
            return False
        return True

    async def _in_terminal(self, tab: Tab, method: AuthMethod) -> bool:
        login = await tab.conversation.logins.terminal(tab.window, method.id)
        program = login.argv[0]
        command, leaving = login_text.terminal_login_lines(login.argv)
        question = Picker(
            f"Log in to {safe_line(_title(tab))} in this terminal?",
            [Row("run", "run it"), Row("stay", "cancel")],
            note=f"$ {command}\nIt uses this terminal until it exits. {leaving}",  # a row would cut it
        )
        if await self._context.app.push_screen_wait(question) != "run":
            return False
        try:
            status = await run_in_terminal(
                self._context.app,
                login.argv,
                environment=login.env,
                directory=login.cwd,
                heading=f"{command}\n{leaving}",
                wait_message="Login failed. Press Enter to return to Catena.",
            )
        except OSError as error:
            self._say(tab, login_text.login_not_started_text(program, error.strerror), wrong=True)
            return False
        except TerminalUnavailable:
            self._say(
                tab,
                f"This terminal cannot be used; run {command} in another one.",
                wrong=True,
            )
            return False
        if status:
            self._say(tab, login_text.login_failed_text(program, status), wrong=True)
            return False
        await tab.conversation.logins.logged_in(tab.window)
        return True

    async def _explain(self, tab: Tab, method: AuthMethod) -> None:
        from catena.screens.common.page import PageScreen

        lines = login_text.variable_lines(
            _title(tab),
            self._name_in_settings(tab),
            method,
            tab.conversation.logins.variables(method),
            str(settings_path()),
        )
        page = PageScreen(f"Log in: {safe_line(method.name)}", Content("\n".join(lines)))
        await self._context.app.push_screen_wait(page)

    async def _send_owed(self, tab: Tab) -> None:
        """Send the prompt that needed the login again, as the same row, if it got no answer."""
        owed = await tab.conversation.logins.owed(tab.window)
        tab.trouble.logged_in()
        self._context.presenter.refresh()
        done = login_text.logged_in_text(_title(tab), owed)
        if owed is None:
            self._say(tab, done)
            await tab.window.prepare()
        elif owed.begun:
            self._say(tab, done)
        elif owed.returned is None:
            self._say(tab, done)
            await tab.window.retry()
        elif self._take_from_draft(tab, owed.returned):
            self._say(tab, done)
            await self._prompts.send(tab, owed.returned)
        else:
            sends = self._context.keys.said("press {Send} to send it")
            self._say(tab, login_text.logged_in_text(_title(tab), owed, edited=sends))

    def _take_from_draft(self, tab: Tab, prompt: str) -> bool:
        """Remove the prompt from the draft and keep what was typed behind it; False if the prompt was changed."""
        composer, shown = self._context.parts.composer, tab is self._context.drafts.tab
        draft = composer.text if shown else tab.draft
        if draft.strip() in ("", prompt.strip()):  # empty: the command itself was typed in its place
            rest = ""
        elif draft.startswith(f"{prompt}\n"):
            rest = draft[len(prompt) + 1 :]
        else:
            return False
        tab.draft = rest
        if shown:
            composer.put(rest)
        return True

    def _name_in_settings(self, tab: Tab) -> str:
        record = tab.conversation.record
        name = stored_agent_name(record.agent, record.profile, self._context.settings)
        return "NAME" if name.startswith("command:") else name

    def _say(self, tab: Tab, text: str, *, wrong: bool = False) -> None:
        named = text if tab is self._context.presenter.shown else f"{tab.name()}: {text}"
        self._context.say(named, wrong=wrong)


def _title(tab: Tab) -> str:
    return tab.window.session.agent_title

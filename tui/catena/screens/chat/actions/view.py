"""Actions that change nothing in a conversation: find, browse, copy, the editor, the palette, the help, leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.screens.chat.context import ChatContext
from catena.screens.chat.presenter import mode_name
from catena.settings.agent_choices import agent_choices, offered_agents
from catena.terminal.programs import edit_text
from catena.text.formats import background_words
from catena.workspace.tab import Tab
from catena_store.records import Kind

if TYPE_CHECKING:
    from catena.acts.table import FrontCommand
    from catena.settings.templates import Template


_PATIENCE = 0.8  # seconds, less than the keys wait
_HELPED_BY = {
    "page": "form",  # places without a section of their own in the help
    "reason": "question",
    "finding": "composer",
    "choosing": "browsing",
    "elsewhere": "composer",
}


class ViewActions:
    """Actions on what the person sees and writes."""

    def __init__(
        self,
        context: ChatContext,
        *,
        commands: Sequence[FrontCommand],
        do: Callable[[str], Awaitable[None]],
    ) -> None:
        """``commands`` are those that the palette and the help list; ``do`` does the one of a name."""
        self._context = context
        self._commands = commands
        self._do = do

    async def find(self, text: str = "") -> None:
        """Open the find bar."""
        await self._context.parts.find.open(text)

    async def browse(self) -> None:
        """Give the keys to the transcript, or back to the composer."""
        conversation = self._context.parts.conversation
        if conversation.browsing:
            self._context.write_here()
        else:
            conversation.browse()

    async def editor(self) -> None:
        """Edit the text of the composer in the person's editor."""
        context = self._context
        context.drafts.begin_typing()
        draft, stood = context.drafts.place, context.parts.composer.text
        context.drafts.replace(draft, stood, await edit_text(context.app, stood, context.screen.environment))

    async def copy(self) -> None:
        """Copy the last answer."""
        answer = self._context.presenter.newest(Kind.AGENT)
        if answer is None:
            self._context.say("No answer yet.")
        else:
            loaded = self._context.parts.transcript.record(answer.id) is not None
            text = self._context.parts.transcript.text_of(answer.id) if loaded else answer.text
            self._context.app.copy_to_clipboard(text)

    async def palette(self) -> None:
        """Choose any command."""
        from catena.screens.commands.palette import CommandPalette, chosen_command

        context, place = self._context, self._context.place()
        tab = context.tab
        session = (tab.session or tab.window.session) if tab else None
        palette = CommandPalette(
            self._commands,
            (session.commands or ()) if session else (),
            values={"model": session.model or "", "mode": mode_name(session)} if session else {},
            subject=context.subject,
            agent=session.agent_title if session else "",
            templates=await self._templates(),
        )
        chosen = None if context.went_on(place) else await context.app.push_screen_wait(palette)
        if chosen is None:
            return
        name, runs = chosen_command(chosen)
        if runs:
            await self._do(name)
        else:
            context.drafts.prefix(f"/{name} ")

    async def help(self, wanted: str = "") -> None:
        """Show the keys of the place that has them, or what one command does; behind them, or for `all`, all of it."""
        from catena.acts.reading import help_of
        from catena.screens.commands.help import HelpScreen
        from catena.settings.templates import used_templates

        context, place = self._context, self._context.place()
        templates = await self._templates()
        everything = wanted == "all"
        about = (
            help_of(wanted, self._commands, used_templates(templates)) if wanted and not everything else ()
        )
        offered = await offered_agents()
        agents = [
            (choice.title, f"{choice.readiness} {choice.about}".strip())
            for choice in agent_choices(context.settings, None, offered)
        ]
        if context.went_on(place):
            return
        part = context.screen.place
        page = HelpScreen(
            _HELPED_BY.get(part, part),
            agents,
            self._commands,
            context.keys,
            templates,
            about=about,
            everything=everything,
        )
        await context.app.push_screen_wait(page)

    async def _templates(self) -> Sequence[Template]:
        """The templates that hold here; none if they take long to be read."""
        from catena.acts.settings import known_templates

        try:
            async with asyncio.timeout(_PATIENCE):
                return await known_templates(self._context.tabs, self._context.tab).read()
        except TimeoutError:
            return ()


def quit_question(
    working: Sequence[Tab],
    active: Tab | None,
    background: Sequence[str] = (),
    keys: KeyMap = DEFAULT_KEYS,
) -> str:
    """The question before quitting stops the turns of these tabs, and work in the ``background``; "" for nothing."""
    if not working and not background:
        return ""
    agents = list(dict.fromkeys(tab.agent_title for tab in working))
    parts = []
    if agents:
        *others, last = agents
        who = f"{', '.join(others)} and {last} are working" if others else f"{last} is working"
        if len(working) > 1:
            where = f" in {len(working)} tabs"
        else:
            where = "" if working[0] is active else f" in the tab “{working[0].name()}”"
        parts.append(f"{who}{where}")
    if background:
        parts.append(background_words(background))
    several = len(agents) + len(background) > 1
    ways = keys.said(
        f"{{Quit}} or /quit again stops {'them' if several else 'it'} and quits; {{Stop}} cancels."
    )
    return f"{'; '.join(parts)}. {ways}"


class QuitActions:
    """Quitting, and the question before it, which stands until it is answered or something else is done."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._question = ""

    def quit(self) -> Awaitable[None]:
        """End the program, the tabs come back with the next one; ask first while an agent works."""
        context = self._context
        working = [tab for tab in context.tabs.tabs if tab.window.at_work and not tab.conversation.read_only]
        left_running = [task.title for tab in context.tabs.tabs for task in tab.window.background]
        question = quit_question(working, context.tab, left_running, context.keys)
        if self._question or not question:
            return self._leave()
        self._question = question
        self.ask()
        return _nothing()

    async def _leave(self) -> None:
        self._context.screen.leave()

    def ask(self) -> None:
        """Show the question where it stands: a key has taken it off the hint line."""
        if self._question:
            self._context.say(self._question)

    def stay(self) -> bool:
        """Withdraw the question; False if there was none."""
        asked, self._question = bool(self._question), ""
        if asked:
            self._context.parts.hints.hush()
        return asked


async def _nothing() -> None:
    """Do nothing."""

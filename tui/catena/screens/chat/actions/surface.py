"""The surface of acts on the screen: hints, sheets and panels over the chat, and the way from tab to tab."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from catena.acts.agents import prices as prices_of
from catena.acts.perform import carry_out
from catena.acts.surface import (
    IN_A_TAB,
    AnswerTo,
    Cancelled,
    LiveReport,
    Prices,
    Question,
    Refused,
    Report,
    ReportRow,
    SideQuestion,
    Surface,
    T,
)
from catena.mentions.mentions import with_mentions_of
from catena.screens.chat.actions.branching.files import along_choices
from catena.screens.chat.panels.fork import ENTER, FILES, SHOW, ForkOption, ForkQuestion
from catena.workspace.files_along import FILES_STAY, FilesAlong
from catena.workspace.outgoing import Stage
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from textual.screen import Screen

    from catena.screens.chat.actions.sheets import SurfaceActions
    from catena.settings.settings import Settings
    from catena.workspace.outgoing import UnplacedDraft
    from catena.workspace.tab import Tab
    from catena_acp.conversation.asides.asides import Aside
    from catena_acp.port.port import AgentSpec

_COMPARED_FOR = 1.0  # seconds that a sentence waits for what would happen to files


class ScreenSurface(Surface):
    """A chat, as one act sees it."""

    def __init__(self, actions: SurfaceActions, way: UnplacedDraft | None, typed: str = "") -> None:
        """``way`` is what is written meanwhile, if the act leads elsewhere; ``typed`` the command, with an argument."""
        self._context = context = actions.context
        self._actions = actions
        self._tab = context.tab
        self._place = context.place()
        self._browsed = actions.edits.here()
        self._beside = False  # it led to the other pane
        self._way = way
        self._typed = typed
        self._asked = False
        self._comparing: asyncio.Future[None] | None = None  # files with those of the place that it led to

    async def done(self, act: Awaitable[None]) -> None:
        """Do the act, and show around the transcript what it changed; what was typed returns if it led nowhere."""
        with self._context.drafts.under_way(self._way) if self._way else nullcontext():
            await act
        self._context.presenter.refresh()

    @property
    def beside(self) -> str:
        """Where a tab opens that is shown beside this one."""
        return "side by side" if self._context.panes.room else IN_A_TAB

    @property
    def why_not_beside(self) -> str:
        """How much room the panes need."""
        return self._context.panes.why_no_room

    @property
    def terminal(self) -> bool:
        """True: the screen is on one."""
        return True

    def say(self, words: str) -> None:
        """Show words until the next turn begins, in the hint line of the pane that has the keys now."""
        if self._beside or self._context.pane not in self._context.tabs.panes.open:
            self._context.panes.say(words)
            return
        tab = self._context.tab
        turns = tab.window.turns if tab is not None else 0
        self._context.say(words, holds=lambda: tab is None or tab.window.turns == turns)

    async def write(self, text: str = "") -> None:
        """Put a text behind the draft, and give the keys to the composer."""
        if text and self._tab is not None:
            self._context.quote_into(self._tab, text)
        if self._tab is self._context.tab:
            self._context.write_here()

    async def resend(
        self,
        tab: Tab,
        prompt: str,
        ready: Callable[[], Awaitable[None]] | None = None,
        *,
        apart: bool = False,
    ) -> str | None:
        """Send a prompt that came back, and keep what was typed behind it; the command may stand in its place."""
        context, rest = self._context, None

        def take() -> None:
            nonlocal rest
            rest = "" if apart or not tab.draft.strip() else behind(prompt, tab.draft)
            tab.draft = tab.draft if apart or rest is None else rest

        context.drafts.rewrite(tab, take)
        if rest is None:
            if tab is context.drafts.tab:
                context.write_here()
            return context.keys.said("press {Send} to send it")
        await self._actions.prompts.send(tab, prompt, ready=ready)
        return None

    async def ask_aside(
        self, tab: Tab, opening: Awaitable[Aside], question: SideQuestion
    ) -> tuple[str, AnswerTo]:
        """Show the questions and their answers on a screen; what was typed and not asked returns."""
        from catena.screens.aside.screen import AsideScreen

        context = self._context
        asked = context.tabs.outgoing.add(question.typed, tab, stage=Stage.HELD)
        aside = None
        try:
            aside = await opening
            self._take_keys()
        except (AgentError, StoreError, ReadOnly, Cancelled):
            context.tabs.outgoing.remove(asked)
            self.give_back(question.typed)
            if aside is not None:
                context.run(aside.close())
            raise
        screen = AsideScreen(
            aside,
            question,
            directory=tab.conversation.record.cwd,
            open_link=context.screen.open_link,
            mentioned=lambda text: with_mentions_of(tab, text, ()),
            still=context.screen.still,
            vim=context.settings.vim,
        )
        asked.back = lambda: screen.restore(tab)
        try:
            to, unasked = await context.app.push_screen_wait(screen)
        finally:
            context.run(aside.close())  # beside what the user does next
        context.tabs.outgoing.remove(asked)
        context.write_here()
        if unasked:
            context.drafts.restore(tab, f"/btw {unasked}")
        return aside.text, to

    def give_back(self, typed: str = "") -> None:
        """Put it into the composer again."""
        typed, self._typed = typed or self._typed, ""
        if typed:
            self._context.drafts.restore(self._tab, typed)

    async def meanwhile(self, work: Awaitable[None]) -> None:
        """Let it go on by itself: the keys wait for nothing of it."""
        self._context.run(work)

    async def stand_beside(self, tab: Tab) -> None:
        """Show a tab in the other pane, unless the user is in another tab by now; the keys stay."""
        context = self._context
        if context.panes.room and context.tab is self._tab:
            await context.panes.stand_beside(context.pane, tab)

    async def lend(
        self, command: Sequence[str], environment: Mapping[str, str], directory: str, heading: str
    ) -> int:
        """Suspend the screen for a program; after a failure Enter comes back."""
        from catena.terminal.programs import TerminalUnavailable, run_in_terminal

        try:
            return await run_in_terminal(
                self._context.app,
                command,
                environment=environment,
                directory=directory,
                heading=heading,
                wait_message="Login failed. Press Enter to return to Catena.",
            )
        except TerminalUnavailable as error:
            raise Refused(
                f"This terminal cannot be used; run {shlex.join(command)} in another one."
            ) from error

    def use(self, settings: Settings) -> None:
        """Let the app use them, as after a change on the sheet."""
        from catena.screens.settings.screen import SettingsScreen

        self._context.app.post_message(SettingsScreen.Changed(settings))

    async def visit(self, conversation_id: str, message_id: str) -> None:
        """Open a conversation at a message."""
        await self._actions.history.open_prompt(conversation_id, message_id)

    async def show(self, report: Report | LiveReport) -> None:
        """Show a report as a sheet, until it is closed; a text from its end on. The row that is chosen is opened."""
        self._take_keys()
        self._typed = ""  # it was done
        if isinstance(report, LiveReport):
            from catena.screens.chat.actions.sheets import choose_on_sheet

            chosen = await choose_on_sheet(report.value, self._tab, self._actions)
            self._place = self._context.place()
            if chosen is not None and report.chosen is not None and self._tab is self._context.tab:
                await carry_out(report.chosen(chosen), self)
            return
        if report.enter:
            only = report.rows[0] if report.at_once and len(report.rows) == 1 else None
            row = only or await self.choose(report.title, report.rows, report.enter)
            if row.open is not None:
                await carry_out(row.open(), self)
            return
        from catena.screens.common.page import report_page

        await self._push(report_page(report))

    def _take_keys(self) -> None:
        """Raise Cancelled if the person has gone on: the keys are meant for where they are by now."""
        if self._context.went_on(self._place):
            raise Cancelled

    async def _push(self, screen: Screen[T]) -> T:
        """Show a screen until it is closed, and return what was chosen there. Raises Cancelled."""
        self._take_keys()
        chosen: T = await self._context.app.push_screen_wait(screen)
        self._place = self._context.place()  # a draft may have changed below it
        return chosen

    async def ask(self, question: Question) -> str:
        """Ask in the panel, unless the keys that answer it would take what is being typed."""
        context = self._context
        if question.free or question.seen:
            return "yes"
        if question.no:
            yes = ReportRow(question.yes, note=question.price)
            rows = [ReportRow(question.no), yes] if question.careful else [yes, ReportRow(question.no)]
            if await self.choose(question.title, rows, note=question.note) is not yes:
                raise Cancelled
            return "yes"
        self._take_keys()
        key = await self._key(question)
        self._asked = True
        done = key is not None and self._tab is context.tab
        again = any(each.again for each in question.options if each.key == key)
        if not done or question.stays or again:
            self._actions.edits.back_to(self._browsed)
        else:
            context.write_here()
        if key is None or not done:
            raise Cancelled
        self._place = context.place()
        return "yes" if key == ENTER else key

    async def _key(self, question: Question) -> str | None:
        """The key that answers a question in the panel; files that may go along are chosen and looked at there."""
        panel, along, actions = self._context.parts.fork, question.along or FilesAlong(), self._actions
        options = [ForkOption(each.key, each.words, each.short) for each in question.options]

        def shown() -> ForkQuestion:
            stay = f"{FILES_STAY.capitalize()}." if along.stay else ""
            note = " ".join(filter(None, (question.note, stay)))
            others = (*options, *along_choices(along))
            return ForkQuestion(question.title, question.price, question.yes, others, note)

        async def look() -> None:
            if question.look is not None:
                await question.look()
            if along.words:
                panel.say_anew(shown())

        looking = asyncio.ensure_future(look())
        self._context.run(looking)
        try:
            while (key := await panel.ask(shown())) in (FILES, SHOW):
                if key == FILES:
                    along.choose_next()
                elif along.plan is not None and self._tab is not None:
                    await actions.along.show_plan(self._tab, along.plan)
            return key
        finally:
            looking.cancel()  # the panel is of another question from now on

    async def choose(
        self, title: str, rows: Sequence[ReportRow], enter: str = "", note: str = ""
    ) -> ReportRow:
        """Let a row of a list with a filter be chosen."""
        from catena.screens.common.page import EYE
        from catena.screens.common.picker import Picker, words_or_letters_match
        from catena.widgets.row_list import Row

        shown = [
            Row(
                str(at),
                row.name,
                note=row.note,
                detail=row.said(EYE),
                dim=row.dim,
            )
            for at, row in enumerate(rows)
        ]
        picker = Picker(
            title,
            shown,
            keep=next((str(at) for at, row in enumerate(rows) if row.here), None),
            enter=enter or "select",
            match=words_or_letters_match,
            note=note,
            subject=self._context.subject if enter else None,
        )
        chosen = await self._push(picker)
        if chosen is None:
            raise Cancelled
        return rows[int(chosen)]

    async def choose_agent(
        self, title: str, *, used: Mapping[str, str] | None = None, prices: Prices | None = None
    ) -> AgentSpec:
        """Let an agent be chosen, which is installed first if it is not."""
        from catena.screens.chat.actions.agent import choose_agent

        context, tab = self._context, self._tab
        if tab is None and context.start.agent is not None:
            return context.start.agent
        kept = (tab.agent, tab.profile) if tab else await context.tabs.last_used_agent()
        spec = await choose_agent(
            context.app,
            self._push,
            title,
            context.settings,
            kept,
            prices=prices or partial(prices_of, tab),
            used=used,
            limited=tab.trouble.limited if tab else None,
        )
        if spec is None:
            if self._asked:
                self._actions.edits.back_to(self._browsed)
            raise Cancelled
        return spec

    async def files_behind(self) -> str:
        """Name the keys that restore and show them, unless comparing them takes long: the line above offers them."""
        if self._comparing is not None:
            await asyncio.wait({self._comparing}, timeout=_COMPARED_FOR)
        ways = self._actions.along.ways(self._tab)
        return f": {ways}" if ways else ""

    async def go(
        self,
        step: Awaitable[T],
        to: Callable[[T], Tab | None],
        *,
        leaving: Tab | None = None,
        beside: bool = False,
    ) -> T:
        """Await a step and show its tab; events of the tab that is left wait until it has moved."""
        context, presenter, self._beside = self._context, self._context.presenter, beside
        way = self._way or context.drafts.set_out(leaving)
        with context.drafts.under_way(way):
            if (shown := presenter.shown) is not None and shown in context.tabs.tabs:
                shown.scroll = context.parts.transcript.position()
            # A turn that is stopped first is seen to its end; else nothing is drawn of a way that is half gone.
            presenter.moving = None if leaving and leaving.at_work else leaving
            try:
                taken = await step
            finally:
                presenter.moving = None
            if beside and (tab := to(taken)) is not None:
                await self._actions.tabs.show_beside(tab, way)
            elif leaving is not context.tab and leaving in context.tabs.tabs:
                presenter.refresh()  # the user went to another tab meanwhile, and stays there
            else:
                await self._show(to(taken), way)
                if leaving not in context.tabs.tabs:
                    context.panes.close_empty(but=None if to(taken) else context.pane)
        return taken

    async def _show(self, tab: Tab | None, way: UnplacedDraft) -> None:
        """Show a tab, else what is left; the focus stays if it is shown already."""
        context, actions = self._context, self._actions
        if tab is None or tab not in context.tabs.tabs:
            if context.presenter.shown not in context.tabs.tabs:
                await actions.tabs.show_what_is_left(context.presenter.shown, way)
        elif tab is not context.presenter.shown:
            await actions.tabs.show(tab, way)
        else:
            await context.presenter.show(tab)
            context.drafts.arrive(way, tab)
            if not tab.conversation.read_only:
                context.run(tab.window.prepare())
                self._comparing = asyncio.ensure_future(actions.along.find_behind(tab))
                context.run(self._comparing)


def behind(prompt: str, draft: str) -> str | None:
    """The text typed below a restored prompt; None if the prompt was changed."""
    if draft.strip() == prompt.strip():
        return ""
    return draft[len(prompt) + 1 :] if draft.startswith(f"{prompt}\n") else None

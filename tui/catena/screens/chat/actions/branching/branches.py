"""Branches: forks, the siblings of a prompt, and the way between a fork and its source."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from catena.errors import CommandRefused
from catena.screens.chat.actions.branching.editing import WENT_ON, EditActions
from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext
from catena.screens.chat.panels.fork import ENTER, ForkOption, ForkQuestion
from catena.text.safe_text import safe_line
from catena.workspace.directories import existing_directory
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.tab import Tab
from catena_acp.errors import ReadOnly
from catena_store.records import Message

_SIDE = "side"
_DIRECTORY = "--dir"
_BEFORE_THE_FIRST = "Nothing to fork before the first prompt. Press {edit} to edit it."
_PRICED_LATER = "price shown after the takeover"
_DRAFT_STAYED = " Your draft stays in the original: /undo goes back to it."


class BranchActions:
    """Actions on the branch of the active tab."""

    def __init__(
        self, context: ChatContext, tabs: TabActions, edits: EditActions, along: AlongActions
    ) -> None:
        self._context = context
        self._along = along
        self._tabs = tabs
        self._edits = edits
        self._panel = context.parts.fork

    def clicked(self, message_id: str, act: str) -> None:
        """Do what a button of a prompt says."""
        tab, prompt = self._context.seen, self._context.parts.transcript.record(message_id)
        if tab is None or prompt is None:
            return
        match act:
            case "edit":
                self._context.run(self._edits.edit_prompt(tab, prompt))
            case "retry":
                self._context.run(self._context.gate.led(self._edits.ask_retry(tab, prompt)))
            case "fork":
                self._context.run(self._context.gate.led(self._ask_fork(tab, message_id, beside=False)))

    # --- forks

    async def fork(self, argument: str = "") -> None:
        """Fork at the browsed message, or at the leaf: `side` by side, or in a new tab; `--dir PATH` elsewhere."""
        if (tab := self._context.seen) is None:
            return
        where, _, named = argument.partition(_DIRECTORY)
        if where.strip() not in ("", _SIDE) or (_DIRECTORY in argument and not named.strip()):
            self._context.say(
                f"Unknown argument: /fork {argument}. Usage: /fork [side] [--dir PATH]", wrong=True
            )
            return
        directory: str | None = None
        if named:
            find = partial(existing_directory, named.strip(), base=tab.conversation.record.cwd)
            try:
                directory = await asyncio.to_thread(find)
            except CommandRefused as refused:
                self._context.say(str(refused), wrong=True)
                return
        await self._ask_fork(tab, self._edits.here(), beside=where.strip() == _SIDE, directory=directory)

    async def ask_fork_at(self, message_id: str) -> None:
        """Ask for a fork at a message, whether or not the message is on the screen."""
        if tab := self._context.tab:
            await self._ask_fork(tab, message_id, beside=False)

    async def fork_beside(self) -> None:
        """Fork into a tab of its own, which stands side by side where there is room."""
        await self.fork(_SIDE)

    async def _ask_fork(
        self, tab: Tab, message_id: str | None, *, beside: bool, directory: str | None = None
    ) -> None:
        context = self._context
        if tab.untouched:
            context.say("Nothing to fork yet.")
            return
        message = context.parts.transcript.record(message_id)
        at_prompt = message is not None and message.is_prompt
        if message is not None and at_prompt and message.parent_id is None:
            context.say(context.keys.said(_BEFORE_THE_FIRST))
            return
        here, place = self._edits.here(), context.place()
        price = await self._price_of_fork(tab, message if at_prompt else None, message_id)
        what = (
            "Fork before this prompt" if at_prompt else "Fork from here" if message_id else "Fork this branch"
        )
        if directory is not None:
            what = f"{what} into {safe_line(directory)}"
        if tab is not context.tab or place != context.place():  # its keys would take what is typed
            context.say(WENT_ON)
            return
        elsewhere = "side by side" if context.panes.room else "in a new tab"
        while True:
            only_beside = tab.at_work
            beside = beside or only_beside
            note = "The prompt goes into the composer." if at_prompt else ""
            note = "The running turn continues here." if only_beside else note
            other = "in this tab" if beside else elsewhere
            short = other.removeprefix("in ").removeprefix("a ")
            key = await self._panel.ask(
                ForkQuestion(
                    f"{what} {elsewhere if beside else 'in this tab'}?",
                    price,
                    "Fork",
                    () if only_beside else (ForkOption("s", other.capitalize(), short.capitalize()),),
                    note,
                )
            )
            if key != "s":
                break
            beside = not beside
        if key != ENTER or tab is not context.tab:
            self._edits.back_to(here)
            return
        context.write_here()
        await self._fork(tab, message_id, beside=beside, directory=directory)

    async def _price_of_fork(self, tab: Tab, prompt: Message | None, message_id: str | None) -> str:
        if prompt is not None:
            point = prompt.parent_id
        else:
            point = await tab.window.leaf.fork_point(message_id)
        try:
            return (await tab.conversation.chain.price(tab.window, leaf_id=point, apart=True)).words
        except ReadOnly:  # another client's conversation can be forked all the same
            return _PRICED_LATER

    async def fork_at(self, tab: Tab, message_id: str | None, *, beside: bool) -> None:
        """Fork at a message, or at the leaf, without asking."""
        await self._fork(tab, message_id, beside=beside)

    async def _fork(
        self, tab: Tab, message_id: str | None, *, beside: bool, directory: str | None = None
    ) -> None:
        way = self._context.drafts.set_out(None if beside else tab)
        with self._context.drafts.under_way(way):
            await self._fork_on(way, tab, message_id, beside=beside, directory=directory)

    async def _fork_on(
        self,
        way: UnplacedDraft,
        tab: Tab,
        message_id: str | None,
        *,
        beside: bool,
        directory: str | None,
    ) -> None:
        context = self._context
        if not beside:
            self._edits.restore_draft(tab)
        if tab is context.presenter.shown:
            tab.scroll = context.parts.transcript.position()
        context.say("Forking …")
        draft, files = tab.draft, tab.draft_files
        shown, price = await context.tabs.fork(tab, at=message_id, beside=beside, cwd=directory)
        stayed, where = "", "Forked in this tab; the original is in the history"
        if shown is not tab:
            await self._tabs.show_beside(shown, way)
            where = "Forked" if context.tabs.panes.of(shown) else "Forked into another tab"
        else:
            if not tab.draft.strip() and not tab.draft_files:
                tab.draft, tab.draft_files = draft, files
                await self._edits.keep(tab)
            elif draft.strip() and tab.draft != draft:
                stayed = _DRAFT_STAYED
            await self._shown_anew(tab, way)
            context.run(tab.window.prepare())
        context.parts.hints.hush()
        context.panes.say(f"{where}. Your next prompt: {price.words}.{stayed}")

    # --- from branch to branch

    async def sibling_before(self) -> None:
        """Go to the sibling before the browsed prompt."""
        await self._step_aside(-1)

    async def sibling_after(self) -> None:
        """Go to the sibling after the browsed prompt."""
        await self._step_aside(1)

    async def _step_aside(self, step: int) -> None:
        tab = self._context.seen
        transcript, here = self._context.parts.transcript, self._edits.here()
        prompt = transcript.prompt_above(here, with_siblings=True)
        if tab is not None and prompt is None:  # else what is typed meanwhile goes along at once
            at = transcript.record(here)
            prompt = await self._context.tabs.branches.branch_point(tab, at.depth if at else None, -1)
        if tab is None or prompt is None:
            self._context.say("No edited prompts above.")
        else:
            await self.to_sibling(tab, prompt, step)

    def sibling_clicked(self, message_id: str, step: int) -> None:
        """Go to the sibling whose arrow was clicked."""
        tab, prompt = self._context.seen, self._context.parts.transcript.record(message_id)
        if tab and prompt:
            self._context.run(self.to_sibling(tab, prompt, step))

    async def to_sibling(self, tab: Tab, prompt: Message, step: int) -> None:
        """Go to a sibling of a prompt, with the branch, the scroll position and the draft that were left there."""
        context, transcript = self._context, self._context.parts.transcript
        browsed = self._edits.here() is not None
        way = context.drafts.set_out(tab)
        moved = await self.elsewhere(tab, lambda: tab.window.to_sibling(prompt.id, step), way)
        if not moved:
            context.say("This is the newest version." if step > 0 else "This is the oldest version.")
        elif browsed and tab is context.seen and (beside := transcript.prompt_below(prompt.parent_id)):
            transcript.focus_message(beside.id)

    async def to_end(self) -> None:
        """Go to the end of the transcript, and follow it; where the conversation went on elsewhere, to there."""
        context, tab = self._context, self._context.seen
        if tab is None or tab.elsewhere is None:
            context.parts.conversation.action_go_end()
            return
        way = context.drafts.set_out(tab)

        async def go() -> bool:
            await tab.window.go_to(await context.tabs.branches.place_of(tab))
            return True

        await self.elsewhere(tab, go, way)

    async def elsewhere(self, tab: Tab, move: Callable[[], Awaitable[bool]], way: UnplacedDraft) -> bool:
        """Move a tab's window to another leaf, and show the draft and the scroll position kept there.

        ``way`` is what is written meanwhile; it goes behind the draft there. False if ``move`` led nowhere.
        """
        with self._context.drafts.under_way(way):
            return await self.move(tab, move, way)

    async def move(self, tab: Tab, move: Callable[[], Awaitable[bool]], way: UnplacedDraft) -> bool:
        """As ``elsewhere``, for an action that is under way already."""
        context = self._context
        self._edits.restore_draft(tab)
        if tab is context.presenter.shown:
            tab.scroll = context.parts.transcript.position()
        await context.tabs.keep(tab)
        # A turn that is stopped first is seen to its end; else nothing is drawn of a way that is half gone.
        context.presenter.moving = None if tab.at_work else tab
        tab.moving += 1
        try:
            if moved := await move():
                await context.tabs.reload(tab)
        finally:
            context.presenter.moving = None
            tab.moving -= 1
        if moved:
            await self._shown_anew(tab, way)
            context.run(tab.window.prepare())
            context.run(self._along.find_behind(tab))
        return moved

    async def _shown_anew(self, tab: Tab, way: UnplacedDraft) -> None:
        context = self._context
        if tab is context.tab:  # else the person went to another one meanwhile
            await context.presenter.show(tab)
        context.drafts.arrive(way, tab)

    async def branch_point_before(self) -> None:
        """Go to the next prompt above that has siblings."""
        if not await self._to_branch_point(-1):
            self._context.say("No branch point above.")

    async def branch_point_after(self) -> None:
        """Go to the next prompt below that has siblings."""
        if not await self._to_branch_point(1):
            self._context.say("No branch point below.")

    async def _to_branch_point(self, step: int) -> bool:
        context, transcript = self._context, self._context.parts.transcript
        tab, here = context.seen, transcript.record(transcript.current)
        if tab is None or here is None:
            return False
        point = await context.tabs.branches.branch_point(tab, here.depth, step)
        if point is None:
            return False
        if await context.presenter.load(point.id, tab):
            transcript.move_to(point.id)
        return True

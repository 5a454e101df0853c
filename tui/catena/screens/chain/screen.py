"""The chain of a conversation: its sessions, each of which can be inspected, probed and continued."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from textual.binding import BindingType

from catena.desktop.clipboard import copied_words
from catena.keys.bindings import keys_of, priority_bindings
from catena.screens.common.dialog import ListScreen, list_bindings
from catena.screens.common.page import PageScreen, facts_page
from catena.text.chain_text import link_facts
from catena.text.formats import age
from catena.widgets.row_list import Row, RowList, Tone, Word
from catena.widgets.sheet_edges import SheetKey, Subject
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.chain import SHOWN, Chain, ChainEntry, Loads, shortened
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.prompts.window import Window
from catena_store.records import LinkState

_OLDER = "older"  # the key of the row for the links that are not shown


class ChainScreen(ListScreen[str | None]):
    """The links of a chain; its result is the id of the link to continue, whose price was shown before."""

    HEADING = "Sessions"
    EMPTY = "no sessions yet"
    KEYS = (
        SheetKey("{session_details}", "details", "open"),
        SheetKey("{session_check}", "check", "probe"),
        SheetKey("{session_check_all}", "check all", "probe_all"),
        SheetKey("{session_continue}", "continue from it", "go_on"),
        SheetKey("{session_copy}", "copy id", "copy"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS, session_all="all")

    def __init__(
        self,
        chain: ConversationChain,
        window: Window,
        *,
        clock: Callable[[], datetime],
        subject: Subject,
    ) -> None:
        super().__init__(subject)
        self._conversation_chain = chain
        self._of_window = window
        self._clock = clock
        self._chain = Chain((), 0, 0)
        self._cap: int | None = SHOWN
        self._offer: str | None = None  # the link whose price is shown
        self._busy = False  # sessions are probed

    async def on_mount(self) -> None:
        """Read the chain, and put the cursor on the newest link."""
        await self.attempt(self._read())
        if self._chain.entries:
            self.row_list.show(self._rows(), keep=self._chain.entries[-1].link.id)

    @property
    def _entry(self) -> ChainEntry | None:
        """The link under the cursor."""
        key = self.chosen_key
        return next((each for each in self._chain.entries if each.link.id == key), None)

    async def _read(self) -> None:
        self._chain = await self._conversation_chain.read(self._of_window, cap=self._cap)
        self.row_list.show(self._rows(), keep=self.chosen_key)
        count = len(self._chain.entries) + self._chain.older
        internal = f"{self._chain.folded:,} internal" if self._chain.folded else ""
        self.show_head(f"Sessions ({count:,}), newest last", count=internal)

    def _rows(self) -> list[Row]:
        older = [
            Row(
                _OLDER,
                f"… {self._chain.older:,} older",
                note=keys_of(self).said("{session_all} shows all of them"),
                dim=True,
            )
        ]
        return (older if self._chain.older else []) + [self._row(each) for each in self._chain.entries]

    def _row(self, entry: ChainEntry) -> Row:
        last = entry.last.created_at if entry.last else entry.link.created_at
        return Row(
            entry.link.id,
            entry.agent_title,
            note=shortened(entry.first.text) if entry.first else entry.cause,
            columns=(_loads(entry),),
            detail=counted(entry.turns, "turn"),
            time=age(last, self._clock()),
            mark=_mark(entry),
            dim=entry.state is LinkState.LOST,
        )

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Withdraw the offer of the link that the cursor leaves."""
        event.stop()
        if self._offer is not None and event.key != self._offer:
            self._offer = None
            self.say("")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Open the link that was clicked."""
        event.stop()
        self.action_open()

    def action_leave(self) -> None:
        """Withdraw the offer; without one, close the screen."""
        if self._offer is None:
            self.dismiss(None)
        else:
            self._offer = None
            self.say("")

    def action_open(self) -> None:
        """Continue the link whose price is shown; else show everything about the link under the cursor."""
        entry = self._entry
        if self.chosen_key == _OLDER:
            self.action_all()
        elif entry is not None and self._offer == entry.link.id:
            self.dismiss(entry.link.id)
        elif entry is not None:
            self.app.push_screen(LinkPage(entry))

    def action_all(self) -> None:
        """Show the older links too."""
        self._cap = None
        self.run_worker(self.attempt(self._read()))

    def action_copy(self) -> None:
        """Copy the session id of the link."""
        if (entry := self._entry) is not None:
            self.app.copy_to_clipboard(entry.link.session_id)
            self.say(copied_words("the session id", os.environ))

    def action_probe(self) -> None:
        """Check whether the session of the link still loads."""
        if (entry := self._entry) is not None:
            self.run_worker(self.attempt(self._probe([entry])))

    def action_probe_all(self) -> None:
        """Check whether the sessions of all shown links load, newest first."""
        self.run_worker(self.attempt(self._probe(list(reversed(self._chain.entries)))))

    def action_go_on(self) -> None:
        """Show the price of continuing the link."""
        if (entry := self._entry) is not None:
            self.run_worker(self.attempt(self._show_price(entry)))

    async def _probe(self, entries: list[ChainEntry]) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            for entry in entries:
                self.say(f"checking {entry.agent_title}'s session …")
                probe = await self._conversation_chain.check_session(entry.link.id)
                await self._read()
                self.say(f"{_VERDICTS[probe.loads]}: {probe.words}.")
            if len(entries) > 1:
                loads = [each.check.loads for each in self._chain.entries]
                self.say(
                    f"{loads.count(Loads.YES)} load, {loads.count(Loads.NO)} do not,"
                    f" {loads.count(Loads.UNKNOWN)} not checked."
                )
        finally:
            self._busy = False

    async def _show_price(self, entry: ChainEntry) -> None:
        price = await self._conversation_chain.price_of(self._of_window, entry.link.id)
        self._offer = entry.link.id
        ways = keys_of(self).said("{session_details} continue · {leave} cancel")
        self.say(f"Continue from here: {price.words}. Later messages are kept. {ways}")


class LinkPage(PageScreen):
    """Everything that is known of one link."""

    BINDINGS: ClassVar[list[BindingType]] = [*priority_bindings(details_copy="copy")]
    KEYS = (
        SheetKey("{row_up row_down}", "scroll"),
        SheetKey("{details_copy}", "copy the session id", "copy"),
        SheetKey("{leave}", "close", "leave"),
    )

    def __init__(self, entry: ChainEntry) -> None:
        count = "on this branch" if entry.here else "not on this branch"
        super().__init__(f"{entry.agent_title}'s session", facts_page(link_facts(entry)), count=count)
        self._session_id = entry.link.session_id

    def action_copy(self) -> None:
        """Copy the session id of the link."""
        self.app.copy_to_clipboard(self._session_id)


_VERDICTS = {
    Loads.YES: "It loads",
    Loads.NO: "It does not load",
    Loads.UNKNOWN: "Not known whether it loads",
}


def _mark(entry: ChainEntry) -> Word:
    if entry.state is LinkState.LOST:
        return Word("✗", Tone.FAILURE)
    return Word("●", Tone.ACCENT) if entry.here else Word("○")


def _loads(entry: ChainEntry) -> Word:
    match entry.check.loads:
        case Loads.YES:
            return Word("loads")
        case Loads.NO:
            return Word("lost" if entry.state is LinkState.LOST else "does not load", Tone.FAILURE)
        case Loads.UNKNOWN:
            return Word()

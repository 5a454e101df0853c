"""The chain: every session that carried this conversation; one can be looked at, and gone on from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from catena.screens.common.page import PageScreen
from catena.text.formats import age
from catena.text.safe_text import safe_line
from catena.text.wording import link_facts
from catena.widgets.row_list import Row, RowList, key_hints
from catena_acp.conversation.inspection.chain import (
    SHOWN,
    Chain,
    ChainEntry,
    ConversationChain,
    Loads,
    shortened,
)
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError
from catena_store.records import LinkState

_OLDER = "older"  # the key of the row that stands for the links that are not shown


class ChainScreen(ModalScreen[str | None]):
    """Gives the id of the link to go on from, after its price was named and taken; or None."""

    CSS_PATH = "chain.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", "back", priority=True),
        Binding("k,up", "move(-1)", show=False),
        Binding("j,down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("enter", "open", "details", id="chain.details"),
        Binding("p", "probe", "does it load?", id="chain.probe"),
        Binding("P,shift+p", "probe_all", "do they load?", id="chain.probe_all"),
        Binding("r", "go_on", "go on from it", id="chain.go_on"),
        Binding("y", "copy", "copy its session id", id="chain.copy"),
        Binding("a", "all", "all of them", id="chain.all"),
    ]

    def __init__(self, sessions: ConversationChain, window: Window, *, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._sessions = sessions
        self._of_window = window
        self._clock = clock
        self._chain = Chain((), 0, 0)
        self._cap: int | None = SHOWN
        self._wanted: str | None = None  # the link whose price was named
        self._looking = False

    def compose(self) -> ComposeResult:
        """Title, links, what was said last, keys."""
        yield Static("the chain", id="title", markup=False)
        yield RowList(empty="no session has carried this conversation yet", id="rows")
        yield Static("", id="said", markup=False)
        yield Static(
            key_hints(
                ("enter details", "open"),
                ("p look", "probe"),
                ("P at all", "probe_all"),
                ("r go on from it", "go_on"),
                ("y copy id", "copy"),
                ("esc back", "leave"),
            ),
            id="hint",
        )

    async def on_mount(self) -> None:
        """Read the chain; the newest link is under the cursor."""
        await self._guarded(self._read())
        if self._chain.entries:
            self._list.show(self._rows(), keep=self._chain.entries[-1].link.id)

    @property
    def _list(self) -> RowList:
        return self.query_one(RowList)

    @property
    def _entry(self) -> ChainEntry | None:
        """The link under the cursor."""
        row = self._list.chosen
        return next((each for each in self._chain.entries if row and each.link.id == row.key), None)

    async def _read(self) -> None:
        self._chain = await self._sessions.read(self._of_window, cap=self._cap)
        chosen = self._list.chosen
        self._list.show(self._rows(), keep=chosen.key if chosen else None)
        count = len(self._chain.entries) + self._chain.older
        title = f"the chain: {count:,} session{'' if count == 1 else 's'}, newest last"
        if self._chain.folded:
            title += f" · {self._chain.folded:,} set apart"
        self.query_one("#title", Static).update(Content(title))

    def _rows(self) -> list[Row]:
        older = [Row(_OLDER, f"… {self._chain.older:,} older", note="a shows all of them", dim=True)]
        return (older if self._chain.older else []) + [self._row(each) for each in self._chain.entries]

    def _row(self, entry: ChainEntry) -> Row:
        last = entry.last.created_at if entry.last else entry.link.created_at
        return Row(
            entry.link.id,
            f"{_mark(entry)} {entry.agent_title}",
            note=shortened(entry.first.text) if entry.first else entry.cause,
            detail=f"{_loads(entry)}  {_turns(entry):>9}{age(last, self._clock()):>8}",
            dim=entry.state is LinkState.LOST,
        )

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(Content(safe_line(text)))

    # What keys and clicks do.

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Another link, whose price was not named."""
        event.stop()
        if self._wanted is not None and event.key != self._wanted:
            self._wanted = None
            self._say("")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A click is Enter."""
        event.stop()
        self.action_open()

    def action_move(self, step: int) -> None:
        """Up or down."""
        self._list.move(step)

    def action_page(self, step: int) -> None:
        """Up or down by a screenful."""
        self._list.move(step * max(2, self._list.size.height - 1))

    def action_leave(self) -> None:
        """Back: first from a price that was named."""
        if self._wanted is None:
            self.dismiss(None)
        else:
            self._wanted = None
            self._say("")

    def action_open(self) -> None:
        """Go on, where the price was named; else show everything about the link."""
        entry, row = self._entry, self._list.chosen
        if row is not None and row.key == _OLDER:
            self.action_all()
        elif entry is not None and self._wanted == entry.link.id:
            self.dismiss(entry.link.id)
        elif entry is not None:
            self.app.push_screen(LinkPage(entry))

    def action_all(self) -> None:
        """Show the older links too."""
        self._cap = None
        self._run(self._read())

    def action_copy(self) -> None:
        """Copy the agent's id of the session."""
        if (entry := self._entry) is not None:
            self.app.copy_to_clipboard(entry.link.session_id)
            self._say("Sent the session's id to the terminal for its clipboard.")

    def action_probe(self) -> None:
        """Look whether the session still loads."""
        if (entry := self._entry) is not None:
            self._run(self._probe([entry]))

    def action_probe_all(self) -> None:
        """Look at every one that is shown, the newest first."""
        self._run(self._probe(list(reversed(self._chain.entries))))

    def action_go_on(self) -> None:
        """Name the price of going on from the link."""
        if (entry := self._entry) is not None:
            self._run(self._name_price(entry))

    async def _probe(self, entries: list[ChainEntry]) -> None:
        if self._looking:
            return
        self._looking = True
        try:
            for entry in entries:
                self._say(f"looking at {entry.agent_title}'s session …")
                probe = await self._sessions.probe(entry.link.id)
                await self._read()
                self._say(f"{_VERDICTS[probe.loads]}: {probe.words}.")
            if len(entries) > 1:
                loads = [each.probe.loads for each in self._chain.entries]
                self._say(
                    f"{loads.count(Loads.YES)} load, {loads.count(Loads.NO)} do not,"
                    f" {loads.count(Loads.UNKNOWN)} could not be asked."
                )
        finally:
            self._looking = False

    async def _name_price(self, entry: ChainEntry) -> None:
        price = await self._sessions.price_of(self._of_window, entry.link.id)
        self._wanted = entry.link.id
        self._say(
            f"Go on from here: {price.words}. What came later stays where it is. enter goes on · esc stays"
        )

    def _run(self, work: Awaitable[None]) -> None:
        self.run_worker(self._guarded(work))

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except (AgentError, StoreError, ReadOnly) as error:
            self._say(str(error))


class LinkPage(PageScreen):
    """Everything that is known of one link."""

    CSS_PATH = "../common/page.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy the session's id", priority=True)]
    HINT = "↑ ↓ scroll · y copy the session's id · esc back"

    def __init__(self, entry: ChainEntry) -> None:
        facts = [
            Content.assemble((f"{name:<10}", "$text-muted"), safe_line(value) if value else "")
            for name, value in link_facts(entry)
        ]
        super().__init__(safe_line(f"{entry.agent_title}'s session"), Content("\n").join(facts))
        self._session_id = entry.link.session_id

    def action_copy(self) -> None:
        """Copy the agent's id of the session."""
        self.app.copy_to_clipboard(self._session_id)


_VERDICTS = {
    Loads.YES: "It loads",
    Loads.NO: "It does not load",
    Loads.UNKNOWN: "Whether it loads is not known",
}


def _mark(entry: ChainEntry) -> str:
    if entry.state is LinkState.LOST:
        return "✗"
    return "●" if entry.here else "○"


def _turns(entry: ChainEntry) -> str:
    return "1 turn" if entry.turns == 1 else f"{entry.turns:,} turns"


def _loads(entry: ChainEntry) -> str:
    match entry.probe.loads:
        case Loads.YES:
            return "loads"
        case Loads.NO:
            return "lost" if entry.state is LinkState.LOST else "loads not"
        case Loads.UNKNOWN:
            return ""

"""Acts on conversations of the history while it stays open, and the menu of all acts."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.worker import WorkType

from catena.cells import cell_len
from catena.history.entries import HistoryEntry
from catena.history.finding import HitPlace, MessageHit
from catena.history.preview import ActPrices
from catena.keys.bindings import keys_of
from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.text.formats import size_text, truncate
from catena.text.safe_text import safe_line
from catena.workspace.keeping import NOTHING_TO_UNDO, TabKeeping, TabUndo, undone
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

ActName = Literal[
    "open",
    "beside",
    "read",
    "fork",
    "edit",
    "quote",
    "tree",
    "export",
    "rename",
    "pin",
    "archive",
    "delete",
    "mark",
    "undo",
]
_MOVES = ("leave", "history_acts", "row_down", "wider_scope", "row_up", "narrower_scope", "accept")
_ACTS = {  # of the table of keys, by the letter that does each by default
    "o": "act_open",
    "s": "act_beside",
    "i": "act_import",
    "v": "act_read",
    "f": "act_fork",
    "e": "act_edit",
    "q": "act_quote",
    "t": "act_tree",
    "x": "act_export",
    "r": "act_rename",
    "p": "act_pin",
    "a": "act_archive",
    "d": "act_delete",
    "m": "act_mark",
    "u": "act_undo",
}
_WORTH_SAYING = 1_000_000  # bytes of snapshots of files
_LEAST_ROWS = 8
_AROUND = 9  # rows of the filter, a conversation below its heading, and the keys
_WORDS_AT = 6  # the cell that words begin on

Wanted = Literal["open", "beside", "read", "fork", "edit", "quote", "tree", "export"]


@dataclass(frozen=True, slots=True)
class HistoryChoice:
    """The act that the person wants for a conversation, at a hit if there is one."""

    act: Wanted
    entry: HistoryEntry
    hit: MessageHit | None = None
    place: HitPlace | None = None


class HistoryActs:
    """Acts on conversations of the history; each returns the message about it.

    Each raises what `TabKeeping` does: then nothing is changed.
    """

    def __init__(self, undoing: TabUndo, keeping: TabKeeping, keys: KeyMap = DEFAULT_KEYS) -> None:
        self._keys = keys
        self._undoing = undoing
        self._keeping = keeping
        self._count = 0  # acts that can be undone here

    @property
    def opened(self) -> frozenset[str]:
        """The ids of the conversations that have a tab now."""
        return self._undoing.opened

    async def rename(self, entry: HistoryEntry, title: str) -> str:
        """Give a conversation a title; an empty one takes it away."""
        await self._keeping.rename(entry.key, title.strip() or None)
        return self._done(f"Renamed to “{safe_line(title)}”" if title.strip() else "Title removed")

    async def pin(self, entries: Sequence[HistoryEntry]) -> str:
        """Pin conversations; if all of them are pinned, unpin them."""
        pinned = not all(entry.pinned for entry in entries)
        await self._keeping.pin([entry.key for entry in entries], pinned=pinned)
        return self._done(f"{_named(entries)} {'pinned' if pinned else 'no longer pinned'}")

    async def archive(self, entries: Sequence[HistoryEntry]) -> str:
        """Archive conversations; if all of them are archived, restore them."""
        archived = not all(entry.archived for entry in entries)
        await self._keeping.archive([entry.key for entry in entries], archived=archived)
        place = "archived, at the end of this list" if archived else "no longer archived"
        return self._done(f"{_named(entries)} {place}")

    async def delete(self, entries: Sequence[HistoryEntry]) -> str:
        """Delete conversations."""
        ids = [entry.key for entry in entries]
        await self._keeping.delete(ids)
        size = await self._keeping.snapshot_bytes(ids)
        freed = f", catena prune frees {size_text(size)} of snapshots" if size >= _WORTH_SAYING else ""
        return self._done(f"{_named(entries)} deleted{freed}")

    async def undo(self) -> str:
        """Undo the newest act of this history."""
        if not self._count:
            return "Nothing to undo here · /undo in the chat undoes earlier changes"
        step = await self._undoing.undo(None)
        self._count -= 1
        return undone(step) if step else NOTHING_TO_UNDO

    def _done(self, words: str) -> str:
        self._count += 1
        undo = self._keys.fill("{history_undo} undo")
        return f"{words} · {undo}" if undo else words


def _named(entries: Sequence[HistoryEntry]) -> str:
    if len(entries) == 1:
        return f"“{safe_line(entries[0].name)}” is"
    return f"{len(entries):,} conversations are"


@dataclass(frozen=True, slots=True)
class _ActLine:
    key: str
    act: ActName
    words: str
    price: str = ""
    shortcut: str = ""  # a template of the key that does it without the menu


class ActsMenu(Widget, can_focus=True):
    """Every act on the conversation under the cursor, with its letter and its price, until one is chosen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"acts--cursor"}
    DEFAULT_CSS = """
    ActsMenu {
        height: auto;
        max-height: 100%;
        display: none;
        background: $code-ground;
        color: $muted;
        &.-open { display: block; }
        & > .acts--cursor {
            color: $selection-text;
            background: $selection;
            text-style: $selection-style;
        }
    }
    """

    class Chosen(Message):
        """An act was chosen; None for none."""

        def __init__(self, act: ActName | None) -> None:
            super().__init__()
            self.act = act

    def __init__(
        self,
        read_prices: Callable[[HistoryEntry, MessageHit | None], Awaitable[ActPrices]],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._read_prices = read_prices
        self._lines: tuple[_ActLine, ...] = ()
        self._cursor = 0

    @property
    def is_open(self) -> bool:
        """True while it waits for a choice."""
        return self.has_class("-open")

    def offer(self, entries: Sequence[HistoryEntry], hit: MessageHit | None) -> None:
        """Show the acts for a conversation, at a hit if there is one, or for several that are marked."""
        self._lines = _lines(entries, at_hit=hit is not None)
        self._cursor = 0
        self.set_class(True, "-open")
        self.refresh(layout=True)
        if len(entries) == 1 and not entries[0].foreign:
            work: WorkType[None] = partial(self._price, entries[0], hit)
            self.run_worker(work, group="prices", exclusive=True)

    async def _price(self, entry: HistoryEntry, hit: MessageHit | None) -> None:
        with contextlib.suppress(AgentError, StoreError, ReadOnly):
            self.price(await self._read_prices(entry, hit))

    def price(self, prices: ActPrices) -> None:
        """Say what acts take; one that is not possible goes."""
        words = {"open": prices.open, "fork": prices.fork, "edit": prices.edit}
        self._lines = tuple(
            replace(line, price=words.get(line.act, line.price))
            for line in self._lines
            if line.act == "open" or words.get(line.act) != ""
        )
        self._cursor = min(self._cursor, len(self._lines) - 1)
        self.refresh(layout=True)

    def close(self) -> None:
        """Hide it."""
        self.set_class(False, "-open")

    def on_key(self, event: events.Key) -> None:
        """Choose by a letter, or with the arrows and Enter; any other key does nothing here."""
        keys = keys_of(self)
        done = next((name for name in (*_MOVES, *_ACTS.values()) if event.key in keys.names(name)), None)
        if done is None and not event.is_printable:
            return
        match done:
            case "leave" | "history_acts":
                self.post_message(self.Chosen(None))
            case "row_down" | "wider_scope":
                self._move(1)
            case "row_up" | "narrower_scope":
                self._move(-1)
            case "accept":
                self.post_message(self.Chosen(self._lines[self._cursor].act))
            case name:
                line = next((line for line in self._lines if _ACTS[line.key] == name), None)
                if line is not None:
                    self.post_message(self.Chosen(line.act))
        event.stop()
        event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked act."""
        at = event.y + self._first
        if 0 <= at < len(self._lines):
            event.stop()
            self.post_message(self.Chosen(self._lines[at].act))

    @property
    def _first(self) -> int:
        """The first act that is drawn, where there is not room for all."""
        return max(0, self._cursor - max(1, self.size.height) + 1)

    def _move(self, step: int) -> None:
        self._cursor = (self._cursor + step) % max(1, len(self._lines))
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row for each act, as far as the filter, the conversation and the keys leave rows."""
        return min(len(self._lines), max(_LEAST_ROWS, container.height - _AROUND))

    def render(self) -> Content:
        """The acts: letter, words, and on the right the price, or the key that does it without this menu."""
        width, drawn, keys = self.size.width, [], keys_of(self)
        cursor = self.get_visual_style("acts--cursor")
        first = self._first
        for at, line in list(enumerate(self._lines))[first : first + self.size.height]:
            left = f"  {keys.shown(_ACTS[line.key]):<{_WORDS_AT - 2}}{line.words}"
            room = max(0, width - cell_len(left) - 4)
            right = truncate(line.price or keys.fill(line.shortcut), room) if room > 3 else ""
            gap = " " * max(0, width - cell_len(left) - cell_len(right) - 2)
            row = Content.assemble(
                (left[:_WORDS_AT], "$accent"),
                (left[_WORDS_AT:], "$foreground"),
                gap,
                (right, "$muted" if line.price else "$faint"),
                "  ",
            )
            drawn.append(row.stylize(cursor).stylize("bold") if at == self._cursor else row)
        return Content("\n").join(drawn)


def _lines(entries: Sequence[HistoryEntry], *, at_hit: bool) -> tuple[_ActLine, ...]:
    one = len(entries) == 1
    here = "here" if at_hit else "at its end"
    pinned = all(entry.pinned for entry in entries)
    archived = all(entry.archived for entry in entries)
    if one and entries[0].foreign:
        return (
            _ActLine(
                "o", "open", "continue here", price="resumes the tool's own session", shortcut="{accept}"
            ),
            _ActLine("i", "fork", "import a copy", price="a fork: the session stays as it is"),
            _ActLine("v", "read", "read it"),
        )
    of_one = (
        _ActLine("o", "open", "open", shortcut="{accept}"),
        _ActLine("s", "beside", "open side by side"),
        _ActLine("v", "read", "read without opening"),
        _ActLine("f", "fork", f"fork {here}"),
        _ActLine("e", "edit", "edit the prompt here" if at_hit else "edit the last prompt"),
        _ActLine("q", "quote", "quote into the composer"),
        _ActLine("t", "tree", "show in the tree"),
        _ActLine("x", "export", "export as Markdown"),
        _ActLine("r", "rename", "rename", shortcut="{history_rename}"),
    )
    of_any = (
        _ActLine("p", "pin", "unpin" if pinned else "pin"),
        _ActLine(
            "a",
            "archive",
            "restore from the archive" if archived else "archive",
            shortcut="{history_archive}",
        ),
        _ActLine("d", "delete", "delete", shortcut="{history_delete}"),
        _ActLine("m", "mark", "mark" if one else "unmark all", shortcut="{history_mark}"),
        _ActLine("u", "undo", "undo", shortcut="{history_undo}"),
    )
    return (*of_one, *of_any) if one else of_any

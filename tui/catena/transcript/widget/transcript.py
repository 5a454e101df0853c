"""The transcript widget: the messages of a branch, with folding, copying, search and the pointer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.selection import Selection

from catena.keys.bindings import bindings
from catena.terminal.images import ImageSlot, TerminalImages
from catena.transcript.drawing.render_options import COLUMN, component_class, role_names
from catena.transcript.markdown.markdown import HREF
from catena.transcript.messages.prompt import SIBLING_STEP, Siblings
from catena.transcript.model import source as sources
from catena.transcript.model.column import Anchor, ColumnRow
from catena.transcript.model.entry import Entry
from catena.transcript.widget import selection as selecting
from catena.transcript.widget.browsing import BRANCH_ACT, BrowsableTranscript
from catena.transcript.widget.row_renderer import Overlay
from catena.transcript.widget.search import RowHits, TextHit, TranscriptSearch
from catena.transcript.widget.view import FRAME, utc_now
from catena_store.records import Kind
from catena_store.records import Message as Record

_FAR = 10  # screens


class Transcript(BrowsableTranscript):
    """The messages of a branch, drawn from their records; not thread-safe.

    While ``following`` the view stays at the end; otherwise the rows on the screen stay where they are.
    """

    DEFAULT_CSS = Path(__file__).with_name("transcript.tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {component_class(role) for role in role_names()}
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(extend_up="extend(-1)", extend_down="extend(1)")]

    class OlderRequested(Message):
        """A request for older messages, to be passed to ``prepend``."""

    class NewerRequested(Message):
        """A request for newer messages, to be passed to ``append``."""

    class HitsStale(Message):
        """Text grew while the hits of a search are marked: ``find_anew`` counts them again."""

    class PlaceRequested(Message):
        """A request for the messages around a reading position that is not loaded, or at the end for None."""

        def __init__(self, scroll: int | None) -> None:
            super().__init__()
            self.scroll = scroll

    class LinkOpened(Message):
        """A click on a link."""

        def __init__(self, href: str) -> None:
            super().__init__()
            self.href = href

    class FoldToggled(Message):
        """A message folded or unfolded."""

        def __init__(self, message_id: str, folded: bool) -> None:
            super().__init__()
            self.message_id = message_id
            self.folded = folded

    class SiblingRequested(Message):
        """A click for the previous (-1) or next (1) sibling of a prompt."""

        def __init__(self, message_id: str, step: int) -> None:
            super().__init__()
            self.message_id = message_id
            self.step = step

    class BranchRequested(Message):
        """A click on a button of a prompt: `edit`, `again` or `fork`."""

        def __init__(self, message_id: str, act: str) -> None:
            super().__init__()
            self.message_id = message_id
            self.act = act

    class SeamOpened(Message):
        """A seam unfolded without its detail, which ``set_seam_detail`` sets."""

        def __init__(self, message_id: str) -> None:
            super().__init__()
            self.message_id = message_id

    class ImagesWanted(Message):
        """Images that the terminal does not have, with the ids of their messages; `TerminalImages` keeps them."""

        def __init__(self, wanted: Mapping[ImageSlot, str]) -> None:
            super().__init__()
            self.wanted = wanted

    def __init__(
        self,
        *,
        directory: str = "",
        clock: Callable[[], float] = monotonic,
        wall_clock: Callable[[], datetime] = utc_now,
        frame: float = FRAME,
        column: int = COLUMN,
        half_rows: bool = False,
        still: bool = False,
        images: TerminalImages | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """``still``: nothing turns while the agent works, as over a slow line; ``images`` are those of the terminal."""
        super().__init__(
            directory=directory,
            clock=clock,
            wall_clock=wall_clock,
            frame=frame,
            column=column,
            half_rows=half_rows,
            still=still,
            images=images,
            id=id,
            classes=classes,
        )
        self._search: TranscriptSearch | None = None
        self._selection_start: str | None = None  # the first message of a selection by keys

    # The messages

    def show(
        self, messages: Sequence[Record], *, more_above: bool, below: int = 0, scroll: int | None = None
    ) -> None:
        """Replace all messages, oldest first; ``scroll`` is a result of ``position``, None the end.

        ``below`` is how many messages of the branch follow: then its end is neither shown nor followed.
        """
        self._pending_text.clear()
        self._column.replace(messages)
        self._more_above, self._older_requested = more_above, False
        self._set_below(below)
        self._newer_requested = False
        self._viewport.restore_position(scroll)
        self._messages_changed()
        self._place(None)

    def prepend(self, messages: Sequence[Record], *, more_above: bool) -> None:
        """Add a page of older messages; the rows on the screen do not move."""
        anchor = self._viewport.anchor()
        self._column.prepend(messages)
        self._more_above, self._older_requested = more_above, False
        self._messages_changed()
        self._place(anchor)

    def append(self, messages: Sequence[Record], *, below: int) -> None:
        """Add a page of newer messages, below which so many follow; the rows on the screen do not move."""
        anchor = self._viewport.anchor()
        self._column.append(messages)
        self._set_below(below)
        self._newer_requested = False
        self._messages_changed()
        self._place(anchor)

    def far(self, step: int) -> int | None:
        """The depth of a prompt far below the screen (1), or above it (-1), at which rows can be cut off."""
        viewport = self._viewport
        if not viewport.ready or self.text_selection is not None:
            return None
        away = _FAR * viewport.height
        return self._column.parting(viewport.top + (viewport.height + away if step > 0 else -away), step)

    def cut(self, depths: range, *, below: int) -> None:
        """Keep the messages of these depths alone, below which so many follow; the rows on the screen do not move."""
        anchor = self._viewport.anchor()
        self._more_above = self._more_above or any(
            entry.message.depth < depths.start for entry in self._column.entries
        )
        self._column.cut(depths)
        self._older_requested = self._newer_requested = False
        self._pending_text = {id: text for id, text in self._pending_text.items() if self._column.entry(id)}
        self._set_below(below)
        self._messages_changed()
        self._place(anchor)

    @property
    def below(self) -> int:
        """How many messages of the branch are below those that are loaded."""
        return self._below

    def count_below(self, below: int) -> None:
        """Say how many messages of the branch are below those that are loaded, since that has changed."""
        self._set_below(below)
        self._sync()

    def _set_below(self, below: int) -> None:
        self._below, self._viewport.more_below = below, below > 0
        self._set_tail()

    def add(self, message: Record) -> None:
        """Add a message at the end, or change it where it exists."""
        if self._column.entry(message.id) is not None:
            self.change(message)
        else:
            self.add_all((message,))

    def add_all(self, messages: Sequence[Record]) -> None:
        """Add new messages at the end, drawn once."""
        anchor = self._viewport.anchor()
        self._column.gather(self.following and self.current is None)
        for message in messages:
            self._column.add(message)
        self._place(anchor)

    def change(self, message: Record) -> None:
        """Replace a message by a new version."""
        anchor = self._viewport.anchor()
        self._pending_text.pop(message.id, None)
        self._column.gather(self.following and self.current is None)
        self._column.change(message, draw=not self.following)
        self._place(anchor)

    def set_siblings(self, siblings: Mapping[str, Siblings]) -> None:
        """Set the siblings of prompts, drawn as `‹ 2/3 ›`, with the agent before it where that tells them apart."""
        anchor = self._viewport.anchor()
        self._column.set_siblings(siblings)
        self._place(anchor)

    def set_asked(self, calls: Collection[str]) -> None:
        """Mark the tool calls of these ids as asked for: what they would do stands beside the question."""
        anchor = self._viewport.anchor()
        if self._column.set_asked(calls):
            self._place(anchor)

    def set_going_on(self, message_ids: Collection[str]) -> None:
        """Mark the tool calls of these rows as going on in the background."""
        anchor = self._viewport.anchor()
        if self._column.set_going_on(message_ids):
            self._place(anchor)

    def put_away(self, message_id: str | None) -> None:
        """Draw a notice no longer while it is said elsewhere; None: draw all."""
        if message_id != self._column.away:
            anchor = self._viewport.anchor()
            self._column.put_away(message_id)
            self._place(anchor)

    def set_seam_detail(self, message_id: str, text: str) -> None:
        """Set the prior context of a seam, shown where it is unfolded."""
        self._column.details[message_id] = text
        entry = self._column.entry(message_id)
        if entry is not None:
            anchor = self._viewport.anchor()
            entry.detail = text
            self._column.rebuild(entry)
            self._place(anchor)

    def _messages_changed(self) -> None:
        """Update focus, selection and search after messages were replaced or removed."""
        self._selection_start = None
        if self.current is not None and self._column.entry(self.current) is None:
            self.current = None
        if self._search is not None:
            self._search.refresh(self._column)

    def _request_older(self) -> None:
        self.post_message(self.OlderRequested())

    def _request_newer(self) -> None:
        self.post_message(self.NewerRequested())

    def _request_place(self, scroll: int | None) -> None:
        self.post_message(self.PlaceRequested(scroll))

    def _request_images(self, wanted: Mapping[ImageSlot, str]) -> None:
        self.post_message(self.ImagesWanted(wanted))

    # Folding

    def toggle_fold(self, message_id: str | None = None) -> None:
        """Fold or unfold a message, or the group of calls that it begins; the one in focus for None."""
        entry = self._column.entry(message_id or self.current or "")
        if entry is not None and entry.group:
            self._fold_group(entry, not entry.group_folded)
        elif entry is not None and entry.foldable:
            self._toggle(entry)

    def fold_all(self, folded: bool) -> None:
        """Fold or unfold all foldable messages."""
        anchor = self._viewport.anchor()
        for entry in self._column.entries:
            if entry.group and entry.group_folded != folded:
                self._column.fold_group(entry, folded)
            if entry.foldable and (entry.folded != folded or not entry.touched):
                self._column.fold(entry, folded)
        self._place(anchor)

    def toggle_raw(self, message_id: str | None = None) -> None:
        """Show a tool call as it was sent and answered, or its work again."""
        entry = self._column.entry(message_id or self.current or "")
        if entry is not None and entry.message.kind is Kind.TOOL:
            anchor = self._anchor_on(entry)
            if entry.group and entry.group_folded:
                self._column.fold_group(entry, False)
            entry.raw = not entry.raw
            self._column.rebuild(entry)
            self._scroll_to_anchor(anchor)

    def _anchor_on(self, entry: Entry) -> Anchor | None:
        """Return the anchor that keeps the first row of a message, if it is seen."""
        at = self._column.top(entry) + entry.gap - self._viewport.top
        seen = 0 <= at < self._viewport.height
        return Anchor(entry, 0, 0, at) if seen else self._viewport.anchor()

    def _fold_group(self, entry: Entry, folded: bool) -> None:
        anchor = self._anchor_on(entry)
        self._column.fold_group(entry, folded)
        self._scroll_to_anchor(anchor)

    def _toggle(self, entry: Entry) -> None:
        self._fold(entry, entry.toggled(short=self._column.options.short))

    def _fold(self, entry: Entry, folded: bool) -> None:
        anchor = self._anchor_on(entry)
        entry.raw = False
        self._column.fold(entry, folded)
        current = self._column.entry(self.current or "")
        if current is not None and current.folded_away:
            self.current = entry.message.id
        self._scroll_to_anchor(anchor)
        self.post_message(self.FoldToggled(entry.message.id, folded))
        if not folded and entry.message.kind is Kind.SEAM and entry.detail is None:
            self.post_message(self.SeamOpened(entry.message.id))

    # Copying

    def text_of(self, message_id: str) -> str:
        """Return the text of a message; "" for one that is not loaded."""
        self._flush()
        entry = self._column.entry(message_id)
        return "" if entry is None else sources.text_of(entry)

    def code_blocks_of(self, message_id: str) -> list[str]:
        """Return the code blocks of a message, in order."""
        self._flush()
        entry = self._column.entry(message_id)
        return [] if entry is None else sources.code_blocks_of(entry)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        self._flush()
        anchor = self._viewport.anchor()
        text = selecting.selected_text(self._column, selection)
        self._place(anchor)  # drawing for the selection may have corrected heights
        return text, "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is None:
            self._selection_start = None
        self._repaint()

    def action_extend(self, step: int) -> None:
        """Extend the selection of whole messages by ``step``, from the one in focus."""
        if self.current is None:
            self.browse(True)
        elif self._selection_start is not None:
            self.move(step)
        if self.current is not None:
            self._select(self._selection_start or self.current, self.current)

    def _select(self, start: str, end: str) -> None:
        first, last = self._column.entry(start), self._column.entry(end)
        if first is not None and last is not None:
            first, last = sorted((first, last), key=lambda entry: entry.ordinal)
            self.screen.selections = {self: selecting.entries_selection(first, last)}
            self._selection_start = start

    # Finding

    def _flush(self) -> bool:
        grown = super()._flush()
        if grown and self._search is not None:
            self.post_message(self.HitsStale())
        return grown

    def find(self, text: str) -> list[TextHit]:
        """Search all loaded messages and go to the newest hit on the screen or above it.

        Hits stay highlighted until the next search; an empty text ends the search. Others of the branch are added
        to ``search``; while one may be above, and none is here, no hit is the current one.
        """
        self._flush()
        self._search = TranscriptSearch(text, self._column) if text else None
        if self._search is None:
            self._repaint()
            return []
        self._search.begin(self._column, self._viewport.rows, more_above=self._more_above)
        self._show_hit(self._search)
        return self._search.hits

    def show_found(self, message_id: str, words: Sequence[str]) -> None:
        """Go to a message and mark these words in all that are loaded; the first hit in it is the current one."""
        self._flush()
        entry = self._column.entry(message_id)
        if entry is None:
            return
        self._column.unfold_around(entry)
        search = TranscriptSearch(words, self._column) if any(words) else None
        self._search = search
        if search is not None and search.begin_in(message_id):
            self._show_hit(search)
            return
        anchor = self._viewport.anchor()
        self._viewport.place(anchor)
        self._viewport.reveal(entry)
        self._sync()

    @property
    def search(self) -> TranscriptSearch | None:
        """The search whose hits are marked."""
        return self._search

    def add_hits(self, found: Iterable[RowHits]) -> None:
        """Add hits of the search in messages that are not loaded."""
        if self._search is not None:
            self._search.add(found, self._column)

    def find_anew(self) -> bool:
        """Count the hits of the search again in what is loaded; False if they are the same. Nothing moves."""
        search = self._search
        if search is None:
            return False
        before = search.hits
        search.refresh(self._column)
        return search.hits != before

    def show_hit(self) -> None:
        """Go to the current hit of the search, if it is loaded."""
        if self._search is not None:
            self._show_hit(self._search)

    def leave_branch(self) -> None:
        """Begin the search anew in what is loaded: another branch is about to be shown."""
        if self._search is not None:
            self._search = TranscriptSearch(self._search.text, self._column)

    @property
    def marks_found(self) -> bool:
        """True while what was looked for is marked."""
        return self._search is not None

    def find_step(self, step: int) -> TextHit | None:
        """Move by ``step`` hits, around the ends; None without hits."""
        if self._search is None:
            return None
        hit = self._search.step(step)
        self._show_hit(self._search)
        return hit

    @property
    def hit_position(self) -> tuple[int, int]:
        """The number of the current hit, from 1, or 0 for none; and the number of hits."""
        search = self._search
        return (
            (0, 0) if search is None else (0 if search.index is None else search.index + 1, len(search.hits))
        )

    def _show_hit(self, search: TranscriptSearch) -> None:
        entry = search.entry(self._column)
        if entry is None:
            self._repaint()
            return
        anchor = self._viewport.anchor()
        self._column.unfold_around(entry)
        if (first := self._column.group_of(entry)) is not None:
            self._column.fold_group(first, False)
        elif entry.group and entry.group_folded:
            self._column.fold_group(entry, False)
        located = search.locate(self._column, entry) is not None and entry.message.kind is not Kind.USER
        if not located and entry.foldable and entry.folded:
            self._column.fold(entry, False)
            search.locate(self._column, entry)
        self._viewport.place(anchor)
        if search.location is None:
            self._viewport.reveal(entry)
        else:
            self._viewport.show_row(search.anchor(self._column, entry, self._viewport.height // 3))
        self._sync()

    def _overlays(self) -> Callable[[ColumnRow], Iterable[Overlay]] | None:
        selection, search = self.text_selection if self.is_attached else None, self._search
        if selection is None and search is None:
            return None
        palette = self._column.options.palette

        def over(row: ColumnRow) -> list[Overlay]:
            overlays = [] if search is None else list(search.overlays(self._column, row, palette))
            span = None if selection is None else selecting.selected_columns(row, selection)
            return overlays if span is None else [*overlays, (*span, palette.selection)]

        return over

    # The pointer

    def focus_on_click(self) -> bool:
        """Keep the focus where it is: a click selects text."""
        return False

    def on_click(self, event: events.Click) -> None:
        """Open a link, go to a sibling or fold by a click; select a word by two, the message by three."""
        event.prevent_default()
        rows = self._viewport.rows
        offset = event.get_content_offset(self)
        if offset is None or not 0 <= offset.y < len(rows):
            return
        row = rows[offset.y]
        if event.chain == 2:
            _, place = self.screen.get_widget_and_offset_at(event.screen_x, event.screen_y)
            word = None if place is None else selecting.word_at(row, place)
            if word is not None:
                self.screen.selections = {self: word}
        elif event.chain == 3:
            self.screen.selections = {self: selecting.entries_selection(row.entry, row.entry)}
        elif self.text_selection is None:
            self._handle_click(row, event.style.meta)

    def _handle_click(self, row: ColumnRow, meta: Mapping[str, object]) -> None:
        message_id = row.entry.message.id
        if HREF in meta:
            self.post_message(self.LinkOpened(str(meta[HREF])))
        elif SIBLING_STEP in meta:
            self.post_message(self.SiblingRequested(message_id, 1 if meta[SIBLING_STEP] == 1 else -1))
        elif BRANCH_ACT in meta:
            self.post_message(self.BranchRequested(message_id, str(meta[BRANCH_ACT])))
        elif row.entry.group and row.part == 0:
            self._fold_group(row.entry, not row.entry.group_folded)
        elif row.entry.foldable and self._opens(row):
            self._toggle(row.entry)

    def _opens(self, row: ColumnRow) -> bool:
        parts = row.entry.parts or ()
        headed = row.entry.message.kind is not Kind.USER  # the beginning of a prompt is text like the rest
        return (row.part == 0 and headed) or (0 <= row.part < len(parts) and parts[row.part].opens)

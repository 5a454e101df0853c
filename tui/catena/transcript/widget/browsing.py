"""Browsing of the transcript by message and prompt, the choice of a prompt, and the buttons beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from catena.transcript.messages.prompt import Siblings
from catena.transcript.model.column import IN_GAP, ColumnRow
from catena.transcript.model.entry import Entry
from catena.transcript.model.heights import ReadingPosition
from catena.transcript.widget.row_renderer import RowRenderer
from catena.transcript.widget.view import TranscriptView
from catena_store.records import Kind
from catena_store.records import Message as Record

BRANCH_ACT = "branch"  # key of an act's name in a style's meta data

_SPACE = "  "
_TEXT_KEPT = 8  # cells of the prompt that stay readable


def has_buttons(row: ColumnRow) -> bool:
    """True for the first row of a prompt."""
    return row.entry.message.is_prompt and row.part == 0 and row.row == 0 and row.line is not None


def add_buttons(
    strip: Strip, row: ColumnRow, renderer: RowRenderer, acts: Sequence[str], *, over_text: bool
) -> Strip:
    """Draw as many buttons as fit at the end of a row, one for each of the acts, left of time and siblings.

    With ``over_text`` they may cover the prompt's text.
    """
    layout, palette = renderer.layout, renderer.palette
    end = layout.before + layout.left + layout.body
    end -= row.line.note_cells if row.line is not None else 0
    room = end - layout.before - layout.left - _TEXT_KEPT
    ground = palette.prompt_note.bgcolor
    base = Style(bgcolor=ground) if ground else Style.null()
    segments: list[Segment] = []
    cells = 0
    for act in acts:
        if cells + len(_SPACE) + len(act) > room:
            break
        segments.append(Segment(act, palette.prompt_note + Style(underline=True, meta={BRANCH_ACT: act})))
        segments.append(Segment(_SPACE, base))
        cells += len(_SPACE) + len(act)
    if not cells or not (over_text or strip.crop(end - cells, end).text.isspace()):
        return strip
    return Strip.join(
        [strip.crop(0, end - cells), Strip(segments, cells), strip.crop(end, strip.cell_length)]
    )


_REST = Style(dim=True)


class BrowsableTranscript(TranscriptView):
    """Transcript view with a message in focus; during the choice of a prompt all others are dim."""

    PROMPT_ACTS: ClassVar[tuple[str, ...]] = ("edit", "retry", "fork")  # buttons of a prompt
    _browsing = False
    _choosing = False
    _hovered: str | None = None  # the message below the pointer
    _edited: str | None = None  # the prompt that is in the composer to be sent again

    def browse(self, on: bool) -> None:
        """Focus the newest message on the screen, or end browsing."""
        self._browsing = on
        if on:
            self._take_along()
        else:
            self.choosing = False
            self.current = None

    def _take_along(self) -> None:
        """Keep the focus on a message in sight, whatever has moved the view: the nearest one, or a prompt to choose."""
        seen = [row.entry for row in self._viewport.rows if row.part != IN_GAP]
        entry = self._column.entry(self.current or "")
        if not self._browsing or not seen or entry in seen:
            return
        if self.choosing:
            seen = [each for each in seen if is_prompt(each.message)] or seen
        above = entry is not None and entry.ordinal < seen[0].ordinal
        self.current = seen[0 if above else -1].message.id

    def _sync(self) -> None:
        self._take_along()
        super()._sync()

    @property
    def idle_at_end(self) -> bool:
        """True while following the end with nothing focused, chosen or selected."""
        return self.following and self.current is None and not self.choosing and self.text_selection is None

    def edit(self, message_id: str | None) -> None:
        """Show which prompt is edited, and what its new version leaves behind; None: none is."""
        if message_id != self._edited:
            self._edited = message_id
            self._repaint()

    @property
    def choosing(self) -> bool:
        """True during the choice of a prompt, when all others are dim."""
        return self._choosing

    @choosing.setter
    def choosing(self, on: bool) -> None:
        if on != self._choosing:
            self._choosing = on
            self._repaint()

    def choose_prompt(self) -> bool:
        """Begin the choice of a prompt at the newest one that is loaded; False if none is."""
        newest = next((entry for entry in reversed(self._column.entries) if is_prompt(entry.message)), None)
        if newest is None:
            return False
        self._go_to(newest)
        self.choosing = True
        return True

    def restore_position(self, scroll: int | None) -> None:
        """Scroll to a result of ``position``, which is loaded if need be; None is the end."""
        if self._covers(scroll):
            self._viewport.restore_position(scroll)
            self._place(None)
        else:
            self._request_place(scroll)

    def _covers(self, scroll: int | None) -> bool:
        """True if the messages around a reading position are loaded."""
        depths = [entry.message.depth for entry in self._column.entries]
        if scroll is None or not depths:
            return not self._below
        depth = ReadingPosition.unpack(scroll).depth
        return (depth >= min(depths) or not self._more_above) and (depth <= max(depths) or not self._below)

    def move(self, step: int, *, prompts: bool = False) -> None:
        """Move the focus by ``step`` messages, or prompts, and scroll to it."""
        now = None if self.current is None else self._column.entry(self.current)
        if now is None:
            self.browse(True)
            return
        target = self._column.neighbour(now, step, prompts=prompts)
        if target is not None:
            self._go_to(target)
        elif step < 0 and self._more_above:
            self._scroll_to_top()  # loads what is above, for the next key press
        elif step > 0 and self._below:
            self._scroll_to_anchor(None)  # loads what is below

    def move_to(self, message_id: str) -> None:
        """Move the focus to a message, and scroll to it; nothing happens if it is not loaded."""
        entry = self._column.entry(message_id)
        if entry is not None:
            self._go_to(entry)

    def browse_edge(self, step: int) -> None:
        """Focus the first message on the screen (-1) or the last (1)."""
        seen = [row.entry for row in self._viewport.rows if row.part != IN_GAP]
        self.current = seen[0 if step < 0 else -1].message.id if seen else None

    def go_to_edge(self, step: int) -> None:
        """Go to the beginning of the branch (-1) or to its end (1), with the focus if there is one."""
        browsed, away = self.current is not None, self._more_above if step < 0 else self._below
        if step < 0:
            self.scroll_home()
        else:
            self.scroll_end()
        if browsed and not away:
            self.browse_edge(step)

    def action_scroll_home(self) -> None:
        """Go to the beginning."""
        self.go_to_edge(-1)

    def action_scroll_end(self) -> None:
        """Go to the end, and follow it."""
        self.go_to_edge(1)

    def focus_message(self, message_id: str) -> bool:
        """Focus a message without scrolling, or the nearest one in sight; False if it is not loaded."""
        if self._column.entry(message_id) is None:
            return False
        self.current = message_id
        self._take_along()
        return True

    def record(self, message_id: str | None) -> Record | None:
        """Return a message that is loaded; None for others."""
        entry = self._column.entry(message_id or "")
        return None if entry is None else entry.message

    def parted(self, message_id: str) -> bool:
        """True for what a subagent said or did, while the call that started it is above what is loaded."""
        entry = self._column.entry(message_id)
        return entry is not None and entry.root.inside and self._more_above

    def siblings_of(self, message_id: str) -> Siblings | None:
        """Return position and number of siblings of a prompt; None where it has none."""
        entry = self._column.entry(message_id)
        return None if entry is None else entry.siblings

    def prompt_above(self, message_id: str | None, *, with_siblings: bool = False) -> Record | None:
        """Return the nearest editable prompt at or above a message, of those that are loaded.

        Without ``message_id`` start at the newest message; ``with_siblings`` finds one that has siblings.
        """
        entries = self._column.entries
        if message_id is None and self._below:
            return None
        start = self._column.entry(message_id) if message_id else entries[-1] if entries else None
        if start is None:
            return None
        for entry in reversed(entries[: self._column.position(start) + 1]):
            if is_prompt(entry.message) and (entry.siblings is not None or not with_siblings):
                return entry.message
        return None

    def prompt_below(self, parent_id: str | None) -> Record | None:
        """Return the prompt whose parent is this message, if it is loaded."""
        for entry in reversed(self._column.entries):
            if entry.message.kind is Kind.USER and entry.message.parent_id == parent_id:
                return entry.message
        return None

    def _go_to(self, entry: Entry) -> None:
        self.current = entry.message.id
        self._viewport.reveal(entry)
        self._sync()

    # Drawing

    def _row_decorator(self) -> Callable[[ColumnRow, Strip], Strip] | None:
        current, choosing = self.current, self._choosing
        highlighted = self._hovered or current
        edited = self._column.entry(self._edited) if self._edited is not None else None
        if highlighted is None and not choosing and edited is None:
            return None
        renderer = self._viewport.renderer
        below = self._column.neighbour(edited, 1, prompts=False) if edited is not None else None

        def decorate(row: ColumnRow, strip: Strip) -> Strip:
            if edited is not None and row.entry.ordinal >= edited.ordinal:
                if row.entry is edited:
                    return renderer.chosen(strip, blank=row.line is None)
                directly_below = row.entry is below and row.part == IN_GAP and row.row == 0
                return renderer.below_chosen() if directly_below else renderer.left_behind(strip)
            message_id = row.entry.message.id
            if choosing and message_id != current:
                return strip.apply_style(_REST)
            if message_id == highlighted and has_buttons(row):
                return add_buttons(
                    strip, row, renderer, self.PROMPT_ACTS, over_text=message_id == self._hovered
                )
            return strip

        return decorate

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show the buttons of the prompt below the pointer."""
        rows, offset = self._viewport.rows, event.get_content_offset(self)
        inside = offset is not None and 0 <= offset.y < len(rows)
        row = rows[offset.y] if inside and offset is not None else None
        prompt = row is not None and row.part != IN_GAP and is_prompt(row.entry.message)
        self._hover(row.entry.message.id if row is not None and prompt else None)

    def on_leave(self) -> None:
        """Hide the buttons."""
        self._hover(None)

    def _hover(self, message_id: str | None) -> None:
        if message_id != self._hovered:
            self._hovered = message_id
            self._repaint()


def is_prompt(message: Record) -> bool:
    """True for a prompt that began a turn, which can be edited and sent again."""
    return message.is_prompt

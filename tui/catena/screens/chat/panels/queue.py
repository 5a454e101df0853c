"""The queue above the composer: waiting prompts are ordered, changed and sent by keys or mouse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from catena.keys.bindings import bindings
from catena.terminal.times import JUST_ASKED, KeyPace, Standing
from catena.text.safe_text import safe_line

if TYPE_CHECKING:
    from catena_acp.continuity.conversation_events import SessionState
    from catena_store.records import QueueItem


_SHOWN = 4
_NOW = "send now "
_CROSS = "✕ "
_APART = "    "  # between what sends and what takes back


class QueueList(Widget, can_focus=True):
    """One line for each waiting prompt; while it has the focus, letters are commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            next_queued="choose(1)",
            previous_queued="choose(-1)",
            send_later="move(1)",
            send_sooner="move(-1)",
            edit_queued="change('edit')",
            delete_queued="change('remove')",
            send_now="change('now')",
        )
    ]
    DEFAULT_CSS = """
    QueueList { height: auto; max-height: 5; display: none; color: $muted; &.-any { display: block; } }
    """

    class Changed(Message):
        """The person wants something done with a waiting prompt: `now`, `edit` or `remove`."""

        def __init__(self, item: QueueItem, how: str) -> None:
            super().__init__()
            self.item = item
            self.how = how

    class Moved(Message):
        """The person moves a waiting prompt by some places, from where it stands by then: keys are fast."""

        def __init__(self, item: QueueItem, step: int) -> None:
            super().__init__()
            self.item = item
            self.step = step

    class Mistyped(Message):
        """A text about a key that does nothing yet."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The queue is empty or was left: the focus goes elsewhere."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: Sequence[QueueItem] = ()
        self._note: Callable[[QueueItem], str] = lambda _: ""
        self._notes: Sequence[str] = ()  # of those that are shown
        self._chosen: str | None = None
        self._changed: str | None = None  # the last one that was sent, removed or taken back here
        self.standing = Standing(self, time.monotonic)  # of a choice that nobody made
        self.standing.drawn(-inf)
        self.pace = KeyPace()  # of the keys, wherever they went

    @property
    def items(self) -> Sequence[QueueItem]:
        """The prompts that wait, next one first."""
        return self._items

    @property
    def chosen(self) -> QueueItem | None:
        """The chosen prompt."""
        return self._items[self._at] if self._items else None

    @property
    def _at(self) -> int:
        return next((at for at, item in enumerate(self._items) if item.id == self._chosen), 0)

    def show(self, items: Sequence[QueueItem], note: Callable[[QueueItem], str] = lambda _: "") -> None:
        """Show these prompts, each with what ``note`` says of it, which is asked for those in sight alone."""
        self._note, at = note, self._at
        if items is self._items or items == self._items:
            if self._notes != self._notes_in_sight():
                self.refresh()
            return
        before, self._items = self._items, items
        if items and all(item.id != self._chosen for item in items):
            # The one that was chosen is gone: its neighbour is.
            gone, self._chosen = self._chosen, items[min(at, len(items) - 1)].id
            if before and gone != self._changed:
                self.standing.changed()
        self.set_class(bool(items), "-any")
        self.refresh(layout=True)
        if not items and self.has_focus:
            self.post_message(self.Left())

    def enter(self) -> None:
        """Focus the list; on a screen too short for it, it is visible only while it has the focus."""
        self.add_class("-entered")
        if self.display:
            self.screen.set_focus(self)
        else:
            self.call_after_refresh(self.screen.set_focus, self)

    def on_focus(self) -> None:
        """Mark the chosen line while focused."""
        self.refresh()

    def on_blur(self) -> None:
        """Mark no line while not focused."""
        self.remove_class("-entered")
        self.refresh()

    def action_choose(self, step: int) -> None:
        """Choose the next line, or the one before."""
        if self._items:
            self._chosen = self._items[max(0, min(len(self._items) - 1, self._at + step))].id
            self.refresh()

    def action_move(self, step: int) -> None:
        """Move the chosen prompt to a later or an earlier place."""
        if item := self.chosen:
            self.post_message(self.Moved(item, step))

    def action_change(self, how: str) -> None:
        """Send the chosen prompt, remove it, or restore it to the draft."""
        if item := self.chosen:
            self._change(item, how, self.pace.read_at or time.monotonic())

    def _change(self, item: QueueItem, how: str, pressed_at: float) -> None:
        """Ask for a change, unless it may be meant for a prompt that has just gone from this place."""
        if self.standing.holds(pressed_at):
            self._changed = item.id
            self.post_message(self.Changed(item, how))
        else:
            self.post_message(self.Mistyped(JUST_ASKED))

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked line; a click on the words at its end sends or restores the prompt."""
        first = self._first
        if event.y >= min(len(self._items) - first, self._room):
            return
        item = self._items[first + event.y]
        self._chosen = item.id
        from_end = self.size.width - event.x
        if from_end <= len(_CROSS) + 2:
            self._change(item, "edit", time.monotonic())
        elif 0 < from_end - len(_CROSS) - len(_APART) - 2 <= len(_NOW):
            self._change(item, "now", time.monotonic())
        self.refresh()

    @property
    def _first(self) -> int:
        """The first of the lines that are shown: the chosen one is among them."""
        room = self._room
        return max(0, min(self._at - room + 1, len(self._items) - room)) if self.has_focus else 0

    @property
    def _in_sight(self) -> Sequence[QueueItem]:
        """The prompts that are shown."""
        return self._items[(first := self._first) : first + self._room]

    def _notes_in_sight(self) -> list[str]:
        return [self._note(item) for item in self._in_sight]

    @property
    def _room(self) -> int:
        """How many prompts are shown at once."""
        return max(1, min(_SHOWN, self.size.height))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each prompt that is shown, and one for how many more there are."""
        return self.rows

    @property
    def rows(self) -> int:
        """The rows that the queue takes if there is room."""
        return min(len(self._items), _SHOWN) + (len(self._items) > _SHOWN)

    def render(self) -> Content:
        """The prompts that there is room for, each with its place in the queue, and how many more there are."""
        width = self.size.width
        lines = []
        self._notes = self._notes_in_sight()
        following = next((each for each in self._items if not each.held), None)
        for place, (item, said) in enumerate(zip(self._in_sight, self._notes, strict=True), self._first + 1):
            chosen = self.has_focus and item is self.chosen
            tone = "$asking" if item.held else "$accent" if item is following else "$muted"
            word = f"{'held' if item.held else 'next' if item is following else place:<6}"
            note = safe_line(said)
            end = f"{_NOW}{_APART}{_CROSS} "
            room = max(8, width - 2 - len(word) - len(end) - 2)
            beside = Content(f"  {note}" if note else "").truncate(max(0, room // 2), ellipsis=True)
            shown = Content(safe_line(item.text)).truncate(room - beside.cell_length, ellipsis=True)
            used = 2 + len(word) + shown.cell_length + beside.cell_length
            gap = " " * max(1, width - used - len(end))
            line = Content.assemble(
                "› " if chosen else "  ",
                (word, tone),
                shown,
                beside.stylize("$faint"),
                gap,
                end,
            )
            lines.append(line.stylize("bold $foreground") if chosen else line)
        if (more := len(self._items) - self._room) > 0:
            lines.append(Content(f"  and {more} more"))
        return Content("\n").join(lines)


def note_of(item: QueueItem, session: SessionState, cwd: str) -> str:
    """The note on a waiting prompt; "" without any."""
    parts = []
    if item.model and session.model and item.model != session.model:
        parts.append(item.model)
    if item.mode and session.mode and item.mode != session.mode:
        parts.append(next((each.name for each in session.modes if each.id == item.mode), item.mode))
    if item.cwd and item.cwd != cwd:
        parts.append(item.cwd)
    parts += [f"+ {name}" for name in item.attachments]
    return " · ".join(parts)

"""Vi's keys in a text area: what the engine makes of a key, on the screen."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.document._document import Location, Selection

from catena.keys.vim.engine import Mode, Vim
from catena.widgets.fields.text_fields import SafeTextArea


class VimKeys:
    """Hands keys to the engine, and its text, cursor and selection to the area.

    In insert mode the area types by itself. ``copy`` gets what is yanked to the clipboard; ``clipboard`` reads it, as
    far as it is known; ``changed`` is called when the word of the mode may be another.
    """

    def __init__(
        self,
        area: SafeTextArea,
        *,
        copy: Callable[[str], None],
        clipboard: Callable[[], str],
        changed: Callable[[], None],
    ) -> None:
        self._area = area
        self._copy = copy
        self._clipboard = clipboard
        self._changed = changed
        self._vim = Vim()
        self._shown: tuple[str, Selection] | None = None  # as the engine left it

    @property
    def word(self) -> str:
        """The word of the mode, with the keys of a command that is not complete."""
        vim = self._vim
        return f"{vim.mode.value} {vim.pending}" if vim.pending else vim.mode.value

    @property
    def inserting(self) -> bool:
        """True while keys are typed."""
        return self._vim.mode is Mode.INSERT

    def restart(self) -> None:
        """Begin with another text, in insert mode."""
        self._vim.restart(self._area.edited, self._place)
        self._shown = None
        self._changed()

    def settle(self) -> None:
        """Take what became of the text elsewhere, by another key or the mouse."""
        if self._shown != (self._area.edited, self._area.selection):
            self._vim.show(self._area.edited, self._place)
            self._changed()

    def takes(self, event: events.Key) -> bool:
        """True if a key means something to the engine, which has done it then."""
        key = event.character if event.is_printable and event.character else event.key
        if self.inserting and key != "escape":
            return False
        self.settle()
        self._vim.registers.clipboard = self._clipboard()
        taken = self._vim.press(key)
        if taken:
            self._show()
            if (copied := self._vim.registers.take_copied()) is not None:
                self._copy(copied)
        self._changed()
        return taken or event.is_printable

    @property
    def _place(self) -> int:
        """The cursor of the area as a place in its text."""
        row, column = self._area.selection.end
        return sum(len(line) + 1 for line in self._area.document.lines[:row]) + column

    def _show(self) -> None:
        """Bring the area to what the engine has, by the smallest change of its text."""
        vim, area = self._vim, self._area
        before, after = area.edited, vim.text
        if before != after:
            most = min(len(before), len(after))
            start = next((at for at in range(most) if before[at] != after[at]), most)
            same = next((at for at in range(most - start) if before[-1 - at] != after[-1 - at]), most - start)
            area.replace(
                after[start : len(after) - same],
                _location(before, start),
                _location(before, len(before) - same),
                maintain_selection_offset=False,
            )
            if area.edited != after:  # a piece went whole, or came
                vim.text = after = area.edited
                vim.cursor = self._place
        chosen = vim.selected
        if chosen is None:
            area.selection = Selection.cursor(_location(after, vim.cursor))
        else:
            start, end = chosen
            backwards = vim.cursor == start and end > start + 1
            ends = (_location(after, start), _location(after, end))
            area.selection = Selection(*(reversed(ends) if backwards else ends))
        self._shown = (area.edited, area.selection)
        area.scroll_cursor_visible()


def _location(text: str, place: int) -> Location:
    return text.count("\n", 0, place), place - (text.rfind("\n", 0, place) + 1)

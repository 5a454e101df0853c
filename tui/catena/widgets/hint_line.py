"""Hints on keys, and messages on what just happened: in the empty box if there is room, else in the row above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual.content import Content
from textual.widget import Widget

from catena.text.safe_text import safe_line

_AROUND = 2  # cells on both sides of the axis

# The key (before it is drawn: a template of the keys in effect), and what it does.
Hint: TypeAlias = tuple[str, str]

_BETWEEN = Content.styled(" · ", "$rule")


class HintLine(Widget):
    """The row above the box; it shows a message that the box has no room for.

    A message takes the place of the hints until the next key, while the tab is shown in which it was said. The box
    shows ``inside``.
    """

    DEFAULT_CSS = """
    HintLine {
        height: auto;
        max-height: 3;
        padding: 0 2;
        display: none;
        &.-apart { display: block; height: 1; }
        &.-said { display: block; height: auto; }
    }
    """

    def __init__(
        self,
        *,
        room: Callable[[], int] = lambda: 0,
        tab: Callable[[], object] = lambda: None,
        id: str | None = None,
    ) -> None:
        """``room`` is the width of the box while nothing is written in it, else 0; ``tab`` is the one that is shown."""
        super().__init__(id=id)
        self._room = room
        self._tab = tab
        self._left: tuple[Hint, ...] = ()
        self._right: tuple[Hint, ...] = ()
        self._first = False
        self._placeholder = "Message"
        self._said = ""
        self._wrong = False
        self._holds: Callable[[], bool] = lambda: True
        self.changed: Callable[[], None] = lambda: None  # called when ``inside`` may be different

    @property
    def said(self) -> str:
        """The message that is shown, "" if there is none."""
        return self._said

    def address(self, placeholder: str) -> None:
        """Say in the empty box whom it writes to."""
        if placeholder != self._placeholder:
            self._placeholder = safe_line(placeholder)
            self.changed()

    def hint(self, right: Sequence[Hint], left: Sequence[Hint] = (), *, first: bool = False) -> None:
        """Set the hints; if there is no room, the first ones go first. ``left`` take the placeholder's place.

        With ``first`` the placeholder goes where not one has room beside it.
        """
        hints = (tuple(left), tuple(right), first)
        if hints != (self._left, self._right, self._first):
            self._left, self._right, self._first = hints
            self.changed()

    def say(
        self,
        text: str,
        *,
        wrong: bool = False,
        holds: Callable[[], bool] = lambda: True,
        of_tab: bool = True,
    ) -> None:
        """Show a message; ``wrong`` if something did not work.

        It is dropped once it no longer ``holds``, and with its tab, unless it is not one ``of_tab``.
        """
        tab = self._tab()
        self._said, self._wrong = safe_line(text), wrong
        self._holds = (lambda: self._tab() is tab and holds()) if of_tab else holds
        self.place()

    def drop_untrue(self) -> None:
        """Drop the message if it no longer holds."""
        if not self._holds():
            self.hush()

    def hush(self) -> None:
        """Drop the message and show the hints."""
        if self._said:
            self.say("")

    def give_way(self) -> None:
        """Drop the message for the hints of another place, unless it tells of what did not work."""
        if not self._wrong:
            self.hush()

    def place(self) -> None:
        """Show the message in the box if there is room, else in the row above."""
        above = bool(self._said) and not self._fits
        self.set_class(above, "-said")
        self.refresh(layout=above)
        self.changed()

    def separate(self, on: bool) -> None:
        """Keep a blank row between the box and what is above, where that does not end with one."""
        self.set_class(on, "-apart")

    @property
    def _fits(self) -> bool:
        return self._message.cell_length <= self._room()

    @property
    def _message(self) -> Content:
        style = "$asking" if self._wrong else "$muted"
        return Content.styled(f"{'! ' if self._wrong else ''}{self._said}", style)

    def inside(self, width: int) -> Content:
        """The row of an empty box."""
        if self._said and self._fits:
            right, least = self._message, 2
            left = Content.styled(self._placeholder, "$faint")
            if left.cell_length + least + right.cell_length > width:
                return right
        else:
            address = Content.styled(self._placeholder, "$faint").truncate(max(1, width), ellipsis=True)
            left = hints_line(self._left, width) if self._left else address
            right = hints_line(self._right, width - left.cell_length - 2 * _AROUND)
            if self._first and not right:
                left, right = Content(""), hints_line(self._right, width)
        return Content.assemble(left, " " * max(0, width - left.cell_length - right.cell_length), right)

    def render(self) -> Content:
        """The message, where the box has no room for it."""
        return self._message if self.has_class("-said") else Content("")


def hints_line(hints: Sequence[Hint], room: int) -> Content:
    """The hints in one line of at most ``room`` cells; the first ones go first."""
    for first in range(len(hints)):
        line = _BETWEEN.join(hint_words(key, does) for key, does in hints[first:])
        if line.cell_length <= room:
            return line
    return Content("")


def hint_words(key: str, does: str) -> Content:
    """A key and what it does."""
    return Content.assemble((key, "$muted"), (f" {does}", "$faint"))

"""Above the composer: the attachments of the draft, and a shell command that runs, with the end of its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from catena.keys.bindings import keys_of
from catena.terminal.times import call_after
from catena.text.formats import size_in_words
from catena.text.prompt_text import plain_output
from catena.text.safe_text import safe_line

if TYPE_CHECKING:  # the first frame runs no command
    from catena.terminal.programs import ShellCommand


_LONGEST_NAME = 30  # characters, if there is room


class AttachmentBar(Widget):
    """A chip for each file."""

    DEFAULT_CSS = """
    AttachmentBar {
        height: auto;
        max-height: 3;
        display: none;
        color: $muted;
        &.-any { display: block; }
    }
    """

    class Removed(Message):
        """The person detaches a file."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._files: Sequence[tuple[str, int]] = ()

    def show(self, files: Sequence[tuple[str, int]]) -> None:
        """Show these files: name and bytes of each."""
        if files != self._files:
            self._files = files
            self.set_class(bool(files), "-any")
            self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        """Detach the file whose chip was clicked."""
        for index, (row, start, end) in enumerate(self._places()):
            if event.y == row and start <= event.x < end:
                self.post_message(self.Removed(index))

    def render(self) -> Content:
        """The chips, as many rows as they need."""
        lines: dict[int, str] = {}
        for (row, start, _), chip in zip(self._places(), self._chips(), strict=True):
            line = lines.get(row, "")
            lines[row] = line + " " * (start - Content(line).cell_length) + chip
        return Content("\n".join(lines[row] for row in sorted(lines)))

    def _chips(self) -> list[str]:
        longest = max(8, min(_LONGEST_NAME, self.size.width - 16))
        return [f"+ {_short(name, longest)} {size_in_words(size)} ✕" for name, size in self._files]

    def _places(self) -> list[tuple[int, int, int]]:
        """Row, first cell and the cell behind the last one, of each chip."""
        places = []
        row, at, width = 0, 2, max(20, self.size.width)
        for chip in self._chips():
            cells = Content(chip).cell_length
            if at > 2 and at + cells > width:
                row, at = row + 1, 2
            places.append((row, at, at + cells))
            at += cells + 3
        return places


def _short(name: str, longest: int) -> str:
    name = safe_line(name)
    if len(name) <= longest:
        return name
    end = longest // 3  # where a name says what kind of file it is
    return f"{name[: longest - end - 1]}…{name[-end:]}"


_LINES = 5  # of output
_LINES_OF_SHORT = 1  # on a screen of few rows
_EVERY = 0.1  # seconds between drawings


class ShellPanel(Widget):
    """The command, and the last lines that it wrote; nothing while none runs."""

    DEFAULT_CSS = """
    ShellPanel {
        height: auto;
        padding: 0 2;
        display: none;
        color: $muted;
        &.-running { display: block; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._command: ShellCommand | None = None
        self._drawing: Timer | None = None

    @property
    def running(self) -> ShellCommand | None:
        """The command that runs."""
        return self._command

    def show(self, command: ShellCommand | None) -> None:
        """Show a command from its beginning on; None when it has ended."""
        self._command = command
        self.set_class(command is not None, "-running")
        self.refresh(layout=True)

    def changed(self) -> None:
        """Draw what was written, soon: a flood is drawn ten times a second."""
        if self._drawing is None:
            self._drawing = call_after(self, _EVERY, self._draw)

    def _draw(self) -> None:
        self._drawing = None
        self.refresh(layout=True)

    def render(self) -> Content:
        """The command and its last lines."""
        if self._command is None:
            return Content("")
        width = max(8, self.size.width)
        ways = Content.styled(keys_of(self).said(" · {stop} stops it", " "), "$faint")
        command = Content.styled(safe_line(self._command.command), "bold $foreground")
        room = max(8, width - ways.cell_length - 2)
        head = Content.assemble(("$ ", "$sand"), command.truncate(room, ellipsis=True), ways)
        last = plain_output(self._command.output.last).split("\n")
        count = _LINES_OF_SHORT if self.screen.has_class("-short") else _LINES
        lines = [head, *(Content(line.expandtabs(8)) for line in last[-count:] if line)]
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)

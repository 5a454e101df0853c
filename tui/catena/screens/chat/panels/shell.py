"""A shell command that runs, with the end of its output, above the composer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from catena.keys.bindings import keys_of
from catena.terminal.timers import call_after
from catena.text.safe_text import safe_line
from catena.text.shell_text import plain_output

if TYPE_CHECKING:  # the first frame runs no command
    from catena.terminal.shell_command import ShellCommand

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

"""Lines that a person types, or that a file or a pipe has.

Unless there is an editor, the terminal's own line editing is used: Catena does not draw the typed text. Lines typed
during an answer are kept by the terminal, and read next.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catena.linear.editor import LineEditor

BLOCK: Final = '"""'  # around a prompt of several lines
GO_ON: Final = "\\"  # at the end of a line that goes on
_READ: Final = 1 << 16  # bytes
_TOGETHER: Final = 0.03  # seconds in which nobody types two lines: they were pasted
_APART: Final = 0.3  # seconds between two lines of which the second was typed, however long both have waited


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line, or several that are one text, and when the first came; ``pasted`` if others came with it at once."""

    text: str
    arrived: float  # seconds
    pasted: bool = False


class TextAssembly:
    """The lines of one text of several, as far as they have come. Pure."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._in_block = False
        self._begun = False

    @property
    def begun(self) -> bool:
        """True while a text is not whole."""
        return self._begun

    def add(self, line: str) -> str | None:
        """Add a line; return the text where it is whole with it, None where another line belongs to it.

        A line that ends in a backslash goes on in the next one; three quotes begin and end a text of several.
        """
        if not self._begun and line.lstrip().startswith(BLOCK):
            self._begun = self._in_block = True
            line = line.lstrip().removeprefix(BLOCK)
        if self._in_block:
            ends = line.rstrip().endswith(BLOCK)
            self._lines.append(line.rstrip().removesuffix(BLOCK) if ends else line)
            return self.take().strip("\n") if ends else None
        self._begun = line.endswith(GO_ON)
        self._lines.append(line.removesuffix(GO_ON))
        return None if self._begun else self.take()

    def take(self) -> str:
        """Take the lines that there are, and begin anew."""
        lines, self._lines = self._lines, []
        self._begun = self._in_block = False
        return "\n".join(lines)


class LineInput:
    """The lines of a descriptor, until its end.

    On a terminal, reading can be suspended for another program, and goes on after the end of input that a person
    types (Ctrl+D).
    """

    def __init__(self, descriptor: int, *, terminal: bool, clock: Callable[[], float]) -> None:
        """``clock`` is in seconds."""
        self.terminal = terminal
        self.editor: LineEditor | None = None  # else the terminal's own line editing is used
        self._descriptor = descriptor
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[InputLine | None] = deque()  # None: the end
        self._arrived = asyncio.Event()
        self._part = b""
        self._closed = False
        self._gathering = False  # a line was read, and others may belong to it
        self._assembly = TextAssembly()
        self._begun_at = 0.0  # when its first line came

    def start(self) -> None:
        """Begin to read."""
        if self.terminal:
            self._loop.add_reader(self._descriptor, self._read_terminal)
        else:
            threading.Thread(target=self._read_file, name="linear-input", daemon=True).start()

    def suspend(self) -> None:
        """Leave the terminal's input to another program."""
        if self.terminal:
            self._loop.remove_reader(self._descriptor)
        if self.editor is not None:
            self.editor.give_terminal()

    def resume(self) -> None:
        """Read the terminal again."""
        if self.terminal and not self._closed:
            self._loop.add_reader(self._descriptor, self._read_terminal)
            if self.editor is not None:
                self.editor.take_terminal()
                self.editor.redraw()

    def remember(self, text: str) -> None:
        """Let the arrow keys bring a text back."""
        if self.editor is not None:
            self.editor.remember(text)

    def close(self) -> None:
        """Read no further; whoever waits for a line gets the end."""
        self.suspend()
        self._closed = True
        self._add(None)

    def drop_unfinished(self) -> bool:
        """Drop the lines of a text that is not whole, and what stands in the line; False if there are none."""
        begun = self._assembly.begun
        if self.editor is not None:
            begun = self.editor.drop() or begun
        self._assembly.take()
        return begun

    async def line(
        self, *, single: bool = False, more: Callable[[], object] = lambda: None
    ) -> InputLine | None:
        """The next text; None at the end of the input, which on a terminal may come several times.

        With ``single`` it is one line whatever stands in it; else ``more`` is called where another line belongs to it.
        """
        while (line := await self._next()) is not None:
            if single:
                return replace(line, pasted=(bool(self._waiting) and self.terminal) or "\n" in line.text)
            pasteable = self.terminal and not self._assembly.begun and not line.text.startswith("/")
            if not self._assembly.begun:
                self._begun_at = line.arrived
            text = self._assembly.add(line.text)
            if text is not None:
                whole = InputLine(text, self._begun_at)
                return await self._with_pasted(whole) if pasteable and text.strip() else whole
            more()
        left = self._assembly.take()
        return InputLine(left, self._begun_at) if left else None

    @property
    def typed_ahead(self) -> bool:
        """True if a line that was typed at a terminal is not returned yet, maybe since nobody has asked for it."""
        if not self.terminal or self._closed:
            return False
        return (
            self._gathering
            or bool(self._waiting)
            or (self.editor is None and bool(select.select([self._descriptor], [], [], 0)[0]))
        )

    def put_back(self, line: InputLine) -> None:
        """Let a line be the next one again."""
        self._waiting.appendleft(line)
        self._arrived.set()

    async def _next(self) -> InputLine | None:
        while not self._waiting:
            if self._closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()

    async def _with_pasted(self, first: InputLine) -> InputLine:
        """A text with the lines that came together with it: what is pasted is one prompt, not many."""
        lines, last = [first.text], first.arrived
        while True:
            self._gathering = True
            try:
                await asyncio.sleep(_TOGETHER)
            finally:
                self._gathering = False
            before = len(lines)
            while self._waiting and (line := self._waiting[0]) is not None and line.arrived - last < _APART:
                lines.append(line.text)
                last = line.arrived
                self._waiting.popleft()
            if len(lines) == before:
                whole = "\n".join(lines).rstrip("\n")
                pasted = len(lines) > 1 or (self.editor is not None and "\n" in whole)
                return replace(first, text=whole, pasted=pasted)

    # Reading.

    def _read_terminal(self) -> None:
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return
        except OSError:  # the terminal is gone
            self.close()
            return
        if self.editor is not None and data:
            for line in self.editor.feed(data):
                self._add(line)
        elif data:
            self._take(data)
        else:
            self._end_part()
            self._add(None)

    def _read_file(self) -> None:
        data = b" "
        while data:
            try:
                data = os.read(self._descriptor, _READ)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._take_from_file, data)

    def _take_from_file(self, data: bytes) -> None:
        if data:
            self._take(data)
        else:
            self._end_part()
            self.close()

    def _take(self, data: bytes) -> None:
        *whole, self._part = (self._part + data).split(b"\n")
        for line in whole:
            self._add(_decoded(line))

    def _end_part(self) -> None:
        if self._part:
            self._add(_decoded(self._part))
            self._part = b""

    def _add(self, line: str | None) -> None:
        self._waiting.append(None if line is None else InputLine(line, self._clock()))
        self._arrived.set()


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")

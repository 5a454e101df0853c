"""Editing of the line that is typed, with its history, by the readline library that Python's ``readline`` is linked to.

Python's own interface to it blocks a thread until Enter, and nothing can be printed meanwhile. The library's callbacks
take one byte at a time, so the line lives on the event loop beside everything else. The library's output is collected
in memory, and is written in order with our own lines.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import readline
import select
import termios
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

_CHANGES: Final = (  # of the library's settings: bytes come from us, and modes of the terminal are ours
    "set keyseq-timeout 0",
    "set bind-tty-special-chars off",
    "set bell-style none",
    "tab: tab-insert",
)
_PASTES, _PASTES_NOT = "\x1b[?2004h", "\x1b[?2004l"  # what is pasted comes as one text
_END: Final = -1
_READ: Final = 4096  # bytes
_PATIENCE: Final = 1.0  # seconds for the rest of what was begun to be pasted
_NEEDED: Final = (
    "open_memstream",
    "rl_clear_visible_line",
    "rl_tty_set_echoing",
    "rl_callback_handler_install",
)
_Handler: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Getter: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_Nothing: Final = ctypes.CFUNCTYPE(None)


class LineEditor:
    """The line that is typed on a terminal, behind a marker."""

    def __init__(self, descriptor: int, write: Callable[[str], object]) -> None:
        """``write`` is handed what the library draws. Raises ImportError if this Python has no GNU readline."""
        self._library = library = _load()
        self._descriptor = descriptor
        self._write = write
        self._marker = ""
        self._waiting: deque[int] = deque()  # bytes that were typed
        self._lines: list[str | None] = []
        self._drawn, self._size = ctypes.c_char_p(), ctypes.c_size_t()
        self._modes: list[Any] | None = None  # of the terminal, before it was ours
        library.open_memstream.restype = ctypes.c_void_p
        self._memory = ctypes.c_void_p(
            library.open_memstream(ctypes.byref(self._drawn), ctypes.byref(self._size))
        )
        ctypes.c_void_p.in_dll(library, "rl_outstream").value = self._memory.value
        # The library keeps what it is handed here: these live as long as the editor does.
        self._kept = (_Handler(self._took), _Getter(self._next_byte), _Nothing(lambda: None))
        handler, getter, nothing = self._kept
        for name, function in (
            ("rl_getc_function", getter),
            ("rl_prep_term_function", nothing),
            ("rl_deprep_term_function", nothing),
        ):
            ctypes.c_void_p.in_dll(library, name).value = ctypes.cast(function, ctypes.c_void_p).value
        for name in ("rl_catch_signals", "rl_catch_sigwinch"):
            ctypes.c_int.in_dll(library, name).value = 0
        for change in _CHANGES:
            readline.parse_and_bind(change)
        readline.set_auto_history(False)
        library.rl_tty_set_echoing(1)
        self.take_terminal()
        library.rl_callback_handler_install(b"", handler)
        self._flush()

    # --- the terminal

    def take_terminal(self) -> None:
        """Let keys come one by one, without an echo; signals are still the terminal's."""
        with contextlib.suppress(termios.error):  # it is gone
            modes = termios.tcgetattr(self._descriptor)
            self._modes = self._modes or [*modes[:6], [*modes[6]]]
            modes[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
            self._write(_PASTES)

    def give_terminal(self) -> None:
        """Give the terminal back as it was."""
        modes, self._modes = self._modes, None
        if modes is not None:
            self._write(_PASTES_NOT)
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)

    def resize(self) -> None:
        """Draw the line for the terminal's new size."""
        self._library.rl_resize_terminal()
        self._flush()

    def redraw(self) -> None:
        """Draw the line below what others have written."""
        self._library.rl_on_new_line()
        if self._marker or self.text:
            self._library.rl_forced_update_display()
        self._flush()

    # --- the line

    @property
    def text(self) -> str:
        """What stands in the line."""
        return (ctypes.c_char_p.in_dll(self._library, "rl_line_buffer").value or b"").decode(
            "utf-8", "replace"
        )

    def feed(self, data: bytes) -> list[str | None]:
        """Take what was typed; returns the lines that are whole with it, None for the end of input (Ctrl+D)."""
        self._waiting.extend(data)
        while self._waiting:
            self._library.rl_callback_read_char()
        self._flush()
        lines, self._lines = self._lines, []
        return lines

    def drop(self) -> bool:
        """Drop what stands in the line; False if nothing does."""
        stood = bool(self.text)
        with self.aside(self._marker):
            self._library.rl_replace_line(b"", 1)
            ctypes.c_int.in_dll(self._library, "rl_point").value = 0
        return stood

    def remember(self, text: str) -> None:
        """Let the arrow keys bring a text back."""
        if text and "\0" not in text:
            readline.add_history(text)
            self._library.using_history()  # the line that stands there looks back from here, too

    @contextlib.contextmanager
    def aside(self, marker: str) -> Iterator[None]:
        """Take the line away while others are written, and draw it behind a marker below them."""
        library = self._library
        if self._marker or self.text:
            library.rl_clear_visible_line()
            self._flush()
        try:
            yield
        finally:
            self._marker = marker
            library.rl_set_prompt(marker.encode("utf-8", "replace"))
            self.redraw()

    # --- what the library calls

    def _took(self, line: int | None) -> None:
        self._marker = ""
        self._library.rl_set_prompt(b"")
        if line is None:
            self._lines.append(None)
            return
        self._lines.append(ctypes.string_at(line).decode("utf-8", "replace"))
        self._library.free(ctypes.c_void_p(line))

    def _next_byte(self, stream: int | None) -> int:
        if not self._waiting and select.select([self._descriptor], [], [], _PATIENCE)[0]:
            with contextlib.suppress(OSError):
                self._waiting.extend(os.read(self._descriptor, _READ))
        return self._waiting.popleft() if self._waiting else _END

    def _flush(self) -> None:
        """Write what the library has drawn since."""
        library = self._library
        library.fflush(self._memory)
        if self._size.value:
            self._write(ctypes.string_at(self._drawn, self._size.value).decode("utf-8", "replace"))
            library.rewind(self._memory)


def _load() -> ctypes.CDLL:
    """The library; Python's module has read the person's ``inputrc`` for it. Raises ImportError."""
    if "GNU" not in (readline.__doc__ or ""):
        raise ImportError("this Python has another library")
    library = ctypes.CDLL(getattr(readline, "__file__", None))
    if missing := [name for name in _NEEDED if not hasattr(library, name)]:
        raise ImportError(f"the library has no {missing[0]}")
    return library

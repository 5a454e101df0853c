"""Terminal driver whose reader filters the terminal's replies and turns pastes and bursts of keys into one paste."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import os
import re
import selectors
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console, RenderableType
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Offset
from textual.message import Message

from catena.multiplexers import in_screen, in_tmux
from catena.terminal.characters import erases_with_background, terminal_encoding
from catena.terminal.control.clipboard_reading import (
    ClipboardFailure,
    ClipboardImage,
    ClipboardOutcome,
    ClipboardReading,
    ClipboardText,
)
from catena.terminal.control.replies import (
    MARGINS,
    PASTE_EVENTS,
    QUERIES,
    WIDTH_QUERY,
    ModeReply,
    OscReply,
    Reply,
    StatusReply,
    answers_queries,
    background_of,
    is_dark,
)
from catena.terminal.control.sequences import mouse_delays_escape
from catena.terminal.input_sequences import InputEvents, PastedText, Piece, TerminalInput
from catena.terminal.output import ANSWER, TerminalOutput
from catena.terminal.painter.painter import Frame, Painter, colors_of

_BURST_GAP = 0.015  # seconds between two pieces of one burst
_TICK = 0.1  # seconds after which a lone escape is a key
_IDLE_TICK = 30.0
_ACCEPT, _STOP, _ASK_CLIPBOARD = b"a", b"s", b"c"  # what the reading thread is woken for
_MOST_PASTED = 10 * 1024 * 1024  # bytes of the clipboard; an attachment may have no more
_READ = 1 << 16
_ROOM_PATIENCE = 0.2  # seconds; an exit waits no longer for what still waits there
_LAST_WORDS = 0.3  # seconds for the terminal to read what is written before and as the screen is left
_LAST_ANSWERS = 1.0  # seconds for what the terminal was asked
_HUNG_UP = 128 + signal.SIGHUP  # exit status, whether the signal comes first or the end of the input
# Of kitty's protocol Textual asks for all keys as sequences, so that nothing can be typed where a program was killed.
# Enough are unambiguous sequences for keys that had none (1), with the key of the base layout (4).
_ALL_KEYS_REPORTED, _KEYS_REPORTED = "\x1b[>25u", "\x1b[>5u"
_NUL = "\u2400"  # as it is drawn: no file of text and no argument of a program holds the character itself
_KEY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # control characters of keys


class BackgroundReported(Message):
    """The terminal's reply with the colour of its background (``#rrggbb``)."""

    def __init__(self, background: str) -> None:
        super().__init__()
        self.background = background

    @property
    def dark(self) -> bool:
        """True for a dark background."""
        return is_dark(self.background)


class TerminalReplied(Message):
    """A reply of the terminal that is not about its colours or its clipboard."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class ClipboardRead(Message):
    """The terminal sent an image of its clipboard, or none; ``pasted``: by itself, since the person pasted it."""

    def __init__(self, outcome: ClipboardImage | ClipboardFailure, *, pasted: bool) -> None:
        super().__init__()
        self.outcome = outcome
        self.pasted = pasted


class OutputRecovered(Message):
    """The terminal reads again: a frame was dropped meanwhile, and the newest has to be drawn."""


def is_burst(data: str) -> bool:
    """True for text with a line end inside, which in one read is a paste without brackets."""
    return _has_line_end(data.rstrip("\r\n")) and _is_plain(data)


def _has_line_end(data: str) -> bool:
    return "\r" in data or "\n" in data


def _is_composed(data: str) -> bool:
    """True for text with a joint of emoji or of Persian words, or a hard space: Textual drops those as keys."""
    return (
        _is_plain(data)
        and not data.isprintable()
        and any(not each.isprintable() for each in data if each > "\x9f")
    )


def _is_plain(data: str) -> bool:
    return _KEY.search(data) is None


class TerminalDriver(LinuxDriver):
    """Textual's driver with a reading thread that sleeps while nothing is typed, and writes that never block."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse and not mouse_delays_escape(os.environ), size=size)
        assert sys.__stdout__ is not None, "the screen is opened on a terminal"
        self._output_fd = sys.__stdout__.fileno()  # not standard error, which may be a file
        self._encoding = sys.__stdout__.encoding
        self._output: TerminalOutput | None = None
        # Else what it cannot say is spelled out.
        self._speaks_utf8 = codecs.lookup(self._encoding).name == "utf-8"
        self._draws_lines = terminal_encoding(os.environ, self._encoding) == "utf-8"
        self._painter = Painter(
            erases_with_background=erases_with_background(os.environ),
            italics=not in_screen(os.environ),  # shows them in reverse
        )
        self._input_accepted = threading.Event()
        self._first_read = True
        self._waking = threading.Lock()
        self._wake_read = self._wake_write = -1
        self._clipboard = ClipboardReading(most_bytes=_MOST_PASTED, clock=time.monotonic)
        self.parting: Callable[[], str] = str  # what else is sent before another program gets the terminal
        # What must be over before the process may be stopped, as an asynchronous block.
        self.at_rest: Callable[[], contextlib.AbstractAsyncContextManager[None]] = contextlib.nullcontext
        self._stopping: asyncio.Task[None] | None = None
        self._shares_clipboard = False  # the terminal reports pastes, and sends its clipboard by types

    def start_application_mode(self) -> None:
        """Start application mode, and query the terminal without waiting for its replies."""
        if self._key_thread is not None and self._key_thread.is_alive():
            if not self._lost_terminal():
                return  # stopped from outside and let go on: two threads would read, and mix up what is typed
            self.suspend_application_mode()
            self._must_signal_resume = True
        self._wake_read, self._wake_write = os.pipe()
        self._output = TerminalOutput(self._output_fd, on_recovery=self._report_recovery)
        self._painter.forget()  # another program may have had the terminal
        super().start_application_mode()  # type: ignore[no-untyped-call]
        super().close()  # Textual's own writer, which blocks where the terminal does not read
        if in_tmux(os.environ):  # does not know kitty's request for longer key codes, but xterm's
            self.write("\x1b[>4;1m")
        if self.input_tty and answers_queries(os.environ):
            self.write(WIDTH_QUERY + QUERIES if self._draws_lines else QUERIES)
            self._output.ask()

    def _sigtstp_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._begin_to_stop)

    def _begin_to_stop(self) -> None:
        if self._stopping is None or self._stopping.done():
            self._stopping = self._loop.create_task(self._stop())

    async def _stop(self) -> None:
        async with self.at_rest():
            super()._sigtstp_application()

    def _lost_terminal(self) -> bool:
        """True where a shell has used the terminal while this was stopped unasked (SIGSTOP), and gave it back."""
        try:
            echoes = termios.tcgetattr(self.fileno)[tty.LFLAG] & termios.ECHO
            return bool(echoes) and os.tcgetpgrp(self.fileno) == os.getpgrp()
        except (OSError, termios.error):
            return False

    def write(self, data: str) -> None:
        """Write to the terminal, without waiting until it reads."""
        if data == _ALL_KEYS_REPORTED:
            data = _KEYS_REPORTED
        if self._output is not None:
            data = self._painter.shortened(data)
            if not self._output.write(data.encode(self._encoding, "backslashreplace")):
                self._painter.forget()

    def accepts_frame(self) -> bool:
        """False while the terminal does not read; OutputRecovered is posted when it does."""
        return self._output is None or self._output.accepts_frame()

    def wait_for_room(self) -> bool:
        """Wait a moment, in a thread, until the terminal has read nearly all; False if it has not."""
        return self._output is None or self._output.wait_for_room(_ROOM_PATIENCE)

    def _report_recovery(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is drawn any more
            self.process_message(OutputRecovered())

    def stop_application_mode(self) -> None:
        """Stop application mode and restore the terminal, even where it has not read the last frames."""
        if self._output is not None:
            self._output.stop_asking(_LAST_ANSWERS)
            self._output.drain(_LAST_WORDS)
        self.write(self.parting())
        if in_tmux(os.environ):
            self.write("\x1b[>4;0m")
        if self._painter.moves_columns:
            self.write("\x1b[?69l")  # what the terminal did not read may have ended between margins
        self.write("\x1b[m")  # the painter leaves the look of its last cell
        if in_screen(os.environ):
            self.write("\x1b[H\x1b[J")  # without a second screen, as it comes, it goes on in this one
        if self._shares_clipboard:
            self.write(f"\x1b[?{PASTE_EVENTS}l")
            self._shares_clipboard = False
        super().stop_application_mode()

    def _enable_mouse_support(self) -> None:
        """Enable reports of the mouse, once: Textual does it before it reads what is typed, and again behind that."""
        if self._key_thread is not None and self._key_thread.is_alive():
            super()._enable_mouse_support()

    def _disable_mouse_support(self) -> None:
        """Disable reports of the mouse, and the pixels that Textual lets them tell."""
        super()._disable_mouse_support()
        if self._mouse_pixels:
            self.write("\x1b[?1016l")
            self._mouse_pixels = False

    def close(self) -> None:
        """Write what waits, as far as the terminal reads it."""
        if self._output is not None:
            self._output.close(_LAST_WORDS)

    def painted(self, update: RenderableType | None, cursor: Offset) -> RenderableType | Frame | None:
        """What a screen wants to be drawn as the changes of cells that come of it; it has to be written next.

        ``cursor`` is where Textual puts the cursor behind it.
        """
        if isinstance(update, LayoutUpdate | ChopsUpdate) and self._speaks_utf8:
            return Frame(self._painter, update, cursor)
        if update is not None:
            self._painter.forget()
        return update

    def keep(self, update: RenderableType | None, console: Console, cursor: Offset) -> bool:
        """Keep what a screen wants to be drawn while no frame is accepted; False where it has to be drawn again.

        The row in which the person types is shown at once: what is typed does not wait for what else is drawn.
        """
        if not isinstance(update, LayoutUpdate | ChopsUpdate) or not self._speaks_utf8:
            return update is None
        self._painter.keep(update, colors_of(console))
        if self._output is not None and self._output.accepts_little():
            self.write(self._painter.paint_row_of(cursor))
        return True

    def kept(self, cursor: Offset) -> Frame | None:
        """All that was kept, as a frame; None where nothing ever is."""
        return Frame(self._painter, None, cursor) if self._speaks_utf8 else None

    def forget_screen(self) -> None:
        """Forget what the terminal shows: all of the next frame is sent."""
        self._painter.forget()

    def widen_ambiguous(self) -> None:
        """Take two cells for each character whose width Unicode calls ambiguous."""
        self._painter.widen_ambiguous()

    def accept_input(self) -> None:
        """Start to take what is typed, including what was typed before the first frame."""
        if not self._input_accepted.is_set():
            self._wake(_ACCEPT)

    def ask_clipboard(self) -> bool:
        """Ask the terminal for an image on its clipboard; False if it cannot send one. ClipboardRead has the result."""
        if self._shares_clipboard:
            self._wake(_ASK_CLIPBOARD)
        return self._shares_clipboard

    def disable_input(self) -> None:
        """Wake the reading thread and stop it."""
        self._wake(_STOP)
        super().disable_input()

    def _wake(self, reason: bytes) -> None:
        """Wake the reading thread without a key."""
        self._input_accepted.set()
        with self._waking:
            if self._wake_write >= 0:
                os.write(self._wake_write, reason)

    def run_input_thread(self) -> None:
        """Read input as messages until input is disabled or the terminal is gone."""
        selector = selectors.DefaultSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        selector.register(self._wake_read, selectors.EVENT_READ)
        try:
            self._read_input(selector)
        except (EOFError, OSError):
            self._loop.call_soon_threadsafe(self._app.exit, None, _HUNG_UP)
        finally:
            if self._output is not None:
                self._output.hang_up()
            selector.close()
            with self._waking:
                os.close(self._wake_read)
                os.close(self._wake_write)
                self._wake_read = self._wake_write = -1

    def _read_input(self, selector: selectors.BaseSelector) -> None:
        typing = InputEvents()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        terminal = TerminalInput()
        waiting: list[str | PastedText] = []  # behind a paste that the terminal still sends

        def read() -> str:
            raw = os.read(self.fileno, _READ)
            if not raw:
                raise EOFError
            data = decode(raw)
            if ANSWER in data:  # in the middle of a paste, too
                for _ in range(data.count(ANSWER)):
                    self._take_answer()
                data = data.replace(ANSWER, "")
            if self._first_read:  # typed before application mode, when Enter made a line end
                keys, paste, rest = data.partition("\x1b[200~")  # no terminal marks a paste before that
                data, self._first_read = f"{keys.replace(chr(10), chr(13))}{paste}{rest}", False
            return data

        def hand_on(piece: str | PastedText) -> None:
            if isinstance(piece, PastedText):
                self.process_message(_paste(piece.text))
            else:
                self._type(typing, piece)

        def take(pieces: Iterable[Piece]) -> None:
            for piece in pieces:
                try:
                    if not isinstance(piece, str | PastedText):
                        self._take_reply(piece)
                    elif waiting or self._clipboard.holds_keys:
                        waiting.append(piece)
                    else:
                        hand_on(piece)
                except (
                    ArithmeticError,
                    LookupError,
                    ValueError,
                ):  # nothing that a terminal sends ends the client
                    logging.getLogger(__name__).exception("input of the terminal was dropped: %.200r", piece)

        early = self._read_early(selector, terminal, read)
        if early is None:
            return
        take(early)
        while not self.exit_event.is_set():
            awaiting = terminal.awaits or self._clipboard.under_way
            ready = {key.fd for key, _ in selector.select(_TICK if awaiting else _IDLE_TICK)}
            if self._wake_read in ready:
                reason = os.read(self._wake_read, 1)
                if reason == _STOP:
                    break
                if reason == _ASK_CLIPBOARD:
                    self.write(self._clipboard.ask())
            if self.fileno in ready:
                data = read()
                if not terminal.pasting:
                    data = self._read_burst(data, read, selector)
                take(terminal.feed(data, time.monotonic()))
            else:
                take(terminal.wait(time.monotonic()))
            pasted = self._clipboard.holds_keys
            if (late := self._clipboard.tick()) is not None:
                self._end_clipboard(late, pasted=pasted)
            if waiting and not self._clipboard.holds_keys:
                for behind in waiting:
                    hand_on(behind)
                waiting.clear()

    def _type(self, typing: InputEvents, piece: str) -> None:
        """Hand on what was typed; a burst of keys is a paste."""
        if is_burst(piece):
            self.process_message(events.Paste(_normalize_lines(piece)))
            return
        if _is_composed(piece):
            self.process_message(events.Paste(typed := piece.rstrip("\r\n")))
            piece = piece.removeprefix(typed)
        for event in typing.of(piece):
            self.process_message(event)

    def _take_reply(self, reply: Reply) -> None:
        if (background := background_of(reply)) is not None:
            self.process_message(BackgroundReported(background))
        elif isinstance(reply, StatusReply):
            self._take_answer()
        elif isinstance(reply, ModeReply):
            if reply.mode == MARGINS:
                self._painter.moves_columns = reply.known
            elif reply.known and not self._shares_clipboard:
                self._shares_clipboard = True
                self.write(f"\x1b[?{reply.mode}h")
        elif isinstance(reply, OscReply) and reply.code == PASTE_EVENTS:
            pasted = self._clipboard.holds_keys
            sequence, outcome = self._clipboard.take(reply)
            if sequence:
                self.write(sequence)
            if outcome is not None:
                self._end_clipboard(outcome, pasted=pasted)
        else:
            self.process_message(TerminalReplied(reply))

    def _take_answer(self) -> None:
        if self._output is not None:
            self._output.answered()

    def _end_clipboard(self, outcome: ClipboardOutcome, *, pasted: bool) -> None:
        if isinstance(outcome, ClipboardText):
            self.process_message(_paste(outcome.text))
        else:
            self.process_message(ClipboardRead(outcome, pasted=pasted))

    def _read_early(
        self, selector: selectors.BaseSelector, terminal: TerminalInput, read: Callable[[], str]
    ) -> list[str | PastedText] | None:
        """What is typed before input is accepted; None where it never is.

        The terminal's reply is passed on at once, for the first frame.
        """
        early: list[str | PastedText] = []
        try:
            while not self._input_accepted.is_set():
                ready = {key.fd for key, _ in selector.select()}
                if self._wake_read in ready and os.read(self._wake_read, 1) == _STOP:
                    return None
                if self.fileno in ready:
                    for piece in terminal.feed(read(), time.monotonic()):
                        if not isinstance(piece, str | PastedText):
                            self._take_reply(piece)
                        elif early and isinstance(early[-1], str) and isinstance(piece, str):
                            early[-1] += piece
                        else:
                            early.append(piece)
        except (EOFError, OSError):
            self._input_accepted.wait()
            raise
        return early

    def _read_burst(self, data: str, read: Callable[[], str], selector: selectors.BaseSelector) -> str:
        """Read what follows ``data`` at once, if it may be part of a longer paste."""
        pieces, last = [data], data[-1:]
        plain, broken = _is_plain(data), _has_line_end(data.rstrip("\r\n"))
        while len(data) > 1 and (last in ("\r", "\n") or (plain and broken)):
            if self.fileno not in {key.fd for key, _ in selector.select(_BURST_GAP)}:
                break
            # Each piece is searched once: a paste of some MB comes in a thousand of them.
            pieces.append(piece := read())
            plain = plain and _is_plain(piece)
            broken = broken or _has_line_end((last + piece).rstrip("\r\n"))
            last = (last + piece)[-1:]
        return "".join(pieces)


def _paste(text: str) -> events.Paste:
    return events.Paste(text.replace("\x00", _NUL))


def _normalize_lines(data: str) -> str:
    """The text of a burst with newlines; the last one, which is Enter, is dropped."""
    return data.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")

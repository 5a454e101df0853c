"""The real ``catena`` in a real pseudo-terminal, and what a person would see at the end of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pyte
from pyte.screens import wcwidth

from support.clients.forked import Forked, fork_on_terminal, is_forkable

EXECUTABLE = Path(sys.executable).parent / "catena"
DEADLINE = 60.0
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "ctrl+pageup": "\x1b[5;5~",
    "ctrl+pagedown": "\x1b[6;5~",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
}
EMPTY_BOX = r"│ (?:Message|Ask \S|Reply to \S)"  # the composer, and nothing written in it
# What pyte does not know, and would print.
_UNKNOWN = re.compile(
    rb"\x1b[P_].*?\x1b\\|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*(?:\$p|n)",
    re.DOTALL,
)


class Terminal:
    """A terminal with a program in it."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        columns: int,
        rows: int,
        forked: bool = False,
    ) -> None:
        """``forked``: the program is Catena with these arguments, and its imports are done."""
        self.output = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._fed = 0
        self._rows: dict[int, str] = {}
        self._forked: Forked | None = None
        if forked:
            self._fd, theirs = pty.openpty()
            self.first_modes = termios.tcgetattr(self._fd)
            self.resize(columns, rows)
            try:
                self._forked = fork_on_terminal(theirs, arguments, cwd, environment)
            finally:
                os.close(theirs)
            self.pid = self._forked.pid
            return
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(arguments[0], arguments, dict(environment))
        self.first_modes = termios.tcgetattr(self._fd)  # before any program has set others
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Another size, as a window manager sets it."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def spoil(self) -> None:
        """Let another program have written all over the screen."""
        assert self.text
        self._stream.feed(b"\x1b[r\x1b[m\x1b[H" + b"another program\r\n" * self._screen.lines)

    def write(self, data: str) -> None:
        """What a keyboard sends, all at once."""
        os.write(self._fd, data.encode())

    def send(self, data: bytes) -> None:
        """Bytes, all at once, whether they are whole characters or not."""
        os.write(self._fd, data)

    def write_all(self, data: str) -> None:
        """As much as it is, while what comes back is read: neither side waits for the other."""
        rest = data.encode()
        while rest:
            _, ready, _ = select.select([], [self._fd], [], 0.05)
            if ready:
                rest = rest[os.write(self._fd, rest[:1024]) :]
            self.pump(0)

    def press(self, *keys: str) -> None:
        """Press keys, or type single characters, one after the other."""
        for key in keys:
            self.write(KEYS.get(key, key))

    def say(self, text: str) -> None:
        """Type a line, see it in the composer, and send it."""
        self.write(text)
        self.wait_for(text[-12:])
        self.press("enter")

    def pump(self, seconds: float = 0.05) -> bool:
        """Read what comes first within the time; False where the program has closed the terminal."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def pause(self, seconds: float) -> None:
        """Do nothing for the time, and read all that comes."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self.pump(left):
            pass

    @property
    def text(self) -> str:
        """What is on the screen."""
        data = self.output[self._fed :]
        self._fed = len(self.output)
        self._stream.feed(_UNKNOWN.sub(b"", data))
        screen = self._screen
        self._rows = {y: self._row(y) if y in screen.dirty else self._rows[y] for y in range(screen.lines)}
        screen.dirty.clear()
        return "\n".join(self._rows.values())

    def _row(self, y: int) -> str:
        """A row as `pyte.Screen.display` has it, which draws all of them, however often it is looked at."""
        line, drawn, wide = self._screen.buffer[y], "", False
        for x in range(self._screen.columns):
            character = "" if wide else line[x].data
            drawn += character
            wide = not character.isascii() and wcwidth(character[0]) == 2
        return drawn.rstrip()

    @property
    def cursor(self) -> tuple[int, int]:
        """Where the terminal's own cursor stands: column and row, from 0."""
        assert self.text
        return self._screen.cursor.x, self._screen.cursor.y

    def at(self, words: str) -> tuple[int, int]:
        """Where words stand on the screen that are there once; in cells, of which a wide character takes two."""
        found = [
            (len(line[: line.index(words)]), row)
            for row, line in enumerate(self.text.split("\n"))
            if words in line
        ]
        assert len(found) == 1, words
        return found[0]

    def wait_for(self, pattern: str) -> str:
        """The screen as soon as the pattern is on it."""
        return self._wait(lambda text: re.search(pattern, text) is not None, f"{pattern!r} to appear")

    def wait_for_words(self, words: str) -> str:
        """The screen as soon as the words are on it, wherever a line of them is wrapped: paths differ in length."""
        return self._wait(lambda text: words in " ".join(text.split()), f"{words!r} to appear")

    def wait_gone(self, pattern: str) -> str:
        """The screen as soon as the pattern is not on it any more."""
        return self._wait(lambda text: re.search(pattern, text) is None, f"{pattern!r} to disappear")

    def _wait(self, done: object, what: str) -> str:
        assert callable(done)
        end = time.monotonic() + DEADLINE
        while True:
            text = self.text
            if done(text):
                return text
            if time.monotonic() > end or not self.pump():
                raise AssertionError(f"waited for {what}; the screen:\n{text}")

    def wait_until(self, true: Callable[[], bool], what: str) -> str:
        """The screen as soon as something holds elsewhere."""
        return self._wait(lambda _: true(), what)

    @property
    def state(self) -> str:
        """The state of the process, in the kernel's letter."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]

    def wait_for_state(self, state: str) -> None:
        """Wait until the process is in this state, such as `T`: stopped."""
        self.wait_until(lambda: self.state == state, f"its state to be {state}")

    def wait_until_quiet(self, seconds: float) -> None:
        """Read on until nothing comes for so long."""
        end = time.monotonic() + DEADLINE
        while self.quiet(seconds):
            assert time.monotonic() < end, f"it does not come to rest:\n{self.text}"

    def wait_for_output(self, data: bytes) -> None:
        """Wait until the program has sent these bytes."""
        self._wait(lambda _: data in self.output, f"{data!r} to be sent")

    def quiet(self, seconds: float) -> int:
        """How many bytes come within the time."""
        before, end = len(self.output), time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.pump(left)
        return len(self.output) - before

    def wait_until_read(self) -> None:
        """Wait until the program has read all that was written."""
        program = os.open(f"/proc/{self.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
        try:
            unread = bytearray(4)
            self._wait(
                lambda _: not fcntl.ioctl(program, termios.FIONREAD, unread) and not any(unread), "it to read"
            )
        finally:
            os.close(program)

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        os.kill(self.pid, number)

    def ended(self) -> int:
        """Read to the end; the exit status, negative for a signal."""
        end = time.monotonic() + DEADLINE
        while self.pump():
            assert time.monotonic() < end, f"it does not end:\n{self.text}"
        return self._status()

    def hang_up(self) -> int:
        """The line is cut; what the program does about it is its own affair. Its exit status, negative for a signal."""
        os.close(self._fd)
        self._fd = -1
        return self._status()

    def _status(self) -> int:
        """Wait for the program's end; the exit status, negative for a signal."""
        pid, self.pid = self.pid, 0
        if self._forked:
            return self._forked.wait()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def close(self) -> None:
        """End the program, if it still runs."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):  # what was forked is waited for elsewhere
                os.kill(self.pid, signal.SIGKILL)
            self._status()
        if self._fd >= 0:
            os.close(self._fd)


class Place:
    """A home, a project and a store of their own."""

    def __init__(self, root: Path) -> None:
        self.project = root / "shop"
        self.data = root / "data"
        self.home = root / "home"
        self.config = root / "config"
        for directory in (self.project, self.home, self.config):
            directory.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "CATENA_DATA_DIR": str(self.data),
            "CATENA_CONFIG_DIR": str(self.config),
        }

    def without_parking(self) -> None:
        """No forks are kept beside the turns, and nothing is told of them when a turn is over."""
        (self.config / "config.toml").write_text("park = false\n")

    def cue(self, name: str) -> None:
        """Let the rehearsal agent go on that waits for this cue."""
        cues = self.home / ".local" / "state" / "catena" / "rehearsal" / "cues"
        cues.mkdir(parents=True, exist_ok=True)
        (cues / name).touch()

    def keeps(self, draft: str) -> bool:
        """True where the store has this draft."""
        return self._has("SELECT count(*) FROM window_leaf WHERE draft = ?", draft)

    def keeps_answer(self, beginning: str) -> bool:
        """True where the store has an answer that begins so."""
        return self._has(
            "SELECT count(*) FROM message WHERE kind = 'agent' AND text LIKE ? || '%'", beginning
        )

    def _has(self, query: str, text: str) -> bool:
        with closing(sqlite3.connect(f"file:{self.data / 'catena.db'}?mode=ro", uri=True)) as store:
            row: tuple[int] = store.execute(query, (text,)).fetchone()
            return row[0] > 0

    @contextmanager
    def catena(
        self, *arguments: str, columns: int = 100, rows: int = 30, anew: bool = False, **environment: str
    ) -> Iterator[Terminal]:
        """Catena on a screen of its own; killed at the end of the block, if it still runs.

        ``anew``: the executable is started, with all that is imported before the first frame and after it.
        """
        forked = not anew and is_forkable(environment)
        terminal = Terminal(
            arguments if forked else (str(EXECUTABLE), *arguments),
            environment=self.environment | environment,
            cwd=self.project,
            columns=columns,
            rows=rows,
            forked=forked,
        )
        try:
            yield terminal
        finally:
            terminal.close()

"""Programs of the person's: in their terminal while agents keep running, or a command in their shell without one."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena_acp.process_group import Guard, signal_group, wait_until_gone

if TYPE_CHECKING:  # the command line runs programs without a screen
    from textual.app import App


class TerminalUnavailable(Exception):
    """Terminal that cannot be suspended for another program."""


async def run_in_terminal(
    app: App[Any],
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    heading: str | None = None,
    wait_message: str | None = None,
) -> int:
    """Suspend the screen and run a program in the terminal; return its exit status, negative for a signal.

    ``heading`` is printed first. After a failure ``wait_message`` is printed, and Enter restores the screen. Raises
    OSError where the program cannot be started, and TerminalUnavailable.
    """
    from textual.app import SuspendNotSupported

    status, trouble = 0, None
    try:
        # Nothing may be drawn while the program has the terminal.
        with _ignore_interrupts(), app.batch_update(), app.suspend():
            # An error that left this block would not restore the terminal.
            try:
                if heading:
                    print(heading, flush=True)
                status = await _run(command, environment, directory)
                if wait_message and status and not was_interrupted(status):
                    print(wait_message, flush=True)
                    await _wait_for_enter()
            except BaseException as error:  # noqa: BLE001 - raised below, after the terminal is restored
                trouble = error
    except SuspendNotSupported as error:
        raise TerminalUnavailable from error
    if trouble is not None:
        raise trouble
    return status


async def run_program(command: Sequence[str], *, environment: Mapping[str, str], directory: str) -> int:
    """Run a program in the terminal of a command without a screen; return its exit status. Raises OSError."""
    with _ignore_interrupts():
        return await _run(command, environment, directory)


def was_interrupted(status: int) -> bool:
    """True for the exit status of a program that Ctrl+C ended."""
    return status in (-signal.SIGINT, 128 + signal.SIGINT)


@contextlib.contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignore what Ctrl+C and Ctrl+\\ send while another program has the terminal."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _run(command: Sequence[str], environment: Mapping[str, str] | None, directory: str | None) -> int:
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=directory)
    except ValueError as error:  # a NUL anywhere, or a variable with `=` in its name: agents name both
        raise OSError(errno.EINVAL, str(error)) from error
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        raise


async def _wait_for_enter() -> None:
    """Wait for Enter, or for the end of the terminal."""
    keys = sys.__stdin__.fileno() if sys.__stdin__ else 0
    loop, pressed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(keys, pressed.set)
    try:
        await pressed.wait()
        with contextlib.suppress(OSError):
            os.read(keys, 4096)
    finally:
        loop.remove_reader(keys)


class EditorFailed(Exception):
    """Failure of the editor; ``str()`` of it can be shown to a person."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The editor by ``VISUAL`` or ``EDITOR``, else vi. Raises EditorFailed."""
    named = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise EditorFailed(f"$EDITOR cannot be parsed: {error}") from error
    if not words or not words[0]:
        raise EditorFailed("$EDITOR names no program")
    return words


# Editors that go to the line of an argument `+LINE`.
_PLUS_LINE = frozenset(
    {
        "vi",
        "vim",
        "nvim",
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "kak",
        "micro",
        "joe",
        "jed",
        "ne",
        "mg",
        "ed",
    }
)
_COLON_LINE = frozenset({"hx", "helix", "subl", "sublime_text", "zed"})  # … and that of `FILE:LINE`
_GOTO_LINE = frozenset(
    {"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"}
)  # … with `--goto`


def at_line(editor: Sequence[str], path: str, line: int) -> list[str]:
    """The command that opens a file in an editor; at a line, counted from 1, where it is known how to ask for one."""
    name = Path(editor[0]).name
    if name in _PLUS_LINE:
        return [*editor, f"+{line}", path]
    if name in _COLON_LINE:
        return [*editor, f"{path}:{line}"]
    return [*editor, "--goto", f"{path}:{line}"] if name in _GOTO_LINE else [*editor, path]


async def edit_file(app: App[Any], path: str, line: int, environment: Mapping[str, str]) -> None:
    """Let the person edit a file in their editor, from a line on. Raises EditorFailed."""
    if trouble := await _run_editor(at_line(editor_command(environment), path, line), app):
        raise EditorFailed(trouble)


async def edit_text(app: App[Any], text: str, environment: Mapping[str, str]) -> str:
    """Let the person edit a text in their editor; return the new text. Raises EditorFailed."""
    command = editor_command(environment)
    with tempfile.TemporaryDirectory(prefix="catena-", ignore_cleanup_errors=True) as directory:
        path = Path(directory) / "prompt.md"
        path.write_text(text, encoding="utf-8", errors="replace")
        trouble = await _run_editor([*command, str(path)], app, "; your text is unchanged")
        if trouble:
            raise EditorFailed(trouble)
        try:
            return _decoded(path.read_bytes()).rstrip("\n")
        except OSError as error:
            raise EditorFailed(
                f"{command[0]} left no readable text ({error.strerror}); your text is unchanged."
            ) from error


def _decoded(data: bytes) -> str:
    """The text of a file that an editor wrote: UTF-8, else Latin-1, in which every byte is a character."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


async def _run_editor(command: Sequence[str], app: App[Any], unchanged: str = "") -> str:
    """Run the editor; return an error text, "" on success. ``unchanged``: what a failure leaves as it is."""
    try:
        status = await run_in_terminal(app, command)
    except OSError as error:
        return f"{command[0]} cannot be started: {error.strerror}. Set $EDITOR to use another."
    except TerminalUnavailable:
        return "This terminal cannot be used for an editor."
    return f"{command[0]} exited with status {status}{unchanged}." if status else ""


_HEAD = 6_000  # bytes of output that are kept from its beginning,
_TAIL = 18_000  # and from its end
_READ = 1 << 16  # bytes
_REST = 0.01  # seconds between full reads: the screen goes on while a program floods it
_PATIENCE = 1.0  # seconds that a stopped command has to end by itself


class BoundedOutput:
    """The beginning and the end of an output, however long it is."""

    def __init__(self) -> None:
        self._head = b""
        self._tail: deque[bytes] = deque()
        self._kept = 0  # bytes of the tail
        self.left_out = 0  # bytes

    def add(self, data: bytes) -> None:
        """Add what came next."""
        room = _HEAD - len(self._head)
        if room > 0:
            self._head, data = self._head + data[:room], data[room:]
        if not data:
            return
        self._tail.append(data)
        self._kept += len(data)
        while self._kept > _TAIL:
            first = self._tail.popleft()
            over = min(len(first), self._kept - _TAIL)
            self._kept -= over
            self.left_out += over
            if over < len(first):
                self._tail.appendleft(first[over:])

    @property
    def text(self) -> str:
        """The output that is kept, in whole lines around a line with the number of bytes left out, if any."""
        head, tail = self._head.decode("utf-8", "replace"), b"".join(self._tail).decode("utf-8", "replace")
        if not self.left_out:
            return (self._head + b"".join(self._tail)).decode("utf-8", "replace")
        before = head[: head.rfind("\n") + 1] or f"{head}\n"
        behind = tail[tail.find("\n") + 1 :] if "\n" in tail[:-1] else tail
        left_out = self.left_out + len(head) - len(before) + len(tail) - len(behind)
        return f"{before}[… {left_out:,} bytes left out …]\n{behind}"

    @property
    def last(self) -> str:
        """The newest of it, for the screen."""
        tail = b"".join(list(self._tail)[-2:])[-_HEAD:]
        return (tail if len(tail) >= _HEAD else self._head + tail).decode("utf-8", "replace")


class ShellNotStarted(Exception):
    """A shell that cannot be started; ``str()`` of it is one line for the person."""


class ShellCommand:
    """One command; ``run`` it once."""

    def __init__(self, command: str, *, directory: str, environment: Mapping[str, str]) -> None:
        self.command = command
        self.output = BoundedOutput()
        self.stopped = False
        self._directory = directory
        self._environment = environment
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Stop it, with all that it started."""
        self.stopped = True
        self._stop.set()

    async def run(self, changed: Callable[[], None]) -> str:
        """Run it until its output ends or it is stopped; return how it ended, in words; "" if well.

        ``changed`` is called when there is more output. A process that it leaves behind with its output keeps it
        running. Raises ShellNotStarted if the shell cannot be started.
        """
        shell = self._environment.get("SHELL") or "/bin/sh"
        try:
            process = await asyncio.create_subprocess_exec(
                *(shell, "-c", self.command),
                cwd=self._directory,
                env=dict(self._environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # of its own group, and without our terminal
            )
        except (OSError, ValueError) as error:  # a ValueError for a NUL
            why = getattr(error, "strerror", None) or error
            raise ShellNotStarted(f"The shell cannot be started: {why}") from error
        assert process.stdout is not None
        reading = asyncio.ensure_future(self._read(process.stdout, changed))
        stopping = asyncio.ensure_future(self._stop.wait())
        guard: Guard | None = None
        try:
            with contextlib.suppress(OSError):
                guard = Guard(process.pid)
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self.stopped:
                signal_group(process.pid, signal.SIGTERM)
                if not await wait_until_gone(process.pid, _PATIENCE):
                    signal_group(process.pid, signal.SIGKILL)
                await asyncio.wait({reading}, timeout=_PATIENCE)
            return _ended(await process.wait(), stopped=self.stopped)
        finally:
            if process.returncode is None:
                signal_group(process.pid, signal.SIGKILL)
            for task in (reading, stopping):
                task.cancel()
            if guard is not None:
                await guard.release()
            if process.returncode is None:
                await process.wait()

    async def _read(self, stream: asyncio.StreamReader, changed: Callable[[], None]) -> None:
        while data := await stream.read(_READ):
            self.output.add(data)
            changed()
            if len(data) >= _READ:
                await asyncio.sleep(_REST)


def _ended(status: int, *, stopped: bool) -> str:
    if stopped:
        return "stopped"
    if status >= 0:
        return f"exit code {status}" if status else ""
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"

"""Other programs in the person's terminal: logins, and the editor for a prompt; agents keep running."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

"""Lending the person's terminal to another program; agents go on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:  # the command line lends its terminal without a screen
    from textual.app import App


class TerminalUnavailable(Exception):
    """This terminal cannot be lent to another program."""


async def run_in_terminal(
    app: App[Any],
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    heading: str | None = None,
    stay: str | None = None,
) -> int:
    """Run a program in the person's terminal to its end; its exit status, negative for a signal.

    ``heading`` is written first; ``stay`` is written where it failed by itself, and Enter leads back. Raises OSError
    where it cannot be started, and TerminalUnavailable.
    """
    from textual.app import SuspendNotSupported

    status, trouble = 0, None
    try:
        # Nothing may be drawn while the terminal is the program's.
        with _deaf_to_ctrl_c(), app.batch_update(), app.suspend():
            # An error that leaves this block would leave the terminal to nobody.
            try:
                if heading:
                    print(heading, flush=True)
                status = await _run(command, environment, directory)
                if stay and status and not was_interrupted(status):
                    print(stay, flush=True)
                    await _enter()
            except BaseException as error:  # noqa: BLE001 - raised below, when the terminal is ours again
                trouble = error
    except SuspendNotSupported as error:
        raise TerminalUnavailable from error
    if trouble is not None:
        raise trouble
    return status


async def run_program(command: Sequence[str], *, environment: Mapping[str, str], directory: str) -> int:
    """The same without a screen: the terminal is the program's until it ends. Raises OSError."""
    with _deaf_to_ctrl_c():
        return await _run(command, environment, directory)


def was_interrupted(status: int) -> bool:
    """True where a program's exit status says that Ctrl+C ended it."""
    return status in (-signal.SIGINT, 128 + signal.SIGINT)


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """The Ctrl+C of a program that the person uses is none of ours."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _run(command: Sequence[str], environment: Mapping[str, str] | None, directory: str | None) -> int:
    process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=directory)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        raise


async def _enter() -> None:
    """Wait for a line, or for the end of the terminal."""
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
    """The editor could not be used; ``str()`` of it can be shown to a person."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The person's editor, as the environment names it."""
    named = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        return shlex.split(named)
    except ValueError as error:
        raise EditorFailed(f"$EDITOR cannot be understood: {error}") from error


async def edit_text(app: App[Any], text: str, environment: Mapping[str, str]) -> str:
    """The text after the person edited it; agents go on meanwhile. Raises EditorFailed."""
    command = editor_command(environment)
    with tempfile.TemporaryDirectory(prefix="catena-") as directory:
        path = Path(directory) / "prompt.md"
        path.write_text(text, encoding="utf-8", errors="replace")
        trouble = await _run_editor([*command, str(path)], app)
        if trouble:
            raise EditorFailed(trouble)
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")


async def _run_editor(command: Sequence[str], app: App[Any]) -> str:
    """Run it in the person's terminal to its end; what went wrong, in words."""
    try:
        status = await run_in_terminal(app, command)
    except OSError as error:
        return f"{command[0]} cannot be started: {error.strerror}. $EDITOR names another one."
    except TerminalUnavailable:
        return "This terminal cannot be lent to an editor."
    return f"{command[0]} ended with status {status}; the text is as it was." if status else ""

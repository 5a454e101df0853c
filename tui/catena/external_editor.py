"""Going on with a text in the person's own editor."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textual.app import App

from catena.lent_terminal import TerminalNotLent, run_in_terminal


class EditorFailed(Exception):
    """The editor could not be used; ``str()`` of it can be shown to a person."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The person's editor, as the environment names it."""
    named = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        return shlex.split(named)
    except ValueError as error:
        raise EditorFailed(f"$EDITOR cannot be understood: {error}") from error


async def edited(app: App[Any], text: str, environment: Mapping[str, str]) -> str:
    """The text after the person edited it; agents go on meanwhile. Raises EditorFailed."""
    command = editor_command(environment)
    with tempfile.TemporaryDirectory(prefix="catena-") as directory:
        path = Path(directory) / "prompt.md"
        path.write_text(text, encoding="utf-8", errors="replace")
        trouble = await _run([*command, str(path)], app)
        if trouble:
            raise EditorFailed(trouble)
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")


async def _run(command: Sequence[str], app: App[Any]) -> str:
    """Run it in the person's terminal to its end; what went wrong, in words."""
    try:
        status = await run_in_terminal(app, command)
    except OSError as error:
        return f"{command[0]} cannot be started: {error.strerror}. $EDITOR names another one."
    except TerminalNotLent:
        return "This terminal cannot be lent to an editor."
    return f"{command[0]} ended with status {status}; the text is as it was." if status else ""

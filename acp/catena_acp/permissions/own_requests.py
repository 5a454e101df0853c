"""What Catena itself does for an agent at its request, as tool calls: a file that is written, a command that is run.

No question of the agent's need stand before such a request, and its tool calls need not tell of it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import PurePosixPath

from catena_acp.port.session_events import (
    Location,
    PermissionOption,
    ToolCallChanged,
    ToolDiff,
    ToolTerminal,
    ToolText,
)

MAX_SHOWN = 200_000  # characters of a file whose change is shown


class Unshown(Enum):
    """Why the text of a file that was written over is not shown."""

    LARGE = "too large to be shown"
    BINARY = "not text"
    UNREADABLE = "not readable"


ALLOW, REJECT = "allow", "reject"
OPTIONS = (
    PermissionOption(ALLOW, "Allow once", "allow_once"),
    PermissionOption(REJECT, "Reject", "reject_once"),
)


def command_run(
    command: str, arguments: Sequence[str], directory: str | None, variables: Mapping[str, str]
) -> ToolCallChanged:
    """A command that is to be run in a terminal; ``directory`` is None for the session's own."""
    words = shlex.join([command, *arguments]) if arguments else command
    raw = {
        "command": [command, *arguments] if arguments else command,
        **({"cwd": directory} if directory else {}),
        **({"env": dict(variables)} if variables else {}),
    }
    return ToolCallChanged(_new_id(), words, "execute", "pending", raw_input=raw, by_client=True)


def file_written(path: str, content: str, before: str | Unshown | None = None) -> ToolCallChanged:
    """A file that is to be written, or was: then with what was there ``before``, None if nothing was."""
    size = f"{PurePosixPath(path).name}: {len(content):,} characters"
    shown: ToolDiff | ToolText = ToolText(f"{size}, too many to be shown")
    if isinstance(before, Unshown):
        shown = ToolText(f"{size}; the file before was {before.value}")
    elif len(content) + len(before or "") <= MAX_SHOWN:
        shown = ToolDiff(path, before, content)
    return ToolCallChanged(
        _new_id(),
        f"Write {path}",
        "edit",
        "pending",
        locations=(Location(path, None),),
        content=(shown,),
        by_client=True,
    )


def file_asked(path: str, content: str, before: str | Unshown | None) -> ToolCallChanged:
    """A file that is to be written, as the person is asked: what is written shows even if what it replaces does not."""
    if isinstance(before, str) and len(content) + len(before) > MAX_SHOWN:
        before = Unshown.LARGE
    if not isinstance(before, Unshown):
        return file_written(path, content, before)
    call = file_written(path, content)
    return replace(
        call, content=(ToolText(f"it replaces a file that is {before.value}"), *(call.content or ()))
    )


def in_terminal(call: ToolCallChanged, terminal_id: str) -> ToolCallChanged:
    """The command as it runs."""
    return replace(call, status="in_progress", content=(ToolTerminal(terminal_id),))


def _new_id() -> str:
    """An id that no agent can name."""
    return f"catena-{os.urandom(12).hex()}"

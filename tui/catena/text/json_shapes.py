"""Records as JSON of the command line, in the shapes of ``docs/command-line.md``."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import Any

from catena_store.records import (
    ConversationRecord,
    Link,
    Message,
    Summary,
    Turn,
    TurnEnvironment,
    WindowRecord,
)

FORMAT = 1  # of every JSON shape; raised when a field is renamed or removed, never when one is added
# Other keys than field names.
_KEYS = {
    (Link, "unabridged_from"): "whole",
    (Turn, "unabridged_from"): "whole_id",
}


def dumps(value: object, *, indent: int | None = None) -> str:
    """JSON in ASCII, which is safe for terminals and every pipe."""
    return json.dumps(value, indent=indent, default=str)


def time_shape(time: datetime) -> str:
    """A time in ISO 8601, in UTC to the millisecond: `2026-01-31T12:00:00.000Z`."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_shape(
    record: ConversationRecord | Link | Message | Summary | Turn | WindowRecord,
    *,
    without: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """A record by the names of its fields, but for those in ``_KEYS``; times as text."""
    return {
        _KEYS.get((type(record), each.name), each.name): _value(getattr(record, each.name))
        for each in fields(record)
        if each.name not in without
    }


def turn_shape(turn: Turn) -> dict[str, Any]:
    """A turn; ``base_link`` is the link of its context, ``result_link`` the link that carried it."""
    shape = record_shape(turn, without=frozenset({"link_id", "base_link_id"}))
    return shape | {"base_link": turn.base_link_id, "result_link": turn.link_id}


def surroundings_shape(around: TurnEnvironment | None) -> dict[str, Any] | None:
    """The surroundings of a turn; None if they were not stored."""
    if around is None:
        return None
    return {
        "options": dict(around.options),
        "directories": list(around.directories),
        "git_branch": around.git_branch,
        "git_worktree": around.git_worktree,
        "git_commit": around.git_commit,
        "context_used": around.context_used,
        "context_size": around.context_size,
    }


def _value(value: Any) -> Any:
    match value:
        case datetime():
            return time_shape(value)
        case _ if hasattr(value, "items"):
            return dict(value)
        case _:
            return value

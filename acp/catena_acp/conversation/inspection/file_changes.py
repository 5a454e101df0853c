"""The files of a branch: what its tool calls read and changed, counted, and what changed without a report. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from catena_acp.changes.changed_file import FileState, UnreadFile
from catena_acp.diff import line_diff
from catena_acp.spoken.call import Call
from catena_store.records import Kind, Message

_CHANGING = frozenset({"edit", "delete", "move"})


@dataclass(frozen=True, slots=True)
class FileTouched:
    """One file, as the agent's tool calls tell of it, or as it changed without one."""

    path: str  # as the agent wrote it: hostile text
    unreported: FileState | None = None  # what became of it, if no call tells of a change
    read: int = 0  # calls
    changed: int = 0
    unsure: int = 0  # changes whose outcome was never seen
    added: int = 0  # lines, over all changes
    removed: int = 0


def files_touched(rows: Iterable[Message]) -> tuple[FileTouched, ...]:
    """The files of these tool rows, oldest row first; the file that was touched last comes first.

    Calls that failed or were stopped touched nothing but what Catena wrote for them.
    """
    files: dict[str, FileTouched] = {}
    for row in rows:
        if row.kind is not Kind.TOOL:
            continue
        for touch in _touches(Call.of(row)):
            before = files.pop(touch.path, FileTouched(touch.path))
            files[touch.path] = replace(
                before,
                read=before.read + touch.read,
                changed=before.changed + touch.changed,
                unsure=before.unsure + touch.unsure,
                added=before.added + touch.added,
                removed=before.removed + touch.removed,
            )
    return tuple(reversed(files.values()))


def with_unreported(
    reported: Sequence[FileTouched], changed: Iterable[UnreadFile], directory: str
) -> tuple[FileTouched, ...]:
    """Reported files of a conversation in this directory, and behind them those that changed without a report."""
    files = {_absolute(each.path, directory): each for each in reported}
    for file in changed:
        known = files.get(file.path, FileTouched(file.path))
        if not known.changed and not known.unsure:
            files[file.path] = replace(known, unreported=file.state)
    return tuple(files.values())


def _absolute(path: str, directory: str) -> str:
    return os.path.normpath(os.path.join(directory, path))  # noqa: PTH118 - the path need not be one


def _touches(call: Call) -> Iterator[FileTouched]:
    """What one tool call did, a file at a time."""
    sure, certain = call.done is not None, {diff.path for diff in call.made}
    by_path: dict[str, list[tuple[str | None, str]]] = {}
    for diff in (*call.made, *call.perhaps_made):
        if diff.path and diff.new is not None:
            by_path.setdefault(diff.path, []).append((diff.old, diff.new))
    for path, texts in by_path.items():
        made = path in certain
        changes = [line_diff(old, new) for old, new in texts] if made else []
        yield FileTouched(
            path,
            changed=int(made),
            unsure=int(not made),
            added=sum(change.added for change in changes),
            removed=sum(change.removed for change in changes),
        )
    if call.done is False or (call.kind != "read" and call.kind not in _CHANGING):
        return
    paths = dict.fromkeys(place.path for place in call.places if place.path and place.path not in by_path)
    for path in paths:
        if call.kind == "read" and sure:
            yield FileTouched(path, read=1)
        elif call.kind != "read" and not by_path:
            yield FileTouched(path, changed=int(sure), unsure=int(not sure))

"""Changes in files, as a person looks at them: of a turn, of a branch, since a checkpoint or the last look."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from catena_acp.changes.changed_file import FileState, UnreadFile
from catena_acp.changes.reading import Changes, ChangeScope, read_changes
from catena_acp.conversation.live import LiveConversation
from catena_acp.diff import line_diff
from catena_acp.spoken.call import Call
from catena_store.conversations import messages, seen_changes
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
    last_turn_id: str | None = None
    last_at: str = ""  # ISO 8601


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
                last_turn_id=row.turn_id,
                last_at=row.created_at.isoformat(timespec="milliseconds"),
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


_TOOL_CALLS = 2_000  # the newest of a branch that are looked through


class ConversationChanges:
    """The changes that were made in a conversation, and what of them was seen."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def read(self, leaf_id: str | None, scope: ChangeScope) -> Changes:
        """The changes of a branch, once the files are kept that a turn has just left. Raises StoreError."""
        conversation = self._conversation
        directories = (conversation.record.cwd, *conversation.environment.directories)
        snapshots = conversation.services.snapshots
        repository = None
        if snapshots is not None:
            await snapshots.caught_up()
            repository = await asyncio.to_thread(snapshots.repository, conversation.record.cwd)
        async with conversation.services.db.read_concurrently() as reader:
            return await read_changes(
                reader,
                conversation.id,
                leaf_id,
                scope,
                directories,
                repository,
                now=conversation.services.clock(),
            )

    async def files(self, leaf_id: str | None) -> tuple[FileTouched, ...]:
        """The files of a branch: those that calls tell of, latest first, then the others. Raises StoreError."""
        async with self._conversation.services.db.read_concurrently() as reader:
            rows = await messages.newest_tools(reader, leaf_id, _TOOL_CALLS)
        changes = await self.read(leaf_id, ChangeScope())
        reported = await asyncio.to_thread(files_touched, rows)
        return with_unreported(reported, changes.files, changes.directory)

    async def mark_seen(self, digests: Iterable[str], *, seen: bool) -> None:
        """Mark hunks as seen, or as not seen. Raises StoreError."""
        async with self._conversation.services.db.write() as tx:
            await seen_changes.mark_seen(tx, self._conversation.id, tuple(digests), seen=seen)

    async def note_look(self, leaf_id: str) -> None:
        """Store that the changes were looked at as far as a leaf. Raises StoreError."""
        async with self._conversation.services.db.write() as tx:
            await seen_changes.note_look(tx, self._conversation.id, leaf_id)

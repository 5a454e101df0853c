"""Reading of what was changed in a turn, on a branch, or since some moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from catena_acp.changes.changed_file import ChangeSpan, PatchSource, UnreadFile
from catena_acp.changes.kept import PlannedPatch, planned_files, source_of
from catena_acp.changes.reported import ReportedChanges
from catena_acp.snapshots.restoring import RestorePlan, whose_change
from catena_store import ancestry
from catena_store.conversations import messages
from catena_store.conversations.seen_changes import last_look, seen_hunks
from catena_store.conversations.tree import prompts_of_branch
from catena_store.database.database import Reader
from catena_store.snapshots.repository import SnapshotRepository


class Since(Enum):
    """The moment from which on changes are asked for."""

    BRANCH = "branch"  # its beginning
    TURN = "turn"  # the beginning of a turn, until its end
    LOOK = "look"  # the last look at the changes of the conversation
    CHECKPOINT = "checkpoint"
    PLANNED = "planned"  # nothing yet: what files would become that go along with a branch


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """Which changes of a branch are asked for."""

    since: Since = Since.BRANCH
    message_id: str | None = None  # of the turn (None: the newest), or of the checkpoint (None: the root)
    name: str = ""  # of the checkpoint


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed files of a scope, and what a person has seen of them."""

    scope: ChangeScope
    leaf_id: str | None
    directory: str  # of the conversation
    files: tuple[UnreadFile, ...] = ()
    seen: frozenset[str] = frozenset()  # digests of hunks
    caveat: str = ""
    kept: bool = False  # the files' own differences; else what the agents reported
    source: PatchSource = field(default_factory=ReportedChanges)


async def read_changes(
    reader: Reader,
    conversation_id: str,
    leaf_id: str | None,
    scope: ChangeScope,
    directories: Sequence[str],
    repository: SnapshotRepository | None = None,
    *,
    now: datetime,
) -> Changes:
    """The changes of a branch in a scope; ``directories`` are the conversation's, its own first.

    ``repository`` has the snapshots of the first of them, where there are any. Raises StoreError.
    """
    if scope.since is Since.LOOK:
        scope = replace(scope, message_id=await last_look(reader, conversation_id))
    span = await span_of(reader, leaf_id, scope)
    source = await source_of(reader, span, repository, now)
    files = await source.changed_files(reader, span, directories)
    seen = await seen_hunks(reader, conversation_id)
    return Changes(scope, leaf_id, directories[0], tuple(files), seen, source.caveat, source.kept, source)


def planned_changes(plan: RestorePlan, directory: str) -> Changes:
    """What files would become by a restore, in a conversation of this directory."""
    caveat = " ".join(
        f"{whose_change(steps).capitalize()}: {', '.join(step.path for step in steps)}."
        for steps in (plan.conflicts, plan.stuck)
        if steps
    )
    return Changes(
        ChangeScope(Since.PLANNED),
        None,
        directory,
        tuple(planned_files(plan)),
        frozenset(),
        caveat,
        kept=True,
        source=PlannedPatch(plan),
    )


async def span_of(reader: Reader, leaf_id: str | None, scope: ChangeScope) -> ChangeSpan:
    """The part of a branch that a scope means. Raises StoreError."""
    if leaf_id is None:
        return ChangeSpan(None)
    match scope.since:
        case Since.BRANCH | Since.PLANNED:
            return ChangeSpan(leaf_id)
        case Since.TURN:
            return await _turn(reader, leaf_id, scope.message_id)
        case Since.LOOK | Since.CHECKPOINT:
            shared = None
            if scope.message_id is not None and await messages.get(reader, scope.message_id) is not None:
                shared = await ancestry.meeting(reader, leaf_id, scope.message_id)
            return ChangeSpan(leaf_id, -1 if shared is None else await messages.depth(reader, shared))


async def _turn(reader: Reader, leaf_id: str, message_id: str | None) -> ChangeSpan:
    """The turn of a message; that of the leaf where none is given."""
    at = await messages.depth(reader, message_id or leaf_id)
    after, until = -1, None
    for _, depth in await prompts_of_branch(reader, leaf_id):
        if depth > at:
            until = depth - 1
            break
        after = depth
    return ChangeSpan(leaf_id, after, until)

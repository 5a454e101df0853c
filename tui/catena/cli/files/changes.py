"""``catena changes``: what agents changed in files, as text, as JSON or as a patch."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from catena.cli.outcome import outcome
from catena.errors import CommandRefused, ExitStatus
from catena.text.changes_text import (
    author_words,
    caveat_words,
    note_words,
    shown_path,
    size_words,
    state_words,
)
from catena.text.json_shapes import FORMAT, dumps
from catena.text.safe_text import safe, safe_line
from catena_acp.changes.changed_file import FileDiff, diff_of_file, hunk_text
from catena_acp.changes.reading import Changes, ChangeScope, Since, read_changes
from catena_acp.continuity.wording.counts import counted
from catena_store import places
from catena_store.chains import turns
from catena_store.conversations import conversations, messages
from catena_store.conversations.tree import prompts_of_branch
from catena_store.database.database import Database, Reader, default_path
from catena_store.errors import NotFound
from catena_store.ids import utc_now
from catena_store.records import ConversationRecord
from catena_store.snapshots.repository import existing


@dataclass(frozen=True, slots=True)
class _Asked:
    """The branch and the scope that are asked for, and the number of the turn, if it is one."""

    leaf: str | None
    scope: ChangeScope
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    conversation: ConversationRecord
    turn: int | None
    changes: Changes
    diffs: Sequence[FileDiff]


def print_changes(named: str, *, turn: str | None, json: bool, patch: bool) -> int:
    """Print the changes of a conversation's newest branch, or of the turn of a message.

    Raises NotFound, Ambiguous, and CommandRefused if there is no such turn.
    """
    found = outcome(_read(named, turn))
    if patch:
        return _print_patch(found)
    for line in [_json(found)] if json else _lines(found):
        print(line)
    return ExitStatus.ANSWERED


async def _read(named: str, turn: str | None) -> _Found:
    async with Database.open(default_path()) as db:
        async with db.read() as reader:
            conversation = await conversations.find(reader, named)
            leaf = await places.of(reader, conversation.id)
            asked = (
                _Asked(leaf, ChangeScope())
                if turn is None
                else await _turn(reader, conversation.id, leaf, turn)
            )
            further = await conversations.further_directories(reader, conversation.id)
        snapshots = existing(db.path, conversation.cwd)
        changes = await read_changes(
            db.read,
            conversation.id,
            asked.leaf,
            asked.scope,
            (conversation.cwd, *further),
            snapshots,
            now=utc_now(),
        )
    return _Found(
        conversation,
        asked.turn,
        changes,
        [diff_of_file(file) for each in changes.files if (file := each.read()) is not None],
    )


async def _turn(reader: Reader, conversation_id: str, leaf: str | None, named: str) -> _Asked:
    """The turn of a message, on whichever branch it is; a number, as scripts had it before, counts on the newest."""
    prompts = [id for id, _ in await prompts_of_branch(reader, leaf)]
    if named.isdecimal() and 0 < int(named) <= len(prompts):
        return _Asked(leaf, ChangeScope(Since.TURN, prompts[int(named) - 1]), int(named))
    try:
        row = await messages.find(reader, conversation_id, named)
    except NotFound as error:
        if not named.isdecimal():
            raise
        counted_turns = counted(len(prompts), "turn")
        raise CommandRefused(f"turn {named} does not exist: the branch has {counted_turns}") from error
    turn = await turns.get(reader, row.turn_id) if row.turn_id else None
    end = (turn.last_id if turn else None) or row.id
    above = [id for id, _ in await prompts_of_branch(reader, end)]
    newest = prompts[: len(above)] == above  # its files went on from there
    return _Asked(leaf if newest else end, ChangeScope(Since.TURN, row.id), len(above))


def _lines(found: _Found) -> Iterator[str]:
    directory = found.changes.directory
    added, removed = (sum(each.added for each in found.diffs), sum(each.removed for each in found.diffs))
    size = f"{counted(len(found.diffs), 'file')} {size_words(added, removed)}".rstrip()
    yield size if found.diffs else "No changes."
    if caveat := caveat_words(found.changes):
        yield caveat
    for diff in found.diffs:
        words = (size_words(diff.added, diff.removed), state_words(diff.file, directory))
        yield ""
        yield "  ".join(filter(None, (shown_path(diff.file.path, directory), *words)))
        if note := note_words(diff.file):
            yield f"  {note}"
        step = 0
        for hunk in diff.hunks:
            if diff.file.mixed and hunk.step != step:
                step = hunk.step
                yield f"  by {author_words(hunk.by)}:"
            yield safe(hunk_text(hunk)).rstrip("\n")


def _json(found: _Found) -> str:
    """One JSON object, in the shape of ``docs/command-line.md``."""
    return dumps(
        {
            "format": FORMAT,
            "conversation_id": found.conversation.id,
            "directory": found.changes.directory,
            "turn": found.turn,
            "caveat": found.changes.caveat,
            "files": [_shape(diff, found.changes.seen) for diff in found.diffs],
        },
        indent=2,
    )


def _shape(diff: FileDiff, seen: frozenset[str]) -> dict[str, object]:
    file = diff.file
    return {
        "path": file.path,
        "state": file.state,
        "renamed_from": file.renamed_from or None,
        "contents": file.contents,
        "exact": file.net is not None,
        "successive": file.successive,
        "unsure": file.unsure,
        "on_disk": file.on_disk,
        "added": diff.added,
        "removed": diff.removed,
        "hunks": [
            {"text": hunk_text(hunk), "seen": hunk.digest in seen, "by": hunk.by} for hunk in diff.hunks
        ],
    }


def _print_patch(found: _Found) -> int:
    """Print the patch byte for byte; to a terminal, made safe."""
    patch = found.changes.source.patch()
    if sys.stdout.isatty():
        print(safe(patch.content.decode("utf-8", "replace")), end="")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(patch.content)
        sys.stdout.buffer.flush()
    for path, why in patch.left_out:
        print(f"{shown_path(path, patch.directory)}: not in the patch: {why}", file=sys.stderr)
    if patch.content and Path.cwd() != Path(patch.directory):
        # Git ignores what is not below the directory that it is started in.
        where = shlex.quote(safe_line(patch.directory))
        print(
            f"the paths are those of {safe_line(patch.directory)}; to undo it: git -C {where} apply -R -",
            file=sys.stderr,
        )
    return ExitStatus.FAILED if patch.left_out else ExitStatus.ANSWERED

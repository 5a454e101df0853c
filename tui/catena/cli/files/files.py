"""``catena files``: what turns did to files, and the way back; without ``--yes`` it only says what it would do."""

from __future__ import annotations

import asyncio
import difflib
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from catena.cli.conversations.list import line_width
from catena.errors import CommandRefused, ExitStatus
from catena.text.formats import truncate
from catena.text.json_shapes import FORMAT, dumps
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.branches.files import move_behind_files
from catena_acp.errors import FilesHalfMoved
from catena_acp.process_group import is_running, process_start_time
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.restoring import (
    RestoreNote,
    RestorePlan,
    carry_out,
    finish,
    plan_restore,
    undo,
)
from catena_acp.snapshots.scope import SnapshotScope
from catena_store import places
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.conversations.tree import prompts_of_branch
from catena_store.database.database import Database, Reader, Writer, default_path
from catena_store.ids import new_id, utc_now
from catena_store.records import ConversationRecord, Owner
from catena_store.snapshots import files_place, turns, unfinished
from catena_store.snapshots.files_place import FilesPlace
from catena_store.snapshots.git import executable
from catena_store.snapshots.repository import (
    SnapshotRepository,
    existing,
    existing_at,
    snapshots_beside,
    work_tree,
)
from catena_store.snapshots.restoring import RestoreStep, count_done
from catena_store.snapshots.trees import above
from catena_store.snapshots.unfinished import UnfinishedRestore

_SECONDS_OF_DAY = 86_400


class RestoreEnding(Enum):
    """What becomes of a restore that was broken off."""

    FINISH = "finish"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class _TurnLine:
    number: int
    prompt: str
    files: int | None  # None: the turn was not kept
    late: bool = False  # its beginning was missed
    added: int = 0
    removed: int = 0


def print_turns(named: str, *, json: bool) -> int:
    """Print what each turn of a conversation's newest branch did to files. Raises NotFound and Ambiguous."""
    conversation, lines, cut = asyncio.run(_turns(named))
    if cut is not None:
        print(f"catena: {safe_line(cut)}", file=sys.stderr)
    if json:
        shapes = [
            {"turn": each.number, "files": each.files, "added": each.added, "removed": each.removed}
            for each in lines
        ]
        print(dumps({"format": FORMAT, "conversation_id": conversation.id, "turns": shapes}, indent=2))
        return ExitStatus.ANSWERED
    width = line_width() or 100
    for each in lines:
        what = (
            ("beginning missed" if each.late else "not kept")
            if each.files is None
            else f"{counted(each.files, 'file')} +{each.added} -{each.removed}"
        )
        print(truncate(f"{each.number:>4}  {what:<24}  {safe_line(each.prompt)}", width))
    return ExitStatus.ANSWERED


def print_restore(
    named: str, message: str, *, paths: Sequence[str] = (), yes: bool = False, diff: bool = False, json: bool
) -> int:
    """Print what restoring the files as they were at a message would change, or restore them with ``yes``.

    ``paths`` limits it to these files and those below them, including files that someone else changed since. Raises
    NotFound, Ambiguous, and CommandRefused if there are no snapshots.
    """
    plan, chosen, refused = asyncio.run(_restore(named, message, paths, yes=yes))
    left = [*refused, *(step for step in plan.steps if step not in chosen)]
    if diff:
        return _print_patch(plan)
    if json:
        print(dumps(_shape(plan, chosen, left, done=yes), indent=2))
    else:
        for line in _lines(plan, chosen, left, done=yes):
            print(line)
    return ExitStatus.FAILED if refused else ExitStatus.ANSWERED


def end_restore(named: str, ending: RestoreEnding) -> int:
    """Finish or undo a restore of a conversation's files that was cut off when its process ended.

    Raises NotFound, Ambiguous, and CommandRefused if there is none.
    """
    for path in asyncio.run(_end(named, ending)):
        print(f"left, since someone changed it meanwhile: {safe_line(path)}", file=sys.stderr)
    return ExitStatus.ANSWERED


async def _turns(named: str) -> tuple[ConversationRecord, list[_TurnLine], str | None]:
    async with Database.open(default_path()) as db, db.read() as reader:
        conversation = await conversations.find(reader, named)
        cut = await _cut_words(reader, conversation)
        repository = existing(db.path, conversation.cwd)
        leaf = await places.of(reader, conversation.id)
        prompts = await prompts_of_branch(reader, leaf)
        ends: list[int | None] = [*(depth - 1 for _, depth in prompts[1:]), None]
        lines = []
        for number, ((id, depth), end) in enumerate(zip(prompts, ends, strict=True), start=1):
            row = await messages.get(reader, id)
            kept = await turns.of_span(reader, leaf, depth - 1, end) if repository else None
            late = any(
                each.files and each.files.late for each in await turns.of_each(reader, leaf, depth - 1, end)
            )
            prompt = row.text if row else ""
            if repository is None or kept is None:
                lines.append(_TurnLine(number, prompt, None, late))
                continue
            counts = [
                count
                for each in kept
                if each.after
                for count in repository.line_counts(each.before, each.after)
            ]
            added, removed = (
                sum(each.added or 0 for each in counts),
                sum(each.removed or 0 for each in counts),
            )
            lines.append(
                _TurnLine(number, prompt, len({each.path for each in counts}), False, added, removed)
            )
    return conversation, lines, cut


async def _restore(
    named: str, message: str, paths: Sequence[str], *, yes: bool
) -> tuple[RestorePlan, tuple[RestoreStep, ...], list[RestoreStep]]:
    async with Database.open(default_path()) as db:
        async with db.read() as reader:
            conversation = await conversations.find(reader, named)
            leaf = await places.of(reader, conversation.id)
            target = await messages.find(reader, conversation.id, message)
            cut = await _cut_words(reader, conversation)
        repository = _repository(db, conversation)
        if leaf is None:
            raise CommandRefused("the conversation has no message yet")
        if cut is not None:
            raise CommandRefused(cut)
        # A turn that was cut off ends now, at the latest.
        place = snapshots_beside(db.path)
        kept = FileSnapshots(db, place, executable(), SnapshotScope.EVERYWHERE, clock=utc_now)
        kept.close(conversation.id)
        await kept.settled()
        day = int(utc_now().timestamp()) // _SECONDS_OF_DAY
        async with db.read() as reader:
            stand = await files_place.of_conversation(reader, conversation.id, leaf)
        plan = await plan_restore(
            db, repository, stand, target.id, day=day, now=utc_now(), named=True, place=leaf
        )
        chosen = plan.choose(_named_paths(plan, paths, Path(conversation.cwd))) if paths else plan.free
        # Of some files alone it cannot be said that all stand there.
        stands = None if paths else FilesPlace(conversation.id, None, plan.stands)
        note = RestoreNote(new_id(), conversation.id, _this_process(), stands=stands, day=day)
        refused = await carry_out(db, plan, chosen, note) if yes else []
    return plan, chosen, refused


async def _end(named: str, ending: RestoreEnding) -> list[str]:
    async with Database.open(default_path()) as db:
        async with db.read() as reader:
            conversation = await conversations.find(reader, named)
            begun = [
                each
                for each in await unfinished.every(reader)
                if each.conversation_id in (conversation.id, None) and _is_cut(each)
            ]
        if not begun:
            raise CommandRefused("no restore of its files was interrupted")
        left: list[RestoreStep] = []
        finishes, ours = ending is RestoreEnding.FINISH, _this_process()
        for each in begun if finishes else reversed(begun):
            repository = existing_at(db.path, each.root)  # the conversation may work elsewhere by now
            if repository is None:
                raise CommandRefused(f"no snapshots of {each.root}")
            async with db.write() as tx:
                if not await unfinished.take_over(tx, each, ours):
                    continue
            left += await (finish if finishes else undo)(repository, each)
            async with db.write() as tx:
                await unfinished.end(tx, each.id)
                if finishes:
                    alone = each.move is None or not await _is_open(tx, each.move.conversation_id)
                    await move_behind_files(tx, each, window=alone)
    return [step.path for step in left]


def _is_cut(begun: UnfinishedRestore) -> bool:
    """Whether nobody is at a change of files any more."""
    return not (begun.owner and is_running(begun.owner, begun.begun_at, utc_now()))


async def _cut_words(reader: Reader, conversation: ConversationRecord) -> str | None:
    """What is to be done before anything else where a change of the conversation's files was cut off."""
    root = str(work_tree(Path(conversation.cwd)))
    for each in await unfinished.every(reader):
        if (each.conversation_id == conversation.id or str(each.root) == root) and _is_cut(each):
            repository = existing_at(default_path(), each.root)
            done = count_done(repository, each.steps) if repository else 0
            return str(FilesHalfMoved(each.conversation_id or conversation.id, len(each.steps), done))
    return None


def _named_paths(plan: RestorePlan, paths: Sequence[str], directory: Path) -> list[str]:
    """Names as they were typed as paths below the root. Raises CommandRefused for one that fits nothing."""
    root, known = plan.repository.root, {step.path for step in plan.steps if step.possible}
    known |= {each for path in known for each in above(path)}
    found = []
    for path in paths:
        places = [Path(os.path.normpath(place / path)) for place in (root, Path.cwd(), directory)]
        inside = [str(place.relative_to(root)) for place in places if place.is_relative_to(root)]
        fitting = [each for each in inside if each in known or (each == "." and known)]
        if not fitting:
            near = difflib.get_close_matches(path, sorted(known), 3, 0.4)
            hint = f"; near: {', '.join(near)}" if near else ""
            raise CommandRefused(f"{path}: not among the files that would change{hint}")
        found.append(fitting[0])
    return found


async def _is_open(tx: Writer, conversation_id: str) -> bool:
    """True where a Catena that lives has the conversation: its windows are its own."""
    lease = await leases.get(tx, conversation_id)
    return lease is not None and is_running(lease.owner, lease.heartbeat_at, utc_now())


def _this_process() -> Owner:
    """The owner of a change of files, by whose end others know that it was cut off."""
    return Owner(new_id(), socket.gethostname(), os.getpid(), process_start_time(os.getpid()) or "")


def _repository(db: Database, conversation: ConversationRecord) -> SnapshotRepository:
    repository = existing(db.path, conversation.cwd)
    if repository is None:
        raise CommandRefused("no snapshots of this conversation's directory")
    return repository


def _lines(
    plan: RestorePlan, chosen: Sequence[RestoreStep], left: Sequence[RestoreStep], *, done: bool
) -> Iterator[str]:
    if not any(step.possible for step in plan.steps):
        yield "Every file that was kept is as it was then." if plan.steps else "Every file is as it was then."
    if plan.kept_later:
        yield "A turn was cut off, and its end kept later: what changed meanwhile may be yours, and is left."
    counts = {each.path: each for each in plan.line_counts()}
    for step in plan.steps:
        count = counts.get(step.path)
        size = f"+{count.added} -{count.removed}" if count and count.added is not None else "binary"
        words = "deleted" if step.wanted is None else "restored"
        if not step.possible:
            words, size = "stays", ""
        note = ""
        if step in left:
            note = f"  left: {_why_left(step, chosen)}"
        yield f"  {safe_line(step.path)}  {f'{words} {size}'.rstrip()}{note}"
    if not any(step.possible for step in plan.steps):
        return
    changed = len(chosen) - sum(step in left for step in chosen)
    if done:
        yield f"{counted(changed, 'file')} restored."
    elif chosen:
        yield f"{counted(changed, 'file')} would change; `catena files restore` with --yes does it."
    else:
        yield "Nothing would change; `catena files restore` restores a file that it is given by name."


def _why_left(step: RestoreStep, chosen: Sequence[RestoreStep]) -> str:
    if step in chosen:
        return "changed by someone else just now"
    return step.conflict or "not named"


def _shape(
    plan: RestorePlan, chosen: Sequence[RestoreStep], left: Sequence[RestoreStep], *, done: bool
) -> dict[str, object]:
    return {
        "format": FORMAT,
        "root": str(plan.repository.root),
        "done": done,
        "kept_later": plan.kept_later,
        "files": [
            {
                "path": step.path,
                "becomes": "same"
                if not step.possible
                else "deleted"
                if step.wanted is None
                else "new"
                if step.now is None
                else "changed",
                "conflict": step.conflict,
                "chosen": step in chosen and step not in left,
            }
            for step in plan.steps
        ],
    }


def _print_patch(plan: RestorePlan) -> int:
    """Print the patch byte for byte; to a terminal, made safe."""
    patch = plan.repository.patch(plan.now, plan.wanted)
    if sys.stdout.isatty():
        print(safe(patch.decode("utf-8", "replace")), end="")
    else:
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
    return ExitStatus.ANSWERED

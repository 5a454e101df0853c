"""Acts that report what agents did to files, and who wrote their lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath

from catena.acts.surface import Done, Here, LiveReport, Question, Refused, Report, ReportRow, Voice
from catena.text.blame_text import FileLines, full_words
from catena.text.changes_text import (
    WAYS_BACK,
    caveat_words,
    line_sentence,
    note_words,
    scope_words,
    shown_path,
    state_facts,
    touched_words,
)
from catena.text.safe_text import safe_line
from catena.workspace.files_along import lines_words, moved_words
from catena_acp.blame.authorship import BlamedFile, Block
from catena_acp.blame.reading import blame as read_blame
from catena_acp.changes.changed_file import UnreadFile, diff_of_file
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.file_changes import FileTouched
from catena_acp.errors import FilesNotKept
from catena_store.chains.turns import TurnPrompt
from catena_store.errors import StoreError
from catena_store.ids import utc_now

_SCOPES = {"": Since.BRANCH, "branch": Since.BRANCH, "turn": Since.TURN, "look": Since.LOOK}
_AS_REPORTED = "As reported by the agents; not read from disk. /files changes shows what changed."
_ALSO_BY_SNAPSHOTS = (
    "Counts as reported by the agents; the others by snapshots. /files changes shows what changed."
)


async def files(on: Here) -> Done:
    """Report the files that were read and changed on this branch, the latest first."""
    conversation = on.tab.conversation
    await conversation.settle()
    touched = await conversation.changes.files(on.tab.leaf_id)
    if not touched:
        raise Refused("No files read or changed on this branch.")
    directory = conversation.record.cwd
    rows = [ReportRow(shown_path(each.path, directory), partial(_touched, each)) for each in touched]
    reported = all(each.unreported is None for each in touched)
    note = _AS_REPORTED if reported else _ALSO_BY_SNAPSHOTS
    return Done(report=Report("Files on this branch", "File", rows, note))


def _touched(file: FileTouched, voice: Voice) -> list[str]:
    return touched_words(file, voice.sizes)


async def changes(on: Here, named: str) -> Done:
    """Report the files that were changed on this branch, in the last turn, since the last look or a checkpoint."""
    since = _SCOPES.get(named.casefold())
    if since is not None:
        return await _changes(on, ChangeScope(since))
    checkpoint = await on.tab.conversation.checkpoints.find(named)
    return await _changes(on, ChangeScope(Since.CHECKPOINT, checkpoint.message_id, checkpoint.label or named))


async def turn_changes(on: Here) -> Done:
    """Report the files that were changed in the turn of the browsed message."""
    return await _changes(on, ChangeScope(Since.TURN, on.message_id))


async def _changes(on: Here, scope: ChangeScope) -> Done:
    tab, conversation = on.tab, on.tab.conversation
    await conversation.settle()

    async def read() -> Report:
        found = await conversation.changes.read(tab.leaf_id, scope)
        if not found.files:
            raise Refused(f"No changes {scope_words(scope)}.")
        rows = await asyncio.to_thread(lambda: [_file_row(each, found.directory) for each in found.files])
        if tab.leaf_id is not None:
            with suppress(StoreError):  # the next look begins where the last one did
                await conversation.changes.note_look(tab.leaf_id)
        title = f"Changes {scope_words(scope)}"
        heading = counted(len(rows), "file")
        note = f"{caveat_words(found)} {WAYS_BACK}".lstrip()
        return Report(title, title, rows, note, heading, enter="read it")

    return Done(report=LiveReport(scope, read, partial(_visit, on)))


async def _visit(on: Here, prompt: TurnPrompt) -> Done:
    await on.surface.visit(prompt.conversation_id, prompt.prompt_id)
    return Done()


async def restore(on: Here, named: str) -> Done:
    """Take the changes on this branch out of a file, after asking; the conversation stays where it is."""
    if not named:
        raise Refused("/files restore FILE restores one file; /files changes lists those that were changed.")
    return Done(await restored_file(on, named, ChangeScope()))


async def restored_file(on: Here, named: str, scope: ChangeScope) -> str:
    """Take the changes of a scope out of a file, after asking; return what became of it, in words."""
    tab, conversation = on.tab, on.tab.conversation
    await conversation.settle()
    found = await conversation.changes.read(tab.leaf_id, scope)
    names = {named, str(PurePath(named.removeprefix("@")))}
    named_files = (
        each for each in found.files if names & {each.path, shown_path(each.path, found.directory)}
    )
    if (file := next(named_files, None)) is None:
        raise Refused(f"{safe_line(named)}: no changes {scope_words(scope)}; /files changes lists the files.")
    shown = shown_path(file.path, found.directory)
    try:
        plan = await asyncio.to_thread(found.plan_without, file.path)
    except FilesNotKept as error:
        raise Refused(f"{shown} stays as it is: {error}.") from error
    if not plan.steps:
        raise Refused(f"{shown} is as it was before.")
    deletes = all(step.wanted is None for step in plan.steps)
    verb = "delete" if deletes else "restore"
    counts = plan.line_counts()
    size = lines_words(sum(each.added or 0 for each in counts), sum(each.removed or 0 for each in counts))
    await on.surface.ask(
        Question(
            f"{verb.capitalize()} {shown}?",
            verb,
            size,
            note=f"This takes back the changes {scope_words(scope)}. The conversation stays; /undo takes this back.",
            no="cancel",
        )
    )
    return moved_words(await tab.window.restore_files(plan))


def _file_row(file: UnreadFile, directory: str) -> ReportRow:
    """A file with what became of it: blocks, and keeps nothing of its texts."""
    read = file.read()
    open = partial(_file, file, directory)
    if read is None:
        return ReportRow(shown_path(file.path, directory), open=open)
    diff = diff_of_file(read)
    facts, added, removed = state_facts(read, directory), diff.added, diff.removed
    counted_lines = bool(diff.hunks)

    def values(voice: Voice) -> list[str]:
        return [*facts, voice.sizes(added, removed) if counted_lines else ""]

    return ReportRow(shown_path(read.path, directory), values, open)


async def _file(file: UnreadFile, directory: str) -> Done:
    def rows() -> Iterator[ReportRow]:
        row = _file_row(file, directory)
        yield ReportRow(f"Change: {row.name}", row.values)
        if (read := file.read()) is None:
            return
        if note := note_words(read):
            yield ReportRow(f"Note: {note}")
        for hunk in diff_of_file(read).hunks:
            yield from (ReportRow(line_sentence(line)) for line in hunk.hunk.lines if line.sign != " ")

    return Done(
        report=Report(shown_path(file.path, directory), "", await asyncio.to_thread(lambda: [*rows()]))
    )


async def blame(on: Here, named: str) -> Done:
    """Report who wrote the lines of a file, or some of them; to open some goes to their prompt."""
    if not named:
        raise Refused(
            "/files blame FILE says which prompt wrote its lines; with FILE:12 or FILE:12-20, of those."
        )
    await on.tab.conversation.settle()
    directory = on.tab.conversation.record.cwd
    asked = await asyncio.to_thread(FileLines.read, named, Path(directory))

    async def open(file: BlamedFile, block: Block) -> Done:
        turn = file.blamed_turns.get(block.author.turn_id or "")
        if turn is None or turn.prompt.deleted:
            raise Refused("No prompt is known that wrote these lines.")
        return await _visit(on, turn.prompt)

    async def read() -> Report:
        now = utc_now()
        file = await read_blame(on.tabs.store, asked.path, now)
        last = asked.last or len(file.lines)
        rows = [
            ReportRow(_lines(block), [full_words(file, block.author, now)], partial(open, file, block))
            for block in file.blocks
            if block.end >= asked.first and block.first < last
        ]
        if not rows:
            raise Refused(f"The file ends with line {len(file.lines)}.")
        heading = f"{shown_path(str(file.path), directory)}, {counted(len(file.lines), 'line')}"
        return Report("Blame", "Blame", rows, heading=heading, enter="go to the prompt")

    return Done(report=LiveReport(asked, read, partial(_visit, on)))


def _lines(block: Block) -> str:
    return f"line {block.first + 1}" if block.count == 1 else f"lines {block.first + 1} to {block.end}"

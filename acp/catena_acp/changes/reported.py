"""Changes as agents reported them in their tool calls, composed for each file and compared with what is there now."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from catena_acp.changes.changed_file import (
    MOST_CHARACTERS,
    ChangedFile,
    ChangeSpan,
    FileContents,
    FileState,
    OnDisk,
    Patch,
    TextChange,
    diffs_of_files,
    patch_of,
)
from catena_acp.errors import FileRefused
from catena_acp.protocol.files import FileAccess
from catena_acp.spoken.blocks import Diff
from catena_acp.spoken.call import Call
from catena_store.conversations import messages
from catena_store.database.database import Reading
from catena_store.records import Kind, Message
from catena_store.snapshots.repository import work_tree


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit as it was reported: texts of the file, or of a part of it that is nowhere named."""

    old: str | None  # None: the file was written anew
    new: str
    line: int | None = None  # of the file, as it was reported


def before_edits(text: str, edits: Sequence[Edit]) -> tuple[bool, str | None]:
    """The text that a file had before edits, by the whole text that it has after them; and whether that is certain.

    Each edit is taken back, the last one first, where what it left is in the text exactly once. None is no file.
    """
    current: str | None = text
    for edit in reversed(edits):
        if current == edit.new:
            current = edit.old
            continue
        if current is None or edit.old is None or (at := _only_place(edit.new, current)) is None:
            return False, None
        current = current[:at] + edit.old + current[at + len(edit.new) :]
    return True, current


def composed(edits: Iterable[Edit]) -> tuple[TextChange, ...] | None:
    """The edits as changes of parts that do not touch each other; None where the texts do not tell.

    An edit within what an earlier one left, or around it, becomes one change with it.
    """
    parts: list[TextChange] = []
    for edit in edits:
        taken = _with_edit(parts, edit)
        if taken is None:
            return None
        parts = taken
    return tuple(part for part in parts if part.old != part.new)


def _with_edit(parts: list[TextChange], edit: Edit) -> list[TextChange] | None:
    if edit.old is None:
        if not parts:
            return [TextChange(None, edit.new, whole=True)]
        return [replace(parts[0], new=edit.new)] if parts[0].whole else None
    inside = [at for at, part in enumerate(parts) if part.new is not None and edit.old in part.new]
    around = [at for at, part in enumerate(parts) if at not in inside and part.new and part.new in edit.old]
    if len(inside) == 1 and not around:
        part = parts[inside[0]]
        new = _replaced(part.new or "", edit.old, edit.new)
        return None if new is None else [*parts[: inside[0]], replace(part, new=new), *parts[inside[0] + 1 :]]
    if inside or any(part.whole for part in parts) or any(_touch(part, edit) for part in parts):
        return None
    old: str | None = edit.old
    for at in around:
        part = parts[at]
        if old is not None and part.old is not None and part.new is not None:
            old = _replaced(old, part.new, part.old)
    if old is None:
        return None
    rest = [part for at, part in enumerate(parts) if at not in around]
    return [*rest, TextChange(old, edit.new, line=edit.line or 1)]


def _replaced(text: str, old: str, new: str) -> str | None:
    """A text in which a part that is in it exactly once is replaced."""
    if text == old:
        return new
    at = _only_place(old, text)
    return None if at is None else text[:at] + new + text[at + len(old) :]


def _only_place(part: str, text: str) -> int | None:
    """Where a part is in a text; None where that is nowhere, or more than one place."""
    at = text.find(part) if part else -1
    return at if at >= 0 and text.find(part, at + 1) < 0 else None


def _touch(part: TextChange, edit: Edit) -> bool:
    """True where the end of one text may be the beginning of the other: they may be the same lines of the file."""
    if not part.new or not edit.old:
        return True
    if part.new in edit.old:
        return False
    return _ends_as_begins(part.new, edit.old) or _ends_as_begins(edit.old, part.new)


def _ends_as_begins(upper: str, lower: str) -> bool:
    """True where the last lines of one text that have any letters are the first lines of another."""
    first, _, _ = lower.partition("\n")
    if first not in upper:
        return False
    lines = lower.split("\n")
    common = _overlap(upper.removesuffix("\n").split("\n"), lines)
    return any(line.strip() for line in lines[:common])


def _overlap(upper: Sequence[str], lower: Sequence[str]) -> int:
    """How many lines, at most, are the last of one text and the first of another; by Knuth, Morris and Pratt."""
    shorter = [0] * len(lower)  # for as many lines as match: how many do where the next one does not
    count = 0
    for at in range(1, len(lower)):
        while count and lower[at] != lower[count]:
            count = shorter[count - 1]
        count += lower[at] == lower[count]
        shorter[at] = count
    count = 0
    for line in upper:
        while count and (count == len(lower) or line != lower[count]):
            count = shorter[count - 1]
        count += line == lower[count]
    return count


_UNREADABLE = "\ufffd"  # a file that is not UTF-8 is compared with nothing


class FilesOnDisk:
    """The files below the directories of a conversation; nothing outside of them is read."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._access = FileAccess(map(Path, directories), writable=False)

    def text(self, path: str) -> tuple[OnDisk, str]:
        """The state and text of a file: GONE if there is none, UNKNOWN if it may not or cannot be read."""
        try:
            text = self._access.read(path)
        except FileRefused as refused:
            return (OnDisk.GONE if refused.missing else OnDisk.UNKNOWN), ""
        if _UNREADABLE in text or len(text) > MOST_CHARACTERS:
            return OnDisk.UNKNOWN, ""
        return OnDisk.SAME, text

    def placed(self, file: ChangedFile, edits: Sequence[Edit], later: Sequence[Edit]) -> ChangedFile:
        """The file with the whole texts around its ``edits``, where what is there now proves them.

        ``later`` edits came after them. Blocks.
        """
        found, text = self.text(file.path)
        if found is not OnDisk.SAME:
            return replace(file, on_disk=found)
        known, new = before_edits(text, later)
        if known and new is not None:
            known, old = before_edits(new, edits)
            if known:
                since = OnDisk.CHANGED if later else OnDisk.SAME
                state = file.state
                if state is FileState.CHANGED and old is None:
                    state = FileState.NEW
                return replace(
                    file,
                    state=state,
                    changes=(TextChange(old, new, whole=True),),
                    successive=False,
                    on_disk=since,
                )
        return self._placed_parts(file, text, changed=bool(later))

    def _placed_parts(self, file: ChangedFile, text: str, *, changed: bool) -> ChangedFile:
        """The file with the whole texts around its parts, where each of them is in the text exactly once."""
        if file.net is not None and not changed:
            return replace(file, on_disk=OnDisk.SAME if file.net.new == text else OnDisk.CHANGED)
        if changed or file.successive or any(change.whole or not change.new for change in file.changes):
            absent = any(_absent(change, text) for change in file.changes)
            return replace(file, on_disk=OnDisk.CHANGED if changed or absent else OnDisk.UNKNOWN)
        places = []
        for change in file.changes:
            new = change.new or ""
            at = text.find(new)
            if at < 0:
                return replace(file, on_disk=OnDisk.CHANGED)
            if change.old is None or text.find(new, at + 1) >= 0:
                return file
            places.append((at, new, change.old))
        old, end = "", 0
        for at, new, before in sorted(places):
            if at < end:
                return file
            old += text[end:at] + before
            end = at + len(new)
        old += text[end:]
        return replace(file, changes=(TextChange(old, text, whole=True),), on_disk=OnDisk.SAME)


def _absent(change: TextChange, text: str) -> bool:
    return change.new is not None and (change.new != text if change.whole else change.new not in text)


AS_REPORTED = "changes are as the agent reported, without those of shell commands."
_WITHOUT_SHELL = "changes by shell commands are not included."
MOST_CALLS = 5_000  # the newest of a branch that are looked through


class ReportedChanges:
    """The changes that agents reported; what shell commands did in files is in no report.

    Of these turns only, where any are named.
    """

    def __init__(self, turns: Set[str] | None = None, *, late: int = 0) -> None:
        self._turns = turns
        self._late = late  # of the turns: snapshots came when they were at work
        self._files: Sequence[ReportedFile] = ()
        self._directory = "/"

    @property
    def kept(self) -> bool:
        return False

    @property
    def caveat(self) -> str:
        if self._late:
            whose = "its" if self._late == 1 else f"of {self._late} turns, the"
            return f"{whose.capitalize()} beginning was missed. As the agent reported; {_WITHOUT_SHELL}"
        return f"As the agent reported; {_WITHOUT_SHELL}"

    async def changed_files(
        self, reading: Reading, span: ChangeSpan, directories: Sequence[str]
    ) -> Sequence[ReportedFile]:
        """The files that were changed in a part of a branch, by their paths. Raises StoreError."""
        async with reading() as reader:
            newest = await messages.newest_tools(reader, span.leaf_id, MOST_CALLS)
        rows = [
            row
            for row in newest
            if row.depth > span.after and (self._turns is None or row.turn_id in self._turns)
        ]
        self._directory = directories[0]
        self._files = await asyncio.to_thread(reported_files, rows, span.until, directories)
        return self._files

    def patch(self, paths: Collection[str] | None = None) -> Patch:
        """The changes that have an exact place in their files, relative to the work tree's root."""
        files = [file for file in self._files if paths is None or file.path in paths]
        return patch_of(diffs_of_files(files), str(work_tree(Path(self._directory))))


def reported_files(
    rows: Iterable[Message], until: int | None, directories: Sequence[str]
) -> tuple[ReportedFile, ...]:
    """The files that tool rows tell of, oldest row first, as far as a depth.

    Rows below that depth only tell what came later. Calls that failed or were stopped changed nothing
    but what Catena wrote for them.
    """
    cwd = directories[0] if directories else "/"
    disk = FilesOnDisk(directories)
    files = _Files(disk, {})
    for row in rows:
        if row.kind is not Kind.TOOL:
            continue
        _take(files, Call.of(row), cwd, later=until is not None and row.depth > until)
    return tuple(file for _, file in sorted(files.by_path.items()) if file.touched and not file.undone)


@dataclass(slots=True)
class ReportedFile:
    """Everything that was reported of one file."""

    path: str
    disk: FilesOnDisk
    edits: list[Edit] = field(default_factory=list)
    later: list[Edit] = field(default_factory=list)
    touched: bool = False  # in the part that is asked about
    born: bool = False  # there was none before
    deleted: bool = False
    unsure: bool = False
    renamed_from: str = ""
    contents: FileContents = FileContents.TEXT
    removed_text: str | None = None  # of a deleted file, where it is known

    def edit(self, edit: Edit, *, later: bool) -> None:
        """Add an edit."""
        if later:
            self.later.append(edit)
            return
        if not self.touched and edit.old is None:
            self.born = True
        if self.deleted:
            self.deleted, self.edits = False, []
        self.touched = True
        self.edits.append(edit)

    @property
    def undone(self) -> bool:
        """True if the file did not exist before, and does not exist any more."""
        return self.born and self.deleted

    @property
    def state(self) -> FileState:
        """What became of it, as far as its reports say."""
        if self.deleted:
            return FileState.DELETED
        if self.renamed_from:
            return FileState.RENAMED
        return FileState.NEW if self.born else FileState.CHANGED

    def read(self) -> ChangedFile | None:
        """The file with what is different in it, by what is in its place now; None where that is nothing. Blocks."""
        file = ChangedFile(
            self.path,
            self.state,
            contents=self.contents,
            unsure=self.unsure,
            renamed_from=self.renamed_from,
        )
        if self.deleted:
            return self._deleted(file)
        if self.contents is not FileContents.TEXT:
            return replace(file, on_disk=OnDisk.UNKNOWN)
        if not self.edits:
            contents = FileContents.TEXT if self.renamed_from else FileContents.UNREPORTED
            return replace(file, contents=contents, on_disk=_existing(self.disk, self.path))
        parts = composed(self.edits)
        if parts is None:
            steps = tuple(TextChange(each.old, each.new, line=each.line or 1) for each in self.edits)
            file = replace(file, changes=steps, successive=len(steps) > 1)
        elif not parts and not self.renamed_from:
            return None
        else:
            file = replace(file, changes=parts)
        placed = self.disk.placed(file, self.edits, self.later)
        net = placed.net
        return None if net is not None and net.old == net.new and not self.renamed_from else placed

    def _deleted(self, file: ChangedFile) -> ChangedFile:
        gone = self.disk.text(self.path)[0] is OnDisk.GONE
        file = replace(file, on_disk=OnDisk.SAME if gone else OnDisk.CHANGED)
        if self.removed_text is None:
            return replace(file, contents=FileContents.UNREPORTED)
        return replace(file, changes=(TextChange(self.removed_text, None, whole=True),))


def _existing(disk: FilesOnDisk, path: str) -> OnDisk:
    found, _ = disk.text(path)
    return found if found is OnDisk.GONE else OnDisk.UNKNOWN


@dataclass(frozen=True, slots=True)
class _Files:
    """The files that were reported of so far."""

    disk: FilesOnDisk
    by_path: dict[str, ReportedFile]

    def file(self, path: str) -> ReportedFile:
        """The file of an absolute path."""
        return self.by_path.setdefault(path, ReportedFile(path, self.disk))

    def rename(self, source: str, target: str, *, sure: bool) -> None:
        """Go on with a file under another path."""
        file = self.by_path.pop(source, None) or ReportedFile(source, self.disk)
        if not file.born:
            file.renamed_from = file.renamed_from or source
        file.path, file.touched = target, True
        file.unsure |= not sure
        self.by_path[target] = file


def _take(files: _Files, call: Call, cwd: str, *, later: bool) -> None:
    """Take in what one tool call did."""
    told, sure = call.done is not False, call.done is not None
    named = [_absolute(place.path, cwd) for place in call.places if place.path]
    perhaps = call.perhaps_made
    diffs = [diff for diff in (*call.made, *perhaps) if diff.path]
    for diff in diffs:
        file = files.file(_absolute(diff.path, cwd))
        if not later:
            file.unsure |= diff in perhaps
        _take_diff(file, diff, _line_of(call, diff, diffs), later=later)
    match call.kind:
        case _ if not told:
            pass
        case "move" if len(named) == 2 and not diffs and not later:
            files.rename(named[0], named[1], sure=sure)
        case "delete" if not later:
            for path in dict.fromkeys(named):
                _delete(files.file(path), sure=sure)
        case "edit" | "move" if not diffs and not later:
            for path in dict.fromkeys(named):
                file = files.file(path)
                file.touched, file.contents = True, FileContents.UNREPORTED
                file.unsure |= not sure


def _take_diff(file: ReportedFile, diff: Diff, line: int | None, *, later: bool) -> None:
    if diff.new is None or "\0" in diff.new or "\0" in (diff.old or ""):
        problem = FileContents.BINARY
    elif len(diff.new) > MOST_CHARACTERS or len(diff.old or "") > MOST_CHARACTERS:
        problem = FileContents.TOO_LARGE
    else:
        file.edit(Edit(diff.old, diff.new, line), later=later)
        return
    if not later:
        file.touched, file.contents = True, problem


def _delete(file: ReportedFile, *, sure: bool) -> None:
    parts = composed(file.edits)
    net = parts[0] if parts is not None and len(parts) == 1 and parts[0].whole else None
    file.removed_text = None if net is None else net.old
    file.born = file.born and not file.renamed_from
    file.touched = file.deleted = True
    file.unsure |= not sure


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118 - the path need not be one


def _line_of(call: Call, diff: Diff, diffs: Sequence[Diff]) -> int | None:
    """The line that a call reports for its only change of a file."""
    if sum(each.path == diff.path for each in diffs) != 1:
        return None
    lines: Iterator[int | None] = (place.line for place in call.places if place.path == diff.path)
    line = next(lines, None)
    return line if line is not None and line > 0 else None

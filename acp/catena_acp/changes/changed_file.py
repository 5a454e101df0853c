"""One changed file, whatever told of it, with its hunks, their marks, and the patch that ``git apply`` takes. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, Protocol

from catena_acp.diff import Hunk, diff_of_lines
from catena_store.database.database import Reading

MOST_CHARACTERS = 4_000_000  # of one version of a file, beyond which it is not compared


class FileState(StrEnum):
    """What became of a file."""

    CHANGED = "changed"
    NEW = "new"
    DELETED = "deleted"
    RENAMED = "renamed"


class FileContents(StrEnum):
    """Whether the texts of a file are known."""

    TEXT = "text"
    BINARY = "binary"
    TOO_LARGE = "too large"
    UNREPORTED = "not reported"  # that it was changed is known, and not how


class OnDisk(StrEnum):
    """The state of a file's place on the disk now."""

    SAME = "same"  # what the change left there
    CHANGED = "changed since"
    GONE = "gone"
    UNKNOWN = "unknown"  # not read, or too much like other parts of the file to tell


class By(StrEnum):
    """Whose change it is."""

    AGENT = "agent"  # made during the turns that are asked about
    OTHERS = "others"  # between them, or since: by the person, a program, or another turn


@dataclass(frozen=True, slots=True)
class TextChange:
    """Two versions of a file, or of a part of one."""

    old: str | None  # None: there was no file
    new: str | None  # None: there is none any more
    whole: bool = False  # True: of the file from its first to its last line
    line: int = 1  # of the file, with which a part begins, as far as it is known
    by: By = By.AGENT


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file, and what is different in it between two moments."""

    path: str  # absolute; hostile text
    state: FileState = FileState.CHANGED
    changes: tuple[TextChange, ...] = ()  # of parts that do not touch each other, unless ``successive``
    contents: FileContents = FileContents.TEXT
    successive: bool = False  # True: the changes follow one another in time, and do not add up to one
    unsure: bool = False  # True: how one of the changes ended was never seen
    renamed_from: str = ""
    on_disk: OnDisk = OnDisk.UNKNOWN

    @property
    def mixed(self) -> bool:
        """True where others changed the same lines, so that what is theirs cannot be told from the agent's."""
        return any(change.by is By.OTHERS for change in self.changes)

    @property
    def net(self) -> TextChange | None:
        """The change between two whole versions of the file; None if these are not known."""
        only = self.changes[0] if len(self.changes) == 1 and not self.successive else None
        return only if only is not None and only.whole else None


@dataclass(frozen=True, slots=True)
class ChangeSpan:
    """A part of a branch: what is below one of its rows, down to another."""

    leaf_id: str | None  # of the branch
    after: int = -1  # depth of the last row above the part
    until: int | None = None  # depth of its last row; None: the leaf's


class UnreadFile(Protocol):
    """A file that was changed, whose texts are read when they are needed."""

    @property
    def path(self) -> str:
        """Its absolute path; hostile text."""

    @property
    def state(self) -> FileState:
        """What became of it, as far as that is known without its texts."""

    def read(self) -> ChangedFile | None:
        """The file with its texts; None where nothing is different in the end. Blocks."""
        ...


class NotInPatch(NamedTuple):
    """A file that a patch cannot have, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch for ``git apply`` in a directory, and what it lacks."""

    content: bytes
    directory: str  # that its paths are relative to
    left_out: tuple[NotInPatch, ...] = ()


class PatchSource(Protocol):
    """A place that makes patches of what was changed in files."""

    def patch(self, paths: Collection[str] | None = None) -> Patch:
        """The patch that takes back all changed files, or only ``paths``. Blocks. Raises SnapshotFailed."""
        ...


class ChangeSource(PatchSource, Protocol):
    """A place that knows what was changed in files."""

    @property
    def kept(self) -> bool:
        """True where it tells of the files themselves, and so of all that was changed; else of what was reported."""

    @property
    def caveat(self) -> str:
        """What a person should know of the changes that it tells of; "" for nothing."""

    async def changed_files(
        self, reading: Reading, span: ChangeSpan, directories: Sequence[str]
    ) -> Sequence[UnreadFile]:
        """The files that were changed in a part of a branch, by their paths.

        ``directories`` of the conversation, its own first: no file outside of them is read. Raises StoreError.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileHunk:
    """Changes of a file that are close to each other; each line has its line end, if it has one."""

    hunk: Hunk
    digest: str  # of the file's path and the lines: the same change has the same one wherever it has moved to
    step: int = 0  # of the changes of a file that follow one another: which of them, counted from 1
    by: By = By.AGENT

    @property
    def head(self) -> str:
        """The line above the hunk in the unified format."""
        return self.hunk.head

    @property
    def first_line(self) -> int:
        """The first changed line, in the new version of the file."""
        number = self.hunk.after
        for line in self.hunk.lines:
            if line.sign != " ":
                break
            number += 1
        return number + 1

    @property
    def last_line(self) -> int:
        """The last line that is in the new version of the file, of the changed ones."""
        lines = self.hunk.lines
        trailing = 0
        for line in reversed(lines):
            if line.sign != " ":
                break
            trailing += 1
        kept = sum(line.sign != "-" for line in lines)
        return max(self.first_line, self.hunk.after + kept - trailing)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A changed file as hunks, with how many lines were added and removed."""

    file: ChangedFile
    hunks: tuple[FileHunk, ...] = ()
    added: int = 0
    removed: int = 0

    @property
    def digests(self) -> tuple[str, ...]:
        """The digests that a person marks as seen: one per hunk; for a file without hunks, one of its change."""
        if self.hunks:
            return tuple(hunk.digest for hunk in self.hunks)
        return (_digest(self.file.path, f"{self.file.state} {self.file.contents}"),)


def diff_of_file(file: ChangedFile) -> FileDiff:
    """Compare the versions of a file."""
    hunks: list[FileHunk] = []
    added = removed = 0
    for step, change in enumerate(file.changes, 1):
        diff = diff_of_lines(lines_of(change.old), lines_of(change.new))
        if change.by is By.AGENT:
            added, removed = added + diff.added, removed + diff.removed
        hunks += _hunks(file, change, diff.hunks, step if file.successive else 0)
    return FileDiff(file, tuple(hunks), added, removed)


def diffs_of_files(files: Iterable[UnreadFile]) -> list[FileDiff]:
    """Read and compare files, without those that are the same in the end. Blocks. Raises SnapshotFailed."""
    return [diff_of_file(changed) for file in files if (changed := file.read()) is not None]


def lines_of(text: str | None) -> list[str]:
    """The lines of a text as git counts them, each with its line end; the last one may have none."""
    if not text:
        return []
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(file: ChangedFile, change: TextChange, hunks: Sequence[Hunk], step: int) -> Iterator[FileHunk]:
    for hunk in hunks:
        content = "".join(line.sign + line.text for line in hunk.lines)
        yield FileHunk(_moved(hunk, change.line - 1), _digest(file.path, content), step, change.by)


def _digest(path: str, content: str) -> str:
    import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

    return hashlib.sha256(f"{path}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _moved(hunk: Hunk, down: int) -> Hunk:
    if not down:
        return hunk
    return Hunk(
        hunk.before + down,
        hunk.after + down,
        tuple(replace(line, number=line.number + down) for line in hunk.lines),
    )


_NO_PLACE = "the exact place of its changes is not known"
_QUOTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def patch_of(diffs: Sequence[FileDiff], directory: str) -> Patch:
    """The changes of files below a directory as one patch; left out is what has no exact place in its file."""
    pieces: list[str] = []
    left_out: list[NotInPatch] = []
    for diff in diffs:
        if _fits(diff, directory):
            pieces += _file_patch(diff, directory, diff.hunks)
        else:
            left_out.append(NotInPatch(diff.file.path, _NO_PLACE))
    return Patch("".join(pieces).encode("utf-8", "surrogateescape"), directory, tuple(left_out))


def hunk_patch(diff: FileDiff, hunk: FileHunk, directory: str) -> str:
    """One hunk of a file as a patch; where the whole file is not known, its line numbers are those of a part."""
    return "".join(_file_patch(diff, directory, (hunk,)))


def hunk_text(hunk: FileHunk) -> str:
    """The lines of a hunk with their signs, below its head."""
    return "".join(_lines(hunk))


def relative_path(path: str, directory: str) -> str | None:
    """A path below a directory as it stands in a patch; None where it is elsewhere."""
    inside = path.startswith(directory.rstrip("/") + "/")
    return os.path.relpath(path, directory) if inside else None


def _fits(diff: FileDiff, directory: str) -> bool:
    file = diff.file
    if relative_path(file.path, directory) is None or file.contents is not FileContents.TEXT:
        return False
    if file.state is FileState.RENAMED:
        if relative_path(file.renamed_from, directory) is None:
            return False
        return not file.changes or file.net is not None
    return file.net is not None


def _file_patch(diff: FileDiff, directory: str, hunks: Sequence[FileHunk]) -> Iterator[str]:
    file = diff.file
    path = relative_path(file.path, directory) or file.path.lstrip("/")
    source = relative_path(file.renamed_from, directory) if file.renamed_from else None
    before = source or path
    net = file.net
    yield f"diff --git {_quoted(f'a/{before}')} {_quoted(f'b/{path}')}\n"
    if net is not None and net.old is None:
        yield "new file mode 100644\n"
    elif net is not None and net.new is None:
        yield "deleted file mode 100644\n"
    elif source is not None:
        yield f"rename from {_quoted(source)}\nrename to {_quoted(path)}\n"
    if not hunks:
        return
    yield f"--- {'/dev/null' if net is not None and net.old is None else _name(f'a/{before}')}\n"
    yield f"+++ {'/dev/null' if net is not None and net.new is None else _name(f'b/{path}')}\n"
    for hunk in hunks:
        yield from _lines(hunk)


def _lines(hunk: FileHunk) -> Iterator[str]:
    yield f"{hunk.head}\n"
    for line in hunk.hunk.lines:
        yield line.sign + line.text
        if not line.text.endswith("\n"):
            yield "\n\\ No newline at end of file\n"


def _name(path: str) -> str:
    """The name of a file above its hunks; a tab ends one that has blanks."""
    quoted = _quoted(path)
    return f"{quoted}\t" if " " in path and quoted == path else quoted


def _quoted(path: str) -> str:
    """A path as git writes it: in quotes where it has characters that would not stand in a line."""
    if not any(character in _QUOTED or not character.isprintable() for character in path):
        return path
    return '"' + "".join(_QUOTED.get(each) or _escaped(each) for each in path) + '"'


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))

"""Hunks of a changed file, with the marks by which one is known again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from catena_acp.changes.changed_file import By, ChangedFile, TextChange, UnreadFile
from catena_acp.diff import Hunk, diff_of_lines


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

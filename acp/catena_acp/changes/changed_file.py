"""One changed file, whatever told of it: an agent's reports, or two snapshots of the directory. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from catena_store.database.database import Reader

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
        self, reader: Reader, span: ChangeSpan, directories: Sequence[str]
    ) -> Sequence[UnreadFile]:
        """The files that were changed in a part of a branch, by their paths.

        ``directories`` of the conversation, its own first: no file outside of them is read. Raises StoreError.
        """
        ...

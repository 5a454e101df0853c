"""Every error that the store raises.

StoreError
├── StoreUnusable            the file cannot be opened
│   ├── StoreDamaged         the file is no longer sound
│   ├── StoreUnlockable      its file system refuses locks
│   └── StoreGone            the file was deleted or replaced while it was open
├── StoreFull                the disk is full
├── StoreReadOnly            the file may not be written
├── StoreBusy                another process held the file for longer than we wait
├── SessionHeld              another link has that session already
├── Fenced                   the lease is no longer ours
├── NotFound                 no row has that id
├── Ambiguous                several ids begin with that prefix
├── CheckpointImmutable      only the label of a checkpoint may change
├── LabelTaken               another checkpoint has that label
├── NotAPointer              a checkpoint was to hold content
├── NotAttachable            a file cannot be attached
├── NotImportable            a file cannot be imported
├── SnapshotFailed           the files of a directory cannot be kept or read
├── SearchStopped            a search of snapshots was given up before its end
└── ForeignUnreadable        another program's database cannot be read
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MOST_MATCHES = 10  # that an ambiguous prefix names


class StoreError(Exception):
    """An error of the store; its words are meant for a person."""


class StoreUnusable(StoreError):
    """The file cannot be used: unreadable, another program's, written by a newer Catena, or damaged."""

    def __init__(self, path: Path, why: str, *, may_be_damaged: bool = False) -> None:
        super().__init__(f"{path} {why}")
        self.path = path
        self.why = why
        self.may_be_damaged = may_be_damaged


class StoreDamaged(StoreUnusable):
    """The file is no longer sound: torn, written over, cut off."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(
            path, f"is damaged ({how}): recover it with `catena doctor salvage`", may_be_damaged=True
        )


class StoreUnlockable(StoreUnusable):
    """The file system refuses locks, so that two processes could write over each other."""

    def __init__(self, path: Path, why: str) -> None:
        where = "set CATENA_DATA_DIR to a directory on a local disk"
        super().__init__(path, f"cannot be used: its file system refuses locks ({why}); {where}")


class StoreGone(StoreUnusable):
    """The file was deleted, moved or replaced while it was open: what would be written, nobody would find."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "was deleted or replaced: nothing can be saved until you restart Catena")


class StoreFull(StoreError):
    """The disk is full; the transaction left nothing behind."""

    def __init__(self, path: Path, why: str = "the disk is full") -> None:
        super().__init__(f"{path} cannot grow: {why}")
        self.path = path


class StoreReadOnly(StoreError):
    """The file may not be written; the transaction left nothing behind."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} cannot be written: the file or its directory is read-only")
        self.path = path


class StoreBusy(StoreError):
    """Another process held the file for longer than we wait; the transaction left nothing behind.

    ``pid`` is that process, where it is known, and ``stopped`` says that a signal such as Ctrl+Z's stopped it.
    """

    def __init__(self, path: Path, pid: int | None = None, *, stopped: bool = False) -> None:
        who = "another process" if pid is None else f"process {pid}"
        way_out = f", which is stopped: `kill -CONT {pid}` resumes it" if stopped else ""
        super().__init__(f"{path} is locked by {who}{way_out}")
        self.path = path
        self.pid = pid
        self.stopped = stopped


UNWRITABLE = (StoreUnusable, StoreFull, StoreReadOnly, StoreBusy)  # nothing can be saved, whatever it is


class SessionHeld(StoreError):
    """Another link that is not lost has the same agent, profile and session id."""

    def __init__(self, link_id: str | None) -> None:
        super().__init__(f"the session is used by link {link_id}")
        self.link_id = link_id


class Fenced(StoreError):
    """The lease changed hands, so the transaction is not written."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"conversation {conversation_id} is open in another client")
        self.conversation_id = conversation_id


class NotFound(StoreError):
    """No row has that id."""

    def __init__(self, what: str, id: str) -> None:
        super().__init__(f"no {what} {id!r}")
        self.what = what
        self.id = id


class Ambiguous(StoreError):
    """Several ids begin with the prefix; of more than ``MOST_MATCHES`` the first are named."""

    def __init__(self, what: str, prefix: str, matches: Sequence[str]) -> None:
        named = tuple(matches[:MOST_MATCHES])
        count = f"more than {MOST_MATCHES}" if len(matches) > MOST_MATCHES else len(matches)
        super().__init__(f"{count} {what}s start with {prefix!r}: {', '.join(named)}")
        self.what = what
        self.prefix = prefix
        self.matches = named


class CheckpointImmutable(StoreError):
    """Something else than the label of a checkpoint was to change."""

    def __init__(self, id: str) -> None:
        super().__init__(f"checkpoint {id} cannot be changed, only renamed or removed")


class LabelTaken(StoreError):
    """Another checkpoint of the conversation has the label."""

    def __init__(self, label: str) -> None:
        super().__init__(f"another checkpoint in this conversation is already named “{label}”")
        self.label = label


class NotAPointer(StoreError):
    """A checkpoint was to hold content."""

    def __init__(self, name: str) -> None:
        super().__init__(f"a checkpoint holds pointers and short facts, and “{name}” is more than that")


class NotAttachable(StoreError):
    """A file cannot be attached; the words say why."""


class ForeignUnreadable(StoreError):
    """A database of another program cannot be read."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be read: {why}")
        self.path = path


class NotImportable(StoreError):
    """A file cannot be imported; the words say why, and nothing was stored."""


class SnapshotFailed(StoreError):
    """The files of a directory cannot be kept, or what was kept of them cannot be read."""

    def __init__(self, root: Path, why: str) -> None:
        super().__init__(f"files of {root}: {why}")
        self.root = root
        self.why = why


class SearchStopped(StoreError):
    """A search of snapshots that was given up: it took too long, or is wanted no more."""

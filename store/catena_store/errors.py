"""Everything that can go wrong with the store.

StoreError
├── StoreUnusable     the file cannot be opened
│   └── StoreDamaged  it is no longer sound
├── StoreFull         the disk is full
├── StoreReadOnly     the file may not be written
├── StoreBusy         another process held the file for longer than we wait
├── SessionHeld       another link has that session already
├── Fenced            the lease is no longer ours
├── NotFound
└── Ambiguous
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class StoreError(Exception):
    """Something in the store went wrong; the words say what, for a person."""


class StoreUnusable(StoreError):
    """The file cannot be used: unreadable, another program's, written by a newer Catena, damaged."""

    def __init__(self, path: Path, why: str, *, may_be_damaged: bool = False) -> None:
        super().__init__(f"{path} {why}")
        self.path = path
        self.why = why
        self.may_be_damaged = may_be_damaged


class StoreDamaged(StoreUnusable):
    """The file is no longer sound: torn, written over, cut off."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(
            path, f"is damaged ({how}): `catena doctor --salvage` saves what can be read", may_be_damaged=True
        )


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
    """Another process held the file for longer than we wait; the transaction left nothing behind."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is locked by another process")
        self.path = path


class SessionHeld(StoreError):
    """Another link that is not lost has the same agent, profile and session id."""

    def __init__(self, link_id: str | None) -> None:
        super().__init__(f"the session is held by link {link_id}")
        self.link_id = link_id


class Fenced(StoreError):
    """The lease changed hands, so what was to be written is not."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"another client holds conversation {conversation_id}")
        self.conversation_id = conversation_id


class NotFound(StoreError):
    """There is no such thing."""

    def __init__(self, what: str, id: str) -> None:
        super().__init__(f"there is no {what} {id!r}")
        self.what = what
        self.id = id


class Ambiguous(StoreError):
    """Several things begin like this."""

    def __init__(self, what: str, prefix: str, matches: Sequence[str]) -> None:
        super().__init__(f"{len(matches)} {what}s begin with {prefix!r}: {', '.join(matches)}")
        self.what = what
        self.prefix = prefix
        self.matches = tuple(matches)

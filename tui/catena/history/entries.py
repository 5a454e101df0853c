"""Entries of the history, one for each conversation, and scopes: this directory, its repository, all, other tools."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import NamedTuple

from catena.text.names import conversation_name

OURS = "catena"  # the source of our own conversations


class EntryState(StrEnum):
    """What a conversation does, or how its newest turn ended; NONE for an answer that was read."""

    ASKS = "asks"
    FAILED = "failed"
    UNREAD = "unread"
    WORKING = "working"
    NONE = ""


class HistoryEntry(NamedTuple):
    """One row of the history. Texts are as people and agents wrote them: hostile."""

    key: str  # the id of a conversation of ours; of a foreign one `source:session`
    title: str | None  # None where nobody gave one; ``name`` has a text in any case
    first_prompt: str  # their beginnings
    last_prompt: str
    agent: str  # as links are stamped with
    cwd: str
    created_at: datetime
    updated_at: datetime  # of its newest prompt: opening or reading it changes nothing
    source: str = OURS
    profile: str = ""
    messages: int = 0  # of the person and of agents
    branches: int = 1
    todos: int = 0  # open ones of its newest plan
    size: int | None = None  # bytes, None where they were not counted
    state: EntryState = EntryState.NONE
    waits: bool = False  # for the person: it asks, or its failure or its answer was not seen yet
    pinned: bool = False
    archived: bool = False
    opened: bool = False  # it has a tab here
    git_branch: str | None = None  # that its newest turn ran on
    opened_at: datetime | None = None  # when a person last came to it or left it
    session: str | None = None  # of a foreign one: the id that its tool gave it
    outlined: bool = False  # only its own row was read: no counts, no state, no git branch

    @property
    def name(self) -> str:
        """Its title, or what stands for one."""
        return conversation_name(self.title, self.first_prompt)

    @property
    def foreign(self) -> bool:
        """True of a session of another tool, which is no conversation here yet."""
        return self.source != OURS


_MOST_BYTES = 4_096  # of the small files that lead from a work tree to its repository
_HERE, _ALL_SOURCES = "here", "all-sources"
_SECONDS = 1.0  # for a directory; one on a network that hangs is in no repository


class HistoryScope(IntEnum):
    """Which entries are looked through; each contains the ones before."""

    HERE = 0
    REPOSITORY = 1
    EVERYWHERE = 2
    ALL_SOURCES = 3

    @property
    def wider(self) -> HistoryScope:
        """The next one; the narrowest after the widest."""
        return HistoryScope((self + 1) % len(HistoryScope))


@dataclass(frozen=True, slots=True)
class TypedHistory:
    """The argument of the history command: `here` and `all-sources` set the scope of the search for the words."""

    here: bool
    all_sources: bool
    words: str

    @classmethod
    def parse(cls, text: str) -> TypedHistory:
        """Read them before the words that are looked for, which may contain the same ones."""
        words = text.split()
        scopes = list(itertools.takewhile((_HERE, _ALL_SOURCES).__contains__, words))
        return cls(_HERE in scopes, _ALL_SOURCES in scopes, " ".join(words[len(scopes) :]))

    @property
    def scope(self) -> HistoryScope:
        """The scope; `here` with `all-sources` keeps to this directory within the widest one."""
        narrow = HistoryScope.HERE if self.here else HistoryScope.EVERYWHERE
        return HistoryScope.ALL_SOURCES if self.all_sources else narrow


def repository_of(directory: str) -> str | None:
    """The common git directory of the work tree that a directory is in, None where it is in none. Blocks."""
    try:
        place = Path(directory)
        for folder in (place, *place.parents):
            dot_git = folder / ".git"
            if (dot_git / "HEAD").is_file():
                return str(dot_git.resolve())
            if dot_git.is_file():
                return _common(folder, dot_git)
    except (OSError, RuntimeError, ValueError):
        pass
    return None


def _common(folder: Path, dot_git: Path) -> str | None:
    named = _text(dot_git).removeprefix("gitdir:").strip()
    if not named:
        return None
    git = (folder / named).resolve()
    common = git / "commondir"
    return str((git / _text(common).strip()).resolve() if common.is_file() else git)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")


class Repositories:
    """The repositories of directories, each looked up once, in a thread."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def of(self, directory: str) -> str | None:
        """The repository of a directory; None where it is in none or was not learnt yet."""
        return self._known.get(directory)

    async def learn(self, directories: Iterable[str]) -> bool:
        """Look up those that are not known; True if any of them is in a repository."""
        unknown = [each for each in dict.fromkeys(directories) if each not in self._known]
        if not unknown:
            return False
        for directory in unknown:
            self._known[directory] = None
        try:
            async with asyncio.timeout(_SECONDS + len(unknown) / 1_000):
                found = await asyncio.to_thread(lambda: [repository_of(each) for each in unknown])
        except TimeoutError:
            return False
        self._known.update(zip(unknown, found, strict=True))
        return any(found)

"""Entries of the history: one for each conversation, whichever tool it was held with."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
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

"""Numbers of a branch: prompts, answers and tool calls share one row of them, from 1 at the beginning of the branch."""

from __future__ import annotations

from collections.abc import Iterable

from catena_store.records import Kind, Message

NUMBERED = frozenset({Kind.USER, Kind.AGENT, Kind.TOOL})


class BranchNumbers:
    """The numbers of one branch; a message has the same one at every start."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        """``ids`` are the numbered messages of the branch, oldest first."""
        self._ids = list(ids)
        self._numbers = {id: number for number, id in enumerate(self._ids, start=1)}

    @property
    def next(self) -> int:
        """The number of the next message."""
        return len(self._ids) + 1

    @property
    def last(self) -> int:
        """The number of the newest message; 0 for an empty branch."""
        return len(self._ids)

    def add(self, message: Message) -> int | None:
        """The number of a message, which gets the next one if it has none; None for a kind without numbers."""
        if message.kind not in NUMBERED:
            return None
        if message.id not in self._numbers:
            self._ids.append(message.id)
            self._numbers[message.id] = len(self._ids)
        return self._numbers[message.id]

    def of(self, message_id: str | None) -> int | None:
        """The number of a message of the branch."""
        return self._numbers.get(message_id or "")

    def id_of(self, number: int) -> str | None:
        """The message with this number."""
        return self._ids[number - 1] if 1 <= number <= len(self._ids) else None

    def from_number(self, number: int) -> list[str]:
        """The messages from a number on."""
        return self._ids[max(0, number - 1) :]

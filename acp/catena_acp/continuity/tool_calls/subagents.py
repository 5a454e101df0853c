"""Rows of subagents below the calls that started them, for what is written one after the other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from catena_store.records import Kind, Message

_DEEPEST = 8  # subagents of subagents; those of deeper ones count as theirs


@dataclass(slots=True)
class NestedRow:
    """A row, and of a call that started a subagent what that said and did, oldest first."""

    message: Message
    depth: int = 0  # subagents that it is inside of
    inner: list[NestedRow] = field(default_factory=list)

    def __iter__(self) -> Iterator[NestedRow]:
        """This row, and all that is below it."""
        yield self
        for row in self.inner:
            yield from row

    @property
    def calls(self) -> int:
        """How many calls are below this row."""
        return sum(row.message.kind is Kind.TOOL for each in self.inner for row in each)


def nested(messages: Iterable[Message]) -> list[NestedRow]:
    """The rows with those of subagents below their calls; one whose call is not among them stands for itself."""
    calls: dict[str, NestedRow] = {}
    top: list[NestedRow] = []
    for message in messages:
        row = NestedRow(message)
        started_by = calls.get(message.subagent_of)
        if started_by is None:
            top.append(row)
        else:
            row.depth = started_by.depth + 1
            started_by.inner.append(row)
        if message.kind is Kind.TOOL and message.agent_message_id and row.depth < _DEEPEST:
            calls[message.agent_message_id] = row
    return top


def is_words(message: Message) -> bool:
    """True for what a subagent said, not for what it thought."""
    return message.kind is Kind.THOUGHT and bool(message.data.get("words"))

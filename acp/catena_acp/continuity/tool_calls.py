"""Tool calls as a prior context tells of them, and subagents below the calls that started them. Pure.

Arguments and results are masked before they are cut, so that no half of a secret is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from catena_acp.context_markers import harmless
from catena_acp.spoken.blocks import Block, Diff, OutputBlock, Reference, TerminalBlock
from catena_acp.spoken.call import Call
from catena_store.records import Kind, Message

ARGUMENTS = 600  # characters
RESULT = 400  # characters
RESULT_LINES = 5

_LONGEST_LINE = 200  # characters of a call's own line
_LONGEST_VALUE = 300  # characters of one argument, so that a file's text leaves room for the others
_READ = 1_500  # characters of a text that are looked at, and masked
_MOST_ITEMS = 50
_DEEPEST_VALUE = 6
_MOST_PLACES = 20
_JSON = json.JSONEncoder(ensure_ascii=False)


class Mask(Protocol):
    """A mask for the secrets in the values of one prior context."""

    @property
    def masked(self) -> Sequence[object]:
        """The secrets that were masked, each once."""
        ...

    def rewrite_all(self, value: Any, name: str = "") -> Any:
        """A JSON value with masks in all of its texts."""
        ...


class NoMask:
    """A mask that masks nothing."""

    masked: Sequence[object] = ()

    def rewrite_all(self, value: Any, name: str = "") -> Any:
        return value


def told_call(record: Call, mask: Mask | None = None) -> list[str]:
    """The lines that tell of a call: its own and, of one that acts, its arguments and the first lines of its result."""
    acts = record.acts
    blocks = record.blocks if acts else ()
    found = _found(record, blocks).strip() if acts else ""
    told: dict[str, Any] = {  # together, so that secrets are looked for once
        "title": record.head[:_READ],
        "places": [place.path for place in record.places if place.path][:_MOST_PLACES],
        "arguments": _bounded(record.raw_input or _edits(blocks)) if acts else None,
        "result": found[:_READ],
    }
    if mask is not None:
        told = mask.rewrite_all(told)
    lines = [_own_line(record, told["title"], told["places"])]
    if told["arguments"]:
        lines.append(f"  arguments: {_arguments(told['arguments'])}")
    if found:
        lines += [
            "  result:",
            *(f"  > {line}".rstrip() for line in _result(told["result"], found.count("\n") + 1)),
        ]
    return lines


def one_line(text: str, longest: int = _LONGEST_LINE) -> str:
    """A text as one short line that cannot be taken for our markers."""
    return cut(" ".join(harmless(text).split()), longest)


def cut(text: str, longest: int) -> str:
    """A text of at most so many characters; one that was cut ends with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _own_line(record: Call, title: str, places: Sequence[str]) -> str:
    title = one_line(title)
    elsewhere = [place for place in places if place not in title][:3]
    where = f" ({one_line(', '.join(elsewhere))})" if elsewhere else ""
    return f"{title}{where}: {outcome(record)}"


def outcome(record: Call) -> str:
    """How a call ended, in words for an agent; that of a call in flight when its session was lost is unknown."""
    match record.status:
        case "completed":
            return "done"
        case "failed":
            return "failed"
        case "cancelled":
            return "cancelled; part of it may have been done"
        case "rejected":
            return "not done: the person rejected it"
        case _:
            return "outcome unknown; it may have been done, look before doing it again"


def _arguments(given: Any) -> str:
    return one_line(given if isinstance(given, str) else _JSON.encode(_shortened(given)), ARGUMENTS)


def _edits(blocks: Sequence[Block]) -> list[dict[str, str]]:
    """What a call that reports no arguments changes in files."""
    diffs = (block for block in blocks if isinstance(block, Diff))
    return [{"path": diff.path, "old": diff.old or "", "new": diff.new or ""} for diff in diffs]


def _result(text: str, lines: int) -> list[str]:
    """The first lines of what a call brought, and how much more there was."""
    told = cut("\n".join(harmless(text).splitlines()[:RESULT_LINES]), RESULT).splitlines()
    more = lines - len(told)
    return [*told, f"[… {more:,} more {'line' if more == 1 else 'lines'}]"] if more > 0 else told


def _found(record: Call, blocks: Sequence[Block]) -> str:
    ends = [_end(block) for block in blocks if isinstance(block, TerminalBlock)]
    said = [
        block.text if isinstance(block, OutputBlock) else block.description
        for block in blocks
        if isinstance(block, OutputBlock | Reference)
    ]
    text = "\n".join(each for each in (*ends, *said) if each.strip())
    if text:
        return text
    match record.raw_output:
        case None:
            return ""
        case str(output) | {"output": str(output)} | {"error": str(output)}:
            return output
        case output:
            return _JSON.encode(_bounded(output))


def _end(terminal: TerminalBlock) -> str:
    if terminal.signal:
        return f"(killed by {terminal.signal})"
    return f"(exit status {terminal.exit_code})" if terminal.exit_code else ""


def _bounded(value: Any, depth: int = 0) -> Any:
    """A JSON value without what is too long, too many or too deep to be looked at."""
    match value:
        case str():
            return value[:_READ]
        case Mapping() if depth < _DEEPEST_VALUE:
            return {str(key)[:100]: _bounded(each, depth + 1) for key, each in _first(value.items())}
        case list() | tuple() if depth < _DEEPEST_VALUE:
            return [_bounded(each, depth + 1) for each in _first(value)]
        case Mapping() | list() | tuple():
            return "…"
        case _:
            return value


def _shortened(value: Any) -> Any:
    match value:
        case str():
            return cut(value, _LONGEST_VALUE)
        case dict():
            return {key: _shortened(each) for key, each in value.items()}
        case list():
            return [_shortened(each) for each in value]
        case _:
            return value


def _first(items: Any) -> list[Any]:
    return list(items)[:_MOST_ITEMS]


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

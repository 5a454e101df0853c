"""A tool call as a prior context tells of it: what it was and how it ended, and what one that acts was given and found.

Pure. Arguments and results are masked before they are cut, so that no half of a secret is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from catena_acp.context_markers import harmless
from catena_acp.continuity.tool_calls.tool_record import ToolPart, ToolRecord

ARGUMENTS = 600  # characters
RESULT = 400  # characters
RESULT_LINES = 5

_LONGEST_LINE = 200  # characters of a call's own line
_LONGEST_VALUE = 300  # characters of one argument, so that a file's text leaves room for the others
_READ = 1_500  # characters of a text that are looked at, and masked
_MOST_ITEMS = 50
_DEEPEST = 6


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


def told_call(record: ToolRecord, mask: Mask | None = None) -> list[str]:
    """The lines that tell of a call: its own and, of one that acts, its arguments and the first lines of its result."""
    mask = mask or NoMask()
    lines = [_own_line(record, mask)]
    if record.acts:
        if arguments := _arguments(record, mask):
            lines.append(f"  arguments: {arguments}")
        if result := _result(record, mask):
            lines += ["  result:", *(f"  > {line}".rstrip() for line in result)]
    return lines


def one_line(text: str, longest: int = _LONGEST_LINE) -> str:
    """A text as one short line that cannot be taken for our markers."""
    return cut(" ".join(harmless(text).split()), longest)


def cut(text: str, longest: int) -> str:
    """A text of at most so many characters; one that was cut ends with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _own_line(record: ToolRecord, mask: Mask) -> str:
    title = one_line(str(mask.rewrite_all(record.label[:_READ])))
    places = [place.path for place in record.places if place.path and place.path not in title]
    where = f" ({one_line(str(mask.rewrite_all(', '.join(places[:3]))))})" if places else ""
    return f"{title}{where}: {outcome(record)}"


def outcome(record: ToolRecord) -> str:
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


def _arguments(record: ToolRecord, mask: Mask) -> str:
    given = record.raw_input or _edits(record.parts)
    if not given:
        return ""
    masked = mask.rewrite_all(_bounded(given))
    text = masked if isinstance(masked, str) else json.dumps(_shortened(masked), ensure_ascii=False)
    return one_line(text, ARGUMENTS)


def _edits(parts: Sequence[ToolPart]) -> list[dict[str, str]]:
    """What a call that reports no arguments changes in files."""
    return [
        {"path": part.path, "old": part.old or "", "new": part.new or ""}
        for part in parts
        if part.type == "diff"
    ]


def _result(record: ToolRecord, mask: Mask) -> list[str]:
    """The first lines of what a call brought, and how much more there was."""
    text = _found(record).strip()
    if not text:
        return []
    masked = harmless(str(mask.rewrite_all(text[:_READ])))
    lines = masked.splitlines()
    told = cut("\n".join(lines[:RESULT_LINES]), RESULT).splitlines()
    more = text.count("\n") + 1 - len(told)
    return [*told, f"[… {more:,} more {'line' if more == 1 else 'lines'}]"] if more > 0 else told


def _found(record: ToolRecord) -> str:
    parts = record.parts
    said = [part.text or part.description for part in parts if part.type != "diff"]
    ends = [_end(part) for part in parts if part.type == "terminal"]
    text = "\n".join(each for each in (*ends, *said) if each.strip())
    if text:
        return text
    match record.raw_output:
        case None:
            return ""
        case str(output) | {"output": str(output)} | {"error": str(output)}:
            return output
        case output:
            return json.dumps(_bounded(output), ensure_ascii=False)


def _end(part: ToolPart) -> str:
    if part.signal:
        return f"(killed by {part.signal})"
    return f"(exit status {part.exit_code})" if part.exit_code else ""


def _bounded(value: Any, depth: int = 0) -> Any:
    """A JSON value without what is too long, too many or too deep to be looked at."""
    match value:
        case str():
            return value[:_READ]
        case Mapping() if depth < _DEEPEST:
            return {str(key)[:100]: _bounded(each, depth + 1) for key, each in _first(value.items())}
        case list() | tuple() if depth < _DEEPEST:
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

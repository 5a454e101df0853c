"""A tool call of the protocol to and from its message's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from catena_acp.continuity.tool_record import ToolPart, ToolRecord
from catena_acp.session_events import (
    Location,
    ToolCallChanged,
    ToolContent,
    ToolDiff,
    ToolOther,
    ToolTerminal,
    ToolText,
)

_OVER = frozenset({"completed", "failed", "cancelled", "unknown"})


def is_over(data: Mapping[str, Any]) -> bool:
    """True if the call's status is final."""
    return data.get("status") in _OVER


def changed_tool(data: Mapping[str, Any], call: ToolCallChanged, now: str) -> dict[str, Any]:
    """The data with a change laid over it; what the change leaves out stays. ``now`` is an ISO time."""
    new = dict(data)
    new.setdefault("started_at", now)
    new.setdefault("status", "pending")
    for name in ("title", "kind", "status", "name", "raw_input", "raw_output"):
        value = getattr(call, name)
        if value is not None:
            new[name] = value
    if call.locations is not None:
        new["locations"] = [{"path": place.path, "line": place.line} for place in call.locations]
    if call.content is not None:
        new["content"] = [_content_data(content) for content in call.content]
    if is_over(new):
        new.setdefault("ended_at", now)
    return new


def call_of(tool_call_id: str, record: ToolRecord) -> ToolCallChanged:
    """The protocol's tool call of a stored one."""
    return ToolCallChanged(
        tool_call_id=tool_call_id,
        title=record.title or None,
        kind=record.kind or None,
        status=record.status or None,
        name=record.name or None,
        locations=tuple(Location(place.path, place.line) for place in record.places),
        content=tuple(_content_of(part) for part in record.parts),
        raw_input=record.raw_input,
        raw_output=record.raw_output,
    )


def _content_data(content: ToolContent) -> dict[str, Any]:
    match content:
        case ToolText(text):
            return {"type": "text", "text": text}
        case ToolDiff(path, old, new):
            return {"type": "diff", "path": path, "old": old, "new": new}
        case ToolTerminal(terminal_id):
            return {"type": "terminal", "id": terminal_id}
        case ToolOther(kind, description):
            return {"type": "other", "kind": kind, "description": description}
        case _:
            assert_never(content)


def _content_of(part: ToolPart) -> ToolContent:
    match part:
        case ToolPart("text", text=text):
            return ToolText(text)
        case ToolPart("diff", path=path, old=old, new=str(new)):
            return ToolDiff(path, old, new)
        case ToolPart("terminal", terminal_id=terminal_id):
            return ToolTerminal(terminal_id)
        case _:
            return ToolOther(part.kind, part.description)

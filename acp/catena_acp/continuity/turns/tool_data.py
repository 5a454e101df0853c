"""A tool call of the protocol to and from its message's data."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from typing import Any, assert_never

from catena_acp.permissions.own_requests import MAX_SHOWN
from catena_acp.port.images import note_of_image
from catena_acp.port.session_events import (
    Location,
    TerminalChanged,
    ToolCallChanged,
    ToolContent,
    ToolDiff,
    ToolOther,
    ToolTerminal,
    ToolText,
)
from catena_acp.spoken.blocks import Block, Diff, OutputBlock, Reference, TerminalBlock
from catena_acp.spoken.call import Call

REJECTED = "rejected"  # by the person or a rule of theirs; the protocol has no word for it
_MOST_DONE = 50  # entries of what Catena did for one call
_FIELDS = ("title", "kind", "status", "name", "raw_input", "raw_output", "subagent_of", "background", "doubt")


def changed_tool(data: Mapping[str, Any], call: ToolCallChanged, now: str) -> dict[str, Any]:
    """The data with a change laid over it; what the change leaves out stays. ``now`` is an ISO time."""
    new = dict(data)
    new.setdefault("started_at", now)
    new.setdefault("status", "pending")
    for name in _FIELDS:
        value = getattr(call, name)
        if value is not None:
            new[name] = value
    if data.get("status") == REJECTED:  # some agents call it failed or completed, others leave it as it was
        if new["status"] == "completed":
            new["done_anyway"] = True
        new["status"] = REJECTED
    if call.locations is not None:
        new["locations"] = [{"path": place.path, "line": place.line} for place in call.locations]
    if call.content is not None:
        content = [_content_data(content) for content in call.content]
        kept = [] if call.by_client else [*_written(data), *_kept_diffs(data, content, new["status"])]
        new["content"] = kept + content
        new.pop("told_diffs", None)
    if Call(new).over:
        new.setdefault("ended_at", now)
    return new


def _kept_diffs(data: Mapping[str, Any], content: list[dict[str, Any]], status: str) -> list[dict[str, Any]]:
    """The diffs that what comes in their place has no word of: some agents end an edit with "written" alone."""
    if status == "failed" or any(entry["type"] == "diff" for entry in content):
        return []
    told = (entry for entry in _content(data) if entry.get("type") == "diff" and not entry.get("by_client"))
    return [*told, *data.get("told_diffs", ())]


def _written(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What Catena wrote for the call: whatever the agent tells later, that was done."""
    return [entry for entry in _content(data) if entry.get("by_client")]


def _content(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = data.get("content")
    return content if isinstance(content, list) else []


def answered_tool(data: Mapping[str, Any], now: str, *, allowed: bool) -> dict[str, Any]:
    """The data of a call whose permission request was answered at ``now``: it starts there, or is over."""
    status = data.get("status")
    if not allowed:
        done = {"done_anyway": True} if status == "completed" else {}
        return {**data, **done, "status": REJECTED, "ended_at": now}
    if status == REJECTED:  # one of several requests of the call was
        gone = ("ended_at", "done_anyway")
        data = {name: value for name, value in data.items() if name not in gone} | {"status": "pending"}
    return dict(data) if Call(data).over else {**data, "started_at": now}


def with_done(
    data: Mapping[str, Any], done: ToolCallChanged, *, asked: bool, other: str = "", own: bool = False
) -> dict[str, Any]:
    """The data with what Catena did for the call; ``other`` is that in words if the call tells of something else.

    ``own``: the row is Catena's, and no call of the agent's tells of it.
    """
    entry = {"did": "ran" if done.kind == "execute" else "wrote", "asked": asked, "other": other, "own": own}
    before = data.get("done_by_client")
    entries = before if isinstance(before, list) else []
    if entry in entries or len(entries) >= _MOST_DONE:
        return dict(data)
    return {**data, "done_by_client": [*entries, entry]}


def with_written(data: Mapping[str, Any], done: ToolCallChanged) -> dict[str, Any] | None:
    """The data with the change of a file that Catena wrote for the call; None if that is too much for one call.

    A file that is written again has one change, from before the first.
    """
    if done.kind != "edit":
        return dict(data)
    before, written = _content(data), _written(data)
    for part in done.content or ():
        entry = {**_content_data(part), "by_client": True}
        if entry["type"] == "diff":
            first = next((each for each in written if _goes_on(each, entry)), entry)
            written = [each for each in written if each is not first]
            entry["old"] = first["old"]
        if entry not in written:
            written.append(entry)
    size = sum(len(each.get(name) or "") for each in written for name in ("old", "new"))
    if len(written) > _MOST_DONE or size > MAX_SHOWN:
        return None
    return {**data, "content": [*written, *(each for each in before if not each.get("by_client"))]}


def has_written(data: Mapping[str, Any], done: ToolCallChanged) -> bool:
    """True if Catena wrote a file for the call that it writes again."""
    paths = {each.get("path") for each in _written(data)}
    return any(isinstance(part, ToolDiff) and part.path in paths for part in done.content or ())


def _goes_on(written: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """True if a file was written again, and nobody else had changed it in between."""
    return (written.get("path"), written.get("new")) == (entry["path"], entry["old"])


def without_told_again(data: dict[str, Any], directory: str) -> dict[str, Any]:
    """The data with the agent's own diffs of files that Catena wrote for the call set aside: one change counts once.

    They stay known, since they are what a permission request of the call is about.
    """
    written = {place for each in _written(data) if (place := _changed_place(each, directory))}
    again = [
        each
        for each in _content(data)
        if not each.get("by_client") and _changed_place(each, directory) in written
    ]
    if not again:
        return data
    content = [each for each in _content(data) if each not in again]
    return {**data, "content": content, "told_diffs": [*data.get("told_diffs", ()), *again]}


def _changed_place(entry: Mapping[str, Any], directory: str) -> str:
    """The absolute path of a diff; "" for anything else."""
    if entry.get("type") != "diff" or not isinstance(path := entry.get("path"), str):
        return ""
    return os.path.normpath(os.path.join(directory, path))  # noqa: PTH118 - a text of the agent, never opened


def with_outputs(data: Mapping[str, Any], shown: Mapping[str, TerminalChanged]) -> dict[str, Any]:
    """The data with what its terminals show; those that are not in ``shown`` stay as they are."""
    content = data.get("content")
    if not shown or not isinstance(content, list):
        return dict(data)
    return {**data, "content": [_with_output(entry, shown) for entry in content]}


def terminals_of(data: Mapping[str, Any]) -> frozenset[str]:
    """The ids of the terminals whose output belongs to the call."""
    return frozenset(terminal.id for terminal in Call(data).terminals)


def _with_output(entry: dict[str, Any], shown: Mapping[str, TerminalChanged]) -> dict[str, Any]:
    terminal = shown.get(entry["id"]) if entry.get("type") == "terminal" else None
    if terminal is None:
        return entry
    return {
        "type": "terminal",
        "id": terminal.terminal_id,
        "output": terminal.output,
        "hidden_lines": terminal.hidden_lines,
        "exit_code": terminal.exit_code,
        "signal": terminal.signal,
    }


def call_of(tool_call_id: str, record: Call) -> ToolCallChanged:
    """The protocol's tool call of a stored one, as the agent told it."""
    return ToolCallChanged(
        tool_call_id=tool_call_id,
        title=record.title or None,
        kind=record.kind or None,
        status=record.status or None,
        name=record.name or None,
        locations=tuple(Location(place.path, place.line) for place in record.places),
        content=tuple(map(_content_of, record.told)),
        raw_input=record.raw_input,
        raw_output=record.raw_output,
        subagent_of=record.subagent_of or None,
        doubt=record.doubt or None,
        background=record.background or None,
    )


def _content_data(content: ToolContent) -> dict[str, Any]:
    match content:
        case ToolText(text):
            return {"type": "text", "text": text}
        case ToolDiff(path, old, new):
            return {"type": "diff", "path": path, "old": old, "new": new}
        case ToolTerminal(terminal_id):
            return {"type": "terminal", "id": terminal_id}
        case ToolOther(kind, description, image):
            data: dict[str, Any] = {"type": "other", "kind": kind, "description": description}
            return data if image is None else data | {"image": note_of_image(image).to_data()}
        case _:
            assert_never(content)


def _content_of(block: Block) -> ToolContent:
    match block:
        case TerminalBlock(id=terminal_id):
            return ToolTerminal(terminal_id)
        case OutputBlock(text):
            return ToolText(text)
        case Diff(path, old, str(new)):
            return ToolDiff(path, old, new)
        case Reference(kind, description):
            return ToolOther(kind, description)
        case _:
            return ToolOther("", "")

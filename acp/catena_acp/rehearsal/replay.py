"""Telling a client the history of a session, as ``session/load`` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catena_acp.rehearsal.transcripts import Entry, Exchange, Transcript
from catena_acp.rehearsal.wire import Wire, encode


def replay(transcript: Transcript, wire: Wire, *, message_ids: bool, last: int = 0) -> None:
    """Tell everything, in order, in one go; only the ``last`` turns, where there is such a number."""
    lines: list[bytes] = []
    for exchange in transcript.exchanges[-last:]:
        for update in _updates(exchange):
            if not message_ids:
                update.pop("messageId", None)
            params = {"sessionId": transcript.id, "update": update}
            lines.append(encode({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    wire.write(b"".join(lines))


def _updates(exchange: Exchange) -> Iterator[dict[str, Any]]:
    for block in exchange.prompt:
        yield {"sessionUpdate": "user_message_chunk", "content": block, "messageId": exchange.prompt_id}
    for entry in exchange.entries:
        yield from _updates_of(entry)


def _updates_of(entry: Entry) -> Iterator[dict[str, Any]]:
    match entry:
        case {"kind": "agent", "id": id, "text": text}:
            content = {"type": "text", "text": text}
            yield {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": id}
        case {"kind": "steered", "id": id, "prompt": prompt}:
            for block in prompt:
                yield {"sessionUpdate": "user_message_chunk", "content": block, "messageId": id}
        case {"kind": "thought", "id": id, "text": text}:
            content = {"type": "text", "text": text}
            yield {"sessionUpdate": "agent_thought_chunk", "content": content, "messageId": id}
        case {"kind": "content", "id": id, "content": content}:
            yield {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": id}
        case {"kind": "plan", "entries": entries}:
            yield {"sessionUpdate": "plan", "entries": entries}
        case {"kind": "tool", "call": call}:
            opening = {key: value for key, value in call.items() if key not in ("content", "rawOutput")}
            yield {"sessionUpdate": "tool_call", **opening, "status": "pending"}
            closing = {key: value for key, value in call.items() if key in ("status", "content", "rawOutput")}
            yield {"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], **closing}

"""OpenCode: a database, `opencode.db` below `~/.local/share/opencode`; `XDG_DATA_HOME` and `OPENCODE_DB` count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from catena_acp.transcripts import tool_calls
from catena_acp.transcripts.builder import TranscriptBuilder
from catena_acp.transcripts.lines import Record, UnreadableTranscript, parsed
from catena_acp.transcripts.session import (
    ForeignSession,
    ForeignTranscript,
    Tool,
    counts_of,
    mapping_of,
    modified,
    one_line,
    text_of,
    time_of,
)
from catena_store.database.foreign import opencode
from catena_store.errors import ForeignUnreadable
from catena_store.records import StopReason


def root(environment: Mapping[str, str]) -> Path:
    """The file of the database."""
    data = environment.get("XDG_DATA_HOME")
    home = environment.get("HOME") or Path.home()
    folder = (Path(data) if data else Path(home) / ".local" / "share") / "opencode"
    named = environment.get("OPENCODE_DB")
    return folder / (named if named and named != ":memory:" else "opencode.db")


def files(root: Path) -> Iterator[Path]:
    """The database, where it is."""
    if root.is_file():
        yield root


def heads(path: Path) -> list[ForeignSession]:
    """The sessions of a database in which something was said. Raises UnreadableTranscript."""
    return [_head(path, each) for each in _sessions(path) if each.messages]


def _sessions(path: Path, only: str | None = None) -> list[opencode.OpenCodeSession]:
    try:
        return opencode.sessions(path, only)
    except ForeignUnreadable as error:
        raise UnreadableTranscript(str(error)) from error


def _head(path: Path, told: opencode.OpenCodeSession) -> ForeignSession:
    first, last = (one_line(text_of(_json(each).get("text"))) for each in (told.first, told.last))
    return ForeignSession(
        source=Tool.OPENCODE,
        session_id=told.id,
        path=path,
        cwd=told.directory,
        title=told.title or None,
        first_prompt=first,
        last_prompt=last,
        created_at=time_of(told.created),
        updated_at=time_of(told.updated) or modified(0),
        size=told.size,
        messages=told.messages,
    )


def read(path: Path, session_id: str) -> ForeignTranscript:
    """A whole session. Raises UnreadableTranscript."""
    told = next(iter(_sessions(path, session_id)), None)
    if told is None:
        raise UnreadableTranscript("the session is not there")
    try:
        messages = opencode.messages(path, session_id)
    except ForeignUnreadable as error:
        raise UnreadableTranscript(str(error)) from error
    builder = TranscriptBuilder()
    reverted = text_of(_json(told.reverted).get("messageID"))
    undone = next((at for at, message in enumerate(messages) if message.id == reverted), len(messages))
    for message in messages[:undone]:
        _add(builder, message)
    # OpenCode forgets them only when it is prompted again.
    builder.leave_out("message that was undone", len(messages) - undone, breaks=True)
    return builder.transcript(_head(path, told))


def _add(builder: TranscriptBuilder, message: opencode.OpenCodeMessage) -> None:
    told = parsed(message.data.encode("utf-8", "replace"))
    if told is None:
        builder.leave_out("message that cannot be read", breaks=True)
        return
    times = mapping_of(told.get("time"))
    at = time_of(times.get("created"))
    parts = [_json(data) for _, data in message.parts]
    if told.get("role") == "user":
        _add_prompt(builder, message.id, parts, at)
        return
    if told.get("summary") is True:
        builder.compact("\n".join(text_of(part.get("text")) for part in parts), at)
        return
    for part in parts:
        begun = time_of(mapping_of(part.get("time")).get("start")) or at
        match part.get("type"):
            case "text" if not part.get("synthetic"):
                builder.say(text_of(part.get("text")), begun, message.id)
            case "reasoning":
                builder.think(text_of(part.get("text")), begun)
            case "tool":
                _add_call(builder, part, begun)
    builder.spent(_usage(told), of=message.id, model=_model(told))
    _end(builder, told, time_of(times.get("completed")))


def _add_prompt(
    builder: TranscriptBuilder, message_id: str, parts: list[Record], at: datetime | None
) -> None:
    if any(part.get("type") == "compaction" for part in parts):
        return  # its summary follows
    said = [part for part in parts if part.get("type") == "text" and not part.get("synthetic")]
    named = [
        {"name": text_of(part.get("filename")) or "file", "mime": text_of(part.get("mime"))}
        for part in parts
        if part.get("type") == "file"
    ]
    text = "\n".join(text_of(part.get("text")) for part in said).strip()
    if text or named:
        builder.prompt(text, at, message_id, named)


def _add_call(builder: TranscriptBuilder, part: Record, at: datetime | None) -> None:
    state = mapping_of(part.get("state"))
    call_id = text_of(part.get("callID")) or text_of(part.get("id"))
    builder.call(call_id, text_of(part.get("tool")), state.get("input"), at)
    ended = time_of(mapping_of(state.get("time")).get("end"))
    if state.get("status") == "completed":
        change = _change(mapping_of(state.get("metadata")))
        builder.result(call_id, text_of(state.get("output")), ended, changes=change)
    elif state.get("status") == "error":
        builder.result(call_id, text_of(state.get("error")), ended, failed=True)


def _change(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    told = mapping_of(metadata.get("filediff"))
    path, before, after = (told.get(key) for key in ("file", "before", "after"))
    if isinstance(path, str) and isinstance(after, str):
        return [tool_calls.change(path, before if isinstance(before, str) else None, after)]
    return []


def _end(builder: TranscriptBuilder, told: Record, at: datetime | None) -> None:
    error = mapping_of(told.get("error"))
    if error.get("name") == "MessageAbortedError":
        builder.end(StopReason.CANCELLED, at)
    elif error:
        words = text_of(mapping_of(error.get("data")).get("message")) or text_of(error.get("name"))
        builder.end(StopReason.ERROR, at, words or "error")
    elif told.get("finish") == "stop":
        builder.end(StopReason.END_TURN, at)
    elif told.get("finish") == "length":
        builder.end(StopReason.MAX_TOKENS, at)
    elif told.get("finish") is None:
        builder.end(StopReason.INTERRUPTED, at)


def _usage(told: Record) -> dict[str, int]:
    tokens = mapping_of(told.get("tokens"))
    cached = counts_of(mapping_of(tokens.get("cache")), cachedReadTokens="read")
    return cached | counts_of(
        tokens, inputTokens="input", outputTokens="output", thoughtTokens="reasoning", totalTokens="total"
    )


def _model(told: Record) -> str | None:
    provider, model = text_of(told.get("providerID")), text_of(told.get("modelID"))
    return f"{provider}/{model}" if provider and model else model or None


def _json(data: str) -> Record:
    return parsed(data.encode("utf-8", "replace")) or {}

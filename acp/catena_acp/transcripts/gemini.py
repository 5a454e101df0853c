"""Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl` below `~/.gemini`; `.project_root` has the directory.

A header, then messages; a message that comes again is the newer one, and a record with `$set` replaces what it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from catena_acp.transcripts import tool_calls
from catena_acp.transcripts.builder import TranscriptBuilder
from catena_acp.transcripts.lines import (
    MOST_OF_HEAD,
    Record,
    UnreadableTranscript,
    head_lines,
    newest_time,
    opened,
    parsed,
    tail_lines,
)
from catena_acp.transcripts.session import (
    ForeignSession,
    ForeignTranscript,
    Tool,
    counts_of,
    mapping_of,
    modified,
    objects_of,
    one_line,
    text_of,
    time_of,
)
from catena_store.records import StopReason

_OWN_WORDS = ("<session_context>", "<state_snapshot>", "[Function Response:")


def root(environment: Mapping[str, str]) -> Path:
    """The directory that Gemini CLI keeps its things in."""
    home = environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or Path.home()
    return Path(home) / ".gemini"


def files(root: Path) -> Iterator[Path]:
    """The transcripts below a root."""
    yield from (root / "tmp").glob("*/chats/session-*.jsonl")


def recognises(record: Record) -> bool:
    """True if a record is the header of a transcript of Gemini CLI."""
    return "projectHash" in record and "sessionId" in record


def head(path: Path) -> ForeignSession | None:
    """The head of a session; None for one of a subagent and where nothing was said. Raises UnreadableTranscript."""
    with opened(path) as (file, status):
        newest = tail_lines(file, status.st_size)
        last = next((words for line in newest if (words := _prompt_line(line))), "")
        lines = head_lines(file, MOST_OF_HEAD if last else None)
        header = parsed(next(lines, b""))
        if header is None or not recognises(header):
            raise UnreadableTranscript("does not begin as Gemini CLI writes it")
        if header.get("kind") not in (None, "main"):
            return None
        first = next((words for line in lines if (words := _prompt_line(line))), "")
    if not (first or last):
        return None
    return ForeignSession(
        source=Tool.GEMINI,
        session_id=text_of(header.get("sessionId")),
        path=path,
        cwd=_directory(path),
        title=None,
        first_prompt=first or last,
        last_prompt=last or first,
        created_at=time_of(header.get("startTime")),
        updated_at=newest_time(newest, "timestamp", "lastUpdated") or modified(status.st_mtime),
        size=status.st_size,
    )


def _directory(path: Path) -> str:
    """The directory of a project; empty where it is not known."""
    try:
        with opened(path.parent.parent / ".project_root") as (file, _):
            return file.read(1 << 14).decode("utf-8", "replace").strip()
    except (UnreadableTranscript, OSError):
        return ""


def _prompt_line(line: bytes) -> str:
    if b'"user"' not in line:
        return ""
    record = parsed(line)
    if record is None or record.get("type") != "user":
        return ""
    text, images = _prompt(record)
    return one_line(text) or ("(image)" if images else "")


def read(path: Path, session: ForeignSession) -> ForeignTranscript:
    """The whole session, under its head. Raises UnreadableTranscript."""
    builder = TranscriptBuilder()
    messages: dict[str, Record] = {}
    for _, record in builder.records(path):
        changed = mapping_of(record.get("$set")).get("messages")
        if changed is not None:
            messages = {text_of(each.get("id")): dict(each) for each in objects_of(changed)}
        elif isinstance(back := record.get("$rewindTo"), str):
            builder.leave_out("message that was undone", _rewind(messages, back))
        elif isinstance(record.get("id"), str) and "type" in record:
            _put(messages, record)
    for message in messages.values():
        _add(builder, message)
    return builder.transcript(session)


def _rewind(messages: dict[str, Record], to: str) -> int:
    """Take the messages from one on away again; how many they were."""
    ids = list(messages)
    undone = ids[ids.index(to) :] if to in messages else ids
    for each in undone:
        del messages[each]
    return len(undone)


def _put(messages: dict[str, Record], record: Record) -> None:
    """Add a message, or the newer form of one: calls that are new in it were made where it comes again."""
    before = messages.get(record["id"])
    if before is None:
        messages[record["id"]] = record
        return
    known = {each.get("id") for each in objects_of(before.get("toolCalls"))}
    calls = objects_of(record.get("toolCalls"))
    later = [each for each in calls if each.get("id") not in known]
    messages[record["id"]] = {**record, "toolCalls": [each for each in calls if each.get("id") in known]}
    if later:
        again = {**record, "content": "", "thoughts": [], "tokens": None, "toolCalls": later}
        messages[f"{record['id']} {len(messages)}"] = again


def _add(builder: TranscriptBuilder, message: Record) -> None:
    at = time_of(message.get("timestamp"))
    match message.get("type"):
        case "user":
            text, images = _prompt(message)
            if text or images:
                builder.prompt(text, at, text_of(message.get("id")), images)
        case "gemini":
            for thought in objects_of(message.get("thoughts")):
                parts = (text_of(thought.get("subject")), text_of(thought.get("description")))
                builder.think("\n".join(part for part in parts if part), at)
            builder.say(_said(message.get("content")), at, text_of(message.get("id")))
            for call in objects_of(message.get("toolCalls")):
                _add_call(builder, call, at)
            usage = _usage(mapping_of(message.get("tokens")))
            model = text_of(message.get("model")) or None
            builder.spent(usage, of=text_of(message.get("id")), model=model)
        case "error":
            words = _said(message.get("content"))
            builder.note(words or "error", at)
            builder.end(StopReason.ERROR, at, words or "error")
        case "info" | "warning":
            builder.note(_said(message.get("content")), at)


def _add_call(builder: TranscriptBuilder, call: Mapping[str, Any], before: datetime | None) -> None:
    at = time_of(call.get("timestamp")) or before
    call_id = text_of(call.get("id"))
    builder.call(call_id, text_of(call.get("name")), call.get("args"), before)
    outputs = [
        text_of(mapping_of(mapping_of(part.get("functionResponse")).get("response")).get("output"))
        for part in objects_of(call.get("result"))
    ]
    status = call.get("status")
    if status in ("success", "error", "cancelled"):
        changes = changes_shown(call.get("resultDisplay"))
        builder.result(call_id, "\n".join(outputs), at, failed=status != "success", changes=changes)


def changes_shown(display: object) -> list[dict[str, Any]]:
    """The change of a file as Gemini CLI and Qwen Code keep it for their screens."""
    shown = mapping_of(display)
    path = text_of(shown.get("filePath")) or text_of(shown.get("fileName"))
    old, new = shown.get("originalContent"), shown.get("newContent")
    if path and isinstance(new, str):
        return [tool_calls.change(path, old if isinstance(old, str) and old else None, new)]
    if path and isinstance(shown.get("fileDiff"), str):
        return [tool_calls.change(path, *tool_calls.sides(shown["fileDiff"]))]
    return []


def _prompt(message: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    content = message.get("content")
    parts = [{"text": content}] if isinstance(content, str) else objects_of(content)
    texts = [text for part in parts if (text := text_of(part.get("text")))]
    texts = [text for text in texts if not text.lstrip().startswith(_OWN_WORDS)]
    images = [mapping_of(part.get("inlineData")) for part in parts if "inlineData" in part]
    named = [
        {"name": f"image {at}", "mime": text_of(image.get("mimeType"))}
        for at, image in enumerate(images, start=1)
    ]
    return "\n".join(texts).strip(), named


def _said(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(text_of(part.get("text")) for part in objects_of(content))


def _usage(tokens: Mapping[str, Any]) -> dict[str, int]:
    return counts_of(
        tokens,
        inputTokens="input",
        outputTokens="output",
        cachedReadTokens="cached",
        thoughtTokens="thoughts",
        totalTokens="total",
    )

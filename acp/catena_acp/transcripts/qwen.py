"""Qwen Code: `projects/<encoded directory>/chats/<session id>.jsonl` below `~/.qwen`, or `QWEN_HOME`.

Records hang together as Claude Code's do, and have parts as Gemini CLI's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from catena_acp.transcripts.builder import TranscriptBuilder
from catena_acp.transcripts.gemini import changes_shown
from catena_acp.transcripts.lines import (
    MOST_OF_HEAD,
    Record,
    UnreadableTranscript,
    head_lines,
    main_line,
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

_TYPES = ("user", "assistant", "tool_result", "system")


def root(environment: Mapping[str, str]) -> Path:
    """The directory that Qwen Code keeps its sessions in."""
    for name in ("QWEN_RUNTIME_DIR", "QWEN_HOME"):
        if named := environment.get(name):
            return Path(named)
    return Path(environment.get("HOME") or Path.home()) / ".qwen"


def files(root: Path) -> Iterator[Path]:
    """The transcripts below a root."""
    yield from (root / "projects").glob("*/chats/*.jsonl")


def recognises(record: Record) -> bool:
    """True if a record is one of Qwen Code's."""
    message = mapping_of(record.get("message"))
    is_record = "parentUuid" in record and "sessionId" in record
    return is_record and ("parts" in message or "provenance" in record)


def head(path: Path) -> ForeignSession | None:
    """The head of a session; None where nothing was said. Raises UnreadableTranscript."""
    with opened(path) as (file, status):
        last, title = "", None
        newest = tail_lines(file, status.st_size)
        for line in newest:
            last = last or _prompt_line(line)
            if title is None and b"custom_title" in line and (named := parsed(line)):
                payload = mapping_of(named.get("systemPayload"))
                title = text_of(payload.get("customTitle")) or text_of(payload.get("title")) or None
        first, record = "", None
        for line in head_lines(file, MOST_OF_HEAD if last else None):
            record = parsed(line) or record
            if first := _prompt_line(line):
                break
        if record is None or not recognises(record):
            raise UnreadableTranscript("does not begin as Qwen Code writes it")
    if not (first or last):
        return None
    return ForeignSession(
        source=Tool.QWEN,
        session_id=text_of(record.get("sessionId")) or path.stem,
        path=path,
        cwd=text_of(record.get("cwd")),
        title=title,
        first_prompt=first or last,
        last_prompt=last or first,
        created_at=time_of(record.get("timestamp")),
        updated_at=newest_time(newest, "timestamp") or modified(status.st_mtime),
        size=status.st_size,
    )


def _prompt_line(line: bytes) -> str:
    if b'"user"' not in line:
        return ""
    record = parsed(line)
    return one_line(_prompt(record)) if record and record.get("type") == "user" else ""


def read(path: Path, session: ForeignSession) -> ForeignTranscript:
    """The whole session, under its head. Raises UnreadableTranscript."""
    builder = TranscriptBuilder()
    said = [
        record
        for _, record in builder.records(path)
        if isinstance(record.get("uuid"), str) and record.get("type") in _TYPES
    ]
    line = main_line(said, lambda each: each["type"] in ("user", "assistant"), lambda _: None)
    builder.leave_out("message of another branch", sum(each["type"] != "system" for each in line.beside))
    builder.leave_out("message whose parent is missing", line.gaps, breaks=True)
    for record in line.records:
        _add(builder, record)
    return builder.transcript(session)


def _add(builder: TranscriptBuilder, record: Record) -> None:
    at = time_of(record.get("timestamp"))
    parts = objects_of(mapping_of(record.get("message")).get("parts"))
    match record["type"]:
        case "user":
            images = [mapping_of(part["inlineData"]) for part in parts if "inlineData" in part]
            named = [
                {"name": f"image {number}", "mime": text_of(image.get("mimeType"))}
                for number, image in enumerate(images, start=1)
            ]
            if (text := _prompt(record)) or named:
                builder.prompt(text, at, record["uuid"], named)
        case "assistant":
            for part in parts:
                call = mapping_of(part.get("functionCall"))
                text = text_of(part.get("text"))
                if call:
                    builder.call(text_of(call.get("id")), text_of(call.get("name")), call.get("args"), at)
                elif part.get("thought"):
                    builder.think(text, at)
                else:
                    builder.say(text, at, record["uuid"])
            usage = _usage(mapping_of(record.get("usageMetadata")))
            builder.spent(usage, of=record["uuid"], model=text_of(record.get("model")) or None)
        case "tool_result":
            told = mapping_of(record.get("toolCallResult"))
            for part in parts:
                answer = mapping_of(part.get("functionResponse"))
                response = mapping_of(answer.get("response"))
                builder.result(
                    text_of(answer.get("id")),
                    text_of(response.get("output")) or text_of(response.get("error")),
                    at,
                    failed=told.get("status") not in (None, "success"),
                    changes=changes_shown(told.get("resultDisplay")),
                )
        case "system" if record.get("subtype") == "branch_checkpoint":
            builder.tells_ends = True
            builder.end(StopReason.END_TURN, at)
        case "system" if "compress" in text_of(record.get("subtype")):
            builder.compact("", at)


def _prompt(record: Record) -> str:
    """What the person wrote; empty where Qwen Code wrote it."""
    if record.get("provenance") not in (None, "real_user"):
        return ""
    parts = objects_of(mapping_of(record.get("message")).get("parts"))
    return "\n".join(text for part in parts if (text := text_of(part.get("text")))).strip()


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    return counts_of(
        usage,
        inputTokens="promptTokenCount",
        outputTokens="candidatesTokenCount",
        cachedReadTokens="cachedContentTokenCount",
        thoughtTokens="thoughtsTokenCount",
        totalTokens="totalTokenCount",
    )

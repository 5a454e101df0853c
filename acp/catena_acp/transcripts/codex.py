"""Codex: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` below `~/.codex`, or `CODEX_HOME`; archived ones beside them.

Each line is a record with a payload. A fork has no history of its own: it names its source and how far that counts.
"""

from __future__ import annotations

import re
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
    opened,
    parsed,
    records,
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

_NOT_OF_A_PERSON = frozenset({"subagent", "guardian_review", "memory_consolidation"})
_MOST_FORKS = 50  # of forks, behind one another
_OWN_WORDS = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill",
    "<INSTRUCTIONS>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
)
_EXIT_CODE = re.compile(r"(?:^|\n)(?:Exit code|Process exited with code):? (-?\d+)")


def root(environment: Mapping[str, str]) -> Path:
    """The directory that Codex keeps its things in."""
    if named := environment.get("CODEX_HOME"):
        return Path(named)
    return Path(environment.get("HOME") or Path.home()) / ".codex"


def files(root: Path) -> Iterator[Path]:
    """The transcripts below a root."""
    yield from (root / "sessions").glob("*/*/*/rollout-*.jsonl")
    yield from (root / "archived_sessions").glob("rollout-*.jsonl")


def titles(root: Path) -> dict[str, str]:
    """The names that sessions were given, by id."""
    named: dict[str, str] = {}
    try:
        for record in records(root / "session_index.jsonl"):
            if record and (name := text_of(record.get("thread_name"))):
                named[text_of(record.get("id"))] = name
    except UnreadableTranscript:
        pass
    return named


def recognises(record: Record) -> bool:
    """True if a record is one of Codex's."""
    return "payload" in record and text_of(record.get("type")) != ""


def head(path: Path) -> ForeignSession | None:
    """The head of a session; None for one of a subagent and where nothing was said. Raises UnreadableTranscript."""
    with opened(path) as (file, status):
        last, title, newest = _tail(tail_lines(file, status.st_size))
        # Where the end does not say that something was said, all of it is looked through.
        lines = head_lines(file, MOST_OF_HEAD if last else None)
        meta = _meta(parsed(next(lines, b"")), path)
        if meta is None:
            return None
        first = next((words for line in lines if (words := _prompt_line(line))), "")
    source = text_of(meta.get("forked_from_id")) or None
    only_copied = source is not None and not (first or last)
    if not first and source:
        first = _first_prompt_of(path, source)
    if not (first or last):
        return None
    return ForeignSession(
        source=Tool.CODEX,
        session_id=text_of(meta.get("id")),
        path=path,
        cwd=text_of(meta.get("cwd")),
        title=title,
        first_prompt=first or last,
        last_prompt=last or first,
        created_at=time_of(meta.get("timestamp")),
        updated_at=newest or modified(status.st_mtime),
        size=status.st_size,
        forked_from=source,
        only_copied=only_copied,
    )


def _meta(record: Record | None, path: Path) -> Mapping[str, Any] | None:
    """What the first line says of the session; None for a subagent's. Raises UnreadableTranscript."""
    if record is None or record.get("type") != "session_meta":
        raise UnreadableTranscript("does not begin as Codex writes it")
    meta = mapping_of(record.get("payload"))
    if not text_of(meta.get("id")):
        raise UnreadableTranscript("does not say which session it is")
    return None if _is_subagent(meta) else meta


def _is_subagent(meta: Mapping[str, Any]) -> bool:
    """True for a thread that another one started; not every one names its parent."""
    source, began = meta.get("source"), text_of(meta.get("thread_source"))
    if meta.get("parent_thread_id") or began in _NOT_OF_A_PERSON:
        return True
    if isinstance(source, Mapping):
        return "custom" not in source  # a program that names itself
    if text_of(source).startswith("subagent"):
        return True
    return began != "user" and any(text_of(meta.get(key)) for key in ("agent_nickname", "agent_role"))


def _tail(lines: list[bytes]) -> tuple[str, str | None, datetime | None]:
    last, title, newest = "", None, None
    for line in lines:
        if newest is None and (record := parsed(line)):
            newest = time_of(record.get("timestamp"))
        if title is None and b"thread_name_updated" in line and (record := parsed(line)):
            title = text_of(mapping_of(record.get("payload")).get("thread_name")) or None
        last = last or _prompt_line(line)
    return last, title, newest


def _prompt_line(line: bytes) -> str:
    if b'"user"' not in line or b"response_item" not in line[:200]:
        return ""
    record = parsed(line)
    payload = mapping_of(record.get("payload")) if record else {}
    words, images = _prompt(payload)
    return one_line(words) or ("(image)" if images else "")


def _first_prompt_of(path: Path, session_id: str) -> str:
    for _ in range(_MOST_FORKS):
        source = _path_of(path, session_id)
        if source is None:
            return ""
        try:
            with opened(source) as (file, _status):
                lines = head_lines(file)
                meta = mapping_of((parsed(next(lines, b"")) or {}).get("payload"))
                if first := next((words for line in lines if (words := _prompt_line(line))), ""):
                    return first
        except UnreadableTranscript:
            return ""
        session_id = text_of(meta.get("forked_from_id"))
        if not session_id:
            return ""
    return ""


def _path_of(beside: Path, session_id: str) -> Path | None:
    """The transcript of another session in the same store."""
    if not re.fullmatch(r"[\w-]+", session_id):
        return None
    for name in (f"rollout-*-{session_id}.jsonl", f"{session_id}.*.jsonl"):  # the second of our copies
        if found := next(beside.parent.glob(name), None):
            return found
    for above in beside.parents:
        if above.name in ("sessions", "archived_sessions"):
            for name, places in (("sessions", "*/*/*/"), ("archived_sessions", "")):
                pattern = f"{places}rollout-*-{session_id}.jsonl"
                if found := next((above.parent / name).glob(pattern), None):
                    return found
    return None


def read(path: Path, session: ForeignSession) -> ForeignTranscript:
    """The whole session, under its head. Raises UnreadableTranscript."""
    reading = _CodexReader()
    reading.take_file(path, until=None, depth=0)
    return reading.builder.transcript(session)


class _CodexReader:
    """Reader of one transcript, with those that it was forked from."""

    def __init__(self) -> None:
        self.builder = TranscriptBuilder()
        self._changes: dict[str, list[dict[str, Any]]] = {}  # by the id of the call that made them
        self._model: str | None = None
        self._failed = False  # the running task
        self._unasked: list[tuple[str, datetime | None, str | None]] = []  # said in a task without a prompt
        self._prompted: bool | None = None  # whether the running task has its prompt; None outside of one

    def take_file(self, path: Path, *, until: int | None, depth: int) -> None:
        """Read a file, after those that it was forked from; its records before ``until``."""
        for at, record in self.builder.records(path):
            ordinal = record.get("ordinal")
            if until is not None and (ordinal if isinstance(ordinal, int) else at) >= until:
                return
            if at == 0:
                self._take_source(path, mapping_of(record.get("payload")), depth)
            self._take(record)

    def _take_source(self, path: Path, meta: Mapping[str, Any], depth: int) -> None:
        source, until = text_of(meta.get("forked_from_id")), meta.get("forked_from_ordinal_exclusive")
        base = mapping_of(meta.get("history_base"))
        if not source or not (base or isinstance(until, int)):
            return  # an older Codex copied what it forked
        until = until if isinstance(until, int) else base.get("end_ordinal_exclusive")
        found = _path_of(path, source) if depth < _MOST_FORKS else None
        if found is None:
            self.builder.leave_out("session that it was forked from, which is not there", breaks=True)
            return
        self.take_file(found, until=until if isinstance(until, int) else None, depth=depth + 1)
        self._prompted = None

    def _take(self, record: Record) -> None:
        payload, at = mapping_of(record.get("payload")), time_of(record.get("timestamp"))
        match record.get("type"):
            case "response_item":
                self._take_item(payload, at)
            case "event_msg":
                self._take_event(payload, at)
            case "compacted":
                self._unasked.clear()  # the summary, which is in the record
                self.builder.compact(text_of(payload.get("message")), at)
            case "turn_context":
                self._model = text_of(payload.get("model")) or None

    def _take_item(self, item: Mapping[str, Any], at: datetime | None) -> None:
        builder = self.builder
        call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
        match item.get("type"):
            case "message" if item.get("role") == "user":
                words, images = _prompt(item)
                if words and self._prompted:
                    builder.steer(words, at)
                elif words or images:
                    builder.prompt(words, at, text_of(item.get("id")) or None, images)
                    builder.spent({}, model=self._model)
                    self._prompted = None if self._prompted is None else True
            case "message" if item.get("role") == "assistant":
                texts = [text_of(part.get("text")) for part in objects_of(item.get("content"))]
                said = ("".join(texts), at, text_of(item.get("id")) or None)
                if self._prompted is False:
                    self._unasked.append(said)
                else:
                    builder.say(*said)
            case "reasoning":
                texts = [text_of(part.get("text")) for part in objects_of(item.get("summary"))]
                builder.think("\n\n".join(text for text in texts if text), at)
            case "function_call":
                builder.call(call_id, text_of(item.get("name")), _arguments(item.get("arguments")), at)
            case "custom_tool_call":
                builder.call(call_id, text_of(item.get("name")), {"input": item.get("input")}, at)
            case "local_shell_call":
                builder.call(call_id, "shell", mapping_of(item.get("action")), at)
            case "web_search_call":
                builder.call(call_id, "web_search", mapping_of(item.get("action")), at)
                builder.result(call_id, "", at)
            case "function_call_output" | "custom_tool_call_output":
                output, failed = _output(item.get("output"))
                builder.result(call_id, output, at, failed=failed, changes=self._changes.get(call_id, ()))

    def _end_task(self, error: Mapping[str, Any], at: datetime | None) -> None:
        for said in self._unasked:
            self.builder.say(*said)
        self._unasked.clear()
        if error:
            self.builder.end(StopReason.ERROR, at, text_of(error.get("message")) or "error")
        elif self._prompted is not False and not self._failed:
            self.builder.end(StopReason.END_TURN, at)
        self._prompted = None

    def _take_event(self, event: Mapping[str, Any], at: datetime | None) -> None:
        builder = self.builder
        match event.get("type"):
            case "task_started" | "turn_started":
                self._prompted, self._failed = False, False
                self.builder.tells_ends = True
            case "task_complete" | "turn_complete":
                self._end_task(mapping_of(event.get("error")), at)
            case "turn_aborted":
                builder.end(StopReason.CANCELLED, at)
                self._prompted = None
            case "error":
                self._failed = True
                builder.end(StopReason.ERROR, at, text_of(event.get("message")) or "error")
            case "thread_rolled_back":
                turns = event.get("num_turns")
                builder.undo(turns if isinstance(turns, int) else 0)
            case "context_compacted":
                builder.compact("", at)
            case "token_count" if builder.begun:
                info = mapping_of(event.get("info"))
                total = mapping_of(info.get("total_token_usage")).get("total_tokens")
                builder.spent(_usage(mapping_of(info.get("last_token_usage"))), of=str(total))
            case "item_completed":
                item = mapping_of(event.get("item"))
                if item.get("type") == "FileChange":
                    self._changes[text_of(item.get("id"))] = _changes(item.get("changes"))
            case "patch_apply_begin":
                self._changes[text_of(event.get("call_id"))] = _changes(event.get("changes"))


def _prompt(item: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """What the person wrote in a message, and the images in it; nothing where Codex wrote it."""
    if item.get("type") != "message" or item.get("role") != "user":
        return "", []
    parts = objects_of(item.get("content"))
    told = mapping_of(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    kinds = told if isinstance(told, list) and len(told) == len(parts) else [""] * len(parts)
    texts: list[str] = []
    images: list[dict[str, Any]] = []
    for part, kind in zip(parts, kinds, strict=True):
        text = text_of(part.get("text"))
        own = not text_of(kind).startswith("user.") if kind else text.lstrip().startswith(_OWN_WORDS)
        if part.get("type") == "input_image":
            images.append({"name": f"image {len(images) + 1}", "mime": "image"})
        elif text and not own:
            texts.append(text)
    return "\n".join(texts).strip(), images


def _arguments(written: object) -> object:
    return (parsed(written.encode("utf-8", "replace")) or written) if isinstance(written, str) else written


def _output(output: object) -> tuple[str, bool]:
    """What a call printed, and whether it failed."""
    if isinstance(output, Mapping):
        return text_of(output.get("content")), output.get("success") is False
    if isinstance(output, list):
        return "\n".join(text_of(part.get("text")) for part in objects_of(output)), False
    text = text_of(output)
    if text.startswith('{"output"') and (told := parsed(text.encode("utf-8", "replace"))):
        code = mapping_of(told.get("metadata")).get("exit_code")
        return text_of(told.get("output")), isinstance(code, int) and code != 0
    code_told = _EXIT_CODE.search(text[:2000])
    failed = text.startswith("exec_command failed") or bool(code_told and code_told[1] != "0")
    return text, failed


def _changes(changes: object) -> list[dict[str, Any]]:
    found = []
    for path, told in mapping_of(changes).items():
        change = mapping_of(told)
        content, unified = change.get("content"), change.get("unified_diff")
        match change.get("type"):
            case "add" if isinstance(content, str):
                found.append(tool_calls.change(path, None, content))
            case "delete" if isinstance(content, str):
                found.append(tool_calls.change(path, content, ""))
            case "update" if isinstance(unified, str):
                found.append(tool_calls.change(path, *tool_calls.sides(unified)))
    return found


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    return counts_of(
        usage,
        inputTokens="input_tokens",
        outputTokens="output_tokens",
        cachedReadTokens="cached_input_tokens",
        thoughtTokens="reasoning_output_tokens",
        totalTokens="total_tokens",
    )

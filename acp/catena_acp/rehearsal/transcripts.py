"""The sessions on disk: a JSON-lines file each, so that another process can list, load, resume and fork them.

A file starts with a header line. After it, a prompt is written when it arrives and its answer when the turn
has ended, so a process that is killed keeps the prompt and loses the answer, as real agents do.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from catena_acp.rehearsal.rpc import INVALID_PARAMS, Refusal, RpcChannel, encode

Block = dict[str, Any]
Entry = dict[str, Any]
"""One thing that happened in a turn; ``kind`` is agent, thought, content, tool, plan, or steered: said into it."""

_SESSION_ID = re.compile(r"[0-9a-f-]{8,64}")


def _texts(prompt: Sequence[Block]) -> str:
    return "\n".join(block_text(block) for block in prompt if block_text(block))


class NoSuchSession(Exception):
    """No file holds this session."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and what was answered to it."""

    id: str
    prompt_id: str
    prompt: tuple[Block, ...]
    entries: tuple[Entry, ...] = ()

    @property
    def heard(self) -> str:
        """The texts of the prompt, a block a line."""
        return _texts(self.prompt)

    def messages(self) -> list[tuple[str, str]]:
        """Who said what in it, in order; what was said into the turn stands at its place."""
        messages = [("user", self.heard)]
        for entry in self.entries:
            if entry["kind"] == "steered":
                messages.append(("user", _texts(entry["prompt"])))
            elif entry["kind"] == "agent" and messages[-1][0] == "assistant":
                messages[-1] = ("assistant", messages[-1][1] + entry["text"])
            elif entry["kind"] == "agent" and entry["text"]:
                messages.append(("assistant", entry["text"]))
        return messages


@dataclass(slots=True)
class SessionTranscript:
    """One session: what it heard and what it said. This is the whole of its context."""

    id: str
    cwd: str
    path: Path
    title: str | None = None
    cost: float = 0.0
    exchanges: list[Exchange] = field(default_factory=list)

    def add_prompt(self, exchange: Exchange) -> None:
        """Keep a prompt, before it is acted on."""
        self.exchanges.append(exchange)
        self._write({"turn": exchange.id, "promptId": exchange.prompt_id, "prompt": exchange.prompt})

    def add_answer(self, turn_id: str, entries: tuple[Entry, ...], cost: float) -> None:
        """Keep what was answered; said again for the same turn, it is added."""
        self._add(turn_id, entries)
        self.cost = cost
        self._write({"turn": turn_id, "entries": entries, "cost": cost})

    def forget(self, turn_id: str) -> None:
        """Drop a turn, prompt and all."""
        self._drop(turn_id)
        self._write({"turn": turn_id, "forgotten": True})

    def set_title(self, title: str) -> None:
        """Keep a title."""
        self.title = title
        self._write({"title": title})

    def context(self) -> list[tuple[str, str]]:
        """What a model would be given: (``user`` or ``assistant``, text), oldest first."""
        return [said for exchange in self.exchanges for said in exchange.messages()]

    def _add(self, turn_id: str, entries: tuple[Entry, ...]) -> None:
        self.exchanges[:] = [
            replace(old, entries=old.entries + entries) if old.id == turn_id else old
            for old in self.exchanges
        ]

    def _drop(self, turn_id: str) -> None:
        self.exchanges[:] = [old for old in self.exchanges if old.id != turn_id]

    def _write(self, line: dict[str, Any]) -> None:
        try:
            _append(self.path, [line])
        except FileNotFoundError:
            # Deleted while a turn ran: it must not come back as a file without a beginning.
            return

    def _apply(self, line: dict[str, Any]) -> None:
        match line:
            case {"turn": turn_id, "prompt": prompt, "promptId": prompt_id}:
                self.exchanges.append(Exchange(turn_id, prompt_id, tuple(prompt)))
            case {"turn": turn_id, "entries": entries, "cost": cost}:
                self._add(turn_id, tuple(entries))
                self.cost = cost
            case {"turn": turn_id, "forgotten": True}:
                self._drop(turn_id)
            case {"title": title}:
                self.title = title


class TranscriptStore:
    """The directory that holds the transcripts."""

    def __init__(self, directory: Path, new_id: Callable[[], str]) -> None:
        self._directory = directory
        self._new_id = new_id

    def create(self, cwd: str) -> SessionTranscript:
        """A session that has heard nothing."""
        return self._write_new(SessionTranscript(id=self._new_id(), cwd=cwd, path=Path()))

    def open(self, session_id: str) -> SessionTranscript:
        """The session as its file has it. Raises ``NoSuchSession``."""
        path = self._path(session_id)
        try:
            lines = list(_lines(path))
        except FileNotFoundError as error:
            raise NoSuchSession(session_id) from error
        if not lines:
            raise NoSuchSession(session_id)
        transcript = SessionTranscript(id=session_id, cwd=str(lines[0].get("cwd", "")), path=path)
        for line in lines[1:]:
            transcript._apply(line)
        return transcript

    def fork(self, source: SessionTranscript, cwd: str, exchanges: list[Exchange]) -> SessionTranscript:
        """A session of its own that begins with ``exchanges`` of another."""
        title = f"{source.title} (fork)" if source.title else None
        return self._write_new(
            SessionTranscript(
                id=self._new_id(),
                cwd=cwd,
                path=Path(),
                title=title,
                cost=source.cost,
                exchanges=list(exchanges),
            )
        )

    def delete(self, session_id: str) -> None:
        """Remove a session; one that is not there is no error."""
        try:
            self._path(session_id).unlink(missing_ok=True)
        except NoSuchSession:
            return

    def all(self) -> list[tuple[SessionTranscript, datetime]]:
        """Every session with the time it last changed, newest first."""
        found = []
        for path in self._directory.glob("*.jsonl"):
            try:
                changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                found.append((self.open(path.stem), changed))
            except (NoSuchSession, FileNotFoundError):
                continue
        return sorted(found, key=lambda pair: (pair[1], pair[0].id), reverse=True)

    def _path(self, session_id: str) -> Path:
        if not _SESSION_ID.fullmatch(session_id):
            raise NoSuchSession(session_id)
        return self._directory / f"{session_id}.jsonl"

    def _write_new(self, transcript: SessionTranscript) -> SessionTranscript:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        transcript.path = self._path(transcript.id)
        lines: list[dict[str, Any]] = [{"session": transcript.id, "cwd": transcript.cwd}]
        if transcript.title:
            lines.append({"title": transcript.title})
        for old in transcript.exchanges:
            lines.append({"turn": old.id, "promptId": old.prompt_id, "prompt": old.prompt})
            lines.append({"turn": old.id, "entries": old.entries, "cost": transcript.cost})
        transcript.path.touch(mode=0o600, exist_ok=False)
        _append(transcript.path, lines)
        return transcript


def block_text(block: Block) -> str:
    """What a block of a prompt says in words: its text, or that of the resource it embeds."""
    match block:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case _:
            return ""


def _append(path: Path, lines: list[dict[str, Any]]) -> None:
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            # A process died in the middle of a line: what it began is lost, what follows is not.
            raw = b"\n" + raw
        os.write(file, raw)
    finally:
        os.close(file)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for raw in path.read_bytes().splitlines():
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def fork_point(source: SessionTranscript, meta: Any, fork_at: str | None) -> list[Exchange]:
    """What of ``source`` a fork begins with; ``fork_at`` says which way of asking is honoured.

    Where there is none, the fork point is ignored and the fork holds everything, as with real agents.
    Raises ``Refusal`` (-32602) for a message that is not in the session.
    """
    match fork_at, meta:
        case "air", {"jetbrains": {"air": {"fork": {"version": 1, "messageId": str(message_id)}}}}:
            return _up_to_answer(source, message_id)
        case "user", {"messageId": str(message_id)}:
            return _up_to_prompt(source, message_id)
        case _:
            return list(source.exchanges)


def _up_to_answer(source: SessionTranscript, message_id: str) -> list[Exchange]:
    """Everything up to an agent message, which is kept."""
    for number, exchange in enumerate(source.exchanges):
        ends = [i for i, entry in enumerate(exchange.entries, 1) if entry.get("id") == message_id]
        if ends:
            return [*source.exchanges[:number], replace(exchange, entries=exchange.entries[: ends[-1]])]
    raise Refusal(INVALID_PARAMS, f"Fork point message {message_id} was not found in session {source.id}")


def _up_to_prompt(source: SessionTranscript, message_id: str) -> list[Exchange]:
    """Everything up to a prompt, whose whole turn is kept."""
    for number, exchange in enumerate(source.exchanges, 1):
        if exchange.prompt_id == message_id:
            return list(source.exchanges[:number])
    raise Refusal(INVALID_PARAMS, f"Cannot find user entry {message_id}")


def replay(transcript: SessionTranscript, rpc: RpcChannel, *, message_ids: bool, last: int = 0) -> None:
    """Tell everything, in order, in one go; only the ``last`` turns, where there is such a number."""
    lines: list[bytes] = []
    for exchange in transcript.exchanges[-last:]:
        for update in _updates(exchange):
            if not message_ids:
                update.pop("messageId", None)
            params = {"sessionId": transcript.id, "update": update}
            lines.append(encode({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    rpc.write(b"".join(lines))


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

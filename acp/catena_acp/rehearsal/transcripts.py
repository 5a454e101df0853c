"""Transcripts of sessions on disk, one JSON-lines file each, so that another process can list, load and fork them.

A file starts with a header line. A prompt is written when it arrives and its answer when the turn has ended, so that a
killed process keeps the prompt and loses the answer, as real agents do. Fork points and replays are read from them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from catena_acp.rehearsal.rpc import INVALID_PARAMS, Refusal, RpcChannel, encode

Block = dict[str, Any]
Entry = dict[str, Any]
"""One item of a turn; ``kind`` is agent, thought, content, tool, plan or steered."""

_SESSION_ID = re.compile(r"[0-9a-f-]{8,64}")


def _texts(prompt: Sequence[Block]) -> str:
    return "\n".join(block_text(block) for block in prompt if block_text(block))


class NoSuchSession(Exception):
    """A session id without a file."""


class Exchange(NamedTuple):
    """A prompt and the entries of its answer."""

    id: str
    prompt_id: str
    prompt: tuple[Block, ...]
    entries: tuple[Entry, ...] = ()

    @property
    def heard(self) -> str:
        """The texts of the prompt, one block a line."""
        return _texts(self.prompt)

    def messages(self) -> list[tuple[str, str]]:
        """The (role, text) pairs in order, with steering prompts at their places."""
        messages = [("user", self.heard)]
        for entry in self.entries:
            if entry["kind"] == "steered":
                messages.append(("user", _texts(entry["prompt"])))
            elif entry["kind"] == "agent" and messages[-1][0] == "assistant":
                messages[-1] = ("assistant", messages[-1][1] + entry["text"])
            elif entry["kind"] == "agent" and entry["text"]:
                messages.append(("assistant", entry["text"]))
        return messages


class SessionTranscript:
    """The prompts and answers of one session, which are its whole context."""

    def __init__(
        self,
        id: str,
        cwd: str,
        path: Path,
        title: str | None = None,
        cost: float = 0.0,
        exchanges: Sequence[Exchange] = (),
    ) -> None:
        self.id = id
        self.cwd = cwd
        self.path = path
        self.title = title
        self.cost = cost
        self.exchanges = list(exchanges)

    def add_prompt(self, exchange: Exchange) -> None:
        """Store a prompt."""
        self.exchanges.append(exchange)
        self._write({"turn": exchange.id, "promptId": exchange.prompt_id, "prompt": exchange.prompt})

    def add_answer(self, turn_id: str, entries: tuple[Entry, ...], cost: float) -> None:
        """Store entries of an answer, after earlier ones of the same turn."""
        self._add(turn_id, entries)
        self.cost = cost
        self._write({"turn": turn_id, "entries": entries, "cost": cost})

    def forget(self, turn_id: str) -> None:
        """Remove a turn with its prompt."""
        self._drop(turn_id)
        self._write({"turn": turn_id, "forgotten": True})

    def set_title(self, title: str) -> None:
        """Store the session's title."""
        self.title = title
        self._write({"title": title})

    def context(self) -> list[tuple[str, str]]:
        """The context for a model: (``user`` or ``assistant``, text) pairs, oldest first."""
        return [said for exchange in self.exchanges for said in exchange.messages()]

    def _add(self, turn_id: str, entries: tuple[Entry, ...]) -> None:
        self.exchanges[:] = [
            old._replace(entries=old.entries + entries) if old.id == turn_id else old
            for old in self.exchanges
        ]

    def _drop(self, turn_id: str) -> None:
        self.exchanges[:] = [old for old in self.exchanges if old.id != turn_id]

    def _write(self, line: dict[str, Any]) -> None:
        try:
            _append(self.path, [line])
        except FileNotFoundError:
            # Deleted during a turn: writing would make a file without a header.
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
    """The directory of transcripts."""

    def __init__(self, directory: Path, new_id: Callable[[], str]) -> None:
        self._directory = directory
        self._new_id = new_id

    def create(self, cwd: str) -> SessionTranscript:
        """Create an empty session."""
        return self._write_new(SessionTranscript(id=self._new_id(), cwd=cwd, path=Path()))

    def open(self, session_id: str) -> SessionTranscript:
        """Read a session from its file. Raises NoSuchSession."""
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
        """Create a session that begins with ``exchanges`` of another."""
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
        """Delete a session, if it exists."""
        try:
            self._path(session_id).unlink(missing_ok=True)
        except NoSuchSession:
            return

    def all(self) -> list[tuple[SessionTranscript, datetime]]:
        """Every session with the time of its last change, newest first."""
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
    """The text of a prompt block, or of its embedded resource; "" for others."""
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
            # A process died in the middle of a line; a line end keeps the next line readable.
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
    """The exchanges that a fork keeps; ``fork_at`` is the form of fork point that the agent reads.

    Without one the fork point is ignored and the whole session forked, as by real agents. Raises Refusal (-32602) for
    an unknown message.
    """
    match fork_at, meta:
        case "air", {"jetbrains": {"air": {"fork": {"version": 1, "messageId": str(message_id)}}}}:
            return _up_to_answer(source, message_id)
        case "user", {"messageId": str(message_id)}:
            return _up_to_prompt(source, message_id)
        case _:
            return list(source.exchanges)


def _up_to_answer(source: SessionTranscript, message_id: str) -> list[Exchange]:
    """The exchanges up to and including an agent message."""
    for number, exchange in enumerate(source.exchanges):
        ends = [i for i, entry in enumerate(exchange.entries, 1) if entry.get("id") == message_id]
        if ends:
            return [*source.exchanges[:number], exchange._replace(entries=exchange.entries[: ends[-1]])]
    raise Refusal(INVALID_PARAMS, f"Fork point message {message_id} was not found in session {source.id}")


def _up_to_prompt(source: SessionTranscript, message_id: str) -> list[Exchange]:
    """The exchanges up to and including the turn of a prompt."""
    for number, exchange in enumerate(source.exchanges, 1):
        if exchange.prompt_id == message_id:
            return list(source.exchanges[:number])
    raise Refusal(INVALID_PARAMS, f"Cannot find user entry {message_id}")


def replay(transcript: SessionTranscript, rpc: RpcChannel, *, message_ids: bool, last: int = 0) -> None:
    """Send all exchanges as session updates in one write; only the ``last`` turns unless it is 0."""
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

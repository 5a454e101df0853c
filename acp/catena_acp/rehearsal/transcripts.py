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

    def spoken(self) -> list[tuple[str, str]]:
        """Who said what in it, in order; what was said into the turn stands at its place."""
        spoken = [("user", self.heard)]
        for entry in self.entries:
            if entry["kind"] == "steered":
                spoken.append(("user", _texts(entry["prompt"])))
            elif entry["kind"] == "agent" and spoken[-1][0] == "assistant":
                spoken[-1] = ("assistant", spoken[-1][1] + entry["text"])
            elif entry["kind"] == "agent" and entry["text"]:
                spoken.append(("assistant", entry["text"]))
        return spoken


@dataclass(slots=True)
class Transcript:
    """One session: what it heard and what it said. This is the whole of its context."""

    id: str
    cwd: str
    path: Path
    title: str | None = None
    cost: float = 0.0
    exchanges: list[Exchange] = field(default_factory=list)

    def heard(self, exchange: Exchange) -> None:
        """Keep a prompt, before it is acted on."""
        self.exchanges.append(exchange)
        self._write({"turn": exchange.id, "promptId": exchange.prompt_id, "prompt": exchange.prompt})

    def said(self, turn_id: str, entries: tuple[Entry, ...], cost: float) -> None:
        """Keep what was answered; said again for the same turn, it is added."""
        self._add(turn_id, entries)
        self.cost = cost
        self._write({"turn": turn_id, "entries": entries, "cost": cost})

    def forget(self, turn_id: str) -> None:
        """Drop a turn, prompt and all."""
        self._drop(turn_id)
        self._write({"turn": turn_id, "forgotten": True})

    def named(self, title: str) -> None:
        """Keep a title."""
        self.title = title
        self._write({"title": title})

    def context(self) -> list[tuple[str, str]]:
        """What a model would be given: (``user`` or ``assistant``, text), oldest first."""
        return [said for exchange in self.exchanges for said in exchange.spoken()]

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

    def _take(self, line: dict[str, Any]) -> None:
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


class Shelf:
    """The directory that holds the transcripts."""

    def __init__(self, directory: Path, new_id: Callable[[], str]) -> None:
        self._directory = directory
        self._new_id = new_id

    def create(self, cwd: str) -> Transcript:
        """A session that has heard nothing."""
        return self._write_new(Transcript(id=self._new_id(), cwd=cwd, path=Path()))

    def open(self, session_id: str) -> Transcript:
        """The session as its file has it. Raises ``NoSuchSession``."""
        path = self._path(session_id)
        try:
            lines = list(_lines(path))
        except FileNotFoundError as error:
            raise NoSuchSession(session_id) from error
        if not lines:
            raise NoSuchSession(session_id)
        transcript = Transcript(id=session_id, cwd=str(lines[0].get("cwd", "")), path=path)
        for line in lines[1:]:
            transcript._take(line)
        return transcript

    def fork(self, source: Transcript, cwd: str, exchanges: list[Exchange]) -> Transcript:
        """A session of its own that begins with ``exchanges`` of another."""
        title = f"{source.title} (fork)" if source.title else None
        return self._write_new(
            Transcript(
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

    def all(self) -> list[tuple[Transcript, datetime]]:
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

    def _write_new(self, transcript: Transcript) -> Transcript:
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

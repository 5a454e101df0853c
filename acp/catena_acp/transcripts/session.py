"""Sessions of other tools, and their messages in one form, whichever tool wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from catena_acp.context_markers import BEGIN, without_prior_context
from catena_store.records import Kind, MessageState, StopReason

LONGEST_PREVIEW = 200  # characters of a prompt in a head


class Tool(StrEnum):
    """A tool whose transcripts can be read; the value is the name of its agent in the catalogue."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    QWEN = "qwen"
    OPENCODE = "opencode"

    @property
    def full_name(self) -> str:
        """The name that a person knows it by."""
        return _TITLES[self]


_TITLES = {
    Tool.CLAUDE: "Claude Code",
    Tool.CODEX: "Codex",
    Tool.GEMINI: "Gemini CLI",
    Tool.QWEN: "Qwen Code",
    Tool.OPENCODE: "OpenCode",
}


@dataclass(frozen=True, slots=True)
class ForeignSession:
    """The head of a session that another tool keeps, as a list shows it."""

    source: str  # the name of the tool, or of the agent that listed it
    session_id: str
    path: Path | None  # the file that holds it; None if only its agent can open it
    cwd: str  # "" if it is not known
    title: str | None
    first_prompt: str  # the beginning of it, in one line
    last_prompt: str
    created_at: datetime | None
    updated_at: datetime
    size: int = 0  # bytes of the file; of a database, of the session's rows
    messages: int | None = None  # prompts and answers, where counting them is cheap
    forked_from: str | None = None  # the id of the session that it was forked from
    only_copied: bool = False  # nothing was said in it since it was forked
    profile: str = ""  # the account whose directory it lies in
    copied: bool = False  # the original is gone: this is our copy

    @property
    def label(self) -> str:
        """The source as a list names it."""
        return f"{self.source} (copy)" if self.copied else self.source

    @property
    def key(self) -> tuple[str, str]:
        """What makes two heads the same session, wherever they were found."""
        return self.source, self.session_id


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """One message, with the data that a row of that kind has in the store."""

    kind: Kind
    text: str = ""
    at: datetime | None = None
    agent_message_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    state: MessageState = MessageState.FINAL


@dataclass(frozen=True, slots=True)
class ForeignTurn:
    """A prompt and what came of it; without a prompt for what stands before the first one."""

    prompt: ForeignMessage | None
    rows: Sequence[ForeignMessage]
    stop_reason: StopReason = StopReason.END_TURN
    error: str | None = None
    model: str | None = None
    usage: Mapping[str, int] | None = None  # by the protocol's names
    started_at: datetime | None = None
    ended_at: datetime | None = None
    prior_context: str | None = None  # what we once told that session with this prompt


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a transcript that is not among its messages, and why."""

    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class ForeignTranscript:
    """A whole session: its head, the turns of its main line, and what was left out."""

    session: ForeignSession
    turns: Sequence[ForeignTurn]
    left_out: Sequence[LeftOut] = ()
    complete: bool = True  # False if a part of the main line could not be read

    @property
    def is_empty(self) -> bool:
        """True if nothing was said in it."""
        return not any(turn.prompt or turn.rows for turn in self.turns)


def time_of(value: object) -> datetime | None:
    """A time that a transcript tells: ISO text, or seconds or milliseconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) > 10**11 else value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def one_line(text: str, longest: int = LONGEST_PREVIEW) -> str:
    """The beginning of a text in one line, without a prior context of ours."""
    if BEGIN in text:
        text = without_prior_context(text).partition(BEGIN)[0]  # an agent's title has no lines
    return " ".join(text[: longest * 4].split())[:longest]


def mapping_of(value: object) -> Mapping[str, Any]:
    """A JSON object, empty where it is something else."""
    return value if isinstance(value, Mapping) else {}


def counts_of(told: Mapping[str, Any], **names: str) -> dict[str, int]:
    """The counts that a record tells, by the protocol's names for them: ``inputTokens="input"``."""
    return {ours: told[name] for ours, name in names.items() if isinstance(told.get(name), int)}


def text_of(value: object) -> str:
    """A JSON text, empty where it is something else."""
    return value if isinstance(value, str) else ""


def objects_of(value: object) -> list[Mapping[str, Any]]:
    """The objects of a JSON list, none where it is something else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def modified(seconds: float) -> datetime:
    """The time that a file was changed at, to the millisecond."""
    return time_of(int(seconds * 1000) / 1000) or datetime.fromtimestamp(0, tz=UTC)

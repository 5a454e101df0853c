"""What an agent told us, as frozen dataclasses.

Shaped after ACP v2: upserts by id in which None means *unchanged*, open enumerations kept as text, and unknown kinds
kept instead of dropped. Everything in them is hostile text: it is made safe where it is drawn or printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "agent", "thought"]


@dataclass(frozen=True, slots=True)
class TextChunk:
    """More text of a message; a new message begins where the role or the id differs from the chunk before."""

    role: Role
    text: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class OtherContent:
    """A piece of a message that is not text: an image, audio, a resource, a link to one."""

    role: Role
    kind: str
    description: str  # one line: what it is, its name, type and size
    message_id: str | None
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file that a tool call touches."""

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class ToolText:
    """Text that a tool call produced."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolDiff:
    """A change to a file; ``old`` is None for a new one."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class ToolTerminal:
    """Output of a terminal, named by its id."""

    terminal_id: str


@dataclass(frozen=True, slots=True)
class ToolOther:
    """Any other content of a tool call, described in one line."""

    kind: str
    description: str


ToolContent = ToolText | ToolDiff | ToolTerminal | ToolOther


@dataclass(frozen=True, slots=True)
class ToolCallChanged:
    """A tool call was made or changed; None means unchanged."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None  # read, edit, delete, move, search, execute, think, fetch, switch_mode, other, …
    status: str | None = None  # pending, in_progress, completed, failed, …
    name: str | None = None
    locations: tuple[Location, ...] | None = None
    content: tuple[ToolContent, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One line of a plan."""

    text: str
    status: str  # pending, in_progress, completed
    priority: str  # high, medium, low


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """A plan, whole; it replaces the one before with the same id."""

    entries: tuple[PlanEntry, ...]
    plan_id: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command of the agent's."""

    name: str
    description: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class CommandsChanged:
    """The agent's slash commands, all of them."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class ConfigChoice:
    """One value that a mode or an option can have."""

    id: str
    name: str
    description: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of the session that the agent offers."""

    id: str
    name: str
    category: str | None  # mode, model, thought_level, model_config, …
    kind: str  # select, boolean; others are kept and not offered
    value: str | bool
    choices: tuple[ConfigChoice, ...]
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ModesChanged:
    """The modes that the session offers and the one in force; where ``modes`` is None only the current one changed."""

    current: str
    modes: tuple[ConfigChoice, ...] | None = None


@dataclass(frozen=True, slots=True)
class OptionsChanged:
    """The session's options, all of them. Where there are any, modes are to be ignored."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """The agent's title for the session; None clears it."""

    title: str | None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The session's context and its total cost so far."""

    used: int
    size: int
    cost: float | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class NoticeReported:
    """Something the agent wants the person to know."""

    text: str
    level: str


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """The agent shortened its own context."""

    text: str | None
    status: str | None


@dataclass(frozen=True, slots=True)
class UnknownUpdate:
    """An update of a kind that we do not know, whole."""

    kind: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One answer that the agent accepts; kinds allow_once, allow_always, reject_once, reject_always, or others."""

    id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """The agent waits for a permission. Answer it with ``Agent.answer_permission(ask_id, …)``."""

    ask_id: str
    tool_call: ToolCallChanged
    options: tuple[PermissionOption, ...]


@dataclass(frozen=True, slots=True)
class PermissionWithdrawn:
    """The agent no longer waits, or is gone."""

    ask_id: str


Event = (
    TextChunk
    | OtherContent
    | ToolCallChanged
    | PlanChanged
    | CommandsChanged
    | ModesChanged
    | OptionsChanged
    | TitleChanged
    | UsageReported
    | NoticeReported
    | ContextCompacted
    | UnknownUpdate
    | PermissionRequested
    | PermissionWithdrawn
)


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The answer to new, resume, load or fork."""

    session_id: str  # as answered; where the answer names none, the one that was asked for
    modes: ModesChanged | None
    options: tuple[Option, ...]
    replay: tuple[Event, ...]  # what was told of the session before the answer


@dataclass(frozen=True, slots=True)
class PromptEnded:
    """The answer to a prompt."""

    stop_reason: str  # an open enumeration
    usage: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session that the agent says it has."""

    session_id: str
    cwd: str  # "" where it does not say
    title: str | None
    updated_at: str | None  # as the agent wrote it


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some of the agent's sessions; ``next`` asks for more, None where there are none."""

    sessions: tuple[ListedSession, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text block of a prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class LinkBlock:
    """A file named in a prompt, not its contents."""

    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image of a prompt."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A file of a prompt, whole; as text where it is one."""

    uri: str
    mime: str
    content: str | bytes


PromptBlock = TextBlock | LinkBlock | ImageBlock | FileBlock

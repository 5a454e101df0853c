"""Events, answers and prompt blocks of the protocol, as frozen dataclasses.

The shape is that of ACP v2: upserts by id in which None means *unchanged*, open enumerations kept as text, unknown
kinds kept instead of dropped. All text is untrusted; it is made safe where it is drawn or printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from catena_acp.port.elicitation.requests import Elicitation, ElicitationAnswer
from catena_store.records import Attachment

# Subagent: its words, which the agent hears and the person may read.
Role = Literal["user", "agent", "thought", "subagent"]


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Text to append to a message; a new message begins where role or id differ from the previous chunk."""

    role: Role
    text: str
    message_id: str | None
    subagent_of: str | None = None  # the tool call that started the subagent whose words these are


@dataclass(frozen=True, slots=True)
class OtherContent:
    """Content of a message that is not text: an image, audio, a resource or a resource link."""

    role: Role
    kind: str
    description: str  # one line: kind, name, type and size
    message_id: str | None
    raw: Mapping[str, Any]
    subagent_of: str | None = None
    image: Attachment | None = None  # checked: an image by its bytes
    address: str = ""  # of a page on the web that a link leads to


@dataclass(frozen=True, slots=True)
class Location:
    """A file, and a line in it, that a tool call touches."""

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class ToolText:
    """Text output of a tool call."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolDiff:
    """A change of a file by a tool call; ``old`` is None for a new file."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class ToolTerminal:
    """Reference to a terminal whose output belongs to a tool call."""

    terminal_id: str


@dataclass(frozen=True, slots=True)
class ToolOther:
    """Any other content of a tool call, described in one line."""

    kind: str
    description: str
    image: Attachment | None = None  # checked: an image by its bytes


ToolContent = ToolText | ToolDiff | ToolTerminal | ToolOther


@dataclass(frozen=True, slots=True)
class ToolCallChanged:
    """A new or changed tool call; None means unchanged."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None  # read, edit, delete, move, search, execute, think, fetch, switch_mode, other, …
    status: str | None = None  # pending, in_progress, completed, failed, …
    name: str | None = None
    locations: tuple[Location, ...] | None = None
    content: tuple[ToolContent, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None
    subagent_of: str | None = None  # the tool call that started the subagent that made this one
    background: str | None = None  # the agent's id of the work that goes on after the call has returned
    # Why the rest may not be all that it is about: something was cut or could not be read.
    doubt: str | None = None
    # Done by Catena itself at the agent's request; the agent knows nothing of this id.
    by_client: bool = False


@dataclass(frozen=True, slots=True)
class TerminalChanged:
    """What a terminal that we run for the agent shows now; ``over`` once its command has ended."""

    terminal_id: str
    output: str  # its newest lines, in which SGR sequences are the only control characters
    hidden_lines: int = 0  # above them, not kept
    exit_code: int | None = None
    signal: str | None = None  # that ended it
    over: bool = False


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One entry of a plan."""

    text: str
    status: str  # pending, in_progress, completed
    priority: str  # high, medium, low


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """A complete plan; it replaces an earlier one with the same id."""

    entries: tuple[PlanEntry, ...]
    plan_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A slash command of the agent."""

    name: str
    description: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class CommandsChanged:
    """The complete list of the agent's slash commands."""

    commands: tuple[AgentCommand, ...]


@dataclass(frozen=True, slots=True)
class ConfigChoice:
    """One possible value of a mode or config option."""

    id: str
    name: str
    description: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A config option of a session."""

    id: str
    name: str
    category: str | None  # mode, model, thought_level, model_config, …
    kind: str  # select, boolean; other kinds are stored but not offered
    value: str | bool
    choices: tuple[ConfigChoice, ...]
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ModesChanged:
    """The session's modes and the current one; ``modes`` is None if only the current one changed."""

    current: str
    modes: tuple[ConfigChoice, ...] | None = None


@dataclass(frozen=True, slots=True)
class OptionsChanged:
    """The complete list of a session's config options; if it has any, modes are ignored."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """A session title from the agent; None clears it."""

    title: str | None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Context use and total cost of a session, in tokens and ``currency``."""

    used: int
    size: int
    cost: float | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class BackgroundWorkEnded:
    """The agent's word that some of its background work is over, without saying which."""


RetryReason = Literal["rate_limited", "server_error", "timed_out", "connection", "unknown"]


@dataclass(frozen=True, slots=True)
class ModelRetried:
    """The agent's word that a call of its model failed, and that it tries again by itself."""

    reason: RetryReason
    status: int | None = None  # of HTTP, from 100 to 599


@dataclass(frozen=True, slots=True)
class NoticeReported:
    """A notice from the agent for the person; a kind of notice with facts of its own is a subclass."""

    text: str
    level: str

    @property
    def data(self) -> dict[str, Any]:
        """The facts beside the text that are kept, as JSON."""
        return {"level": self.level}


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """Progress or result of a compaction of the agent's context."""

    text: str | None
    status: str | None
    compaction_id: str | None = None  # whose updates it is one of, also behind its end


@dataclass(frozen=True, slots=True)
class UnknownUpdate:
    """A session update of an unknown kind, unchanged."""

    kind: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One option of a permission request; kinds allow_once, allow_always, reject_once, reject_always, or others."""

    id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """A permission request, to be answered with ``Agent.answer_permission(ask_id, …)``."""

    ask_id: str
    tool_call: ToolCallChanged
    options: tuple[PermissionOption, ...]


@dataclass(frozen=True, slots=True)
class PermissionWithdrawn:
    """The end of a permission request that the agent withdrew or can no longer receive an answer to."""

    ask_id: str


@dataclass(frozen=True, slots=True)
class ElicitationRequested:
    """A form or a web page that the agent asks for, to be answered with ``Agent.answer_elicitation(ask_id, …)``."""

    ask_id: str
    request: Elicitation
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ElicitationAnswered:
    """The answer to an elicitation; `cancel` also where the agent withdrew it, or can no longer receive one."""

    ask_id: str
    request: Elicitation
    answer: ElicitationAnswer


@dataclass(frozen=True, slots=True)
class ElicitationCompleted:
    """The agent's word that what was to be done on a web page is done."""

    ask_id: str


# The events that become rows; between turns, all others are handled elsewhere.
TranscriptEvent = (
    TextChunk
    | OtherContent
    | ToolCallChanged
    | PlanChanged
    | NoticeReported
    | ContextCompacted
    | UnknownUpdate
)
StateEvent = (
    CommandsChanged
    | ModesChanged
    | OptionsChanged
    | TitleChanged
    | UsageReported
    | BackgroundWorkEnded
    | ModelRetried
)
ElicitationEvent = ElicitationRequested | ElicitationAnswered | ElicitationCompleted
QuestionEvent = PermissionRequested | PermissionWithdrawn | ElicitationEvent
Event = TranscriptEvent | TerminalChanged | StateEvent | QuestionEvent


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """Result of `session/new`, resume, load or fork."""

    session_id: str  # from the answer, or the requested one where the answer has none
    modes: ModesChanged | None
    options: tuple[Option, ...]
    replay: tuple[Event, ...]  # events of the session that came before the answer


@dataclass(frozen=True, slots=True)
class TypedFailure:
    """A failure of a turn that the agent names beside the protocol, in the `_meta` of its answer."""

    category: str  # connection, access, limit, request, service, unknown, …
    title: str
    details: str | None
    actions: tuple[str, ...]  # retry, login, new_session, …


@dataclass(frozen=True, slots=True)
class PromptEnded:
    """Result of `session/prompt`."""

    stop_reason: str  # an open enumeration
    usage: Mapping[str, Any] | None
    failure: TypedFailure | None = None


@dataclass(frozen=True, slots=True)
class ListedSession:
    """One session in a `session/list` answer."""

    session_id: str
    cwd: str  # "" where the agent does not say
    title: str | None
    updated_at: str | None  # as the agent wrote it


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of `session/list`; ``next`` is the cursor of the next page, None on the last."""

    sessions: tuple[ListedSession, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text block of a prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class LinkBlock:
    """A link to a file in a prompt, without its contents."""

    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image block of a prompt."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class AudioBlock:
    """A sound in a prompt."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A file embedded in a prompt; text files as ``str``."""

    uri: str
    mime: str
    content: str | bytes


PromptBlock = TextBlock | LinkBlock | ImageBlock | AudioBlock | FileBlock

"""Records of the tables, as frozen dataclasses, and the enumerations of their columns.

An ``id`` is text and never changes; the integers of the tables never leave the store. A pointer into the tree that is
None is the root, the empty branch. Times are aware datetimes in UTC, to the millisecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The kind of a message row; USER, AGENT and TOOL rows are content, the others stand beside it in the tree."""

    USER = "user"
    AGENT = "agent"
    THOUGHT = "thought"
    TOOL = "tool"
    PLAN = "plan"
    NOTICE = "notice"
    SEAM = "seam"


class PromptOrigin(StrEnum):
    """Where the text of a user row came from, if the person did not type it here; kept as ``origin`` in its data."""

    AGENT = "agent"  # an agent sent it as the person's words
    IMPORT = "import"  # a file had it: a document of another Catena, or a transcript of another tool


CONTENT_KINDS = frozenset({Kind.USER, Kind.AGENT, Kind.TOOL})
SPOKEN_KINDS = frozenset({Kind.USER, Kind.AGENT})
# Of tool calls, by the protocol.
LOOKING_KINDS = frozenset({"read", "search", "fetch", "think", "switch_mode"})


class MessageState(StrEnum):
    """The state of a message: still growing, complete, cut short, or accepted by no agent."""

    OPEN = "open"
    FINAL = "final"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"


class ContextSource(StrEnum):
    """How a turn's context reached the agent."""

    CONTINUED = "continued"
    RESUMED = "resumed"
    FORKED = "forked"
    FORKED_AT = "forked_at"
    CAUGHT_UP = "caught_up"
    TOLD = "told"
    FRESH = "fresh"


class StopReason(StrEnum):
    """Why a turn ended. The first five are the protocol's; the others are ours."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    MAX_TURN_REQUESTS = "max_turn_requests"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"
    ERROR = "error"  # the agent answered the prompt with an error
    AGENT_GONE = "agent_gone"  # its process ended, or its connection
    INTERRUPTED = "interrupted"  # we were gone; how it ended was never seen
    NOT_SENT = "not_sent"  # no agent accepted the prompt

    @property
    def clean(self) -> bool:
        """True where the agent took the prompt and answered it."""
        return self in (StopReason.END_TURN, StopReason.MAX_TOKENS, StopReason.MAX_TURN_REQUESTS)


class LinkState(StrEnum):
    """The state of a link: usable, for forking only, for forking at a message only, or not usable."""

    OPEN = "open"
    PARKED = "parked"
    SUSPECT = "suspect"
    LOST = "lost"


class Cause(StrEnum):
    """The cause of a link."""

    NEW = "new"
    FORK = "fork"
    FORK_AT = "fork_at"
    PARK = "park"
    ASIDE = "aside"
    PROBE = "probe"
    IMPORT = "import"
    COPY = "copy"  # of a session's transcript, for another directory or account


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A conversation: a tree of messages with an id of ours."""

    id: str
    family: str  # the conversation at the root of its forks: its own id if it is no fork
    title: str | None
    agent: str  # the agent that the next prompt goes to: a catalogue name, or `command:` and its argv
    profile: str
    cwd: str
    fork_point_id: str | None  # the row of the source that is the parent of its first row
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """One row of the tree."""

    id: str
    conversation_id: str  # where the row was born; walks cross it
    parent_id: str | None
    turn_id: str | None
    kind: Kind
    state: MessageState
    text: str
    data: Mapping[str, Any]
    link_id: str | None  # the link that it travelled on
    agent_message_id: str | None  # the agent's own id for it: a message id or a tool call id
    barrier: bool  # `/clear`: a path starts after its last barrier
    depth: int  # rows above it, 0 for a first row
    created_at: datetime
    took: float | None = None  # seconds of work, of the turn whose last row this is, if its end was seen

    @property
    def is_prompt(self) -> bool:
        """True for a user row that began a turn."""
        return self.kind is Kind.USER and not self.steered

    @property
    def steered(self) -> bool:
        """True for what was said into a running turn."""
        return bool(self.data.get("steered"))

    @property
    def subagent_of(self) -> str:
        """The agent's id of the tool call that started the subagent whose row this is; "" for any other row."""
        return str(self.data.get("subagent_of") or "")


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A message with the end of the turn that it belongs to, if that has ended."""

    message: Message
    stop_reason: StopReason | None
    error: str | None  # the turn's
    more: bool = False  # the turn has messages or tool calls below this row, on the branch or elsewhere


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a row on its branch, counted from below the last barrier; by default that before the first row."""

    position: int = 0  # rows to here, this one included
    spoken: int = 0  # user and agent rows
    tools: int = 0

    @property
    def content(self) -> int:
        """The content rows to here."""
        return self.spoken + self.tools


@dataclass(frozen=True, slots=True)
class Path:
    """The path to a prompt from below the last barrier, as far as it was asked for.

    It knows the rows that it was read for, and no others.
    """

    prompt_id: str  # empty for a prompt that is in no row yet
    above: Place  # of the row that the prompt hangs from
    places: Mapping[str, Place]  # of the rows that it was read for and that lie above the prompt

    def position(self, row_id: str | None) -> int:
        """Rows from the beginning to this one; 0 for the root, and for a row that is not on the path."""
        if row_id is not None and row_id == self.prompt_id:
            return self.above.position + 1
        return self._place(row_id).position

    def holds(self, row_id: str) -> bool:
        """True for every row of the path, the prompt's own included."""
        return row_id in self.places or row_id == self.prompt_id

    def holds_before_prompt(self, row_id: str) -> bool:
        """True for every row of the path but the prompt's own."""
        return row_id in self.places

    def content_after(self, row_id: str | None) -> int:
        """Content rows strictly between this row and the prompt."""
        return self.above.content - self._place(row_id).content

    def unknown_to(self, knows: str | None) -> tuple[int, int]:
        """Spoken rows and tool calls strictly between ``knows`` and the prompt."""
        known = self._place(knows)
        return self.above.spoken - known.spoken, self.above.tools - known.tools

    def _place(self, row_id: str | None) -> Place:
        return Place() if row_id is None else self.places.get(row_id, Place())


@dataclass(frozen=True, slots=True)
class Turn:
    """One attempt at a prompt, open while ``stop_reason`` is None."""

    id: str
    conversation_id: str
    prompt_id: str
    link_id: str  # the link that carried it
    base_link_id: str | None  # the link whose knowledge it built on: itself or its fork's source, if any
    window_id: str | None
    last_id: str  # the turn's last row; the prompt itself until there is another
    how: ContextSource
    cause: str | None  # in words, why context took another way; None where it did not
    told_from: str | None  # first and last row told as prior context
    told_to: str | None
    told: int  # user and agent rows told
    told_total: int  # user and agent rows that the session did not know
    tools_listed: int
    tools_left_out: int
    left_out: int  # user and agent rows of the branch that were left out
    shortened: int  # of those that were told
    masked: int  # secrets that were masked in what was told of tool calls
    unabridged_from: str | None  # rows before it may be abridged in the session after this turn
    prior_context: str | None  # the exact text sent
    stop_reason: StopReason | None
    error: str | None  # the agent's words, or ours, where it did not end well
    usage: Mapping[str, Any] | None
    cost: float | None  # difference to the session's total before
    currency: str | None
    model: str | None
    mode: str | None
    started_at: datetime
    ended_at: datetime | None
    kept: str | None = None  # what its session was taken to keep of a bad end: "prompt" or "all"
    waited: int = 0  # milliseconds, for the answers of the person

    @property
    def clean(self) -> bool:
        """True if the agent took the prompt and answered it, with more than an error in words."""
        return self.stop_reason is not None and self.stop_reason.clean and self.error is None

    @property
    def seconds(self) -> float:
        """The seconds for which the agent worked, without its waits for the person; 0 until it has ended."""
        lasted = (self.ended_at - self.started_at).total_seconds() if self.ended_at else 0.0
        return max(0.0, lasted - self.waited / 1000)


@dataclass(frozen=True, slots=True)
class TurnEnvironment:
    """The environment of a turn; a field is empty or None if it has no value or is not known."""

    turn_id: str
    options: Mapping[str, str | bool] = field(default_factory=dict)  # of the session, by the option's id
    directories: tuple[str, ...] = ()  # beside the working directory
    git_branch: str | None = None  # None on a commit of no branch
    git_worktree: str | None = None  # its top directory
    git_commit: str | None = None
    context_used: int | None = None  # tokens in the session when the turn ended, of context_size
    context_size: int | None = None


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """A session option that the person set in a window."""

    option: str
    value: str | bool
    chosen_at: datetime


@dataclass(frozen=True, slots=True)
class Expense:
    """The cost of the turns of one agent, profile and model, in one currency."""

    agent: str
    profile: str
    model: str | None
    currency: str | None
    turns: int
    cost: float | None  # None where none of the turns has one
    input_tokens: int  # as the agent reported them
    output_tokens: int
    total_tokens: int
    # It is not known whether they were those of a turn, or of the session so far.
    tokens_at_least: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A link: our record of one session in a conversation's chain.

    ``knows`` is the floor: the session holds at least the path to there. ``reach`` is the ceiling: it may
    hold up to there. Rows before ``unabridged_from`` may be abridged in it.
    """

    id: str
    conversation_id: str
    agent: str
    profile: str
    session_id: str
    cwd: str
    cause: Cause
    source_id: str | None  # the link it was forked from
    base: str | None
    knows: str | None
    reach: str | None
    unabridged_from: str | None
    state: LinkState
    owner: str | None  # the window whose prompts it carries
    version: int  # counts up with every change of the above
    cost_total: float | None  # the session's reported total when last seen
    ended: str | None  # in words, why it is no longer used
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LinkEvent:
    """One event in the append-only record of a conversation's chain."""

    conversation_id: str
    link_id: str
    event: str
    detail: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Owner:
    """A client process, distinct from any later one with the same pid."""

    id: str
    host: str
    pid: int
    started: str  # start time of the process, as the system has it


@dataclass(frozen=True, slots=True)
class AgentGroup:
    """The process group of an agent that a lease's owner runs."""

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one client process to prompt in a conversation."""

    conversation_id: str
    owner: Owner
    epoch: int
    heartbeat_at: datetime
    agents: tuple[AgentGroup, ...]


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """A tab: a conversation, a leaf in it, a draft and a scroll position."""

    id: str
    workspace_id: str | None  # None for a headless run
    position: int
    conversation_id: str
    leaf_id: str | None
    draft: str
    scroll: int | None  # rows hidden above the top line, None at the end (following)
    pane: int | None = None  # its place among the tabs that stand side by side, from the left
    pieces: tuple[str, ...] = ()  # pastes, each of which stands in the draft as one


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory that Catena was started in, with its tabs."""

    id: str
    directory: str
    active_window_id: str | None
    owner: Owner | None
    heartbeat_at: datetime | None


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A queued prompt; it is not in the tree."""

    id: str
    window_id: str
    position: int
    text: str
    held: bool  # until the person releases it, after an error
    data: Mapping[str, Any]
    created_at: datetime

    @property
    def cwd(self) -> str | None:
        """The directory that it was typed in."""
        return self.data.get("cwd")

    @property
    def model(self) -> str | None:
        """The name of the model that was in force when it was typed, None where none was known."""
        return self.data.get("model")

    @property
    def mode(self) -> str | None:
        """The id of the mode that was in force when it was typed, None where none was known."""
        return self.data.get("mode")

    @property
    def attachments(self) -> tuple[str, ...]:
        """The names of its attachments."""
        return tuple(str(entry.get("name")) for entry in self.data.get("attachments") or ())

    @property
    def steering(self) -> Mapping[str, str] | None:
        """Turn, link and future row, while the prompt is being steered into a running turn."""
        return self.data.get("steering")

    @property
    def edits(self) -> str | None:
        """The prompt that this text is to replace, while the edit waits for the running turn to stop."""
        return self.data.get("edits")

    @property
    def waits(self) -> bool:
        """True while it waits for its turn, and is not on its way into a running turn or to another branch."""
        return not (self.steering or self.edits)


DIRECTORY, FILE = "inode/directory", "inode/file"  # media types of attachments without bytes


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file or an image that goes with a prompt, with its bytes."""

    sha256: str
    mime: (
        str  # DIRECTORY or FILE where only the path goes with the prompt: a file may be too large to be text
    )
    name: str  # of one that the prompt mentions, as it stands there: `@src/app.py:10-20`
    path: str | None  # where it came from
    content: bytes  # of a mention of some lines, just these

    @property
    def kept(self) -> bool:
        """True where its bytes are kept; else an agent gets a link."""
        return self.mime not in (DIRECTORY, FILE)

    @property
    def mentioned(self) -> bool:
        """True where the text of the prompt mentions it, and it goes when the mention goes."""
        own_name = (self.path or "").rpartition("/")[2]
        return self.path is not None and self.name.startswith("@") and self.name != own_name

    def described(self) -> dict[str, Any]:
        """All but the bytes, as the data of a message or of a queued prompt has it."""
        told: dict[str, Any] = {"name": self.name, "mime": self.mime}
        if self.kept:
            told |= {"size": len(self.content), "sha256": self.sha256}
        return {**told, "path": self.path} if self.path else told


@dataclass(frozen=True, slots=True)
class Summary:
    """A conversation as a list shows it."""

    id: str
    title: str | None
    agent: str
    profile: str
    cwd: str
    messages: int  # user and agent rows born in it
    preview: str  # the beginning of its first prompt
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message found by a search."""

    message_id: str
    conversation_id: str
    snippet: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewLink:
    """The fields that are needed to add a link to a chain; the pointers are as in ``Link``."""

    id: str
    conversation_id: str
    agent: str
    profile: str
    session_id: str
    cwd: str
    cause: Cause
    source_id: str | None = None
    base: str | None = None
    knows: str | None = None
    reach: str | None = None
    unabridged_from: str | None = None
    state: LinkState = LinkState.OPEN
    owner: str | None = None
    cost_total: float | None = None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to be added."""

    id: str
    conversation_id: str
    parent_id: str | None
    kind: Kind
    text: str = ""
    state: MessageState = MessageState.FINAL
    turn_id: str | None = None
    link_id: str | None = None
    agent_message_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    barrier: bool = False
    created_at: datetime | None = None  # of what was said elsewhere; None: now

    def as_stored(self, *, depth: int, at: datetime) -> Message:
        """The message that it becomes so many rows below the first one, created now, ``at``."""
        given = {name: getattr(self, name) for name in self.__slots__}
        return Message(**given | {"depth": depth, "created_at": self.created_at or at})

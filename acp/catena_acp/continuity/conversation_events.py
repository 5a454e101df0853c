"""Events that a conversation publishes to its listeners: a screen, a headless run, a test.

Everything published has been committed before, except the text of a growing message, which is at most 250 ms ahead
of the store. Listeners are called on the event loop, in order, and must neither block nor raise. Each event names
the window whose turn it belongs to; a listener for one window ignores the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from catena_acp.port.abilities import ImageLimits
from catena_acp.port.elicitation.requests import Elicitation
from catena_acp.port.session_events import (
    AgentCommand,
    ConfigChoice,
    ModelRetried,
    Option,
    PermissionOption,
    ToolCallChanged,
)
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store.records import Attachment, Link, Message, QueueItem, Turn

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.permissions.subject import RequestSubject


class Doing(StrEnum):
    """What a window's conversation is doing."""

    IDLE = "idle"
    STARTING = "starting"  # the agent's process
    OPENING = "opening"  # a session: new, resumed, forked
    LONG_OPENING = "long_opening"  # likewise, for so long that the person may go on without it
    LOGGING_IN = "logging_in"  # the agent waits until the person has logged in
    WORKING = "working"
    ASKING = "asking"  # the agent waits for a permission, or for what it asked the person
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something went wrong: what happened, what it means and what can be done, in one line."""

    trouble: Trouble
    text: str
    detail: tuple[str, ...] = ()  # the agent's last stderr lines
    offers: tuple[Offer, ...] = ()  # what can be done about it, best first
    resets_at: datetime | None = None  # when a limit ends, where the agent says so
    returned: bool = False  # the prompt's text is back in the composer


@dataclass(frozen=True, slots=True)
class Usage:
    """The context window and the cost so far, as the agent reports them."""

    used: int
    size: int
    cost: float | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state of the session that carries a window, as far as it is known."""

    agent_title: str
    agent_version: str = ""
    link_id: str | None = None
    mode: str | None = None  # the id of the mode in force
    modes: tuple[ConfigChoice, ...] = ()
    model: str | None = None  # its name, from the option of category `model`
    options: tuple[Option, ...] = ()
    commands: tuple[AgentCommand, ...] | None = None  # None until the agent has announced them
    usage: Usage | None = None
    images: bool | None = None  # whether prompts may hold images; None until the agent has said so
    image_limits: ImageLimits = field(default_factory=ImageLimits)


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A row was added at the end of the window's branch."""

    window_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class MessageGrew:
    """A growing message got more text."""

    window_id: str
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """A row has another state or content; the whole record is in here."""

    window_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class LeafMoved:
    """The window's leaf moved: its branch is to be read anew."""

    window_id: str
    leaf_id: str | None


@dataclass(frozen=True, slots=True)
class PlaceMoved:
    """The place of the conversation was moved, by this window of it or another one of this client."""

    window_id: str
    turns: int  # on the branch of the place that are not on the window's


@dataclass(frozen=True, slots=True)
class PromptReturned:
    """No agent accepted the prompt, or it was taken out of the queue: it belongs back in the composer."""

    window_id: str
    text: str
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A session was claimed for the prompt; ``turn.how`` tells how its context got there."""

    window_id: str
    turn: Turn


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over, and its last byte committed. Published exactly once for every prompt."""

    window_id: str
    turn: Turn | None  # None if no session was ever claimed
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class DoingChanged:
    """The activity of the window's conversation changed."""

    window_id: str
    doing: Doing
    since: float  # time.monotonic() of the beginning of the turn, later by what it has waited for the person
    retried: ModelRetried | None = None  # a call of the model failed, and the agent just tries it again


@dataclass(frozen=True, slots=True)
class PermissionOpened:
    """The agent requests a permission; answer with ``Conversation.answer``."""

    window_id: str
    ask_id: str
    subject: RequestSubject  # of the call, completed from what was reported before if the request names only its id
    options: tuple[PermissionOption, ...]
    subagent: str = ""  # the task of the subagent that asks; "" if none does
    changed: tuple[str, ...] = ()  # what of the call is not as it was first asked; told anew with each change

    @property
    def tool_call(self) -> ToolCallChanged:
        """The call as it was sent."""
        return self.subject.call


@dataclass(frozen=True, slots=True)
class PermissionClosed:
    """The permission request is no longer open."""

    window_id: str
    ask_id: str


@dataclass(frozen=True, slots=True)
class ElicitationOpened:
    """The agent asks for a form or a web page; answer with ``Conversation.answer_elicitation``.

    Published again with ``opened`` when the person opened the web page: the agent goes on, and may say when it is done.
    """

    window_id: str
    ask_id: str
    agent_title: str
    request: Elicitation
    opened: bool = False


@dataclass(frozen=True, slots=True)
class ElicitationClosed:
    """The form or web page is no longer open; ``sent`` if the person accepted it."""

    window_id: str
    ask_id: str
    sent: bool


Question = PermissionOpened | ElicitationOpened


@dataclass(frozen=True, slots=True)
class BackgroundChanged:
    """Work that outlives its turn began or ended in the window."""

    window_id: str


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """The session's state changed."""

    window_id: str
    session: SessionState


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The prompts in the window's queue changed."""

    window_id: str
    items: tuple[QueueItem, ...]


@dataclass(frozen=True, slots=True)
class Renamed:
    """The conversation has another title."""

    window_id: str
    title: str | None


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """A link of the chain was born, lost or became suspect; ``why`` in words, if there is a reason."""

    window_id: str
    link: Link
    why: str | None


@dataclass(frozen=True, slots=True)
class HoldChanged:
    """The conversation's lease changed hands: it is ours, another client's, or that of one that is gone."""

    window_id: str
    read_only: bool
    free: bool  # no living client holds it


@dataclass(frozen=True, slots=True)
class Remarked:
    """A remark in one line that needs no action."""

    window_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Troubled:
    """Something went wrong outside of a turn."""

    window_id: str
    problem: Problem


ConversationEvent = (
    MessageAdded
    | MessageGrew
    | MessageChanged
    | LeafMoved
    | PlaceMoved
    | PromptReturned
    | TurnStarted
    | TurnEnded
    | DoingChanged
    | PermissionOpened
    | PermissionClosed
    | ElicitationOpened
    | ElicitationClosed
    | SessionChanged
    | QueueChanged
    | Renamed
    | Troubled
    | Remarked
    | LinkChanged
    | HoldChanged
    | BackgroundChanged
)

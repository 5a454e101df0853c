"""What is known of one tab, whether or not it is on the screen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from catena_acp.conversation.news import (
    Asked,
    AskSettled,
    Doing,
    DoingChanged,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    News,
    PromptReturned,
    QueueChanged,
    Renamed,
    SessionChanged,
    SessionState,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_store.records import Kind, Message, MessageState, QueueItem

if TYPE_CHECKING:
    from catena_acp.conversation.conversation import Conversation

_TITLE_LENGTH = 60
_NEWS_DELAY = 1.0  # seconds that a turn's beginning may be old when it is told


@dataclass(slots=True)
class Tab:
    """One window of a conversation; it hears the news of its own turns only."""

    window_id: str
    conversation: Conversation
    kept: bool  # a window of the workspace, which comes back
    title: str = ""
    draft: str = ""
    scroll: int | None = None
    leaf_id: str | None = None
    doing: Doing = Doing.IDLE
    since: float = 0.0
    session: SessionState | None = None
    asks: list[Asked] = field(default_factory=list)
    queue: tuple[QueueItem, ...] = ()
    plan: Message | None = None
    unread: bool = False
    failed: bool = False
    prepared: bool = False  # its agent was asked to get ready
    sending: int = 0  # prompts on their way to the store; the draft is not ours to save meanwhile
    growing: dict[str, list[str]] = field(default_factory=dict)  # text heard of messages that still grow

    @property
    def agent(self) -> str:
        """The agent that its next prompt goes to, as the store names it."""
        return self.conversation.record.agent

    @property
    def untouched(self) -> bool:
        """True while nothing was said in it."""
        return self.leaf_id is None

    @property
    def busy(self) -> bool:
        """True while its agent starts, works, asks or stops."""
        return self.doing is not Doing.IDLE

    @property
    def mark(self) -> str:
        """What it is doing, in one cell."""
        if self.asks:
            return "?"
        if self.busy:
            return "⠋"
        if self.failed:
            return "!"
        return "•" if self.unread else ""

    def name(self) -> str:
        """What its tab is called."""
        return self.conversation.record.title or self.title or "new"

    def look(self) -> None:
        """The person sees it now."""
        self.unread = self.failed = False

    def heard_so_far(self, rows: Sequence[Message]) -> list[Message]:
        """Rows of the store with what was heard of those that still grow; what was told is never behind the store."""
        merged = []
        for row in rows:
            if row.id in self.growing:
                row = replace(row, text="".join(self.growing[row.id]), state=MessageState.OPEN)
            elif row.state is MessageState.OPEN and row.kind is not Kind.TOOL:
                self.growing[row.id] = [row.text]
            merged.append(row)
        return merged

    def hear(self, news: News, *, seen: bool) -> None:
        """Take one piece of news in; ``seen`` while the tab is on the screen of a person who looks at it."""
        match news:
            case MessageAdded(message=message):
                self._follow(message)
                self.leaf_id = message.id
                self.unread = self.unread or not seen
                if message.kind is Kind.USER and not self.title:
                    self.title = title_of(message.text)
            case MessageGrew(message_id=message_id, text=text):
                self.growing.setdefault(message_id, []).append(text)
            case MessageChanged(message=message):
                self._follow(message)
            case LeafMoved(leaf_id=leaf_id):
                self.leaf_id = leaf_id
                self.growing.clear()
                self.scroll = None
            case TurnStarted():
                self.failed = False
            case TurnEnded(problem=problem):
                self.growing.clear()
                self.failed = problem is not None and not seen
            case DoingChanged(doing=doing, since=since):
                # An agent that is only got ready has no turn, and the time of the last one says nothing.
                if self.doing is Doing.IDLE:
                    self.since = max(since, time.monotonic() - _NEWS_DELAY)
                self.doing = doing
            case Asked():
                self.asks.append(news)
            case AskSettled(ask_id=ask_id):
                self.asks = [ask for ask in self.asks if ask.ask_id != ask_id]
            case SessionChanged(session=session):
                self.session = session
            case QueueChanged(items=items):
                self.queue = items
            case PromptReturned(text=text):
                self.draft = f"{text}\n{self.draft}" if self.draft.strip() else text
            case Troubled():
                self.failed = not seen
            case Renamed(title=title):
                self.title = title or self.title
            case LinkChanged() | HoldChanged():
                pass
            case _:
                assert_never(news)

    def _follow(self, message: Message) -> None:
        if message.kind is Kind.PLAN:
            self.plan = message
        if message.state is MessageState.OPEN and message.kind is not Kind.TOOL:
            self.growing[message.id] = [message.text]
        else:
            self.growing.pop(message.id, None)


def title_of(prompt: str) -> str:
    """What a conversation is called before it has a title: the beginning of its first prompt."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"

"""The state of one tab, whether or not it is on the screen."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from catena.text.formats import joined
from catena.text.names import conversation_name, names_apart
from catena.text.safe_text import safe_line
from catena.workspace.files_along import FilesAlong
from catena.workspace.questions.forms import FormDraft
from catena.workspace.trouble import StandingTrouble, TabTrouble
from catena_acp.continuity.conversation_events import (
    BackgroundChanged,
    ConversationEvent,
    Doing,
    DoingChanged,
    ElicitationClosed,
    ElicitationOpened,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    PermissionClosed,
    PermissionOpened,
    PlaceMoved,
    PromptReturned,
    Question,
    QueueChanged,
    Remarked,
    Renamed,
    SessionChanged,
    SessionState,
    Troubled,
    TurnEnded,
    TurnStarted,
    Usage,
)
from catena_acp.continuity.routing.slash_commands import draft_of
from catena_acp.continuity.wording.counts import counted
from catena_acp.growing_text import GrowingText
from catena_acp.port.elicitation.requests import Form
from catena_acp.port.session_events import ModelRetried
from catena_acp.spoken.blocks import PlanStep
from catena_acp.spoken.spoken import Plan
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Trouble
from catena_store.records import Attachment, Kind, Message, MessageState, QueueItem, WindowRecord

if TYPE_CHECKING:
    from catena_acp.conversation.branches.files import CutRestore
    from catena_acp.conversation.conversation import Conversation
    from catena_acp.conversation.inspection.price import Price
    from catena_acp.conversation.inspection.todos import LeftOpen, Todo
    from catena_acp.conversation.prompts.window import Window
    from catena_acp.port.port import AgentSpec


@dataclass(frozen=True, slots=True)
class LeftEdit:
    """The text and files of an edit that was left, restored when the same prompt is edited again."""

    text: str
    files: tuple[Attachment, ...]


@dataclass(slots=True)
class Editing:
    """The edit of one prompt."""

    prompt: Message
    text: str  # in the composer
    files: tuple[Attachment, ...]  # attached to it
    read_at: int | None  # the scroll position before the edit
    price: str = ""  # what sending it would need, in words; "" until that is known
    price_in_brief: str = ""  # the same where there is little room
    priced_for: object = None  # what that depended on
    prompt_files: tuple[Attachment, ...] = ()
    along: FilesAlong = field(default_factory=FilesAlong)  # the files of the directory

    @property
    def differs(self) -> bool:
        """True if the text or the attachments of the prompt were changed."""
        return self.text != draft_of(self.prompt) or self.files != self.prompt_files


@dataclass(frozen=True, slots=True)
class NextPrice:
    """The price of a tab's next prompt, and the state of the tab that it depends on."""

    price: Price | None  # None where only the prompt would be sent, or it is not known
    depends_on: object


@dataclass(frozen=True, slots=True)
class FilesBehind:
    """Files that did not go along to the leaf where a tab stands."""

    leaf_id: str | None
    along: FilesAlong


@dataclass(frozen=True, slots=True)
class TurnsElsewhere:
    """Turns on the branch where a conversation went on that are not on the branch of a tab."""

    count: int

    def words(self, way: str) -> str:
        """How many they are, and the way there."""
        return f"{counted(self.count, 'later turn')} elsewhere: {way} goes there"


STOP_PATIENCE = 5.0  # seconds after which ending the agent's process is offered
_EVENT_DELAY = 1.0  # seconds that the beginning of a turn may lie back when its event comes


@dataclass(slots=True)
class Tab:
    """One window of a conversation; it handles only the events of its own window."""

    window: Window
    conversation: Conversation
    kept: bool  # a window of the workspace, which comes back
    among: Sequence[Tab] = field(default=(), compare=False, repr=False)  # the open tabs, itself one of them
    first_prompt: str = ""  # that was born in the conversation
    source: str = ""  # the name of what it was forked from, if it has no prompt of its own yet
    draft: str = ""
    scroll: int | None = None
    leaf_id: str | None = None
    doing: Doing = Doing.IDLE
    since: float = 0.0
    heard_at: float = 0.0  # when the agent's last word came, by the clock of ``since``
    stopping_since: float = 0.0  # when it was asked to stop, by the same clock
    retried: ModelRetried | None = None  # what the agent tries again
    session: SessionState | None = None
    asks: list[Question] = field(default_factory=list)  # what waits for the person before what was opened
    forms: dict[str, FormDraft] = field(default_factory=dict)  # what is filled in, by question
    queue: tuple[QueueItem, ...] = ()
    plan: Message | None = None
    todos: tuple[Todo, ...] | None = None  # read from answers; None until the branch was read
    unread: bool = False
    failed: bool = False
    trouble: TabTrouble = field(default_factory=TabTrouble)
    draft_files: tuple[Attachment, ...] = ()
    taken_paths: set[str] = field(default_factory=set)  # that were offered, and taken into its text
    prepared: bool = False  # its session was prepared
    moving: int = 0  # steps under way that move it to another leaf; its draft is not ours to save meanwhile
    # Published text of messages that still grow.
    growing: dict[str, GrowingText] = field(default_factory=dict)
    editing: Editing | None = None  # a prompt is in the composer to be sent again, and the draft waits
    left_edits: dict[str, LeftEdit] = field(default_factory=dict)  # by prompt
    behind: FilesBehind | None = None  # it went elsewhere, and its files did not
    elsewhere: TurnsElsewhere | None = None  # where the conversation went on, while the tab stays
    added: int = 0  # turns from elsewhere that it went along with, and the person has not been told of
    cut: CutRestore | None = None  # a change of files that was cut off, and waits for a decision
    heard: int = 0  # events but those of growing texts, on which the price of the next prompt may depend
    next_price: NextPrice | None = None  # of the next prompt, as far as it was read

    @property
    def window_id(self) -> str:
        """The id of its window."""
        return self.window.id

    @property
    def agent(self) -> str:
        """The agent that its next prompt goes to, as the store names it."""
        return self.conversation.record.agent

    @property
    def profile(self) -> str:
        """The profile of that agent."""
        return self.conversation.record.profile

    def answered_by(self, spec: AgentSpec) -> bool:
        """True if the next prompt goes to this agent and profile."""
        return (self.agent, self.profile) == (spec.name, spec.profile)

    def title_of(self, spec: AgentSpec) -> str:
        """What a person reads for an agent, as it calls itself if it is a command without a title."""
        return self.conversation.tree.title_of(spec.name, spec.profile)

    @property
    def agent_title(self) -> str:
        """The name of its session's agent; unsafe."""
        return (self.session or self.window.session).agent_title

    async def agents_used(self) -> dict[str, str]:
        """The stored names of the agents that its conversation was led with lately, and what they are called."""
        chain = await self.conversation.chain.read(self.window)
        return {entry.link.agent: entry.agent_title for entry in chain.entries}

    def added_words(self) -> str:
        """Take the news of turns added from elsewhere, told only once; "" if there are none."""
        count, self.added = self.added, 0
        return f"{counted(count, 'later turn')} from elsewhere." if count else ""

    @property
    def untouched(self) -> bool:
        """True while its branch is empty."""
        return self.leaf_id is None

    @property
    def written(self) -> str:
        """The text in the composer: the draft, or the prompt that is edited."""
        return self.editing.text if self.editing else self.draft

    @property
    def along(self) -> FilesAlong | None:
        """The files that the edit, or the last move, may take along; None if there is nothing to choose."""
        if self.editing is not None:
            found: FilesAlong | None = self.editing.along
        else:
            found = self.behind.along if self.behind and self.behind.leaf_id == self.leaf_id else None
        return found if found is not None and found.offered else None

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The attachments of that text."""
        return self.editing.files if self.editing else self.draft_files

    @attachments.setter
    def attachments(self, files: tuple[Attachment, ...]) -> None:
        if self.editing:
            self.editing.files = files
        else:
            self.draft_files = files

    @property
    def attached_files(self) -> tuple[Attachment, ...]:
        """The attachments that the text does not mention."""
        return tuple(file for file in self.attachments if not file.mentioned)

    def write(self, text: str) -> bool:
        """Take over the composer's text; False if it has not changed."""
        if self.written == text:
            return False
        if self.editing:
            self.editing.text = text
        else:
            self.draft = text
        return True

    def restore(self, text: str, files: Sequence[Attachment] = ()) -> None:
        """Restore a text that was not sent to the draft, before what was written meanwhile."""
        self.draft_files = (*files, *self.draft_files)
        self.draft = f"{text}\n{self.draft}" if self.draft.strip() else text

    def leave_edit(self) -> None:
        """Restore the draft and its attachments in place of an edited prompt, whose changes are kept for later."""
        if (editing := self.editing) is None:
            return
        if editing.differs:
            self.left_edits[editing.prompt.id] = LeftEdit(editing.text, editing.files)
        else:
            self.left_edits.pop(editing.prompt.id, None)
        self.editing = None

    def append(self, text: str) -> None:
        """Put a text behind what is written in the composer."""
        self.write(joined(self.written.rstrip(), text))

    def unsent(self) -> tuple[str, tuple[Attachment, ...]]:
        """Everything that was written here and not sent, in one text: a draft after the edit that it waits for."""
        edit = self.editing
        if edit is None or not edit.differs:
            return self.draft, self.draft_files
        return joined(edit.text, self.draft), (*edit.files, *self.draft_files)

    @property
    def busy(self) -> bool:
        """True while its agent starts, works, asks or stops."""
        return self.doing is not Doing.IDLE

    @property
    def at_work(self) -> bool:
        """True while its agent has a prompt, or a login, and not only gets ready for one."""
        return self.doing not in (Doing.IDLE, Doing.STARTING, Doing.OPENING, Doing.LONG_OPENING)

    @property
    def mark(self) -> str:
        """What it is doing, in one cell."""
        if any(not _is_opened(ask) for ask in self.asks):
            return "?"
        if self.busy:
            return "◐"
        if self.failed:
            return "!"
        if self.unread:
            return "•"
        return "◇" if self.conversation.read_only else ""

    @property
    def stop_unheeded(self) -> bool:
        """True if its agent goes on for a while after it was asked to stop."""
        return self.doing is Doing.STOPPING and time.monotonic() - self.stopping_since >= STOP_PATIENCE

    def open_work(self) -> tuple[Sequence[PlanStep], str]:
        """The open work as a checklist, and its source where that is not a plan."""
        if self.plan is not None:
            return Plan.of(self.plan).steps, ""
        todos = [PlanStep(todo.text, "completed" if todo.done else "pending") for todo in self.todos or ()]
        return todos, "from its last answer"

    def take_left_open(self, left: LeftOpen, *, plan_before: Message | None) -> None:
        """Take over the plan and todos found on the branch, unless a newer plan was published meanwhile.

        Todos show where the branch comes back with them, and go with the answers that tick them.
        """
        known = self.plan.id if self.plan else None
        found = left.plan.id if left.plan else None
        if self.plan is plan_before and found != known:
            self.plan = left.plan
        if self.todos is None or self.todos:
            self.todos = left.todos

    @property
    def trouble_to_show(self) -> StandingTrouble | None:
        """The trouble to show: none while a permission request is open; in a read-only conversation only READ_ONLY."""
        standing = self.trouble.standing
        if self.asks or standing is None:
            return None
        about_reading = standing.problem.trouble is Trouble.READ_ONLY
        return standing if about_reading or not self.conversation.read_only else None

    def reload(self, window: WindowRecord) -> None:
        """Reload leaf, draft and scroll position from the stored window."""
        self.leaf_id, self.draft, self.scroll = window.leaf_id, window.draft, window.scroll
        self.growing.clear()
        self.plan = self.todos = self.editing = None

    def change_conversation(self, conversation: Conversation) -> None:
        """Switch to another conversation, and forget what was known of the one before."""
        self.conversation = conversation
        self.window = conversation.window(self.window_id)
        self.doing, self.retried = self.window.doing, self.window.retried
        self.session = self.window.session
        self.asks = self.window.asked
        self.unread = self.failed = self.prepared = False
        self.trouble = TabTrouble()

    @property
    def usage(self) -> Usage | None:
        """The agent's reported usage, with the cost of the conversation so far: earlier sessions count, too."""
        usage = (self.session or self.window.session).usage
        if usage is None or usage.cost is None:
            return usage
        spent = (self.conversation.costs or {}).get(usage.currency or "", 0.0)
        return replace(usage, cost=max(usage.cost, spent))

    def name(self) -> str:
        """The name of the tab, which no other tab has."""
        among = self.among if any(tab is self for tab in self.among) else [self]
        return next(name for tab, name in zip(among, names_of(among), strict=True) if tab is self)

    def look(self) -> None:
        """Clear the marks: the person sees the tab."""
        self.unread = self.failed = False

    def with_published_text(self, rows: Sequence[Message]) -> list[Message]:
        """The stored rows, with the text of growing messages replaced by what was published, which is never older."""
        merged = []
        for row in rows:
            if row.id in self.growing:
                row = replace(row, text=str(self.growing[row.id]), state=MessageState.OPEN)
            elif row.state is MessageState.OPEN and row.kind is not Kind.TOOL:
                self.growing[row.id] = GrowingText(row.text)
            merged.append(row)
        return merged

    def handle(self, event: ConversationEvent, *, seen: bool) -> None:
        """Handle one event; ``seen``: the tab is on the screen and the terminal has the focus."""
        if isinstance(event, MessageAdded | MessageGrew | MessageChanged | SessionChanged | DoingChanged):
            self.heard_at = time.monotonic()
        self.heard += not isinstance(event, MessageGrew)
        match event:
            case MessageAdded(message=message):
                self._follow(message)
                self.leaf_id = message.id
                self.unread = self.unread or not seen
                if message.kind is Kind.USER:
                    self.elsewhere = None
                if message.kind is Kind.USER and not self.first_prompt:
                    self.first_prompt = message.text
            case MessageGrew(message_id=message_id, text=text):
                self.growing.setdefault(message_id, GrowingText()).add(text)
            case MessageChanged(message=message):
                self._follow(message)
            case LeafMoved(leaf_id=leaf_id):
                if leaf_id != self.leaf_id:  # else the tab was moved there already, with its scroll position
                    self.scroll = None
                self.leaf_id, self.elsewhere = leaf_id, None
                self.growing.clear()
            case TurnStarted():
                self.failed = False
            case TurnEnded(problem=problem):
                self.growing.clear()
                self.failed = problem is not None and not seen
            case DoingChanged(doing=doing, since=since, retried=retried):
                # While an agent is only prepared there is no turn, and the time of the last one means nothing.
                if self.doing is Doing.IDLE:
                    self.since = max(since, time.monotonic() - _EVENT_DELAY)
                elif self.doing is Doing.ASKING:
                    self.since = since
                if doing is Doing.STOPPING is not self.doing:
                    self.stopping_since = time.monotonic()
                self.doing, self.retried = doing, retried
            case PermissionOpened():
                known = [ask.ask_id for ask in self.asks]
                if event.ask_id in known:  # it changed, and keeps its place
                    self.asks[known.index(event.ask_id)] = event
                else:
                    self.asks.append(event)
                    self.asks.sort(key=_is_opened)
            case PermissionClosed(ask_id=ask_id):
                self.asks = [ask for ask in self.asks if ask.ask_id != ask_id]
            case ElicitationOpened():
                self._ask(event)
            case ElicitationClosed(ask_id=ask_id, sent=sent):
                self.asks = [ask for ask in self.asks if ask.ask_id != ask_id]
                form = self.forms.pop(ask_id, None)
                if form is not None and not sent and form.typed:
                    self.restore(form.typed)
            case SessionChanged(session=session):
                self.session = session
            case QueueChanged(items=items):
                self.queue = items
            case PromptReturned(text=text, attachments=files):
                self.restore(text, files)
            case Troubled():
                self.failed = not seen
            case Renamed():
                pass  # the conversation has its title, and the tab its own below that
            case HoldChanged(read_only=read_only):
                self.prepared = False  # another client has the agent, or had it
                if read_only:
                    self.asks = []
                    self._restore_forms()
            case PlaceMoved(turns=turns):
                self.elsewhere = TurnsElsewhere(turns) if turns else None
            case LeafMoved() | LinkChanged() | Remarked() | BackgroundChanged():
                pass
            case _:
                assert_never(event)
        self.trouble.handle(event, agent=(self.agent, self.profile), leaf_id=self.leaf_id)

    def asks_otherwise(self, asked: Question) -> bool:
        """True if a question is still open, but for something else than it was when it was ``asked``."""
        return any(each.ask_id == asked.ask_id and each != asked for each in self.asks)

    def _ask(self, asked: ElicitationOpened) -> None:
        """Put a form or a web page in the line; a page that is open stands behind what waits for the person."""
        self.asks = [ask for ask in self.asks if ask.ask_id != asked.ask_id] + [asked]
        self.asks.sort(key=_is_opened)

    def form_draft(self, asked: ElicitationOpened) -> FormDraft | None:
        """The draft of an open form, made if there is none; None for a web page."""
        if not isinstance(asked.request, Form):
            return None
        return self.forms.setdefault(asked.ask_id, FormDraft(asked.request))

    def _restore_forms(self) -> None:
        if text := self.unsent_forms():
            self.restore(text)
        self.forms.clear()

    def unsent_forms(self) -> str:
        """The text typed into forms that are not sent yet."""
        return "\n".join(text for form in self.forms.values() if (text := form.typed))

    def _follow(self, message: Message) -> None:
        if message.kind is Kind.PLAN:
            self.plan = message
        if message.state is MessageState.OPEN and message.kind is not Kind.TOOL:
            self.growing[message.id] = GrowingText(message.text)
        else:
            self.growing.pop(message.id, None)


def _is_opened(ask: Question) -> bool:
    return isinstance(ask, ElicitationOpened) and ask.opened


def waiting_prompt_lines(tabs: Iterable[Tab], now: datetime) -> list[str]:
    """The lines that name, on exit, the prompts that wait for the end of a limit."""
    return [
        f"Not sent: the prompt of “{safe_line(tab.name())}” that waited until "
        f"{format_time(tab.trouble.standing.problem.resets_at or now, now)}; it is still in the conversation."
        for tab in tabs
        if tab.trouble.standing is not None and tab.trouble.standing.waits_until is not None
    ]


def names_of(tabs: Sequence[Tab]) -> list[str]:
    """What tabs are called beside each other."""
    named = [
        (
            safe_line(
                conversation_name(tab.conversation.record.title or _of_source(tab), tab.first_prompt, "")
            ),
            safe_line(tab.agent_title),
        )
        for tab in tabs
    ]
    return [name or "new" for name in names_apart(named)]


def _of_source(tab: Tab) -> str:
    """The name of a fork that has no prompt of its own yet, by its source; "" for any other conversation."""
    return f"{tab.source} (fork)" if tab.source and not tab.first_prompt else ""

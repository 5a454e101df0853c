"""The surface of an act, which every front implements, and the values that go over it.

An act says no by raising ``Refused``, returns ``Done``, and prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from catena.errors import CommandRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catena.settings.settings import Settings
    from catena.workspace.files_along import FilesAlong
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs
    from catena_acp.conversation.asides.asides import Aside
    from catena_acp.port.port import AgentSpec
    from catena_store.records import ConversationRecord, Message

T = TypeVar("T")
Prices = Callable[[Sequence["AgentSpec"]], Awaitable[list[str]]]  # of agents, in words
IN_A_TAB = "in a new tab"
ALREADY_THERE = "You are already there."
STAYED = "An agent is working here, so it stays on its branch; the match is on another one."
NOTHING_CHANGED = "Nothing was changed."
NO_QUEUE = "The queue is empty."
NO_TAB = "No conversation is open: /new begins one, /history lists the others."


def next_prompt(price: str) -> str:
    """The sentence on the price of the next prompt."""
    return f"Your next prompt: {price}."


class Refused(CommandRefused):
    """An act that cannot be done; ``str()`` of it is a sentence, ``status`` the exit status of a program."""


class Cancelled(Exception):
    """A question that was dismissed: nothing is done, and nothing is said of it."""


@dataclass(frozen=True, slots=True)
class QuestionOption:
    """Another answer to a question; ``key`` is the stable name that the act is given."""

    key: str
    words: str
    short: str = ""  # the same in fewer cells
    again: bool = False  # the question is asked anew in other words
    typed: str = ""  # what a line has behind the command instead: such an option is not asked for there


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is asked before an act, in values."""

    title: str  # with its question mark
    yes: str  # a verb
    price: str = ""
    options: Sequence[QuestionOption] = ()
    note: str = ""  # whole sentences
    no: str = ""  # the words for not doing it, if a sheet of its own asks
    careful: bool = False  # they stand first on it: what is done cannot be undone
    seen: bool = False  # it is seen on a screen, and can be undone: only who gets lines is asked
    stays: bool = False  # who was browsing goes on with that
    free: bool = False  # nothing is replayed, and it can be undone: it is done unasked
    along: FilesAlong | None = None  # files that may go along with it
    look: Callable[[], Awaitable[None]] | None = None  # finds them, while the question is open if it is seen


@dataclass(frozen=True, slots=True)
class Voice:
    """How a front words values."""

    between: str  # what parts two of them
    sizes: Callable[[int, int], str]  # lines that were added and removed
    whole: bool = False  # everything is wanted


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of a report: its name ("" continues the row before), and what is said of it."""

    name: str
    values: Sequence[str] | Callable[[Voice], Sequence[str]] = ()
    open: Callable[[], Awaitable[Done]] | None = None  # what Enter on it does, and `/open` with its number
    dim: bool = False
    note: str = ""  # about it, for those who see it
    here: bool = False  # it is the one in use

    def said(self, voice: Voice) -> str:
        """Return the values in words."""
        return voice.between.join(filter(None, self.values(voice) if callable(self.values) else self.values))

    def line(self, voice: Voice) -> str:
        """Return the name and the values."""
        return voice.between.join(filter(None, (self.name, self.said(voice))))


@dataclass(frozen=True, slots=True)
class Report:
    """What an act found, in values: rows, or a text of someone else's."""

    title: str  # of a sheet
    word: str  # that each line of it begins with, if not ""
    rows: Sequence[ReportRow] = ()
    note: str = ""  # about all rows, for those who choose one or see them at once
    heading: str = ""  # the line before rows and text
    text: str = ""  # unsafe
    enter: str = ""  # the words for what opening a row does: then one of the rows may be chosen
    at_once: bool = False  # a list of one row needs no choice if it is shown to choose from
    then: Report | None = None  # what can be chosen once this one was read as lines

    def lines(self, voice: Voice) -> Iterator[str]:
        """Yield the heading and the rows, one line each."""
        for line in (self.heading, *(row.line(voice) for row in self.rows)):
            if line:
                yield f"{self.word}: {line}" if self.word else line


@dataclass(frozen=True, slots=True)
class LiveReport:
    """What a sheet of its own reads and goes on reading; those who get lines get it as it is now."""

    value: object
    read: Callable[[], Awaitable[Report]]
    chosen: Callable[[Any], Awaitable[Done]] | None = None  # does what is chosen on that sheet


@dataclass(frozen=True, slots=True)
class Done:
    """What an act has done, in words, and what it found."""

    words: str = ""
    report: Report | LiveReport | None = None


@dataclass(frozen=True, slots=True)
class SideQuestion:
    """A question beside a conversation."""

    text: str  # "" to have it typed
    typed: str  # the command
    stem: str  # of the name of the file of a saved answer


class AnswerTo(Enum):
    """What becomes of the last answer to side questions."""

    NOTHING = "nothing"
    DRAFT = "draft"
    NEW_CONVERSATION = "new conversation"


class Surface(Protocol):
    """What an act asks of the front that it runs on; what is written here suits one without panes and panels."""

    @property
    def beside(self) -> str:
        """Where a tab opens that is shown ``beside``: "in a new tab"."""
        return IN_A_TAB

    @property
    def why_not_beside(self) -> str:
        """Why it does not open side by side, in a sentence; "" if it does, or where nothing can."""
        return ""

    @property
    def terminal(self) -> bool:
        """True if there is a terminal to lend."""

    def say(self, words: str) -> None:
        """Say what was done."""

    async def write(self, text: str = "") -> None:
        """Put a text behind the draft of the tab, which the person goes on with."""

    async def resend(
        self,
        tab: Tab,
        prompt: str,
        ready: Callable[[], Awaitable[None]] | None = None,
        *,
        apart: bool = False,
    ) -> str | None:
        """Send a prompt that came back into the draft of a tab; if it was changed there, return how it is sent.

        It leaves the draft at once, and is sent when the tab is ``ready``; it returns there if that raises.
        ``apart``: it is no part of the draft.
        """

    async def ask_aside(
        self, tab: Tab, opening: Awaitable[Aside], question: SideQuestion
    ) -> tuple[str, AnswerTo]:
        """Ask a side question, and more of them; return the last answer, and what the user does with it.

        The aside is closed then. Raises AgentError, ReadOnly, StoreError.
        """

    def give_back(self, typed: str = "") -> None:
        """Restore, once, the typed text of a command that was not carried out, if it is no longer visible.

        By default, this is the command with its argument; a command without an argument is not restored.
        """
        return

    async def meanwhile(self, work: Awaitable[None]) -> None:
        """Do the rest of an act; a screen goes on meanwhile, and says what goes wrong."""
        await work

    async def stand_beside(self, tab: Tab) -> None:
        """Show a tab side by side if there is room; the user stays. Raises AgentError, StoreError."""
        return

    async def lend(
        self, command: Sequence[str], environment: Mapping[str, str], directory: str, heading: str
    ) -> int:
        """Lend the terminal to a program; return its exit status, negative for a signal. Raises OSError, Refused."""

    def use(self, settings: Settings) -> None:
        """Use what holds at once of changed settings."""

    async def visit(self, conversation_id: str, message_id: str) -> None:
        """Go to a message of a conversation, on the branch that it is on. Raises StoreError."""

    async def show(self, report: Report | LiveReport) -> None:
        """Show a report, and return when the user is done with it; a row that is chosen is opened."""

    async def ask(self, question: Question) -> str:
        """Ask, and return "yes" or the key of an option. Raises Cancelled, and Refused if nobody can be asked."""

    async def choose(
        self, title: str, rows: Sequence[ReportRow], enter: str = "", note: str = ""
    ) -> ReportRow:
        """Return the row that the user chooses; ``title`` asks for it. Raises Cancelled, Refused.

        ``enter``: what choosing does with the conversation; ``note`` is about all rows, for those who see them.
        """

    async def choose_agent(
        self, title: str, *, used: Mapping[str, str] | None = None, prices: Prices | None = None
    ) -> AgentSpec:
        """Return the agent that the user chooses, each with its price, else with that of the next prompt.

        ``used`` are those of the conversation. Raises Cancelled, Refused.
        """

    async def files(self, along: FilesAlong, look: Callable[[], Awaitable[None]]) -> None:
        """Let the user choose which files go along, unless the front offers them afterwards; ``look`` finds them.

        Raises Refused if the user leaves.
        """
        return

    async def files_behind(self) -> str:
        """Say how files that did not go along come along now, behind a sentence that they stay; "" if they cannot."""
        return ""

    def named(self, message_id: str, words: str) -> str:
        """Name a message by its number if the front has numbers, else by the ``words``."""
        return words

    async def go(
        self,
        step: Awaitable[T],
        to: Callable[[T], Tab | None],
        *,
        leaving: Tab | None = None,
        beside: bool = False,
    ) -> T:
        """Await a step that leads to a tab, show or read that tab, and return what the step returned.

        ``to`` names the tab; None: the user stays, or comes to what is left if that is gone. ``leaving`` is the tab
        that the step moves or closes: what happens in it waits, and what is typed meanwhile goes along.
        ``beside``: the tab stands side by side with the one before, if the front can show that. Raises whatever the
        step raises.
        """


@dataclass(frozen=True, slots=True)
class Here:
    """Where an act is done: a tab, if one is open, among the open ones, on a surface, with the settings in effect."""

    tabs: OpenTabs
    at: Tab | None
    surface: Surface
    settings: Settings
    message_id: str | None = None  # that the act is about: the browsed one, or that of a number
    named: ConversationRecord | None = None  # by id, if there are no tabs

    @property
    def tab(self) -> Tab:
        """The tab. Raises Refused if none is open."""
        if self.at is None:
            raise Refused(NO_TAB)
        return self.at

    @property
    def conversation(self) -> ConversationRecord:
        """The conversation that was named, or that of the tab. Raises Refused if there is neither."""
        return self.named or self.tab.conversation.record

    async def message(self) -> Message | None:
        """The message that the act is about; None for the end of the branch."""
        return (
            await self.tabs.branches.message(self.message_id, of=self.tab.conversation.id)
            if self.message_id
            else None
        )

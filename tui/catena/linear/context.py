"""The state that the parts of linear mode share: tabs, lines in and out, the last list, and who waits for a line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catena.acts.surface import NO_TAB, Refused
from catena.errors import CommandRefused
from catena.linear.input import InputLine, LineInput
from catena.linear.output import LineOutput
from catena.linear.rows import AGENT, BranchNumbers, agent_word, spoken
from catena.settings.linear import LinearSetting
from catena.settings.settings import Settings, Start
from catena.text.formats import joined
from catena.text.safe_text import safe_line
from catena_acp.continuity.routing.slash_commands import command_name

if TYPE_CHECKING:
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs

_EARLY = "That arrived with other input, so it answered nothing. Type it again."
_ALONE_SECONDS = 0.3  # a line that comes sooner after its question was typed before it
_YES = frozenset({"y", "yes", "1"})
# Commands that only read: a question waits for its answer behind them. Every other one takes its place.
_READING = frozenset("agents draft find help linear plan queue read show usage".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class ListRow:
    """A row of a list: its words, and what `/open` does with it."""

    words: str
    open: Callable[[], Awaitable[None]]


class LinearContext:
    """The state of one client in linear mode."""

    def __init__(
        self,
        start: Start,
        output: LineOutput,
        source: LineInput,
        *,
        level: LinearSetting,
        environment: Mapping[str, str],
        clock: Callable[[], float],
        echoes: bool,
    ) -> None:
        """``clock`` is in seconds. ``echoes``: the terminal shows behind the marker what is typed."""
        self.start = start
        self.settings: Settings = start.settings
        self.out = output
        self.input = source
        self.level = level
        self.environment = environment
        self.clock = clock
        self.echoes = echoes
        self.numbers = BranchNumbers()
        self.listed: Sequence[ListRow] = ()  # the last list
        self._listed_in: Tab | None = None  # that it is about; None for one that is about all of them
        self._dialogs = 0  # that wait for a line: questions of agents wait until they have it
        # Does the command of a name, with what is typed behind.
        self.do: Callable[[str, str], Awaitable[None]]
        # A command's own name, or a template's; "" for none.
        self.known: Callable[[str], Awaitable[str]] = _nobody
        self._unplaced = ""  # texts that answered nothing while no tab had a draft
        self._hinted: set[str] = set()
        self.said: list[str] = []  # of our own words, since the last line that was typed
        self.leave: Callable[[], None] = lambda: None
        self.arrived = 0.0  # when the line came that is being done
        self.typed: tuple[int, str] | None = None  # the number of the marker that a prompt was typed behind
        self._tabs: OpenTabs | None = None

    # --- tabs

    @property
    def tabs(self) -> OpenTabs:
        """The open tabs."""
        assert self._tabs is not None, "commands are done when the store is open"
        return self._tabs

    @tabs.setter
    def tabs(self, tabs: OpenTabs) -> None:
        self._tabs = tabs

    @property
    def tab(self) -> Tab | None:
        """The tab that is read."""
        return self._tabs.active if self._tabs is not None else None

    @property
    def here(self) -> Tab:
        """The tab that is read. Raises Refused if there is none."""
        if (tab := self.tab) is None:
            raise Refused(NO_TAB)
        return tab

    @property
    def agent(self) -> str:
        """What lines of the agent begin with."""
        return agent_word(self.title) if self.tab else AGENT

    @property
    def title(self) -> str:
        """The title of the agent, in one safe line."""
        tab = self.tab
        return safe_line(tab.agent_title) if tab else AGENT

    @property
    def quiet(self) -> bool:
        """True where only what is needed is said."""
        return self.level is LinearSetting.QUIET

    @property
    def verbose(self) -> bool:
        """True where everything is said."""
        return self.level is LinearSetting.VERBOSE

    # --- words

    def say(self, text: str) -> None:
        """Say something of our own."""
        self.said.append(text)
        self.out.line(f"Catena: {spoken(text)}")

    def has_said(self, price: str) -> bool:
        """True if a price was said since the last line was typed, were it as one that is only probable."""
        return any(price in text.replace("probably ", "") for text in self.said)

    def takes_as_said(self, words: str) -> bool:
        """True, once for each time, if these words were said since the last line was typed."""
        for at, text in enumerate(self.said):
            if words in text:
                self.said[at] = text.replace(words, "", 1)
                return True
        return False

    def show(self, heading: str, rows: Iterable[ListRow], *, everywhere: bool = False) -> None:
        """Read a list; `/open` takes a number of it from now on, in this tab only unless it holds ``everywhere``."""
        self.listed = tuple(rows)
        self._listed_in = None if everywhere else self.tab
        self._list(heading, [row.words for row in self.listed])

    def _list(self, heading: str, words: Iterable[str]) -> None:
        """Read numbered lines; each is one, whatever an agent called what it is about."""
        self.out.line(safe_line(heading))
        self.out.lines(f"{number}: {spoken(safe_line(each))}" for number, each in enumerate(words, start=1))

    def listed_row(self, number: int) -> ListRow:
        """A row of the last list, counted from 1. Raises Refused."""
        if not self.listed:
            raise Refused("There is no list yet; try /history.")
        if self._listed_in is not None and self._listed_in is not self.tab:
            raise Refused("The last list was about another tab.")
        if not 1 <= number <= len(self.listed):
            raise Refused(f"The last list has no {number}.")
        return self.listed[number - 1]

    def hint(self, text: str) -> str:
        """A sentence that teaches, the first time in a session; else nothing."""
        known = text in self._hinted
        self._hinted.add(text)
        return "" if known else f" {text}"

    def mark(self, marker: str) -> None:
        """Show where the person types, unless they have typed there already: that line has its end behind it."""
        if not self.input.typed_ahead:
            self.out.mark(marker)

    # --- dialogs

    @property
    def in_dialog(self) -> bool:
        """True while a command waits for a line."""
        return self._dialogs > 0

    @contextmanager
    def dialog(self) -> Iterator[None]:
        """Have what is typed for a command, until the end of the block."""
        self._dialogs += 1
        try:
            yield
        finally:
            self._dialogs -= 1

    def is_early(self, arrived: float, asked_at: float) -> bool:
        """True for a line that may have been meant for what was said before a question."""
        return self.input.terminal and arrived - asked_at < _ALONE_SECONDS

    def say_early(self) -> None:
        """Say that a line came too early to answer anything."""
        self.say(_EARLY)

    async def _keep_early(self, text: str) -> None:
        if is_sentence(text):
            await self.keep(text)
        else:
            self.say_early()

    async def ask(self, marker: str, *, keeps: bool = True) -> str | None:
        """The next line that is no command; None at the end of the input, or before a command that is done then.

        A command that only reads is done at once, and the question goes on behind it, as behind a line that is early.
        An early sentence becomes the draft if it ``keeps``: a value of a form may be a secret.
        """
        asked_at = self.clock()
        while True:
            with self.dialog():
                self.mark(marker)
                line = await self.input.line(single=True)
                self.heard(line)
            if line is None:
                return None
            name = command_name(line.text) or ""
            if not (name and (command := await self.known(name))):
                if not self.is_early(line.arrived, asked_at):
                    return line.text
                if keeps:
                    await self._keep_early(line.text)
                else:
                    self.say_early()
                continue
            if command not in _READING:
                self.input.put_back(line)
                return None
            try:
                await self.do(name, line.text[len(name) + 1 :].strip())
            except CommandRefused as refused:
                self.say(str(refused))

    async def keep(self, text: str) -> None:
        """Keep a sentence that answers nothing: it becomes the draft."""
        if (tab := self.tab) is None:
            self._unplaced = joined(self._unplaced, text)
            self.say("Not an answer. It becomes the draft of the conversation you open.")
            return
        tab.draft = joined(tab.draft.rstrip(), text)
        await self.tabs.keep(tab)
        self.say("Not an answer. It is kept as a draft: /draft send sends it, /draft reads it.")

    async def place_kept(self) -> None:
        """Put what was kept while no tab was open into the draft of the one that is."""
        if self._unplaced and (tab := self.tab) is not None:
            tab.draft, self._unplaced = joined(tab.draft.rstrip(), self._unplaced), ""
            await self.tabs.keep(tab)

    async def ask_text(self, marker: str, *, ahead: bool = False) -> str | None:
        """The next text, which may be of several lines; None at the end of the input.

        ``ahead``: it may have been typed before it was asked for.
        """
        asked_at = self.clock()
        with self.dialog():
            while True:
                self.mark(marker)
                line = await self.input.line(more=self._entered)
                self.heard(line)
                if line is None or ahead or not self.is_early(line.arrived, asked_at):
                    return None if line is None else line.text
                await self._keep_early(line.text)

    async def confirm(self, question: str, yes: str) -> bool:
        """Ask a question that y answers; any other word, and Enter alone, mean no, and a sentence means nothing."""
        self.out.line(spoken(question))
        marker = f"y to {yes}, Enter to cancel: "
        while (answer := await self.ask(marker)) is not None and is_sentence(answer):
            await self.keep(answer)
        if answer is not None and answer.strip().lower() in _YES:
            return True
        self.say("Cancelled.")
        return False

    async def choose(self, heading: str, options: Sequence[str], *, first: bool = False) -> int | None:
        """Let the person choose an option by its number, counted from 0 here; None if they do not.

        ``first``: Enter alone takes the first one, else it cancels.
        """
        self._list(heading, options)
        while True:
            numbers = f"1 to {len(options)}" if len(options) > 1 else "1"
            answer = await self.ask(f"{numbers}, Enter {'takes 1' if first else 'to cancel'}: ")
            if first and answer == "":
                return 0
            if answer is None or not answer.strip():
                self.say("Cancelled.")
                return None
            if answer.strip().isdecimal() and 1 <= int(answer) <= len(options):
                return int(answer) - 1
            if is_sentence(answer):
                await self.keep(answer)
            else:
                self.say(f"{safe_line(answer)} is not one of them.")

    def heard(self, line: InputLine | None) -> None:
        """Note that a line was read; at the end of the input the terminal has begun no new one."""
        if line is not None:
            self._entered()
        else:
            self.out.interrupted()

    def _entered(self) -> None:
        if self.echoes:
            self.out.entered()


def is_sentence(text: str) -> bool:
    """True for words that somebody may miss: no single word, and no number."""
    return len(text.split()) > 1 and any(map(str.isalpha, text))


async def _nobody(name: str) -> str:
    """Know no command."""
    return ""

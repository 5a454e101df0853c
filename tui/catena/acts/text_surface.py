"""Commands and their answers as lines of text, for programs and editors over a pipe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from catena.acts.perform import perform
from catena.acts.surface import (
    AnswerTo,
    Here,
    LiveReport,
    Prices,
    Question,
    Refused,
    Report,
    ReportRow,
    SideQuestion,
    Surface,
    T,
    Voice,
)
from catena.acts.table import by_names, command_with_rest, commands_of
from catena.acts.unknown import refused_argument, unknown_command
from catena.errors import CommandRefused
from catena.settings.settings import Settings
from catena.text.changes_text import size_words
from catena.text.safe_text import safe
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.conversation.asides.asides import Aside, AsideEnded
from catena_acp.errors import AgentError, ReadOnly
from catena_acp.port.port import AgentSpec
from catena_store.errors import StoreError

_VOICE = Voice(" · ", size_words)
_COMMANDS = tuple(each for each in commands_of("lines") if ":" in each.does)
_BY_NAME = by_names(_COMMANDS)


class TextSurface(Surface):
    """A surface that writes lines and asks nothing."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """``write`` is given one line at a time, without its end."""
        self._write = write

    @property
    def terminal(self) -> bool:
        """False: there is none."""
        return False

    def say(self, words: str) -> None:
        """Write what is said."""
        self._write(words)

    async def write(self, text: str = "") -> None:
        """Write the lines of the draft."""
        for line in safe(text).splitlines():
            self._write(f"Draft: {line}")

    async def resend(
        self,
        tab: Tab,
        prompt: str,
        ready: Callable[[], Awaitable[None]] | None = None,
        *,
        apart: bool = False,
    ) -> str | None:
        """Say how to send it: a line is no prompt here."""
        return "send it again"

    async def ask_aside(
        self, tab: Tab, opening: Awaitable[Aside], question: SideQuestion
    ) -> tuple[str, AnswerTo]:
        """Write the answer."""
        aside = await opening
        try:
            async for event in aside.ask(question.text, (), typed=question.typed):
                if isinstance(event, AsideEnded) and event.problem:
                    raise Refused(event.problem)
            for line in safe(aside.text).splitlines():
                self._write(f"Answer: {line}")
            return aside.text, AnswerTo.NOTHING
        finally:
            await aside.close()

    async def lend(
        self, command: Sequence[str], environment: Mapping[str, str], directory: str, heading: str
    ) -> int:
        """Raise Refused."""
        raise Refused("This is not a terminal.")

    def use(self, settings: Settings) -> None:
        """Use nothing: they are given with each line."""

    async def visit(self, conversation_id: str, message_id: str) -> None:
        """Write the ids: nobody is anywhere here."""
        self._write(f"{conversation_id} {message_id}")

    async def show(self, report: Report | LiveReport) -> None:
        """Write the lines of a report."""
        found = await report.read() if isinstance(report, LiveReport) else report
        for line in (*found.lines(_VOICE), *safe(found.text).splitlines()):
            self._write(line)

    async def ask(self, question: Question) -> str:
        """Answer with yes what is free. Raises Refused, with the question."""
        if question.free or question.seen:
            return "yes"
        raise Refused(" ".join(filter(None, (question.title, question.price, question.note))))

    async def choose(
        self, title: str, rows: Sequence[ReportRow], enter: str = "", note: str = ""
    ) -> ReportRow:
        """Raise Refused, with what there is to choose from."""
        raise Refused(f"{title} {', '.join(row.name for row in rows)}")

    async def choose_agent(
        self, title: str, *, used: Mapping[str, str] | None = None, prices: Prices | None = None
    ) -> AgentSpec:
        """Raise Refused."""
        raise Refused(f"{title} Name one.")

    async def go(
        self,
        step: Awaitable[T],
        to: Callable[[T], Tab | None],
        *,
        leaving: Tab | None = None,
        beside: bool = False,
    ) -> T:
        """Await the step: where it leads is not shown here."""
        return await step

    async def take(self, line: str, tabs: OpenTabs, tab: Tab, settings: Settings) -> None:
        """Do the command that a line names, with or without its slash; why it is refused stands behind `!`."""
        name, _, argument = line.strip().removeprefix("/").partition(" ")
        command, argument = command_with_rest(_BY_NAME, name, argument.strip())
        try:
            if command is None:
                raise Refused(unknown_command(name, _COMMANDS, "Nothing was done"))
            if refusal := refused_argument(command, argument, _COMMANDS):
                raise Refused(refusal)
            await perform(command, argument, Here(tabs, tab, self, settings))
        except (CommandRefused, AgentError, ReadOnly, StoreError) as refused:
            self._write(f"! {refused}")

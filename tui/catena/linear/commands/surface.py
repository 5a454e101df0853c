"""The surface of acts in linear mode: lines; and side questions, none of which is saved."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from catena.acts.agents import prices as prices_of
from catena.acts.perform import carry_out
from catena.acts.surface import (
    NOTHING_CHANGED,
    AnswerTo,
    Cancelled,
    Done,
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
from catena.export.files import refusing, write_new
from catena.linear import rows as lines
from catena.linear.commands.prompts import PromptCommands, choose_extent, said_along
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext, ListRow
from catena.linear.rows import answer_line, spoken
from catena.linear.sentences import SentenceCutter, SpokenLine
from catena.mentions.mentions import with_mentions_of
from catena.settings.settings import Settings, at_once
from catena.terminal.programs import run_program
from catena.text.changes_text import spoken_size
from catena.text.formats import from_home
from catena.text.safe_text import safe, safe_line
from catena.workspace.files_along import FilesAlong
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import MessageAdded, MessageGrew
from catena_acp.conversation.asides.asides import Aside, AsideEnded, AsideOpened
from catena_acp.errors import AgentError
from catena_acp.port.port import AgentSpec
from catena_store.errors import StoreError
from catena_store.records import Kind

_WAYS = "/insert puts the answer into the draft, /save into a file, /begin into a new conversation."


class AsideDialog:
    """Side questions and their answers, until an empty line or a command ends them."""

    def __init__(self, context: LinearContext, tab: Tab, aside: Aside, question: SideQuestion) -> None:
        self._context = context
        self._tab = tab
        self._aside = aside
        self._question = question

    async def lead(self) -> tuple[str, AnswerTo]:
        """Ask the questions; return the last answer, and what becomes of it."""
        context, aside = self._context, self._aside
        try:
            context.say(f"Side question, not saved: {context.title}, {spoken(aside.price.words)}.")
            with context.dialog():
                to = await self._go_on(self._question.text, self._question.typed)
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.ensure_future(aside.close()))
        context.say("The side question is over.")
        return aside.text, to

    async def _go_on(self, question: str, typed: str) -> AnswerTo:
        context = self._context
        while True:
            if question:
                await self._answer(question, typed)
                context.say(f"The next line asks more; an empty one ends it. {_WAYS}")
            question = typed = (await context.ask_text("Side question: ", ahead=True) or "").strip()
            match question:
                case "":
                    return AnswerTo.NOTHING
                case "/insert":
                    return AnswerTo.DRAFT
                case "/begin":
                    return AnswerTo.NEW_CONVERSATION
                case "/save":
                    await self._save()
                    return AnswerTo.NOTHING
                case _ if question.startswith("/"):
                    raise Refused(f"{safe_line(question)} is not a command here. {_WAYS}")

    async def _answer(self, question: str, typed: str) -> None:
        context, aside = self._context, self._aside
        cutter, label = SentenceCutter(), f"{context.agent}, aside:"
        growing: str | None = None

        def say(lines: list[SpokenLine]) -> None:
            nonlocal label
            for line in lines:
                context.out.line(answer_line(line, context.agent, label))
                label = ""

        files = await with_mentions_of(self._tab, question, ())
        try:
            async for event in aside.ask(question, files, typed=typed):
                match event:
                    case AsideOpened(words=words):
                        context.out.line(f"Note: {safe_line(words)}")
                    case MessageAdded(message=message) if message.kind is Kind.AGENT:
                        growing = message.id
                        say(cutter.feed(safe(message.text)))
                    case MessageGrew(message_id=id, text=text) if id == growing:
                        say(cutter.feed(safe(text)))
                    case AsideEnded(problem=problem):
                        say(cutter.rest())
                        if problem:
                            context.out.line(f"Trouble: {safe_line(problem)}")
                    case _:
                        pass
        except asyncio.CancelledError:
            await aside.stop()
            raise
        context.out.last_line("Done: the side question is answered")

    async def _save(self) -> None:
        directory, stem = self._tab.conversation.record.cwd, self._question.stem
        with refusing(f"{stem}.md"):
            path = await asyncio.to_thread(write_new, directory, stem, safe(self._aside.text))
        self._context.say(f"Wrote {from_home(str(path))}")


class LinesSurface(Surface):
    """Linear mode, as acts see it."""

    def __init__(
        self,
        context: LinearContext,
        tabs: TabCommands,
        prompts: PromptCommands,
        visit: Callable[[str, str], Awaitable[None]],
    ) -> None:
        """``visit`` goes to a message of a conversation."""
        self._context = context
        self._tabs = tabs
        self._prompts = prompts
        self._visit = visit

    @property
    def terminal(self) -> bool:
        """True if lines are typed at one."""
        return self._context.echoes

    def say(self, words: str) -> None:
        """Say words of ours."""
        self._context.say(words)

    async def write(self, text: str = "") -> None:
        """Put a text behind the draft."""
        if text:
            await self._prompts.write(text)

    async def resend(
        self,
        tab: Tab,
        prompt: str,
        ready: Callable[[], Awaitable[None]] | None = None,
        *,
        apart: bool = False,
    ) -> str | None:
        """Send a prompt that came back into the draft, unless something else stands there."""
        if not apart and tab.draft.strip() not in ("", prompt.strip()):
            return "/draft send sends it"
        tab.draft = tab.draft if apart else ""
        try:
            if ready is not None:
                await ready()
        except (AgentError, StoreError):
            tab.restore(prompt)
            await self._context.tabs.keep(tab)
            raise
        await self._prompts.say(prompt, tab=tab)
        await self._context.tabs.keep(tab)
        return None

    async def ask_aside(
        self, tab: Tab, opening: Awaitable[Aside], question: SideQuestion
    ) -> tuple[str, AnswerTo]:
        """Read the answers; an empty line ends it."""
        return await AsideDialog(self._context, tab, await opening, question).lead()

    async def lend(
        self, command: Sequence[str], environment: Mapping[str, str], directory: str, heading: str
    ) -> int:
        """Read no lines while a program has the terminal."""
        context = self._context
        context.input.suspend()
        try:
            return await run_program(command, environment=environment, directory=directory)
        finally:
            context.input.resume()
            context.out.interrupted()

    @property
    def _voice(self) -> Voice:
        return Voice(", ", spoken_size, self._context.verbose)

    def use(self, settings: Settings) -> None:
        """Use what holds at once."""
        self._context.settings = at_once(self._context.settings, settings)

    async def visit(self, conversation_id: str, message_id: str) -> None:
        """Read the branch of a message, and name its number."""
        await self._visit(conversation_id, message_id)

    async def show(self, report: Report | LiveReport) -> None:
        """Read a report, from which `/open` takes a row; lines of someone else's cannot be taken for ours."""
        out = self._context.out
        found = await report.read() if isinstance(report, LiveReport) else report
        if found.enter:
            if found.note:
                out.line(f"Note: {found.note}")
            heading = f"{found.heading}. " if found.heading else ""
            self._context.show(
                f"{found.word}: {heading}/open N to {found.enter}.",
                [
                    ListRow(row.line(self._voice), partial(self._open, row.open))
                    for row in found.rows
                    if row.open
                ],
            )
        else:
            out.lines(" ".join(safe(line).splitlines()) for line in found.lines(self._voice))
            out.lines(lines.set_in(line) for line in safe(found.text).splitlines() if line.strip())
        if found.then is not None:
            await self.show(found.then)

    async def _open(self, open: Callable[[], Awaitable[Done]]) -> None:
        await carry_out(open(), self)

    async def ask(self, question: Question) -> str:
        """Ask for a y, or for a number if there are options that are not typed behind the command."""
        context, options = self._context, [each for each in question.options if not each.typed]
        if question.free:
            return "yes"
        title = f"{question.title[:-1]}: {question.price}." if question.price else question.title
        words = " ".join(filter(None, (title, question.note)))
        if question.along is not None and question.look is not None:
            await question.look()
            if question.along.offered and context.input.terminal:
                if await choose_extent(context, question.along, lines.spoken(words), f"{question.yes}: "):
                    raise Cancelled
                return "yes"
            if said := said_along(question.along):
                words = f"{words} {said}"
        if options:
            answers = [question.yes, *(each.words for each in options)]
            if (at := await context.choose(lines.spoken(words), answers)) is not None:
                return options[at - 1].key if at else "yes"
        elif await context.confirm(words, question.yes[:1].lower() + question.yes[1:]):
            return "yes"
        raise Cancelled

    async def choose(
        self, title: str, rows: Sequence[ReportRow], enter: str = "", note: str = ""
    ) -> ReportRow:
        """Ask for the number of a row."""
        at = await self._context.choose(
            f"Choose: {title}", [f"{row.line(self._voice)}{', now' if row.here else ''}" for row in rows]
        )
        if at is None:
            raise Cancelled
        return rows[at]

    async def files(self, along: FilesAlong, look: Callable[[], Awaitable[None]]) -> None:
        """Ask by number if somebody types; Enter takes what the settings have."""
        await look()
        if self._context.input.terminal and await choose_extent(self._context, along):
            raise Refused(NOTHING_CHANGED)

    async def choose_agent(
        self, title: str, *, used: Mapping[str, str] | None = None, prices: Prices | None = None
    ) -> AgentSpec:
        """Ask for the number of an agent that is installed."""
        context = self._context
        tab = context.tab
        if tab is None and context.start.agent is not None:
            return context.start.agent
        kept = (tab.agent, tab.profile) if tab else await context.tabs.last_used_agent()
        priced = prices or partial(prices_of, tab)
        spec = await self._tabs.choose_agent(f"Choose: {title}", kept, priced, used=used)
        if spec is None:
            raise Cancelled
        return spec

    def named(self, message_id: str, words: str) -> str:
        """Name a message by its number."""
        return str(self._context.numbers.of(message_id) or words)

    async def go(
        self,
        step: Awaitable[T],
        to: Callable[[T], Tab | None],
        *,
        leaving: Tab | None = None,
        beside: bool = False,
    ) -> T:
        """Await a step, and read what stands where it led."""
        taken = await step
        context, tab = self._context, to(taken)
        if tab is None or tab not in context.tabs.tabs:
            if leaving not in context.tabs.tabs:
                await self._tabs.show_what_is_left()
        elif tab is leaving and tab is context.tab:
            await self._tabs.arrive(tab)
        else:
            await self._tabs.show(tab)
        return taken

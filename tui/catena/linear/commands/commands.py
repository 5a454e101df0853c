"""The commands of linear mode, by subject; the table of acts names each."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from catena.acts.perform import body_of, carry_out
from catena.acts.reading import help_of
from catena.acts.surface import Here
from catena.acts.table import FrontCommand, by_names, command_with_rest, commands_of, verbs_of
from catena.acts.unknown import refused_argument, unknown_command
from catena.linear.commands.agents import AgentCommands
from catena.linear.commands.branches import BranchCommands
from catena.linear.commands.prompts import PromptCommands, numbered
from catena.linear.commands.reading import HistoryCommands, ReadingCommands
from catena.linear.commands.surface import LinesSurface
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext

if TYPE_CHECKING:
    from catena.linear.narrator import Narrator
    from catena.linear.questions import Questions


# What is named nowhere here comes last.
_ORDER = """
    help show read find save plan linear
    edit retry stop wait allow reject send draft drop quote inputs queue continue unqueue attach detach clear
    fork versions tree follow lineage ask compare undo redo reflog checkpoint label checkpoints rewind
    history open new tabs tab next-question close rename pin archive delete takeover cd add-dir export
    context chain usage files changes blame background stderr btw
    agents agent model mode options login logout permissions mcp templates settings quit
""".split()  # noqa: SIM905 - a line for each subject
COMMANDS: tuple[FrontCommand, ...] = tuple(
    sorted(
        commands_of("lines"), key=lambda each: _ORDER.index(each.name) if each.name in _ORDER else len(_ORDER)
    )
)
_BY_NAME = by_names(COMMANDS)


def command_of(name: str, argument: str = "") -> tuple[FrontCommand | None, str]:
    """Return the command of a name, or that of the verb behind it, and what is left as its argument."""
    return command_with_rest(_BY_NAME, name, argument)


def refusal_of(command: FrontCommand, argument: str) -> str:
    """Why a command is not done; "" if it takes what was typed behind it."""
    return refused_argument(command, argument, COMMANDS)


def unknown_text(name: str, others: Sequence[str]) -> str:
    """Why a command is not sent that is unknown; ``others`` are the names of templates and of the agent's commands."""
    return unknown_command(name, COMMANDS, "Nothing was sent", others)


_FIRST = frozenset("show find edit stop undo history new tab agent quit".split())  # noqa: SIM905
_FIRST_WAYS = (
    "a line is a prompt; / begins a command",
    "y, n or a number answers a question",
)
_WAYS = (
    "a line is a prompt; one that begins with / is a command, one that begins with a space is text",
    'a line that ends in \\ goes on in the next; """ begins and ends a prompt of several lines',
    "Ctrl+C stops the agent, twice quits; Ctrl+D quits; Enter alone says what is going on",
    "while an agent asks, a number answers",
    "the commands follow, /help COMMAND reads more of one; N is the number of a message",
)


class LinearCommands:
    """Everything that a command can do."""

    def __init__(self, context: LinearContext, narrator: Narrator, questions: Questions) -> None:
        self.context = context
        self._narrator = narrator
        context.do = self.do_named
        context.known = self._known
        self.questions = questions
        self.tabs: TabCommands = TabCommands(context, narrator, questions)
        self.prompts: PromptCommands = PromptCommands(context, self.act)
        self.branches: BranchCommands = BranchCommands(context, self.tabs)
        self.history: HistoryCommands = HistoryCommands(context, self.tabs, self.act)
        self.reading: ReadingCommands = ReadingCommands(context)
        self.agents: AgentCommands = AgentCommands(context, self.prompts)

    async def _known(self, name: str) -> str:
        if command := command_of(name)[0]:
            return command.name
        return name if name in await self.agents.templates() else ""

    def act(self, does: str, *, at: str | None = None, **given: object) -> Awaitable[None]:
        """Do an act of a name, ``given`` its arguments, in the tab that is read: at a message, or at its end."""
        context = self.context
        surface = LinesSurface(context, self.tabs, self.prompts, self.history.visit)
        on = Here(context.tabs, context.tab, surface, context.settings, at)
        return self._narrator.through(carry_out(body_of(does)(on, **given), surface))

    def do(self, command: FrontCommand, argument: str) -> Awaitable[None]:
        """Do a command with what was typed behind its name. Raises Refused if it needs a tab and none is open."""
        if ":" in command.does:
            context = self.context
            number, _, rest = argument.partition(" ")
            message_id = None
            if command.at and number.rstrip(":.").isdecimal():
                message_id = numbered(context, number, known=command.at == "message")
            given = {command.takes: rest.strip() if message_id else argument} if command.takes else {}
            return self.act(command.does, at=message_id, **given)
        action = attrgetter(command.does)(self)
        act: Awaitable[None] = action(argument) if command.argument else action()
        return act

    async def do_named(self, name: str, argument: str = "") -> None:
        """Do the command of a name, with what was typed behind it."""
        command, argument = command_of(name, argument)
        assert command is not None, name
        await self.do(command, argument)

    async def help(self, argument: str) -> None:
        """List the commands that a person needs first, all of them, or what one does."""
        out = self.context.out
        if not argument:
            out.lines(f"Help: {line}" for line in _FIRST_WAYS)
            first = [each for each in COMMANDS if each.name in _FIRST]
            out.lines(f"/{each.usage.partition(' [')[0]}: {each.summary}" for each in first)
            out.line("Help: /help all reads all, /help COMMAND one")
        elif argument == "all":
            out.lines(f"Help: {line}" for line in _WAYS)
            for each in COMMANDS:
                if each.words == each.name:
                    verbs = ", ".join(verb.words.partition(" ")[2] for verb in verbs_of(each, COMMANDS))
                    out.line(f"/{each.usage}: {each.summary}{verbs and f'; also {verbs}'}")
            out.lines(
                f"{each.usage}: {each.description}" for each in (await self.agents.templates()).values()
            )
        else:
            found = help_of(argument, COMMANDS, await self.agents.templates())
            out.lines(f"{usage}: {does}" for usage, does in found)

    async def allow(self) -> None:
        """Allow what is asked, once."""
        await self._decide("allow")

    async def reject(self, reason: str) -> None:
        """Reject what is asked; a reason is the next prompt."""
        await self._decide("reject", reason)

    async def _decide(self, kind: str, reason: str = "") -> None:
        if not await self.questions.decide(kind, reason):
            self.context.say("No request is open that this answers.")

"""``catena run --agents``: the same prompt for several agents at once; each answer is a version of one prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from catena.cli.run.branch import PromptTarget, open_window
from catena.cli.run.interrupts import Interrupts
from catena.cli.run.output import JsonOutput, Output, PlainOutput, Stream, Streams
from catena.cli.run.turn import HeadlessTurn, TurnRules
from catena.errors import ExitStatus
from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena.text.names import numbered_again
from catena.text.safe_text import safe_line
from catena_acp.continuity.conversation_events import TurnEnded
from catena_acp.conversation.prompts.window import Window
from catena_acp.port.port import AgentSpec
from catena_acp.snapshots.restoring import FileChoice
from catena_acp.trouble.troubles import Trouble
from catena_store import places
from catena_store.database.database import Database
from catena_store.records import Attachment
from catena_store.windows import windows


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """An agent of `--agents`, and the name that was given."""

    name: str
    spec: AgentSpec


def named_agents(names: Sequence[str], settings: Settings) -> dict[str, NamedAgent]:
    """The agents of `--agents`, by name; one that is named again has its number behind it. Raises AgentMissing."""
    agents = [NamedAgent(name, find_agent(name, settings)) for name in names]
    return dict(zip(numbered_again(names), agents, strict=True))


class _Group:
    """What is written of one answer, which waits until all of those before it is written."""

    def __init__(self, heading: str, out: Stream) -> None:
        self._waiting: list[tuple[Stream, str]] | None = []
        self._heading = heading
        self._out = out

    def write(self, to: Stream, text: str) -> None:
        """Write a text, once it is the answer's turn."""
        if self._waiting is None:
            to.write(text)
        else:
            self._waiting.append((to, text))

    def begin(self) -> None:
        """Write the heading, and what waits."""
        self._out.write(self._heading)
        waiting, self._waiting = self._waiting or [], None
        for to, text in waiting:
            to.write(text)


@dataclass(frozen=True, slots=True)
class _GroupStream:
    """A stream, as one answer is written to it."""

    group: _Group
    to: Stream

    @property
    def broken(self) -> bool:
        return self.to.broken

    def write(self, text: str) -> None:
        self.group.write(self.to, text)

    async def flush(self) -> None:
        await self.to.flush()


class _Answers:
    """The outputs of all answers: as JSON as they come, else one below the other in the order of the agents."""

    def __init__(self, names: Sequence[str], streams: Streams) -> None:
        self.outputs: dict[str, Output] = {}
        self._groups: dict[str, _Group] = {}
        self._ended: set[str] = set()
        self._begun: str | None = None  # the one that is written now
        for number, name in enumerate(names):
            if streams.err is None:
                self.outputs[name] = JsonOutput(streams.out, whose=name)
                continue
            title = safe_line(name)
            above = "\n" if number else ""
            group = self._groups[name] = _Group(f"{above}== {title} ==\n", streams.out)
            self.outputs[name] = PlainOutput(
                _GroupStream(group, streams.out),
                _GroupStream(group, streams.err),
                shared_terminal=streams.shared_terminal,
                whose=title,
            )
        self._waiting = list(self._groups)
        self._begin_next()

    def end(self, name: str, ended: TurnEnded | None, status: int, *, closed: bool = False) -> None:
        """Report the end of an answer; a second one is not.

        The last one as JSON waits until the conversation is ``closed``: who reads that reads nothing behind it.
        """
        last = not self._groups and len(self._ended) == len(self.outputs) - 1
        if name in self._ended or (last and not closed):
            return
        self._ended.add(name)
        self.outputs[name].ended(ended, status)
        self._begin_next()

    def _begin_next(self) -> None:
        while self._waiting and (self._begun is None or self._begun in self._ended):
            self._begun = self._waiting.pop(0)
            self._groups[self._begun].begin()


class SeveralTurns:
    """One prompt to several agents, in a window for each."""

    def __init__(self, agents: Mapping[str, NamedAgent], streams: Streams, interrupts: Interrupts) -> None:
        self._agents = agents
        self._answers = _Answers(list(agents), streams)
        self._interrupts = interrupts
        self._turns: dict[str, HeadlessTurn] = {}
        self._statuses: dict[str, int] = {}

    @property
    def said(self) -> bool:
        """True once the prompt is in the store."""
        return any(turn.said for turn in self._turns.values())

    @property
    def status(self) -> int:
        """The exit status of the first agent, in their order, that did not answer; 0 if all did."""
        return next((status for name in self._agents if (status := self._statuses.get(name, 0))), 0)

    def end(self, status: int) -> None:
        """Report what ended while the conversation was closed, with the exit status of the run."""
        for name in self._agents:
            turn = self._turns.get(name)
            own = self._statuses.get(name, status)
            self._answers.end(name, turn.ended if turn else None, own, closed=True)

    async def run(
        self,
        target: PromptTarget,
        db: Database,
        prompt: str,
        files: Sequence[Attachment],
        rules: TurnRules,
        choice: FileChoice | None,
    ) -> None:
        """Send the prompt to every agent, and wait for all ends; the conversation then stands at the first answer.

        Raises ReadOnly, StoreError.
        """
        conversation, edited = target.conversation, target.branch.edited_id if target.branch else None
        async with AsyncExitStack() as stack:
            opened: dict[str, Window] = {}
            for name in self._agents:
                own = not opened
                window_id = (
                    target.window_id
                    if own
                    else await stack.enter_async_context(
                        open_window(db, conversation.id, beside=target.window_id)
                    )
                )
                opened[name] = conversation.window(window_id)
            for name, window in opened.items():
                self._turns[name] = HeadlessTurn(
                    conversation, window, db, self._answers.outputs[name], rules, whose=safe_line(name)
                )
            try:
                async with asyncio.TaskGroup() as tasks:
                    prompt_id: str | None = None
                    for name, window in opened.items():
                        if self._interrupts.status is not None:
                            break
                        turn, spec = self._turns[name], self._agents[name].spec
                        send: Awaitable[None]
                        if prompt_id is not None:
                            send = window.retry(agent=spec, prompt_id=prompt_id)
                        else:
                            await window.set_agent(spec)
                            send = (
                                window.say(prompt, files)
                                if edited is None
                                else window.edit(edited, prompt, files, choice=choice)
                            )
                        await turn.send(send)
                        tasks.create_task(self._followed(name, turn))
                        if prompt_id is None and (started := await turn.started):
                            prompt_id = started.prompt_id
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from errors
            await asyncio.gather(*(turn.settle(self._interrupts) for turn in self._turns.values()))
            await self._stand_at_first(db, target, opened)

    async def _followed(self, name: str, turn: HeadlessTurn) -> None:
        ended = await turn.follow(self._interrupts)
        ended = turn.ended = _with_login_command(ended, self._agents[name].name)
        status = self._statuses[name] = self._interrupts.status or turn.status_of(ended)
        self._answers.end(name, ended, status)

    async def _stand_at_first(self, db: Database, target: PromptTarget, opened: Mapping[str, Window]) -> None:
        """Let the conversation go on from the first answer that there is, and with its agent."""
        name = next((name for name in opened if self._statuses.get(name) == ExitStatus.ANSWERED), None)
        if name is None:
            return
        await opened[name].set_agent(self._agents[name].spec)
        async with db.write() as tx:
            stands = await windows.get(tx, opened[name].id)
            leaf_id = stands.leaf_id if stands else None
            await places.move(tx, target.conversation.id, leaf_id)
            for window in opened.values():
                await windows.set_leaf(tx, window.id, leaf_id)


def _with_login_command(ended: TurnEnded, name: str) -> TurnEnded:
    problem = ended.problem
    if problem is None or problem.trouble is not Trouble.LOGIN_NEEDED:
        return ended
    return replace(
        ended, problem=replace(problem, detail=(*problem.detail, f"To log in: catena login {name}"))
    )

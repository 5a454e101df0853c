"""A model of agents that forget, lie, die and answer late; it keeps its own list of what every session really heard.

An ``Upstream`` is one agent's world: transcripts that outlive its processes. A ``ModelAgent`` is one process of it, and
stands where the client expects a real one. What a session holds is a list of ``Said``: that list, never the client's
own record, is what the tests judge by. A turn streams, ends and fails as whoever drives the test wants it: by a
``scene`` that answers by itself, or step by step through ``Running``.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from catena_acp.continuity.routing.replay_check import bare
from catena_acp.errors import AgentError, AgentGone, AgentRefused, NotOffered, SessionGone
from catena_acp.port.abilities import Abilities, Quirks
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.port import AgentSpec, FileGuard, SessionSetup
from catena_acp.port.session_events import (
    ContextCompacted,
    Event,
    ListedSession,
    Option,
    PromptBlock,
    PromptEnded,
    SessionOpened,
    SessionPage,
    TextBlock,
    TextChunk,
    ToolCallChanged,
)

Gate = Callable[[str], Awaitable[None]]

GREETING = "Welcome, whoever you are"
ASIDE = "oh"


async def open_gate(_: str) -> None:
    """Lets every request through at once."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What an agent can do, and what its transcripts keep of a turn that did not end well."""

    resume: bool = True
    load: bool = True
    replays: bool = True  # load tells what the session really holds; else it tells nothing
    faithful: bool | None = True  # what is known of that beforehand
    fork: bool = True
    fork_cold: bool = True  # forks a session that is not loaded
    fork_running: bool = True  # forks in the middle of a turn, the prompt included
    fork_at: bool = False  # honours the message that a fork names
    fork_empty_refused: bool = True
    delete: bool = True
    steering: bool = False  # takes texts into a running turn
    kill_keeps: str = "user"  # user | partial | nothing
    cancel_keeps: str = "user"  # user | partial | nothing
    error_keeps: str = "user"
    changes_mind: int | None = None  # after so many turns that ended badly it keeps nothing of any
    orphan_finishes: bool = False  # when the client dies, the agent finishes its turn before it goes
    reopen_keeps: bool = False  # opening a session that is open keeps what is in memory
    reuses_ids: bool = False  # session ids are counted from 0 in every process, and nothing is kept
    greets: str = ""  # behind | before: says something about the answer to a new session
    replays_late: float | None = None  # seconds behind the answer; None: before it, as the protocol says
    resume_replays: float | None = None  # likewise of a resumed session, which else tells nothing
    adds_rows: bool = False  # says something in a turn beside its answer that is in no transcript
    drops_short_rows: bool = False  # tells only the longest of a turn's messages when it replays
    # Like any prompt | local: run by itself, in no session | refused | refused, shown.
    commands: str = "heard"
    forks_asleep: bool = False  # a fork is not live until it is opened

    @property
    def reopens(self) -> bool:
        return (self.resume or self.load) and not self.reuses_ids


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a session holds."""

    role: str  # user | agent
    text: str
    message_id: str | None = None
    shown_only: bool = False  # it stands in the transcript, and the model is not given it
    tool: bool = False  # a tool call, by its title


@dataclass(slots=True)
class Transcript:
    """A session as it is kept, whatever becomes of the process."""

    content: list[Said] = field(default_factory=list)


@dataclass(slots=True)
class LiveCopy:
    """A session in a process's memory: what the model is given is this, not the transcript."""

    session_id: str
    transcript: Transcript
    content: list[Said]
    running: Running | None = None


class Running:
    """A prompt that was taken and not answered yet."""

    def __init__(self, agent: ModelAgent, live: LiveCopy, texts: tuple[str, ...], kept_before: int) -> None:
        self.agent = agent
        self.live = live
        self.texts = texts
        self.kept_before = kept_before  # rows in the transcript before this prompt
        self.answered: list[Said] = []
        self.late: list[Event] = []  # said, and not on the wire yet
        self.cancel_asked = False
        self.answer: asyncio.Future[PromptEnded] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        return self.answer.done()

    def say(
        self, text: str, message_id: str | None = None, *, unseen: bool = False, kept: bool = True
    ) -> None:
        """Stream text; ``unseen``: it is not on the wire before the next. Not ``kept``: the model never has it."""
        message_id = message_id or self.agent.upstream.message_id()
        if self.agent.upstream.profile.adds_rows and not self.answered:
            self._tell(TextChunk("agent", ASIDE, self.agent.upstream.message_id()), unseen)
        if kept:
            self.answered.append(Said("agent", text, message_id))
        self._tell(TextChunk("agent", text, message_id), unseen)

    def call_tool(self, title: str, status: str = "completed") -> None:
        """Use a tool."""
        call_id = self.agent.upstream.message_id()
        self.answered.append(Said("agent", title, call_id, tool=True))
        self._tell(ToolCallChanged(call_id, title=title, kind="execute", status=status), False)

    def tell(self, event: Event) -> None:
        """Send any other update."""
        self._tell(event, False)

    def end(self, stop_reason: str = "end_turn") -> None:
        """Answer the prompt."""
        self.flush()
        match stop_reason:
            case "cancelled":
                self._settle(self.agent.upstream.keeps("cancel"))
            case "refusal":
                self._settle("nothing")
            case _:
                self._settle("partial")
        self.answer.set_result(PromptEnded(stop_reason, None))

    def compact(self) -> None:
        """Forget everything before the prompt, and say so."""
        since = len(self.live.transcript.content) - self.kept_before
        for content in (self.live.content, self.live.transcript.content):
            del content[: len(content) - since]
        self.kept_before = 0
        self.tell(ContextCompacted(None, "completed"))

    def fail(self, error: AgentRefused) -> None:
        """Answer the prompt with an error."""
        self.flush()
        self._settle(self.agent.upstream.keeps("error"))
        self.answer.set_exception(error)
        self.answer.exception()  # whoever waited for it may be gone

    def flush(self) -> None:
        """Put on the wire what was held back."""
        for event in self.late:
            self.agent.tell(self.live.session_id, event)
        self.late.clear()

    def _tell(self, event: Event, unseen: bool) -> None:
        if unseen:
            self.late.append(event)
            return
        self.flush()
        self.agent.tell(self.live.session_id, event)

    def _settle(self, keep: str) -> None:
        live = self.live
        prompt = Said("user", "\n".join(self.texts))
        match keep:
            case "partial":
                live.content += self.answered
                live.transcript.content += self.answered
            case "nothing":
                _drop_last(live.content, prompt)
                _drop_last(live.transcript.content, prompt)
        live.running = None

    def cut(self) -> None:
        """The process ended in the middle."""
        match self.agent.upstream.keeps("kill"):
            case "nothing":
                del self.live.transcript.content[self.kept_before :]
            case "partial":
                self.live.transcript.content += self.answered

    def finish_alone(self) -> None:
        """The client is gone; the turn goes to its end all the same."""
        self.live.transcript.content += self.answered


def _drop_last(content: list[Said], said: Said) -> None:
    for at in range(len(content) - 1, -1, -1):
        if (content[at].role, content[at].text) == (said.role, said.text):
            del content[at:]
            return


class Upstream:
    """One agent's world."""

    def __init__(
        self,
        name: str = "model",
        profile: Profile | None = None,
        scene: Callable[[Running], None] | None = None,
    ) -> None:
        profile = profile or Profile()
        if profile.reuses_ids:
            profile = replace(profile, resume=False, load=False, fork=False)
        self.name = name
        self.profile = profile
        self.scene = scene  # plays each turn by itself
        self.kept: dict[str, Transcript] = {}
        self.agents: list[ModelAgent] = []
        self.down: AgentError | None = None  # an outage: everything that opens a session fails with it
        self.lies: dict[str, str] = {}  # by request; the next answer, or every one
        self.spoilt: set[str] = set()  # sessions that it lost something of by itself
        self.requests: list[tuple[str, str | None]] = []
        self.prompts: list[tuple[str, tuple[str, ...]]] = []  # session id and text blocks, as they were heard
        self.prompted: Callable[[ModelAgent, LiveCopy, tuple[str, ...]], None] = lambda *_: None
        # Gives what it says of it.
        self.run_command: Callable[[str], str] = lambda text: f"{text} was run here"
        self.tells_when_opened: Event | None = None  # behind the answer, of a session that is opened again
        self._bad_ends = 0
        self._sessions = itertools.count(1)
        self._messages = itertools.count(1)
        self._pids = itertools.count(1)

    @property
    def spec(self) -> AgentSpec:
        return AgentSpec(self.name, self.name.title(), (self.name,))

    def abilities(self) -> Abilities:
        profile = self.profile
        return Abilities(
            name=self.name,
            title=self.name.title(),
            version="1",
            protocol_version=1,
            load=profile.load,
            resume=profile.resume,
            fork=profile.fork,
            list=True,
            close=True,
            delete=profile.delete,
            steering=profile.steering,
            quirks=Quirks(
                replay_faithful=profile.faithful,
                fork_cold=profile.fork_cold,
                fork_at_key="air" if profile.fork_at else None,
            ),
        )

    def keeps(self, end: str) -> str:
        """What it keeps of another turn that ends so."""
        self._bad_ends += 1
        until = self.profile.changes_mind
        changed = until is not None and self._bad_ends > until
        kept: str = "nothing" if changed else getattr(self.profile, f"{end}_keeps")
        return kept

    def start(self, gate: Gate = open_gate) -> ModelAgent:
        """A new process."""
        agent = ModelAgent(self, next(self._pids), gate)
        self.agents.append(agent)
        return agent

    def message_id(self) -> str:
        return f"{self.name}-m{next(self._messages)}"

    def session_id(self) -> str:
        return f"{self.name}-s{next(self._sessions)}"

    def running(self) -> Iterator[Running]:
        """Every turn under way, in whatever process."""
        for agent in self.agents:
            for live in agent.sessions.values():
                if agent.alive and live.running and not live.running.over:
                    yield live.running

    def count(self, request: str) -> int:
        """How often something was asked for."""
        return sum(name == request for name, _ in self.requests)

    def heard_in(self, session_id: str) -> str:
        """Everything that a session's model has been given, as one text."""
        return "\n".join(said.text for said in self.kept[session_id].content)


class ModelAgent:
    """One process of an upstream: an ``AgentPort``."""

    def __init__(self, upstream: Upstream, pid: int, gate: Gate) -> None:
        self.upstream = upstream
        self.pid = pid
        self.sessions: dict[str, LiveCopy] = {}
        self._gate = gate
        self._alive = True
        self._ids = itertools.count()
        self._listeners: dict[str, list[Callable[[Event], None]]] = {}
        self._unclaimed: dict[str, list[Event]] = {}  # of sessions that nobody listens to yet
        self._exit_callbacks: list[Callable[[], None]] = []

    # --- what it is

    @property
    def spec(self) -> AgentSpec:
        return self.upstream.spec

    @property
    def abilities(self) -> Abilities:
        return self.upstream.abilities()

    @property
    def alive(self) -> bool:
        return self._alive

    @property
    def runs_commands(self) -> bool:
        return False

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        return ()

    @property
    def group(self) -> tuple[int, str]:
        return self.pid, f"{self.upstream.name}-{self.pid}"

    # --- sessions

    async def new_session(self, place: SessionSetup) -> SessionOpened:
        await self._asked("new", None)
        if self.upstream.down:
            raise self.upstream.down
        session_id, greets = self._born([]), self.upstream.profile.greets
        greeting = TextChunk("agent", GREETING, self.upstream.message_id())
        if greets == "before":
            self.tell(session_id, greeting)
        opened = await self._answered(SessionOpened(session_id, None, (), ()))
        if greets == "behind":
            self._tell_soon(session_id, [greeting], 0)
        return opened

    async def resume_session(self, session_id: str, place: SessionSetup) -> SessionOpened:
        return await self._open("resume", session_id)

    async def load_session(self, session_id: str, place: SessionSetup) -> SessionOpened:
        return await self._open("load", session_id)

    async def fork_session(
        self, session_id: str, place: SessionSetup, at: str | None = None
    ) -> SessionOpened:
        await self._asked("fork", session_id)
        upstream, profile = self.upstream, self.upstream.profile
        if upstream.down:
            raise upstream.down
        if not profile.fork:
            raise NotOffered(-32601, "no such method")
        live = self.sessions.get(session_id)
        if session_id not in upstream.kept:
            raise SessionGone(-32002, "session not found")
        if live is None and not profile.fork_cold:
            raise AgentRefused(-32602, "the session is not loaded")
        content = list(live.content if live else upstream.kept[session_id].content)
        if live and live.running and not live.running.over and not profile.fork_running:
            raise AgentRefused(-32602, "a turn is running")
        if not content and profile.fork_empty_refused:
            raise AgentRefused(-32602, "nothing to fork")
        lie = upstream.lies.get("fork")
        if lie != "always empty":
            upstream.lies.pop("fork", None)
        if lie == "same":
            return await self._answered(SessionOpened(session_id, None, (), ()))
        if at is not None and profile.fork_at:
            ends = [index for index, said in enumerate(content) if said.message_id == at]
            if not ends:
                raise AgentRefused(-32602, "no such message")
            content = content[: ends[-1] + 1]
        if lie in ("empty", "always empty"):
            content = []
        born = self._born(content)
        if session_id in upstream.spoilt:
            upstream.spoilt.add(born)
        if profile.forks_asleep:
            del self.sessions[born]
        return await self._answered(SessionOpened(born, None, (), ()))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> SessionPage:
        await self._asked("list", None)
        listed = (ListedSession(session_id, cwd or "", None, None) for session_id in self.upstream.kept)
        return SessionPage(tuple(listed), None)

    async def close_session(self, session_id: str) -> None:
        await self._asked("close", session_id)
        self._unclaimed.pop(session_id, None)
        live = self.sessions.pop(session_id, None)
        if live and live.running and not live.running.over:
            live.running.end("cancelled")

    async def delete_session(self, session_id: str) -> None:
        await self._asked("delete", session_id)
        self.upstream.kept.pop(session_id, None)

    # --- turns

    async def prompt(self, session_id: str, blocks: Sequence[PromptBlock]) -> PromptEnded:
        await self._asked("prompt", session_id)
        texts = tuple(block.text for block in blocks if isinstance(block, TextBlock))
        live = self.sessions.get(session_id)
        lie = self.upstream.lies.get("prompt")
        if lie != "always refused":
            self.upstream.lies.pop("prompt", None)
        if live is None or lie in ("refused", "always refused"):
            raise SessionGone(-32002, "session not found")
        commands = self.upstream.profile.commands
        if texts[-1].startswith("/") and commands.startswith("refused"):
            if commands == "refused, shown":
                live.transcript.content.append(Said("user", texts[-1], shown_only=True))
            raise AgentRefused(-32603, "Slash command not supported")
        self.upstream.prompts.append((session_id, texts))
        self.upstream.prompted(self, live, texts)
        if texts[-1].startswith("/") and commands == "local":
            words = self.upstream.run_command(texts[-1])
            self.tell(session_id, TextChunk("agent", words, self.upstream.message_id()))
            return PromptEnded("end_turn", None)
        running = Running(self, live, texts, len(live.transcript.content))
        said = Said("user", "\n".join(texts))
        live.content.append(said)
        live.transcript.content.append(said)
        live.running = running
        if self.upstream.scene:
            self.upstream.scene(running)
        return await running.answer

    async def steer(self, session_id: str, blocks: Sequence[PromptBlock]) -> str:
        await self._asked("steer", session_id)
        live = self.sessions.get(session_id)
        lie = self.upstream.lies.pop("steer", None)
        if live is None or live.running is None or live.running.over or lie == "promptRequired":
            return "promptRequired"
        if lie == "refused":
            raise AgentRefused(-32603, "not now")
        said = Said("user", "\n".join(block.text for block in blocks if isinstance(block, TextBlock)))
        live.content.append(said)
        live.transcript.content.append(said)
        await self._gate("answered")
        return "injected"

    async def cancel(self, session_id: str) -> None:
        await self._asked("cancel", session_id)
        live = self.sessions.get(session_id)
        if live and live.running:
            live.running.cancel_asked = True

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        pass

    def forbid_writes(self, session_id: str) -> None:
        pass

    async def set_mode(self, session_id: str, mode_id: str) -> None:
        await self._asked("set_mode", session_id)

    async def authenticate(self, method_id: str) -> None:
        raise NotOffered(-32601, "there is no account here")

    async def logout(self) -> None:
        raise NotOffered(-32601, "there is no account here")

    async def set_option(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]:
        await self._asked("set_option", session_id)
        return ()

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        """Nothing here asks."""

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        """Nothing here asks."""

    # --- events and the end

    def guard_files(self, session_id: str, guard: FileGuard) -> Callable[[], None]:
        """Nothing here asks for files."""
        return lambda: None

    def listen(self, session_id: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        listeners = self._listeners.setdefault(session_id, [])
        listeners.append(listener)
        for event in self._unclaimed.pop(session_id, ()):
            listener(event)

        def leave() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return leave

    def tell(self, session_id: str, event: Event) -> None:
        """Put an update on the wire."""
        listeners = list(self._listeners.get(session_id, ()))
        if not listeners:
            self._unclaimed.setdefault(session_id, []).append(event)
        for listener in listeners:
            listener(event)

    def _tell_soon(self, session_id: str, events: Sequence[Event], seconds: float) -> None:
        """Put updates on the wire right behind an answer, or so many seconds later."""

        def tell() -> None:
            for event in events if self._alive and session_id in self.sessions else ():
                self.tell(session_id, event)

        loop = asyncio.get_running_loop()
        _ = loop.call_later(seconds, tell) if seconds else loop.call_soon(tell)

    async def stop(self) -> None:
        self.die(0)

    def on_exit(self, callback: Callable[[], None]) -> Callable[[], None]:
        if not self._alive:
            callback()
            return lambda: None
        self._exit_callbacks.append(callback)
        return lambda: self._exit_callbacks.remove(callback) if callback in self._exit_callbacks else None

    def die(self, returncode: int = -9, *, orphaned: bool = False) -> None:
        """End; ``orphaned``: because the client is gone, whom nothing can be told any more."""
        if not self._alive:
            return
        self._alive = False
        for live in self.sessions.values():
            if live.running and not live.running.over:
                if orphaned and self.upstream.profile.orphan_finishes:
                    live.running.finish_alone()
                else:
                    live.running.cut()
                live.running.answer.set_exception(AgentGone(returncode))
                live.running.answer.exception()  # whoever waited for it may be gone
            if self.upstream.profile.reuses_ids:
                self.upstream.kept.pop(live.session_id, None)
        self.sessions.clear()
        mourners, self._exit_callbacks = self._exit_callbacks, []
        if not orphaned:
            for callback in mourners:
                callback()

    # --- within

    async def _asked(self, request: str, session_id: str | None) -> None:
        await self._gate(request)
        if not self._alive:
            raise AgentGone(-9)
        self.upstream.requests.append((request, session_id))

    async def _answered(self, opened: SessionOpened) -> SessionOpened:
        await self._gate("answered")
        return opened

    def _born(self, content: list[Said]) -> str:
        profile = self.upstream.profile
        session_id = f"s{next(self._ids)}" if profile.reuses_ids else self.upstream.session_id()
        transcript = Transcript(list(content))
        self.upstream.kept[session_id] = transcript
        self.sessions[session_id] = LiveCopy(session_id, transcript, list(content))
        return session_id

    async def _open(self, how: str, session_id: str) -> SessionOpened:
        await self._asked(how, session_id)
        upstream = self.upstream
        if upstream.down:
            raise upstream.down
        if not getattr(upstream.profile, how):
            raise NotOffered(-32601, "no such method")
        if session_id not in upstream.kept:
            raise SessionGone(-32002, "session not found")
        transcript = upstream.kept[session_id]
        match upstream.lies.pop("open", None):
            case "gone":
                del upstream.kept[session_id]
                raise SessionGone(-32002, "session not found")
            case "other":
                return await self._answered(SessionOpened(self._born([]), None, (), ()))
            case "empty":
                self.upstream.spoilt.add(session_id)
                transcript.content.clear()
            case "half":
                self.upstream.spoilt.add(session_id)
                del transcript.content[len(transcript.content) // 2 :]
            case _:
                pass
        content = [said for said in transcript.content if not said.shown_only]
        if upstream.profile.reopen_keeps and session_id in self.sessions:
            content = list(self.sessions[session_id].content)
        else:
            self.sessions[session_id] = LiveCopy(session_id, transcript, list(content))
        replay: list[Event] = []
        behind = upstream.profile.replays_late if how == "load" else upstream.profile.resume_replays
        if upstream.profile.replays and (how == "load" or behind is not None):
            replay = [_chunk(said) for said in self._replayed(transcript.content)]
        if behind is None:
            opened = await self._answered(SessionOpened(session_id, None, (), tuple(replay)))
            if upstream.tells_when_opened:
                self.tell(session_id, upstream.tells_when_opened)
            return opened
        opened = await self._answered(SessionOpened(session_id, None, (), ()))
        self._tell_soon(session_id, replay, behind)
        return opened

    def _replayed(self, content: Sequence[Said]) -> list[Said]:
        """What a replay tells of a transcript."""
        if not self.upstream.profile.drops_short_rows:
            return list(content)
        told: list[Said] = []
        longest: int | None = None  # of the turn's messages, among those that are told
        for said in content:
            if said.tool or said.role == "user" or longest is None:
                told.append(said)
                longest = longest if said.tool else None if said.role == "user" else len(told) - 1
            elif len(bare(said.text)) > len(bare(told[longest].text)):
                told[longest] = said
        return told


def _chunk(said: Said) -> Event:
    message_id = said.message_id or said.text
    if said.tool:
        return ToolCallChanged(message_id, title=said.text, kind="execute", status="completed")
    return TextChunk("user" if said.role == "user" else "agent", said.text, message_id)

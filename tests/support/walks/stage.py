"""The stage of a walk: agents, two client processes and their windows, and the judge who watches every prompt."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import aiosqlite

from catena_acp.continuity.conversation_events import ConversationEvent, PromptReturned, TurnEnded
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError, ReadOnly
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.errors import Fenced, NotFound, StoreError
from catena_store.records import AgentGroup, StopReason, Turn
from catena_store.windows import windows
from support.agents.model import GREETING, LiveCopy, ModelAgent, Profile, Running, Said, Upstream
from support.walks.client import Client, Crash, Journey, Window
from support.walks.loop import StraightConnection
from support.walks.oracle import (
    Birth,
    Delivery,
    File,
    judge_company,
    judge_delivery,
    judge_file,
    judge_telling,
    tokens_of,
)

CWD = "/work"
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

T = TypeVar("T")


class Stage:
    """What acts are played on."""

    def __init__(self, path: Path, profiles: dict[str, Profile]) -> None:
        self.path = path
        self.one_writer = asyncio.Lock()
        self.upstreams = {name: Upstream(name, profile) for name, profile in profiles.items()}
        for upstream in self.upstreams.values():
            upstream.prompted = self._prompted
            upstream.run_command = self._run_command
        self.file = File(path)
        self.wrong: list[str] = []
        self.innocent = True  # nothing has happened that would need telling
        self.ends_groups = True  # a dead owner's agents can be ended
        self._connection = StraightConnection(path, self.one_writer)
        self._db = Database(cast("aiosqlite.Connection", self._connection), path, self.clock)
        self._numbers = itertools.count(1)
        self._owners = itertools.count(1)
        self._tokens = itertools.count(1)
        self._windows: list[Window] = []
        self._typed: list[str] = []
        self._returned: set[str] = set()
        self._births: dict[str, Birth] = {}
        self._noise: set[str] = set()
        self._strays: set[str] = set()  # said while no turn ran
        self._deliveries: dict[tuple[int, str, str], Delivery] = {}
        self._parked: dict[str, tuple[Upstream, str, list[Said]]] = {}
        self._believed_dead: set[int] = set()
        self._clients: dict[int, Client] = {}

    # --- what clients need

    def new_id(self) -> str:
        return f"i{next(self._numbers):05}"

    def clock(self) -> datetime:
        return _EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    def start_time_of(self, pid: int) -> str | None:
        owners = {client.owner.pid: client for client in self._clients.values()}
        client = owners.get(pid)
        gone = client is None or client.dead or pid in self._believed_dead
        return None if client is None or gone else client.owner.started

    async def end_group(self, group: AgentGroup) -> bool:
        agents = [agent for upstream in self.upstreams.values() for agent in upstream.agents]
        agent = next((agent for agent in agents if agent.group == (group.pid, group.started)), None)
        if agent and agent.alive and self.ends_groups:
            agent.die()
        return agent is None or not agent.alive

    def violate(self, what: str) -> None:
        if what not in self.wrong:
            self.wrong.append(what)

    def unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A task ended with an error that nobody took."""
        error = context.get("exception")
        if not isinstance(error, Crash | asyncio.CancelledError):
            self.violate(
                f"P0: {context.get('message')}: {error!r} in {context.get('task') or context.get('future')}"
            )

    # --- beginning and end

    async def start(self) -> None:
        for slot in (1, 2):
            self._clients[slot] = Client(self, slot, next(self._owners))
        async with self._db.write() as tx:
            await conversations.create(tx, id="c1", agent="A", cwd=CWD)
        await self._add_window("c1", None, 1)

    async def finish(self) -> None:
        """Let everything come to rest, and look at what is left."""
        for client in self._clients.values():
            client.fuse, client.idle_steps = None, None
        for journey in self._held():
            journey.go_on(None)
        for _ in range(12):
            await self.settle()
            for running in self._running():
                self._stream(running, Said("agent", self._token("a")))
                running.end()
        await self.settle()
        for client in self._clients.values():
            for window_id, said in client.said.items():
                if said != client.ended.get(window_id, 0):
                    self.violate(f"P0: {said} prompts, {client.ended.get(window_id, 0)} ends in {window_id}")
            for conversation_id, live in client.live.items():
                ours = not live.read_only and self._holds(client, conversation_id)
                sql = "SELECT 1 FROM turn WHERE conversation_id = ? AND stop_reason IS NULL"
                if ours and self.file.all(sql, conversation_id):
                    self.violate("P0: a turn is open, and nothing is under way")
                if ours:
                    self._judge_queues(client, conversation_id)
        for what in judge_file(self.file, self._typed):
            self.violate(what)

    def _judge_queues(self, client: Client, conversation_id: str) -> None:
        """What waits, waits for the person or for a window that has not prompted yet in this client's life."""
        for window in self._open():
            if (window.conversation_id, window.slot) == (conversation_id, client.slot) and client.said.get(
                window.id
            ):
                sql = "SELECT held FROM queue_item WHERE window_id = ? ORDER BY position LIMIT 1"
                if self.file.one(sql, window.id) == (0,):
                    self.violate(f"P0: a prompt waits in {window.id}, and nothing is under way")

    async def close(self) -> None:
        for client in self._clients.values():
            client.crash()
            await client.bury()
        self._connection.close()
        self.file.close()

    async def settle(self) -> None:
        """Let everybody go on until all wait for something that only the walk can bring."""
        while True:
            await asyncio.sleep(2)
            dead = [client for client in self._clients.values() if client.dead]
            if not dead:
                break
            for client in dead:
                await self._boot_again(client)
        self._note_parked()
        for link_id, (upstream, session_id, was) in self._parked.items():
            kept = upstream.kept.get(session_id)
            if kept and kept.content != was and session_id not in upstream.spoilt:
                self.violate(f"P3: the parked session of {link_id} changed")

    # --- within

    def _note_parked(self) -> None:
        """What a parked session holds when it is first seen is what it is to hold for ever."""
        sql = "SELECT id, agent, session_id FROM link WHERE state = 'parked'"
        for link_id, agent, session_id in self.file.all(sql):
            upstream = self.upstreams[str(agent)]
            kept = upstream.kept.get(str(session_id))
            if kept and link_id not in self._parked:
                self._parked[str(link_id)] = (upstream, str(session_id), list(kept.content))

    def _pick(self, things: Sequence[T], n: int) -> T | None:
        return things[n % len(things)] if things else None

    def _held(self) -> list[Journey]:
        """The ways that wait at a gate, or will."""
        journeys = [journey for window in self._windows for journey in (window.journey, window.getting_ready)]
        journeys += [journey for client in self._clients.values() for journey in client.idle_work]
        return [journey for journey in journeys if journey and journey.steps is not None]

    def _open(self) -> list[Window]:
        return [window for window in self._windows if window.open]

    def _idle(self, window: Window) -> bool:
        acting = window.act is not None and not window.act.done()
        client = self._clients[window.slot]
        live = client.live.get(window.conversation_id)
        shown = live._windows.get(window.id) if live else None
        return not acting and client.idle(window.id) and not (shown and shown.busy)

    def _writable(self, window: Window) -> bool:
        live = self._clients[window.slot].live.get(window.conversation_id)
        return live is not None and not live.read_only

    def _ready(self) -> list[Window]:
        return [window for window in self._open() if self._idle(window) and self._writable(window)]

    def _on_the_way(self, window: Window) -> bool:
        """Its prompt is between the row and the session: the person is not let go elsewhere then."""
        return not self._idle(window) and not any(
            (delivery := self._delivery(running)) and delivery.window_id == window.id
            for running in self._running()
        )

    def _exists(self, conversation_id: str) -> bool:
        return bool(self.file.all("SELECT 1 FROM conversation WHERE id = ?", conversation_id))

    def _holds(self, client: Client, conversation_id: str) -> bool:
        sql = "SELECT 1 FROM lease WHERE conversation_id = ? AND owner = ?"
        return bool(self.file.all(sql, conversation_id, client.owner.id))

    def _token(self, kind: str) -> str:
        return f"{kind}{next(self._tokens)}z"

    def _running(self) -> Iterator[Running]:
        for upstream in self.upstreams.values():
            yield from list(upstream.running())

    def _delivery(self, running: Running) -> Delivery | None:
        key = (running.agent.pid, running.agent.upstream.name, running.live.session_id)
        return self._deliveries.get(key)

    def _bear(self, running: Running, token: str) -> None:
        if delivery := self._delivery(running):
            self._births[token.strip()] = Birth(delivery.prompt_id, delivery.turn_id)

    def _stream(self, running: Running, said: Said, *, unseen: bool = False, kept: bool = True) -> None:
        self._bear(running, said.text)
        if not kept:
            self._noise.add(said.text.strip())
        running.say(said.text, said.message_id, unseen=unseen, kept=kept)

    async def _do(
        self,
        client: Client,
        work: Coroutine[Any, Any, None],
        journey: Journey | None = None,
        window: Window | None = None,
    ) -> None:
        """Let a client do something; what is held at a gate goes on in the background."""
        task = client.begin(self._taken(work), journey)
        if window:
            window.act = task
        if journey is not None and journey.steps is not None:
            return
        for _ in range(50):
            await asyncio.wait({task}, timeout=2)
            if task.done() or client.dead:
                return
        self.violate("P0: a client hangs")

    async def _taken(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (ReadOnly, Fenced, NotFound, Crash, AgentError):
            return
        except (StoreError, KeyError, AssertionError) as error:
            self.violate(f"P0: {error!r}")

    async def _add_window(self, conversation_id: str, leaf: str | None, slot: int) -> None:
        window = Window(self.new_id(), conversation_id, slot)
        async with self._db.write() as tx:
            await windows.open(tx, id=window.id, conversation_id=conversation_id, leaf_id=leaf)
        self._windows.append(window)
        client = self._clients[slot]
        await self._open_conversation(client, conversation_id)
        if live := client.live.get(conversation_id):
            live.window(window.id)

    async def _open_conversation(self, client: Client, conversation_id: str) -> None:
        if conversation_id in client.live:
            return

        async def open_it() -> None:
            live = await client.served.open(conversation_id)
            client.live[conversation_id] = live
            live.subscribe(lambda news: self._heard(client, news))
            self._count_beginnings(client, live)
            for window in self._open():
                if (window.conversation_id, window.slot) == (conversation_id, client.slot):
                    live.window(window.id)

        await self._do(client, open_it())

    def _count_beginnings(self, client: Client, conversation: LiveConversation) -> None:
        """Every prompt that sets out is to end in one ``TurnEnded``; how often one sets out is told to nobody."""
        begin = conversation.begin_turn

        def counted(window_id: str) -> None:
            client.said[window_id] = client.said.get(window_id, 0) + 1
            begin(window_id)

        setattr(conversation, "begin_turn", counted)  # noqa: B010

    async def _close(self, client: Client, conversation_id: str) -> None:
        if client.live.pop(conversation_id, None):
            for window in self._windows:
                if (window.conversation_id, window.slot) == (conversation_id, client.slot):
                    for journey in filter(None, (window.journey, window.getting_ready)):
                        journey.go_on(None)
            await self._do(client, client.served.close(conversation_id))
            for window in self._windows:
                if window.conversation_id == conversation_id:
                    client.said.pop(window.id, None)
                    client.ended.pop(window.id, None)
            if not self._exists(conversation_id):
                for window in self._windows:
                    window.open = window.open and window.conversation_id != conversation_id

    async def _boot_again(self, client: Client) -> None:
        await client.bury()
        self._clients[client.slot] = again = Client(self, client.slot, next(self._owners))
        for window in self._windows:
            if window.slot == client.slot:
                window.journey = None
        for conversation_id in dict.fromkeys(
            w.conversation_id for w in self._open() if w.slot == client.slot
        ):
            if not again.dead and self._exists(conversation_id):
                await self._open_conversation(again, conversation_id)

    def _heard(self, client: Client, news: ConversationEvent) -> None:
        match news:
            case TurnEnded(window_id, turn, _):
                client.ended[window_id] = client.ended.get(window_id, 0) + 1
                window = next(window for window in self._windows if window.id == window_id)
                if window.journey:
                    window.journey.begin()
                clean = turn and turn.stop_reason and turn.stop_reason.clean
                shown = {row.id for row in self.file.branch(self.file.leaf(window_id))}
                if turn and clean and not window.moved and turn.last_id not in shown:
                    self.violate(f"P8: the answer {turn.last_id} is not on the branch that {window_id} shows")
                if turn:
                    self._judge_record(turn)
            case PromptReturned(window_id, text):
                if not self.file.all("SELECT 1 FROM message WHERE text = ?", text):
                    # Stopped before it was a row: the composer has it, as if it had never been sent.
                    client.said[window_id] = client.said.get(window_id, 0) + 1
                    self._typed = [typed for typed in self._typed if typed != text]
                    self._returned.add(text)
            case _:
                return

    def _judge_record(self, turn: Turn) -> None:
        """Whatever came of a turn that the agent ended is in the store when its end is told."""
        if turn.stop_reason in (StopReason.AGENT_GONE, StopReason.INTERRUPTED, StopReason.NOT_SENT):
            return
        rows = self.file.all("SELECT text FROM message WHERE turn_id = ?", turn.id)
        stored = tokens_of(str(text) for (text,) in rows)
        for token, birth in self._births.items():
            if birth.turn_id == turn.id and token not in self._strays and token not in stored:
                self.violate(f"P9: {token} came before the end of its turn, and is not kept")

    def _run_command(self, text: str) -> str:
        """What an agent says of a command that it runs itself: no session holds that, nor the command."""
        token = self._token("a")
        self._noise |= {token, *tokens_of([text])}
        return token

    def _prompted(self, agent: ModelAgent, live: LiveCopy, texts: tuple[str, ...]) -> None:
        upstream = agent.upstream
        slot = next(client.slot for client in self._clients.values() if agent in client.agents)
        mine = [window.id for window in self._windows if window.slot == slot]
        delivery = self.file.delivery(upstream.name, live.session_id, mine)
        if delivery is None:
            self.violate(f"P0: {live.session_id} was prompted without a claim")
            return
        self._deliveries[agent.pid, upstream.name, live.session_id] = delivery
        window = next(window for window in self._windows if window.id == delivery.window_id)
        beside = [
            other.id
            for other in self._open()
            if (other.slot, other.conversation_id) == (window.slot, window.conversation_id)
            and other is not window
        ]
        found = [
            *judge_delivery(self.file, delivery, agent, live, texts, self._births, self._noise),
            *judge_company(self.file, delivery, live, beside),
        ]
        if any(GREETING in text for text in texts):
            found.append(f"P10: {live.session_id} was told what another session said of its own accord")
        if self.innocent:
            new_sessions = window.journey.new_sessions if window.journey else 0
            found += judge_telling(self.file, delivery, upstream.profile, new_sessions)
        for what in found:
            self.violate(what)

"""Real conversations: a real store file, real rehearsal agent processes, and what those heard."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from catena_acp.continuity.conversation_events import ConversationEvent, PermissionOpened, TurnEnded
from catena_acp.continuity.services import Checkpointing, OpeningWait, ReplayWait, WhileIdle
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.prompts.window import Window
from catena_acp.mcp.servers import McpServer
from catena_acp.permissions.rule import Rule
from catena_acp.port.port import AgentSpec
from catena_acp.snapshots.keeping import FileSnapshots
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.ids import new_id, utc_now
from catena_store.records import Link, Message, Turn, WindowRecord
from catena_store.windows import windows
from support.json_lines import json_lines

T = TypeVar("T")

# Agents that send their history behind the answer send both with one write here.
SHORT_WAIT = ReplayWait(silence=0.2, most=1)


@dataclass
class Desk:
    """One client process's view: a conversation, a window on it, and everything that was told."""

    db: Database
    conversations: Conversations
    conversation: Conversation
    window_id: str
    told: list[ConversationEvent] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, news: ConversationEvent) -> None:
        self.told.append(news)
        self._news.set()

    async def until(self, found: Callable[[], T | None], seconds: float = 60) -> T:
        """Wait for something to be so, looked at again with every piece of news."""
        async with asyncio.timeout(seconds):
            while (value := found()) is None:
                self._news.clear()
                await self._news.wait()
            return value

    async def until_told(self, kind: type[T], where: Callable[[T], bool] = lambda _: True) -> T:
        """Wait for a piece of news; one that has come counts."""
        return await self.until(
            lambda: next((item for item in self.told if isinstance(item, kind) and where(item)), None)
        )

    async def say(self, text: str, answer: str | None = None) -> TurnEnded:
        """Say it and wait for the end of its turn; questions are answered with the option of id ``answer``."""
        return await self.over(self.window.say(text), answer)

    async def over(self, sending: Awaitable[None], answer: str | None = None) -> TurnEnded:
        """Send a prompt in some way, and wait as ``say`` does."""
        at = len(self.told)
        await sending
        answered: dict[str, asyncio.Task[None]] = {}

        def ended() -> TurnEnded | None:
            for item in self.told[at:]:
                if isinstance(item, PermissionOpened) and answer and item.ask_id not in answered:
                    reply = self.conversation.answer(item.ask_id, answer)
                    answered[item.ask_id] = asyncio.ensure_future(reply)
                if isinstance(item, TurnEnded) and item.window_id == self.window_id:
                    return item
            return None

        over = await self.until(ended)
        await self.window.wait_idle()
        return over

    @property
    def window(self) -> Window:
        return self.conversation.window(self.window_id)

    async def stored_window(self) -> WindowRecord:
        async with self.db.read() as reader:
            window = await windows.get(reader, self.window_id)
        assert window is not None
        return window

    async def branch(self) -> list[Message]:
        async with self.db.read() as reader:
            window = await windows.get(reader, self.window_id)
            assert window is not None
            return await messages.page(reader, window.leaf_id, 100_000)

    async def links(self) -> list[Link]:
        async with self.db.read() as reader:
            return await links.of_conversation(reader, self.conversation.id)

    async def turns(self) -> list[Turn]:
        async with self.db.read() as reader:
            return await turns.of_conversation(reader, self.conversation.id)


class World:
    """A place with a store file and a home for the rehearsal agent."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.project = place / "project"
        self.project.mkdir()
        self.store = place / "data" / "catena.db"
        self.faults = place / "faults.json"
        self._log = place / "heard.jsonl"
        self._faults_written = 0

    def spec(self, *flags: str, name: str = "rehearsal", **env: str) -> AgentSpec:
        """A rehearsal agent started with these flags."""
        environment = {
            "CATENA_REHEARSAL_HOME": str(self.place / name),
            "CATENA_REHEARSAL_LOG": str(self._log),
            "CATENA_REHEARSAL_FAULTS": str(self.faults),
            **env,
        }
        command = (sys.executable, "-m", "catena_acp.rehearsal", *flags)
        return AgentSpec(name, name.capitalize(), command, tuple(environment.items()))

    def fail(self, faults: Mapping[str, Any]) -> None:
        """How the agent's next requests fail."""
        self._faults_written += 1
        # Whole at once: an agent may just be looking. White space makes each version of the file another one, so that
        # uses are counted anew.
        written = self.faults.with_suffix(".written")
        written.write_text(json.dumps(dict(faults)) + " " * self._faults_written)
        written.replace(self.faults)

    def cue(self, name: str, agent: str = "rehearsal") -> None:
        """Let an agent of this name go on that waits for a cue, or will wait for it."""
        cues = self.place / agent / "cues"
        cues.mkdir(parents=True, exist_ok=True)
        (cues / name).touch()

    def requests(self, method: str | None = None) -> list[dict[str, Any]]:
        """What the agents' processes recorded of what they were asked."""
        return [entry for entry in json_lines(self._log) if method is None or entry.get("method") == method]

    async def heard(self, method: str, times: int = 1, seconds: float = 60) -> None:
        """Wait until the agents' processes have been asked for something so often."""
        async with asyncio.timeout(seconds):
            while len(self.requests(method)) < times:  # noqa: ASYNC110 - the log is another process's
                await asyncio.sleep(0.01)

    def prompts(self) -> list[list[str]]:
        """The text blocks of every prompt that an agent heard, in order."""
        return [list(entry["blocks"]) for entry in self.requests("session/prompt")]

    @asynccontextmanager
    async def client(
        self,
        *flags: str,
        resume: Desk | None = None,
        specs: Mapping[str, AgentSpec] | None = None,
        agent: str = "rehearsal",
        while_idle: WhileIdle | None = None,
        replay_wait: ReplayWait = SHORT_WAIT,
        checkpointing: Checkpointing | None = None,
        rules: Sequence[Rule] | None = None,
        mcp_servers: Sequence[McpServer] = (),
        snapshots: Callable[[Database], FileSnapshots | None] = lambda _: None,
        clock: Callable[[], datetime] = utc_now,
        opening_wait: OpeningWait | None = None,
        idle_agents: float = 0,
    ) -> AsyncIterator[Desk]:
        """One life of a client: a new conversation, or the one and the window of an earlier life."""
        known = {"rehearsal": self.spec(*flags), **(specs or {})}
        async with (
            Database.open(self.store, clock=clock) as db,
            Conversations.serve(
                db,
                clock=clock,
                snapshots=snapshots(db),
                specs=known,
                client_version="test",
                while_idle=while_idle,
                replay_wait=replay_wait,
                checkpointing=checkpointing,
                rules=rules,
                mcp_servers=mcp_servers,
                opening_wait=opening_wait,
                idle_agents=idle_agents,
            ) as served,
        ):
            if resume:
                conversation = await served.open(resume.conversation.id)
                desk = Desk(db, served, conversation, resume.window_id)
            else:
                conversation = await served.create(agent=known[agent], cwd=str(self.project))
                desk = Desk(db, served, conversation, await open_window(db, conversation.id))
            conversation.subscribe(desk.hear)
            yield desk

    @asynccontextmanager
    async def reopened(
        self,
        conversation_id: str,
        window_id: str,
        home: Path,
        snapshots: Callable[[Database], FileSnapshots | None] = lambda _: None,
    ) -> AsyncIterator[Desk]:
        """A client on a conversation that another process left, with the rehearsal agent's home of that one."""
        spec = self.spec(CATENA_REHEARSAL_HOME=str(home))
        async with (
            Database.open(self.store) as db,
            Conversations.serve(
                db, snapshots=snapshots(db), specs={"rehearsal": spec}, client_version="test"
            ) as served,
        ):
            conversation = await served.open(conversation_id)
            desk = Desk(db, served, conversation, window_id)
            conversation.subscribe(desk.hear)
            yield desk


async def open_window(db: Database, conversation_id: str, leaf_id: str | None = None) -> str:
    """A window on a conversation, outside of any workspace."""
    window_id = new_id()
    async with db.write() as tx:
        await windows.open(tx, id=window_id, conversation_id=conversation_id, leaf_id=leaf_id)
    return window_id

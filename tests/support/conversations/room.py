"""The tabs of one directory without a screen: a real store, and real rehearsal agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.journal import move_window, opened_window
from catena_acp.port.port import AgentSpec
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.ids import new_id
from catena_store.records import Kind
from catena_store.windows import windows
from catena_store.windows.journal import Act
from support.conversations.rehearsed import World


class Room:
    """The tabs, and short ways to do things in them."""

    def __init__(
        self, db: Database, served: Conversations, tabs: OpenTabs, agent: AgentSpec, other: AgentSpec
    ) -> None:
        self.db = db
        self.served = served
        self.tabs = tabs
        self.agent = agent
        self.other = other

    async def tab(self, *texts: str) -> Tab:
        tab = await self.tabs.open_new(self.agent)
        await tab.conversation.rename(texts[0])  # else the agent gives it a title, when it likes
        for text in texts:
            await self.say(tab, text)
        return tab

    async def say(self, tab: Tab, text: str) -> None:
        await tab.window.say(text)
        await tab.window.wait_idle()
        await self.tabs.reload(tab)

    async def move(self, tab: Tab, leaf_id: str | None, act: Act, conversation_id: str | None = None) -> None:
        async with self.db.write() as tx:
            await move_window(
                tx,
                window_id=tab.window_id,
                conversation_id=conversation_id or tab.conversation.id,
                leaf_id=leaf_id,
                act=act,
            )
        await self.tabs.reload(tab)

    async def edit(self, tab: Tab, prompt_id: str, text: str) -> None:
        async with self.db.read() as reader:
            prompt = await messages.get(reader, prompt_id)
        assert prompt is not None
        await self.move(tab, prompt.parent_id, Act.EDIT)
        await self.say(tab, text)

    async def fork(self, tab: Tab, *, side_by_side: bool = False) -> Tab:
        source, fork_id = tab.conversation.record, new_id()
        async with self.db.write() as tx:
            await conversations.create(
                tx,
                id=fork_id,
                agent=source.agent,
                profile=source.profile,
                cwd=source.cwd,
                family=source.family,
                title=source.title,
                fork_point_id=tab.leaf_id,
            )
        if not side_by_side:
            await self.move(tab, tab.leaf_id, Act.FORK, fork_id)
            return tab
        beside = new_id()
        async with self.db.write() as tx:
            await windows.open(
                tx,
                id=beside,
                conversation_id=fork_id,
                leaf_id=tab.leaf_id,
                workspace_id=self.tabs.workspace_id,
            )
            await opened_window(tx, window_id=beside)
        opened = await self.tabs.reopen(beside)
        assert opened is not None
        return opened

    async def prompts(self, tab: Tab) -> list[str]:
        async with self.db.read() as reader:
            path = await messages.page(reader, tab.leaf_id, 1_000)
        return [row.id for row in path if row.kind is Kind.USER]

    async def texts(self, tab: Tab) -> list[str]:
        async with self.db.read() as reader:
            rows = await messages.page(reader, tab.leaf_id, 100)
        return [row.text for row in rows if row.kind is Kind.USER]

    async def written(self) -> int:
        async with self.db.read() as reader:
            row = await reader.one("SELECT count(*) FROM journal")
        assert row is not None
        return int(row[0])

    async def lists(self, *, archived: bool = False) -> set[str]:
        async with self.db.read() as reader:
            return {summary.id for summary in await conversations.page(reader, archived=archived)}

    async def view(self) -> dict[str, Any]:
        """Everything that a person sees of their tabs, and of the conversations behind them, by the store."""
        assert self.tabs.workspace_id is not None
        async with self.db.read() as reader:
            opened = await windows.of_workspace(reader, self.tabs.workspace_id)
            seen: dict[str, Any] = {"tabs": [window.id for window in opened]}
            for window in opened:
                record = await conversations.get(reader, window.conversation_id)
                assert record is not None
                seen[window.id] = (window.conversation_id, window.leaf_id, window.draft)
                marks = await conversations.marks(reader, record.id)
                seen[record.id] = (record.agent, record.profile, record.title, marks)
        return seen

    def told(self) -> dict[str, Any]:
        """The same as far as the tabs themselves know it."""
        seen: dict[str, Any] = {"tabs": [tab.window_id for tab in self.tabs.tabs]}
        for tab in self.tabs.tabs:
            record = tab.conversation.record
            seen[tab.window_id] = (record.id, tab.leaf_id)
            seen[record.id] = (record.agent, record.profile, record.title)
        return seen


@asynccontextmanager
async def room(world: World, *flags: str) -> AsyncIterator[Room]:
    """The tabs of the world's project; ``flags`` are those of its first agent."""
    specs = {"rehearsal": world.spec(*flags), "other": world.spec(name="other")}
    async with (
        Database.open(world.store) as db,
        Conversations.serve(db, specs=specs, client_version="test") as served,
    ):
        tabs = OpenTabs(db, served, outgoing=OutgoingTexts(), directory=str(world.project), new_id=new_id)
        await tabs.restore()
        yield Room(db, served, tabs, specs["rehearsal"], specs["other"])
        await tabs.leave()

"""Tabs of two clients, runs without a screen, and deaths, beside a model of where each of them stands.

Each act is done in the real store, conversations and tabs, and in the model; ``check`` compares them.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import aiosqlite

from catena.cli.run.branch import BranchRequest, open_target
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.errors import AgentError
from catena_store import places
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import AgentGroup
from catena_store.windows import queue, windows
from support.agents.model import LiveCopy, ModelAgent, Running, Upstream
from support.walks.client import Client, Crash
from support.walks.loop import StraightConnection
from support.walks.oracle import File
from support.walks.place_model import Node, PlaceModel

CONVERSATION = "c1"
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"\bp\d+z\b")

T = TypeVar("T")


def _answers(running: Running) -> None:
    running.say("heard")
    running.end()


class Places:
    """One conversation, in the store and in the model; each public coroutine is one thing that may happen."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.one_writer = asyncio.Lock()
        self.upstreams = {"A": Upstream("A", scene=_answers)}
        self._upstream.prompted = self._prompted
        self.wrong: list[str] = []
        self.model = PlaceModel()
        self._file = File(path)
        connection = StraightConnection(path, self.one_writer)
        self._connection = connection
        self._db = Database(cast("aiosqlite.Connection", connection), path, self.clock)
        self._numbers = itertools.count(1)
        self._owners = itertools.count(1)
        self._tokens = itertools.count(1)
        self._nodes: dict[str, int] = {}  # by the row that begins it
        self._texts: dict[int, str] = {}  # of turns
        self._clients: dict[int, Client] = {}
        self._processes: list[Client] = []
        self._tabs: dict[int, OpenTabs] = {}
        self._place: Node = None
        self._acted = self._moved_by = 0  # the client that did something last, and that moved the place last
        # The prompt on its way, and what the agent heard with it.
        self._asked: tuple[str, list[str]] = (
            "",
            [],
        )

    @property
    def _upstream(self) -> Upstream:
        return self.upstreams["A"]

    # --- what clients need

    def new_id(self) -> str:
        return f"i{next(self._numbers):05}"

    def clock(self) -> datetime:
        return _EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    def start_time_of(self, pid: int) -> str | None:
        client = next((each for each in self._processes if each.owner.pid == pid), None)
        return None if client is None or client.dead else client.owner.started

    async def end_group(self, group: AgentGroup) -> bool:
        return True

    def violate(self, what: str) -> None:
        self.wrong.append(what)

    # --- beginning and end

    async def start(self) -> None:
        """One client with one tab."""
        async with self._db.write() as tx:
            await conversations.create(tx, id=CONVERSATION, agent="A", cwd="/work")
        await self.start_client(0)
        await self.open(0)
        await self.say(0)

    async def close(self) -> None:
        for client in self._processes:
            if not client.dead:
                client.crash()
                await client.bury()
        self._connection.close()
        self._file.close()

    # --- clients

    async def start_client(self, n: int) -> None:
        """A client starts again: each of its tabs stands where it stood, or follows."""
        slot = 1 + n % 2
        if slot in self._clients:
            return
        client = self._clients[slot] = self._client(slot)
        tabs = self._tabs[slot] = OpenTabs(
            client.db,
            client.served,
            outgoing=OutgoingTexts(),
            directory=f"/place{slot}",
            new_id=self.new_id,
        )
        await self._in(client, tabs.restore())
        self.model.restore([tab.window_id for tab in tabs.tabs])
        for tab in tabs.tabs:
            expected = self.model.tabs[tab.window_id]
            if (tab.added, tab.unread) != (expected.unread, bool(expected.unread)):
                self.violate(f"{tab.added} turns are new in a tab, not {expected.unread}")
            self._judge_elsewhere(tab)

    async def quit(self, n: int) -> None:
        """A client is left; its tabs are kept."""
        if (slot := self._running(n)) is None:
            return
        client, tabs = self._clients.pop(slot), self._tabs.pop(slot)
        self.model.leave([tab.window_id for tab in tabs.tabs])
        await self._in(client, tabs.leave())
        await self._in(client, client.served._end())
        await self._buried(client)

    async def kill(self, n: int) -> None:
        """A client is killed."""
        if (slot := self._running(n)) is None:
            return
        client, tabs = self._clients.pop(slot), self._tabs.pop(slot)
        self.model.leave([tab.window_id for tab in tabs.tabs])
        await self._buried(client)

    # --- tabs

    async def open(self, n: int) -> None:
        """The conversation is opened, in a new tab if it has none in that client."""
        if slot := self._with_room(n):
            await self._opened(slot, self._tabs[slot].open_conversation(CONVERSATION))

    async def open_beside(self, n: int) -> None:
        """Another tab of a client shows the conversation, too, as where a fork of it is undone."""
        if slot := self._with_room(n):
            async with self._db.read() as reader:
                place = await places.of(reader, CONVERSATION)
            await self._opened(slot, self._tabs[slot]._open_window(CONVERSATION, leaf_id=place))

    def _with_room(self, n: int) -> int | None:
        slot = self._running(n)
        return None if slot is None or len(self._tabs[slot].tabs) > 2 else slot

    async def _opened(self, slot: int, opening: Coroutine[Any, Any, Tab]) -> None:
        tabs, known = self._tabs[slot], {tab.window_id for tab in self._tabs[slot].tabs}
        unsent = self._file.one(
            "SELECT m.text FROM conversation c JOIN message m ON m.id = c.place_id WHERE m.kind = 'user'"
            " AND m.turn_id IS NULL AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.prompt_id = m.id)"
        )
        await self._in(self._clients[slot], opening)
        for tab in tabs.tabs:
            if tab.window_id not in known:
                self.model.open(tab.window_id)
                if unsent is not None:  # what a killed process had not sent is the draft of who goes on there
                    self.model.write(tab.window_id, str(unsent[0]))

    async def close_tab(self, n: int) -> None:
        """A tab is closed for good."""
        if found := self._tab(n, acts=False):
            slot, tab = found
            await self._in(self._clients[slot], self._tabs[slot].close(tab))
            self.model.close(tab.window_id)

    async def say(self, n: int) -> None:
        """A prompt is answered."""
        if found := self._tab(n):
            slot, tab = found
            text = self._text()
            node = self.model.say(tab.window_id)
            await self._in(self._clients[slot], self._sent(tab, tab.window.say(text)))
            self._is_born(node, text)
            self._judge_heard(node)

    async def edit(self, n: int, m: int) -> None:
        """A prompt is said in other words."""
        found, node = self._tab(n), self._turn(m)
        if found is None or node is None:
            return
        slot, tab = found
        text = self._text()
        made = self.model.edit(tab.window_id, node)
        await self._in(self._clients[slot], self._sent(tab, tab.window.edit(self._row(node), text)))
        self._is_born(made, text)
        self._judge_heard(made)

    async def refused(self, n: int) -> None:
        """No agent takes a prompt."""
        if found := self._tab(n):
            slot, tab = found
            text = self._text()
            self.model.refused(tab.window_id, text)
            self._upstream.lies["prompt"] = "always refused"
            await self._in(self._clients[slot], self._sent(tab, tab.window.say(text)))
            del self._upstream.lies["prompt"]

    async def clear(self, n: int) -> None:
        """`/clear`."""
        if found := self._tab(n):
            slot, tab = found
            node = self.model.clear(tab.window_id)
            await self._in(self._clients[slot], tab.window.clear())
            (leaf,) = self._file.all("SELECT uid FROM message WHERE barrier = 1 ORDER BY id DESC LIMIT 1")
            self._nodes[str(leaf[0])] = node

    async def go(self, n: int, m: int, by: str) -> None:
        """The person goes elsewhere; also where another client has the conversation."""
        if found := self._tab(n, acts=False):
            slot, tab = found
            to = self._pick([None, *sorted(self.model.parent)], m)
            leaf = None if to is None else self._end(to)
            self.model.move(tab.window_id, to)
            move = tab.window.rewind(leaf) if by == "rewind" and leaf else tab.window.go_to(leaf)
            await self._in(self._clients[slot], move)

    async def go_to_place(self, n: int) -> None:
        """End, where the conversation went on elsewhere."""
        if found := self._tab(n, acts=False):
            slot, tab = found
            self.model.move(tab.window_id, self.model.place)

            async def go() -> None:
                await tab.window.go_to(await self._tabs[slot].branches.place_of(tab))

            await self._in(self._clients[slot], go())

    async def undo(self, n: int, again: bool) -> None:
        """`/undo`, or `/redo`."""
        if found := self._tab(n):
            slot, tab = found
            client, scope = self._clients[slot], Scope(tab.window_id, None)
            undoing = ConversationUndo(client.db, client.served)
            expected = self.model.redo(tab.window_id) if again else self.model.undo(tab.window_id)
            step = await self._in(client, undoing.redo(scope) if again else undoing.undo(scope))
            if (step is not None) is not expected:
                self.violate(f"{'redo' if again else 'undo'} did {step}, and should {expected}")

    async def write(self, n: int) -> None:
        """Something is typed, and not sent."""
        if found := self._tab(n):
            slot, tab = found
            tab.draft = f"draft {next(self._tokens)}"
            self.model.write(tab.window_id, tab.draft)
            await self._in(self._clients[slot], self._tabs[slot].keep(tab))

    async def queue(self, n: int) -> None:
        """A prompt waits in the queue, or is taken away."""
        if found := self._tab(n):
            _, tab = found
            waits = not self.model.tabs[tab.window_id].waits
            async with self._db.write() as tx:
                if waits:
                    await queue.add(tx, id=self.new_id(), window_id=tab.window_id, text="later")
                    await queue.hold(tx, tab.window_id)
                else:
                    for item in await queue.items(tx, tab.window_id):
                        await queue.remove(tx, item.id)
            self.model.queue(tab.window_id, waits=waits)

    async def killed_saying(self, n: int, gates: int, m: int | None) -> None:
        """A client is killed at some step of a prompt's way, or of an edit's."""
        found, node = self._tab(n), None if m is None else self._turn(m)
        if found is None or (m is not None and node is None):
            return
        slot, tab = found
        client, tabs = self._clients.pop(slot), self._tabs.pop(slot)
        text = self._text()
        here = self.model.tabs[tab.window_id].leaf
        sending = tab.window.say(text) if node is None else tab.window.edit(self._row(node), text)
        await self._killed(client, self._sent(tab, sending), gates)
        row = self._file.one("SELECT 1 FROM message WHERE text = ?", text)
        if self._became_turn(text):
            made = self.model.say(tab.window_id) if node is None else self.model.edit(tab.window_id, node)
            self._is_born(made, text)
        elif row is not None:
            if node is not None:
                self.model.move(tab.window_id, self.model.parent[node])
            kept = self.model.tabs[tab.window_id].draft if node is not None else ""
            self.model.refused(tab.window_id, "\n".join(filter(None, (text, kept))))
        elif self._typed_before(tab.window_id, text):
            # It was killed before the edit was a row: its text waits, and is the draft at the next start.
            self.model.tabs[tab.window_id].drafts[here] = "\n".join(
                filter(None, (text, self.model.tabs[tab.window_id].drafts.get(here, "")))
            )
        self.model.leave([each.window_id for each in tabs.tabs])

    # --- runs

    async def run(self, n: int, m: int, how: str) -> None:
        """`catena run`: on from the place, from the end of a turn, or with a prompt in other words."""
        node = self._turn(m)
        if how != "continue" and node is None:
            return
        client = self._client(3)
        text = self._text()
        ran = await self._in(client, self._ran(client, how, node, text))
        await self._in(client, client.served._end())
        await self._buried(client)
        if ran:
            made = self._model_run(how, node)
            self._is_born(made, text)
            self._judge_heard(made)

    async def killed_run(self, n: int, gates: int) -> None:
        """`catena run --continue` that is killed at some step."""
        client, text = self._client(3), self._text()
        await self._killed(client, self._ran(client, "continue", None, text), gates)
        if self._became_turn(text):
            self._is_born(self.model.run(), text)

    async def _ran(self, client: Client, how: str, node: Node, text: str) -> bool:
        conversation = await client.served.open(CONVERSATION)
        if conversation.read_only:
            return False
        request = BranchRequest()
        if how == "edit" and node is not None:
            request = BranchRequest(edit=self._row(node))
        elif how == "at" and node is not None:
            request = BranchRequest(at=self._end(node))
        async with open_target(
            client.served, client.db, conversation, request, self._upstream.spec
        ) as target:
            window = conversation.window(target.window_id)
            edited = target.branch.edited_id if target.branch else None
            await (window.say(text) if edited is None else window.edit(edited, text))
            await window.settled()
        return True

    def _model_run(self, how: str, node: Node) -> int:
        match how:
            case "edit" if node is not None:
                return self.model.run_edit(node)
            case "at":
                return self.model.run_at(node)
            case _:
                return self.model.run()

    # --- judging

    async def check(self) -> None:
        """Compare what stands in the store with the model, and what is said in tabs."""
        for client in self._clients.values():
            for conversation in client.served.live:
                while conversation._tasks:
                    await asyncio.wait(conversation._tasks)
        await self._refresh()
        if self.model.place != self._place:
            self._place, self._moved_by = self.model.place, self._acted
        shown = self._tabs[self._moved_by].tabs if self._moved_by in self._tabs else []
        for each in shown if len(shown) > 1 else ():
            if not each.conversation.read_only:
                self._judge_elsewhere(each)
        async with self._db.read() as reader:
            place = self._node(await places.of(reader, CONVERSATION))
            if place != self.model.place:
                self.violate(f"the place is {place}, not {self.model.place}")
            for id, tab in (self.model.tabs | self.model.left).items():
                window = await windows.get(reader, id)
                leaf = self._node(window.leaf_id) if window else -1
                if leaf != tab.leaf:
                    self.violate(f"{id} stands at {leaf}, not {tab.leaf}")
                elif id in self.model.tabs and window and window.draft != tab.draft:
                    self.violate(f"the draft of {id} is {window.draft!r}, not {tab.draft!r}")

    def _judge_elsewhere(self, tab: Tab) -> None:
        later = self.model.later_elsewhere(tab.window_id)
        if (tab.elsewhere.count if tab.elsewhere else 0) != later:
            self.violate(f"{tab.window_id} names {tab.elsewhere}, not {later}")

    def _judge_heard(self, node: int) -> None:
        """The agent heard the turns of the branch, all of them and no other ones."""
        expected = {self._texts[each] for each in self.model.heard(node)}
        text, heard = self._asked
        if text != self._texts[node]:
            self.violate(f"{self._texts[node]} was not heard, but {text}")
        elif set(heard) != expected:
            self.violate(f"with {text} the agent heard {sorted(set(heard))}, not {sorted(expected)}")

    def _prompted(self, agent: ModelAgent, live: LiveCopy, texts: tuple[str, ...]) -> None:
        heard = [said.text for said in live.content] + list(texts)
        self._asked = texts[-1], [token for text in heard for token in _TOKEN.findall(text)]

    # --- within

    def _client(self, slot: int) -> Client:
        client = Client(self, slot, next(self._owners))
        self._processes.append(client)
        return client

    async def _in(self, client: Client, work: Coroutine[Any, Any, T]) -> T | None:
        """Do it in a client, to its end."""

        found: list[T] = []
        self._acted = client.slot

        async def done() -> None:
            try:
                found.append(await work)
            except (StoreError, AgentError, AssertionError) as error:
                self.violate(repr(error))

        await asyncio.wait({client.begin(done())}, timeout=600)
        await self._refresh()
        return found[0] if found else None

    async def _sent(self, tab: Tab, sending: Coroutine[Any, Any, None]) -> None:
        await sending
        await tab.window.settled()

    async def _killed(self, client: Client, work: Coroutine[Any, Any, Any], gates: int) -> None:
        """Begin something in a client that dies at a gate on the way, or in the middle of a turn."""
        client.fuse, self._upstream.scene = gates, None
        self._acted = client.slot

        async def ended() -> None:
            try:
                await work
            except (Crash, StoreError, AgentError):
                return

        task = client.begin(ended())
        await asyncio.wait({task}, timeout=60)
        await self._buried(client)
        self._upstream.scene = _answers

    async def _buried(self, client: Client) -> None:
        if not client.dead:
            client.crash()
        await client.bury()

    async def _refresh(self) -> None:
        """Take over into the tabs what was published, as their presenters would."""
        for tabs in self._tabs.values():
            for tab in tabs.tabs:
                for of, event in tuple(tabs.events):
                    if of is tab:
                        tab.handle(event, seen=True)
                tabs.events.forget(tab)
                async with self._db.read() as reader:
                    window = await windows.get(reader, tab.window_id)
                if window is not None:
                    tab.reload(window)

    def _running(self, n: int) -> int | None:
        return self._pick(sorted(self._clients), n)

    def _tab(self, n: int, *, acts: bool = True) -> tuple[int, Tab] | None:
        """A tab of a client that has the conversation, or if it need not ``act`` in it of any."""
        found = [
            (slot, tab)
            for slot, tabs in sorted(self._tabs.items())
            for tab in tabs.tabs
            if not acts or not tab.conversation.read_only
        ]
        return self._pick(found, n)

    def _turn(self, n: int) -> int | None:
        return self._pick(sorted(self._texts), n)

    @staticmethod
    def _pick(things: Sequence[T], n: int) -> T | None:
        return things[n % len(things)] if things else None

    def _text(self) -> str:
        return f"p{next(self._tokens)}z"

    def _is_born(self, node: int, text: str) -> None:
        found = self._file.one("SELECT uid FROM message WHERE text = ? AND kind = 'user'", text)
        if found is None:
            self.violate(f"{text} is not in the store")
            return
        self._nodes[str(found[0])], self._texts[node] = node, text

    def _became_turn(self, text: str) -> bool:
        return bool(
            self._file.all(
                "SELECT 1 FROM turn t JOIN message m ON m.id = t.prompt_id"
                " WHERE m.text = ? AND t.stop_reason IS NOT 'not_sent'",
                text,
            )
        )

    def _typed_before(self, window_id: str, text: str) -> bool:
        return bool(
            self._file.all("SELECT 1 FROM queue_item WHERE window_id = ? AND text = ?", window_id, text)
        )

    def _row(self, node: int) -> str:
        return next(row for row, each in self._nodes.items() if each == node)

    def _end(self, node: int) -> str:
        """The newest row of a node."""
        row = self._row(node)
        while found := self._file.one(
            "SELECT m.uid FROM message m JOIN message p ON p.id = m.parent_id"
            " WHERE p.uid = ? AND m.kind <> 'user' AND m.barrier = 0 ORDER BY m.id DESC LIMIT 1",
            row,
        ):
            row = str(found[0])
        return row

    def _node(self, leaf: str | None) -> Node:
        branch = self._file.branch(leaf)
        return next((self._nodes[row.id] for row in reversed(branch) if row.id in self._nodes), None)

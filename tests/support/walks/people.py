"""What people do in a walk: prompts, edits, tabs and conversations.

Each public coroutine is one thing that may happen. What cannot happen at that moment does nothing, so that a list of
acts can be shortened anywhere.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from catena_acp.continuity.routing.prior_context import Budget
from catena_store.conversations import conversations
from catena_store.windows import windows
from support.agents.model import Said
from support.walks.client import Client, Journey, Window
from support.walks.stage import CWD, Stage

BUDGETS = {
    "whole": Budget(),
    "one": Budget(characters=1),
    "none": Budget(characters=0),
    "short": Budget(longest=60),
}
WINDOWS = 6
_WAITING = "SELECT id FROM queue_item WHERE window_id = ? ORDER BY position LIMIT 1"


class People(Stage):
    """Whoever sits before the clients."""

    async def turn(self, n: int, budget: str, long: bool) -> None:
        """A whole turn with a clean end."""
        window = self._pick(self._ready(), n)
        if window is not None:
            await self._say(window, None, budget, long)
            await self._answer(window)

    async def send(self, n: int, steps: int | None, budget: str, long: bool) -> None:
        """A prompt, which goes so many steps."""
        if window := self._pick(self._ready(), n):
            await self._say(window, steps, budget, long)

    async def command(self, n: int) -> None:
        """A slash command of the agent's, to its end."""
        if window := self._pick(self._ready(), n):
            await self._say(window, None, "whole", False, f"/do {self._token('u')}")
            await self._answer(window)

    async def odd_turn(self, n: int, beginning: str) -> None:
        """A whole turn whose prompt begins as something of an agent's own would."""
        if window := self._pick(self._ready(), n):
            await self._say(window, None, "whole", False, f"{beginning} {self._token('u')}")
            await self._answer(window)

    async def queue(self, n: int) -> None:
        """Another prompt while one is on its way."""
        if window := self._pick([w for w in self._open() if not self._idle(w) and self._writable(w)], n):
            self.innocent = False
            await self._say(window, None, "whole", False)

    async def send_now(self, n: int, outcome: str | None) -> None:
        """A prompt that waits is sent to the running turn; where the agent takes it there, else it goes next."""
        found = [
            (window, str(waiting[0]))
            for window in self._open()
            if not self._idle(window) and self._writable(window)
            for waiting in [self.file.one(_WAITING, window.id)]
            if waiting
        ]
        if picked := self._pick(found, n):
            window, item_id = picked
            self.innocent = False
            client = self._clients[window.slot]
            for upstream in self.upstreams.values():
                upstream.lies.pop("steer", None)
                if outcome:
                    upstream.lies["steer"] = outcome
            # It may have to wait for what the turn itself is held at.
            window.act = client.begin(self._taken(self._now(client, window, item_id)))

    async def _now(self, client: Client, window: Window, item_id: str) -> None:
        await client.live[window.conversation_id].window(window.id).send_now(item_id)

    async def send_queued(self, n: int) -> None:
        """What an error held back may go on."""
        if window := self._pick(self._ready(), n):
            live = self._clients[window.slot].live[window.conversation_id]
            await self._set_off(window, None, "whole", live.window(window.id).send_queued())

    async def advance(self, n: int, steps: int) -> None:
        """A prompt's way goes on."""
        if journey := self._pick(self._held(), n):
            journey.go_on(steps)

    async def rewind(self, n: int, m: int) -> None:
        """Go back to any row that hangs on the conversation."""
        window = self._pick(self._open(), n)
        if window is None or self._on_the_way(window):
            return
        found = self.file.all(
            "SELECT uid FROM message WHERE conversation_id = ? AND kind <> 'user' ORDER BY id",
            window.conversation_id,
        )
        rows = [None, *(str(uid) for (uid,) in found)]
        rows += [row.id for row in self.file.branch(self.file.leaf(window.id)) if row.kind != "user"]
        await self._set_leaf(window, self._pick(rows, m))

    async def edit_last(self, n: int) -> None:
        """Go back to before the last prompt."""
        window = self._pick(self._open(), n)
        if window is None or self._on_the_way(window):
            return
        branch = self.file.branch(self.file.leaf(window.id))
        last = max((at for at, row in enumerate(branch) if row.kind == "user"), default=None)
        if last is not None:
            await self._set_leaf(window, branch[last - 1].id if last else None)

    async def retry(self, n: int, steps: int | None) -> None:
        """The last prompt again."""
        window = self._pick(self._ready(), n)
        if window is None:
            return
        path = self.file.path(self.file.leaf(window.id))
        last = max((at for at, row in enumerate(path) if row.kind == "user"), default=None)
        if last is None:
            return
        if any(row.kind in ("user", "agent", "tool") for row in path[last + 1 :]):
            self.innocent = False
        live = self._clients[window.slot].live[window.conversation_id]
        await self._set_off(window, steps, "whole", live.window(window.id).retry())

    async def stop(self, n: int) -> None:
        """Stop what is on its way."""
        if window := self._pick([w for w in self._open() if not self._idle(w)], n):
            self.innocent = False
            client = self._clients[window.slot]
            if live := client.live.get(window.conversation_id):
                await self._do(client, live.window(window.id).stop())

    async def prepare(self, n: int, steps: int | None) -> None:
        """A tab is looked at, and gets its session ready."""
        window = self._pick(self._ready(), n)
        if window:
            client = self._clients[window.slot]
            window.getting_ready = Journey(window.id, steps, prepares=True)
            work = client.live[window.conversation_id].window(window.id).prepare()
            # It may have to wait for an agent that another window's held prompt is starting.
            window.act = client.begin(self._taken(work), window.getting_ready)

    async def second_window(self, n: int, slot: int) -> None:
        """Another tab where one stands."""
        window = self._pick(self._windows, n)
        if window and len(self._open()) < WINDOWS and self._exists(window.conversation_id):
            self.innocent = False
            await self._add_window(window.conversation_id, self.file.leaf(window.id), slot)

    async def close_window(self, n: int) -> None:
        """A tab is closed for good; the last of its conversation closes that, too."""
        window = self._pick(self._open(), n)
        if window is None or len(self._open()) < 2:
            return
        self.innocent = False
        window.open = False
        client = self._clients[window.slot]
        async with self._db.write() as tx:
            await windows.close(tx, window.id)
        live = client.live.get(window.conversation_id)
        if live is None:
            return
        live.leave(window.id)
        if not any((w.conversation_id, w.slot) == (live.id, window.slot) for w in self._open()):
            await self._close(client, live.id)

    async def fork_conversation(self, n: int, slot: int) -> None:
        """A conversation of its own that shares what was said so far."""
        window = self._pick(self._open(), n)
        if window is None or len(self._open()) >= WINDOWS:
            return
        self.innocent = False
        leaf = self.file.leaf(window.id)
        async with self._db.write() as tx:
            source = await conversations.get(tx, window.conversation_id)
            if source is None or leaf is None:
                return
            id = self.new_id()
            await conversations.create(
                tx, id=id, agent=source.agent, cwd=CWD, family=source.family, fork_point_id=leaf
            )
        await self._add_window(id, leaf, slot)

    async def switch_agent(self, n: int) -> None:
        """Go on with the other agent."""
        if window := self._pick(self._ready(), n):
            self.innocent = False
            client = self._clients[window.slot]
            live = client.live[window.conversation_id]
            other = "B" if live.record.agent == "A" else "A"
            await self._do(client, live.window(window.id).set_agent(self.upstreams[other].spec))

    async def change_directory(self, n: int, cwd: str) -> None:
        """`/cd`; undone or not, it is only another directory to the route."""
        if window := self._pick(self._ready(), n):
            self.innocent = False
            client = self._clients[window.slot]
            live = client.live[window.conversation_id]
            await self._do(client, live.change_directory(cwd, by=window.id))

    async def clear(self, n: int) -> None:
        """`/clear`."""
        if window := self._pick(self._ready(), n):
            self.innocent = False
            client = self._clients[window.slot]
            await self._do(client, client.live[window.conversation_id].window(window.id).clear())

    async def hold_idle_work(self, slot: int, steps: int | None) -> None:
        """From now on, what a client does while a window is idle stops after so many steps."""
        self._clients[slot].idle_steps = steps

    # --- within

    async def _answer(self, window: Window) -> None:
        """The window's turn comes to a clean end."""
        for _ in range(6):  # a history may be waited for
            await self.settle()
            for running in self._running():
                delivery = self._delivery(running)
                if delivery and delivery.window_id == window.id:
                    self._stream(running, Said("agent", self._token("a")))
                    running.end()
                    return
            if self._idle(window):
                return

    async def _say(
        self, window: Window, steps: int | None, budget: str, long: bool, text: str | None = None
    ) -> None:
        if text is None:
            words = [self._token("u")]
            if long:
                words += ["much " * 12, self._token("u"), "more " * 12, self._token("u")]
            text = " ".join(words)
        client = self._clients[window.slot]

        async def say() -> None:
            await client.live[window.conversation_id].window(window.id).say(text)
            if text not in self._returned:
                self._typed.append(text)

        await self._set_off(window, steps, budget, say())

    async def _set_off(
        self, window: Window, steps: int | None, budget: str, work: Coroutine[Any, Any, None]
    ) -> None:
        client = self._clients[window.slot]
        client.set_budget(BUDGETS[budget])
        if budget != "whole":
            self.innocent = False
        if self._idle(window):
            if window.journey:
                window.journey.go_on(None)  # what it left behind does not stop for ever
            window.journey = Journey(window.id, steps)
            window.moved = False
        await self._do(client, work, window.journey, window)

    async def _set_leaf(self, window: Window, leaf: str | None) -> None:
        self.innocent = False
        window.moved = True
        async with self._db.write() as tx:
            await windows.set_leaf(tx, window.id, leaf)

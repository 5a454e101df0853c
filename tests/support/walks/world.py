"""Everything that can befall a walk: what people do, what agents do, and what becomes of clients."""

from __future__ import annotations

import asyncio

from catena_acp.errors import AgentRefused
from catena_acp.port.session_events import NoticeReported, TextChunk
from support.agents.model import Said
from support.walks.oracle import Birth, tokens_of
from support.walks.people import WINDOWS, People


class World(People):
    """A world to walk at random; each public coroutine is one thing that may happen."""

    # --- agents

    async def stream(self, n: int, kind: str, unseen: bool, noise: bool) -> None:
        """An agent says something, uses a tool, goes on with its last message, or reports a notice."""
        running = self._pick(list(self._running()), n)
        if running is None:
            return
        if noise:
            self.innocent = False
        if kind == "tool":
            title = self._token("t")
            self._bear(running, title)
            running.call_tool(title)
            return
        if kind == "notice":
            running.tell(NoticeReported("by the way", "warning"))
            return
        last = running.answered[-1] if running.answered else None
        message_id = last.message_id if kind == "more" and last else None
        said = Said("agent", f" {self._token('a')} ", message_id)
        self._stream(running, said, unseen=unseen, kept=not noise)

    async def end(self, n: int, how: str) -> None:
        """A turn ends."""
        running = self._pick(list(self._running()), n)
        if running is None:
            return
        if how != "end_turn":
            self.innocent = False
        match how:
            case "empty":
                running.end()
            case "compacted":
                # Said before the prompt was heard, it may be forgotten with what stood there, though it came behind it.
                self._noise |= self._strays & tokens_of([said.text for said in running.live.content])
                running.compact()
                running.end()
            case "says an error" if not running.answered:
                token, kept = self._token("a"), len(running.live.content) % 2 == 0
                self._bear(running, token)
                self._noise |= set() if kept else {token}
                running.say(f"exceeded retry limit, last status: 429 {token}", kept=kept)
                running.end()
            case "says an error":
                running.end()
            case "error":
                running.fail(AgentRefused(-32603, "it broke"))
            case "limit":
                running.fail(AgentRefused(-32603, "429 rate limit"))
            case "end_turn" if not running.answered:
                self._stream(running, Said("agent", self._token("a")))
                running.end()
            case _:
                running.end(how)

    async def stray(self, n: int, at_once: bool) -> None:
        """An agent says something though no turn runs; ``at_once``: and a prompt follows before that is settled."""
        lives = [
            (agent, live)
            for upstream in self.upstreams.values()
            for agent in upstream.agents
            if agent.alive
            for live in agent.sessions.values()
            if (agent.pid, upstream.name, live.session_id) in self._deliveries
            and (live.running is None or live.running.over)
        ]
        picked = self._pick(lives, n)
        if picked is None:
            return
        agent, live = picked
        self.innocent = False
        delivery = self._deliveries[agent.pid, agent.upstream.name, live.session_id]
        token = self._token("a")
        self._births[token] = Birth(delivery.prompt_id, delivery.turn_id)
        self._strays.add(token)
        said = Said("agent", token, agent.upstream.message_id())
        live.content.append(said)
        live.transcript.content.append(said)
        agent.tell(live.session_id, TextChunk("agent", said.text, said.message_id))
        window = next((window for window in self._ready() if window.id == delivery.window_id), None)
        if at_once and window:
            await self._say(window, None, "whole", False)

    async def kill_agent(self, slot: int, name: str) -> None:
        """An agent's processes of one client die."""
        client = self._clients[slot]
        for agent in client.agents:
            if agent.alive and agent.upstream.name == name:
                if any(live.running and not live.running.over for live in agent.sessions.values()):
                    self.innocent = False
                if any(window.slot == slot and not self._idle(window) for window in self._open()):
                    self.innocent = False
                agent.die()

    async def outage(self, name: str, down: bool) -> None:
        """Nothing can be opened for a while."""
        self.innocent = self.innocent and not down
        self.upstreams[name].down = AgentRefused(-32603, "529 overloaded") if down else None

    async def lie(self, name: str, request: str, lie: str) -> None:
        """An agent's next answer will be false."""
        self.innocent = False
        self.upstreams[name].lies[request] = lie

    async def sleep(self) -> None:
        """Nobody does anything for so long that idle agents are ended."""
        if not all(self._idle(window) for window in self._open()):
            self.innocent = False
        await asyncio.sleep(700)

    # --- clients

    async def crash(self, slot: int, steps: int) -> None:
        """A client process ends, at once or so many writes and requests later."""
        client = self._clients[slot]
        if steps or any(window.slot == slot and not self._idle(window) for window in self._open()):
            self.innocent = False
        if steps:
            client.fuse = steps
        else:
            client.crash()

    async def take_over(self, n: int, slot: int, ends_groups: bool) -> None:
        """A client opens a conversation whose owner it believes dead; the owner may only sleep."""
        ids = sorted(
            {window.conversation_id for window in self._windows if self._exists(window.conversation_id)}
        )
        conversation_id = self._pick(ids, n)
        client = self._clients[slot]
        if conversation_id is None or self._holds(client, conversation_id):
            return
        self.innocent = False
        await self._close(client, conversation_id)
        self._believed_dead = {self._clients[3 - slot].owner.pid}
        self.ends_groups = ends_groups
        await self._open_conversation(client, conversation_id)
        self._believed_dead, self.ends_groups = set(), True
        shown = any((w.conversation_id, w.slot) == (conversation_id, slot) for w in self._open())
        if not shown and len(self._open()) < WINDOWS and self._exists(conversation_id):
            window = next(w for w in self._windows if w.conversation_id == conversation_id)
            await self._add_window(conversation_id, self.file.leaf(window.id), slot)

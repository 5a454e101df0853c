"""One live conversation: it owns its turns, whatever becomes of the windows that show it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager

from catena_acp.agents.process import agent_environment
from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    LeafMoved,
    Remarked,
    Renamed,
    SessionState,
)
from catena_acp.continuity.services import SessionPlace
from catena_acp.conversation import journal
from catena_acp.conversation.access.logins import Logins
from catena_acp.conversation.access.mcp_servers import ConversationServers
from catena_acp.conversation.access.permission_rules import ConversationRules
from catena_acp.conversation.asides.asides import Asides
from catena_acp.conversation.branches.branches import Branches
from catena_acp.conversation.branches.files import BranchFiles
from catena_acp.conversation.checkpoints.checkpoints import Checkpoints
from catena_acp.conversation.inspection.changes import ConversationChanges
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.inspection.price import costs_more_without
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_acp.conversation.prompts.window import Window
from catena_acp.conversation.runtime import ConversationRuntime, change_directories
from catena_acp.errors import AgentMissing, ReadOnly, StillAtWork
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import ToolCallChanged
from catena_store.conversations import conversations
from catena_store.database.database import Writer
from catena_store.errors import StoreError
from catena_store.records import ConversationRecord, Link, Owner
from catena_store.windows import queue


class Conversation:
    """A conversation that can be talked to; made by ``Conversations``.

    What is done in a window is done with its ``window``; the rest is sorted by subject. Anything that writes raises
    StoreError, and ReadOnly where another client holds the lease.
    """

    def __init__(
        self,
        runtime: ConversationRuntime,
        take_over: Callable[[], Awaitable[None]],
        all_live: Callable[[], Iterable[Conversation]],
    ) -> None:
        self._runtime = runtime
        self._take_over = take_over
        self._windows: dict[
            str, Window
        ] = {}  # also of windows that were closed: a turn goes on without its window
        self.branches = Branches(runtime)
        self.files = BranchFiles(runtime)
        self.tree = ConversationTree(runtime)
        self.chain = ConversationChain(runtime)
        self.changes = ConversationChanges(runtime)
        self.checkpoints = Checkpoints(runtime, self.window)
        self.rules = ConversationRules(runtime)
        self.servers = ConversationServers(runtime)
        self.asides = Asides(runtime)
        self.logins = Logins(runtime, self.window, lambda: [each.logins for each in all_live()])

    @property
    def id(self) -> str:
        return self._runtime.record.id

    @property
    def record(self) -> ConversationRecord:
        return self._runtime.record

    @property
    def read_only(self) -> bool:
        """True if another client holds the conversation."""
        return self._runtime.tenure is None

    @property
    def holder(self) -> Owner | None:
        """The other client that has it, or had it last; None if it is ours."""
        return self._runtime.holder

    @property
    def free(self) -> bool:
        """True if the client that had it is gone: it can be taken over."""
        return self._runtime.free

    @property
    def busy(self) -> bool:
        """True while any window's turn is under way."""
        return any(window.busy for window in self._windows.values())

    @property
    def unsaved_answers(self) -> list[tuple[str, StoreError]]:
        """What agents said in turns whose ends the store did not take, and why."""
        return [unsaved for window in self._windows.values() if (unsaved := window.unsaved_answer)]

    def subscribe(self, listener: Callable[[ConversationEvent], None]) -> Callable[[], None]:
        """Tell ``listener`` everything from now on; returns the end of it."""
        return self._runtime.subscribe(listener)

    def remark(self, window_id: str, text: str) -> None:
        """Publish a remark in one line that needs no action."""
        self._runtime.publish(Remarked(window_id, text))

    async def transcript_of(self, link: Link) -> str | None:
        """The path of the agent's own transcript of a session, where it is known."""
        services = self._runtime.services
        try:
            spec = self._runtime.spec_of(link.agent, link.profile)
        except AgentMissing:
            return None
        home = SessionPlace(link.profile, agent_environment(os.environ, spec.env), link.cwd)
        path = await asyncio.to_thread(services.session_files.path_of, (link.agent,), link.session_id, home)
        return str(path) if path else None

    def last_lines(self) -> tuple[str, ...]:
        """What the agent wrote last to its standard error, oldest first; nothing where it does not run."""
        return self._runtime.last_lines()

    async def answer(self, ask_id: str, option_id: str | None, call: ToolCallChanged | None = None) -> None:
        """Answer a permission with one of the agent's options; None is `cancelled`.

        ``call`` is what the person saw. Raises QuestionChanged if the agent has changed it since.
        """
        self._runtime.answer_permission(ask_id, option_id, call)

    async def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        """Answer a form or a web page that the agent asks for; anything but `accept` dismisses one that is open."""
        self._runtime.answer_elicitation(ask_id, answer)

    # --- windows

    def window(self, window_id: str) -> Window:
        """The window of this id; it is open in this client from now on."""
        window = self._windows.get(window_id)
        if window is None:
            window = self._windows[window_id] = Window(self._runtime, window_id, self._take_over, self.files)
        window.enter()
        return window

    @property
    def windows(self) -> frozenset[str]:
        """Those that are open in this client."""
        return self._runtime.windows

    def session(self, window_id: str) -> SessionState:
        """What is known of the session that carries a window, whether or not that is open."""
        return self._runtime.session(window_id)

    def in_turn(self, window_id: str) -> bool:
        """True while the turn of an open window is under way, or a login."""
        window = self._windows.get(window_id)
        return window is not None and window.in_turn

    def moved(self, window_id: str, leaf_id: str | None) -> None:
        """Publish the leaf of a window that was moved in the store."""
        self._runtime.publish(LeafMoved(window_id, leaf_id))
        if window_id in self.windows:
            self._runtime.clear_carrier(window_id)

    def leave(self, window_id: str) -> None:
        """Forget a closed window: other windows may use its session. Its turn goes on."""
        self._runtime.leave(window_id)

    # --- what the store has of it

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that it was given beside the one it works in."""
        return self._runtime.environment.directories

    @property
    def takes_directories(self) -> bool | None:
        """Whether the agent is told of further directories; None while it does not run."""
        try:
            spec = self._runtime.spec_of(self.record.agent, self.record.profile)
        except AgentMissing:
            return None
        agent = self._runtime.agents.live(spec, self.record.family)
        return agent.abilities.additional_directories if agent else None

    async def add_directory(self, path: str) -> bool:
        """Give it a directory, which the caller has seen to exist, by its absolute path; False if it has it.

        Files below it can be asked for at once; an agent that takes further directories gets it with the next prompt.
        """
        return await change_directories(self._runtime, add=path)

    async def remove_directory(self, path: str) -> bool:
        """Take a further directory away again; False if it has none of that path."""
        return await change_directories(self._runtime, remove=path)

    async def rename(self, title: str | None, *, by: str | None = None) -> None:
        """Give the conversation a title; what was done ``by`` a person in a window can be undone there."""
        await self._runtime.rename(title, by=by)

    async def change_directory(self, cwd: str, *, by: str | None = None) -> None:
        """Work in another directory, which the caller has seen to exist, by its absolute path.

        What was done ``by`` a person in a window can be undone there. Raises StillAtWork while a turn runs, ReadOnly.
        """
        self._refuse_in_turn()
        async with self.write() as tx:
            self._refuse_in_turn()  # a prompt that was said while this waited for the store has its turn here
            await journal.change_directory(tx, window_id=by, conversation_id=self.id, cwd=cwd)
        await self.reload()

    def _refuse_in_turn(self) -> None:
        if any(self.in_turn(window) for window in self.windows):
            raise StillAtWork

    def write(self) -> AbstractAsyncContextManager[Writer]:
        """A transaction of the holder of the conversation. Raises ReadOnly, StoreReadOnly."""
        return self._runtime.writable().write()

    async def reload(self) -> None:
        """Read title, agent and directory, which were changed in the store, and publish what is new."""
        runtime = self._runtime
        async with runtime.services.db.read() as reader:
            record = await conversations.get(reader, self.id)
        if record is None:
            return
        before, runtime.record = runtime.record, record
        for window_id in runtime.windows:
            if before.title != record.title:
                runtime.publish(Renamed(window_id, record.title))
            if (before.agent, before.profile) != (record.agent, record.profile):
                runtime.clear_carrier(window_id)
        if before.cwd != record.cwd:
            await runtime.leave_directory()

    async def settle(self) -> None:
        """Store what sessions sent between turns."""
        await self._runtime.settle()

    # --- its life

    async def aclose(self) -> None:
        """End every turn as interrupted, and record it; the agents are ended by their owner."""
        self._runtime.closing = True
        windows = tuple(self._windows.values())
        await asyncio.gather(self.asides.close(), *(window.close() for window in windows))
        await self._runtime.close()

    def lose(self) -> None:
        """Another client has it: what it does is published from now on. Does nothing if that is known."""
        self._runtime.lose()

    async def keeps(self, agent: AgentPort, in_sight: Collection[str]) -> bool:
        """True if an idle agent is of use to a window here: one that is in sight, waits, or would have to pay for it.

        What is to be waited for is an answer of the person, a prompt of the queue, or work in the background. Where
        the store cannot be read, it is kept.
        """
        runtime = self._runtime
        if self.busy or any(window.idle_work.under_way for window in self._windows.values()):
            return True
        try:
            for window_id in runtime.windows:
                waits = runtime.questions.waits(window_id) or runtime.background_of(window_id)
                if waits or window_id in in_sight:
                    return True
                async with runtime.services.db.read() as reader:
                    if await queue.items(reader, window_id):
                        return True
                if not self.read_only and await costs_more_without(runtime, window_id, agent):
                    return True
        except (StoreError, AgentMissing, ReadOnly):
            return True
        return False

    def agent_died(self, agent: AgentPort) -> None:
        """A process of ours ended; its sessions are cold from now on."""
        self._runtime.agent_died(agent)

"""One live conversation: it owns its turns, whatever becomes of the windows that show it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from catena_acp.continuity.conversation_events import ConversationEvent, Doing, LeafMoved, Renamed
from catena_acp.conversation import journal
from catena_acp.conversation.asides.asides import Asides
from catena_acp.conversation.branches.branches import Branches
from catena_acp.conversation.checkpoints.checkpoints import Checkpoints
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_acp.conversation.logins import Logins
from catena_acp.conversation.prompts.window import Window
from catena_acp.conversation.runtime import ConversationRuntime, change_directories
from catena_acp.errors import StillAtWork
from catena_acp.port import AgentPort
from catena_store.conversations import conversations
from catena_store.database.database import Writer
from catena_store.records import ConversationRecord, Owner
from catena_store.windows.journal import Act


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
        self.tree = ConversationTree(runtime)
        self.chain = ConversationChain(runtime)
        self.checkpoints = Checkpoints(runtime, self.window)
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

    def subscribe(self, listener: Callable[[ConversationEvent], None]) -> Callable[[], None]:
        """Tell ``listener`` everything from now on; returns the end of it."""
        return self._runtime.subscribe(listener)

    def last_lines(self) -> tuple[str, ...]:
        """What the agent wrote last to its standard error, oldest first; nothing where it does not run."""
        return self._runtime.last_lines()

    async def answer(self, ask_id: str, option_id: str | None) -> None:
        """Answer a permission with one of the agent's options; None is `cancelled`."""
        self._runtime.note_answer(ask_id, option_id)
        window_id = self._runtime.permissions.answer(ask_id, option_id)
        asking = window_id and self._runtime.doing(window_id) is Doing.ASKING
        if window_id and asking and not self._runtime.permissions.of_window(window_id):
            self._runtime.set_doing(window_id, Doing.WORKING)

    # --- windows

    def window(self, window_id: str) -> Window:
        """The window of this id; it is open in this client from now on."""
        window = self._windows.get(window_id)
        if window is None:
            window = self._windows[window_id] = Window(self._runtime, window_id, self._take_over)
        window.enter()
        return window

    @property
    def windows(self) -> frozenset[str]:
        """Those that are open in this client."""
        return self._runtime.windows

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

    async def archive(
        self, act: Act, *, window_id: str | None, workspace_id: str | None, closing: Sequence[str]
    ) -> None:
        """Archive or delete it, by a line of the journal; ``closing`` are the windows that go with it.

        Raises StillAtWork while a turn runs, ReadOnly.
        """
        self._refuse_in_turn(closing)
        async with self.write() as tx:
            # A prompt that was said while this waited for the store has its turn here.
            self._refuse_in_turn(closing)
            await journal.archive(
                tx,
                conversation_id=self.id,
                act=act,
                window_id=window_id,
                workspace_id=workspace_id,
                closing=closing,
            )

    def _refuse_in_turn(self, closing: Sequence[str]) -> None:
        if any(self.in_turn(window) for window in {*self.windows, *closing}):
            raise StillAtWork

    async def unarchive(self, *, workspace_id: str | None) -> None:
        """Take it out of the archive. Raises ReadOnly."""
        async with self.write() as tx:
            await journal.unarchive(tx, conversation_id=self.id, workspace_id=workspace_id)

    def write(self) -> AbstractAsyncContextManager[Writer]:
        """A transaction of the holder of the conversation. Raises ReadOnly, StoreReadOnly."""
        return self._runtime.writable().write()

    async def reload(self) -> None:
        """Read title and agent, which were changed in the store, and publish what is new."""
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

    def agent_died(self, agent: AgentPort) -> None:
        """A process of ours ended; its sessions are cold from now on."""
        self._runtime.agent_died(agent)

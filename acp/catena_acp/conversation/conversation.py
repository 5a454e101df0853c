"""One live conversation: it owns its turns, whatever becomes of the windows that show it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable

from catena_acp.continuity.services import Services, SpecOf, Tenure
from catena_acp.continuity.sessions.agent_pool import Agents
from catena_acp.continuity.sessions.sessions import Sessions
from catena_acp.continuity.wording.problems import CutBy
from catena_acp.conversation import journal
from catena_acp.conversation.access.allowances import ConversationRules, ConversationServers
from catena_acp.conversation.access.logins import Logins
from catena_acp.conversation.asides.asides import Asides
from catena_acp.conversation.branches.branches import Branches
from catena_acp.conversation.branches.files import BranchFiles
from catena_acp.conversation.checkpoints.checkpoints import Checkpoints
from catena_acp.conversation.inspection.changes import ConversationChanges
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.inspection.price import costs_more_without
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentMissing, ReadOnly, StillAtWork
from catena_acp.port.port import AgentPort
from catena_store.errors import StoreError
from catena_store.records import ConversationRecord
from catena_store.windows import queue


class Conversation(LiveConversation):
    """A conversation that can be talked to; made by ``Conversations``.

    Acts in a window are methods of its ``window``; the others are sorted by subject. Anything that writes raises
    StoreError, and ReadOnly if another client holds the lease.
    """

    def __init__(
        self,
        services: Services,
        record: ConversationRecord,
        tenure: Tenure | None,
        agents: Agents,
        sessions: Sessions,
        spec_of: SpecOf,
        agent_started: Callable[[str, AgentPort], None],
        take_over: Callable[[LiveConversation], Awaitable[None]],
        all_live: Callable[[], Iterable[Conversation]],
    ) -> None:
        super().__init__(services, record, tenure, agents, sessions, spec_of, agent_started, take_over)
        # Also of windows that were closed: a turn goes on without its window.
        self._windows: dict[str, Window] = {}
        self.branches = Branches(self)
        self.files = BranchFiles(self)
        self.tree = ConversationTree(self)
        self.chain = ConversationChain(self)
        self.changes = ConversationChanges(self)
        self.checkpoints = Checkpoints(self, self.window)
        self.rules = ConversationRules(self)
        self.servers = ConversationServers(self)
        self.asides = Asides(self)
        self.logins = Logins(self, self._windows, lambda: [each.logins for each in all_live()])
        self.on_logouts = self.logins.hear_everywhere

    @property
    def busy(self) -> bool:
        """True while any window's turn is under way."""
        return any(window.busy for window in self._windows.values())

    @property
    def unsaved_answers(self) -> list[tuple[str, StoreError]]:
        """What agents said in turns whose ends the store did not take, and why."""
        return [unsaved for window in self._windows.values() if (unsaved := window.unsaved_answer)]

    def window(self, window_id: str) -> Window:
        """The window of this id; it is open in this client from now on."""
        window = self._windows.get(window_id)
        if window is None:
            window = self._windows[window_id] = Window(self, window_id, self.files)
        window.enter()
        return window

    def in_turn(self, window_id: str) -> bool:
        """True while the turn of an open window is under way, or a login."""
        window = self._windows.get(window_id)
        return window is not None and window.in_turn

    async def change_directory(self, cwd: str, *, by: str | None = None) -> None:
        """Work in another directory, which the caller has seen to exist, by its absolute path.

        A change ``by`` a window's person can be undone there. Raises StillAtWork while a turn runs, ReadOnly.
        """
        self._refuse_in_turn()
        async with self.write() as tx:
            self._refuse_in_turn()  # a prompt that was said while this waited for the store has its turn here
            await journal.change_directory(tx, window_id=by, conversation_id=self.id, cwd=cwd)
        await self.reload()

    def _refuse_in_turn(self) -> None:
        if any(self.in_turn(window) for window in self.windows):
            raise StillAtWork

    async def keeps(self, agent: AgentPort, in_sight: Collection[str]) -> bool:
        """True if an idle agent is of use to a window here: one that is in sight, waits, or would have to pay for it.

        A window may wait for an answer of the person, a prompt of the queue, or work in the background. If the store
        cannot be read, the agent is kept.
        """
        if self.busy or any(window.idle_work.under_way for window in self._windows.values()):
            return True
        try:
            for window_id in self.windows:
                waits = self.questions.waits(window_id) or self.background_of(window_id)
                if waits or window_id in in_sight:
                    return True
                async with self.services.db.read() as reader:
                    if await queue.items(reader, window_id):
                        return True
                if not self.read_only and await costs_more_without(self, window_id, agent):
                    return True
        except (StoreError, AgentMissing, ReadOnly):
            return True
        return False

    async def close(self, by: CutBy = CutBy.EXIT) -> None:
        """End every turn as interrupted ``by`` that, and record it; the agents are ended by their owner."""
        self.closing, self.cut_by = True, by
        windows = tuple(self._windows.values())
        await asyncio.gather(self.asides.close(), *(window.close() for window in windows))
        await super().close()

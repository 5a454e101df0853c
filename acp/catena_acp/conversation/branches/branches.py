"""The branches of a conversation: where a window stands among them, how that moves, and what forks share.

Nothing is copied, changed or removed by any of it. A window's pointer moves, and what is said next hangs from there.
"""

from __future__ import annotations

from dataclasses import replace

from catena_acp.continuity.conversation_events import LeafMoved
from catena_acp.continuity.sessions.fork_points import is_part_of, point_at, settled_point
from catena_acp.conversation.branches.files import BranchFiles
from catena_acp.conversation.branches.fork_at import learn_fork_at
from catena_acp.conversation.branches.forked_session import ForkedSession, forked_session
from catena_acp.conversation.branches.logout_barrier import remark_on_logout
from catena_acp.conversation.journal import move_window
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import NotOfThisBranch
from catena_acp.port.port import AgentSpec
from catena_acp.snapshots.restoring import FileChoice, FilesMoved
from catena_store import ancestry
from catena_store.conversations import lineage, messages
from catena_store.conversations.branches import last_leaf, siblings
from catena_store.conversations.lineage import Lineage
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound, StoreError
from catena_store.records import ConversationRecord, Kind, Message
from catena_store.windows import windows
from catena_store.windows.journal import Act


class Branches:
    """What a conversation shares with others: the beginning of a fork, and the lineage."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def lineage(self) -> Lineage:
        """What the conversation was forked from, and what was forked from it."""
        async with self._conversation.services.db.read() as reader:
            return await lineage.of_conversation(reader, self._conversation.id)

    async def learn_fork_at(self, window_id: str, leaf_id: str | None, spec: AgentSpec | None = None) -> None:
        """Find out whether the agent forks at a message, if a prompt below a row depends on it. Raises StoreError."""
        await learn_fork_at(self._conversation, window_id, leaf_id, spec)

    async def begin_in_fork(self, window_id: str, leaf_id: str | None, source_cwd: str) -> ForkedSession:
        """Fork the session that the first prompt of a conversation goes to that has just been made.

        Without one, that prompt will be told. Raises AgentError.
        """
        forked = await forked_session(self._conversation, window_id, leaf_id, source_cwd)
        if forked.live:
            self._conversation.set_carrier(window_id, forked.live)
        return forked


class WindowLeaf:
    """The row that a window stands on, from which its next prompt hangs."""

    def __init__(self, conversation: LiveConversation, window_id: str, files: BranchFiles) -> None:
        self._conversation = conversation
        self.window_id = window_id
        self.files = files

    async def move(
        self,
        tx: Writer,
        leaf_id: str | None,
        act: Act,
        agent: AgentSpec | None = None,
        moved: FilesMoved | None = None,
    ) -> None:
        """Move the window in the caller's transaction; ``agent`` answers from there on, ``moved`` files came along."""
        window = await windows.get(tx, self.window_id)
        if window and window.conversation_id != self._conversation.id:
            raise StoreError("this tab now shows another conversation")
        await move_window(
            tx,
            window_id=self.window_id,
            conversation_id=self._conversation.id,
            leaf_id=leaf_id,
            act=act,
            agent=(agent.name, agent.profile) if agent else None,
            files=moved,
        )

    def moved(self, leaf_id: str | None, agent: AgentSpec | None = None) -> None:
        """Publish the window's leaf, once that is committed."""
        self.switch_agent(agent)
        self._conversation.publish(LeafMoved(self.window_id, leaf_id))
        if agent is None:
            self._conversation.clear_carrier(self.window_id)

    def switch_agent(self, agent: AgentSpec | None) -> None:
        """Take over the agent that was committed with a move, if there was one."""
        if agent is not None:
            record = self._conversation.record
            self._conversation.record = replace(record, agent=agent.name, profile=agent.profile)
            self._conversation.clear_carrier(self.window_id)

    async def move_leaf(
        self, leaf_id: str | None, act: Act, choice: FileChoice | None = None
    ) -> FilesMoved | None:
        """Move the window's leaf to a row, with the files by ``choice``; the caller keeps prompts away meanwhile."""
        await self._conversation.settle()
        async with self._conversation.services.db.read() as reader:
            if leaf_id is not None and not await is_part_of(reader, self._conversation.record, leaf_id):
                raise NotOfThisBranch
            leaf_id = await point_at(reader, leaf_id)
        # Where another client holds the conversation, a window of ours may still look around in it.
        tenure = self._conversation.tenure
        async with (
            self.files.along(self.window_id, leaf_id, act, choice) as moved,
            tenure.write() if tenure else self._conversation.services.db.write() as tx,
        ):
            await self.move(tx, leaf_id, act, moved=moved)
        self.moved(leaf_id)
        await remark_on_logout(self._conversation, self.window_id, leaf_id)
        return moved

    async def sibling_leaf(self, prompt_id: str, step: int) -> str | None:
        """The leaf of the sibling that is ``step`` further: where the window last stood in it, else its newest.

        None if there is no such sibling.
        """
        record = self._conversation.record
        async with self._conversation.services.db.read() as reader:
            prompts = await siblings(reader, prompt_id, record.id)
            at = prompts.index(prompt_id) + step if prompt_id in prompts else -1
            if not 0 <= at < len(prompts):
                return None
            leaf = await last_leaf(reader, self.window_id, record.id, prompts[at])
            return leaf or await ancestry.newest_below(reader, prompts[at], record.id)

    async def fork_point(self, message_id: str | None = None) -> str | None:
        """The row that a fork at this message, or where the window stands, begins below: its price is asked for it."""
        async with self._conversation.services.db.read() as reader:
            if message_id is not None:
                return await point_at(reader, message_id)
            window = await windows.get(reader, self.window_id)
            return await settled_point(reader, window.leaf_id if window else None)


async def prompt_of(reader: Reader, record: ConversationRecord, prompt_id: str) -> Message:
    """A prompt that can be said anew in this conversation. Raises NotFound, NotOfThisBranch."""
    prompt = await messages.get(reader, prompt_id)
    if prompt is None:
        raise NotFound("message", prompt_id)
    if prompt.kind is not Kind.USER:
        raise NotOfThisBranch("That is not a prompt; only prompts can be edited.")
    if prompt.steered:
        raise NotOfThisBranch("That was sent into a running turn; edit the prompt that started the turn.")
    if not await is_part_of(reader, record, prompt_id):
        raise NotOfThisBranch
    return prompt

"""What a person does with the branches of a conversation: say a prompt anew, go to another branch, go back.

Nothing is copied, changed or removed by any of it. A window's pointer moves, and what is said next hangs from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from catena_acp.continuity.atomic import shielded
from catena_acp.continuity.events import LeafMoved, TurnEnded
from catena_acp.continuity.sessions.fork_points import NotOfThisBranch, is_part_of, point_at, settled_point
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.endings import brought_something
from catena_acp.conversation.branches.forked_session import forked_session
from catena_acp.conversation.branches.logout_barrier import remark_on_logout
from catena_acp.conversation.journal import move_window
from catena_acp.conversation.prompts.rows import Attempt, Birth, clears, last_prompt
from catena_acp.conversation.runtime import ConversationRuntime
from catena_acp.port import AgentSpec
from catena_store.conversations import lineage, messages
from catena_store.conversations.branches import last_leaf, siblings
from catena_store.conversations.lineage import Lineage
from catena_store.conversations.tree import newest_leaf_below
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound, StoreError
from catena_store.records import Attachment, ConversationRecord, Kind, Message
from catena_store.windows import attachments, inputs, windows
from catena_store.windows.journal import Act

if TYPE_CHECKING:
    from catena_acp.conversation.prompts.window import Window


class Branching:
    """The branches of a conversation, as one of its windows goes about them."""

    def __init__(self, core: ConversationRuntime, window_id: str, seat: Window) -> None:
        self._core = core
        self._window_id = window_id
        self._window = seat

    # --- saying a prompt anew

    async def edit(self, prompt_id: str, text: str, files: Sequence[Attachment]) -> None:
        """Say a prompt in other words, as a sibling of it; a running turn of the window is stopped first."""
        self._core.writable()
        prompt = await self._prompt(prompt_id)
        await self._window.apart(lambda: self._say_instead(prompt, text, files, None), stop=True)

    async def retry_prompt(self, prompt_id: str, agent: AgentSpec | None) -> None:
        """Say a prompt again in the same words, as a sibling; a running turn of the window is stopped first."""
        self._core.writable()
        prompt = await self._prompt(prompt_id)
        async with self._core.services.db.read() as reader:
            files = await attachments.of_message(reader, prompt.id)
        await self._window.apart(lambda: self._say_instead(prompt, prompt.text, files, agent), stop=True)

    async def _say_instead(
        self, prompt: Message, text: str, files: Sequence[Attachment], agent: AgentSpec | None
    ) -> None:
        # What the turn before still tells belongs to the branch that is left.
        await self._core.settle()
        act = Act.EDIT if agent is None and text != prompt.text else Act.RETRY

        async def instead() -> Message:
            async with self._core.writable().write() as tx:
                await inputs.add(tx, text, self._core.record.cwd)
                await self._move(tx, prompt.parent_id, act, agent)
                return await self._window.rows.add(tx, text, files)

        if clears(text):
            barrier = await instead()
            self._moved(barrier.id, agent)
            self._core.publish(TurnEnded(self._window_id, None, None))
            return

        async def birth() -> Birth:
            row = await instead()
            self._switched(agent)
            return Attempt(row, came_from=row.parent_id), LeafMoved(self._window_id, row.id)

        await self._window.begin(birth, text, files)

    def retry(self, agent: AgentSpec | None) -> None:
        """Say the branch's last prompt again: the same row where its turn brought nothing, else as a sibling."""
        self._core.writable()
        self._window.go_next(lambda: self._retry(agent))

    async def _retry(self, agent: AgentSpec | None) -> None:
        await self._window.see_to_the_end()
        async with self._core.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
            path = await messages.path(reader, window.leaf_id if window else None)
            last, prompt = await last_prompt(reader, path)
            brought = await brought_something(reader, path[last + 1 :])
        if prompt is None:
            return
        leaf = window.leaf_id if window else None
        row = await shielded(self._again(prompt, agent, as_sibling=brought))
        self._switched(agent)
        self._core.publish(LeafMoved(self._window_id, row.id))
        await self._window.carry(Attempt(row, came_from=leaf, typed=False, born=brought))

    async def _again(self, prompt: Message, agent: AgentSpec | None, *, as_sibling: bool) -> Message:
        async with self._core.writable().write() as tx:
            await self._move(tx, prompt.parent_id if as_sibling else prompt.id, Act.RETRY, agent)
            if not as_sibling:
                return prompt
            return await self._window.rows.add(tx, prompt.text, await attachments.of_message(tx, prompt.id))

    # --- going elsewhere

    async def go_to(self, leaf_id: str | None, act: Act) -> None:
        """Stand on another row, None for the very beginning. Raises StillAtWork while the window's turn runs."""
        await self._window.apart(lambda: self.stand_on(leaf_id, act))

    async def rewind(self, message_id: str | None) -> None:
        """Go back to a row; a running turn is stopped first, and what waits then waits for the person."""
        ran = self._window.busy

        async def back() -> None:
            await self.stand_on(message_id, Act.REWIND)
            if ran:
                await self._window.queue.hold()

        await self._window.apart(back, stop=True)

    async def to_sibling(self, prompt_id: str, step: int) -> bool:
        """Go to a sibling of a prompt, where the window last stood in it; False where there is none."""
        record = self._core.record
        async with self._core.services.db.read() as reader:
            beside = await siblings(reader, prompt_id, record.id)
            at = beside.index(prompt_id) + step if prompt_id in beside else -1
            if not 0 <= at < len(beside):
                return False
            other = beside[at]
            leaf = await last_leaf(reader, self._window_id, record.id, other)
            leaf = leaf or await newest_leaf_below(reader, other, record.id)
        await self._window.apart(lambda: self.stand_on(leaf, Act.SIBLING))
        return True

    async def stand_on(self, leaf_id: str | None, act: Act) -> None:
        """Let the window stand on a row; for who keeps its prompts away meanwhile."""
        await self._core.settle()
        async with self._core.services.db.read() as reader:
            if leaf_id is not None and not await is_part_of(reader, self._core.record, leaf_id):
                raise NotOfThisBranch
            leaf_id = await point_at(reader, leaf_id)
        # Where another client holds the conversation, a window of ours may still look around in it.
        tenure = self._core.tenure
        async with tenure.write() if tenure else self._core.services.db.write() as tx:
            await self._move(tx, leaf_id, act, None)
        self._moved(leaf_id, None)
        await remark_on_logout(self._core, self._window_id, leaf_id)

    async def _move(self, tx: Writer, leaf_id: str | None, act: Act, agent: AgentSpec | None) -> None:
        window = await windows.get(tx, self._window_id)
        if window and window.conversation_id != self._core.record.id:
            raise StoreError("this tab shows another conversation by now")
        await move_window(
            tx,
            window_id=self._window_id,
            conversation_id=self._core.record.id,
            leaf_id=leaf_id,
            act=act,
            agent=(agent.name, agent.profile) if agent else None,
        )

    def _moved(self, leaf_id: str | None, agent: AgentSpec | None) -> None:
        self._switched(agent)
        self._core.publish(LeafMoved(self._window_id, leaf_id))
        if agent is None:
            self._core.carried_by_none(self._window_id)

    def _switched(self, agent: AgentSpec | None) -> None:
        if agent is not None:
            record = self._core.record
            self._core.record = replace(record, agent=agent.name, profile=agent.profile)
            self._core.carried_by_none(self._window_id)

    async def _prompt(self, prompt_id: str) -> Message:
        async with self._core.services.db.read() as reader:
            return await prompt_of(reader, self._core.record, prompt_id)


async def prompt_of(reader: Reader, record: ConversationRecord, prompt_id: str) -> Message:
    """A prompt that can be said anew in this conversation. Raises NotFound, NotOfThisBranch."""
    prompt = await messages.get(reader, prompt_id)
    if prompt is None:
        raise NotFound("message", prompt_id)
    if prompt.kind is not Kind.USER:
        raise NotOfThisBranch("That is no prompt; only what you said can be said anew.")
    if prompt.data.get("steered"):
        raise NotOfThisBranch("That was said into a turn; the prompt that the turn began with can be edited.")
    if not await is_part_of(reader, record, prompt_id):
        raise NotOfThisBranch
    return prompt


class BranchFace:
    """Saying a prompt anew, going to another branch, and where the conversation comes from."""

    _core: ConversationRuntime

    @property
    def read_only(self) -> bool:
        """True where another client holds the conversation."""
        raise NotImplementedError

    def _window(self, window_id: str) -> Window:
        """The window's place in the conversation."""
        raise NotImplementedError

    async def take_over(self, window_id: str) -> None:
        """Go on here with what a client left that is gone."""
        raise NotImplementedError

    async def edit(
        self, window_id: str, prompt_id: str, text: str, attachments: Sequence[Attachment] = ()
    ) -> None:
        """Say a prompt in other words, as a sibling of it; returns when its row is committed.

        A running turn of the window is stopped first and seen to its end. Raises AgentError where it is no prompt of
        this conversation.
        """
        if self.read_only:
            await self.take_over(window_id)
        await self._branching(window_id).edit(prompt_id, text, attachments)

    async def retry(
        self, window_id: str, *, agent: AgentSpec | None = None, prompt_id: str | None = None
    ) -> None:
        """Send the last prompt again, or another one: the same row where its turn brought nothing, else as a sibling.

        ``agent`` is who answers it, and what comes after it. A prompt that is named is always said as a sibling, and a
        running turn is stopped for it.
        """
        if prompt_id is not None:
            await self._branching(window_id).retry_prompt(prompt_id, agent)
        else:
            self._branching(window_id).retry(agent)

    async def go_to(self, window_id: str, leaf_id: str | None, act: Act = Act.GO_TO) -> None:
        """Let the window stand on another row, None for the beginning; also where the conversation can only be read.

        Raises StillAtWork while the window's turn runs, AgentError for a row of another conversation.
        """
        await self._branching(window_id).go_to(leaf_id, act)

    async def to_sibling(self, window_id: str, prompt_id: str, step: int) -> bool:
        """Go to the sibling of a prompt that is ``step`` further, where the window last stood in it.

        Else to where it was written last. False where there is no such sibling. Raises StillAtWork.
        """
        return await self._branching(window_id).to_sibling(prompt_id, step)

    async def rewind(self, window_id: str, message_id: str | None) -> None:
        """Go back to a row; a running turn is stopped first. What came later can still be reached."""
        await self._branching(window_id).rewind(message_id)

    async def point(self, window_id: str, message_id: str | None = None) -> str | None:
        """The row that a fork at this message, or where the window stands, begins below: ``price`` is asked for it."""
        async with self._core.services.db.read() as reader:
            if message_id is not None:
                return await point_at(reader, message_id)
            window = await windows.get(reader, window_id)
            return await settled_point(reader, window.leaf_id if window else None)

    async def begin_in_fork(self, window_id: str, leaf_id: str | None, source_cwd: str) -> LiveSession | None:
        """Fork the session that its first prompt goes to, for a conversation that has just been made.

        None where that prompt will be told. Raises AgentError.
        """
        live = await forked_session(self._core, window_id, leaf_id, source_cwd)
        if live:
            self._core.carried_by(window_id, live)
        return live

    async def settle(self) -> None:
        """Bring into the store what sessions have told between turns."""
        await self._core.settle()

    async def lineage(self) -> Lineage:
        """What the conversation was forked from, and what was forked from it."""
        async with self._core.services.db.read() as reader:
            return await lineage.of_conversation(reader, self._core.record.id)

    def _branching(self, window_id: str) -> Branching:
        return Branching(self._core, window_id, self._window(window_id))

"""A prompt's row: how it is born in a window's branch, and how it is taken back if no agent takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catena_acp.continuity.conversation_events import LeafMoved, MessageAdded
from catena_acp.continuity.turns.endings import is_said_error
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation import journal
from catena_acp.conversation.branches.branches import WindowLeaf
from catena_acp.conversation.live import LiveConversation
from catena_acp.port.port import AgentSpec
from catena_acp.snapshots.restoring import FileChoice
from catena_acp.tasks import shielded
from catena_store import places
from catena_store.chains import turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.errors import StoreError
from catena_store.records import (
    CONTENT_KINDS,
    Attachment,
    Kind,
    Message,
    MessageState,
    NewMessage,
    QueueItem,
    StopReason,
)
from catena_store.windows import attachments, inputs, queue, windows
from catena_store.windows.journal import Act

_CLEARING = frozenset({"/clear", "/new", "/reset"})  # agents that know these forget in silence


def clears(text: str) -> bool:
    """True for a command that is never sent to an agent: it becomes a barrier of ours."""
    return text.strip() in _CLEARING


@dataclass(frozen=True, slots=True)
class Attempt:
    """A prompt row on its way, and what becomes of it if no agent takes it."""

    row: Message
    came_from: str | None  # the window's leaf before
    typed: bool = True  # its text is to return to the composer
    born: bool = True  # the row was made for this attempt
    item: QueueItem | None = None  # what it was as it waited
    agent: AgentSpec | None = None  # that it was said to, where that was chosen with it


Birth = tuple[Attempt, MessageAdded | LeafMoved]  # a prompt whose row was made, and the event to publish


def brought_something(below: Sequence[Message]) -> bool:
    """True if the rows below a prompt hold more of its turn than an error in words."""
    return any(row.kind in CONTENT_KINDS and not is_said_error(row) for row in below)


class PromptRows:
    """The prompts of one window, as rows."""

    def __init__(self, conversation: LiveConversation, leaf: WindowLeaf) -> None:
        self._conversation = conversation
        self._leaf = leaf
        self._window_id = leaf.window_id

    async def add_prompt(self, text: str, files: Sequence[Attachment]) -> Birth:
        """Make the row of a prompt that stood in the composer; the draft is empty then."""
        async with self._conversation.write() as tx:
            await inputs.add(tx, text, self._conversation.record.cwd)
            await windows.set_draft(tx, self._window_id, "")
            await attachments.set_draft(tx, self._window_id, ())
            row = await self.add(tx, text, files)
        return Attempt(row, came_from=row.parent_id), MessageAdded(self._window_id, row)

    async def add_sibling(
        self,
        prompt: Message,
        text: str,
        files: Sequence[Attachment],
        agent: AgentSpec | None,
        kept_as: str | None = None,
        choice: FileChoice | None = None,
    ) -> Birth:
        """Make a sibling of a prompt, and move the leaf to it; ``agent`` answers from there on.

        ``kept_as`` is the queue item that kept the text until now. By ``choice`` the files go back before it. Raises
        FilesNotKept.
        """
        act = Act.EDIT if agent is None and text != prompt.text else Act.RETRY
        async with (
            self._leaf.files.along(self._window_id, prompt.parent_id, act, choice) as moved,
            self._conversation.write() as tx,
        ):
            await inputs.add(tx, text, self._conversation.record.cwd)
            await self._leaf.move(tx, prompt.parent_id, act, agent, moved)
            row = await self.add(tx, text, files)
            if kept_as is not None:
                await queue.remove(tx, kept_as)
        self._leaf.files.tell_left(self._window_id, moved)
        self._leaf.switch_agent(agent)
        return Attempt(row, came_from=row.parent_id, agent=agent), LeafMoved(self._window_id, row.id)

    async def repeat_last(self, agent: AgentSpec | None) -> Birth | None:
        """Send the branch's last prompt again: the same row if its turn brought nothing, else a sibling.

        None if there is no prompt.
        """
        async with self._conversation.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
            came_from = window.leaf_id if window else None
            last = await messages.last_turn(reader, came_from)
        if not last or not last[0].is_prompt:
            return None
        prompt, brought = last[0], brought_something(last[1:])
        row = await shielded(self._repeat(prompt, agent, as_sibling=brought))
        self._leaf.switch_agent(agent)
        attempt = Attempt(row, came_from=came_from, typed=False, born=brought, agent=agent)
        return attempt, LeafMoved(self._window_id, row.id)

    async def _repeat(self, prompt: Message, agent: AgentSpec | None, *, as_sibling: bool) -> Message:
        async with self._conversation.write() as tx:
            await self._leaf.move(tx, prompt.parent_id if as_sibling else prompt.id, Act.RETRY, agent)
            if not as_sibling:
                await places.move(tx, self._conversation.id, prompt.id)
                return prompt
            return await self.add(tx, prompt.text, await attachments.of_message(tx, prompt.id))

    async def add_clear(self, tx: Writer) -> Message:
        """Add the barrier of a person's `/clear`: undone, the window stands above it again."""
        row = await self.add_barrier(tx)
        await journal.cleared(tx, window_id=self._window_id, leaf_id=row.parent_id)
        return row

    async def add_barrier(
        self, tx: Writer, text: str = "context cleared", more: Mapping[str, Any] | None = None
    ) -> Message:
        leaf = await self._stands_on(tx)
        row = await messages.insert(
            tx,
            NewMessage(
                id=self._conversation.services.new_id(),
                conversation_id=self._conversation.id,
                parent_id=leaf,
                kind=Kind.SEAM,
                text=text,
                data={"cleared": True, **(more or {})},
                barrier=True,
            ),
        )
        await windows.advance(tx, self._window_id, row.id)
        await places.move(tx, row.conversation_id, row.id)
        return row

    async def add(self, tx: Writer, text: str, files: Sequence[Attachment] = ()) -> Message:
        """A prompt with what is attached to it, below the window's leaf."""
        if clears(text):
            return await self.add_clear(tx)
        leaf = await self._stands_on(tx)
        # Said again as it was, a prompt that was refused is the same row: the sessions that heard it still fit.
        data = {"attachments": [each.described() for each in files]} if files else {}
        row = await messages.refused_below(tx, self._conversation.id, leaf, text)
        if row and row.data.get("attachments") == data.get("attachments"):
            row = await messages.update(tx, row.id, state=MessageState.FINAL)
        else:
            row = await messages.insert(
                tx,
                NewMessage(
                    id=self._conversation.services.new_id(),
                    conversation_id=self._conversation.id,
                    parent_id=leaf,
                    kind=Kind.USER,
                    text=text,
                    data=data,
                ),
            )
            await attachments.add_to_message(tx, row.id, files)
        await windows.advance(tx, self._window_id, row.id)
        await places.move(tx, row.conversation_id, row.id)
        await conversations.touch(tx, self._conversation.id)
        return row

    async def _stands_on(self, tx: Writer) -> str | None:
        """Where the window stands. Raises StoreError if that is in another conversation by now."""
        window = await windows.get(tx, self._window_id)
        if window and window.conversation_id != self._conversation.id:
            raise StoreError("this tab now shows another conversation")
        return window.leaf_id if window else None

    async def restore(self, attempt: Attempt, claimed: RunningTurn | None) -> list[Attachment]:
        """Take the row back; what was typed is the draft again, with the files that are returned."""
        async with self._conversation.write() as tx:
            if claimed:
                await turns.end(tx, claimed.turn.id, stop_reason=StopReason.NOT_SENT)
            if attempt.born:
                await messages.update(tx, attempt.row.id, state=MessageState.REFUSED)
            files = await attachments.of_message(tx, attempt.row.id) if attempt.typed else []
            left = await windows.get(tx, self._window_id)
            await windows.set_leaf(tx, self._window_id, attempt.came_from)
            await places.give_back(tx, self._conversation.id, attempt.row.id, attempt.came_from)
            stands = await windows.get(tx, self._window_id)
            if attempt.typed and stands:
                # What was typed meanwhile is kept where the prompt stands that is taken back. Whoever said it and was
                # cut off by our own end may have restored it there, too.
                drafts = (left.draft if left else "", stands.draft)
                draft = windows.restored_draft(attempt.row.text, *drafts)
                await windows.set_draft(tx, self._window_id, draft)
            if files:
                kept = await attachments.of_draft(tx, self._window_id)
                await attachments.set_draft(tx, self._window_id, list(dict.fromkeys([*files, *kept])))
        return files

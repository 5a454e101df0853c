"""The part of a live conversation's face by which a person goes about its branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catena_acp.conversation.branching import Branching
from catena_acp.conversation.core import Core
from catena_acp.conversation.fork_points import point_at, settled_point
from catena_acp.conversation.forked_session import forked_session
from catena_acp.conversation.sessions import LiveSession
from catena_acp.port import AgentSpec
from catena_store.conversations import lineage
from catena_store.conversations.lineage import Lineage
from catena_store.records import Attachment
from catena_store.windows import windows
from catena_store.windows.journal import Act

if TYPE_CHECKING:
    from catena_acp.conversation.seat import Seat


class BranchFace:
    """Saying a prompt anew, going to another branch, and where the conversation comes from."""

    _core: Core

    @property
    def read_only(self) -> bool:
        """True where another client holds the conversation."""
        raise NotImplementedError

    def _seat(self, window_id: str) -> Seat:
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
        return Branching(self._core, window_id, self._seat(window_id))

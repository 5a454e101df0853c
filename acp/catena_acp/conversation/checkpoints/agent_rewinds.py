"""Rewinds that an agent asks for through the tools that it was handed: each becomes a question to the person.

The tool's process writes its request into the store, so the store is looked at while a turn of ours runs, and only
then. A granted rewind is done after the turn has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    Problem,
    Remarked,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, ReadOnly, TabClosed
from catena_acp.permissions.subject import unresolved_subject
from catena_acp.port.session_events import PermissionOption, PermissionRequested, ToolCallChanged
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations import checkpoints
from catena_store.conversations.checkpoints import Checkpoint, RewindAnswer, RewindRequest, SqliteCheckpoints
from catena_store.errors import StoreError
from catena_store.windows.journal import Act

LOOK_SECONDS = 0.25
_YES, _NO = "rewind", "stay"
_OPTIONS = (
    PermissionOption(_YES, "Rewind after this turn", "allow_once"),
    PermissionOption(_NO, "Stay here", "reject_once"),
)


@dataclass(frozen=True, slots=True)
class _Question:
    """Takes the person's answer to a request."""

    asked: RewindRequests
    window_id: str
    request: RewindRequest
    checkpoint: Checkpoint

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        self.asked.answered(self.window_id, self.request, self.checkpoint, granted=option_id == _YES)


class RewindRequests:
    """Looks for requests of one conversation's agents while its turns run, and does what is granted."""

    def __init__(self, conversation: LiveConversation, window_of: Callable[[str], Window]) -> None:
        self._conversation = conversation
        self._window_of = window_of
        self._watched: dict[str, asyncio.Event] = {}  # by window: its turn has ended
        self._shown: set[str] = set()
        conversation.subscribe(self._handle)

    def _handle(self, event: ConversationEvent) -> None:
        match event:
            case TurnStarted(window_id=window_id, turn=turn):
                conversation = self._conversation
                ours = conversation.tenure and not conversation.closing and turn.stop_reason is None
                if conversation.services.checkpointing.tools and ours and window_id not in self._watched:
                    self._watched[window_id] = asyncio.Event()
                    conversation.spawn(self._watch(window_id))
            case TurnEnded(window_id=window_id):
                if ended := self._watched.pop(window_id, None):
                    ended.set()
            case _:
                return

    async def _watch(self, window_id: str) -> None:
        ended = self._watched[window_id]
        version: int | None = None
        over = False
        while not over and not self._conversation.closing:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await ended.wait()
            over = ended.is_set()
            with contextlib.suppress(StoreError):  # looked at again
                now = await self._conversation.services.db.data_version()
                if now != version:
                    await self._look(window_id)
                    version = now

    async def _look(self, window_id: str) -> None:
        conversation = self._conversation
        async with conversation.services.db.read() as reader:
            waiting = await checkpoints.open_rewinds(reader, conversation.id)
        store = SqliteCheckpoints(conversation.services.db.read, conversation.services.db.write)
        for request in waiting:
            mine = request.window_id == window_id or request.window_id not in conversation.windows
            if request.id in self._shown or not mine or conversation.closing:
                continue
            self._shown.add(request.id)
            checkpoint = await store.get(request.checkpoint_id)
            if checkpoint is None or checkpoint.conversation_id != conversation.id:
                await self._note(request, RewindAnswer.FAILED)
                continue
            words = words_of(checkpoint, conversation.services.clock())
            call = ToolCallChanged(f"rewind {request.id}", words, "rewind", by_client=True)
            subject = replace(unresolved_subject(call), doubt="")  # its words are Catena's
            asked = PermissionRequested(f"rewind {request.id}", call, _OPTIONS)
            question = _Question(self, window_id, request, checkpoint)
            conversation.questions.add(window_id, "", question, asked, subject)

    def answered(
        self, window_id: str, request: RewindRequest, checkpoint: Checkpoint, *, granted: bool
    ) -> None:
        """The person has answered; what is granted is done when the turn has ended."""
        work = (
            self._grant(window_id, request, checkpoint)
            if granted
            else self._note(request, RewindAnswer.REFUSED)
        )
        self._conversation.spawn(work)

    async def _note(self, request: RewindRequest, answer: RewindAnswer) -> None:
        with contextlib.suppress(StoreError, ReadOnly):
            async with self._conversation.write() as tx:
                await checkpoints.answer_rewind(tx, request.id, answer)

    async def _grant(self, window_id: str, request: RewindRequest, checkpoint: Checkpoint) -> None:
        # Beside it: were the leaf not kept still at once, what waits could go out while this is written.
        noted = asyncio.ensure_future(self._note(request, RewindAnswer.GRANTED))

        async def rewind() -> None:
            await noted
            if self._conversation.closing:
                return
            if window_id not in self._conversation.windows:
                raise TabClosed
            await window.leaf.move_leaf(checkpoint.message_id, Act.REWIND)
            await window.queue.hold()  # what was typed for another place waits for the person
            words = words_of(checkpoint, self._conversation.services.clock())
            self._conversation.publish(Remarked(window_id, f"Back {words}. {UNTOUCHED}"))

        try:
            if window_id not in self._conversation.windows:  # asking for it would open it again
                raise TabClosed
            window = self._window_of(window_id)
            await window.run_exclusively(rewind, wait=True)
        except (AgentError, ReadOnly, StoreError) as error:
            await noted
            await self._note(request, RewindAnswer.FAILED)
            why = f"The rewind failed: {error}"
            # The others are told where the one that was asked is gone.
            open_still = self._conversation.windows
            for told in {window_id} & open_still or open_still:
                self._conversation.publish(Troubled(told, Problem(Trouble.STORE, why)))


UNTOUCHED = "Files are unchanged; later messages are kept."


def words_of(checkpoint: Checkpoint, now: datetime) -> str:
    """To which checkpoint, in the person's words."""
    at = format_time(checkpoint.created_at.replace(second=0, microsecond=0), now)
    name = f"to “{checkpoint.label}”, made at {at}" if checkpoint.label else f"to the checkpoint of {at}"
    return name if checkpoint.message_id else f"{name}, before the first message"

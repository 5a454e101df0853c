"""Consumer of a window's prompts: one is on its way at most, the others wait in the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from catena_acp.continuity.cancellation import outlived, shielded
from catena_acp.continuity.conversation_events import (
    Doing,
    MessageAdded,
    Problem,
    PromptReturned,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.wording.leases import HELD_ELSEWHERE
from catena_acp.continuity.wording.problems import problem_about
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.delivery import PromptDelivery
from catena_acp.conversation.prompts.idle_work import IdleWork
from catena_acp.conversation.prompts.queue import PromptQueue
from catena_acp.conversation.prompts.rows import Attempt, Birth, PromptRows
from catena_acp.conversation.prompts.schedule import Consumer, Preparation, WindowSchedule
from catena_acp.errors import FilesHalfMoved, FilesNotKept, ReadOnly
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import Fenced, StoreError
from catena_store.records import Attachment

BirthOf = Callable[[], Coroutine[Any, Any, Birth]]


class PromptConsumer:
    """Sends what is said in one window, and then what waits there, until none is left or an error holds it."""

    def __init__(
        self, conversation: LiveConversation, window_id: str, rows: PromptRows, queue: PromptQueue
    ) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._queue = queue
        self.schedule = WindowSchedule(self.stop, self._freed)
        self.preparation = Preparation(self._prepared)
        self.delivery = PromptDelivery(conversation, window_id, rows, queue, self.preparation.done)
        self.idle_work = IdleWork(conversation, window_id)

    async def say(
        self, birth: BirthOf, text: str, files: Sequence[Attachment], *, stop: bool = False
    ) -> None:
        """Send a prompt whose row is born by ``birth``; returns when that is committed.

        A running turn is stopped first (``stop``). Stopped before its birth, ``text`` and ``files`` are returned.
        Raises ReadOnly, FilesNotKept, FilesHalfMoved, StoreError.
        """
        born: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        consumer = await self.schedule.send(lambda: self._consume(lambda: self._new(birth, born)), stop=stop)
        # Stopped before it began, it says nothing of its own.
        consumer.add_done_callback(lambda _: born.done() or born.cancel())
        try:
            await outlived(born)
        except asyncio.CancelledError:
            if not born.cancelled():
                consumer.cancel()  # whoever says it takes it back
                raise
            self._conversation.publish(PromptReturned(self._window_id, text, tuple(files)))
            self._conversation.publish(TurnEnded(self._window_id, None, None))
        except Fenced as fenced:
            self._conversation.lose()
            raise ReadOnly from fenced

    def repeat(self, birth: Callable[[], Coroutine[Any, Any, Birth | None]]) -> None:
        """Send a prompt again, if none is on its way; trouble before its row exists is published."""
        self.schedule.begin_behind(lambda: self._consume(lambda: self._born(birth)))

    def serve(self) -> None:
        """Send what came into the queue since it was looked into."""
        if self.schedule.at_rest:
            self._freed(None)

    async def stop(self) -> None:
        """Stop what is on its way: the agent is asked to, its open questions are answered `cancelled`.

        A prompt that is not out yet is restored to the draft.
        """
        self.preparation.give_up()
        if (running := self.delivery.running) is None:
            self.schedule.cancel()
            return
        self._conversation.set_doing(self._window_id, Doing.STOPPING)
        self._conversation.questions.cancel(running.live.link_id)
        await running.stop()

    async def close(self) -> None:
        """End the turn as interrupted, and record it."""
        await self.idle_work.close()
        await self.delivery.steering.give_up()
        running = self.delivery.claimed
        self.schedule.cancel()
        await self.preparation.close()
        await self.schedule.sent()
        if running and running.live.agent.alive:
            await self.delivery.end_upstream(running)

    def _freed(self, then: Consumer | None) -> None:
        if self._conversation.closing:
            return
        if then:
            self.schedule.begin(then)
        elif self._queue.unserved and self._conversation.tenure:
            self.schedule.begin(lambda: self._consume(self._next))

    def _prepared(self) -> None:
        if not self.schedule.sending:
            self._conversation.set_doing(self._window_id, Doing.IDLE)

    async def _consume(self, first: Callable[[], Coroutine[Any, Any, Attempt | None]]) -> None:
        """Bring the first prompt to the end of its turn, then what waits."""
        conversation, tenure = self._conversation, self._conversation.tenure
        self.idle_work.give_way()
        try:
            attempt = await first()
            while attempt and await self.delivery.send(attempt):
                attempt = await self._next()
            self.schedule.look()
            await self.delivery.settings.switch_back()
            self.idle_work.begin(self.delivery.ended)
        except (Fenced, ReadOnly):
            if conversation.tenure is tenure:
                conversation.lose()
            conversation.publish(Troubled(self._window_id, problem_about(Trouble.READ_ONLY, HELD_ELSEWHERE)))
        except (StoreError, FilesHalfMoved) as error:
            conversation.publish(Troubled(self._window_id, Problem(Trouble.STORE, str(error))))

    async def _new(self, birth: BirthOf, born: asyncio.Future[None]) -> Attempt | None:
        try:
            attempt = await self._born(birth)
        except (StoreError, ReadOnly, FilesNotKept, FilesHalfMoved) as error:
            born.set_exception(error)
            return None
        born.set_result(None)
        return attempt

    async def _born(self, birth: Callable[[], Coroutine[Any, Any, Birth | None]]) -> Attempt | None:
        await shielded(self.delivery.close_unclosed())
        made = await shielded(birth())
        if made is None:
            return None
        attempt, event = made
        self._conversation.publish(event)
        return attempt

    async def _next(self) -> Attempt | None:
        """Take the next prompt out of the queue; None if none may go out. One that clears is done with that."""
        conversation = self._conversation
        while not conversation.closing and conversation.tenure and not self.schedule.waiting:
            self.schedule.look()
            self._queue.unserved = False  # a failure of this is published, and not tried again by itself
            await shielded(self.delivery.close_unclosed())
            taken = await shielded(self._queue.take_next(conversation.writable()))
            if taken is None:
                return None
            self.schedule.found()
            conversation.publish(MessageAdded(self._window_id, taken.row))
            if not taken.row.barrier:
                return Attempt(taken.row, came_from=taken.row.parent_id, item=taken.item)
            conversation.clear_carrier(self._window_id)
        return None

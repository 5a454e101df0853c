"""Consumer of a window's prompts: one is on its way at most, the others wait in the queue.

Each is brought to a session, through its turn, to exactly one ``TurnEnded``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from catena_acp.continuity.conversation_events import (
    Doing,
    LeafMoved,
    MessageAdded,
    Problem,
    PromptReturned,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.sending.send import PromptCarrier
from catena_acp.continuity.turns.endings import Ending
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.continuity.wording.problems import (
    HELD_ELSEWHERE,
    problem_about,
    problem_of,
    problem_of_notice,
)
from catena_acp.conversation.branches.files import BranchFiles
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.overdue import Overdue
from catena_acp.conversation.prompts.queue import PromptQueue, QueuedSettings, Steering
from catena_acp.conversation.prompts.rows import Attempt, Birth, PromptRows
from catena_acp.conversation.prompts.schedule import Consumer, IdleWork, Preparation, WindowSchedule
from catena_acp.errors import AgentError, AgentMissing, FilesHalfMoved, FilesNotKept, NotSent, ReadOnly
from catena_acp.tasks import outlived, raise_if_cancelled, shielded
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import Fenced, StoreError
from catena_store.records import Attachment, Message, StopReason, Turn
from catena_store.windows import attachments

BirthOf = Callable[[], Coroutine[Any, Any, Birth]]

_CLOSING_SECONDS = 1.0  # that an agent may take to end a turn when its conversation is closed


class PromptConsumer:
    """Sends what is said in one window, and then what waits there, until none is left or an error holds it."""

    def __init__(
        self,
        conversation: LiveConversation,
        window_id: str,
        files: BranchFiles,
        rows: PromptRows,
        queue: PromptQueue,
    ) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._files = files
        self._queue = queue
        self.schedule = WindowSchedule(self.stop, self._freed)
        self.overdue = Overdue(conversation, self.schedule)
        self.preparation = Preparation(self._prepared)
        self.delivery = PromptDelivery(
            conversation, window_id, rows, queue, self.overdue, self.preparation.done
        )
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
        await self.overdue.close()
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
            await shielded(self._queue.hold())
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
        await shielded(self.overdue.write())
        await shielded(self._make_way())
        made = await shielded(birth())
        if made is None:
            return None
        attempt, event = made
        self._conversation.publish(event)
        return attempt

    async def _make_way(self) -> None:
        """Store what the session has said by itself above the next prompt. Raises FilesHalfMoved, StoreError."""
        await self._files.refuse_cut()
        if link_id := self._conversation.session(self._window_id).link_id:
            await self._conversation.settle(link_id)

    async def _next(self) -> Attempt | None:
        """Take the next prompt out of the queue; None if none may go out. One that clears is done with that."""
        conversation = self._conversation
        while not conversation.closing and conversation.tenure and not self.schedule.waiting:
            self.schedule.look()
            self._queue.unserved = False  # a failure of this is published, and not tried again by itself
            await shielded(self.overdue.write())
            taken = await shielded(self._queue.take_next(conversation.writable(), self._make_way))
            if taken is None:
                return None
            self.schedule.found()
            conversation.publish(MessageAdded(self._window_id, taken.row))
            if not taken.row.barrier:
                return Attempt(taken.row, came_from=taken.row.parent_id, item=taken.item)
            conversation.clear_carrier(self._window_id)
        if self.schedule.waiting:
            self._queue.unserved = True  # what waits is looked at behind the move
        return None


class PromptDelivery:
    """Brings one prompt at a time to the end of its turn; ``ready`` waits for what is got ready ahead of it."""

    def __init__(
        self,
        conversation: LiveConversation,
        window_id: str,
        rows: PromptRows,
        queue: PromptQueue,
        overdue: Overdue,
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._rows = rows
        self._queue = queue
        self._overdue = overdue
        self._ready = ready
        self._sending: PromptCarrier | None = None
        self.ended: Turn | None = None  # the last one, where nothing was wrong with it
        self.steering = Steering(conversation, window_id, queue)
        self.settings = QueuedSettings(conversation, window_id)

    @property
    def claimed(self) -> RunningTurn | None:
        """The turn that was opened for the prompt that is on its way."""
        return self._sending.turn if self._sending else None

    @property
    def running(self) -> RunningTurn | None:
        """The same, once its text is out."""
        return self._sending.turn if self._sending and self._sending.text_is_out else None

    async def send(self, attempt: Attempt) -> bool:
        """Bring one prompt to the end of its turn; True if what waits may follow."""
        conversation = self._conversation
        conversation.begin_turn(self._window_id)
        tenure = conversation.tenure
        ended: Turn | None = None
        problem: Problem | None = None
        try:
            ended, problem = await self._brought(attempt)
        except (Fenced, ReadOnly):
            if conversation.tenure is tenure:  # not where it was taken over again meanwhile
                conversation.lose()
            unsent = attempt.typed and self.running is None
            problem = problem_about(Trouble.READ_ONLY, HELD_ELSEWHERE, returned=unsent)
            if unsent:
                conversation.publish(
                    PromptReturned(self._window_id, attempt.row.text, await self._files_of(attempt))
                )
        except StoreError as error:
            unsent = self.running is None
            problem = problem_about(Trouble.STORE, str(error), returned=unsent and attempt.typed)
            if unsent:
                await shielded(self._restore(attempt, self.claimed))
        finally:
            if self.claimed:
                conversation.detach(self.claimed)
            self._sending, self.ended = None, None if problem else ended
            stop = ended.stop_reason if ended else None
            well = stop is not None and (stop.clean or stop is StopReason.CANCELLED) and not _holds(problem)
            elsewhere, self.steering.elsewhere = self.steering.elsewhere, False
            if not well or elsewhere:
                # Before the end is told: what is said after it is said in knowledge of it, and waits for nothing.
                await shielded(self._queue.hold())
            conversation.set_doing(self._window_id, Doing.IDLE)
            conversation.publish(TurnEnded(self._window_id, ended, problem))
        return well

    async def _brought(self, attempt: Attempt) -> tuple[Turn | None, Problem | None]:
        title, now = self._conversation.agent_title_of(attempt.agent), self._conversation.services.clock
        try:
            raise_if_cancelled()
            await self._ready()
            if self._conversation.closing:  # its agents are being ended
                raise asyncio.CancelledError
            self._sending = sending = self._sending_of(attempt)
            ending = await sending.carry()
        except NotSent as failure:
            await shielded(self._restore(attempt))
            if failure.error:
                return None, problem_of(title, failure.error, now=now(), returned=attempt.typed)
            return None, Problem(Trouble.NO_CARRIER, str(failure), returned=attempt.typed)
        except AgentMissing as error:
            await shielded(self._restore(attempt))
            return None, problem_of(title, error, now=now(), returned=attempt.typed)
        except asyncio.CancelledError:
            return await shielded(self._cut(attempt))
        assert sending.turn is not None, "a turn that ends was claimed"
        return await self._ended(sending.turn, ending)

    def _sending_of(self, attempt: Attempt) -> PromptCarrier:
        """One that waited goes out as it was typed; one that was said to an agent, to that one."""
        if (item := attempt.item) is None:
            context = self._conversation.send_context(spec=attempt.agent)
            return PromptCarrier(context, self._window_id, attempt.row)
        context = self._conversation.send_context(item.cwd)
        return PromptCarrier(
            context, self._window_id, attempt.row, lambda live: self.settings.apply(live, item)
        )

    async def _ended(self, running: RunningTurn, ending: Ending) -> tuple[Turn | None, Problem | None]:
        await shielded(self.steering.settled())
        turn, telling = await shielded(self._close(running, ending))
        return turn, problem_of_notice(telling) if telling and not running.stopping else None

    async def _cut(self, attempt: Attempt) -> tuple[Turn | None, Problem | None]:
        """Stopped before the text went out, or closed in the middle of the turn."""
        if (running := self.running) is None:
            await self._restore(attempt, self.claimed)
            return None, None
        ending = Ending(StopReason.INTERRUPTED, cut_by=self._conversation.cut_by)
        turn, telling = await self._close(running, ending)
        return turn, problem_of_notice(telling) if telling else None

    async def _close(self, running: RunningTurn, ending: Ending) -> tuple[Turn, Message | None]:
        async def end() -> tuple[Turn, Message | None]:
            turn, telling = await running.end(ending)
            self._conversation.count_cost(turn)
            return turn, telling

        return await self._overdue.written(
            end, running.recorder, waits=lambda: not self._conversation.closing
        )

    async def _restore(self, attempt: Attempt, claimed: RunningTurn | None = None) -> None:
        """No agent accepted the prompt: the leaf moves back, and what was typed returns to the composer."""
        files: Sequence[Attachment]
        try:
            files = await self._overdue.written(lambda: self._rows.restore(attempt, claimed))
        except StoreError:
            files = await self._files_of(attempt)
        self._conversation.publish(LeafMoved(self._window_id, attempt.came_from))
        if attempt.typed:
            self._conversation.publish(PromptReturned(self._window_id, attempt.row.text, tuple(files)))

    async def end_upstream(self, running: RunningTurn) -> None:
        """Let the agent, which may live on for another conversation of the family, end a turn that was cut off."""
        live = running.live
        with contextlib.suppress(AgentError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await live.agent.cancel(live.session_id)
                await live.agent.close_session(live.session_id)
        self._conversation.sessions.forget(live.link_id)

    async def _files_of(self, attempt: Attempt) -> tuple[Attachment, ...]:
        with contextlib.suppress(StoreError):
            async with self._conversation.services.db.read() as reader:
                return tuple(await attachments.of_message(reader, attempt.row.id))
        return ()


def _holds(problem: Problem | None) -> bool:
    """True if what waits would meet the same trouble, though the turn ended as one that was answered."""
    return problem is not None and problem.trouble is not Trouble.EMPTY_TURN

"""One window's prompts: one is on its way at most, the others wait in the queue.

A prompt's way ends in exactly one ``TurnEnded``, whatever happens on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from catena_acp.continuity.atomic import shielded
from catena_acp.continuity.events import Doing, MessageAdded, Problem, PromptReturned, Troubled, TurnEnded
from catena_acp.continuity.problems import problem_about
from catena_acp.conversation.prompts.delivery import PromptDelivery
from catena_acp.conversation.prompts.idle import IdleWork
from catena_acp.conversation.prompts.prepare import GivenUp, StillAtWork, prepare
from catena_acp.conversation.prompts.queue import PromptQueue
from catena_acp.conversation.prompts.rows import Attempt, Birth, PromptRows, clears
from catena_acp.conversation.prompts.steering import can_be_steered, may_stop_for
from catena_acp.conversation.runtime import HELD_ELSEWHERE, ConversationRuntime, ReadOnly
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import Fenced, StoreError
from catena_store.records import Attachment
from catena_store.windows import attachments, inputs, windows

T = TypeVar("T")


class Window:
    """A window's place in its live conversation."""

    def __init__(self, core: ConversationRuntime, window_id: str) -> None:
        self._core = core
        self._window_id = window_id
        self.rows = PromptRows(core, window_id)
        self._way: asyncio.Task[None] | None = None  # of a prompt, to the end of its turn
        self._between = False  # that prompt is over, and it is looked what waits
        self._next: Callable[[], Awaitable[None]] | None = None  # set on its way when that is done
        self._preparing: asyncio.Future[Any] | None = None  # what the next prompt waits for
        self._apart = 0  # that move the leaf now, so a prompt waits in the queue meanwhile,
        self._one_apart = asyncio.Lock()  # … and one of them after the other
        self.queue = PromptQueue(core, window_id, self.rows)
        self._prompt = PromptDelivery(core, window_id, self.rows, self.queue, self._until_prepared)
        self.idle_work = IdleWork(core, window_id)
        core.enter(window_id)

    @property
    def busy(self) -> bool:
        """True while a prompt is on its way or its turn runs."""
        return self._way is not None and not self._way.done()

    @property
    def at_work(self) -> bool:
        """True while anything of it is under way, also what nobody waits for."""
        return self.busy or self._apart > 0 or self._preparing is not None or self.idle_work.under_way

    @property
    def at_rest(self) -> bool:
        """True where a prompt can be sent at once."""
        return not self.busy and not self._apart

    # --- prompts

    async def say(self, text: str, files: Sequence[Attachment] = ()) -> None:
        """Send a prompt, or queue it while a turn runs; returns when the row or the queue item is committed.

        Raises ReadOnly, StoreError.
        """
        self._core.writable()
        if clears(text) and self.at_rest:
            await self.clear()
            self._core.publish(TurnEnded(self._window_id, None, None))
            return
        if not self.at_rest:
            await self.queue.add(text, files)
            self._serve_late()
            return
        await self.begin(lambda: self._typed(text, files), text, files)

    async def begin(
        self, birth: Callable[[], Coroutine[Any, Any, Birth]], text: str, files: Sequence[Attachment] = ()
    ) -> None:
        """Send a prompt whose row is born by ``birth``; returns when that is committed.

        Stopped before, ``text`` and ``files`` are given back. Raises ReadOnly, StoreError.
        """
        born: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        way = self.go(lambda: self._begin(birth, born))
        # Stopped before it began, it says nothing of its own.
        way.add_done_callback(lambda _: born.done() or born.cancel())
        try:
            await asyncio.shield(born)
        except asyncio.CancelledError:
            if not born.cancelled():
                raise
            self._core.publish(PromptReturned(self._window_id, text, tuple(files)))
            self._core.publish(TurnEnded(self._window_id, None, None))
        except Fenced as fenced:
            self._core.lose()
            raise ReadOnly from fenced

    async def clear(self) -> None:
        """Make a barrier: nothing above is told again, all of it stays on the screen, nothing is sent."""
        async with self._core.writable().write() as tx:
            row = await self.rows.add_barrier(tx)
        self._core.publish(MessageAdded(self._window_id, row))
        self._core.carried_by_none(self._window_id)

    async def stop(self) -> None:
        """Ask the agent to stop; a prompt that is not out yet is given back."""
        self._next = None
        if self._preparing:
            self._preparing.cancel()
        if self._way is None or not self.busy:
            return
        if (running := self._prompt.running) is None:
            self._way.cancel()
            return
        self._core.set_doing(self._window_id, Doing.STOPPING)
        self._core.permissions.cancel(running.live.link_id)
        await running.stop()

    async def kill_agent(self) -> None:
        """End the agent's process, for a stop that is not heeded; what it said is kept."""
        if claimed := self._prompt.claimed:
            await claimed.live.agent.stop()

    async def prepare(self) -> None:
        """Open a session for what comes next, where that needs no telling. Trouble is told, not raised."""
        if self._core.tenure is None or self.busy or self._preparing:
            return
        with contextlib.suppress(GivenUp):
            await self.ahead(lambda: prepare(self._core, self._window_id))

    async def ahead(self, work: Callable[[], Awaitable[T]], *, apart: bool = False) -> T:
        """Do something that the next prompt waits for, in the queue where that is to stand ``apart`` from it.

        Raises StillAtWork, and GivenUp after a stop.
        """
        while self._preparing:
            await asyncio.wait({self._preparing})
        if self.busy:
            raise StillAtWork
        self._apart += apart
        self._preparing = task = asyncio.ensure_future(work())
        task.add_done_callback(lambda task: self._prepared(task, apart=apart))
        await asyncio.wait({task})
        if task.cancelled():
            raise GivenUp
        return task.result()

    async def apart(
        self, work: Callable[[], Coroutine[Any, Any, T]], *, stop: bool = False, wait: bool = False
    ) -> T:
        """Do something that moves the leaf, to its end; a prompt waits in the queue.

        A running turn is seen to its end, stopped before where ``stop``, or only waited for; else raises StillAtWork.
        """
        self._apart += 1
        try:
            while True:
                if self._way is not None and self.busy:
                    if not (stop or wait):
                        raise StillAtWork
                    if stop:
                        await self.stop()
                    await asyncio.wait({self._way})
                    continue
                async with self._one_apart:
                    if not self.busy:  # the one before this may have sent a prompt
                        return await shielded(work())
        finally:
            self._apart -= 1
            self._serve_late()

    def _prepared(self, task: asyncio.Future[Any], *, apart: bool) -> None:
        self._preparing = None
        self._apart -= apart
        if not task.cancelled():
            task.exception()  # raised where it is waited for, if anybody still does
        if not self.busy:
            self._core.set_doing(self._window_id, Doing.IDLE)
        self._serve_late()

    async def _until_prepared(self) -> None:
        if self._preparing:
            await asyncio.wait({self._preparing})

    async def wait_idle(self) -> None:
        """Wait until no prompt is on its way and the queue has come to rest."""
        while self._way is not None and self.busy:
            await asyncio.wait({self._way})

    async def close(self) -> None:
        """End the turn as interrupted, and record it."""
        await self.idle_work.close()
        await self._prompt.steering.give_up()
        running = self._prompt.claimed
        tasks = {task for task in (self._way, self._preparing) if task}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if running and running.live.agent.alive:
            await self._prompt.end_upstream(running)

    # --- the queue

    async def send_queued(self) -> None:
        """Let the queue go on after an error held it."""
        await self.queue.release()
        self._serve_late()

    async def send_now(self, item_id: str) -> bool:
        """Send a waiting prompt before all others; True where it is said into the running turn.

        Where the agent does not take it there, the turn is stopped, and it goes next. Raises NotFound, ReadOnly.
        """
        item = await self.queue.get(item_id)
        running = self._prompt.running
        if running and can_be_steered(running, item.text):
            if await self._prompt.steering.say_into(running, item_id):
                return True
        else:
            await self.queue.put_first(item_id)
            # Its turn may have ended meanwhile, and this one be on its way.
            if running and running is self._prompt.running and may_stop_for(running, item.text):
                await self.stop()
        self._serve_late()
        return False

    async def _serve_queue(self) -> None:
        """Send what waits, one after the other, until the queue is empty or an error holds it."""
        while not self._core.closing and self._core.tenure and not self._apart:
            self._between = True
            self.queue.unserved = False  # where this fails it is told, and not tried again by itself
            await shielded(self._prompt.close_unclosed())
            taken = await shielded(self.queue.take_next(self._core.tenure))
            if taken is None:
                break
            self._between, self._next = False, None
            row = taken.row
            self._core.publish(MessageAdded(self._window_id, row))
            if row.barrier:
                self._core.carried_by_none(self._window_id)
            elif not await self._prompt.send(Attempt(row, came_from=row.parent_id, item=taken.item)):
                break
        self._between = True
        await self._prompt.typed_in.give_back()

    def _serve_late(self) -> None:
        """Send what came into the queue after the way of the last prompt had looked there for the last time."""
        free = self.at_rest and not self._core.closing
        if self.queue.unserved and free and self._core.tenure:
            self.go(self._serve_queue)

    # --- the way of a prompt

    def go(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Set a prompt on its way; trouble before its row is born is told."""
        self.idle_work.give_way()
        self._between, self._next = False, None
        self._way = asyncio.ensure_future(self._until_idle(work))
        self._way.add_done_callback(lambda _: self._way_over())
        return self._way

    def go_next(self, work: Callable[[], Awaitable[None]]) -> None:
        """The same, as soon as it was looked what waits behind a prompt that is over; not while one runs."""
        if self.at_rest:
            self.go(work)
        elif self._between and not self._apart:
            self._next = work

    async def see_to_the_end(self) -> None:
        """Keep the end of the last turn, where the store did not take it when it came. Raises StoreError."""
        await shielded(self._prompt.close_unclosed())

    def _way_over(self) -> None:
        work, self._next = self._next, None
        if work and self.at_rest and not self._core.closing:
            self.go(work)
        else:
            self._serve_late()

    async def _until_idle(self, work: Callable[[], Awaitable[None]]) -> None:
        tenure = self._core.tenure
        try:
            await work()
            self.idle_work.begin(self._prompt.ended)
        except (Fenced, ReadOnly):
            if self._core.tenure is tenure:
                self._core.lose()
            self._core.publish(Troubled(self._window_id, problem_about(Trouble.READ_ONLY, HELD_ELSEWHERE)))
        except StoreError as error:
            self._core.publish(Troubled(self._window_id, Problem(Trouble.STORE, str(error))))

    async def _begin(
        self, birth: Callable[[], Coroutine[Any, Any, Birth]], born: asyncio.Future[None]
    ) -> None:
        try:
            await shielded(self._prompt.close_unclosed())
            attempt, event = await shielded(birth())
        except (StoreError, ReadOnly) as error:
            born.set_exception(error)
            return
        self._core.publish(event)
        born.set_result(None)
        await self.carry(attempt)

    async def _typed(self, text: str, files: Sequence[Attachment]) -> Birth:
        async with self._core.writable().write() as tx:
            await inputs.add(tx, text, self._core.record.cwd)
            await windows.set_draft(tx, self._window_id, "")
            await attachments.set_draft(tx, self._window_id, ())
            row = await self.rows.add(tx, text, files)
        return Attempt(row, came_from=row.parent_id), MessageAdded(self._window_id, row)

    async def carry(self, attempt: Attempt) -> None:
        """Bring a prompt to the end of its turn, and then what waits to the end of theirs."""
        well = await self._prompt.send(attempt)
        self._between = True
        if well:
            await self._serve_queue()

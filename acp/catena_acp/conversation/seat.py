"""One window's prompts: one is on its way at most, the others wait in the queue.

A prompt's way ends in exactly one ``TurnEnded``, whatever happens on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from catena_acp.conversation.claim import NotSent
from catena_acp.conversation.core import HELD_ELSEWHERE, Core, ReadOnly
from catena_acp.conversation.news import (
    Doing,
    LeafMoved,
    MessageAdded,
    Problem,
    PromptReturned,
    QueueChanged,
    Troubled,
    TurnEnded,
)
from catena_acp.conversation.prepare import Preparing
from catena_acp.conversation.prompt_rows import Attempt, PromptRows, clears
from catena_acp.conversation.send import Sending
from catena_acp.conversation.services import Tenure
from catena_acp.conversation.turn import Ending, RunningTurn
from catena_acp.conversation.whole import heed_a_stop, patiently, whole
from catena_acp.conversation.words import problem_of
from catena_acp.errors import AgentError, AgentMissing
from catena_acp.troubles import Trouble
from catena_store import inputs, messages, queue, windows
from catena_store.errors import Fenced, StoreError
from catena_store.records import (
    CONTENT_KINDS,
    Kind,
    Message,
    StopReason,
    Turn,
)

T = TypeVar("T")

_CLOSING_SECONDS = 1.0  # that an agent may take to end a turn when its conversation is closed


class Seat:
    """A window's place in its live conversation."""

    def __init__(self, core: Core, window_id: str) -> None:
        self._core = core
        self._window_id = window_id
        self._rows = PromptRows(core, window_id)
        self._sending: Sending | None = None
        self._way: asyncio.Task[None] | None = None  # of a prompt, to the end of its turn
        self._preparing: asyncio.Task[None] | None = None
        self._unclosed: tuple[RunningTurn, Ending] | None = None
        self._unserved = False  # something came into the queue since it was last looked at
        core.enter(window_id)

    @property
    def busy(self) -> bool:
        """True while a prompt is on its way or its turn runs."""
        return self._way is not None and not self._way.done()

    # --- prompts

    async def say(self, text: str) -> None:
        """Send a prompt, or queue it while a turn runs; returns when the row or the queue item is committed.

        Raises ReadOnly, StoreError.
        """
        self._core.writable()
        if clears(text) and not self.busy:
            await self.clear()
            self._core.tell(TurnEnded(self._window_id, None, None))
            return
        if self.busy:
            await self._enqueue(text)
            return
        born: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        way = self._go(lambda: self._say(text, born))
        # Stopped before it began, it says nothing of its own.
        way.add_done_callback(lambda _: born.done() or born.cancel())
        try:
            await asyncio.shield(born)
        except asyncio.CancelledError:
            if not born.cancelled():
                raise
            self._core.tell(PromptReturned(self._window_id, text))
            self._core.tell(TurnEnded(self._window_id, None, None))
        except Fenced as fenced:
            self._core.tenure = None
            raise ReadOnly from fenced

    async def retry(self) -> None:
        """Send the last prompt again: the same row where its turn brought nothing, else as a sibling."""
        self._core.writable()
        if not self.busy:
            self._go(self._retry)

    async def _retry(self) -> None:
        async with self._core.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
            path = await messages.path(reader, window.leaf_id if window else None)
            last = next((at for at in reversed(range(len(path))) if path[at].kind is Kind.USER), None)
            prompt = await messages.get(reader, path[last].id) if last is not None else None
        if prompt is None or last is None:
            return
        brought = any(row.kind in CONTENT_KINDS for row in path[last + 1 :])
        leaf = window.leaf_id if window else None
        row = await whole(self._again(prompt, as_sibling=brought))
        self._core.tell(LeafMoved(self._window_id, row.id))
        await self._carry(Attempt(row, came_from=leaf, typed=False, born=brought))

    async def _again(self, prompt: Message, *, as_sibling: bool) -> Message:
        async with self._core.writable().write() as tx:
            await windows.set_leaf(tx, self._window_id, prompt.parent_id if as_sibling else prompt.id)
            return await self._rows.add(tx, prompt.text) if as_sibling else prompt

    async def clear(self) -> None:
        """Make a barrier: nothing above is told again, all of it stays on the screen, nothing is sent."""
        async with self._core.writable().write() as tx:
            row = await self._rows.add_barrier(tx)
        self._core.tell(MessageAdded(self._window_id, row))
        self._core.carried_by_none(self._window_id)

    async def stop(self) -> None:
        """Ask the agent to stop; a prompt that is not out yet is given back."""
        if self._preparing:
            self._preparing.cancel()
        sending = self._sending
        if self._way is None or not self.busy:
            return
        if sending is None or sending.turn is None or not sending.text_is_out:
            self._way.cancel()
            return
        self._core.now(self._window_id, Doing.STOPPING)
        self._core.asks.cancel(sending.turn.live.link_id)
        await sending.turn.stop()

    async def kill_agent(self) -> None:
        """End the agent's process, for a stop that is not heeded; what it said is kept."""
        if self._sending and self._sending.turn:
            await self._sending.turn.live.agent.stop()

    async def prepare(self) -> None:
        """Open a session for what comes next, where that needs no telling. Trouble is told, not raised."""
        if self._core.tenure is None or self.busy or self._preparing:
            return
        self._preparing = asyncio.ensure_future(self._prepare())
        await asyncio.wait({self._preparing})

    async def wait_idle(self) -> None:
        """Wait until no prompt is on its way and the queue has come to rest."""
        while self._way is not None and self.busy:
            await asyncio.wait({self._way})

    async def close(self) -> None:
        """End the turn as interrupted, and record it."""
        running = self._sending.turn if self._sending else None
        tasks = {task for task in (self._way, self._preparing) if task}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if running and running.live.agent.alive:
            # The agent may live on for another conversation of the family; this session's turn must not.
            with contextlib.suppress(AgentError, TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await running.live.agent.cancel(running.live.session_id)
                    await running.live.agent.close_session(running.live.session_id)
            self._core.sessions.forget(running.live.link_id)

    # --- the queue

    async def unqueue(self, item_id: str) -> None:
        """Take a waiting prompt out of the queue."""
        async with self._core.writable().write() as tx:
            await queue.remove(tx, item_id)
        await self._tell_queue()

    async def send_queued(self) -> None:
        """Let the queue go on after an error held it."""
        async with self._core.writable().write() as tx:
            await queue.release(tx, self._window_id)
        await self._tell_queue()
        if not self.busy:
            self._go(self._serve_queue)

    async def _enqueue(self, text: str) -> None:
        async with self._core.writable().write() as tx:
            await inputs.add(tx, text, self._core.record.cwd)
            await windows.set_draft(tx, self._window_id, "")
            await queue.add(tx, id=self._core.services.new_id(), window_id=self._window_id, text=text)
        self._unserved = True
        await self._tell_queue()
        self._serve_late()

    async def _serve_queue(self) -> None:
        """Send what waits, one after the other, until the queue is empty or an error holds it."""
        while not self._core.closing and self._core.tenure:
            row = await whole(self._next_in_queue(self._core.tenure))
            if row is None:
                return
            self._core.tell(MessageAdded(self._window_id, row))
            if row.barrier:
                self._core.carried_by_none(self._window_id)
                continue
            if not await self._send(Attempt(row, came_from=row.parent_id)):
                return

    def _serve_late(self) -> None:
        """Send what came into the queue after the way of the last prompt had looked there for the last time."""
        if self._unserved and not self.busy and not self._core.closing and self._core.tenure:
            self._go(self._serve_queue)

    async def _next_in_queue(self, tenure: Tenure) -> Message | None:
        self._unserved = False
        async with tenure.write() as tx:
            item = await queue.take_first(tx, self._window_id)
            row = await self._rows.add(tx, item.text) if item else None
        if row:
            await self._tell_queue()
        return row

    async def _hold_queue(self) -> None:
        if self._core.closing or self._core.tenure is None:
            return
        with contextlib.suppress(StoreError):
            async with self._core.tenure.write() as tx:
                await queue.hold(tx, self._window_id)
            await self._tell_queue()

    async def _tell_queue(self) -> None:
        async with self._core.services.db.read() as reader:
            items = await queue.items(reader, self._window_id)
        self._core.tell(QueueChanged(self._window_id, tuple(items)))

    # --- the way of a prompt

    def _go(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        self._way = asyncio.ensure_future(self._until_idle(work))
        self._way.add_done_callback(lambda way: None if way.cancelled() else self._serve_late())
        return self._way

    async def _until_idle(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (Fenced, ReadOnly):
            self._core.tenure = None
            self._core.tell(Troubled(self._window_id, Problem(Trouble.READ_ONLY, HELD_ELSEWHERE)))
        except StoreError as error:
            self._core.tell(Troubled(self._window_id, Problem(Trouble.STORE, str(error))))

    async def _say(self, text: str, born: asyncio.Future[None]) -> None:
        try:
            row = await whole(self._born(text))
        except (StoreError, ReadOnly) as error:
            born.set_exception(error)
            return
        self._core.tell(MessageAdded(self._window_id, row))
        born.set_result(None)
        await self._carry(Attempt(row, came_from=row.parent_id))

    async def _born(self, text: str) -> Message:
        async with self._core.writable().write() as tx:
            await inputs.add(tx, text, self._core.record.cwd)
            await windows.set_draft(tx, self._window_id, "")
            return await self._rows.add(tx, text)

    async def _carry(self, attempt: Attempt) -> None:
        if await self._send(attempt):
            await self._serve_queue()

    async def _send(self, attempt: Attempt) -> bool:
        """Bring one prompt to the end of its turn; True where what waits may follow."""
        core = self._core
        core.begin_turn(self._window_id)
        ended: Turn | None = None
        problem: Problem | None = None
        try:
            await self._close_unclosed()
            ended, problem = await self._brought(attempt)
        except (Fenced, ReadOnly):
            core.tenure = None
            problem = Problem(Trouble.READ_ONLY, HELD_ELSEWHERE)
        except StoreError as error:
            problem = Problem(Trouble.STORE, str(error))
            if self._sending is None or self._sending.turn is None:
                await whole(self._give_back(attempt))
        finally:
            if self._sending and self._sending.turn:
                core.turn_over(self._sending.turn)
            self._sending = None
            stop = ended.stop_reason if ended else None
            well = stop is not None and (stop.clean or stop is StopReason.CANCELLED)
            if not well:
                # Before the end is told: what is said after it is said in knowledge of it, and waits for nothing.
                await whole(self._hold_queue())
            core.now(self._window_id, Doing.IDLE)
            core.tell(TurnEnded(self._window_id, ended, problem))
        return well

    async def _brought(self, attempt: Attempt) -> tuple[Turn | None, Problem | None]:
        title = self._core.agent_title
        try:
            heed_a_stop()
            if self._preparing:
                await asyncio.wait({self._preparing})
            self._sending = sending = Sending(self._core.ground(), self._window_id, attempt.row)
            ending = await sending.carry()
        except NotSent as failure:
            await whole(self._give_back(attempt))
            if failure.error:
                return None, problem_of(title, failure.error, returned=True)
            return None, Problem(Trouble.NO_CARRIER, str(failure))
        except AgentMissing as error:
            await whole(self._give_back(attempt))
            return None, problem_of(title, error, returned=True)
        except asyncio.CancelledError:
            return await whole(self._cut(attempt)), None
        assert sending.turn is not None, "a turn that ends was claimed"
        return await self._ended(sending.turn, ending)

    async def _ended(self, running: RunningTurn, ending: Ending) -> tuple[Turn | None, Problem | None]:
        self._unclosed = (running, ending)
        turn, notice = await whole(patiently(lambda: running.end(ending)))
        self._unclosed = None
        if ending.error and not running.stopping:
            return turn, problem_of(running.live.state.agent_title, ending.error, returned=False)
        if notice and notice.data.get("trouble") == Trouble.EMPTY_TURN:
            return turn, Problem(Trouble.EMPTY_TURN, notice.text)
        return turn, None

    async def _cut(self, attempt: Attempt) -> Turn | None:
        """Stopped before the text went out, or closed in the middle of the turn."""
        running = self._sending.turn if self._sending else None
        if running is None or (self._sending and not self._sending.text_is_out):
            await self._give_back(attempt, running)
            return None
        turn, _ = await patiently(lambda: running.end(Ending(StopReason.INTERRUPTED)))
        return turn

    async def _give_back(self, attempt: Attempt, claimed: RunningTurn | None = None) -> None:
        """No agent accepted the prompt: the leaf moves back, and what was typed returns to the composer."""
        with contextlib.suppress(StoreError):
            await patiently(lambda: self._rows.put_back(attempt, claimed))
        self._core.tell(LeafMoved(self._window_id, attempt.came_from))
        if attempt.typed:
            self._core.tell(PromptReturned(self._window_id, attempt.row.text))

    async def _close_unclosed(self) -> None:
        """Close a turn whose end the store did not take when it came."""
        if self._unclosed:
            running, ending = self._unclosed
            await running.end(ending)
            self._unclosed = None

    # --- preparing

    async def _prepare(self) -> None:
        core = self._core
        try:
            live = await Preparing(core.ground(), self._window_id).open()
            if live:
                core.carried_by(self._window_id, live)
        except AgentError as error:
            core.tell(Troubled(self._window_id, problem_of(core.agent_title, error, returned=False)))
        except StoreError as error:
            core.tell(Troubled(self._window_id, Problem(Trouble.STORE, str(error))))
        finally:
            self._preparing = None
            if not self.busy:
                core.now(self._window_id, Doing.IDLE)

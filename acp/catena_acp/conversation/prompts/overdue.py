"""Writes that the store did not take when they came: the end of a turn, or a prompt that is taken back.

At most one of these is overdue in a window: it is written before anything else there moves the leaf or has a row.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from catena_acp.continuity.services import Tenure
from catena_acp.continuity.turns.recorder import AGAIN_SECONDS, Recorder
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.schedule import WindowSchedule
from catena_acp.tasks import with_retries
from catena_store.errors import Fenced, StoreError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that the store did not take, under the tenure that it belongs to."""

    write: Callable[[], Awaitable[object]]
    recorder: Recorder | None  # has what the agent said
    tenure: Tenure | None
    why: StoreError


class Overdue:
    """The write that is overdue in one window; tried again by itself while nothing else happens there."""

    def __init__(self, conversation: LiveConversation, schedule: WindowSchedule) -> None:
        self._conversation = conversation
        self._schedule = schedule
        self._step: _Step | None = None
        self._writing = asyncio.Lock()
        self._trying: asyncio.Task[None] | None = None

    @property
    def unsaved(self) -> tuple[str, StoreError] | None:
        """The agent's text in a turn whose end the store did not take, and the error; None if nothing is missing."""
        text = self._step.recorder.unsaved_text if self._step and self._step.recorder else ""
        return (text, self._step.why) if self._step and text else None

    async def written(
        self,
        write: Callable[[], Awaitable[T]],
        recorder: Recorder | None = None,
        *,
        waits: Callable[[], bool] = lambda: False,
    ) -> T:
        """Do a step as ``with_retries`` does; one that the store does not take is overdue then. Raises StoreError."""
        try:
            return await with_retries(write, waits=waits)
        except Fenced:
            raise
        except StoreError as error:
            self._step = _Step(write, recorder, self._conversation.tenure, error)
            if self._trying is None or self._trying.done():
                self._trying = asyncio.ensure_future(self._try_again())
            raise

    async def write(self) -> None:
        """Write what is overdue. Raises StoreError."""
        async with self._writing:
            step, tenure = self._step, self._conversation.tenure
            if step is None or tenure is None:
                return
            if step.tenure is tenure:  # else whoever took the conversation over has put that in order
                with contextlib.suppress(Fenced):
                    await step.write()
            self._step = None

    async def close(self) -> None:
        """Try it a last time."""
        if self._trying:
            self._trying.cancel()
        with contextlib.suppress(StoreError):
            await self.write()

    async def _try_again(self) -> None:
        while self._step and self._conversation.tenure and not self._conversation.closing:
            await asyncio.sleep(AGAIN_SECONDS)
            if self._schedule.at_rest:
                with contextlib.suppress(StoreError):
                    await self._schedule.move(self.write, catches_up=True)

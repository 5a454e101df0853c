"""Prompt texts that have left the composer and are not stored yet; on exit each is saved or printed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from catena.text.safe_text import safe, safe_line
from catena_store.errors import StoreError

T = TypeVar("T")

_PATIENCE = 2.0  # seconds that a step may take on exit


@dataclass(eq=False, slots=True)
class PendingText:
    """One text until it is stored or restored."""

    back: Callable[[], None]  # restores it
    _among: list[PendingText] = field(repr=False)

    def release(self) -> bool:
        """Stop holding the text, which is elsewhere now; False if it was released before."""
        if self not in self._among:
            return False
        self._among.remove(self)
        return True


class PendingTexts:
    """Every text that is not stored yet, and the steps that store it."""

    def __init__(self) -> None:
        self._held: list[PendingText] = []
        self._steps: set[asyncio.Task[Any]] = set()
        self.homeless: list[str] = []  # texts without a tab

    def hold(self, back: Callable[[], None]) -> PendingText:
        """Hold a text until it is released; ``back`` restores it."""
        held = PendingText(back, self._held)
        self._held.append(held)
        return held

    async def see_through(self, step: Coroutine[Any, Any, T], held: PendingText | None = None) -> T:
        """Run a step to its end, even if its caller is cancelled; its success releases the text."""
        task = asyncio.ensure_future(step)
        self._steps.add(task)
        task.add_done_callback(lambda task: self._ended(task, held))
        return await asyncio.shield(task)

    async def restore_all(self) -> None:
        """On exit, let each step end or cancel it, then restore every text that is still held."""
        if self._steps:
            await asyncio.wait(set(self._steps), timeout=_PATIENCE)
        if late := set(self._steps):
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=_PATIENCE)
        while self._held:  # each is put before the text that is there
            self._held.pop().back()

    def _ended(self, task: asyncio.Task[Any], held: PendingText | None) -> None:
        self._steps.discard(task)
        if not task.cancelled() and task.exception() is None and held is not None:
            held.release()


def unsaved_draft_lines(unsaved_drafts: Sequence[tuple[str, StoreError]]) -> list[str]:
    """Lines with the drafts that could not be saved, each after the reason."""
    return [
        line
        for draft, error in unsaved_drafts
        for line in (f"A draft could not be kept: {safe_line(str(error))}. It was:", safe(draft))
    ]


def unstored_lines(texts: Sequence[str]) -> list[str]:
    """Lines with the texts that were typed before the store failed to open."""
    typed = [safe(text) for text in texts if text.strip()]
    return ["What you had typed:", *typed] if typed else []

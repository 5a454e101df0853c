"""Texts and files that have left the composer, in order, until the store has them or they are back in a draft.

These are each text on which Enter was pressed, and files that are being read for a draft, which the next text sent
waits for; on exit also a draft that no tab can keep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from catena.text.formats import joined
from catena.text.prompt_text import Pastes
from catena.text.safe_text import safe, safe_line

if TYPE_CHECKING:  # a text may be written before there is a store, and tabs come with that
    from catena.workspace.tab import Tab
    from catena_store.errors import StoreError

T = TypeVar("T")

_PATIENCE = 2.0  # seconds that a step may take on exit


@dataclass(eq=False, slots=True)
class UnplacedDraft:
    """A draft whose place is not there yet: a tab that is being opened, a leaf that a window is moving to.

    ``source`` is where it returns to if its place does not come; None at the start of the program. ``leaving`` is the
    tab that is being closed or moved to another leaf.
    """

    source: DraftPlace | None = None
    leaving: Tab | None = None
    written: str = ""
    place: DraftPlace | None = None  # where its text went

    def write(self, text: str) -> bool:
        """Take over the composer's text; False if it has not changed."""
        changed, self.written = text != self.written, text
        return changed

    def restore(self, text: str) -> None:
        """Restore a text that was not sent, before what was written meanwhile."""
        self.written = joined(text, self.written)


DraftPlace: TypeAlias = "Tab | UnplacedDraft"


def last_place(draft: DraftPlace) -> DraftPlace:
    """Where what was written in a draft is by now."""
    while isinstance(draft, UnplacedDraft) and draft.place is not None:
        draft = draft.place
    return draft


class Stage(Enum):
    """How far an outgoing text has come."""

    WAITING = auto()  # for its place, or for what was sent before it
    HELD = auto()  # by an action that has begun
    READING = auto()  # files of the draft, which what is sent behind it waits for
    STORING = auto()  # and the draft in the store is in the hands of that step


Sending: TypeAlias = "Callable[[Tab, OutgoingText], Awaitable[None]]"


@dataclass(eq=False, slots=True)
class OutgoingText:
    """One text between the composer and the store."""

    text: str
    draft: DraftPlace  # where it was written, and goes out
    stage: Stage
    back: Callable[[], None] | None = None  # restores it, where that is more than its text
    send: Sending | None = None  # sends it from a tab, where it is not sent as a prompt


class OutgoingTexts:
    """Every text that has left the composer and is neither stored nor restored, oldest first."""

    def __init__(self) -> None:
        self._texts: list[OutgoingText] = []
        self._steps: set[asyncio.Task[Any]] = set()
        self.unplaced: list[str] = []  # on exit: those that no tab can keep
        self.pastes = Pastes()  # which stand as pieces of these texts and of drafts

    def add(
        self,
        text: str,
        draft: DraftPlace,
        *,
        stage: Stage = Stage.WAITING,
        back: Callable[[], None] | None = None,
        send: Sending | None = None,
    ) -> OutgoingText:
        """Add a text that leaves the composer now."""
        outgoing = OutgoingText(text, draft, stage, back, send)
        self._texts.append(outgoing)
        return outgoing

    def remove(self, outgoing: OutgoingText) -> bool:
        """Remove a text that is elsewhere now; False if it was removed before."""
        if outgoing not in self._texts:
            return False
        self._texts.remove(outgoing)
        return True

    def waiting(self, draft: DraftPlace | None = None) -> list[OutgoingText]:
        """The texts that wait, those of one draft or all."""
        return [
            each
            for each in self._texts
            if each.stage is Stage.WAITING and (draft is None or each.draft is draft)
        ]

    def storing(self, draft: DraftPlace) -> bool:
        """True while a text of the draft is being stored: the draft in the store is still with it."""
        return any(each.draft is draft and each.stage is Stage.STORING for each in self._texts)

    def next_of_each(self) -> list[OutgoingText]:
        """The texts that wait for their place alone: of each draft the first, where nothing is in hand."""
        first: dict[int, OutgoingText] = {}
        for each in self._texts:
            if each.stage is not Stage.HELD:
                first.setdefault(id(each.draft), each)
        return [each for each in first.values() if each.stage is Stage.WAITING]

    def move(self, draft: DraftPlace, place: DraftPlace) -> None:
        """Let the texts of a draft go out of another one, and return to it."""
        for each in self._texts:
            if each.draft is draft:
                each.draft, each.back = place, None

    def restore(self, outgoing: OutgoingText) -> None:
        """Restore a text to where it was written, with what was sent behind it there and waits."""
        together = [each for each in (outgoing, *self.waiting(outgoing.draft)) if self.remove(each)]
        for each in reversed(together):  # each is put before the text that is there
            self._put_back(each)

    def _put_back(self, outgoing: OutgoingText) -> None:
        if outgoing.back is not None:
            outgoing.back()
        else:
            outgoing.draft.restore(outgoing.text)

    async def store(self, outgoing: OutgoingText, step: Coroutine[Any, Any, T]) -> T:
        """Run the step that stores a text to its end, even if the caller is cancelled; success removes the text."""
        outgoing.stage = Stage.STORING
        return await self.finish(step, lambda: self.remove(outgoing))

    async def finish(self, step: Coroutine[Any, Any, T], done: Callable[[], object] = lambda: None) -> T:
        """Run a step to its end, even if the caller is cancelled; call ``done`` if it succeeds."""

        def ended(task: asyncio.Task[T]) -> None:
            self._steps.discard(task)
            if not task.cancelled() and task.exception() is None:
                done()

        task = asyncio.ensure_future(step)
        self._steps.add(task)
        task.add_done_callback(ended)
        await asyncio.wait({task})  # which is not cancelled with the caller
        return task.result()

    async def restore_all(self, tabs: Sequence[Tab] = ()) -> None:
        """On exit, let each step end or cancel it, then restore every text that is left to its tab among ``tabs``."""
        if self._steps:
            await asyncio.wait(set(self._steps), timeout=_PATIENCE)
        if late := set(self._steps):
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=_PATIENCE)
        while self._texts:
            last = self._texts.pop()
            if last.draft in tabs:
                self._put_back(last)
            else:
                self.unplaced.insert(0, last.text)


def unsaved_draft_lines(unsaved_drafts: Sequence[tuple[str, StoreError]]) -> list[str]:
    """Lines with the drafts that could not be saved, each after the reason."""
    return [
        line
        for draft, error in unsaved_drafts
        for line in (f"A draft could not be saved: {safe_line(str(error))}. The text:", safe(draft))
    ]


def unsaved_answer_lines(unsaved_answers: Sequence[tuple[str, StoreError]]) -> list[str]:
    """Lines with the answers that could not be saved, each after the reason."""
    return [
        line
        for answer, error in unsaved_answers
        for line in (f"An answer could not be saved: {safe_line(str(error))}. The text:", safe(answer))
    ]


def unstored_lines(texts: Sequence[str]) -> list[str]:
    """Lines with the texts that no tab can keep."""
    typed = [safe(text) for text in texts if text.strip()]
    return ["Unsaved text:", *typed] if typed else []

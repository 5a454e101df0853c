"""Undo, redo, and the list of what can be undone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from catena.acts.surface import Done, Here, Question, Refused, Report, ReportRow
from catena.text.formats import time_or_day
from catena.workspace.undo import (
    NOTHING,
    NOTHING_AGAIN,
    UndoResult,
    done_again,
    not_gone_back,
    undone,
    warning,
    what,
)
from catena_store.ids import utc_now


async def undo(on: Here) -> Done:
    """Undo the newest act of the tab or on a closed one."""
    return await _step(on, on.tabs.undoing.undo, undone, NOTHING)


async def ask_undo(on: Here) -> Done:
    """Undo the newest act after asking: a key may be part of a word that was meant for elsewhere."""
    refuse_in_edit(on)
    newest = next((done for done in await on.tabs.undoing.acts(on.at) if not done.entry.undone), None)
    if newest is None:
        raise Refused(NOTHING)
    await on.surface.ask(Question(f"Undo {what(newest)}?", "Undo", stays=True))
    return await undo(on)


async def redo(on: Here) -> Done:
    """Redo the act that was undone last."""
    return await _step(on, on.tabs.undoing.redo, done_again, NOTHING_AGAIN)


async def reflog(on: Here) -> Done:
    """Report every act of the journal; to open one undoes down to it, or redoes up to it."""
    undoing, now = on.tabs.undoing, utc_now()
    rows = [
        ReportRow(
            what(done),
            (time_or_day(done.entry.at, now), "undone" if done.entry.undone else ""),
            partial(
                _step,
                on,
                partial(undoing.go_back_to, entry_id=done.entry.id),
                done_again if done.entry.undone else undone,
                not_gone_back(done),
            ),
            dim=done.entry.undone,
        )
        for done in await undoing.acts(on.at)
    ]
    if not rows:
        raise Refused(NOTHING)
    return Done(report=Report("Undo history", "Undo history", rows, enter="undo or redo to here"))


async def _step(
    on: Here,
    step: Callable[..., Awaitable[UndoResult | None]],
    words: Callable[[UndoResult], str],
    nothing: str,
) -> Done:
    """Undo or redo, and say what; ``nothing`` is said if there is nothing."""
    refuse_in_edit(on)
    taken = await on.surface.go(step(on.at), lambda taken: taken.look_at if taken else None, leaving=on.at)
    return Done(await warning(taken) + words(taken) if taken else nothing)


def refuse_in_edit(on: Here) -> None:
    """Raise Refused while a prompt of the tab is edited, which must not get lost."""
    if on.at is not None and on.at.editing is not None:
        raise Refused("Finish or cancel the edit first.")

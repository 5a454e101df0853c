"""Undo, redo, and the list of what can be undone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from catena.acts.surface import Done, Here, Question, Refused, Report, ReportRow
from catena.text.changes_text import WAY_BACK
from catena.text.formats import time_or_day
from catena.workspace.undo import (
    NOT_AGAIN,
    NOTHING,
    NOTHING_AGAIN,
    UndoResult,
    done_again,
    undone,
    warning,
    what,
)
from catena_store.ids import utc_now


async def undo(on: Here) -> Done:
    """Undo the newest act of the tab or on a closed one."""
    return await _step(on, on.tabs.undoing.undo, undone)


async def ask_undo(on: Here) -> Done:
    """Undo the newest act after asking: a key may be part of a word that was meant for elsewhere."""
    refuse_in_edit(on)
    newest = next((done for done in await on.tabs.undoing.acts(on.at) if not done.entry.undone), None)
    if newest is None:
        raise Refused(await _nothing(on))
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
                NOT_AGAIN if done.entry.undone else "",
            ),
            dim=done.entry.undone,
        )
        for done in await undoing.acts(on.at)
    ]
    if not rows:
        raise Refused(await _nothing(on))
    return Done(report=Report("Undo history", "Undo history", rows, enter="undo or redo to here"))


async def _step(
    on: Here,
    step: Callable[..., Awaitable[UndoResult | None]],
    words: Callable[[UndoResult], str],
    nothing: str = "",
) -> Done:
    """Undo or redo, and say what; if there is nothing, say ``nothing``, or that nothing can be undone."""
    refuse_in_edit(on)
    taken = await on.surface.go(step(on.at), lambda taken: taken.look_at if taken else None, leaving=on.at)
    return Done(await warning(taken) + words(taken) if taken else nothing or await _nothing(on))


async def _nothing(on: Here) -> str:
    """Say that nothing can be undone, and the way back of files if turns of the branch changed any."""
    touched = await on.at.conversation.changes.files(on.at.leaf_id) if on.at is not None else ()
    return f"{NOTHING} {WAY_BACK}" if any(each.changed or each.unreported for each in touched) else NOTHING


def refuse_in_edit(on: Here) -> None:
    """Raise Refused while a prompt of the tab is edited, which must not get lost."""
    if on.at is not None and on.at.editing is not None:
        raise Refused("Finish or cancel the edit first.")

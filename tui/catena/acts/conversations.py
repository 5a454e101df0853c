"""Acts on a whole conversation: its title, its place in the history, who holds it, a file of it; and undo."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from catena.acts.surface import Done, Here, Question, Refused, Report, ReportRow, next_prompt
from catena.settings.agents import titles_of
from catena.text.changes_text import WAY_BACK
from catena.text.formats import background_words, from_home, time_or_day, truncate_left
from catena.text.safe_text import safe_line
from catena.workspace.directories import existing_directory, is_directory
from catena.workspace.keeping import (
    NOT_AGAIN,
    NOTHING_TO_REDO,
    NOTHING_TO_UNDO,
    UndoResult,
    act_words,
    done_again,
    logout_warning,
    undone,
    upstream_words,
)
from catena.workspace.lookup import DELETED, restore_words
from catena.workspace.tab import Tab
from catena_acp.errors import AgentError, ReadOnly
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.ids import utc_now

if TYPE_CHECKING:
    from catena_acp.conversation.conversations.keeping import Kept


_ENDING = 40  # cells of a path that stand for it


async def rename(on: Here, title: str) -> Done:
    """Give the conversation a title."""
    if not title:
        raise Refused("/rename TITLE gives the conversation a title.")
    await _refuse_deleted(on)
    await on.tabs.keeping.rename(on.conversation.id, title, by=on.at)
    return Done(f"Renamed to “{safe_line(title)}”.")


async def pin(on: Here) -> Done:
    """Pin the conversation, so that it stands first in the history and is never pruned, or unpin it."""
    await _refuse_deleted(on)
    pinned = await on.tabs.keeping.toggle_pin(on.conversation.id, by=on.at)
    return Done("Pinned: first in the history, never pruned." if pinned else "Unpinned.")


async def take_over(on: Here) -> Done:
    """Take over a conversation whose Catena is gone; one that lives is named."""
    window = on.tab.window
    if not on.tab.conversation.read_only:
        raise Refused("This conversation is already yours.")
    await window.take_over()
    on.surface.say("Taken over. Unfinished turns of the other Catena were closed.")
    await window.prepare()
    return Done()


async def export(on: Here, wish: str) -> Done:
    """Write the branch, or all of them, into a file, and say where and what was masked."""
    # Most conversations are not exported.
    from catena.export.forms import export_branch, wanted_export

    tab, wanted = on.tab, wanted_export(wish)

    async def write(reader: Reader, leaf: str | None) -> str:
        return await export_branch(
            reader,
            wanted,
            conversation_id=tab.conversation.id,
            leaf_id=leaf,
            directory=tab.conversation.record.cwd,
            name=tab.name(),
            agent_title=tab.agent_title,
            rules=on.settings.export.mask,
        )

    return Done(await on.tabs.branches.of_branch_at_length(tab, write))


async def close(on: Here) -> Done:
    """Close the tab: the conversation stays, and its agent is stopped unless another tab has it, too."""
    tab, window, agent = on.tab, on.tab.window, safe_line(on.tab.agent_title)
    shared = any(each is not tab and each.conversation is tab.conversation for each in on.tabs.tabs)
    stops = window.at_work and not shared and not tab.conversation.read_only
    running = [task.title for task in window.background]
    if stops or running:
        what = background_words(running) if running else f"{agent} is at work"
        note = f"{what}. Closing the tab ends that."
        await on.surface.ask(Question("Close this tab?", "Close it", note=note, seen=not running))
    name, empty = safe_line(tab.name()), tab.untouched
    await on.surface.go(on.tabs.close(tab), _nowhere, leaving=tab)
    stopped = f": {agent} was working and is stopped" if stops else ""
    return Done("" if empty else f"Closed “{name}”{stopped}. /undo opens it again.")


async def archive(on: Here) -> Done:
    """Archive the conversation: its tab closes, and it moves to the end of the history."""
    await _refuse_to_leave(on)
    await _refuse_deleted(on)
    archiving = on.tabs.keeping.archive([on.conversation.id], by=on.at)
    await on.surface.go(archiving, _nowhere, leaving=on.at)
    return Done(f"Archived: now at the end of the history. {_undo_words(on)}")


async def delete(on: Here, wish: str) -> Done:
    """Delete the conversation: lists hide it, its tab closes, and /undo brings it back.

    With `everywhere` its sessions at the agents, too, which nothing brings back.
    """
    if wish not in ("", "everywhere"):
        raise Refused(
            "/delete deletes this conversation here; /delete everywhere also at its agents, which cannot be undone."
        )
    await _refuse_to_leave(on)
    upstream = bool(wish)
    if not upstream:
        await _refuse_deleted(on)
    name = on.at.name() if on.at else on.conversation.title or on.conversation.id
    where = " here and at its agents, which cannot be undone" if upstream else ""
    await on.surface.ask(Question(f"Delete “{safe_line(name)}”{where}?", "Delete it", seen=not upstream))
    deleting = on.tabs.keeping.delete([on.conversation.id], upstream=upstream, by=on.at)
    kept = await on.surface.go(deleting, _nowhere, leaving=on.at)
    titles = titles_of(on.settings)
    more = upstream_words(kept.upstream, lambda agent: titles(agent, None) or agent) if kept.upstream else ""
    return Done(f"Deleted. {_undo_words(on)} {more}".rstrip())


async def _refuse_to_leave(on: Here) -> None:
    """Raise Refused while a prompt is edited, and if nothing was said: then nothing is put away."""
    refuse_in_edit(on)
    if on.named is None and await on.tabs.undoing.nothing_said(on.tab):
        raise Refused("This conversation is empty; /close discards it.")


async def _refuse_deleted(on: Here) -> None:
    if await on.tabs.keeping.is_deleted(on.conversation.id):
        raise Refused(f"{DELETED} {_undo_words(on)}")


def _undo_words(on: Here) -> str:
    """How an act is taken back, which without a tab is done in the directory of the conversation."""
    return "/undo to restore it." if on.at else restore_words(on.conversation.cwd)


def _nowhere(done: Kept | None) -> None:
    """Lead to no tab: to what is left."""


async def change_directory(on: Here, directory: str) -> Done:
    """Continue in another directory; without one, say which it is, or offer others if it is gone."""
    tab, cwd = on.tab, on.tab.conversation.record.cwd
    there = await asyncio.to_thread(is_directory, cwd)
    if directory:
        base = cwd if there else on.tabs.directory
        return await _move(on, await asyncio.to_thread(partial(existing_directory, directory, base=base)))
    shown = safe_line(from_home(cwd))
    if there:
        return Done(f"This conversation works in {shown}. /cd DIR changes that.")
    on.surface.say(gone_words(tab))
    rows = [
        ReportRow(
            truncate_left(safe_line(from_home(each.path)), _ENDING),
            (each.why,),
            partial(_move, on, each.path),
        )
        for each in await on.tabs.moved_directories(tab)
    ]
    where = Report(
        f"Where to continue? {truncate_left(shown, _ENDING)} is gone",
        "It may be one of these",
        rows,
        enter="continue there",
    )
    return Done(report=where if rows else None)


def gone_words(tab: Tab) -> str:
    """Say that the directory of a tab is gone, and what can be done."""
    gone = safe_line(from_home(tab.conversation.record.cwd))
    return f"{gone} is gone: you can read, and /cd DIR continues elsewhere."


async def _move(on: Here, path: str) -> Done:
    tab, shown = on.tab, safe_line(from_home(path))
    if path == tab.conversation.record.cwd:
        return Done(f"This conversation already works in {shown}.")
    await tab.conversation.change_directory(path, by=tab.window_id)
    tab.prepared = True
    on.surface.say(f"Continues in {shown}.{'' if tab.untouched else await next_price(tab)}")
    await tab.window.prepare()
    return Done()


async def next_price(tab: Tab) -> str:
    """A sentence on the price of a tab's next prompt, with a space before it; "" if the price is not known."""
    try:
        return f" {next_prompt((await tab.conversation.chain.price(tab.window)).words)}"
    except (AgentError, ReadOnly, StoreError):
        return ""


async def add_directory(on: Here, directory: str) -> Done:
    """Add a directory; without one, report them: to open one removes it."""
    conversation = on.tab.conversation
    if not directory:
        if not conversation.directories:
            raise Refused("No additional directories; add one with /cd add DIR.")
        rows = [
            ReportRow(safe_line(path), open=partial(_remove_directory, on, path))
            for path in conversation.directories
        ]
        title = "Additional directories"
        return Done(report=Report(title, title, rows, enter="remove"))
    path = await asyncio.to_thread(partial(existing_directory, directory, base=conversation.record.cwd))
    added, shown = await conversation.add_directory(path), safe_line(path)
    if conversation.takes_directories is False:
        agent = safe_line(on.tab.agent_title)
        return Done(
            f"{agent} does not support additional directories. @ finds files in {shown} all the same."
        )
    words = "From the next prompt on, the agent also works in" if added else "The agent already works in"
    return Done(f"{words} {shown}")


async def _remove_directory(on: Here, path: str) -> Done:
    await on.tab.conversation.remove_directory(path)
    return Done(f"From the next prompt on, the agent no longer works in {safe_line(path)}")


async def undo(on: Here) -> Done:
    """Undo the newest act of the tab or on a closed one."""
    return await _step(on, on.tabs.undoing.undo, undone)


async def ask_undo(on: Here) -> Done:
    """Undo the newest act after asking: a key may be part of a word that was meant for elsewhere."""
    refuse_in_edit(on)
    newest = next((done for done in await on.tabs.undoing.acts(on.at) if not done.entry.undone), None)
    if newest is None:
        raise Refused(await _nothing(on))
    await on.surface.ask(Question(f"Undo {act_words(newest)}?", "Undo", stays=True))
    return await undo(on)


async def redo(on: Here) -> Done:
    """Redo the act that was undone last."""
    return await _step(on, on.tabs.undoing.redo, done_again, NOTHING_TO_REDO)


async def reflog(on: Here) -> Done:
    """Report every act of the journal; to open one undoes down to it, or redoes up to it."""
    undoing, now = on.tabs.undoing, utc_now()
    rows = [
        ReportRow(
            act_words(done),
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
    return Done(await logout_warning(taken) + words(taken) if taken else nothing or await _nothing(on))


async def _nothing(on: Here) -> str:
    """Say that nothing can be undone, and the way back of files if turns of the branch changed any."""
    touched = await on.at.conversation.changes.files(on.at.leaf_id) if on.at is not None else ()
    return (
        f"{NOTHING_TO_UNDO} {WAY_BACK}"
        if any(each.changed or each.unreported for each in touched)
        else NOTHING_TO_UNDO
    )


def refuse_in_edit(on: Here) -> None:
    """Raise Refused while a prompt of the tab is edited, which must not get lost."""
    if on.at is not None and on.at.editing is not None:
        raise Refused("Finish or cancel the edit first.")

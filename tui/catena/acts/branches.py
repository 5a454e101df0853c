"""Acts on the branches of a conversation, and between a fork and its source."""

from __future__ import annotations

import asyncio
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from catena.acts.surface import Done, Here, Question, QuestionOption, Refused, Report, ReportRow
from catena.text.chain_text import kin_name
from catena.text.formats import age
from catena.text.safe_text import safe_line
from catena.workspace.directories import existing_directory
from catena_acp.errors import ReadOnly
from catena_store.ids import utc_now

if TYPE_CHECKING:
    from catena.workspace.tab import Tab
    from catena_acp.conversation.inspection.price import Price
    from catena_store.records import Message


async def fork(on: Here, wish: str) -> Done:
    """Fork at a message, or at the leaf: `side` in a new tab, `--dir PATH` in another directory. Asks first."""
    where, into, named = wish.partition("--dir")
    if where.strip() not in ("", "side") or (into and not named.strip()):
        raise Refused(f"Unknown argument: /fork {wish}. Usage: /fork [side] [--dir PATH]")
    tab, message, directory = on.tab, await on.message(), None
    if into:
        directory = await asyncio.to_thread(
            existing_directory, named.strip(), base=tab.conversation.record.cwd
        )
    if tab.untouched:
        raise Refused("Nothing to fork yet.")
    at_prompt = message is not None and message.is_prompt
    if message is None:
        title = "Fork this branch"
    elif not at_prompt:
        title = f"Fork from {on.surface.named(message.id, 'here')}"
    elif message.parent_id is None:
        raise Refused("Nothing to fork before the first prompt. Edit it instead.")
    else:
        title = f"Fork before {on.surface.named(message.id, 'this prompt')}"
    title += f" into {safe_line(directory)}" if directory else ""
    price = await _price_of_fork(tab, message)
    beside = bool(where.strip())
    while True:
        at_work = tab.at_work  # the running turn needs the tab
        beside = beside or at_work
        there, other = ("in this tab", on.surface.beside)[:: -1 if beside else 1]
        short = other.removeprefix("in ").removeprefix("a ").capitalize()
        toggle = QuestionOption("beside", other.capitalize(), short, again=True, typed="side")
        note = "The running turn continues here." if at_work else ""
        note = note or ("The prompt becomes the draft." if at_prompt else "")
        options = () if at_work else (toggle,)
        if await on.surface.ask(Question(f"{title} {there}?", "Fork", price, options, note)) == "yes":
            break
        beside = not beside
    return await fork_at(on, message.id if message else None, beside=beside, directory=directory)


async def fork_beside(on: Here) -> Done:
    """Fork into a tab of its own, which stands side by side if there is room."""
    return await fork(on, "side")


async def fork_at(on: Here, message_id: str | None, *, beside: bool, directory: str | None = None) -> Done:
    """Fork at a message, or at the leaf, without asking."""
    tab, stayed = on.tab, ""

    async def step() -> tuple[Tab, Price]:
        nonlocal stayed
        if not beside:
            tab.leave_edit()
        draft, files = tab.draft, tab.draft_files
        shown, price = await on.tabs.fork(tab, at=message_id, beside=beside, cwd=directory)
        if shown is tab and not tab.draft.strip() and not tab.draft_files:
            tab.draft, tab.draft_files = draft, files
            await on.tabs.keep(tab)
            await on.tabs.keep_attachments(tab)
        elif shown is tab and draft.strip() and tab.draft != draft:
            stayed = " Your draft stays in the original: /undo goes back to it."
        return shown, price

    leaving = None if beside else tab
    shown, price = await on.surface.go(step(), itemgetter(0), leaving=leaving, beside=beside)
    where = "in this tab; the original is in the history" if shown is tab else "in a new tab"
    return Done(f"Forked {where}. Your next prompt: {price.words}.{stayed}")


async def _price_of_fork(tab: Tab, message: Message | None) -> str:
    at_prompt = message is not None and message.is_prompt
    point = message.parent_id if message is not None and at_prompt else None
    if not at_prompt:
        point = await tab.window.leaf.fork_point(message.id if message else None)
    try:
        return (await tab.conversation.chain.price(tab.window, leaf_id=point, apart=True)).words
    except ReadOnly:  # another client's conversation can be forked all the same
        return "price shown after the takeover"


async def lineage(on: Here) -> Done:
    """Report the conversation that this one was forked from, and its forks; to open one goes there."""
    found = await on.tab.conversation.branches.lineage()
    kin = [(found.source, "the original")] if found.source else []
    kin += [(fork, "a fork") for fork in found.forks]
    if not kin:
        raise Refused("This conversation has no forks; /fork creates one.")

    async def go(id: str) -> Done:
        await on.surface.go(on.tabs.open_conversation(id), lambda tab: tab)
        return Done()

    rows = [
        ReportRow(kin_name(each), (words, age(each.created_at, utc_now())), partial(go, each.id))
        for each, words in kin
    ]
    return Done(report=Report("Forks", "Forks", rows, enter="go there", at_once=True))

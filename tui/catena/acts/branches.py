"""Acts on a conversation's branches, its tree of prompts and its checkpoints, and between a fork and its source."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from catena.acts.surface import (
    ALREADY_THERE,
    Done,
    Here,
    LiveReport,
    Question,
    QuestionOption,
    Refused,
    Report,
    ReportRow,
    next_prompt,
)
from catena.acts.unknown import unknown_argument
from catena.text.chain_text import (
    FREQUENCY_CHOICES,
    FREQUENCY_SENTENCES,
    checkpoint_facts,
    checkpoint_name,
    checkpoint_place,
    kin_name,
    place_gone_to,
)
from catena.text.formats import age, shortened, time_or_day, title_of
from catena.text.safe_text import safe, safe_line
from catena.workspace.directories import existing_directory
from catena.workspace.files_along import FILES_STAY, FilesAlong, moved_words
from catena.workspace.tree_layout import TreeLayout
from catena_acp.continuity.wording.counts import counted
from catena_acp.errors import ReadOnly
from catena_acp.snapshots.restoring import FileChoice
from catena_store.conversations.checkpoints import Frequency
from catena_store.conversations.tree import TreeNode
from catena_store.ids import utc_now
from catena_store.records import Kind, Message, MessageState

if TYPE_CHECKING:
    from catena.workspace.tab import Tab
    from catena_acp.conversation.inspection.price import Price
    from catena_acp.snapshots.restoring import FilesMoved
    from catena_store.conversations.checkpoints import Checkpoint


async def fork(on: Here, wish: str) -> Done:
    """Fork at a message, or at the leaf: `side` in a new tab, `--dir PATH` in another directory.

    Asks first, unless `side` says where and nothing would be replayed.
    """
    where, into, path = wish.partition("--dir")
    side = bool(where.strip())
    if where.strip() not in ("", "side") or (into and not path.strip()):
        raise Refused(unknown_argument(f"fork {wish}", "/fork [side] [--dir PATH]"))
    directory = None
    if into:
        directory = await asyncio.to_thread(
            existing_directory, path.strip(), base=on.tab.conversation.record.cwd
        )
    return await _ask_to_fork(on, beside=side, directory=directory, unasked=side)


async def fork_beside(on: Here) -> Done:
    """Fork into a tab of its own, which stands side by side if there is room. Asks first: one key may be a slip."""
    return await _ask_to_fork(on, beside=True)


async def _ask_to_fork(
    on: Here, *, beside: bool, directory: str | None = None, unasked: bool = False
) -> Done:
    """Fork once that is confirmed; ``unasked`` if nothing would be replayed."""
    tab, message = on.tab, await on.message()
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
    price, nothing = await _price_of_fork(tab, message)
    at_work = tab.at_work  # the running turn needs the tab
    beside = beside or at_work
    there, other = ("in this tab", on.surface.beside)[:: -1 if beside else 1]
    short = other.removeprefix("in ").removeprefix("a ").capitalize()
    note = "The running turn continues here." if at_work else ""
    note = note or ("The prompt becomes the draft." if at_prompt else "")
    options = () if at_work else (QuestionOption("other", f"Fork {other}", short, typed="side"),)
    free = unasked and nothing
    answer = await on.surface.ask(Question(f"{title} {there}?", "Fork", price, options, note, free=free))
    if answer == "other":
        beside = not beside
    beside = beside or tab.at_work  # a turn may have begun since
    why = f" {on.surface.why_not_beside}".rstrip() if unasked and beside else ""
    return await fork_at(on, message.id if message else None, beside=beside, directory=directory, why=why)


async def fork_at(
    on: Here, message_id: str | None, *, beside: bool, directory: str | None = None, why: str = ""
) -> Done:
    """Fork at a message, or at the leaf, without asking; ``why``: what is said of where the fork is."""
    tab, stayed, apart = on.tab, "", on.surface.beside

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
    where = "in this tab; the original is in the history" if shown is tab else apart
    return Done(f"Forked {where}.{why} {next_prompt(price.words)}{stayed}")


async def _price_of_fork(tab: Tab, message: Message | None) -> tuple[str, bool]:
    """Its words, and True if it is sure that nothing would be replayed."""
    at_prompt = message is not None and message.is_prompt
    point = message.parent_id if message is not None and at_prompt else None
    if not at_prompt:
        point = await tab.window.leaf.fork_point(message.id if message else None)
    try:
        price = await tab.conversation.chain.price(tab.window, leaf_id=point, apart=True)
        return price.words, price.native and price.exact
    except ReadOnly:  # another client's conversation can be forked all the same
        return "price shown after the takeover", False


async def follow(on: Here) -> Done:
    """Go to where the conversation went on elsewhere."""
    place = await on.tabs.branches.place_of(on.tab)
    if place is None or place == on.tab.leaf_id:
        raise Refused(ALREADY_THERE)
    return await go_to(on, place, "Now where the conversation went on.")


async def go_to(
    on: Here, leaf_id: str, title: str = "", files: FileChoice | None = None, *, chosen: bool = False
) -> Done:
    """Go to a row, with ``files`` if they are ``chosen``; else they may be chosen now."""
    if leaf_id == on.tab.leaf_id:
        raise Refused(ALREADY_THERE)
    moved = await _move(on, leaf_id, partial(on.tab.window.go_to, leaf_id), files, chosen=chosen)
    where = f"Now at “{safe_line(title)}”." if title else "Now on the branch with the match."
    words = f"{where} {moved_words(moved)}".rstrip()
    try:
        price = f" {next_prompt((await on.tab.conversation.chain.price(on.tab.window)).words)}"
    except ReadOnly:
        price = ""
    return Done(f"{words}{price} Later messages stay in the tree; /undo goes back.")


async def rewind(on: Here, label: str) -> Done:
    """Go back to a message, or to the checkpoint of a label or id; without one, to the newest."""
    if (message := await on.message()) is not None and not label:
        point = await on.tab.window.leaf.fork_point(message.id)
        return await _back_to(on, message.id, on.surface.named(message.id, "that message"), point)
    return await rewind_to(on, await on.tab.conversation.checkpoints.find(label or None))


async def rewind_to(
    on: Here, checkpoint: Checkpoint, files: FileChoice | None = None, *, chosen: bool = False
) -> Done:
    """Go back to a checkpoint, with ``files`` if they are ``chosen``; else they may be chosen now."""
    name = checkpoint_name(checkpoint)
    if checkpoint.message_id == on.tab.leaf_id:
        return Done(f"You are already at {name}.")
    named = place_gone_to(await on.tab.conversation.checkpoints.about(checkpoint))
    return await _back_to(on, checkpoint.message_id, named, checkpoint.message_id, files, chosen=chosen)


async def _back_to(
    on: Here,
    message_id: str | None,
    named: str,
    point: str | None,
    files: FileChoice | None = None,
    *,
    chosen: bool = False,
) -> Done:
    """Go back to a message, with the files of its ``point``."""
    window = on.tab.window
    moved = await _move(on, point, partial(window.rewind, message_id), files, chosen=chosen)
    price = (await on.tab.conversation.chain.price(window)).words
    kept = moved_words(moved) or f"{FILES_STAY.capitalize()}{await on.surface.files_behind()}."
    return Done(
        f"Went back to {named}. {next_prompt(price)} {kept} Later messages are kept; /undo returns to them."
    )


async def _move(
    on: Here,
    target: str | None,
    step: Callable[..., Awaitable[FilesMoved | None]],
    files: FileChoice | None,
    *,
    chosen: bool,
) -> FilesMoved | None:
    """Move the tab by a step, with files of the ``target``, and show or read what stands there."""
    tab = on.tab
    if not chosen:
        along = FilesAlong(by_default=on.settings.files_follow)
        await on.surface.files(along, partial(along.look, tab.conversation.files, tab.window_id, target))
        files = along.choice
    return await on.surface.go(on.tabs.move(tab, step(choice=files)), lambda _: tab, leaving=tab)


async def stand_at(on: Here, leaf_id: str | None) -> Done:
    """Go to a row without a word."""
    tab = on.tab
    await on.surface.go(on.tabs.move(tab, tab.window.go_to(leaf_id)), lambda _: tab, leaving=tab)
    return Done()


async def to_sibling(on: Here, prompt_id: str, step: int) -> Done:
    """Go to a sibling of a prompt, with the branch, the scroll position and the draft that were left there."""
    tab = on.tab
    going = on.tabs.move(tab, tab.window.to_sibling(prompt_id, step))
    if await on.surface.go(going, lambda moved: tab if moved else None, leaving=tab):
        return Done()
    return Done(f"This is the {'newest' if step > 0 else 'oldest'} version.")


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


async def checkpoint(on: Here, label: str) -> Done:
    """Save a checkpoint at the leaf, with a label or without."""
    made = await on.tab.conversation.checkpoints.make(on.tab.window, label or None)
    known = f"“{made.label}”" if made.label else "without a label"
    return Done(f"Saved checkpoint {known}: /rewind {made.label or made.id[:6]} returns here.")


async def name_checkpoint(on: Here, label: str) -> Done:
    """Name the newest checkpoint."""
    if not label:
        raise Refused("/checkpoint name LABEL names the newest checkpoint.")
    return Done(
        f"Newest checkpoint renamed to {checkpoint_name(await on.tab.conversation.checkpoints.name(label))}."
    )


async def checkpoints(on: Here, frequency: str) -> Done:
    """Report the checkpoints, of which to open one goes back; or set how often they are saved here."""
    kept = on.tab.conversation.checkpoints
    if frequency:
        try:
            wanted = Frequency(frequency.strip().lower())
        except ValueError as error:
            raise Refused(f"Choose one of: {FREQUENCY_CHOICES}.") from error
        await kept.set_frequency(wanted)
        return Done(FREQUENCY_SENTENCES[wanted])

    async def read() -> Report:
        rows = []
        for each in await kept.listed():
            made = each.checkpoint
            # Else it is called by its time.
            when = time_or_day(made.created_at, utc_now()) if made.label else ""
            values = (checkpoint_place(each), when, *checkpoint_facts(made))
            rows.append(ReportRow(checkpoint_name(made), values, partial(rewind_to, on, made)))
        if not rows:
            raise Refused("No checkpoints yet; /checkpoint LABEL saves one.")
        return Report("Checkpoints", "Checkpoints, newest first", rows, enter="go back there")

    return Done(report=LiveReport(kept, read))


_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class TreeView:
    """The tree of a tab, as a sheet that begins at a prompt, None: at the tab's, and with what some words find."""

    prompt_id: str | None
    words: str


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """The act chosen in a tree and its prompts: several to quote, or one to go to or to fork at."""

    act: Literal["go", "fork", "quote"]
    tree: TreeLayout
    nodes: Sequence[TreeNode]
    files: FileChoice | None = None  # they go along


async def tree(on: Here, words: str) -> Done:
    """Show the tree, or list the prompts with some words; go to one, fork at one, quote some."""
    tab, branches = on.tab, on.tab.conversation.tree
    await tab.conversation.settle()

    async def read() -> Report:
        layout = await asyncio.to_thread(TreeLayout, await branches.places(tab.window), branches.title_of)
        nodes = [line.node for line in await asyncio.to_thread(layout.lines, ())]
        nodes = [node for node in nodes if words.lower() in node.preview.lower()]
        if not nodes:
            raise Refused("No prompts there.")
        listed = {node.id: at for at, node in enumerate(nodes, start=1)}
        branched = f", {counted(layout.branches, 'branch', 'branches')}" if layout.branches > 1 else ""
        rows = [
            ReportRow(
                _place(on, layout, node, listed), [*_facts(layout, node)], partial(_go, on, layout, node)
            )
            for node in nodes
        ]
        return Report(
            "Tree", "Tree", rows, heading=f"{counted(len(nodes), 'prompt')}{branched}", enter="go there"
        )

    async def chosen(choice: TreeChoice) -> Done:
        match choice.act:
            case "go":
                await on.surface.write()
                return await _go(on, choice.tree, choice.nodes[0], choice.files, chosen=True)
            case "fork":
                return await fork(replace(on, message_id=choice.nodes[0].end_id), "")
        quotes = [quote(choice.tree, each, await branches.turn_messages(each)) for each in choice.nodes]
        await on.surface.write(_GAP.join(quotes))
        return Done()

    return Done(report=LiveReport(TreeView(on.message_id, words), read, chosen))


async def _go(
    on: Here, layout: TreeLayout, node: TreeNode, files: FileChoice | None = None, *, chosen: bool = False
) -> Done:
    """Go to a prompt, which may be of another conversation."""
    if layout.foreign(node.id):
        opening = on.tabs.open_conversation(node.conversation_id)
        on = replace(on, at=await on.surface.go(opening, lambda tab: tab))
    return await go_to(on, node.end_id, title_of(node.preview), files, chosen=chosen)


def _place(on: Here, layout: TreeLayout, node: TreeNode, listed: Mapping[str, int]) -> str:
    """Where a prompt is; ``listed`` are the numbers of the rows, for those whose place no eye sees."""
    named = on.surface.named
    if number := named(node.id, ""):
        return f"You {number}"
    if layout.foreign(node.id):
        title = layout.places.names.get(node.conversation_id)
        return f"in the conversation {safe_line(title)}" if title else "in another conversation"
    if node.parent_id and (above := named(node.parent_id, "")):
        return f"another branch, after You {above}"
    before = listed.get(node.parent_id or "")
    return f"another branch, goes on from {before}" if before else "another branch"


def _facts(layout: TreeLayout, node: TreeNode) -> Iterator[str]:
    yield shortened(node.preview) or "files only"
    place, of = layout.version(node)
    if of > 1:
        yield f"version {place} of {of}"
    if labels := layout.places.labels.get(node.id):
        yield "checkpoint " + ", ".join(map(safe_line, labels))
    yield layout.agent(node)
    if node.state is MessageState.REFUSED:
        yield "not sent"
    if node.id == layout.places.here:
        yield "here"


def quote(tree: TreeLayout, node: TreeNode, rows: Sequence[Message]) -> str:
    """Quote a prompt and its answers, below a line that names the conversation, the time and the agent."""
    place = "this branch" if node.id in tree.active else "another branch"
    if tree.foreign(node.id):
        title = tree.places.names.get(node.conversation_id)
        place = f"the conversation “{safe_line(title)}”" if title else "another conversation"
    agent = tree.agent(node) or "the agent"
    at = node.created_at.astimezone()
    blocks = [f"From {place}, {at:%Y-%m-%d %H:%M}, I said:\n{_quoted(rows[0].text)}"]
    answers = [row.text for row in rows if row.kind is Kind.AGENT and row.text.strip()]
    if answers:
        blocks.append(f"and {agent} answered:\n{_quoted(_GAP.join(answers))}")
    return "\n\n".join(blocks)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in safe(text).strip().split("\n"))

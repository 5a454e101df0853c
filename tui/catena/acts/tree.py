"""Acts on the tree of prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from catena.acts.branches import fork, go_to
from catena.acts.surface import Done, Here, LiveReport, Refused, Report, ReportRow
from catena.text.formats import shortened, title_of
from catena.text.safe_text import safe, safe_line
from catena.workspace.tree_layout import TreeLayout
from catena_acp.continuity.wording.counts import counted
from catena_acp.snapshots.restoring import FileChoice
from catena_store.conversations.tree import TreeNode
from catena_store.records import Kind, Message, MessageState

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

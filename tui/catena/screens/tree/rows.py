"""The tree in words: its rows, the text that a search matches, quotes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from catena.text.formats import age, title_of, truncate
from catena.text.safe_text import safe, safe_line
from catena.text.tree import TreeLayout, TreeLine
from catena.widgets.row_list import Row
from catena_acp.continuity.counts import counted
from catena_store.conversations.search import TreeHit
from catena_store.conversations.tree import TreeNode
from catena_store.records import ContextSource, Kind, Message, MessageState, StopReason

HERE, ACTIVE, ELSEWHERE, REFUSED, FORK = "◉", "●", "○", "✗", "⑂"
_HIT_WIDE, _HIT_NARROW = 26, 12  # cells of a label with a snippet behind it
_LABEL_WIDE, _LABEL_NARROW = 28, 14  # cells of a checkpoint's label before a prompt
_HOW = {
    ContextSource.RESUMED: "resumed",
    ContextSource.FORKED: "forked",
    ContextSource.FORKED_AT: "forked",
    ContextSource.CAUGHT_UP: "replayed",
    ContextSource.TOLD: "replayed",
    ContextSource.FRESH: "new session",
}
_STOPS = {
    StopReason.REFUSAL: "refused by the agent",
    StopReason.CANCELLED: "stopped",
    StopReason.ERROR: "failed",
    StopReason.AGENT_GONE: "failed",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.NOT_SENT: "not sent",
    StopReason.MAX_TOKENS: "cut short",
    StopReason.MAX_TURN_REQUESTS: "cut short",
}


def tree_title(tree: TreeLayout) -> str:
    """How many prompts and other conversations a tree has."""
    kin = {node.conversation_id for node in tree.places.nodes if tree.foreign(node.id)}
    words = f"Tree: {counted(len(tree.places.own), 'prompt')}"
    return f"{words} · {counted(len(kin), 'other conversation')}" if kin else words


def tree_row(
    tree: TreeLayout,
    line: TreeLine,
    marked: Collection[str],
    now: datetime,
    *,
    wide: bool,
    hit: TreeHit | None = None,
) -> Row:
    """One line of the tree, most important words first, since lines are cut at their end.

    ``hit``: a search hit in the turn of the prompt; the label is shortened to make room for its snippet.
    """
    node = line.node
    refused = node.state is MessageState.REFUSED or node.stop_reason is StopReason.NOT_SENT
    width = _LABEL_WIDE if wide else _LABEL_NARROW
    labels = "".join(
        f"[{truncate(safe_line(label), width)}] " for label in tree.places.labels.get(node.id, ())
    )
    name = f"{_name(tree, node)} · " if node.id in tree.heads else ""
    fold = "▸ " if line.folded else ""
    chosen = "* " if node.id in marked else ""
    preview = node.preview.strip() or "(files only)"
    label = f"{_mark(tree, node, refused)} {chosen}{fold}{labels}{name}{preview}"
    if hit is not None:
        return Row(
            node.id,
            truncate(safe_line(label), _HIT_WIDE if wide else _HIT_NARROW),
            note=f"{_hit_place(hit, wide=wide)}: {safe_line(hit.snippet)}",
            detail=f"{age(node.created_at, now):>6}" if wide else "",
            dim=refused,
        )
    return Row(
        node.id,
        label,
        detail="  ".join(_details(tree, line, now, wide=wide)),
        dim=refused,
        lead=line.lead,
    )


def _hit_place(hit: TreeHit, *, wide: bool) -> str:
    what = "answer" if hit.kind is Kind.AGENT else "prompt"
    return f"in the {what}" if wide else what


def hit_line(line: TreeLine) -> TreeLine:
    """The line of a prompt in a list of hits, without the branches to its left."""
    return TreeLine(line.node, "", 0, line.parts)


def _mark(tree: TreeLayout, node: TreeNode, refused: bool) -> str:
    if node.id == tree.places.here:
        return HERE
    if refused:
        return REFUSED
    if node.id in tree.heads:
        return FORK
    return ACTIVE if node.id in tree.active else ELSEWHERE


def _name(tree: TreeLayout, node: TreeNode) -> str:
    title = tree.places.names.get(node.conversation_id)
    above = tree.node(node.parent_id)
    what = "the original" if above and above.conversation_id == node.conversation_id else "a fork"
    return f"{what}, “{title}”" if title else what


def _details(tree: TreeLayout, line: TreeLine, now: datetime, *, wide: bool) -> Iterator[str]:
    node = line.node
    above = tree.node(node.parent_id)
    if line.folded:
        yield f"+{line.folded:,}"
    if node.state is MessageState.REFUSED:
        yield "not sent"
    elif node.stop_reason in _STOPS:
        yield _STOPS[node.stop_reason]
    elif wide and above is not None and node.how in _HOW:
        yield _HOW[node.how]
    if node.agent and (above is None or (above.agent, above.profile) != (node.agent, node.profile)):
        yield tree.agent(node)
    yield f"{age(node.created_at, now):>6}"


def matches(text: str, tree: TreeLayout, node: TreeNode) -> bool:
    """True if each word of a text is in the prompt, its labels, its agent or the conversation's title."""
    title = tree.places.names.get(node.conversation_id) or ""
    labels = " ".join(tree.places.labels.get(node.id, ()))
    place = f"{node.preview}\n{labels}\n{tree.agent(node)}\n{title}".casefold()
    return all(word in place for word in text.casefold().split())


def branch_title(tree: TreeLayout, node: TreeNode) -> str:
    """The title of a branch: its last prompt, and whether it is the window's branch."""
    where = " · you are here" if node.id == tree.places.here else ""
    return f"…“{title_of(node.preview)}”{where}"


_GAP = "\n\n"  # between answers


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

"""What was said at a prompt of any branch, quoted for another one."""

from __future__ import annotations

from collections.abc import Sequence

from catena.chain_words import title_of_agent
from catena.safe_text import safe, safe_line
from catena.tree_rows import Arrangement
from catena_store.conversations.tree import TreeNode
from catena_store.records import Kind, Message

_BETWEEN = "\n\n"  # answers


def quote(tree: Arrangement, node: TreeNode, rows: Sequence[Message]) -> str:
    """What was said at a prompt, quoted, below a line that says where it comes from."""
    place = "this branch" if node.id in tree.active else "another branch"
    if tree.foreign(node.id):
        title = tree.places.names.get(node.conversation_id)
        place = f"the conversation “{safe_line(title)}”" if title else "another conversation"
    agent = safe_line(title_of_agent(node.agent, node.profile or "")) if node.agent else "the agent"
    at = node.created_at.astimezone()
    blocks = [f"From {place}, {at:%Y-%m-%d %H:%M}, I said:\n{_quoted(rows[0].text)}"]
    answers = [row.text for row in rows if row.kind is Kind.AGENT and row.text.strip()]
    if answers:
        blocks.append(f"and {agent} answered:\n{_quoted(_BETWEEN.join(answers))}")
    return "\n\n".join(blocks)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in safe(text).strip().split("\n"))

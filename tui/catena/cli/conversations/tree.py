"""``catena show --tree``: the tree of a conversation, as text and as JSON."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from catena.settings.agents import titles_in_settings
from catena.text.json_shapes import FORMAT, dumps, record_shape, time_shape
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena_store import places
from catena_store.conversations import conversations, tree
from catena_store.conversations.branches import Sibling, numbered
from catena_store.conversations.tree import TreeNode
from catena_store.database.database import Database
from catena_store.records import ConversationRecord, MessageState, StopReason

_STOPS = {
    StopReason.CANCELLED: "stopped",
    StopReason.ERROR: "failed",
    StopReason.AGENT_GONE: "agent crashed",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.REFUSAL: "refused by the agent",
    StopReason.MAX_TOKENS: "cut",
    StopReason.MAX_TURN_REQUESTS: "cut",
}


@dataclass(frozen=True, slots=True)
class TreeContents:
    """The prompts of a conversation and its forks, parents before children."""

    conversation: ConversationRecord
    leaf_id: str | None  # the newest leaf,
    here: str | None  # … and its prompt
    nodes: Sequence[TreeNode]
    forks: Set[str] = frozenset()  # conversations of which nodes are the first ones alone


async def read_tree(db: Database, named: str) -> TreeContents:
    """Read the tree of a conversation, with its source's part and the beginnings of its forks.

    Raises NotFound or Ambiguous.
    """
    async with db.read() as reader:
        found = await conversations.find(reader, named)
        kin = await tree.of_conversation(reader, found.id)
        forks = {fork.id for fork in kin.forks}
        nodes = await tree.nodes_of_conversation(reader, found.id, forks)
        leaf = await places.of(reader, found.id)
        return TreeContents(found, leaf, await tree.prompt_at(reader, leaf), nodes, forks)


def tree_json(shown: TreeContents) -> str:
    """One JSON object with the conversation and the nodes of its tree."""
    return dumps(
        {
            "format": FORMAT,
            "conversation": record_shape(shown.conversation),
            "leaf_id": shown.leaf_id,
            "here": shown.here,
            "nodes": [_shape(node, shown.conversation.id) for node in shown.nodes],
        },
        indent=2,
    )


def _shape(node: TreeNode, conversation_id: str) -> dict[str, object]:
    return {
        "id": node.id,
        "parent_id": node.parent_id,
        "hangs_from": node.hangs_from,
        "conversation_id": node.conversation_id,
        "own": node.conversation_id == conversation_id,
        "preview": node.preview,
        "state": node.state,
        "agent": node.agent,
        "profile": node.profile,
        "how": node.how,
        "stop_reason": node.stop_reason,
        "rows": node.rows,
        "leaf_id": node.leaf_id,
        "created_at": time_shape(node.created_at),
    }


def tree_lines(shown: TreeContents) -> Iterator[str]:
    """Yield a line for each prompt, branch after branch; each names the branches that part below it."""
    conversation, title_of = shown.conversation, titles_in_settings()
    first_words = shown.nodes[0].preview if shown.nodes else ""
    yield safe_line(conversation_name(conversation.title, first_words))
    agent = title_of(conversation.agent, conversation.profile) or conversation.agent
    yield f"{safe_line(agent)} · {safe_line(conversation.cwd)} · {conversation.id}"
    yield ""
    yield from _TreeDrawing(shown, title_of).lines()
    if not shown.nodes:
        yield "no prompts yet"


class _TreeDrawing:
    """Drawing of a tree, without indents: a conversation can be thousands of prompts deep, and part at each."""

    def __init__(self, shown: TreeContents, title_of: Callable[[str, str | None], str | None]) -> None:
        self._shown = shown
        self._title_of = title_of
        self._of_id = {node.id: node for node in shown.nodes}
        self._children: dict[str | None, list[TreeNode]] = {}
        for node in shown.nodes:
            self._children.setdefault(node.parent_id, []).append(node)
        self._versions = dict(self._numbered())

    def _numbered(self) -> Iterator[tuple[str, str]]:
        """The prompts of the conversation, inherited ones too, that have other versions in it, with their numbers."""
        beside: dict[str | None, list[Sibling]] = {}
        for node in self._shown.nodes:
            if node.conversation_id not in self._shown.forks:
                sibling = Sibling(node.id, own=True, refused=node.state is MessageState.REFUSED)
                beside.setdefault(node.hangs_from, []).append(sibling)
        for siblings in beside.values():
            yield from ((id, f"‹{at}/{of}›") for id, (at, of) in numbered(siblings).items())

    def lines(self) -> Iterator[str]:
        waiting = deque(self._children.get(None, []))
        named = 0
        while waiting:
            node, named = waiting.popleft(), named + 1
            if named > 1:
                yield ""
                yield f"branch {named} · from {node.parent_id}" if node.parent_id else f"branch {named}"
            yield from self._branch(node, waiting, named + len(waiting))

    def _branch(self, node: TreeNode | None, waiting: deque[TreeNode], named: int) -> Iterator[str]:
        """The lines of a branch; what parts from it waits, and is named after the ``named`` before it."""
        while node is not None:
            below = self._children.get(node.id, [])
            others = below[1:]
            waiting.extend(others)
            begun, named = named + 1, named + len(others)
            parting = f"branch {begun}" if begun == named else f"branches {begun}–{named}"
            yield self._line(node, parting if others else None)
            node = below[0] if below else None

    def _line(self, node: TreeNode, parting: str | None) -> str:
        words = [safe_line(node.preview) or "(files only)", *self._badges(node)]
        if parting is not None:
            words.append(f"then also {parting}")
        return " · ".join((*words, node.id))

    def _badges(self, node: TreeNode) -> Iterator[str]:
        above = self._of_id.get(node.parent_id or "")
        here = self._shown.conversation.id
        if (version := self._versions.get(node.id)) is not None:
            yield version
        if node.conversation_id != here and (above is None or above.conversation_id != node.conversation_id):
            yield f"fork {node.conversation_id}" if above else f"of {node.conversation_id}"
        if node.agent and (above is None or above.agent != node.agent):
            yield safe_line(self._title_of(node.agent, node.profile) or node.agent)
        if node.state is MessageState.REFUSED:
            yield "not sent"
        elif node.stop_reason in _STOPS:
            yield _STOPS[node.stop_reason]
        if node.id == self._shown.here:
            yield "◂ here"

"""Layout of a tree of prompts: the order of its lines and the line drawing before each. Pure.

Lines are indented only where branches diverge. The person's branch goes straight down; other branches, and forked
conversations, are listed beside it where they leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from catena.text.chain_text import agent_title
from catena.text.safe_text import safe_line
from catena_store.conversations.branches import Sibling, numbered
from catena_store.conversations.tree import FamilyTree, TreeNode
from catena_store.records import MessageState


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One prompt as a line of the tree."""

    node: TreeNode
    lead: str  # line drawing of the branches to its left
    folded: int  # number of hidden prompts below it
    parts: bool  # several branches continue from it


class TreeLayout:
    """The tree laid out around the person's prompt."""

    def __init__(self, places: FamilyTree, title_of: Callable[[str, str], str] = agent_title) -> None:
        """``title_of`` gives what a person reads for an agent and its profile."""
        self.places = places
        self._title_of = title_of
        self._nodes = {node.id: node for node in places.nodes}
        self._below: dict[str | None, list[TreeNode]] = {}
        for node in places.nodes:
            self._below.setdefault(node.parent_id if node.parent_id in self._nodes else None, []).append(node)
        self._newest: dict[str, int] = {}
        self._count: dict[str, int] = {}
        for age, node in reversed(list(enumerate(places.nodes))):
            below = self._below.get(node.id, ())
            self._newest[node.id] = max((self._newest[each.id] for each in below), default=age)
            self._count[node.id] = sum(1 + self._count[each.id] for each in below)
        self.active = frozenset(node.id for node in self.path_to(places.here))
        self.heads = frozenset(node.id for node in places.nodes if self._is_head(node))

    def node(self, id: str | None) -> TreeNode | None:
        """The prompt with this id."""
        return self._nodes.get(id or "")

    def agent(self, node: TreeNode) -> str:
        """The agent that answered a prompt, as one safe line; "" where none did."""
        return safe_line(self._title_of(node.agent, node.profile or "")) if node.agent else ""

    def path_to(self, id: str | None) -> list[TreeNode]:
        """The prompts from the root to this one."""
        way = []
        while id is not None and id in self._nodes:
            way.append(self._nodes[id])
            id = way[-1].parent_id
        return way[::-1]

    def branch_end(self, id: str) -> TreeNode:
        """The last prompt of the main branch from this one on, without prompts that no agent accepted."""
        at = self._nodes[id]
        # The active branch ends at the person's prompt, even if older prompts follow it.
        if at.id in self.active:
            return self._nodes[str(self.places.here)]
        while (after := self._main_child(self._below.get(at.id, ()))) is not None and not _refused(after):
            at = after
        return at

    def pair(self, marked: Sequence[str], id: str) -> tuple[TreeNode, TreeNode] | None:
        """The ends of the two branches to compare: two marked ones, or the marked or active one and this one."""
        others = list(marked) if len(marked) == 2 else [*marked, id]
        ids = others if len(others) == 2 else [self.places.here or id, id]
        left, right = (self.branch_end(each) for each in ids)
        return None if left.id == right.id else (left, right)

    def version(self, node: TreeNode) -> tuple[int, int]:
        """Which version of a prompt this one is, and of how many; one of another conversation is none of several."""
        if self.foreign(node.id):
            return 1, 1
        every = self._below.get(node.parent_id if node.parent_id in self._nodes else None, ())
        beside = [
            Sibling(each.id, not self.foreign(each.id), _refused(each))
            for each in every
            if each.hangs_from == node.hangs_from
        ]
        return numbered(beside).get(node.id, (1, 1))

    @property
    def branches(self) -> int:
        """The number of branches of the person's conversation, which is that of their ends."""
        own = [node for node in self.places.nodes if not self.foreign(node.id)]
        return len({node.id for node in own} - {node.parent_id for node in own})

    def foreign(self, id: str) -> bool:
        """True for a prompt that belongs only to another conversation."""
        return id not in self.places.own

    def below(self, id: str) -> int:
        """The number of prompts below this one, on all branches."""
        return self._count.get(id, 0)

    def lines(self, folded: Collection[str]) -> list[TreeLine]:
        """The lines to draw, without those below folded prompts."""
        return list(self._lines(folded))

    def _is_head(self, node: TreeNode) -> bool:
        if not self.foreign(node.id):
            return False
        above = self._nodes.get(node.parent_id or "")
        return above is None or not self.foreign(above.id) or above.conversation_id != node.conversation_id

    def _main_child(self, nodes: Sequence[TreeNode]) -> TreeNode | None:
        """The child on the main branch: towards the person's prompt, else the newest; never a fork."""
        same = [node for node in nodes if node.id not in self.heads]
        return max(
            same,
            key=lambda node: (node.id in self.active, not _refused(node), self._newest[node.id]),
            default=None,
        )

    def _lines(self, folded: Collection[str]) -> Iterator[TreeLine]:
        # A stack instead of recursion: a conversation can be thousands of prompts deep.
        waiting = self._children_lines(self._below.get(None, ()), "", at_top=True)
        while waiting:
            node, lead, indent = waiting.pop()
            below = self._below.get(node.id, ())
            hidden = self._count[node.id] if node.id in folded else 0
            yield TreeLine(node, lead, hidden, len(below) > 1)
            if not hidden:
                waiting += self._children_lines(below, indent)

    def _children_lines(
        self, nodes: Sequence[TreeNode], indent: str, *, at_top: bool = False
    ) -> list[tuple[TreeNode, str, str]]:
        """Side branches, oldest first, then the main one, in reverse; each with its lead and its children's indent."""
        main = self._main_child(nodes)
        aside = [node for node in nodes if node is not main]
        spread = []
        for place, node in enumerate(aside):
            last = main is None and place == len(aside) - 1
            turn = "╭" if at_top and place == 0 and not last else "╰" if last else "├"
            spread.append((node, f"{indent}{turn}─", f"{indent}{'  ' if last else '│ '}"))
        if main is not None:
            spread.append((main, indent, indent))
        return spread[::-1]


def _refused(node: TreeNode) -> bool:
    return node.state is MessageState.REFUSED

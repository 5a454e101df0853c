"""What the documents say of a conversation's place, as a state machine that knows nothing of the code.

Written from the acceptance list's M06 and M16 and from `docs/branches.md`. A node is a turn (its prompt and all that
grows below it) or a barrier of ``/clear``; the beginning is ``None``. A leaf is a node: whoever stands at a turn stands
at its newest row, also while it grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Node = int | None  # None: the beginning


@dataclass
class Act:
    """An act of a tab: where it stood before, and afterwards."""

    before: Node
    after: Node


@dataclass
class Tab:
    """A window: where it stands, and what is in it."""

    leaf: Node
    drafts: dict[Node, str] = field(default_factory=dict)  # each version of a prompt keeps its own
    waits: bool = False  # a prompt of its own in the queue
    unread: int = 0  # turns from elsewhere, since it was there last
    acts: list[Act] = field(default_factory=list)  # to undo, newest last
    undone: list[Act] = field(default_factory=list)  # to redo, the one undone last at the end

    @property
    def draft(self) -> str:
        """The draft where it stands."""
        return self.drafts.get(self.leaf, "")

    @draft.setter
    def draft(self, text: str) -> None:
        self.drafts[self.leaf] = text

    def go_down(self, node: Node) -> None:
        """Stand on what was added below, with the draft."""
        self.drafts[node] = self.drafts.pop(self.leaf, "")
        self.leaf = node


class PlaceModel:
    """One conversation with its place, its tabs in any number of clients, and runs without a screen."""

    def __init__(self) -> None:
        """Begin with an empty conversation that has no tab."""
        self.parent: dict[int, Node] = {}
        self.barriers: set[int] = set()
        self.place: Node = None
        self.tabs: dict[str, Tab] = {}  # the open ones
        self.left: dict[str, Tab] = {}  # of a client that quit or was killed: restored by `restore`
        self.next = 1

    # What can be asked

    def path(self, leaf: Node) -> list[int]:
        """Nodes from the first to ``leaf``."""
        found: list[int] = []
        while leaf is not None:
            found.append(leaf)
            leaf = self.parent[leaf]
        return found[::-1]

    def heard(self, node: int) -> list[int]:
        """Turns that the agent must know when ``node`` is answered, itself included: those behind the last barrier."""
        path = self.path(node)
        after = max((at + 1 for at, each in enumerate(path) if each in self.barriers), default=0)
        return path[after:]

    def later_elsewhere(self, tab: str) -> int:
        """Turns on the way to the place that are not on the way to the tab's leaf: "N later turns elsewhere"."""
        mine = set(self.path(self.tabs[tab].leaf))
        return len([node for node in self.path(self.place) if node not in mine and node not in self.barriers])

    # Prompts that become turns: they set the place

    def _born(self, parent: Node) -> int:
        node, self.next = self.next, self.next + 1
        self.parent[node] = parent
        return node

    def say(self, tab: str) -> int:
        """Send a prompt from a tab: a turn below its leaf; the tab and the place stand at it."""
        window = self.tabs[tab]
        window.draft = ""
        node = self._born(window.leaf)
        window.go_down(node)
        self.place = node
        return node

    def refused(self, tab: str, text: str) -> None:
        """Send a prompt that no agent takes: no turn; tab and place stand at its parent; its text is the draft."""
        self.place = self.tabs[tab].leaf
        self.tabs[tab].draft = text

    def run(self) -> int:
        """`run --continue`: a turn below the place; cut in the middle or not."""
        self.place = self._born(self.place)
        return self.place

    def run_edit(self, node: int) -> int:
        """`run --edit NODE`: a version of that prompt."""
        self.place = self._born(self.parent[node])
        return self.place

    def run_at(self, leaf: Node) -> int:
        """`run --at`: a turn below the end of another turn."""
        self.place = self._born(leaf)
        return self.place

    def edit(self, tab: str, node: int) -> int:
        """Edit a prompt and send it: a version of it; one act that can be undone, unless the tab stood right above."""
        window = self.tabs[tab]
        before, window.leaf = window.leaf, self.parent[node]
        made = self._born(window.leaf)
        window.go_down(made)
        self.place = made
        if before != self.parent[node]:
            self._acted(window, before, made)
        return made

    # Moves by a person: they set the place

    @staticmethod
    def _acted(window: Tab, before: Node, after: Node) -> None:
        window.acts.append(Act(before, after))
        window.undone.clear()  # a new act ends the redo of all before it

    def move(self, tab: str, leaf: Node) -> None:
        """Rewind, go to a sibling, a checkpoint or a node of the tree, or by End to the place."""
        window = self.tabs[tab]
        before = window.leaf
        if before == leaf:
            return
        window.leaf = self.place = leaf
        self._acted(window, before, leaf)

    def clear(self, tab: str) -> int:
        """`/clear`: a barrier below the leaf; tab and place stand at it."""
        window = self.tabs[tab]
        node = self._born(window.leaf)
        self.barriers.add(node)
        window.go_down(node)
        self.place = node
        return node

    def undo(self, tab: str) -> bool:
        """Undo the newest act of this tab that leads elsewhere: tab and place stand where it stood before."""
        window = self.tabs[tab]
        while window.acts:
            act = window.acts.pop()
            window.undone.append(Act(act.before, window.leaf))  # doing it again leads to where the tab stood
            if act.before != window.leaf:
                window.leaf = self.place = act.before
                return True
        return False

    def redo(self, tab: str) -> bool:
        """Do the act again that was undone last."""
        window = self.tabs[tab]
        while window.undone:
            act = window.undone.pop()
            window.acts.append(Act(window.leaf, act.after))
            if act.after != window.leaf:
                window.leaf = self.place = act.after
                return True
        return False

    # What sets nothing

    def open(self, tab: str) -> None:
        """Open the conversation in a new tab, from the history or by --continue: it stands at the place."""
        self.tabs[tab] = Tab(self.place)

    def write(self, tab: str, text: str) -> None:
        """Type, and send nothing."""
        self.tabs[tab].draft = text

    def queue(self, tab: str, *, waits: bool) -> None:
        """Let a prompt wait in the queue, or take it away: it is not in the tree."""
        self.tabs[tab].waits = waits

    def close(self, tab: str) -> None:
        """Close a tab for good: the conversation goes on where its place is."""
        del self.tabs[tab]

    def leave(self, tabs: Iterable[str]) -> None:
        """Quit or kill the client that has these tabs: they wait for `restore`; nothing else changes."""
        for tab in list(tabs):
            self.left[tab] = self.tabs.pop(tab)

    def restore(self, tabs: Iterable[str]) -> None:
        """Start again: each tab stands where it stood, or follows to a place below it if nothing waits."""
        for tab in list(tabs):
            window = self.tabs[tab] = self.left.pop(tab)
            window.unread = 0
            below = self.path(self.place)
            if window.leaf == self.place or window.waits or not (window.leaf is None or window.leaf in below):
                continue
            window.unread = self.later_elsewhere(tab)
            draft, window.drafts[window.leaf] = window.draft, ""
            window.leaf = self.place
            window.draft = "\n".join(dict.fromkeys(each for each in (draft, window.draft) if each))

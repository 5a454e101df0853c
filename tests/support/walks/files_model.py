"""What the documents say of files that follow a conversation, as a state machine that knows nothing of the code.

Written from the descriptions of files and of branches alone. A work tree is a mapping from paths to contents. A turn
changed what differs between its start and its end, whoever changed it in that time; a person between two turns belongs
to no turn. Which turns are in the files is a fact of its own: a turn that has ended is in them, with all above it, and
what takes files along leaves exactly the turns above its target in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Node = int | None  # a turn; None: before the first one
Tree = dict[str, str]
Changes = dict[str, tuple[str | None, str | None]]  # contents before and after, by path


@dataclass(frozen=True)
class Step:
    """What going would do to one path: ``doubt`` says that it is not surely the turns' and is left unless named."""

    path: str
    now: str | None  # None: it is not there
    then: str | None
    doubt: bool


@dataclass
class TurnFiles:
    """One turn, or one act that moved files: what it changed."""

    parent: Node
    found: Tree = field(default_factory=dict)  # the files as it began
    changed: Changes = field(default_factory=dict)
    # What changed while another one was at work there, or after a cut.
    unsure: set[str] = field(default_factory=set)


@dataclass
class Side:
    """The files before an act, or after it: all of them, and the turns that are in them."""

    tree: Tree
    inside: frozenset[int]


class FilesModel:
    """The work tree that a conversation shares with everybody, and what each of its turns did to it."""

    def __init__(self, tree: Tree, turns: Mapping[int, TurnFiles] | None = None) -> None:
        """Begin with a work tree, which is shared, and with the turns that a fork has of its source."""
        self.tree = tree
        self.turns = dict(turns or {})
        self.inside: frozenset[int] = frozenset()
        self.strange: set[str] = set()  # paths that someone else ever changed

    # What happens in the work tree

    def turn(self, id: int, parent: Node, before: Tree, unsure: Iterable[str] = ()) -> None:
        """A turn ended below ``parent``, which began with the files ``before``."""
        changed = changes(before, self.tree)
        self.turns[id] = TurnFiles(parent, before, changed, set(unsure) & set(changed))
        self.inside |= self.above(id)

    # Going

    def plan(self, target: Node) -> dict[str, Step]:
        """What taking files along to ``target`` would do, by path."""
        wanted = self.above(target)
        left = [self.turns[id] for id in sorted(self.inside - wanted, reverse=True)]
        return self._steps(left, [self.turns[id] for id in sorted(wanted - self.inside)])

    def go(self, target: Node, taken: Iterable[str]) -> tuple[Side, Side]:
        """Take the files of these paths along; the turns above ``target`` are in them then. Both sides of the act."""
        before = self.side()
        steps = self.plan(target)
        write(self.tree, {path: steps[path].then for path in taken})
        self.inside = self.above(target)
        return before, self.side()

    def plan_return(self, then: Side, since: Side) -> dict[str, Step]:
        """What taking back an act would do that led from ``then`` to ``since``: turns since then are left with it."""
        later = [self.turns[id] for id in sorted(self.inside - since.inside, reverse=True)]
        return self._steps([*later, TurnFiles(None, then.tree, changes(then.tree, since.tree))], [])

    def go_back(self, then: Side, taken: Iterable[str], steps: Mapping[str, Step]) -> Side:
        """Take these paths back with an act; how it was until now."""
        before = self.side()
        write(self.tree, {path: steps[path].then for path in taken})
        self.inside = then.inside
        return before

    def side(self) -> Side:
        """The files as they are."""
        return Side(dict(self.tree), self.inside)

    def above(self, node: Node) -> frozenset[int]:
        """A turn and all above it."""
        found = set()
        while node is not None:
            found.add(node)
            node = self.turns[node].parent
        return frozenset(found)

    def _steps(self, left: Sequence[TurnFiles], entered: Sequence[TurnFiles]) -> dict[str, Step]:
        """One rule for both directions: a path is in doubt where what is there is not what the turn that is left had
        made of it, or not what the turn that is entered had found, or where another one may have written it. What
        others changed between two entered turns was so after the last of them."""
        steps: dict[str, Step] = {}
        for path in {path for turn in (*left, *entered) for path in turn.changed}:
            value, doubt = self.tree.get(path), False
            for turn in left:
                if path in turn.changed:
                    before, after = turn.changed[path]
                    doubt = doubt or value != after or path in turn.unsure
                    value = before
            touched = False
            for turn in entered:
                if touched or path in turn.changed:
                    found = turn.found.get(path)
                    doubt, value, touched = doubt or value != found, found, True
                if path in turn.changed:
                    doubt, value = doubt or path in turn.unsure, turn.changed[path][1]
            now = self.tree.get(path)
            if value != now:
                steps[path] = Step(path, now, value, doubt)
        return steps


def changes(before: Tree, after: Tree) -> Changes:
    """What differs between two trees."""
    paths = {*before, *after}
    return {
        path: (before.get(path), after.get(path)) for path in paths if before.get(path) != after.get(path)
    }


def write(tree: Tree, writes: Mapping[str, str | None]) -> None:
    """Write and delete (None) paths."""
    for path, content in writes.items():
        if content is None:
            tree.pop(path, None)
        else:
            tree[path] = content

"""The tree: every branch of a conversation, and the conversations that were forked from it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.css.query import NoMatches
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Static

from catena.screens.common.page import PageScreen
from catena.screens.tree.comparison import comparison_page
from catena.screens.tree.rows import branch_title, tree_row, tree_title
from catena.screens.tree.search import TreeSearch
from catena.screens.tree.updates import TreeNews
from catena.text.safe_text import safe_line
from catena.text.tree import TreeLayout, TreeLine
from catena.widgets.row_list import RowList, key_hints
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError
from catena_store.conversations.tree import FamilyTree, TreeNode
from catena_store.errors import StoreError
from catena_store.records import MessageState


def tree_hint(*, wide: bool, lines: bool, typing: bool, found: bool) -> Content:
    """``lines``: there are any; ``typing``: letters go into the search; ``found``: the lines are a list of hits.

    What has to be seen stands first where there is little room: a short terminal shows one line of it.
    """
    back = ("esc whole tree" if typing or found else "esc back", "leave")
    if typing:
        return key_hints(("enter keep these", "keep"), back) if lines else key_hints(back)
    search = ("/ search", "search")
    if not lines:
        return key_hints(search, back) if found else key_hints(back)
    more = [("m mark", "mark"), ("d what differs", "compare"), ("f fork", "fork"), ("q quote", "quote")]
    fold = [] if found else [("space fold", "fold")]
    if wide:
        return key_hints(("enter go there", "go"), *fold, search, *more, back)
    return key_hints(("enter go", "go"), search, back, *fold, *more)


_WIDE, _WIDE_HINT = 60, 100
_FOREIGN = "That is in another conversation: enter goes there, and there it can be forked."
_NOTHING_THERE = "No agent took that prompt: there is nothing to go on from. q brings it into the composer."
_MARKED = (
    "",
    "Marked; d compares its branch with the one under the cursor, q quotes it.",
    "Two are marked; d compares their branches, q quotes both.",
)


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """What is to be done with which prompts; going and forking take one."""

    act: Literal["go", "fork", "quote"]
    tree: TreeLayout
    nodes: Sequence[TreeNode]


class TreeScreen(ModalScreen[TreeChoice | None]):
    """Gives what the person chose to do, or None. What is said meanwhile comes in; the cursor stays at its prompt."""

    CSS_PATH = "tree.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "back", priority=True),
        Binding("k,up", "move(-1)", show=False),
        Binding("j,down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("g,home", "to_end(-1)", show=False),
        Binding("G,shift+g,end", "to_end(1)", show=False),
        Binding("enter", "go", "go there", id="tree.go"),
        Binding("space", "fold", "fold", id="tree.fold"),
        Binding("left_square_bracket", "to_parting(-1)", "branch point before", id="tree.parting_before"),
        Binding("right_square_bracket", "to_parting(1)", "next branch point", id="tree.parting_after"),
        Binding("e", "to_end_of_branch", "the end of its branch", id="tree.branch_end"),
        Binding("slash", "search", "search", id="tree.search"),
        Binding("m", "mark", "mark", id="tree.mark"),
        Binding("d", "compare", "what differs", id="tree.compare"),
        Binding("f", "fork", "fork from there", id="tree.fork"),
        Binding("q", "quote", "quote it here", id="tree.quote"),
    ]

    def __init__(
        self,
        branches: ConversationTree,
        window: Window,
        *,
        cwd: str,
        clock: Callable[[], datetime],
        news: TreeNews,
    ) -> None:
        super().__init__()
        self._news = news
        self._branches = branches
        self._of_window = window
        self._cwd = cwd
        self._clock = clock
        self._tree = TreeLayout(FamilyTree())
        self._lines: Sequence[TreeLine] = ()
        self._folded: set[str] = set()
        self._marked: list[str] = []  # the latest two
        self._selected: str | None = None

    def compose(self) -> ComposeResult:
        """Title, prompts, what was said last, what is looked for, keys."""
        yield Static("the tree", id="title", markup=False)
        yield RowList(empty="nothing was said here yet", id="rows")
        yield Static("", id="said", markup=False)
        yield TreeSearch(self._branches.search)
        yield Static("", id="hint")

    async def on_mount(self) -> None:
        """Read the tree; where the person stands is under the cursor, and what was forked is folded."""
        self._news.listen()
        await self._read()
        self.run_worker(self._follow(), group="news")

    def on_unmount(self) -> None:
        """Nothing is heard any more."""
        self._news.end()

    async def _follow(self) -> None:
        while True:
            await self._news.changed()
            with contextlib.suppress(NoMatches):  # the screen was taken down while the store was read
                await self._read()

    async def _read(self) -> None:
        """Show the tree as it is now. What was folded stays so; forks that are new to it are folded, too."""
        try:
            places = await self._branches.places(self._of_window)
        except StoreError as error:
            self._say(str(error))
            return
        before, self._tree = self._tree, TreeLayout(places)
        self._folded |= self._tree.heads - before.heads
        self._marked = [id for id in self._marked if self._tree.node(id) is not None]
        self._draw(keep=self._selected if self._tree.node(self._selected) else places.here)
        self.query_one("#title", Static).update(Content(tree_title(self._tree)))
        self._search.look()

    @property
    def _list(self) -> RowList:
        return self.query_one(RowList)

    @property
    def _search(self) -> TreeSearch:
        return self.query_one(TreeSearch)

    @property
    def _node(self) -> TreeNode | None:
        """The prompt under the cursor."""
        row = self._list.chosen
        return self._tree.node(row.key) if row else None

    def _draw(self, *, keep: str | None = None) -> None:
        """Show the lines, or what was found; the cursor stays with its prompt."""
        keep = keep or self._selected
        search, tree, marked = self._search, self._tree, self._marked
        self._lines = search.lines(tree) if search.wanted else tree.lines(self._folded)
        now, wide, hit = self._clock(), self.size.width >= _WIDE, search.hit
        rows = [tree_row(tree, line, marked, now, wide=wide, hit=hit(line.node.id)) for line in self._lines]
        self._list.show(rows, keep=keep, empty=search.empty)
        self._hint()
        self._select()

    def _hint(self) -> None:
        search, wide = self._search, self.size.width >= _WIDE_HINT
        typing, found = search.has_focus, bool(search.wanted)
        hint = tree_hint(wide=wide, lines=bool(self._lines), typing=typing, found=found)
        self.query_one("#hint", Static).update(hint)

    def _select(self) -> None:
        chosen = self._list.chosen
        self._selected = chosen.key if chosen else self._selected

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(Content(safe_line(text)))

    def on_resize(self, event: Resize) -> None:
        """What a line has room for depends on the width."""
        self._draw()

    # Looking around.

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A click selects; one on what is selected goes there."""
        event.stop()
        if event.key == self._selected:
            self.action_go()
        self._select()

    def action_move(self, step: int) -> None:
        """Up or down."""
        self._list.move(step)
        self._select()

    def action_page(self, step: int) -> None:
        """Up or down by a screenful."""
        self.action_move(step * max(2, self._list.size.height - 1))

    def action_to_end(self, step: int) -> None:
        """To the first line or the last one."""
        self.action_move(step * max(2, len(self._lines)))

    def action_to_parting(self, step: int) -> None:
        """To the next prompt, upwards or downwards, that several branches go on from."""
        at = self._list.cursor
        ahead = range(at + 1, len(self._lines)) if step > 0 else range(at - 1, -1, -1)
        for place in ahead:
            if self._lines[place].parts:
                self._list.cursor = place
                self._select()
                return
        self._say("No branch point below." if step > 0 else "No branch point above.")

    def action_to_end_of_branch(self) -> None:
        """To the last prompt of the branch under the cursor."""
        if (node := self._node) is not None:
            self._reveal(self._tree.branch_end(node.id).id)

    def _reveal(self, id: str) -> None:
        self._folded -= {each.id for each in self._tree.path_to(id) if each.id != id}
        self._draw(keep=id)

    def action_fold(self) -> None:
        """Fold or unfold what comes after the prompt."""
        if (node := self._node) is None or not self._tree.below(node.id):
            return
        if self._search.value:
            self._say("What was found is a list; esc shows the tree.")
            return
        self._folded ^= {node.id}
        self._draw()

    # Searching.

    def action_search(self) -> None:
        """Take what is looked for; the list is filtered with every letter."""
        self._search.open()

    def on_descendant_focus(self) -> None:
        """Letters go into the field, and the hint says so."""
        self._hint()

    def on_descendant_blur(self) -> None:
        """Letters are commands again."""
        with contextlib.suppress(NoMatches):  # the screen is taken down
            self._hint()

    def on_tree_search_found(self, event: TreeSearch.Found) -> None:
        """Filter; what comes in later leaves the cursor at its prompt."""
        event.stop()
        self._draw()
        if event.words is not None:
            self._say(event.words)

    def action_keep(self) -> None:
        """Keep what was found; the letters are commands again."""
        self.set_focus(None)
        self._search.display = bool(self._search.value)

    def action_leave(self) -> None:
        """Back: first from what was searched."""
        if not self._search.display:
            self.dismiss(None)
            return
        self._search.close()
        if self._selected is not None:
            self._reveal(self._selected)

    # Doing.

    def action_go(self) -> None:
        """Stand there."""
        self._choose("go")

    def action_fork(self) -> None:
        """Fork from there."""
        if (node := self._node) is not None and self._tree.foreign(node.id):
            self._say(_FOREIGN)
        else:
            self._choose("fork")

    def action_quote(self) -> None:
        """Quote what is marked, else what is under the cursor, into the composer."""
        marked = [node for node in self._tree.places.nodes if node.id in self._marked]
        if marked:
            self.dismiss(TreeChoice("quote", self._tree, marked))
        else:
            self._choose("quote")

    def _choose(self, act: Literal["go", "fork", "quote"]) -> None:
        if (node := self._node) is None:
            return
        if node.state is MessageState.REFUSED and act != "quote":
            self._say(_NOTHING_THERE)
        else:
            self.dismiss(TreeChoice(act, self._tree, (node,)))

    def action_mark(self) -> None:
        """Mark the prompt, or take its mark away; the newest two marks count."""
        if (node := self._node) is None:
            return
        if node.id in self._marked:
            self._marked.remove(node.id)
        else:
            self._marked = [*self._marked[-1:], node.id]
        self._draw()
        self._say(_MARKED[len(self._marked)])

    def action_compare(self) -> None:
        """Show what differs between two branches: those marked, or the marked or the active one and this."""
        if (node := self._node) is not None:
            self.run_worker(self._compare(node))

    async def _compare(self, node: TreeNode) -> None:
        tree = self._tree
        pair = tree.pair(self._marked, node.id)
        if pair is None:
            self._say("That is one branch. Mark another one with m, then d compares.")
            return
        left, right = pair
        try:
            found = await self._branches.compare(left.end_id, right.end_id)
        except (AgentError, StoreError) as error:
            self._say(str(error))
            return
        titles = (branch_title(tree, left), branch_title(tree, right))
        page = comparison_page(found, titles, self._cwd)
        await self.app.push_screen(PageScreen("what differs between two branches", page))

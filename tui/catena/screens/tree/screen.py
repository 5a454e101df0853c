"""The tree of a conversation: all its branches and its family, and below them what the next prompt would need there."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import WorkType

from catena.acts.branches import TreeChoice
from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.common.dialog import LETTER_KEYS, STYLES, ListScreen
from catena.screens.tree.rows import (
    TreeSearch,
    TreeUpdates,
    branch_title,
    tree_columns,
    tree_count,
    tree_kin,
    tree_row,
)
from catena.text.formats import time_or_day
from catena.text.safe_text import safe, safe_line
from catena.themes.variables import tells_code
from catena.widgets.row_list import Row, RowList, RowsOnDemand
from catena.widgets.sheet_edges import SheetKey, Subject
from catena.workspace.files_along import FilesAlong
from catena.workspace.tab import Tab
from catena.workspace.tree_layout import TreeLayout, TreeLine
from catena_acp.errors import AgentError, ReadOnly
from catena_acp.snapshots.restoring import RestorePlan
from catena_store.conversations.tree import FamilyTree, TreeNode
from catena_store.errors import StoreError
from catena_store.records import Kind, Message, MessageState

_LINES = 12  # of the answer, at most
_CHARACTERS = 2_000
_CODE = re.compile(r"`([^`\n]+)`")
_CODE_STYLE = "$inline on $code-ground"


def tree_keys(*, lines: bool, typing: bool, found: bool, files: bool = False) -> Sequence[SheetKey]:
    """The keys of the tree, most important first, the way out last.

    ``lines``: there are any; ``typing``: letters go into the search; ``found``: the lines are search hits; ``files``:
    going there may take files along.
    """
    back = SheetKey("{leave}", "whole tree" if typing or found else "close", "leave")
    if typing:
        return (SheetKey("{accept}", "keep these", "keep"), back) if lines else (back,)
    search = SheetKey("{tree_search}", "search", "search")
    if not lines:
        return (search, back) if found else (back,)
    return (
        SheetKey("{tree_go}", "go there", "go"),
        *((SheetKey("{tree_files}", "files too", "files_too"),) if files else ()),
        *((SheetKey("{tree_show_files}", "show them", "show_files"),) if files else ()),
        search,
        *(() if found else (SheetKey("{tree_fold}", "fold", "fold"),)),
        SheetKey("{tree_mark}", "mark", "mark"),
        SheetKey("{tree_compare}", "compare", "compare"),
        SheetKey("{tree_fork}", "fork", "fork"),
        SheetKey("{tree_quote}", "quote", "quote"),
        back,
    )


_WIDE = 60
_LOW = 24  # rows of a screen that has no room for the end of a turn
_PAUSE = 0.1  # seconds on a prompt after which its end is read
_FOREIGN = "That is in another conversation. Press {Tree_go} to go there, then fork."
_NOTHING_THERE = "That prompt was never sent. {tree_quote} copies it to the composer."
_MARKED = (
    "",
    "Marked. {tree_compare} compares its branch with the one under the cursor, {tree_quote} quotes it.",
    "Two marked. {tree_compare} compares their branches, {tree_quote} quotes both.",
)


class TreeScreen(ListScreen[TreeChoice | None]):
    """The prompts of a tree, which follow its changes; its result is the act that was chosen."""

    CSS_PATH = [STYLES, "tree.tcss"]  # noqa: RUF012 - as Textual declares them
    HEADING = "Tree"
    EMPTY = "no prompts yet"
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(leave="leave", cancel="leave"),
        *LETTER_KEYS,
        *bindings(
            tree_top="to_end(-1)",
            tree_end="to_end(1)",
            tree_go="go",
            tree_fold="fold",
            tree_branch_above="to_parting(-1)",
            tree_branch_below="to_parting(1)",
            tree_branch_end="to_end_of_branch",
            tree_search="search",
            tree_mark="mark",
            tree_compare="compare",
            tree_fork="fork",
            tree_quote="quote",
            tree_files="files_too",
            tree_show_files="show_files",
        ),
    ]

    def __init__(
        self,
        tab: Tab,
        kin: Sequence[Tab],
        *,
        clock: Callable[[], datetime],
        files_follow: bool,
        show_plan: Callable[[RestorePlan], None],
        subject: Subject,
        at: str | None = None,
        words: str = "",
    ) -> None:
        """``at``: the prompt that the cursor begins on, by default the tab's; ``words`` are searched for."""
        super().__init__(subject)
        self._tab = tab
        self._show_plan = show_plan
        self._new_along = partial(FilesAlong, by_default=files_follow)
        self._along = self._new_along()  # to the prompt under the cursor
        self._updates = TreeUpdates([*dict.fromkeys(each.conversation for each in (tab, *kin))])
        self._branches = tab.conversation.tree
        self._clock = clock
        self._tree = TreeLayout(FamilyTree())
        self._lines: Sequence[TreeLine] = ()  # that are shown
        self._whole: Sequence[TreeLine] = ()  # of the tree, with its folds
        self._folded: set[str] = set()
        self._marked: list[str] = []  # the latest two
        self._selected = at
        # Held here: what is read for them may come when the screen is being closed.
        self._search = TreeSearch(self._branches.search, words)
        self._end = BranchEnd()

    def compose_filter(self) -> Iterator[Widget]:
        """The search."""
        yield self._search

    def compose_field(self) -> ComposeResult:
        """The end of the turn under the cursor."""
        yield self._end

    async def on_mount(self) -> None:
        """Read the tree with forks folded, and put the cursor on the window's prompt."""
        self._updates.subscribe()
        await self.attempt(self._read())
        self.run_worker(self._follow(), group="events")

    def on_unmount(self) -> None:
        """Unsubscribe from the conversations."""
        self._updates.unsubscribe()

    async def _follow(self) -> None:
        while True:
            await self._updates.changed()
            with contextlib.suppress(NoMatches):  # the screen was closed while the store was read
                await self.attempt(self._read())

    async def _read(self) -> None:
        """Show the tree as it is now, with the same folds; fold forks that are new to it."""
        places = await self._branches.places(self._tab.window)
        # A tree of many prompts takes a while to lay out; keys are heard meanwhile.
        tree = await asyncio.to_thread(TreeLayout, places, self._branches.title_of)
        folded = self._folded | (tree.heads - self._tree.heads)
        lines = await asyncio.to_thread(tree.lines, folded)
        if folded != (now := self._folded | (tree.heads - self._tree.heads)):
            folded, lines = now, tree.lines(now)
        self._tree, self._folded, self._whole = tree, folded, lines
        self._marked = [id for id in self._marked if self._tree.node(id) is not None]
        self._draw(keep=self._selected if self._tree.node(self._selected) else places.here)
        subject = Subject(self.subject.conversation, tree_kin(self._tree))
        self.show_head(count=tree_count(self._tree), subject=subject)
        self._search.search()

    @property
    def _node(self) -> TreeNode | None:
        """The prompt under the cursor."""
        return self._tree.node(self.chosen_key)

    def _draw(self, *, keep: str | None = None) -> None:
        """Show the lines or the search hits; the cursor stays at its prompt."""
        keep = keep or self._selected
        search, tree, marked = self._search, self._tree, (*self._marked,)
        now, wide, hit = self._clock(), self.size.width >= _WIDE, search.hit
        rows: Sequence[Row]
        if search.wanted:
            self._lines = search.lines(tree)
            rows = [
                tree_row(tree, line, marked, now, wide=wide, hit=hit(line.node.id)) for line in self._lines
            ]
        else:
            self._lines = lines = self._whole
            keys, here = [line.node.id for line in lines], tree.places.here
            beside_way = range(*self._way(keys))
            asked = bool(self._tab.window.asked)
            rows = RowsOnDemand(
                keys,
                lambda at: tree_row(
                    tree,
                    lines[at],
                    marked,
                    now,
                    wide=wide,
                    on_way=at in beside_way,
                    asks=asked and keys[at] == here,
                ),
                tree_columns(tree, now),
            )
        self.row_list.show(rows, keep=keep, empty=search.empty)
        self._show_keys()
        self._select()

    def _way(self, keys: Sequence[str]) -> tuple[int, int]:
        """The lines beside which the person's branch goes down: from its first prompt to the person's."""
        tree, here = self._tree, self._tree.places.here
        if here not in keys:
            return 0, 0
        return keys.index(tree.path_to(here)[0].id), keys.index(here)

    def _show_keys(self) -> None:
        search = self._search
        typing, found = search.has_focus, bool(search.wanted)
        self.show_keys(
            *tree_keys(lines=bool(self._lines), typing=typing, found=found, files=self._along.offered)
        )

    def _select(self) -> None:
        selected, self._selected = self._selected, self.chosen_key or self._selected
        if selected != self._selected:
            self._along = self._new_along()
            self._show_keys()
        # Not a coroutine: where the cursor moves on at once, it is never begun.
        end: WorkType[None] = partial(self._show_end, self._node)
        self.run_worker(end, group="end", exclusive=True)

    async def _show_end(self, node: TreeNode | None) -> None:
        """Show the end of the turn under the cursor, and what the next prompt there would need."""
        if node is None:
            self._end.empty()
            return
        await asyncio.sleep(_PAUSE)
        if not self._low:
            await self._show_turn(node)
        if not self._tree.foreign(node.id) and node.state is not MessageState.REFUSED:
            along = self._along
            await along.look(self._tab.conversation.files, self._tab.window_id, node.end_id)
            if along is self._along and along.words:
                self._show_keys()
                self._say_files()

    def _say_files(self) -> None:
        """Say what becomes of files, below the price where that is shown."""
        if self._low:
            self.say(self._along.words_with(keys_of(self).shown("tree_files")))  # its hint has no room
        else:
            self._end.show_files(self._along.words, chosen=self._along.choice is not None)

    def action_files_too(self) -> None:
        """Choose that files go along, or that they stay."""
        if self._along.offered:
            self._along.choose_next()
            self._say_files()
        else:
            self.say(self._along.refusal)

    def action_show_files(self) -> None:
        """Show what would happen to files."""
        if self._along.plan is not None and self._along.offered:
            self._show_plan(self._along.plan)

    async def _show_turn(self, node: TreeNode) -> None:
        word, price = (
            "here" if node.id == self._tree.places.here else time_or_day(node.created_at, self._clock()),
            "",
        )
        with contextlib.suppress(AgentError, StoreError, ReadOnly):  # what is not known is not said
            rows = await self._branches.turn_messages(node)
            self._end.show(word, rows, "")
            if not self._tree.foreign(node.id) and node.state is not MessageState.REFUSED:
                needs = await self._tab.conversation.chain.price(self._tab.window, leaf_id=node.end_id)
                price = f"Your next prompt here: {needs.words}"
            self._end.show(word, rows, price)

    def on_resize(self, event: Resize) -> None:
        """Draw the lines for another width; on a low screen they are all there is."""
        low = event.size.height < _LOW
        if low != self._low:
            self.set_class(low, "-low")
            self.say("")  # what is said of files has another place
        self._draw()

    @property
    def _low(self) -> bool:
        return self.has_class("-low")

    # Moving and folding.

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Go to the clicked prompt, if it was under the cursor before."""
        event.stop()
        if event.key == self._selected:
            self.action_go()
        self._select()

    def action_move(self, step: int) -> None:
        """Move the cursor by a number of lines."""
        super().action_move(step)
        self._select()

    def action_to_end(self, step: int) -> None:
        """Move the cursor to the first or the last line."""
        self.action_move(step * max(2, len(self._lines)))

    def action_to_parting(self, step: int) -> None:
        """Move the cursor up or down to the next branch point."""
        at = self.row_list.cursor
        ahead = range(at + 1, len(self._lines)) if step > 0 else range(at - 1, -1, -1)
        for place in ahead:
            if self._lines[place].parts:
                self.row_list.cursor = place
                self._select()
                return
        self.say("No branch point below." if step > 0 else "No branch point above.")

    def action_to_end_of_branch(self) -> None:
        """Move the cursor to the last prompt of its branch."""
        if (node := self._node) is not None:
            self._reveal(self._tree.branch_end(node.id).id)

    def _reveal(self, id: str) -> None:
        self._fold(self._folded - {each.id for each in self._tree.path_to(id) if each.id != id})
        self._draw(keep=id)

    def action_fold(self) -> None:
        """Fold or unfold the prompts below the one under the cursor."""
        if (node := self._node) is None or not self._tree.below(node.id):
            return
        if self._search.value:
            self.say(keys_of(self).said("Search results are a list; {Leave} shows the tree."))
            return
        self._fold(self._folded ^ {node.id})
        self._draw()

    def _fold(self, folded: set[str]) -> None:
        """Fold just these prompts."""
        if folded != self._folded:
            self._folded, self._whole = folded, self._tree.lines(folded)

    # Searching.

    def action_search(self) -> None:
        """Open the search."""
        self._search.open()

    def on_descendant_focus(self) -> None:
        """Show the keys of the search."""
        self._show_keys()

    def on_descendant_blur(self) -> None:
        """Show the keys of the list."""
        self._show_keys()

    def on_tree_search_found(self, event: TreeSearch.Found) -> None:
        """Show the search hits, and what is to be said of them."""
        event.stop()
        self._draw()
        if event.words is not None:
            self.say(event.words)

    def action_keep(self) -> None:
        """Keep the search hits; letters are keys of the list again."""
        self.set_focus(None)

    def action_leave(self) -> None:
        """Close the search; without one, close the screen."""
        if not (self._search.has_focus or self._search.value):
            self.dismiss(None)
            return
        self._search.close()
        if self._selected is not None:
            self._reveal(self._selected)

    # Acts on prompts.

    def action_go(self) -> None:
        """Go to the prompt."""
        self._choose("go")

    def action_fork(self) -> None:
        """Fork at the prompt."""
        if (node := self._node) is not None and self._tree.foreign(node.id):
            self.say(keys_of(self).said(_FOREIGN))
        else:
            self._choose("fork")

    def action_quote(self) -> None:
        """Quote the marked prompts, else the one under the cursor."""
        marked = [node for node in self._tree.places.nodes if node.id in self._marked]
        if marked:
            self.dismiss(TreeChoice("quote", self._tree, marked))
        else:
            self._choose("quote")

    def _choose(self, act: Literal["go", "fork", "quote"]) -> None:
        if (node := self._node) is None:
            return
        if node.state is MessageState.REFUSED and act != "quote":
            self.say(keys_of(self).said(_NOTHING_THERE))
        else:
            files = self._along.choice if act == "go" and not self._tree.foreign(node.id) else None
            self.dismiss(TreeChoice(act, self._tree, (node,), files))

    def action_mark(self) -> None:
        """Mark or unmark the prompt; at most the latest two stay marked."""
        if (node := self._node) is None:
            return
        if node.id in self._marked:
            self._marked.remove(node.id)
        else:
            self._marked = [*self._marked[-1:], node.id]
        self._draw()
        self.say(keys_of(self).fill(_MARKED[len(self._marked)]))

    def action_compare(self) -> None:
        """Compare two branches: the marked ones, or the marked or the active one with that under the cursor."""
        if (node := self._node) is not None:
            self.run_worker(self.attempt(self._compare(node)))

    async def _compare(self, node: TreeNode) -> None:
        tree = self._tree
        pair = tree.pair(self._marked, node.id)
        if pair is None:
            self.say(
                keys_of(self).said(
                    "Both are on one branch. Mark another with {tree_mark}, then press {tree_compare}."
                )
            )
            return
        from catena.screens.comparison.screen import ComparedBranch, ComparisonScreen

        branches = [ComparedBranch(branch_title(tree, node), node.end_id) for node in pair]
        screen = ComparisonScreen(
            self._branches, self._tab.conversation.changes, branches, subject=self.subject
        )
        await self.app.push_screen(screen)


class _Rule(Widget):
    """A dashed rule with a word in it."""

    DEFAULT_CSS = "_Rule { height: 1; color: $rule; }"

    def __init__(self) -> None:
        super().__init__()
        self._word = ""

    def show(self, word: str) -> None:
        """Show another word."""
        self._word = safe_line(word)
        self.refresh()

    def render(self) -> Content:
        """The rule over the whole column."""
        line = Content.assemble("╌ ", (self._word, "$muted"), " ")
        return line + Content("╌" * max(0, self.size.width - line.cell_length))


class BranchEnd(Vertical):
    """The end of a turn below a rule."""

    DEFAULT_CSS = """
    BranchEnd {
        height: 1fr;
        padding: 1 0 0 0;
        overflow: hidden;
        & > Static { height: auto; padding: 1 2 0 2; color: $muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._rule = _Rule()
        self._answer = Static("", id="answer", markup=False)
        self._price = Static("", id="price", markup=False)
        self._files = Static("", id="files", markup=False)

    def compose(self) -> ComposeResult:
        """Rule, answer, price, files."""
        yield self._rule
        yield self._answer
        yield self._price
        yield self._files

    def show(self, word: str, rows: Sequence[Message], price: str) -> None:
        """Show the end of a turn's rows, and a price."""
        self._rule.show(word)
        self._answer.update(_with_code(_end_of(rows), marked=not tells_code(self.app.current_theme)))
        self._price.update(Content(safe_line(price)))
        self.show_files("")

    def show_files(self, words: str, *, chosen: bool = False) -> None:
        """Show what becomes of files; ``chosen``: they go along."""
        self._files.display = bool(words)
        self._files.update(Content.styled(words, "bold $accent" if chosen else ""))

    def empty(self) -> None:
        """Show nothing but the rule."""
        self.show("", (), "")


def _with_code(text: str, *, marked: bool) -> Content:
    """A text with its inline code as the transcript has it; ``marked``: by its backticks, since no colour tells it."""
    if marked:
        return Content(text)
    pieces = _CODE.split(text)
    return Content.assemble(*((piece, _CODE_STYLE) if at % 2 else piece for at, piece in enumerate(pieces)))


def _end_of(rows: Sequence[Message]) -> str:
    """The last paragraph of the last answer."""
    answers = [row.text for row in rows if row.kind is Kind.AGENT and row.text.strip()]
    if not answers:
        return "No answer." if rows else ""
    paragraph = safe(answers[-1][-_CHARACTERS:]).strip().split("\n\n")[-1]
    return "\n".join(paragraph.split("\n")[-_LINES:])

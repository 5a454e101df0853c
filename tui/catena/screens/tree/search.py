"""The search of the tree: prompts at every letter, answers when the letters pause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from textual.message import Message
from textual.worker import WorkType

from catena.screens.tree.rows import hit_line, matches
from catena.widgets.fields.text_fields import SafeInput
from catena.workspace.tree_layout import TreeLayout, TreeLine
from catena_store.errors import StoreError
from catena_store.finding.search import TreeHit, TreeHits

_PAUSE = 0.15  # seconds without another letter, after which the store is asked


class TreeSearch(SafeInput):
    """The search field and its hits; hits of another text are never shown."""

    class Found(Message):
        """The hits changed. ``words``: the message about them; None leaves the one that is shown."""

        def __init__(self, words: str | None) -> None:
            super().__init__()
            self.words = words

    def __init__(self, search: Callable[[str], Awaitable[TreeHits]], words: str = "") -> None:
        super().__init__(words, placeholder="Search prompts, answers, labels", compact=True, id="search")
        self.cursor_blink = False
        self._search = search
        self._hits_text = ""  # the text that was searched for
        self._hits: TreeHits | None = TreeHits()  # None after an error of the store
        self._answer_hits: dict[str, TreeHit] = {}  # of the lines that were shown last, by prompt
        self._tree: TreeLayout | None = None
        self._all_lines: Sequence[TreeLine] = ()

    @property
    def wanted(self) -> str:
        """The text to search for; empty while the whole tree is shown."""
        return self.value.strip()

    @property
    def empty(self) -> str:
        """The words in place of lines, if there are none."""
        if not self.wanted:
            return "no prompts yet"
        if self._hits_text != self.wanted:
            return "no prompt matches; searching answers"
        return "no prompt matches" if self._hits is None else "no match"

    def lines(self, tree: TreeLayout) -> list[TreeLine]:
        """The prompts that match, and those with a hit in their turn, as a list."""
        if self._tree is not tree:
            self._tree, self._all_lines = tree, [hit_line(line) for line in tree.lines(())]
        wanted, hits = self.wanted, self._hits if self._hits_text == self.wanted else None
        of_turns = hits.by_prompt if hits else {}
        found, self._answer_hits = [], {}
        for line in self._all_lines:
            if matches(wanted, tree, line.node):
                found.append(line)
            elif (hit := of_turns.get(line.node.id)) is not None:
                found.append(line)
                self._answer_hits[line.node.id] = hit
        return found

    def hit(self, id: str) -> TreeHit | None:
        """The hit in the turn of a prompt that does not match itself."""
        return self._answer_hits.get(id) if self.wanted else None

    def open(self) -> None:
        """Focus the field."""
        self.screen.set_focus(self)

    def close(self) -> None:
        """Search for nothing, and let go of the keys."""
        self.screen.set_focus(None)
        self.value = ""

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Search for another text, and cancel the search before."""
        event.stop()
        self.post_message(self.Found(""))
        self.search()

    async def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Keep the hits."""
        event.stop()
        await self.run_action("screen.keep")

    def search(self) -> None:
        """Search the store after a pause; older hits of the same text are shown until then."""
        # Not a coroutine: where another letter follows at once, it is never begun.
        search: WorkType[None] = partial(self._search_store, self.wanted)
        self.run_worker(search, group="answers", exclusive=True)

    async def _search_store(self, wanted: str) -> None:
        if not wanted:
            return
        await asyncio.sleep(_PAUSE)
        words = None
        try:
            hits = await self._search(wanted)
        except StoreError as error:
            self._hits, words = None, str(error)
        else:
            self._hits = hits
            if hits.cut:
                words = "Too many matches: only the newest answers are listed."
        self._hits_text = wanted
        self.post_message(self.Found(words))

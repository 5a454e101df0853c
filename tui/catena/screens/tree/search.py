"""Looking for something in the tree: in its prompts with every letter, in the answers when the letters pause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from textual.message import Message

from catena.screens.tree.rows import flat, found_by
from catena.text.tree import TreeLayout, TreeLine
from catena.widgets.text_fields import SafeInput
from catena_store.conversations.search import TreeHit, TreeHits
from catena_store.errors import StoreError

_PAUSE = 0.15  # seconds without another letter, after which the store is asked


class TreeSearch(SafeInput):
    """The field for what is looked for, and what was found of it. Never shows what another text had found."""

    class Found(Message):
        """Other lines are found. ``words``: what is to be said of them; None leaves what was said."""

        def __init__(self, words: str | None) -> None:
            super().__init__()
            self.words = words

    def __init__(self, ask: Callable[[str], Awaitable[TreeHits]]) -> None:
        super().__init__(placeholder="search prompts, answers, labels", compact=True, id="search")
        self.cursor_blink = False
        self.display = False
        self._ask = ask
        self._asked = ""  # the text that the hits belong to
        self._hits: TreeHits | None = TreeHits()  # None where the store could not be asked
        self._shown: dict[str, TreeHit] = {}
        self._tree: TreeLayout | None = None
        self._every: Sequence[TreeLine] = ()

    @property
    def wanted(self) -> str:
        """What is looked for; nothing where the whole tree is to be shown."""
        return self.value.strip()

    @property
    def empty(self) -> str:
        """What to say where there is no line."""
        if not self.wanted:
            return "nothing was said here yet"
        if self._asked != self.wanted:
            return "no prompt like that; answers follow"
        return "no prompt like that" if self._hits is None else "no prompt like that, and no answer"

    def lines(self, tree: TreeLayout) -> list[TreeLine]:
        """The prompts that are found, and those of whose turn the store has found something, as a list."""
        if self._tree is not tree:
            self._tree, self._every = tree, [flat(line) for line in tree.lines(())]
        wanted, hits = self.wanted, self._hits if self._asked == self.wanted else None
        of_turns = hits.by_prompt if hits else {}
        found, self._shown = [], {}
        for line in self._every:
            if found_by(wanted, tree, line.node):
                found.append(line)
            elif (hit := of_turns.get(line.node.id)) is not None:
                found.append(line)
                self._shown[line.node.id] = hit
        return found

    def hit(self, id: str) -> TreeHit | None:
        """Why a prompt is among the lines, where that is not seen from the prompt itself."""
        return self._shown.get(id) if self.wanted else None

    def open(self) -> None:
        """Take letters."""
        self.display = True
        self.focus()

    def close(self) -> None:
        """Look for nothing any more."""
        self.screen.set_focus(None)
        self.display = False
        self.value = ""

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Another text: what is still looked for of the one before is given up."""
        event.stop()
        self.post_message(self.Found(""))
        self.look()

    async def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Keep what was found."""
        event.stop()
        await self.run_action("screen.keep")

    def look(self) -> None:
        """Ask the store, after a pause. What it said of the same text stays until then."""
        self.run_worker(self._look(self.wanted), group="answers", exclusive=True)

    async def _look(self, wanted: str) -> None:
        if not wanted:
            return
        await asyncio.sleep(_PAUSE)
        words = None
        try:
            hits = await self._ask(wanted)
        except StoreError as error:
            self._hits, words = None, str(error)
        else:
            self._hits = hits
            if hits.cut:
                words = "Too many answers have that: only the newest are listed."
        self._asked = wanted
        self.post_message(self.Found(words))

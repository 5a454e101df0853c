"""Finding a text in the branch on the screen: in what is loaded at once, then in all that is stored of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from catena.screens.chat.context import ChatContext
from catena.transcript.widget.search import RowHits, TranscriptSearch
from catena.workspace.tab import Tab
from catena.workspace.tab_branches import MOST_HITS, FoundRow
from catena_acp.continuity.wording.counts import counted

_MOST_PAGES = 20  # read above a hit of a subagent, until the call that started it is among them


class FindActions:
    """The search of the find bar; the newest one ends those before it."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._search: TranscriptSearch | None = None  # the one that is counted
        self._end = 0  # of the branch, as far as it is looked through
        self._counting = False  # not all of the branch is looked through yet
        self._cut = False  # there are more hits than are counted
        self._place_known = True  # all hits above the current one are counted
        self._going = False

    def look(self, text: str) -> None:
        """Look for another text, or for none."""
        self._context.parts.transcript.find(text)
        self._begin(text, goes=True)

    def renew(self) -> None:
        """Count what came while the bar is open, and the hits of another branch; nothing moves on the screen."""
        context = self._context
        transcript, tab = context.parts.transcript, context.presenter.shown
        search = transcript.search
        if search is None or tab is None or not context.parts.find.is_open:
            return
        if search is not self._search:
            if isinstance(search.text, str):
                self._begin(search.text, goes=False)
            return
        if self._cut:  # there are more than are counted anyway
            return
        renewed, looked_to = transcript.find_anew(), self._end
        self._end = context.presenter.loaded.stop + transcript.below
        if self._end > looked_to and transcript.below and not self._counting:
            self._counting = True
            depths = range(max(looked_to - 1, context.presenter.loaded.stop), self._end)
            context.run(self._search_below(search, tab, depths))
        if renewed:
            self._say()

    def _begin(self, text: str, *, goes: bool) -> None:
        """Look through the branch for the text of the transcript's search; ``goes``: to the first place, too."""
        context = self._context
        transcript, tab, loaded = context.parts.transcript, context.presenter.shown, context.presenter.loaded
        self._search, self._end = search, end = transcript.search, loaded.stop + transcript.below
        self._cut, self._place_known = False, True
        self._counting = search is not None and len(loaded) < end
        if search is not None and tab is not None and self._counting:
            context.run(self._look_through_all(search, tab, text, loaded, end, goes=goes))
        self._say()

    def step(self, step: int) -> None:
        """Go to the next place (1) or the one before (-1)."""
        self._context.parts.transcript.find_step(step)
        self._say()
        self._context.run(self._go())

    async def _look_through_all(
        self, search: TranscriptSearch, tab: Tab, text: str, loaded: range, end: int, *, goes: bool
    ) -> None:
        """Look through the rows of a branch above those that are ``loaded``, then through those below up to its end."""
        self._place_known = False
        try:
            await self._look_through(search, tab, text, range(loaded.start), upwards=True, goes=goes)
            if not (self._cut or self._is_over(search, tab)):
                self._place_known = True
                if goes and search.index is None and search.hits:
                    await self._go_to(search, 0)
                await self._look_through(search, tab, text, range(loaded.stop, end), upwards=False, goes=goes)
        finally:
            self._end_counting(search)

    async def _search_below(self, search: TranscriptSearch, tab: Tab, depths: range) -> None:
        try:
            await self._look_through(search, tab, str(search.text), depths, upwards=False, goes=False)
        finally:
            self._end_counting(search)

    def _end_counting(self, search: TranscriptSearch) -> None:
        """Say what was found, also by a search that was broken off."""
        if self._search is search:
            self._counting = False
            self._say()

    async def _look_through(
        self, search: TranscriptSearch, tab: Tab, text: str, depths: range, *, upwards: bool, goes: bool
    ) -> None:
        async with aclosing(self._context.tabs.branches.search(tab, text, depths, upwards=upwards)) as pages:
            async for page in pages:
                if self._is_over(search, tab):
                    return
                if not page:
                    continue
                self._add(search, page)
                if goes and search.index is None:
                    nearest = page[0].message.id
                    places = [at for at, hit in enumerate(search.hits) if hit.message_id == nearest]
                    await self._go_to(search, places[-1] if upwards else places[0])
                if self._cut:
                    self._say()
                    return

    def _add(self, search: TranscriptSearch, page: Sequence[FoundRow]) -> None:
        """Add what was found, until there are more hits than are counted."""
        total, taken = len(search.hits), list[RowHits]()
        for each in page:
            taken.append(RowHits(each.message.id, each.message.depth, each.hits))
            total += each.hits
            if total > MOST_HITS:
                self._cut = True
                break
        self._context.parts.transcript.add_hits(taken)

    def _is_over(self, search: TranscriptSearch, tab: Tab) -> bool:
        context = self._context
        return context.parts.transcript.search is not search or context.presenter.shown is not tab

    async def _go_to(self, search: TranscriptSearch, index: int) -> None:
        search.index = index
        self._say()
        await self._go()

    async def _go(self) -> None:
        """Load what is around the current hit, and show it; steps made meanwhile are followed."""
        presenter, transcript = self._context.presenter, self._context.parts.transcript
        search, tab = transcript.search, presenter.shown
        if self._going or search is None or tab is None:
            return
        self._going = True
        try:
            while (hit := search.hit) is not None and transcript.record(hit.message_id) is None:
                if not await presenter.load(hit.message_id, tab) or self._is_over(search, tab):
                    return
            for _ in range(_MOST_PAGES):
                if hit is None or not transcript.parted(hit.message_id):
                    break
                await presenter.show_older()
        finally:
            self._going = False
        if not self._is_over(search, tab):
            transcript.show_hit()
            self._say()

    def _say(self) -> None:
        """Say which of how many hits is shown, or that there is none."""
        transcript = self._context.parts.transcript
        at, total = transcript.hit_position
        if self._cut:
            known = self._place_known and at <= MOST_HITS
            words = f"{at:,} of {MOST_HITS:,}+ hits" if known else f"{MOST_HITS:,}+ hits"
        elif self._counting:
            words = "…"
        elif total:
            words = f"{at:,} of {counted(total, 'hit')}"
        else:
            words = "no match" if transcript.search is not None else ""
        self._context.parts.find.found(words)

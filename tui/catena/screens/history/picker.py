"""The history: a picker of all conversations, which are filtered by what is typed and searched for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, assert_never

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.worker import WorkType

from catena.history.entries import HistoryEntry, HistoryScope
from catena.history.finding import HitPlace, MessageHit
from catena.history.listing import HistoryListing, Matches, between_keys
from catena.history.preview import ActPrices, Preview
from catena.history.query import FilterKind, HistoryQuery
from catena.history.reading import HistoryReader
from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.common.dialog import TOLD, Dialog
from catena.screens.history.acts import ActName, ActsMenu, HistoryChoice
from catena.screens.history.fields import (
    HistoryFilter,
    HistoryHead,
    QueryCompletions,
    TitleField,
    count_words,
    nothing_found,
)
from catena.screens.history.preview import Previewed, PreviewPane
from catena.screens.history.rows.list import HistoryList, RowDetails, RowOrder
from catena.screens.history.rows.rows import AgentNames, RowLook
from catena.screens.history.sources import HistorySources, MessageSearch, OtherSessions, Search
from catena.text.formats import from_home
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.sheet_edges import SheetKey, SheetWords
from catena.widgets.typing_box import EdgeWords
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

_SHORT = 15  # rows of a screen below which there are no headings
_BESIDE = 140  # cells of a screen from which on the preview stands beside the list
_PAUSE = 0.04  # seconds without another letter, after which messages are searched
_AT_ONCE = 1_000  # conversations that are matched in one go; more are matched between the keys
_FEW = 1_000  # conversations that are read at once, since nobody notices
_LOOK = 1.5  # seconds between two looks at what others changed
_LOOKED_AT = 200  # rows, for the widths of columns

_KEYS = (
    SheetKey("{accept}", "open", "take"),
    SheetKey("{wider_scope}", "scope", "scope(1)"),
    SheetKey("{history_acts}", "acts", "acts"),
    SheetKey("{history_preview}", "preview", "preview"),
    SheetKey("{history_mark}", "mark", "mark"),
    SheetKey("{leave}", "close", "leave"),
)
_KEYS_BESIDE = tuple(key for key in _KEYS if key.does != "preview")
_MENU_KEYS = (
    SheetKey("{accept}", "do it"),
    SheetKey("{row_up row_down}", "choose"),
    SheetKey("{leave}", "back", "leave"),
)
_MORE_KEYS = (
    ("{row_up row_down} {page_up} {page_down}", "choose"),
    ("{mark_up} {mark_down}", "mark, and go on"),
    ("{other_sessions}", "this directory, with the sessions of other tools"),
    ("{history_acts} {act_rename}", "rename"),
    ("{history_acts} {act_archive}", "archive; restore from the archive"),
    ("{history_acts} {act_delete}", "delete"),
    ("{history_undo}", "undo"),
    ("agent: file: dir: branch:", "only those; they are completed as you type"),
    ("before: after: cost> is:", "only those of that time, cost or state"),
    ("todo pinned archived", "only those"),
)


class HistoryScreen(Dialog[HistoryChoice | None]):
    """A picker of conversations, whose result is what is to be done with one of them."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            leave="leave",
            row_up="move(-1)",
            row_down="move(1)",
            page_up="page(-1)",
            page_down="page(1)",
            mark_up="mark(-1)",
            mark_down="mark(1)",
        ),
        *priority_bindings(
            cancel="cancel",
            wider_scope="scope(1)",
            narrower_scope="scope(-1)",
            other_sessions="other_sessions",
            history_acts="acts",
            history_preview="preview",
            history_mark="mark",
            keep_copies="keep_copies(True)",
            no_copies="keep_copies(False)",
            history_rename="act('rename')",
            history_delete="act('delete')",
            history_archive="act('archive')",
            history_undo="act('undo')",
        ),
    ]

    def __init__(
        self,
        sources: HistorySources,
        *,
        agent_title: Callable[[str, str], str | None],
        clock: Callable[[], datetime],
        scope: HistoryScope | None = None,
        words: str = "",
        others: bool = False,
        still: bool = False,
    ) -> None:
        """``agent_title`` gives the settings' title of a stored agent and profile, if they have one.

        ``scope`` to begin with; None for the narrowest that has any. ``words`` are looked for. ``others``: with those
        that other tools have in this directory. ``still``: nothing turns.
        """
        super().__init__(SheetWords("History"))
        self._listing = sources.listing
        self._reader = sources.reader
        self._details = RowDetails(sources.finder, sources.sizes, sources.listing, sources.reader)
        self._read_preview = sources.preview
        self._read_prices = sources.prices
        self._read_rows = sources.rows
        self._acts = sources.acts
        self._others = OtherSessions(sources.listing, sources.others, sources.save_copies)
        self._agents = AgentNames(agent_title)
        self._clock = clock
        self._still = still
        self._read_others_here = sources.others_here
        self._with_others = others
        self._typed = words
        self._asked_scope = scope
        self.scope = scope or HistoryScope.HERE
        self._message_search = MessageSearch(sources.reader, sources.finder)
        self._search = Search()
        self._matches = Matches((), ())
        self._matched = asyncio.Event()  # it is what the filter finds now
        self._matched.set()
        self._held = False  # the row under the cursor stays when what is matched now is shown
        self._marks = MarkedConversations(self, sources.listing, sources.reader)
        self._pages: AsyncIterator[int] | None = None  # that were not read yet; None while nobody may read on
        self._everything = asyncio.Event()  # was read
        self._any_todos = False
        self._widest = 8  # cells of the widest agent

    def on_unmount(self) -> None:
        """Let go of the entries, which may be very many, before Python looks for them among what is garbage."""
        self._matches = Matches((), ())
        self._listing.clear()

    @property
    def chosen_scope(self) -> HistoryScope | None:
        """The scope that the person chose, here or before."""
        return self._asked_scope

    # --- what it is made of

    def compose(self) -> ComposeResult:
        """The list under its filter, and beside or instead of it the preview."""
        # It is styled when it is shown.
        self.set_class(self.app.size.width >= _BESIDE, "-beside", update=False)
        completions = QueryCompletions(id="completions")
        filter_field = HistoryFilter(self._listing, self._reader, completions)
        with Horizontal(id="sides"):
            with Vertical(id="list-side"):
                yield HistoryHead(filter_field, TitleField(), id="head")
                yield completions
                yield HistoryList(RowLook(self._now, self._agents.of), self._details, id="rows")
                yield self._preview_pane("preview-here")
                yield ActsMenu(self._prices_of, id="acts")
                yield from self.compose_foot(*self._foot_keys)
            yield self._preview_pane("preview")

    def _preview_pane(self, id: str) -> PreviewPane:
        return PreviewPane(self._agents.name, lambda: self._now, self._preview_of, id=id)

    @property
    def row_list(self) -> HistoryList:
        """The rows."""
        return self.query_one(HistoryList)

    @property
    def _filter(self) -> HistoryFilter:
        return self.query_one(HistoryFilter)

    @property
    def _title_field(self) -> TitleField:
        return self.query_one(TitleField)

    @property
    def _now(self) -> datetime:
        return self._clock().astimezone()

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from super().help_keys
        yield from keys_of(self).hints(_MORE_KEYS)

    # --- reading

    async def on_mount(self) -> None:
        """Read the first page before anything is drawn, and the others once something needs them."""
        self.set_focus(self._filter)
        self._filter.fill(self._typed)
        pages = self._reader.pages()
        try:
            await anext(pages, 0)
        except StoreError as error:
            self.say(str(error))
        self._listing.set_opened(self._acts.opened)
        self._widen_if_empty()
        self._relist(held=False)
        if (shown := self._wanted_preview()) is not None and self.has_class("-beside"):
            for pane in self._panes():
                await pane.show(shown)
        self.call_after_refresh(self._go_on, pages)

    def _go_on(self, pages: AsyncIterator[int]) -> None:
        self._pages = pages
        self.run_worker(self._count(), group="pages")
        self._read_on_if_needed()
        if self._with_others:
            typed = self._filter.value
            self.action_other_sessions()
            self._filter.fill(self._filter.value + typed)
        elif self.scope is HistoryScope.ALL_SOURCES:
            self._list_others()
        else:
            self.run_worker(self._say_others(), group="others here")
        look_again: WorkType[None] = self._read_changes
        self.set_interval(_LOOK, partial(self.run_worker, look_again, group="events", exclusive=True))
        if not self._still:
            self.row_list.turn()

    async def _say_others(self) -> None:
        with contextlib.suppress(NoMatches, StoreError):  # the screen was closed
            if (here := await self._read_others_here()) and self.scope is not HistoryScope.ALL_SOURCES:
                self.say(f"{here}: {keys_of(self).shown('other_sessions')} shows them")

    async def _count(self) -> None:
        """Count what is in each scope; read on where that is not much more than what was read."""
        with contextlib.suppress(NoMatches):  # the screen was closed
            try:
                await self._reader.count()
                await self._listing.learn_places()
            except StoreError as error:
                self.say(str(error))
            self._widen_if_empty()
            few = self._listing.count(HistoryScope.EVERYWHERE) - len(self._listing) <= _FEW
            self.list_again(held=self.row_list.taken_up)
            self._read_on_if_needed(few=few)

    @property
    def _lacks_rows(self) -> bool:
        """True where conversations that were not read yet may belong to the rows."""
        if self._everything.is_set():
            return False
        return bool(self._search.query.text) or len(self.row_list.content) < self._listing.count(self.scope)

    def _read_on_if_needed(self, *, few: bool = False) -> None:
        """Read all other pages, once, where what is looked for or shown needs them."""
        pages = self._pages
        needed = self._search.query.text or (self._lacks_rows and self.row_list.is_near_end)
        if pages is not None and (few or needed):
            self._pages = None
            self.run_worker(self._read_on(pages), group="pages")

    async def _read_on(self, pages: AsyncIterator[int]) -> None:
        with contextlib.suppress(NoMatches):  # the screen was closed
            try:
                listed = len(self._listing)
                async for _ in pages:
                    if len(self._listing) >= 2 * listed:  # so that all lists together cost no more than two
                        self.list_again(held=self.row_list.taken_up)
                        listed = len(self._listing)
                await self._listing.learn_places()
                self._widen_if_empty()
                self._listing.set_counts({})
            except StoreError as error:
                self.say(str(error))
            self._everything.set()
            self.list_again(held=self.row_list.taken_up)

    def on_history_list_near_end(self) -> None:
        """Read on where rows come to an end."""
        self._read_on_if_needed()

    async def _read_changes(self) -> None:
        """Read what others changed; the row under the cursor stays where it is."""
        with contextlib.suppress(StoreError, NoMatches):
            if await self._reader.refresh():
                self.list_again(held=True)

    def list_again(self, *, held: bool) -> None:
        """List what was read; ``held``: the row under the cursor stays where it is."""
        self._filter.forget_known()
        self._listing.set_opened(self._acts.opened)
        self._relist(held=held)

    def _widen_if_empty(self) -> None:
        """Begin where there is anything, unless the person has chosen a scope or typed by now."""
        if self._asked_scope is not None or self._search.query.text:
            return
        self.scope = self._listing.narrowest_scope

    # --- other tools

    def _list_others(self) -> None:
        """List the sessions of other tools, once it is known that they are wanted."""
        if self._others.begin():
            self.run_worker(self._read_others(), group="others")

    async def _read_others(self) -> None:
        with contextlib.suppress(NoMatches):  # the screen was closed
            try:
                await self._others.read(partial(self.list_again, held=True), keys_of(self))
            except StoreError as error:
                self.say(str(error))
            if self._others.question:
                self.say(self._others.question)

    async def action_keep_copies(self, keep: bool) -> None:
        """Answer whether other tools' sessions are copied before these tools remove them."""
        if self._others.question:
            await self._others.answer(keep, self.say)

    # --- matching

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Match entries in this frame; search messages behind it."""
        event.stop()
        if event.input.id != "filter" or event.value == self._search.query.text:
            return
        self.say(self._others.question)
        query = HistoryQuery.parse(event.value, now=self._now)
        self._search = self._search.narrowed_to(query)
        self._look_for(held=False)
        self._filter.offer()
        if any(each.kind is FilterKind.SOURCE for each in query.filters):
            self._list_others()

    def _look_for(self, *, held: bool) -> None:
        """Show the entries that match, and search the messages."""
        search = self._search
        search.begin()
        self._relist(held=held)
        self._read_on_if_needed()
        # Not a coroutine: where another letter follows at once, it is never begun.
        work: WorkType[None] = partial(self._search_messages, search)
        self.run_worker(work, group="hits", exclusive=True)

    async def _search_messages(self, search: Search) -> None:
        try:
            if search.searching:
                await asyncio.sleep(_PAUSE)
                await self._everything.wait()  # which conversations pass the filters is known by then
                if await self._message_search.learn_facts(search):
                    self._relist(held=True)
                await self._matched.wait()  # so that nothing has to be put in order for it in one go
                await self._message_search.find(search, self.scope)
                await self._matched.wait()
                if not (search.hits.found or len(self._matches)) and self.scope < HistoryScope.EVERYWHERE:
                    await self._message_search.count_everywhere(search)
        except StoreError as error:
            self.say(str(error))
        search.searching = False
        with contextlib.suppress(NoMatches):  # the screen was closed
            if search.hits.found or not len(self._matches):
                self._relist(held=True, again=False)

    def _relist(self, *, held: bool, again: bool = True) -> None:
        """Show what matches now. ``held``: the row under the cursor stays where it is.

        Not ``again``: what matched is known, and only what was found in messages is new.
        """
        search = self._search
        if again and len(self._listing) > _AT_ONCE:
            self._held = held and (self._held or self._matched.is_set())
            self._matched.clear()
            steps = self._listing.matching(search.query, self.scope, facts=search.facts)
            work: WorkType[None] = partial(self._match, steps)
            self.run_worker(work, group="matching", exclusive=True)
        elif again:
            self._matches = self._listing.match(search.query, self.scope, facts=search.facts)
            self._show_matches(held=held)
        elif self._matched.is_set():  # else it is shown with what is matched now
            self._show_matches(held=held)

    async def _match(self, steps: Generator[None, None, Matches]) -> None:
        """Match many entries while keys are heard, and show them."""
        self._matches = await between_keys(steps)
        self._matched.set()
        with contextlib.suppress(NoMatches):  # the screen was closed
            self._show_matches(held=self._held)

    def _show_matches(self, *, held: bool) -> None:
        """Show what matches, in its order; ``held``: the row under the cursor stays where it is."""
        search, rows, matches = self._search, self.row_list, self._matches
        order = RowOrder(search.hits, search.query.folded, self._now, headed=self.app.size.height >= _SHORT)
        content = order.rows(self._listing, matches)
        if held and (chosen := rows.chosen) is not None:
            content = order.with_row_at(content, chosen.key, rows.cursor, rows.fits)
        now = self._now.replace(second=0, microsecond=0)  # rows say no more of it
        if not search.query.text:
            entries = content.entries
            self._any_todos = any(entry.todos for entry in entries[:_LOOKED_AT])
            self._widest = max((len(self._agents.of(entry)) for entry in entries[:_LOOKED_AT]), default=8)
        rows.look(
            now=now,
            directories=self.scope > HistoryScope.HERE,
            agents=self._widest,
            todos=self._any_todos,
            marked=self._marks.keys,
            places=self._details.versions,
        )
        elsewhere = matches.elsewhere or search.elsewhere
        if not search.query.text:
            elsewhere = self._listing.count(HistoryScope.EVERYWHERE) - self._listing.count(self.scope)
        lacking = search.searching or (bool(search.query.text) and not self._everything.is_set())
        empty = nothing_found(
            self.scope,
            elsewhere,
            searching=lacking,
            any_at_all=bool(len(self._listing)),
            wider=keys_of(self).fill("{Wider_scope}"),
        )
        rows.show(content, empty=empty, held=held)
        self._show_head()
        if search.take and len(content):
            self.action_take()
        elif not lacking:
            search.take = False

    def _show_head(self) -> None:
        search = self._search
        shown = len(self.row_list.content)
        total = max(self._listing.count(self.scope), shown)
        if not (search.query.text or self._everything.is_set()):
            shown = total  # they come as somebody goes there
        count = count_words(
            shown, total, marked=len(self._marks), narrowed=bool(search.query.text), cut=search.hits.cut
        )
        renamed = self._title_field.entry
        self.query_one(HistoryHead).show(
            title=f"Rename “{renamed.name}”" if renamed else "History",
            count="" if renamed else count,
            scopes=self._listing.scopes,
            scope=self.scope,
            query=search.query,
            note="best first" if search.query.words else "newest first",
        )

    # --- moving

    def action_move(self, step: int) -> None:
        """Move the cursor by a number of rows; while words are offered, among these."""
        box = self.query_one(QueryCompletions)
        if box.is_open:
            box.move(step)
        else:
            self.row_list.move(step)

    def action_page(self, step: int) -> None:
        """Move the cursor by a screenful."""
        self.row_list.move(step * self.row_list.page_length)

    def action_scope(self, step: int) -> None:
        """Complete the word at the cursor; else go to the next scope, around the ends."""
        if self.query_one(ActsMenu).is_open or self._title_field.entry is not None:
            return
        if step > 0 and self._filter.complete():
            return
        scopes = self._listing.scopes
        at = scopes.index(self.scope) if self.scope in scopes else 0
        self._to_scope(scopes[(at + step) % len(scopes)])

    def action_other_sessions(self) -> None:
        """List what there is of this directory, with the sessions of other tools."""
        if self.query_one(ActsMenu).is_open or self._title_field.entry is not None:
            return
        self.say("")
        self._filter.value = f'in:"{from_home(self._listing.directory)}" '
        self._to_scope(HistoryScope.ALL_SOURCES)

    def _to_scope(self, scope: HistoryScope) -> None:
        self.scope = self._asked_scope = scope
        self._look_for(held=False)
        if scope is HistoryScope.ALL_SOURCES:
            self._list_others()

    def on_edge_words_clicked(self, event: EdgeWords.Clicked) -> None:
        """Go to the scope that was clicked."""
        event.stop()
        self._to_scope(HistoryScope[event.clicked])

    def on_resize(self, event: events.Resize) -> None:
        """Show the preview beside the list if there is room."""
        self.set_class(event.size.width >= _BESIDE, "-beside")
        if self.has_class("-beside"):
            self.set_class(False, "-previewed")
        self.show_keys(*self._foot_keys)
        self._select()

    @property
    def _foot_keys(self) -> Sequence[SheetKey]:
        return _KEYS_BESIDE if self.has_class("-beside") else _KEYS

    def on_history_list_moved(self) -> None:
        """Preview the row under the cursor."""
        self._select()

    # --- the preview

    def action_preview(self) -> None:
        """Show the preview in the place of the list, and back."""
        if not self.has_class("-beside"):
            self.toggle_class("-previewed")
            self._select()

    def _wanted_preview(self) -> Previewed | None:
        entry = self.row_list.chosen
        if entry is None:
            return None
        hit = self.row_list.content.hits.get(entry.key)
        return Previewed(entry, hit=hit, words=self._search.query.folded)

    def _panes(self) -> Iterator[PreviewPane]:
        wanted = "#preview" if self.has_class("-beside") else "#preview-here"
        if self.has_class("-beside") or self.has_class("-previewed"):
            yield from self.query(wanted).results(PreviewPane)

    def _select(self) -> None:
        panes = list(self._panes())
        shown = self._wanted_preview() if panes else None
        for pane in panes:
            pane.select(shown)

    async def _preview_of(self, shown: Previewed) -> Previewed:
        """What a preview shows of a conversation, as far as it can be read."""
        place: HitPlace | None = None
        read: Preview | None = None
        size = 0
        with contextlib.suppress(AgentError, StoreError, ReadOnly):  # what is not known is not shown
            place = await self._details.place_of(shown.hit)
            read = await self._read_preview(shown.entry, shown.hit, place)
            size = await self._details.size_of(shown.entry)
        return replace(shown, preview=read, place=place, size=size)

    # --- choosing

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Open the conversation under the cursor, or take the name that was typed."""
        event.stop()
        if event.input.id == "rename":
            self._rename(event.value)
        else:
            self.action_take()

    def on_history_list_chosen(self) -> None:
        """Open the conversation that was clicked."""
        self.action_take()

    def action_take(self) -> None:
        """Open the conversation under the cursor; where nothing was found yet, the first one that is."""
        if not self._matched.is_set():  # the rows are those of before
            self._search.take = True
        elif (entry := self.row_list.chosen) is not None and entry.foreign:
            self.action_acts()  # whether to continue the session itself, or a copy of it
        elif entry is not None:
            self._choose("open")
        elif self._search.searching or not self._everything.is_set():
            self._search.take = True

    def _choose(self, act: ActName) -> None:
        entry = self.row_list.chosen
        if entry is None or act not in ("open", "beside", "read", "fork", "edit", "quote", "tree", "export"):
            return
        if act == "read":
            self.run_worker(self.attempt(self._read(entry)), group="reading", exclusive=True)
            return
        self._search.take = False
        hit = self.row_list.content.hits.get(entry.key)
        work: WorkType[None] = partial(self._leave_with, HistoryChoice(act, entry, hit))
        self.run_worker(work, group="leaving", exclusive=True)

    async def _read(self, entry: HistoryEntry) -> None:
        """Show all that was said, without opening it."""
        from catena.screens.history.preview import read_screen

        hit = self.row_list.content.hits.get(entry.key)
        rows = await self._read_rows(entry, hit, await self._details.place_of(hit))
        if self.still_in_front():
            await self.app.push_screen(read_screen(entry, rows, hit, agent=self._agents.of(entry)))

    async def _leave_with(self, choice: HistoryChoice) -> None:
        place = await self._details.place_of(choice.hit)
        if self.still_in_front():
            self.dismiss(replace(choice, place=place))

    def action_leave(self) -> None:
        """Close what is open, the innermost first."""
        box, menu = self.query_one(QueryCompletions), self.query_one(ActsMenu)
        if self._title_field.entry is not None:
            self._end_renaming()
        elif menu.is_open:
            self._close_menu()
        elif box.is_open:
            box.close()
        elif self.has_class("-previewed"):
            self.action_preview()
        elif self._marks:
            self._unmark_all()
        else:
            self.dismiss(None)

    def action_cancel(self) -> None:
        """Close the history."""
        self.dismiss(None)

    # --- acts

    def action_mark(self, step: int = 0) -> None:
        """Mark or unmark the conversation under the cursor, and go a row further."""
        if (entry := self.row_list.chosen) is None or entry.foreign:
            return
        self._marks.toggle(entry)
        self._show_marks()
        step = step or 1
        if 0 <= self.row_list.cursor + step < len(self.row_list.content):
            self.row_list.move(step)

    def _unmark_all(self) -> None:
        self._marks.clear()
        self._show_marks()

    def _show_marks(self) -> None:
        self.row_list.look(marked=self._marks.keys)
        self._show_head()

    def action_acts(self) -> None:
        """Show every act on the conversation under the cursor, or on those that are marked."""
        menu, meant = self.query_one(ActsMenu), self._marks.meant
        if not self._marks and (entry := self.row_list.chosen) is not None and entry.foreign:
            meant = [entry]
        if menu.is_open:
            self._close_menu()
            return
        if not meant or self._title_field.entry is not None:
            return
        self.query_one(QueryCompletions).close()
        hit = self.row_list.content.hits.get(meant[0].key)
        menu.offer(meant, hit)
        self.set_class(True, "-acting")
        self.show_keys(*_MENU_KEYS)
        self.set_focus(menu)

    async def _prices_of(self, entry: HistoryEntry, hit: MessageHit | None) -> ActPrices:
        return await self._read_prices(entry, hit, await self._details.place_of(hit))

    def _close_menu(self) -> None:
        self.query_one(ActsMenu).close()
        self.set_class(False, "-acting")
        self.show_keys(*self._foot_keys)
        self.set_focus(self._filter)

    async def on_acts_menu_chosen(self, event: ActsMenu.Chosen) -> None:
        """Do what was chosen."""
        event.stop()
        self._close_menu()
        if event.act is not None:
            await self.action_act(event.act)

    async def action_act(self, act: ActName) -> None:
        """Do an act to the conversation under the cursor, or to those that are marked."""
        meant = self._marks.meant
        match act:
            case "undo":
                await self.attempt(self._marks.do(self._acts.undo()))
            case "mark" if len(self._marks) > 1:
                self._unmark_all()
            case "mark":
                self.action_mark()
            case "open" | "beside" | "read" | "fork" | "edit" | "quote" | "tree" | "export":
                self._choose(act)
            case _ if not meant:
                return
            case "rename":
                self._begin_renaming(meant[0])
            case "pin":
                await self.attempt(self._marks.do(self._acts.pin(meant)))
            case "archive":
                await self.attempt(self._marks.do(self._acts.archive(meant), stays=True))
            case "delete":
                await self.attempt(self._marks.do(self._acts.delete(meant), stays=True))
            case _:
                assert_never(act)

    def _begin_renaming(self, entry: HistoryEntry) -> None:
        self._filter.display = False
        self._title_field.begin(entry)
        self.set_focus(self._title_field)
        self._show_head()

    def _end_renaming(self) -> HistoryEntry | None:
        entry = self._title_field.end()
        self._filter.display = True
        self.set_focus(self._filter)
        self._show_head()
        return entry

    def _rename(self, title: str) -> None:
        entry = self._end_renaming()
        if entry is not None and title != entry.name:
            self.run_worker(self.attempt(self._marks.do(self._acts.rename(entry, title))), group="acting")


class MarkedConversations:
    """The marked conversations of the history; where none is, the one under the cursor is meant."""

    def __init__(self, sheet: HistoryScreen, listing: HistoryListing, reader: HistoryReader) -> None:
        self._sheet = sheet
        self._listing = listing
        self._reader = reader
        self._marked: dict[str, HistoryEntry] = {}
        self._touched: set[str] = set()  # by acts here, which may be undone

    def __len__(self) -> int:
        return len(self._marked)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the marked conversations."""
        return frozenset(self._marked)

    @property
    def meant(self) -> list[HistoryEntry]:
        """The marked conversations as they are now, else the one under the cursor."""
        found = [known for key in self._marked if (known := self._listing.get(key)) is not None]
        if not found and (entry := self._sheet.row_list.chosen) is not None:
            found = [entry]
        return [entry for entry in found if not entry.foreign]

    def toggle(self, entry: HistoryEntry) -> None:
        """Mark or unmark a conversation."""
        if self._marked.pop(entry.key, None) is None:
            self._marked[entry.key] = entry

    def clear(self) -> None:
        """Unmark all."""
        self._marked.clear()

    async def do(self, act: Coroutine[Any, Any, str], *, stays: bool = False) -> None:
        """Await an act, read again what it changed whether or not it succeeded, and show its message.

        ``stays``: the cursor stays where it is, and not on its conversation.
        """
        self._touched |= {entry.key for entry in self.meant}
        rows = self._sheet.row_list
        before = {entry.key for entry in rows.content.entries}
        place = None if stays or rows.chosen is None else rows.chosen.key
        try:
            words = await self._sheet.finish(act)
            self.clear()
        except TOLD as error:
            words = str(error)
        await self._reader.refresh(self._touched)
        at = rows.cursor
        self._sheet.list_again(held=False)
        entries = rows.content.entries
        back = next((at for at, entry in enumerate(entries) if entry.key not in before), None)
        there = rows.content.index(place) if back is None else back
        rows.cursor = min(at if there is None else there, max(0, len(entries) - 1))
        self._sheet.say(words)

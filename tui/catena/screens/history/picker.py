"""The history: a picker of all conversations, which are filtered by what is typed and searched for it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import ClassVar, assert_never

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.worker import WorkType

from catena.errors import InvalidSettings, SettingsNotWritten
from catena.history.entries import HistoryEntry
from catena.history.finding import HitPlace, Hits, MessageFinder, MessageHit, ranked
from catena.history.listing import HistoryListing, Matches
from catena.history.other_tools import OtherTools
from catena.history.preview import ActPrices, Preview
from catena.history.query import FilterKind, HistoryQuery, Known, QueryFacts, completions
from catena.history.ranking import Quality
from catena.history.reading import HistoryReader
from catena.history.scopes import HistoryScope
from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.common.dialog import Dialog
from catena.screens.history.acts import ActName, ActsMenu, HistoryActs, HistoryChoice
from catena.screens.history.list import HistoryList
from catena.screens.history.preview import Previewed, PreviewPane
from catena.screens.history.rows import (
    BY_LETTERS,
    IN_MESSAGES,
    WORKING_FRAMES,
    HistoryRows,
    RowLook,
    time_headings,
)
from catena.screens.history.search import HistoryHead, QueryCompletions, nothing_found, word_before
from catena.text.safe_text import safe_line
from catena.widgets.foot import SheetKey
from catena.widgets.sheet_head import SheetWords
from catena.widgets.text_fields import SafeInput
from catena.widgets.typing_box import EdgeWords
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError
from catena_store.records import Message

_SHORT = 15  # rows of a screen below which there are no headings
_BESIDE = 140  # cells of a screen from which on the preview stands beside the list
_PAUSE = 0.04  # seconds without another letter, after which messages are searched
_REST = 0.06  # seconds on a row after which its preview is read
_KEEP_COPIES = "Keep copies of other tools' sessions? {keep_copies} yes · {no_copies} no"
_PAGES_PAUSE = 0.15  # seconds between two lists while pages are read
_LOOK = 1.5  # seconds between two looks at what others changed
_HIGHER = 4  # rows that the row under the cursor is put higher, at most
_LOOKED_AT = 200  # rows, for the widths of columns
_SIZED = 90  # cells of a list with room for sizes
_SIZES_REST = 0.2  # seconds without another row in sight, after which sizes are read
_TURN = 0.25  # seconds of a frame of the mark of work
_SAME_WORDS = "newest first"

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
    ("{history_rename}", "rename"),
    ("{history_archive}", "archive; restore from the archive"),
    ("{history_delete}", "delete"),
    ("{history_undo}", "undo"),
    ("agent: file: dir: branch:", "only those; they are completed as you type"),
    ("before: after: cost> is:", "only those of that time, cost or state"),
    ("todo pinned archived", "only those"),
)


@dataclass(frozen=True, slots=True)
class HistorySources:
    """What the history is read from, and what is done to it."""

    listing: HistoryListing
    reader: HistoryReader
    finder: MessageFinder
    preview: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[Preview | None]]
    prices: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[ActPrices]]
    rows: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[list[Message]]]
    sizes: Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]  # in bytes, of conversations
    acts: HistoryActs
    others: OtherTools
    save_copies: Callable[[bool], None]  # as a setting; raises SettingsNotWritten, InvalidSettings


@dataclass(slots=True)
class _Search:
    """What is looked for now, and what was found so far."""

    query: HistoryQuery = field(default_factory=HistoryQuery)
    facts: QueryFacts | None = None
    hits: Hits = field(default_factory=Hits)
    elsewhere: int = 0  # conversations outside of the scope in whose messages it was found
    searching: bool = False
    take: bool = False  # Enter was pressed before anything was found


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
        still: bool = False,
    ) -> None:
        """``agent_title`` gives the settings' title of a stored agent and profile, if they have one.

        ``scope`` to begin with; None for the narrowest that has any. ``still``: nothing turns.
        """
        super().__init__(SheetWords("History"))
        self._listing = sources.listing
        self._reader = sources.reader
        self._finder = sources.finder
        self._read_preview = sources.preview
        self._read_prices = sources.prices
        self._read_rows = sources.rows
        self._read_sizes = sources.sizes
        self._sizes: dict[str, int] = {}
        self._acts = sources.acts
        self._others = sources.others
        self._save_copies = sources.save_copies
        self._others_begun = False
        self._question = ""  # that stands above the keys until it is answered
        self._agent_title = agent_title
        self._clock = clock
        self._still = still
        self._asked_scope = scope
        self.scope = scope or HistoryScope.HERE
        self._search = _Search()
        self._matches = Matches((), ())
        self._places: dict[str, HitPlace] = {}  # of hits, by message
        self._marked: dict[str, HistoryEntry] = {}
        self._touched: set[str] = set()  # by acts here, which may be undone
        self._renaming: HistoryEntry | None = None
        self._opened: frozenset[str] = frozenset()  # ids of conversations that have a tab here
        self._complete = False  # every page was read
        self._known: Known | None = None  # what words can become; None where that may have changed
        self._names: dict[tuple[str, str], str] = {}
        self._total = 0  # conversations in the scope
        self._any_todos = False
        self._widest = 8  # cells of the widest agent
        self._frame = 0

    @property
    def chosen_scope(self) -> HistoryScope | None:
        """The scope that the person chose, here or before."""
        return self._asked_scope

    # --- what it is made of

    def compose(self) -> ComposeResult:
        """The list under its filter, and beside or instead of it the preview."""
        self.set_class(self.app.size.width >= _BESIDE, "-beside")  # before there is anything to style again
        filter_field = SafeInput(placeholder="Type to filter", compact=True, id="filter")
        name_field = SafeInput(placeholder="No title", compact=True, id="rename")
        for each in (filter_field, name_field):
            each.cursor_blink = False
        name_field.display = False
        with Horizontal(id="sides"):
            with Vertical(id="list-side"):
                yield HistoryHead(filter_field, name_field, id="head")
                yield QueryCompletions(id="completions")
                yield HistoryList(RowLook(self._now, self._agent_of), id="rows")
                yield PreviewPane(self._name_agent, lambda: self._now, id="preview-here")
                yield ActsMenu(id="acts")
                yield from self.compose_foot(*self._foot_keys)
            yield PreviewPane(self._name_agent, lambda: self._now, id="preview")

    @property
    def row_list(self) -> HistoryList:
        """The rows."""
        return self.query_one(HistoryList)

    @property
    def _filter(self) -> SafeInput:
        return self.query_one("#filter", SafeInput)

    @property
    def _now(self) -> datetime:
        return self._clock().astimezone()

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from super().help_keys
        yield from keys_of(self).hints(_MORE_KEYS)

    def _name_agent(self, agent: str, profile: str) -> str:
        known = self._names.get((agent, profile))
        if known is None:
            title = self._agent_title(agent, profile)
            known = self._names[agent, profile] = safe_line(title or agent)
        return known

    def _agent_of(self, entry: HistoryEntry) -> str:
        return self._name_agent(entry.agent, entry.profile)

    # --- reading

    async def on_mount(self) -> None:
        """Read the first page before anything is drawn, and the others behind the first frame."""
        self.set_focus(self._filter)
        pages = self._reader.pages()
        try:
            await anext(pages, 0)
        except StoreError as error:
            self.say(str(error))
        self._note_opened()
        self._widen_if_empty()
        self._relist(held=False)
        if (shown := self._wanted_preview()) is not None and self.has_class("-beside"):
            await self._preview_now(shown)
        self.call_after_refresh(self._go_on, pages)

    def _go_on(self, pages: AsyncIterator[int]) -> None:
        self.run_worker(self._read_on(pages), group="pages")
        if self.scope is HistoryScope.ALL_SOURCES:
            self._list_others()
        self.set_interval(_LOOK, self._look_again)
        if not self._still:
            self.set_interval(_TURN, self._turn)

    async def _read_on(self, pages: AsyncIterator[int]) -> None:
        with contextlib.suppress(NoMatches):  # the screen was closed
            try:
                last = 0.0
                async for _ in pages:
                    if time.monotonic() - last > _PAGES_PAUSE:
                        self._listed_anew()
                        last = time.monotonic()
                await self._listing.learn_places()
            except StoreError as error:
                self.say(str(error))
            self._complete = True
            self._widen_if_empty()
            self._listed_anew()

    def _look_again(self) -> None:
        work: WorkType[None] = self._read_changes
        self.run_worker(work, group="events", exclusive=True)

    async def _read_changes(self) -> None:
        """Read what others changed; the row under the cursor stays where it is."""
        with contextlib.suppress(StoreError, NoMatches):
            if await self._reader.refresh():
                self._listed_anew()

    def _listed_anew(self) -> None:
        self._known = None
        self._note_opened()
        self._relist(held=True)

    def _note_opened(self) -> None:
        if (opened := self._acts.opened) != self._opened:
            self._opened = opened
            self._listing.set_opened(opened)

    def _widen_if_empty(self) -> None:
        """Begin where there is anything, unless the person has chosen a scope or typed by now."""
        if self._asked_scope is not None or self._search.query.text:
            return
        matches = self._listing.match(HistoryQuery(), HistoryScope.ALL_SOURCES)
        self.scope = next(
            (scope for scope in self._listing.scopes if matches.counts[scope]), HistoryScope.HERE
        )

    def _turn(self) -> None:
        if self.row_list.frame_changes:
            self._frame = (self._frame + 1) % len(WORKING_FRAMES)
            self.row_list.look(frame=WORKING_FRAMES[self._frame])

    # --- other tools

    def _list_others(self) -> None:
        """List the sessions of other tools, once it is known that they are wanted."""
        if not self._others_begun:
            self._others_begun = True
            self.run_worker(self._read_others(), group="others")

    async def _read_others(self) -> None:
        with contextlib.suppress(NoMatches):  # the screen was closed
            any_known = False
            try:
                async for count in self._others.read_into(self._listing):
                    any_known = any_known or count > 0
                    self._listed_anew()
            except StoreError as error:
                self.say(str(error))
            if any_known and self._others.copied is None:
                self._question = keys_of(self).said(_KEEP_COPIES)
                self.say(self._question)

    async def action_keep_copies(self, keep: bool) -> None:
        """Answer whether other tools' sessions are copied before these tools remove them."""
        if not self._question:
            return
        self._question = ""
        try:
            self._save_copies(keep)
        except (SettingsNotWritten, InvalidSettings) as error:
            self.say(f"The answer could not be saved: {error}")
        else:
            self.say("Copied from now on." if keep else "Nothing is copied. `[history] copies` changes that.")
        await self._others.keep_copies(keep)

    # --- matching

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Match entries in this frame; search messages behind it."""
        event.stop()
        if event.input.id != "filter" or event.value == self._search.query.text:
            return
        self.say(self._question)
        query = HistoryQuery.parse(event.value, now=self._now)
        kept = self._search.facts if query.unknown == self._search.query.unknown else None
        self._search = _Search(query, kept)
        self._look_for(held=False)
        self._offer_completions()
        if any(each.kind is FilterKind.SOURCE for each in query.filters):
            self._list_others()

    def _look_for(self, *, held: bool) -> None:
        """Show the entries that match, and search the messages."""
        search = self._search
        search.hits, search.elsewhere, search.take = Hits(), 0, False
        search.searching = bool(search.query.words or search.query.unknown)
        self._relist(held=held)
        # Not a coroutine: where another letter follows at once, it is never begun.
        work: WorkType[None] = partial(self._search_messages, search)
        self.run_worker(work, group="hits", exclusive=True)

    async def _search_messages(self, search: _Search) -> None:
        query = search.query
        try:
            if search.searching:
                await asyncio.sleep(_PAUSE)
                if query.unknown and search.facts is None:
                    search.facts = await self._reader.facts(query)
                    self._relist(held=True)
                search.hits = await self._finder.find(query, self.scope, facts=search.facts)
                if not (search.hits.found or len(self._matches)) and self.scope < HistoryScope.EVERYWHERE:
                    everywhere = await self._finder.find(query, HistoryScope.EVERYWHERE, facts=search.facts)
                    search.elsewhere = len(everywhere)
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
        search, rows = self._search, self.row_list
        if again:
            self._matches = self._listing.match(search.query, self.scope, facts=search.facts)
        matches = self._matches
        entries: Sequence[HistoryEntry] = matches.entries
        qualities: Sequence[Quality] = matches.qualities
        if search.hits.found:
            entries, qualities = with_messages(self._listing, matches, search.hits)
        content = self._content(entries, qualities)
        if held and (chosen := rows.chosen) is not None:
            content = self._kept(content, chosen.key)
        now = self._now
        if not search.query.text:
            self._total = len(entries)
            self._any_todos = any(entry.todos for entry in entries[:_LOOKED_AT])
            self._widest = max((len(self._agent_of(entry)) for entry in entries[:_LOOKED_AT]), default=8)
        rows.look(
            now=now,
            directories=self.scope > HistoryScope.HERE,
            agents=self._widest,
            todos=self._any_todos,
            marked=frozenset(self._marked),
            places=self._versions,
        )
        elsewhere = matches.elsewhere or search.elsewhere
        empty = nothing_found(
            self.scope,
            elsewhere,
            searching=search.searching or not self._complete,
            any_at_all=bool(len(self._listing)),
            wider=keys_of(self).fill("{Wider_scope}"),
        )
        rows.show(content, empty=empty, held=held)
        self._show_head()
        if search.take and len(content):
            self.action_take()
        elif not (search.searching or not self._complete):
            search.take = False

    def _content(self, entries: Sequence[HistoryEntry], qualities: Sequence[Quality]) -> HistoryRows:
        words, headed = self._search.query.folded, self.app.size.height >= _SHORT
        return HistoryRows(
            entries,
            qualities,
            {hit.conversation_id: hit for hit in self._search.hits},
            words,
            headings=time_headings(entries, self._now) if headed and not words else {},
            rules=_rules(qualities) if words else {},
        )

    def _kept(self, content: HistoryRows, key: str) -> HistoryRows:
        """The rows with the one of a key at its place, or so much higher that new rows that wait stay in sight."""
        rows = self.row_list
        first = sum(1 for each in content.entries[:_LOOKED_AT] if each.waits and each.key != key)
        kept = content
        for index in range(rows.cursor, max(-1, min(first, rows.cursor) - 1, rows.cursor - _HIGHER), -1):
            entries, qualities = _kept_at(content.entries, content.qualities, key, index)
            kept = content if entries is content.entries else self._content(entries, qualities)
            if rows.fits(kept, key):
                break
        return kept

    @property
    def _versions(self) -> dict[str, tuple[int, int]]:
        return {id: (place.version, place.versions) for id, place in self._places.items()}

    def _show_head(self) -> None:
        shown, total = len(self.row_list.content), max(self._total, len(self.row_list.content))
        count = f"{shown:,} of {total:,}" if self._search.query.text else f"{shown:,}"
        if self._search.hits.cut and shown < total:
            count = f"{shown:,}+ of {total:,}"
        if self._marked:
            count = f"{len(self._marked):,} marked · {count}"
        renamed = self._renaming
        self.query_one(HistoryHead).show(
            title=f"Rename “{renamed.name}”" if renamed else "History",
            count="" if renamed else count,
            scopes=self._listing.scopes,
            scope=self.scope,
            query=self._search.query,
            note="best first" if self._search.query.words else _SAME_WORDS,
        )

    # --- words that complete themselves

    def _offer_completions(self) -> None:
        box, field_ = self.query_one(QueryCompletions), self._filter
        word = word_before(field_.value, field_.cursor_position)
        if not word:
            box.close()
            return
        if word.lower().startswith("file:"):
            work: WorkType[None] = partial(self._offer_files, field_.value, word.partition(":")[2])
            self.run_worker(work, group="files", exclusive=True)
            return
        if ":" in word and self._known is None:
            self._known = self._listing.known
        box.offer(completions(field_.value, field_.cursor_position, self._known or Known()))

    async def _offer_files(self, text: str, beginning: str) -> None:
        with contextlib.suppress(StoreError, NoMatches):
            known = Known(files=await self._reader.files(beginning.strip('"')))
            if self._filter.value == text:
                offered = completions(text, self._filter.cursor_position, known)
                self.query_one(QueryCompletions).offer(offered)

    def _complete_word(self) -> bool:
        box, field_ = self.query_one(QueryCompletions), self._filter
        if (taken := box.completion) is None:
            return False
        box.close()
        behind = "" if taken.text.endswith((":", ">")) else " "
        value = field_.value
        field_.value = f"{value[: taken.start]}{taken.text}{behind}{value[taken.end :].lstrip()}"
        field_.cursor_position = taken.start + len(taken.text) + len(behind)
        return True

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
        if self.query_one(ActsMenu).is_open or self._renaming is not None:
            return
        if step > 0 and self._complete_word():
            return
        scopes = self._listing.scopes
        at = scopes.index(self.scope) if self.scope in scopes else 0
        self._to_scope(scopes[(at + step) % len(scopes)])

    def _to_scope(self, scope: HistoryScope) -> None:
        self.scope = self._asked_scope = scope
        self._total = len(self._listing.match(HistoryQuery(), scope))
        self._look_for(held=False)
        if scope is HistoryScope.ALL_SOURCES:
            self._list_others()

    def on_edge_words_clicked(self, event: EdgeWords.Clicked) -> None:
        """Go to the scope that was clicked."""
        event.stop()
        self._to_scope(HistoryScope[event.clicked])

    def on_resize(self, event: events.Resize) -> None:
        """Show the preview beside the list where there is room."""
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

    def on_history_list_seen(self) -> None:
        """Learn where the hits in sight stand, and how large conversations are that have room to say it."""
        rows = self.row_list
        if rows.size.width >= _SIZED:
            work: WorkType[None] = self._measure
            self.run_worker(work, group="sizes", exclusive=True)
        unknown = [
            hit
            for at in rows.in_sight
            if (hit := rows.content.hits.get(rows.content.entries[at].key))
            and hit.message_id not in self._places
        ]
        if unknown:
            placing: WorkType[None] = partial(self._place_hits, unknown)
            self.run_worker(placing, group="places", exclusive=True)

    async def _measure(self) -> None:
        """Read the sizes of the rows in sight, once the list rests."""
        await asyncio.sleep(_SIZES_REST)
        with contextlib.suppress(StoreError, NoMatches):
            entries = self.row_list.content.entries
            await self._read_sizes_of([entries[at] for at in self.row_list.in_sight])
            self.row_list.look(sizes=dict(self._sizes))

    async def _read_sizes_of(self, entries: Sequence[HistoryEntry]) -> None:
        wanted = [each.key for each in entries if not each.foreign and each.key not in self._sizes]
        if wanted:
            self._sizes |= await self._read_sizes(wanted)

    async def _place_hits(self, hits: Sequence[MessageHit]) -> None:
        with contextlib.suppress(NoMatches):
            for hit in hits:
                await self._place_of(hit)
            self.row_list.look(places=self._versions)

    async def _place_of(self, hit: MessageHit) -> HitPlace | None:
        if hit.message_id not in self._places:
            with contextlib.suppress(StoreError):
                self._places[hit.message_id] = await self._finder.place(hit)
        return self._places.get(hit.message_id)

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
        shown = self._wanted_preview()
        if not any(self._panes()):
            return
        if shown is None:
            for pane in self._panes():
                pane.show(None)
            return
        # Not a coroutine: where the cursor moves on at once, it is never begun.
        work: WorkType[None] = partial(self._preview, shown)
        self.run_worker(work, group="preview", exclusive=True)

    async def _preview(self, shown: Previewed) -> None:
        await asyncio.sleep(_REST)
        await self._preview_now(shown)

    async def _preview_now(self, shown: Previewed) -> None:
        """Read what a preview shows, and show it."""
        place: HitPlace | None = None
        read: Preview | None = None
        with contextlib.suppress(AgentError, StoreError, ReadOnly):  # what is not known is not shown
            place = await self._place_of(shown.hit) if shown.hit else None
            read = await self._read_preview(shown.entry, shown.hit, place)
            await self._read_sizes_of([shown.entry])
        size = self._sizes.get(shown.entry.key, shown.entry.size or 0)
        for pane in self._panes():
            pane.show(replace(shown, preview=read, place=place, size=size))

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
        if (entry := self.row_list.chosen) is not None and entry.foreign:
            self.action_acts()  # whether to continue the session itself, or a copy of it
        elif entry is not None:
            self._choose("open")
        elif self._search.searching or not self._complete:
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
        from catena.screens.history.reader import ReadScreen

        hit = self.row_list.content.hits.get(entry.key)
        place = await self._place_of(hit) if hit else None
        rows = await self._read_rows(entry, hit, place)
        words = tuple(dict.fromkeys(hit.snippet[start:end] for start, end in hit.spans)) if hit else ()
        found = (hit.message_id, words) if hit else None
        about = self._agent_of(entry)
        await self.app.push_screen(
            ReadScreen(entry.name, rows, directory=entry.cwd, about=about, found=found)
        )

    async def _leave_with(self, choice: HistoryChoice) -> None:
        place = await self._place_of(choice.hit) if choice.hit else None
        self.dismiss(replace(choice, place=place))

    def action_leave(self) -> None:
        """Close what is open, the innermost first."""
        box, menu = self.query_one(QueryCompletions), self.query_one(ActsMenu)
        if self._renaming is not None:
            self._end_renaming()
        elif menu.is_open:
            self._close_menu()
        elif box.is_open:
            box.close()
        elif self.has_class("-previewed"):
            self.action_preview()
        elif self._marked:
            self._mark_only({})
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
        marked = dict(self._marked)
        if marked.pop(entry.key, None) is None:
            marked[entry.key] = entry
        self._mark_only(marked)
        step = step or 1
        if 0 <= self.row_list.cursor + step < len(self.row_list.content):
            self.row_list.move(step)

    def _mark_only(self, marked: dict[str, HistoryEntry]) -> None:
        self._marked = marked
        self.row_list.look(marked=frozenset(marked))
        self._show_head()

    @property
    def _meant(self) -> list[HistoryEntry]:
        """The marked conversations as they are now, else the one under the cursor."""
        found = [known for key in self._marked if (known := self._listing.get(key)) is not None]
        if not found and (entry := self.row_list.chosen) is not None:
            found = [entry]
        return [entry for entry in found if not entry.foreign]

    def action_acts(self) -> None:
        """Show every act on the conversation under the cursor, or on those that are marked."""
        menu, meant = self.query_one(ActsMenu), self._meant
        if not self._marked and (entry := self.row_list.chosen) is not None and entry.foreign:
            meant = [entry]
        if menu.is_open:
            self._close_menu()
            return
        if not meant or self._renaming is not None:
            return
        self.query_one(QueryCompletions).close()
        hit = self.row_list.content.hits.get(meant[0].key)
        menu.offer(meant, at_hit=hit is not None)
        self.set_class(True, "-acting")
        self.show_keys(*_MENU_KEYS)
        self.set_focus(menu)
        if len(meant) == 1 and not meant[0].foreign:
            work: WorkType[None] = partial(self._price, meant[0], hit)
            self.run_worker(work, group="prices", exclusive=True)

    async def _price(self, entry: HistoryEntry, hit: MessageHit | None) -> None:
        with contextlib.suppress(AgentError, StoreError, ReadOnly, NoMatches):
            place = await self._place_of(hit) if hit else None
            self.query_one(ActsMenu).price(await self._read_prices(entry, hit, place))

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
        meant = self._meant
        match act:
            case "undo":
                await self.attempt(self._do(self._acts.undo()))
            case "mark" if len(self._marked) > 1:
                self._mark_only({})
            case "mark":
                self.action_mark()
            case "open" | "beside" | "read" | "fork" | "edit" | "quote" | "tree" | "export":
                self._choose(act)
            case _ if not meant:
                return
            case "rename":
                self._begin_renaming(meant[0])
            case "pin":
                await self.attempt(self._do(self._acts.pin(meant)))
            case "archive":
                await self.attempt(self._do(self._acts.archive(meant), stays=True))
            case "delete":
                await self.attempt(self._do(self._acts.delete(meant), stays=True))
            case _:
                assert_never(act)

    async def _do(self, act: Awaitable[str], *, stays: bool = False) -> None:
        """Await an act, read again what it changed whether or not it succeeded, and show its message.

        ``stays``: the cursor stays where it is, and not on its conversation.
        """
        self._touched |= {entry.key for entry in self._meant}
        before = {entry.key for entry in self.row_list.content.entries}
        rows = self.row_list
        place = None if stays or rows.chosen is None else rows.chosen.key
        try:
            words = await act
            self._marked = {}
        finally:
            await self._reader.refresh(self._touched)
            self._known = None
            self._note_opened()
            at = rows.cursor
            self._relist(held=False)
            entries = rows.content.entries
            back = next((at for at, entry in enumerate(entries) if entry.key not in before), None)
            there = rows.content.index(place) if back is None else back
            rows.cursor = min(at if there is None else there, max(0, len(entries) - 1))
        self.say(words)

    def _begin_renaming(self, entry: HistoryEntry) -> None:
        self._renaming = entry
        name = self.query_one("#rename", SafeInput)
        name.value = entry.name
        name.cursor_position = len(entry.name)
        self._filter.display, name.display = False, True
        self.set_focus(name)
        self._show_head()

    def _end_renaming(self) -> None:
        self._renaming = None
        self.query_one("#rename", SafeInput).display = False
        self._filter.display = True
        self.set_focus(self._filter)
        self._show_head()

    def _rename(self, title: str) -> None:
        entry = self._renaming
        self._end_renaming()
        if entry is not None and title != entry.name:
            self.run_worker(self.attempt(self._do(self._acts.rename(entry, title))), group="acting")


def _rules(qualities: Sequence[Quality]) -> dict[int, str]:
    """The lines before what was found in messages, and before what letters alone found, by the rows below them."""
    words = {Quality.NONE: IN_MESSAGES, Quality.FUZZY: BY_LETTERS}
    return {qualities.index(quality): word for quality, word in words.items() if quality in qualities}


def with_messages(
    listing: HistoryListing, matches: Matches, hits: Hits
) -> tuple[Sequence[HistoryEntry], Sequence[Quality]]:
    """The entries in the order of ``ranked``, without a value for each of thousands."""
    found = {hit.conversation_id for hit in hits}
    letters = next((at for at, each in enumerate(matches.qualities) if each is Quality.FUZZY), len(matches))
    if any(entry.key in found for entry in matches.entries[letters:]):
        rows = ranked(listing, matches, hits)
        return [row.entry for row in rows], [row.quality for row in rows]
    known = {entry.key for entry in matches.entries[:letters]}
    new = [
        entry
        for hit in hits
        if hit.conversation_id not in known and (entry := listing.get(hit.conversation_id)) is not None
    ]
    return (
        [*matches.entries[:letters], *new, *matches.entries[letters:]],
        [*matches.qualities[:letters], *([Quality.NONE] * len(new)), *matches.qualities[letters:]],
    )


def _kept_at(
    entries: Sequence[HistoryEntry], qualities: Sequence[Quality], key: str, index: int
) -> tuple[Sequence[HistoryEntry], Sequence[Quality]]:
    """The rows, with one of them kept at its index."""
    if index < len(entries) and entries[index].key == key:
        return entries, qualities
    at = next((at for at, entry in enumerate(entries) if entry.key == key), None)
    if at is None:
        return entries, qualities
    moved, moved_qualities = list(entries), list(qualities)
    index = min(index, len(moved) - 1)
    moved.insert(index, moved.pop(at))
    moved_qualities.insert(index, moved_qualities.pop(at))
    return moved, moved_qualities

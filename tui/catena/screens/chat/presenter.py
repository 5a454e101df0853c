"""The presenter: what conversations publish, drawn into the widgets of a chat."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import assert_never

from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.screens.chat.bars.composer_edges import (
    ComposerEdges,
    EditWords,
    FilesWords,
    Status,
)
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.bars.tabs import TabLabel, labels_of, marks_of
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.panels.attachments import AttachmentBar, ShellPanel
from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.screens.chat.panels.fork import ForkPanel
from catena.screens.chat.panels.lineage import LineageLine
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.plan import PlanPanel
from catena.screens.chat.panels.queue import QueueList, note_of
from catena.screens.chat.panels.trouble import TroublePanel
from catena.terminal.control.sequences import Notification
from catena.terminal.times import call_after
from catena.text.agent_text import LONG_OPENING, acts_unasked
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena.transcript import Transcript
from catena.transcript.model.heights import BEGINNING
from catena.transcript.widget.browsing import is_prompt
from catena.widgets.composer import Composer
from catena.widgets.hint_line import HintLine
from catena.workspace.files_along import FILES_STAY, cut_words
from catena.workspace.next_price import shown_price
from catena.workspace.panes import Pane
from catena.workspace.questions.permission_words import title_words
from catena.workspace.tab import STOP_PATIENCE, Editing, Tab
from catena.workspace.tab_branches import END, HistoryPage
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.conversation_events import (
    BackgroundChanged,
    ConversationEvent,
    Doing,
    DoingChanged,
    ElicitationClosed,
    ElicitationOpened,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    PermissionClosed,
    PermissionOpened,
    PlaceMoved,
    PromptReturned,
    QueueChanged,
    Remarked,
    Renamed,
    SessionChanged,
    SessionState,
    Troubled,
    TurnEnded,
    TurnStarted,
    Usage,
)
from catena_acp.continuity.wording.problems import QUIET, problem_of_notice, quiet_words, retry_words
from catena_acp.conversation.inspection.todos import left_open_on
from catena_acp.spoken.spoken import AskedNotice, spoken_of
from catena_store.errors import NotFound, StoreError
from catena_store.records import Kind, Message, MessageState


def status_of(tab: Tab, *, keys: KeyMap = DEFAULT_KEYS) -> Status:
    """The status of a tab, as its composer shows it."""
    session = tab.session or tab.window.session
    doing, ways = "", ""
    if tab.conversation.read_only:
        doing = _hold(tab)
    elif tab.busy:
        doing, ways = _doing(tab.doing, session.agent_title, keys)
        if tab.stop_unheeded:
            ways = keys.fill("{stop} again kills the agent's process")
    mode = mode_name(session)
    context, cost = meter(tab.usage, used=not tab.untouched)
    price = shown_price(tab)
    return Status(
        agent=session.agent_title,
        model=session.model or "",
        mode=mode,
        modes=len(session.modes),
        unasked=acts_unasked(session.mode or "", mode),
        context=context,
        cost=cost,
        directory=from_home(tab.conversation.record.cwd) if tab.untouched else "",
        price=price.short_words if price else "",
        price_in_brief=price.in_brief if price else "",
        price_in_a_word=price.in_a_word if price else "",
        doing=doing,
        ways=ways,
        busy=tab.busy,
        working=tab.at_work,
        asking=tab.mark == "?",
        background=tab.window.background_count,
    )


def _runs(row: Message) -> bool:
    return row.kind is Kind.TOOL and row.state is MessageState.OPEN


def _hold(tab: Tab) -> str:
    holder = tab.conversation.holder
    if tab.conversation.free:
        return "other Catena exited: type, or /history takeover, to go on"
    if holder is None:
        return "read-only: open in another Catena"
    return f"read-only: open in Catena ({holder.pid}) on {safe_line(holder.host)}"


def unheeded_stop(tab: Tab, keys: KeyMap = DEFAULT_KEYS) -> str:
    """Text on an agent that does not stop; "" while it may still stop."""
    if not tab.stop_unheeded:
        return ""
    agent = tab.agent_title
    kills = keys.said("{Stop} kills its process; its partial answer is saved.")
    return f"{agent} is not stopping. {kills}"


def _doing(doing: Doing, agent: str, keys: KeyMap) -> tuple[str, str]:
    match doing:
        case Doing.IDLE:
            return "", ""
        case Doing.STARTING:
            return f"starting {agent}", ""
        case Doing.OPENING:
            return "opening a session", ""
        case Doing.LONG_OPENING:
            return keys.said(LONG_OPENING), ""
        case Doing.LOGGING_IN:
            return f"waiting for {agent} to log in", keys.fill("{stop} cancel")
        case Doing.WORKING | Doing.ASKING:
            return "", ""
        case Doing.STOPPING:
            return "stopping", ""
        case _:
            assert_never(doing)


def mode_name(session: SessionState) -> str:
    """The name of the mode in force."""
    return next((mode.name for mode in session.modes if mode.id == session.mode), session.mode or "")


def meter(usage: Usage | None, *, used: bool = True) -> tuple[str, str]:
    """Context and cost, as far as the agent reports them; ``used``: something has been said there."""
    if usage is None:
        return "", ""
    context = cost = ""
    if usage.size:
        context = f"{_short(usage.size)} tokens"
        context = f"{_short(usage.used)} of {context}" if used else context
    if usage.cost is not None:
        sign = {"USD": "$", "EUR": "€", None: ""}.get(usage.currency, f"{usage.currency} ")
        cost = f"{sign}{usage.cost:.2f}"
    return context, cost


def edit_words(editing: Editing | None, version: tuple[int, int] | None, *, busy: bool) -> EditWords | None:
    """The edit of a tab in words; ``version`` is the place of the prompt among its versions."""
    if editing is None:
        return None
    at = f"{editing.prompt.created_at.astimezone():%H:%M}"
    place, count = version or (1, 2)
    return EditWords(at, editing.price, editing.price_in_brief, version=f"{place}/{count}", stops_turn=busy)


def files_words(tab: Tab, keys: KeyMap = DEFAULT_KEYS) -> FilesWords | None:
    """What becomes of the files of a tab's directory, in words: by an edit, after a move, or since that was cut off."""
    key = keys.shown("files_too")
    if tab.cut is not None:
        return FilesWords(f"{cut_words(tab.cut)}: {key} decides", f"restore interrupted: {key}", cut=True)
    if (along := tab.along) is not None:
        return FilesWords(along.words_with(key), along.short_words(key), chosen=along.choice is not None)
    if tab.editing is not None and tab.editing.along.stay:
        return FilesWords(FILES_STAY, offered=False)
    return None


def _short(number: int) -> str:
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


_SLICE = 0.02  # seconds for the events of one frame
_TOGETHER = 100  # rows that are put on the screen at once
_MOST_BEHIND = 500  # rows; beyond them the newest page is read instead of drawing each
_MOST_ROWS = 1_000  # that the transcript shows before some go, unless they are near the screen,
_FEWEST_CUT = 300  # and no fewer than these
_WAITING_WORDS = 80  # cells, in which all can be said of a long silence


@dataclass(frozen=True, slots=True)
class Parts:
    """The widgets of one chat."""

    lineage: LineageLine
    conversation: ConversationArea
    transcript: Transcript
    find: FindBar
    plan: PlanPanel
    queue: QueueList
    attached: AttachmentBar
    permission: PermissionPanel
    elicitation: ElicitationPanel
    trouble: TroublePanel
    fork: ForkPanel
    edges: ComposerEdges
    composer: Composer
    hints: HintLine
    shell: ShellPanel


class TabPresenter:
    """Draws the tab of one pane, and the marks of all tabs in the bar.

    It alone takes the events of that tab; while the page of a tab is read, its events wait, so that nothing is drawn
    twice.
    """

    def __init__(
        self,
        parts: Parts,
        tabs: OpenTabs,
        pane: Pane,
        *,
        attention: Callable[[Tab, Notification, float], None],
        looked_at: Callable[[], bool],
        changed: Callable[[], None],
        show_tabs: Callable[[Sequence[TabLabel]], None],
        keys: Callable[[], KeyMap],
    ) -> None:
        """``attention``: something happened that the person may not see, so many seconds after the turn began.

        ``looked_at``: whether the terminal has the focus. ``changed``: called after every drawing. ``show_tabs`` draws
        the bar of tabs. ``keys`` are those in effect.
        """
        self._parts = parts
        self._tabs = tabs
        self._pane = pane
        self._attention = attention
        self._looked_at = looked_at
        self._changed = changed
        self._show_tabs = show_tabs
        self._keys = keys
        self._loading: list[Tab] = []  # whose page is being read, once for each reading
        self._rows: dict[str, Message] = {}  # those that the transcript shows
        # The newest rows while the transcript does not reach so far.
        self._end: dict[str, Message] | None = None
        self._page: HistoryPage | None = None  # the last that was shown
        self._appending: Tab | None = None  # whose rows below are being read
        self._reload = asyncio.Event()
        self._over = False  # a turn ended that may have done what was left open
        self._prompts: list[str] = []  # said, or sent to an agent, since the last frame
        self._added: list[Message] = []  # rows that are drawn together
        self._leaving_out = False  # rows are not drawn until the newest page is read
        self._read_to = -1  # depth of the last row that was read; rows above it are not new
        # What the screen shows; behind the active tab while a page is being read.
        self.shown: Tab | None = None
        self.returned: Callable[[Tab, str], None]  # a text is in the draft of the tab again: show it there
        self.moving: Tab | None = None  # it is moved to another leaf; its events wait until then

    def look(self) -> None:
        """Where the terminal got the focus back, or the pane came in sight: what came to its tab meanwhile is seen."""
        tab = self._pane.tab
        if tab is not None and self._pane.in_sight and self._looked_at() and (tab.unread or tab.failed):
            tab.look()
            self._tabs.saw(tab)
            self.refresh()

    def newest(self, kind: Kind) -> Message | None:
        """The newest row of a kind, as far as rows are loaded."""
        return self.newest_with(lambda row: row.kind is kind)

    def newest_with(self, holds: Callable[[Message], bool]) -> Message | None:
        """The newest row for which something holds, as far as rows are loaded."""
        return next((row for row in reversed(self._newest.values()) if holds(row)), None)

    @property
    def last_prompt(self) -> Message | None:
        """The last prompt that began a turn, as far as rows are loaded."""
        return self.newest_with(is_prompt)

    @property
    def oldest(self) -> Message | None:
        """The row at the top of what is loaded."""
        return next(iter(self._rows.values()), None)

    @property
    def loaded(self) -> range:
        """The depths of the rows that the transcript shows, in the branch."""
        last = next(reversed(self._rows.values()), None)
        return range(self.oldest.depth, last.depth + 1) if self.oldest and last else range(0)

    @property
    def _newest(self) -> dict[str, Message]:
        return self._rows if self._end is None else self._end

    @property
    def empty(self) -> bool:
        """True if the tab that is shown has no message yet."""
        return not self._rows

    async def follow(self) -> None:
        """Draw events for as long as the area lives, in the frames of the transcript."""
        heard, frames = self._pane.published, self._parts.transcript.frames
        while True:
            await heard.wait()
            heard.clear()
            with frames.frame():
                self._draw_events()
            try:
                await self._read_on()
            except StoreError as error:  # the screen stays as it is, and later events are drawn
                self._say(self._pane.tab, str(error), wrong=True)
            await frames.rest()

    async def _read_on(self) -> None:
        """Read the rows that the drawn events require."""
        if self._reload.is_set() and (tab := self._pane.tab):
            self._reload.clear()
            await self.show(tab, anew=self._leaving_out and self.shown is tab)
            shown = self._pane.tab  # None if it was closed meanwhile
            if shown and shown.attachments:  # they belong to the draft at the new leaf
                await self._tabs.keep_attachments(shown)
        if self._over and self._pane.tab is not None:
            self._over = False
            await self._look_for_open_work(self._pane.tab)
        while self._prompts and (tab := self._pane.tab):
            self._parts.transcript.set_siblings(await self._tabs.branches.siblings(tab, self._prompts.pop()))

    def clear(self) -> None:
        """Show no tab any more: the pane is closed."""
        self.shown = self._end = self._page = None
        self._rows = {}
        if self._parts.transcript.is_attached:
            self._parts.transcript.show((), more_above=False)

    def want(self, tab: Tab) -> None:
        """Let a tab stand in the pane while the screen still shows another."""
        self._pane.tab = tab

    async def show(self, tab: Tab, *, anew: bool = False) -> None:
        """Show a tab at its scroll position; ``anew``: it is on the screen, and only read again."""
        await self._show(tab, tab.scroll, anew=anew)

    async def go_to(self, scroll: int | None) -> None:
        """Show the beginning of the branch on the screen, or its end for None; what is browsed is there, too."""
        transcript = self._parts.transcript
        browsed = transcript.current is not None
        if (tab := self.shown) is not None:
            await self._show(tab, scroll, anew=True)
            if browsed and self.shown is tab:
                transcript.browse_edge(-1 if scroll == BEGINNING else 1)

    async def _show(self, tab: Tab, place: int | str | None, *, anew: bool) -> None:
        stood = tab.scroll
        known = list(self._newest.values()) if anew and tab is self.shown else []
        self._loading.append(tab)
        self.want(tab)
        try:
            if not anew:
                await self._tabs.stand_in(self._pane, tab)
            page = await self._tabs.branches.page_at(tab, place, known=known)
            lineage = await self._tabs.lineage_line(tab)
        finally:
            self._loading.remove(tab)
            self._pane.published.set()  # its events have waited
        if self._pane.tab is not tab:  # another one was wanted meanwhile
            return
        scroll = page.scroll
        if place == stood and scroll != tab.scroll:  # its place changed meanwhile
            if not page.holds(tab.scroll):
                await self._show(tab, tab.scroll, anew=True)
                return
            scroll = tab.scroll
        self.shown, tab.scroll = tab, scroll
        self._parts.lineage.show(f"↳ {lineage}" if lineage else "")
        self._page = page
        self._rows = {row.id: row for row in page.rows}
        self._end = {row.id: row for row in page.end} if page.below else None
        self._leaving_out = False
        newest = page.newest
        self._read_to = newest[-1].depth if newest else -1
        tab.plan = next((row for row in reversed(newest) if row.kind is Kind.PLAN), tab.plan)
        if newest and not tab.busy:
            kept = problem_of_notice(newest[-1])
            tab.trouble.restore(kept, agent=(tab.agent, tab.profile), leaf_id=newest[-1].id)
        transcript = self._parts.transcript
        if not anew:
            transcript.leave_branch()
        transcript.show(page.rows, more_above=page.more_above, below=page.below, scroll=scroll)
        transcript.set_siblings(page.siblings)
        self._draw_events()
        # Looked at with the next frame: between the drawing and the caller no key may come.
        self._over = self._over or not anew
        self._pane.published.set()

    async def _look_for_open_work(self, tab: Tab) -> None:
        plan_before = tab.plan
        left = await self._tabs.branches.of_branch(tab, left_open_on)
        tab.take_left_open(left, plan_before=plan_before)
        if self._pane.tab is tab:
            self.refresh()

    async def show_older(self) -> None:
        """Read the page above and prepend it; what is on the screen does not move."""
        tab, oldest, shown = self._pane.tab, self.oldest, self._page
        if tab is None or oldest is None or self._loading:
            return
        page = await self._tabs.branches.page_above(tab, oldest)
        if self._page is not shown or self._pane.tab is not tab or next(iter(self._rows)) != oldest.id:
            return
        self._rows = {row.id: row for row in page.rows} | self._rows
        self._parts.transcript.prepend(page.rows, more_above=page.more_above)
        self._parts.transcript.set_siblings(page.siblings)
        self._cut(1)

    async def show_newer(self) -> None:
        """Read the page below and append it; what is on the screen does not move."""
        tab, newest, shown = self._pane.tab, next(reversed(self._rows.values()), None), self._page
        if tab is None or newest is None or self._loading or self._end is None:
            return
        self._appending = tab  # what comes meanwhile is drawn behind these rows
        try:
            page = await self._tabs.branches.page_below(tab, newest)
        finally:
            self._appending = None
            self._pane.published.set()
        if self._page is not shown or self._pane.tab is not tab or next(reversed(self._rows)) != newest.id:
            return
        self._rows |= {row.id: row for row in page.rows}
        if not page.below:
            self._end = None
        self._parts.transcript.append(page.rows, below=page.below)
        self._parts.transcript.set_siblings(page.siblings)
        self._cut(-1)

    def _say(self, tab: Tab | None, text: str, *, wrong: bool = False) -> None:
        """Say something about a tab while it is shown."""
        if self._pane.tab is tab:
            self._parts.hints.say(text, wrong=wrong)

    def _cut(self, step: int) -> None:
        """Let go of rows far below the screen (1) or above it (-1) if there are many; paging reads them again."""
        transcript, loaded = self._parts.transcript, self.loaded
        at = transcript.far(step) if len(self._rows) > _MOST_ROWS else None
        if at is None:
            return
        kept = range(loaded.start, at) if step > 0 else range(at, loaded.stop)
        gone = [row for row in self._rows.values() if row.depth not in kept]
        if len(gone) < _FEWEST_CUT:
            return
        if step > 0 and self._end is None:
            self._end = dict(list(self._rows.items())[-END:])
        self._rows = {id: row for id, row in self._rows.items() if row.depth in kept}
        transcript.cut(kept, below=transcript.below + (len(gone) if step > 0 else 0))

    async def load(self, message_id: str, tab: Tab) -> bool:
        """Load the rows around a message of a tab unless it is loaded; False if it is not on the tab's branch."""
        if tab is self.shown and self._parts.transcript.record(message_id) is None:
            try:
                await self._show(tab, message_id, anew=True)
            except NotFound:
                return False
        return tab is self.shown

    async def show_seam_detail(self, message_id: str) -> None:
        """Show the prior context of a seam below it, byte for byte."""
        row = self._rows.get(message_id)
        told = await self._tabs.branches.prior_context(row.turn_id) if row and row.turn_id else None
        self._parts.transcript.set_seam_detail(message_id, told or "Nothing was replayed.")

    def _draw_events(self) -> None:
        """Draw the events since the last frame, as far as there is time."""
        coming, held = self._tabs.events.take(self._pane), deque[tuple[Tab, ConversationEvent]]()
        self._leaving_out = self._leaving_out or self._far_behind(coming)
        until = time.monotonic() + _SLICE
        while coming:
            if time.monotonic() > until:
                self._pane.published.set()
                break
            tab, event = coming.popleft()
            if (tab is self._pane.tab and (tab in self._loading or tab is not self.shown)) or tab in (
                self.moving,
                self._appending,
            ):
                held.append((tab, event))
                continue
            self._draw(tab, event)
        self._tabs.events.put_back((*held, *coming))
        self._draw_added()
        self.refresh()

    def _far_behind(self, coming: Collection[tuple[Tab, ConversationEvent]]) -> bool:
        """True if more rows came than can be read, and the person follows the end."""
        if len(coming) <= _MOST_BEHIND or not self._parts.transcript.idle_at_end:
            return False
        shown = self.shown
        return sum(tab is shown and isinstance(event, MessageAdded) for tab, event in coming) > _MOST_BEHIND

    def _left_out(self, tab: Tab, event: ConversationEvent) -> bool:
        """Read the newest page instead of drawing this event; its rows are stored, or published text of the tab."""
        if not self._leaving_out or not isinstance(event, MessageAdded | MessageChanged | MessageGrew):
            return False
        tab.scroll = None
        self._reload.set()
        return True

    def _is_new(self, message: Message) -> bool:
        return message.id not in self._newest and message.depth > self._read_to

    def _draw_added(self) -> None:
        if self._added:
            self._parts.transcript.add_all(self._added)
            self._added.clear()

    def _draw(self, tab: Tab, event: ConversationEvent) -> None:
        active = tab is self._pane.tab
        stood = tab.leaf_id
        form = tab.forms.get(event.ask_id) if isinstance(event, ElicitationClosed) else None
        typed = form.typed if form else ""
        seen = active and self._pane.in_sight and self._looked_at()
        tab.handle(event, seen=seen)
        if seen and isinstance(event, TurnEnded):
            self._tabs.saw(tab)
        self._call_for_attention(tab, event)
        if not active or self._left_out(tab, event):
            return
        parts = self._parts
        if not isinstance(event, MessageAdded) or len(self._added) >= _TOGETHER:
            self._draw_added()
        match event:
            case MessageAdded(message=message) if self._is_new(message) and self._end is not None:
                self._end[message.id] = message
                if len(self._end) > 2 * END:
                    self._end = dict(list(self._end.items())[-END:])
                parts.transcript.count_below(parts.transcript.below + 1)
            case MessageAdded(message=message) if self._is_new(message):
                self._added.append(message)
                if message.kind is Kind.USER:
                    self._prompts.append(message.id)
                self._rows[message.id] = message
            case MessageAdded(message=message) | MessageChanged(message=message):
                self._draw_added()
                if message.id in self._rows:  # else it is above what is loaded: read as it is then
                    parts.transcript.change(message)
                    self._rows[message.id] = message
                    if message.kind is Kind.USER:  # it has gone to an agent now
                        self._prompts.append(message.id)
                if self._end is not None and message.id in self._end:
                    self._end[message.id] = message
            case MessageGrew(message_id=message_id, text=text):
                if message_id in self._rows:
                    parts.transcript.grow(message_id, text)
            case LeafMoved():
                self._read_to = -1
                if tab.leaf_id != stood:
                    self._reload.set()
            case PromptReturned(text=text):
                if not tab.editing:  # else it waits with the draft
                    self.returned(tab, text)
            case ElicitationClosed():
                if typed and not event.sent and not tab.editing:
                    self.returned(tab, typed)
            case TurnEnded():
                self._over = self._over or bool(tab.todos)
                self._cut(-1)
                self._cut(1)  # for who reads further up
            case Troubled(problem=problem):
                if not problem.offers:  # else it stands in its panel
                    self._say(tab, problem.text, wrong=True)
            case Remarked(text=text):
                self._say(tab, text)
            case DoingChanged(doing=Doing.STOPPING):
                call_after(parts.transcript, STOP_PATIENCE + 0.1, self.refresh)
            case (
                TurnStarted()
                | DoingChanged()
                | PermissionOpened()
                | PermissionClosed()
                | ElicitationOpened()
                | SessionChanged()
                | QueueChanged()
                | Renamed()
                | LinkChanged()
                | HoldChanged()
                | BackgroundChanged()
                | PlaceMoved()
            ):
                pass
            case _:
                assert_never(event)

    def _call_for_attention(self, tab: Tab, event: ConversationEvent) -> None:
        match event:
            case PermissionOpened(ask_id=ask_id, subject=subject):
                self._call(tab, f"asks for a permission: {title_words(subject)}", ask_id)
            case ElicitationOpened(ask_id=ask_id, opened=False, request=request):
                self._call(tab, f"asks: {request.message}", ask_id)
            case TurnEnded(turn=turn, problem=problem):
                words = "answered" if problem is None else problem.text
                self._call(tab, words, turn.id if turn is not None else f"{tab.window_id}.{tab.since}")
            case Troubled(problem=problem):
                self._call(tab, problem.text, f"{tab.window_id}.{problem.text}")
            case _:
                pass

    def _call(self, tab: Tab, words: str, event_id: str) -> None:
        lasted = time.monotonic() - tab.since if tab.since else 0.0
        self._attention(tab, Notification(tab.name(), words, event_id), lasted)

    def _notice_in_panel(self, tab: Tab) -> str | None:
        """The notice of a question or a trouble that its panel tells of, until the conversation goes on below it."""
        first = tab.asks[0] if tab.asks else None
        if isinstance(first, ElicitationOpened):
            return self._row_of_question(first)
        standing = tab.trouble_to_show
        if standing is None or standing.gone_on or not self._parts.trouble.open:
            return None
        row = self._newest.get(standing.leaf_id or "")
        return row.id if row is not None and row.kind is Kind.NOTICE else None

    def _row_of_question(self, asked: ElicitationOpened) -> str | None:
        """The row of a form or a web page, while its panel says what it says."""
        for row in reversed(self._newest.values()):
            if row.state is MessageState.OPEN and row.kind is Kind.NOTICE:
                said = spoken_of(row)
                if isinstance(said, AskedNotice) and said.message == asked.request.message:
                    return row.id
        return None

    def refresh(self) -> None:
        """Draw everything around the transcript."""
        parts, tab = self._parts, self._pane.tab
        if not parts.composer.is_attached:  # the screen is being taken down, and conversations still end
            return
        labels = labels_of(self._tabs.tabs, self._tabs.panes)
        self._show_tabs(labels)
        if tab is None:
            return
        empty = self.empty
        session = tab.session or tab.window.session
        # Else it stays until there is a page.
        if self.shown is not None or not parts.conversation.start.display:
            parts.conversation.show_tab(empty=empty)
        if empty:
            where = from_home(tab.conversation.record.cwd)
            ready = not tab.busy and tab.trouble_to_show is None
            parts.conversation.welcome.show(agent=session.agent_title, where=where, ready=ready)
        parts.plan.show(*tab.open_work())
        cwd = tab.conversation.record.cwd
        parts.queue.show(tab.queue, lambda item: note_of(item, session, cwd))
        parts.attached.show([(file.name, len(file.content)) for file in tab.attached_files])
        first = tab.asks[0] if tab.asks else None
        permission = first if isinstance(first, PermissionOpened) else None
        parts.transcript.set_asked({permission.tool_call.tool_call_id} if permission else ())
        parts.permission.show(tab.asks, directory=tab.conversation.record.cwd)
        parts.elicitation.show(tab.asks, tab.form_draft)
        warning = unheeded_stop(tab, self._keys())
        parts.transcript.edit(tab.editing.prompt.id if tab.editing else None)
        parts.trouble.show(tab.trouble_to_show, busy=tab.at_work, warning=warning)
        parts.transcript.set_going_on([task.message_id for task in tab.window.background])
        parts.transcript.put_away(self._notice_in_panel(tab))
        self._show_composer(tab)
        parts.edges.show_others(marks_of(labels))
        works = tab.busy and tab.doing is not Doing.ASKING  # else it is the person's turn
        parts.transcript.working(tab.since if works else None, lambda: self._waits(tab))
        self._changed()

    def _waits(self, tab: Tab) -> str:
        """What may be going on while nothing comes from the agent of a tab; "" while there is nothing to say."""
        if tab.retried:
            return retry_words(tab.retried)
        quiet = time.monotonic() - max(tab.since, tab.heard_at)
        if quiet < QUIET or self.newest_with(_runs):
            return ""
        words, way = quiet_words(quiet), self._keys().fill("{stop} stops")
        parts = (words, way) if self._parts.transcript.size.width >= _WAITING_WORDS else (way, words)
        return " · ".join(filter(None, parts))

    def _show_composer(self, tab: Tab) -> None:
        """Draw the words of the composer's box."""
        edges, agent = self._parts.edges, tab.agent_title
        self._parts.hints.address(f"{'Ask' if self.empty else 'Reply to'} {agent}")
        siblings = self._parts.transcript.siblings_of(tab.editing.prompt.id) if tab.editing else None
        version = (siblings.position, siblings.of) if siblings is not None else None
        edges.show_edit(edit_words(tab.editing, version, busy=tab.at_work))
        edges.show_files(files_words(tab, self._keys()))
        edges.show_elsewhere(tab.elsewhere)
        edges.show_queued(len(tab.queue), held=sum(item.held for item in tab.queue))
        edges.show_status(status_of(tab, keys=self._keys()))

"""Keeps what is on the chat screen true to the tab that is looked at."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from catena.open_tabs import OpenTabs
from catena.screens.status_words import status_of
from catena.tab import Tab
from catena.widgets.composer import Composer
from catena.widgets.hint_line import HintLine
from catena.widgets.permission_panel import PermissionPanel
from catena.widgets.plan_panel import PlanPanel
from catena.widgets.queue_list import QueueList
from catena.widgets.status_line import StatusLine
from catena.widgets.tab_bar import TabBar, TabLabel
from catena.widgets.transcript import Transcript
from catena.widgets.welcome import Welcome
from catena_acp.conversation.news import (
    Asked,
    AskSettled,
    DoingChanged,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    News,
    PromptReturned,
    QueueChanged,
    Renamed,
    SessionChanged,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_store.records import Kind, Message

_FRAME = 0.02  # seconds between two looks at the news; the transcript has a frame of its own


@dataclass(frozen=True, slots=True)
class Parts:
    """The widgets of the chat screen."""

    tabs: TabBar
    welcome: Welcome
    transcript: Transcript
    plan: PlanPanel
    queue: QueueList
    permission: PermissionPanel
    composer: Composer
    hints: HintLine
    status: StatusLine


class TabView:
    """Draws the active tab, and the marks of the others.

    It is the only one that takes news; while a tab's page is being read, its news wait, so that nothing is drawn twice.
    """

    def __init__(
        self,
        parts: Parts,
        tabs: OpenTabs,
        *,
        attention: Callable[[Tab, str], None],
        looked_at: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:
        """``attention``: something happened that the person may not see.

        ``looked_at``: whether the terminal has the focus. ``changed``: called after every drawing.
        """
        self._parts = parts
        self._tabs = tabs
        self._attention = attention
        self._looked_at = looked_at
        self._changed = changed
        self._loading = False
        self._held: deque[tuple[Tab, News]] = deque()
        self._rows: dict[str, Message] = {}
        self._oldest: Message | None = None
        self._reload = asyncio.Event()
        self._prompts: list[str] = []  # said since the last frame
        self.shown: Tab | None = (
            None  # what the screen shows; behind the active tab while a page is being read
        )
        self.stop_wanted_at: float | None = None

    def newest(self, kind: Kind) -> Message | None:
        """The newest row of a kind, as far as rows are loaded."""
        return next((row for row in reversed(self._rows.values()) if row.kind is kind), None)

    @property
    def empty(self) -> bool:
        """True where the tab that is shown has no message yet."""
        return not self._rows

    async def follow(self) -> None:
        """Draw news for as long as the screen lives, and never take more than half of the loop for it."""
        heard = self._tabs.heard
        while True:
            await heard.wait()
            heard.clear()
            began = time.monotonic()
            self._draw_news()
            if self._reload.is_set() and self._tabs.active is not None:
                self._reload.clear()
                await self.show(self._tabs.active)
            while self._prompts:
                self._parts.transcript.set_siblings(await self._tabs.siblings(self._prompts.pop()))
            await asyncio.sleep(max(_FRAME, time.monotonic() - began))

    async def show(self, tab: Tab) -> None:
        """Put a tab on the screen, at the place where it was left."""
        self._loading = True
        if self._tabs.active is not tab:
            self.stop_wanted_at = None
        await self._tabs.make_active(tab)
        try:
            page = await self._tabs.newest_page(tab)
        finally:
            self._loading = False
        if self._tabs.active is not tab:  # another one was wanted meanwhile
            return
        self.shown = tab
        self._rows = {row.id: row for row in page.rows}
        self._oldest = page.rows[0] if page.rows else None
        tab.plan = next((row for row in reversed(page.rows) if row.kind is Kind.PLAN), tab.plan)
        transcript = self._parts.transcript
        transcript.show(page.rows, more_above=page.more_above, scroll=tab.scroll)
        transcript.set_siblings(page.siblings)
        self._draw_news()

    async def show_older(self) -> None:
        """Read the page above and put it there; what is on the screen does not move."""
        tab, oldest = self._tabs.active, self._oldest
        if tab is None or oldest is None or self._loading:
            return
        page = await self._tabs.page_above(tab, oldest)
        if self._oldest is not oldest or self._tabs.active is not tab:
            return
        self._oldest = page.rows[0] if page.rows else None
        self._rows = {row.id: row for row in page.rows} | self._rows
        self._parts.transcript.prepend(page.rows, more_above=page.more_above)
        self._parts.transcript.set_siblings(page.siblings)

    async def tell_seam(self, message_id: str) -> None:
        """Show under a seam what the session was told there, byte for byte."""
        row = self._rows.get(message_id)
        told = await self._tabs.prior_context(row.turn_id) if row and row.turn_id else None
        self._parts.transcript.set_seam_detail(message_id, told or "Nothing was told.")

    def _draw_news(self) -> None:
        """Take in everything that was told since the last frame; pieces of one text are joined."""
        coming = self._held
        self._held = deque()
        coming.extend(self._tabs.news)
        self._tabs.news.clear()
        grown: tuple[Tab, str, list[str]] | None = None
        for tab, news in coming:
            if self._loading and tab is self._tabs.active:
                self._held.append((tab, news))
                continue
            if isinstance(news, MessageGrew) and grown and grown[:2] == (tab, news.message_id):
                grown[2].append(news.text)
                continue
            self._draw_grown(grown)
            grown = None
            if isinstance(news, MessageGrew):
                grown = (tab, news.message_id, [news.text])
            else:
                self._draw(tab, news)
        self._draw_grown(grown)
        self.refresh()

    def _draw_grown(self, grown: tuple[Tab, str, list[str]] | None) -> None:
        if grown is not None:
            tab, message_id, pieces = grown
            self._draw(tab, MessageGrew(tab.window_id, message_id, "".join(pieces)))

    def _draw(self, tab: Tab, news: News) -> None:
        active = tab is self._tabs.active
        tab.hear(news, seen=active and self._looked_at())
        self._call_for_attention(tab, news)
        if not active:
            return
        parts = self._parts
        match news:
            case MessageAdded(message=message) | MessageChanged(message=message):
                if message.id in self._rows:
                    parts.transcript.change(message)
                else:
                    parts.transcript.add(message)
                    if message.kind is Kind.USER:
                        self._prompts.append(message.id)
                self._rows[message.id] = message
            case MessageGrew(message_id=message_id, text=text):
                if message_id in self._rows:
                    parts.transcript.grow(message_id, text)
            case LeafMoved():
                self._reload.set()
            case PromptReturned(text=text):
                parts.composer.give_back(text)
            case TurnEnded(problem=problem):
                self.stop_wanted_at = None
                if problem is not None:
                    parts.hints.say(problem.text, wrong=True)
            case Troubled(problem=problem):
                parts.hints.say(problem.text, wrong=True)
            case (
                TurnStarted()
                | DoingChanged()
                | Asked()
                | AskSettled()
                | SessionChanged()
                | QueueChanged()
                | Renamed()
                | LinkChanged()
                | HoldChanged()
            ):
                pass
            case _:
                assert_never(news)

    def _call_for_attention(self, tab: Tab, news: News) -> None:
        match news:
            case Asked(tool_call=call):
                self._attention(tab, f"{tab.name()}: asks for a permission – {call.title or 'a tool'}")
            case TurnEnded(problem=None):
                self._attention(tab, f"{tab.name()}: answered")
            case TurnEnded(problem=problem) if problem is not None:
                self._attention(tab, f"{tab.name()}: {problem.text}")
            case _:
                pass

    def refresh(self) -> None:
        """Everything around the transcript."""
        parts, tab = self._parts, self._tabs.active
        if not parts.composer.is_attached:  # the screen is being taken down, and conversations still end
            return
        parts.tabs.show([TabLabel(each.name(), each.mark, each is tab) for each in self._tabs.tabs])
        if tab is None:
            return
        empty = self.empty
        parts.welcome.display = empty
        parts.transcript.display = not empty
        if empty:
            session = tab.session or tab.conversation.session(tab.window_id)
            parts.welcome.show(agent=session.agent_title, where=tab.conversation.record.cwd)
        entries = tab.plan.data.get("entries", ()) if tab.plan is not None else ()
        parts.plan.show(entries if isinstance(entries, list | tuple) else ())
        parts.queue.show(tab.queue)
        parts.permission.show(tab.asks)
        stopping = None if self.stop_wanted_at is None else time.monotonic() - self.stop_wanted_at
        parts.status.show(status_of(tab, stopping_for=stopping))
        self._changed()

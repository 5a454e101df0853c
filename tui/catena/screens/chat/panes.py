"""The panes of the chat screen: one chat area, or two side by side if there is room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget

from catena.screens.chat.area.area import ChatArea
from catena.screens.chat.bars.tabs import TabBar, TabLabel

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.screens.chat.commands.chat import Chat
    from catena.screens.history.acts import HistoryChoice
    from catena.settings.settings import Start
    from catena.workspace.panes import Pane
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs

LEAST_COLUMNS = 160  # of a terminal in which two panes stand side by side


class PaneRow(Horizontal):
    """The open panes, from the left, each with a chat area of its own.

    If there is no room for two, the pane that has the keys is on the screen, and the other one goes on out of sight. An
    area that was made is kept: the work it has begun goes on when its pane is closed.
    """

    DEFAULT_CSS = """
    PaneRow {
        height: 1fr;
        & > ChatArea { width: 1fr; }
        &.-several > ChatArea { padding: 0 2; }
        &.-several > ChatArea.-beside { border-left: solid $rule; }
    }
    """

    def __init__(self, tab_bar: TabBar, make_area: Callable[[], ChatArea], *, id: str | None = None) -> None:
        """``make_area`` makes the area of a pane."""
        super().__init__(id=id)
        self._tab_bar = tab_bar
        self._make_area = make_area
        self._areas = [make_area()]
        self._tabs: OpenTabs | None = None
        self._opening = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """The first area; another one comes when it is asked for."""
        yield from self._areas

    def use(self, start: Start) -> None:
        """Use what holds at once of changed settings."""
        for area in self._areas:
            area.use(start)

    async def begin(self, tabs: OpenTabs) -> None:
        """Bring the tabs back now that the store is open, side by side where they stood so."""
        await self._areas[0].panels.open()
        self._tabs = tabs
        chat = self._connect(self._areas[0], tabs.panes.focused)
        chat.context.run(self._restore(chat))
        tabs.tell_by(self.say)
        self.run_worker(tabs.watch_store(lambda text: self.say(text, wrong=True)), group="store")

    def _connect(self, area: ChatArea, pane: Pane) -> Chat:
        assert self._tabs is not None, "the store is open"
        return area.connect(self._tabs, pane, self)

    async def _restore(self, chat: Chat) -> None:
        """Show the first tab, and beside it the one that stood there."""
        tabs = self._tabs
        assert tabs is not None, "the store is open"
        try:
            await chat.begin()
        finally:
            stood, tabs.side_by_side = tabs.side_by_side, ()
        shown = tabs.active
        beside = next((tab for tab in stood if tab in tabs.tabs and tab is not shown), None)
        if beside is None or shown is None or self.several:
            tabs.panes_changed()
        else:
            index = 0 if beside is stood[0] else 1
            await (await self._opened(index, beside)).actions.tabs.show(beside)

    # --- which there are

    @property
    def area(self) -> ChatArea:
        """The area of the pane that has the keys."""
        return self._areas[0] if self._tabs is None else self._area_of(self._tabs.panes.focused)

    def _area_of(self, pane: Pane) -> ChatArea:
        return next((area for area in self._areas if area.pane is pane), self._areas[0])

    def _chat_of(self, pane: Pane) -> Chat:
        return self._area_of(pane).chat

    @property
    def room(self) -> bool:
        """True where two panes have room side by side."""
        return self.app.size.width >= LEAST_COLUMNS

    @property
    def why_no_room(self) -> str:
        """Why two panes do not stand side by side; "" where they do."""
        columns = f"{LEAST_COLUMNS} columns, this one has {self.app.size.width}"
        return "" if self.room else f"Side by side needs a wider terminal: {columns}."

    @property
    def several(self) -> bool:
        """True while more than one pane is open."""
        return self._tabs is not None and len(self._tabs.panes.open) > 1

    def may_focus(self, widget: Widget) -> bool:
        """True unless a widget is in a pane that has not the keys."""
        return all(area is self.area or area not in widget.ancestors for area in self._areas)

    @property
    def reasoned(self) -> Collection[str]:
        """The ids of the permission requests for whose rejection a reason is being typed, in any pane."""
        return frozenset(ask_id for area in self._areas if (ask_id := area.panels.giving_reason) is not None)

    def has_keys(self, pane: Pane) -> bool:
        """True for the pane that has the keys."""
        return self._tabs is not None and self._tabs.panes.focused is pane

    def sees(self, tab: Tab) -> bool:
        """True for a tab that stands in a pane in sight."""
        pane = None if self._tabs is None else self._tabs.panes.of(tab)
        return pane is not None and pane.in_sight

    # --- opening and closing

    async def show_beside(self, pane: Pane, tab: Tab, arrived: Callable[[], None] = lambda: None) -> None:
        """Show a tab in the pane other than this one, open that pane if necessary, and give it the keys.

        ``arrived`` is called as soon as the composer there is the tab's. Raises AgentError, StoreError.
        """
        assert self._tabs is not None, "the store is open"
        other = self._tabs.panes.other(pane)
        chat = self._chat_of(other) if other is not None else await self._opened(1, tab)
        await chat.actions.tabs.take(tab, arrived)

    async def stand_beside(self, pane: Pane, tab: Tab) -> None:
        """Show a tab in the pane other than this one, and open that pane if necessary; the keys stay where they are.

        Raises AgentError, StoreError.
        """
        assert self._tabs is not None, "the store is open"
        other = self._tabs.panes.other(pane)
        chat = self._chat_of(other) if other is not None else await self._opened(1, tab)
        await chat.actions.tabs.show(tab)

    async def open_choice(self, pane: Pane, choice: HistoryChoice) -> None:
        """Do what was chosen in the history, in the pane where that conversation stands."""
        await self._chat_of(pane).actions.history.open(choice)

    async def _opened(self, index: int, tab: Tab) -> Chat:
        """Open a pane at a place from the left for a tab."""
        from catena.workspace.panes import Pane

        assert self._tabs is not None, "the store is open"
        panes = self._tabs.panes
        async with self._opening:
            area = next((area for area in self._areas if area.pane not in panes.open), None)
            if area is None:
                area = self._make_area()
                area.display = False
                self._areas.append(area)
                await self.mount(area)
                await area.panels.open()
                self._connect(area, Pane()).settle()
        pane = area.pane
        if pane not in panes.open:
            panes.insert(index, pane)
        pane.tab = tab
        self._arrange()
        return area.chat

    def close(self, pane: Pane) -> None:
        """Close a pane; its tab stays open, and the other pane gets the keys. Nothing for the last one."""
        assert self._tabs is not None, "the store is open"
        panes = self._tabs.panes
        if pane not in panes.open or len(panes.open) == 1:
            return
        had_keys = self.has_keys(pane)
        self._chat_of(pane).actions.tabs.put_away()
        panes.close(pane)
        self._arrange()
        if had_keys:
            self.area.take_keys()
        self._tabs.panes_changed()
        self._draw()

    def close_empty(self, *, but: Pane | None = None) -> None:
        """Close the panes whose tab is gone, all ``but`` one and the last."""
        if self._tabs is None:
            return
        for pane in list(self._tabs.panes.open):
            if pane is not but and (pane.tab is None or pane.tab not in self._tabs.tabs):
                self.close(pane)

    def swap(self) -> None:
        """Let the panes change places."""
        assert self._tabs is not None, "the store is open"
        self._tabs.panes.open.reverse()
        self._arrange()
        self._tabs.panes_changed()

    # --- the keys

    def give_keys(self, pane: Pane) -> None:
        """Give the keys to an open pane."""
        if self._tabs is None or self.has_keys(pane):
            return
        self.area.leave_keys()
        self._tabs.panes.give_keys(pane)
        self._arrange()
        self.area.take_keys()
        self._tabs.panes_changed()
        self._draw()

    def on_chat_area_clicked(self, event: ChatArea.Clicked) -> None:
        """Give the keys to the pane that was clicked."""
        event.stop()
        self.give_keys(event.area.pane)

    def say(self, text: str, *, wrong: bool = False, holds: Callable[[], bool] = lambda: True) -> None:
        """Tell the person something in the pane that has the keys, whichever tab it shows, while it ``holds``."""
        self.area.prompt.hints.say(text, wrong=wrong, holds=holds, of_tab=False)

    # --- on the screen

    def on_resize(self) -> None:
        """Let the pane without the keys go out of sight, or come back."""
        self._arrange()

    def _arrange(self) -> None:
        """Let the open panes stand in their order, as many as there is room for."""
        if self._tabs is None:
            return
        panes = self._tabs.panes
        beside = len(panes.open) > 1 and self.room
        before = [pane for pane in panes.open if pane.in_sight]
        for area in self._areas:
            pane = area.pane
            in_sight = pane in panes.open and (beside or self.has_keys(pane))
            pane.in_sight = area.display = in_sight
        self.set_class(beside, "-several")
        self._tab_bar.set_class(beside, "-heads")
        areas = [self._area_of(pane) for pane in panes.open]
        for index, area in enumerate(areas):
            area.set_class(index > 0, "-beside")
            area.stand_beside(beside)
        if [area for area in self._areas if area in areas] != areas:
            self._areas.sort(key=lambda area: areas.index(area) if area in areas else len(areas))
            for area in reversed(self._areas):
                self.move_child(area, before=0)
        if before != [pane for pane in panes.open if pane.in_sight]:
            self._draw()

    def _draw(self) -> None:
        """Draw in each pane what depends on the others."""
        assert self._tabs is not None, "the store is open"
        for pane in self._tabs.panes.open:
            self._chat_of(pane).panes_changed()

    def show_tabs(self, labels: Sequence[TabLabel]) -> None:
        """Show the tabs in their bar, and at the head of each pane which one it is."""
        self._tab_bar.show(labels)
        for area in self._areas:
            area.show_head()

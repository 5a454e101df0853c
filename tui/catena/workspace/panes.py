"""The panes of the screen: which tab stands in each, which has the keys, and what is to be drawn in each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from catena.workspace.outgoing import DraftPlace
    from catena.workspace.tab import Tab
    from catena_acp.continuity.conversation_events import ConversationEvent


class PaneDraft(Protocol):
    """The draft that the composer of a pane shows."""

    @property
    def place(self) -> DraftPlace:
        """Whose draft it is."""

    def rewrite(self, draft: DraftPlace, change: Callable[[], object]) -> None:
        """Change a draft, and show it if it is in the composer."""


@dataclass(eq=False, slots=True)
class Pane:
    """A place on the screen for one tab, with a chat area of its own."""

    tab: Tab | None = None  # that it shows, or is about to show
    in_sight: bool = True  # False where the terminal has no room for it now
    published: asyncio.Event = field(default_factory=asyncio.Event)  # there is something to draw in it
    draft: PaneDraft | None = None  # None until its area has commands


class Panes:
    """The open panes, from the left, and the one that has the keys."""

    def __init__(self) -> None:
        self.focused = Pane()
        self.open = [self.focused]

    def of(self, tab: Tab) -> Pane | None:
        """The pane in which a tab stands."""
        return next((pane for pane in self.open if pane.tab is tab), None)

    def reader_of(self, tab: Tab) -> Pane:
        """The pane that takes the events of a tab: that of the keys, where the tab stands in none."""
        return self.of(tab) or self.focused

    def other(self, pane: Pane) -> Pane | None:
        """An open pane that is not this one."""
        return next((each for each in self.open if each is not pane), None)

    def writer_of(self, draft: DraftPlace) -> PaneDraft | None:
        """The composer that shows a draft."""
        shown = (pane.draft for pane in self.open if pane.draft is not None)
        return next((each for each in shown if each.place is draft), None)

    def give_keys(self, pane: Pane) -> None:
        """Give the keys to an open pane."""
        self.focused = pane
        pane.published.set()  # of tabs that stand in no pane

    def insert(self, index: int, pane: Pane) -> None:
        """Open a pane at a place from the left."""
        self.open.insert(index, pane)

    def close(self, pane: Pane) -> None:
        """Close a pane, which is not the last one; its tab stays open."""
        self.open.remove(pane)
        pane.tab = None
        if self.focused is pane:
            self.give_keys(self.open[0])


class TabEvents:
    """What conversations published for the open tabs and no pane has drawn yet, oldest first."""

    def __init__(self, panes: Panes) -> None:
        self._panes = panes
        self._events: deque[tuple[Tab, ConversationEvent]] = deque()

    def __iter__(self) -> Iterator[tuple[Tab, ConversationEvent]]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def publish(self, tab: Tab, event: ConversationEvent) -> None:
        """Add an event, to be drawn by the pane of its tab."""
        self._events.append((tab, event))
        self._panes.reader_of(tab).published.set()

    def take(self, pane: Pane) -> deque[tuple[Tab, ConversationEvent]]:
        """Take the events that a pane reads."""
        events = self._events
        if len(self._panes.open) == 1:
            self._events = deque()
            return events
        taken = deque(each for each in events if self._panes.reader_of(each[0]) is pane)
        if taken:
            self._events = deque(each for each in events if self._panes.reader_of(each[0]) is not pane)
        return taken

    def put_back(self, events: Iterable[tuple[Tab, ConversationEvent]]) -> None:
        """Put back events that were taken and not drawn, before those that came since."""
        self._events.extendleft(reversed(tuple(events)))

    def forget(self, tab: Tab) -> None:
        """Drop the events of a tab, which are of a conversation that it does not show any more."""
        self._events = deque(each for each in self._events if each[0] is not tab)

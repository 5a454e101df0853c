"""Whose draft the composer shows, and where what is typed next belongs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from catena.text.formats import joined
from catena.widgets.composer import Composer
from catena.workspace.outgoing import OutgoingText, UnplacedDraft, last_place
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from catena.screens.chat.presenter import TabPresenter
    from catena.workspace.outgoing import DraftPlace
    from catena.workspace.panes import Pane
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs


class Drafts:
    """The draft that the composer of a pane shows: a tab's, or one whose place is not there yet.

    An action that leads to another text sets out when it is asked for: from then on, what is typed is a draft of its
    own. It is put behind the draft of the place that the action arrives at, and returns if it arrives nowhere.
    """

    def __init__(
        self,
        composer: Composer,
        tabs: OpenTabs,
        pane: Pane,
        presenter: TabPresenter,
        first: UnplacedDraft,
        *,
        go: Callable[[OutgoingText], None],
        keep: Callable[[Tab], None],
        changed: Callable[[], None],
    ) -> None:
        """``first`` is what was written before there were tabs.

        ``go`` sends an outgoing text whose place is there. ``keep`` saves what is written in a tab; ``changed`` is
        called when what the composer shows is to be saved.
        """
        self._composer = composer
        self._tabs = tabs
        self._pane = pane
        self._presenter = presenter
        self._go = go
        self._keep = keep
        self._changed = changed
        self._coming = [first]  # whose place an action is on the way to
        self._place: DraftPlace = first
        self.left_behind = False  # the composer shows a text that was left, until something is typed
        self._put = ""  # the text that it was given, and nobody typed
        presenter.returned = self._returned
        pane.draft = self

    @property
    def place(self) -> DraftPlace:
        """The draft that the next key is typed into."""
        return self._place

    @property
    def tab(self) -> Tab | None:
        """The tab whose draft it is; None while that is not there yet."""
        return None if isinstance(self._place, UnplacedDraft) else self._place

    @property
    def nowhere(self) -> bool:
        """True while this draft has no place, and no action is on the way to one."""
        return self._is_nowhere(self._place)

    def _is_nowhere(self, draft: DraftPlace | None) -> bool:
        return isinstance(draft, UnplacedDraft) and draft.place is None and draft not in self._coming

    @property
    def untouched(self) -> bool:
        """True if nothing was typed since the text was put into the composer."""
        return self._composer.text == self._put

    def write(self) -> None:
        """Write the composer's text to its draft."""
        if not self.left_behind and self._place.write(self._composer.text):
            self._changed()

    def begin_typing(self) -> None:
        """Empty the composer of a text that was left behind: something is about to be typed."""
        if self.left_behind:
            self._show_text(self._place)

    # --- from place to place

    def show(self, tab: Tab) -> None:
        """Show the draft of a tab that is there, or what is written for where the tab is going."""
        draft = self._way_from(tab) or tab
        if self._place is not draft:
            self.write()
            self._show(draft)

    def leaves(self, tab: Tab) -> bool:
        """True while a tab is being closed, or moved to another leaf."""
        return self._way_from(tab) is not None

    def _way_from(self, tab: Tab) -> UnplacedDraft | None:
        return next((way for way in reversed(self._coming) if way.leaving is tab), None)

    def stays_elsewhere(self, tab: Tab) -> bool:
        """True if the person writes in another open tab, and is on the way to none."""
        return self._place is not tab and self._place in self._tabs.tabs

    def set_out(self, leaving: Tab | None = None) -> UnplacedDraft:
        """Set out for another text: what is typed from now on is a draft of its own.

        ``leaving`` is the tab that is closed or moved to another leaf: who comes back to it meanwhile writes that
        draft. A draft that is nowhere comes along.
        """
        self.write()
        if isinstance(self._place, UnplacedDraft) and self.nowhere:
            way = self._place
        else:
            way = UnplacedDraft(self._place, leaving)
            self._place, self.left_behind = way, True
        self._coming.append(way)
        return way

    @contextmanager
    def under_way(self, way: UnplacedDraft) -> Iterator[None]:
        """Do within the block what leads somewhere; at its end the draft returns if it has not arrived."""
        failed = True
        try:
            yield
            failed = False
        finally:
            if way in self._coming:
                self._return(way, failed=failed)

    def arrive(self, way: UnplacedDraft, tab: Tab) -> None:
        """Put a draft behind that of the tab that was set out for, and show it if the person still writes it."""
        if way in self._coming:
            self._end(way, tab)

    def _return(self, way: UnplacedDraft, *, failed: bool) -> None:
        """Put a draft back to where it set out from; what was sent is sent there unless the action ``failed``."""
        place = self._return_place(way)
        if failed or place is None:
            self.restore_waiting(way)
        if place is not None:
            self._end(way, place)
            return
        self._coming.remove(way)
        if self._place is way:  # nowhere: it stays in the composer
            self.begin_typing()

    def _end(self, way: UnplacedDraft, place: DraftPlace) -> None:
        self.write()
        self._coming.remove(way)
        typed = self._move(way, place)
        active = self._pane.tab
        if self._place is way:
            if isinstance(place, UnplacedDraft) or active is None:
                self._show(place)
            else:  # where the text went, unless another tab is on the screen by now
                self._show(self._way_from(active) or active)
        elif self._place is place and typed:
            self._show(place)
        if typed:
            self._typed(place)
        self.release()

    def _move(self, way: UnplacedDraft, place: DraftPlace) -> bool:
        """Move a draft behind another one, after the one it set out from if that is nowhere; False if it is blank."""
        source = way.source and last_place(way.source)
        typed = False
        if isinstance(source, UnplacedDraft) and source is not place and self._is_nowhere(source):
            typed = self._move(source, place)
        way.place = place
        self._tabs.outgoing.move(way, place)
        if way.written.strip():
            self._change(place, lambda: place.write(joined(place.written, way.written)))
            typed = True
        return typed

    def _typed(self, draft: DraftPlace) -> None:
        """Save what came into a draft."""
        if draft is self._place:
            self._put = ""
            self._changed()
        elif draft in self._tabs.tabs:
            self._keep(draft)

    def _return_place(self, way: UnplacedDraft) -> DraftPlace | None:
        """Where a draft returns to: if the tab is closed, or there was none, to the active one."""
        source = way.source and last_place(way.source)
        if isinstance(source, UnplacedDraft) or source in self._tabs.tabs:
            return source
        return self._pane.tab

    def _show(self, place: DraftPlace) -> None:
        self._place = place
        if self.left_behind and place.written == self._composer.text:  # with the cursor where it was
            self.left_behind, self._put = False, place.written
        else:
            self._show_text(place)

    def _show_text(self, place: DraftPlace) -> None:
        self.left_behind, self._put = False, place.written
        self._composer.put(place.written)

    def put_away(self) -> None:
        """Leave the draft that is shown to its tab: the composer is nobody's until it is given another one."""
        self.write()
        self._show(UnplacedDraft())

    # --- texts

    def restore(self, tab: Tab | None, text: str) -> None:
        """Restore a text that was not sent to the draft of its tab; to this draft, if the tab is closed."""
        draft = tab if tab is not None and tab in self._tabs.tabs else self._place
        self.rewrite(draft, lambda: draft.restore(text))
        if draft is self._place:
            self._composer.came_in()

    def restore_outgoing(self, outgoing: OutgoingText) -> None:
        """Restore an outgoing text, and what waits behind it, as ``restore`` does."""
        draft = outgoing.draft
        if not isinstance(draft, UnplacedDraft) and draft not in self._tabs.tabs:
            self._tabs.outgoing.move(draft, self._place)
        self.rewrite(outgoing.draft, lambda: self._tabs.outgoing.restore(outgoing))

    def restore_waiting(self, draft: DraftPlace) -> None:
        """Restore the texts that wait to go out of a draft."""
        if waiting := self._tabs.outgoing.waiting(draft):
            self.restore_outgoing(waiting[0])

    def replace(self, draft: DraftPlace, stood: str, text: str) -> None:
        """Put a text in the place of the one that stood in a draft, or before what has been written there since."""
        place = last_place(draft)

        def change() -> None:
            if place.written == stood:
                place.write(text)
            elif text.strip():
                place.restore(text)

        self.rewrite(place, change)

    def rewrite(self, draft: DraftPlace, change: Callable[[], object]) -> None:
        """Change a draft, and show it if it is in the composer."""
        if draft is self._place:
            self.begin_typing()
            self.write()
            change()
            self._show_text(draft)
            self._changed()
        else:
            self._change(draft, change)
            if draft in self._tabs.tabs:
                self._keep(draft)

    def _change(self, draft: DraftPlace, change: Callable[[], object]) -> None:
        """Change a draft, which the composer of another pane may show."""
        writer = self._tabs.panes.writer_of(draft)
        if writer is None or writer is self:
            change()
        else:
            writer.rewrite(draft, change)

    def append(self, tab: Tab, text: str) -> None:
        """Put a text behind the draft of a tab that the composer does not show."""
        self.rewrite(tab, lambda: tab.append(text))

    def prefix(self, text: str) -> None:
        """Put the beginning of a command before what is written."""
        self.begin_typing()
        self._composer.put(text + self._composer.text)
        self.write()

    def _returned(self, tab: Tab, text: str) -> None:
        """Show a prompt that was returned to the draft of a tab."""
        if tab is self.tab:
            self._composer.restore(text)

    # --- what was sent

    def release(self) -> None:
        """Send the outgoing texts whose place is there: the transcript of this pane's tab, or a tab in no pane."""
        for outgoing in self._tabs.outgoing.next_of_each():
            if self._may_go(outgoing):
                self._go(outgoing)

    def _may_go(self, outgoing: OutgoingText) -> bool:
        match outgoing.draft:
            case UnplacedDraft() as draft:
                return draft is self._place and draft not in self._coming
            case tab:
                pane = self._tabs.panes.of(tab)
                return pane is None or (pane is self._pane and tab is self._presenter.shown)

    async def store(self, outgoing: OutgoingText, step: Coroutine[Any, Any, None]) -> None:
        """Run the step that stores an outgoing text; if it fails, the text returns to its draft.

        Raises AgentError, ReadOnly, StoreError.
        """
        try:
            await self._tabs.outgoing.store(outgoing, step)
        except (AgentError, StoreError, ReadOnly):
            self.restore_outgoing(outgoing)
            raise
        self.release()

    def detach(self) -> None:
        """Write every draft to a tab, before the screen is removed; what no tab can keep is an outgoing text."""
        outgoing = self._tabs.outgoing
        self.write()
        for way in reversed(self._coming):
            if waiting := outgoing.waiting(way):
                outgoing.restore(waiting[0])
            if (place := self._return_place(way)) is not None:
                self._move(way, place)
        self._coming.clear()
        if isinstance(left := last_place(self._place), UnplacedDraft):
            outgoing.add(left.written, left)

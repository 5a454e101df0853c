"""Whose draft the composer shows, and where what is typed next belongs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from catena.text.formats import joined
from catena.widgets.composer import Composer
from catena.workspace.outgoing import OutgoingText, UnplacedDraft
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from catena.screens.chat.presenter import TabPresenter
    from catena.workspace.outgoing import DraftPlace
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs
    from catena_store.records import Attachment


class Drafts:
    """The draft that the composer shows: a tab's, or one whose place is not there yet.

    An action that leads to another text sets out when it is asked for: from then on, what is typed is a draft of its
    own. It is put behind the draft of the place that the action arrives at, and returns if it arrives nowhere.
    """

    def __init__(
        self,
        composer: Composer,
        tabs: OpenTabs,
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
        self._presenter = presenter
        self._go = go
        self._keep = keep
        self._changed = changed
        self._coming: list[UnplacedDraft] = []  # whose place an action is on the way to
        self._place: DraftPlace = first
        self.left_behind = False  # the composer shows a text that was left, until something is typed
        self._put = ""  # the text that it was given, and nobody typed
        presenter.returned = self._returned

    @property
    def place(self) -> DraftPlace:
        """The draft that the next key is typed into."""
        return self._place

    @property
    def tab(self) -> Tab | None:
        """The tab whose draft it is; None while that is not there yet."""
        return None if isinstance(self._place, UnplacedDraft) else self._place

    @property
    def leads_somewhere(self) -> bool:
        """True while an action is on the way to the place of this draft."""
        return self._place in self._coming

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
        """Show the draft of a tab that is there."""
        if self._place is not tab:
            self.write()
            self._show(tab)

    def set_out(self) -> UnplacedDraft:
        """Set out for another text: what is typed from now on is a draft of its own."""
        self.write()
        way = UnplacedDraft(self._place)
        self._coming.append(way)
        self._place, self.left_behind = way, True
        return way

    @contextmanager
    def under_way(self, way: UnplacedDraft) -> Iterator[None]:
        """Do within the block what leads somewhere; at its end the draft returns if it has not arrived."""
        if way.place is None and way not in self._coming:
            self._coming.append(way)
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
            self._restore_waiting(way)
        if place is None:  # nowhere: it stays in the composer
            self._coming.remove(way)
            self.begin_typing()
        else:
            self._end(way, place)

    def _restore_waiting(self, draft: DraftPlace) -> None:
        if waiting := self._tabs.outgoing.waiting(draft):
            self.restore_outgoing(waiting[0])

    def _end(self, way: UnplacedDraft, place: DraftPlace) -> None:
        here = self._place in (way, place)
        self.write()
        self._coming.remove(way)
        for outgoing in self._tabs.outgoing.waiting(way):
            outgoing.draft = place
        typed = _move(way, place)
        if here:
            self._show(place)
        if here and typed:
            self._put = ""
            self._changed()
        elif typed and not isinstance(place, UnplacedDraft):
            self._keep_elsewhere(place)
        self.release()

    def _return_place(self, way: UnplacedDraft) -> DraftPlace | None:
        """Where a draft returns to: if the tab is closed, or there was none, to the active one."""
        source = way.source.last_place if isinstance(way.source, UnplacedDraft) else way.source
        if isinstance(source, UnplacedDraft) or source in self._tabs.tabs:
            return source
        return self._tabs.active

    def _show(self, place: DraftPlace) -> None:
        self._place = place
        if self.left_behind and place.written == self._composer.text:  # with the cursor where it was
            self.left_behind, self._put = False, place.written
        else:
            self._show_text(place)

    def _show_text(self, place: DraftPlace) -> None:
        self.left_behind, self._put = False, place.written
        self._composer.put(place.written)

    # --- texts

    def rewrite(self, tab: Tab, change: Callable[[], None]) -> None:
        """Change the text of a tab, and show it if it is in the composer."""
        self._rewrite(tab, change)

    def restore(self, tab: Tab, text: str, files: Sequence[Attachment] = ()) -> None:
        """Restore a text that was not sent to the draft of its tab, with what was attached to it."""
        self.rewrite(tab, lambda: tab.restore(text, files))

    def restore_outgoing(self, outgoing: OutgoingText) -> None:
        """Restore an outgoing text, and what waits behind it, to the draft that it was written in."""
        self._rewrite(outgoing.draft, lambda: self._tabs.outgoing.restore(outgoing))

    def _rewrite(self, draft: DraftPlace, change: Callable[[], None]) -> None:
        if draft is self._place:
            self.begin_typing()
            self.write()
            change()
            self._show_text(draft)
            self._changed()
        else:
            change()
            if not isinstance(draft, UnplacedDraft):
                self._keep_elsewhere(draft)

    def prefix(self, text: str) -> None:
        """Put the beginning of a command before what is written."""
        self.begin_typing()
        self._composer.put(text + self._composer.text)
        self.write()

    def _returned(self, tab: Tab, text: str) -> None:
        """Show a prompt that was returned to the draft of a tab."""
        if tab is self.tab:
            self._composer.restore(text)

    def _keep_elsewhere(self, tab: Tab) -> None:
        if tab in self._tabs.tabs:
            self._keep(tab)

    # --- what was sent

    def release(self) -> None:
        """Send the outgoing texts whose place is there: the transcript of the active tab, or any other tab."""
        for outgoing in self._tabs.outgoing.next_of_each():
            if self._may_go(outgoing):
                self._go(outgoing)

    def _may_go(self, outgoing: OutgoingText) -> bool:
        match outgoing.draft:
            case UnplacedDraft() as draft:
                return draft not in self._coming
            case tab:
                return tab is not self._tabs.active or tab is self._presenter.shown

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

    def give_up(self, tab: Tab) -> None:
        """Restore the texts that wait for a tab that cannot be shown."""
        self._restore_waiting(tab)

    def detach(self) -> None:
        """Write every draft to a tab, before the screen is removed; what no tab can keep is an outgoing text."""
        outgoing = self._tabs.outgoing
        self.write()
        for way in reversed(self._coming):
            if waiting := outgoing.waiting(way):
                outgoing.restore(waiting[0])
            if (place := self._return_place(way)) is not None:
                _move(way, place)
        self._coming.clear()
        if isinstance(self._place, UnplacedDraft) and self._place.last_place is self._place:
            outgoing.add(self._place.written, self._place)


def _move(way: UnplacedDraft, place: DraftPlace) -> bool:
    """Move a draft behind another one; False if nothing was typed in it."""
    way.place = place
    typed = bool(way.written.strip())
    if typed:
        place.write(joined(place.written, way.written))
    return typed

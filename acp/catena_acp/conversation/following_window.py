"""A window of ours that stands where another client's window stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from catena_acp.conversation.news import (
    LeafMoved,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    News,
    QueueChanged,
)
from catena_store.clients import following
from catena_store.clients.following import Standing
from catena_store.database.database import Reader, Writer
from catena_store.records import Message, MessageState, QueueItem
from catena_store.windows import windows

_MOST_ADDED = 500  # rows told one by one; a branch that grew by more is read anew


class FollowingWindow:
    """A window of ours on the branch that another client's window stands on."""

    def __init__(self, window_id: str, *, lost: bool) -> None:
        self.id = window_id
        self.follows = lost
        self._lost = lost  # what it shows may never have been written: it is read anew
        self.went = False  # the person went elsewhere while it was looked at: what was found is not for them
        self._begun = False
        self._kept: str | None = None  # where it stands in the store
        self._leaf: str | None = None  # where what was told ends
        self._rows: dict[str, Message] = {}  # those that may change, as they were told
        self._heard: set[str] = set()  # rows told whole; of others a listener may know more than we
        self._queue: tuple[QueueItem, ...] = ()

    @property
    def moved(self) -> bool:
        """True where the store does not have its place."""
        return self.follows and self._leaf != self._kept

    async def look(self, reader: Reader, standing: Standing) -> list[News]:
        """What is to be told since the last look."""
        if not await self._find_place(reader, standing):
            return []
        news = await self._changes(reader, standing)
        if standing.window_id is None:
            news += [LeafMoved(self.id, self._leaf)] if self._lost else []
            self._lost = False
        elif self.follows:
            news += await self._growth(reader, standing)
            if standing.queue != self._queue:
                self._queue = standing.queue
                news.append(QueueChanged(self.id, standing.queue))
        self._rows = {
            id: row for id, row in self._rows.items() if following.may_change(row, standing.running)
        }
        self._heard &= self._rows.keys()
        return news

    async def keep(self, tx: Writer) -> None:
        """Put its place into the store, unless the person went elsewhere in the meantime."""
        window = await windows.get(tx, self.id)
        if window is None or window.leaf_id != self._kept:
            self.went = True
            return
        if self._leaf is None:
            await windows.set_leaf(tx, self.id, None)
        else:
            await windows.advance(tx, self.id, self._leaf)
        self._kept = self._leaf

    async def _find_place(self, reader: Reader, standing: Standing) -> bool:
        """See where the window stands, and whether it follows: it does where the other's branch goes on from there."""
        window = await windows.get(reader, self.id)
        if window is None:
            return False
        went, self.went = self.went, False
        if self._begun and not went and window.leaf_id == self._kept:
            return True
        before, self._kept = self._kept, window.leaf_id
        begun, self._begun = self._begun, True
        if not self._lost:
            self.follows = standing.window_id is None or await self._goes_along(
                reader, before if begun else None, standing.leaf_id
            )
        # By nobody that we follow: there it stays, and is read anew.
        moved = begun and standing.window_id is None
        self._lost = self._lost or moved
        if not begun or not self.follows or went or moved:
            self._start_at(window.leaf_id, await self._unsettled(reader, standing, window.leaf_id))
        return True

    async def _goes_along(self, reader: Reader, before: str | None, leaf: str | None) -> bool:
        """True where the window stands on the other's branch, and was not moved up by the person."""
        forward = self._kept == leaf or await following.goes_on(reader, before, self._kept)
        return forward and await following.goes_on(reader, self._kept, leaf)

    async def _changes(self, reader: Reader, standing: Standing) -> list[News]:
        """What became of rows that were told."""
        over = {row.turn_id for row in self._rows.values() if row.turn_id} - standing.running
        due = [id for id, row in self._rows.items() if _is_due(row, over)]
        news: list[News] = []
        for row in await following.again(reader, due) if due else ():
            news += self._difference(self._rows[row.id], row)
            self._rows[row.id] = row
        return news

    def _difference(self, before: Message, now: Message) -> Iterable[News]:
        if now == before:
            return
        if now.id not in self._heard:
            self._heard.add(now.id)
            yield MessageChanged(self.id, now)
            return
        grew = before.state is MessageState.OPEN and now.text.startswith(before.text)
        if grew and now.text != before.text:
            yield MessageGrew(self.id, now.id, now.text[len(before.text) :])
        if not grew or replace(before, text=now.text) != now:
            yield MessageChanged(self.id, now)

    async def _growth(self, reader: Reader, standing: Standing) -> Sequence[News]:
        leaf = standing.leaf_id
        added = None if self._lost else await following.grown(reader, self._leaf, leaf, _MOST_ADDED)
        if added is None:
            self._lost = False
            self._start_at(leaf, await self._unsettled(reader, standing, leaf))
            return [LeafMoved(self.id, leaf)]
        self._leaf = leaf
        for row in added:
            self._rows[row.id] = row
            self._heard.add(row.id)
        return [MessageAdded(self.id, row) for row in added]

    async def _unsettled(self, reader: Reader, standing: Standing, leaf: str | None) -> list[Message]:
        return await following.unsettled(reader, standing.record.id, leaf)

    def _start_at(self, leaf: str | None, unsettled: Sequence[Message]) -> None:
        """From here on changes are told; what is there already is read by whoever shows it."""
        self._leaf = leaf
        self._rows = {row.id: row for row in unsettled}
        self._heard.clear()


def _is_due(row: Message, over: set[str]) -> bool:
    """Rows of a turn that are closed change seldom: they are read again when the turn is over."""
    return row.state is MessageState.OPEN or row.turn_id is None or row.turn_id in over

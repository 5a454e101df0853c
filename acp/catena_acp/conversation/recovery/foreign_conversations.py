"""Other clients' acts on conversations open here: any act on those that they hold; in any, moves of the place, logouts.

Writes to a conversation that another client holds are published here as if they were done here. Whoever holds a
conversation, a client that only reads may move its place. One look at the file's version for the whole process, and a
look at the rows only if that moved.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    Doing,
    LeafMoved,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    QueueChanged,
    Renamed,
)
from catena_acp.continuity.services import Services
from catena_acp.conversation.live import LiveConversation
from catena_store import places
from catena_store.clients import progress
from catena_store.clients.progress import Progress
from catena_store.conversations.logouts import Account, last_logouts
from catena_store.database.database import Reader, Writer
from catena_store.errors import StoreError
from catena_store.records import Lease, Message, MessageState, QueueItem
from catena_store.windows import queue, windows

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
        """True if the store does not have its place."""
        return self.follows and self._leaf != self._kept

    async def look(self, reader: Reader, standing: Progress) -> list[ConversationEvent]:
        """The events since the last look."""
        if not await self._find_place(reader, standing):
            return []
        events = await self._changes(reader, standing)
        if standing.window_id is None:
            events += [LeafMoved(self.id, self._leaf)] if self._lost else []
            self._lost = False
        elif self.follows:
            events += await self._growth(reader, standing)
            if standing.queue != self._queue:
                self._queue = standing.queue
                events.append(QueueChanged(self.id, standing.queue))
        self._rows = {id: row for id, row in self._rows.items() if progress.may_change(row, standing.running)}
        self._heard &= self._rows.keys()
        return events

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

    async def _find_place(self, reader: Reader, standing: Progress) -> bool:
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
        """True if the window stands on the other's branch, and was not moved up by the person."""
        forward = self._kept == leaf or await progress.passes_through(reader, before, self._kept)
        return forward and await progress.passes_through(reader, self._kept, leaf)

    async def _changes(self, reader: Reader, standing: Progress) -> list[ConversationEvent]:
        """The changes of rows that were published."""
        over = {row.turn_id for row in self._rows.values() if row.turn_id} - standing.running
        due = [id for id, row in self._rows.items() if _is_due(row, over)]
        events: list[ConversationEvent] = []
        for row in await progress.reread(reader, due) if due else ():
            events += self._difference(self._rows[row.id], row)
            self._rows[row.id] = row
        return events

    def _difference(self, before: Message, now: Message) -> Iterable[ConversationEvent]:
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

    async def _growth(self, reader: Reader, standing: Progress) -> Sequence[ConversationEvent]:
        leaf = standing.leaf_id
        added = None if self._lost else await progress.rows_between(reader, self._leaf, leaf, _MOST_ADDED)
        if added is None:
            self._lost = False
            self._start_at(leaf, await self._unsettled(reader, standing, leaf))
            return [LeafMoved(self.id, leaf)]
        self._leaf = leaf
        for row in added:
            self._rows[row.id] = row
            self._heard.add(row.id)
        return [MessageAdded(self.id, row) for row in added]

    async def _unsettled(self, reader: Reader, standing: Progress, leaf: str | None) -> list[Message]:
        return await progress.unsettled_rows(reader, standing.record.id, leaf)

    def _start_at(self, leaf: str | None, unsettled: Sequence[Message]) -> None:
        """Publish changes from here on; earlier rows are read by the window."""
        self._leaf = leaf
        self._rows = {row.id: row for row in unsettled}
        self._heard.clear()


def _is_due(row: Message, over: set[str]) -> bool:
    """Rows of a turn that are closed change seldom: they are read again when the turn is over."""
    return row.state is MessageState.OPEN or row.turn_id is None or row.turn_id in over


LOOK_SECONDS = 0.25
PLACE_SECONDS = 1.0  # between two looks while no other client's conversation is followed
HOLDER_SECONDS = 1.0  # between two looks at whether the holder lives


class Following:
    """Everything that this process follows, the places of all ``live`` conversations, and logouts."""

    def __init__(
        self,
        services: Services,
        is_dead: Callable[[Lease], bool],
        live: Callable[[], Collection[LiveConversation]],
        hear_logouts: Callable[[Mapping[Account, int]], None],
    ) -> None:
        self._services = services
        self._is_dead = is_dead
        self._live = live
        self._hear_logouts = hear_logouts
        self._places: dict[str, str | None] = {}  # of open conversations, when they were looked at
        self._followed: dict[str, _Followed] = {}
        self._wake = asyncio.Event()
        self._looking = asyncio.Lock()
        self._failing = False
        self._version: int | None = None  # of the file, when everything was looked at

    def follow(self, conversation: LiveConversation, *, lost: bool = False) -> None:
        """Publish what another client does; ``lost`` if it took what was ours, and our windows go where it is."""
        self._followed[conversation.id] = _Followed(conversation, self._services, lost=lost)
        self._version = None
        self._wake.set()

    async def detach(self, conversation: LiveConversation) -> None:
        """Read the last changes, so that our windows have the other's leaf, then stop following. Raises StoreError."""
        async with self._looking:
            followed = self._followed.get(conversation.id)
            if followed is not None and followed.conversation is conversation:
                await followed.end()
                del self._followed[conversation.id]

    async def drop(self, conversation_id: str) -> None:
        """Stop following a conversation, without another look."""
        async with self._looking:
            self._followed.pop(conversation_id, None)

    async def run(self) -> None:
        """Look for changes until cancelled."""
        holder_due = 0.0
        while True:
            self._wake.clear()
            async with self._looking:
                if self._followed or self._live():
                    await self._look_if_possible()
                now = self._services.monotonic()
                if now >= holder_due:
                    holder_due = now + HOLDER_SECONDS
                    for followed in self._followed.values():
                        followed.judge_holder(self._is_dead)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self._followed else PLACE_SECONDS):
                    await self._wake.wait()

    async def _look_if_possible(self) -> None:
        """A store that is busy is looked at again; that it cannot be read is reported to the next write."""
        try:
            await self._look()
            self._failing = False
        except StoreError:
            if not self._failing:
                logging.getLogger(__name__).warning("nothing can be followed", exc_info=True)
            self._failing = True

    async def _look(self) -> None:
        version = await self._services.db.data_version()
        for followed in list(self._followed.values()):
            if version != self._version or followed.is_behind:
                await followed.look()
        if version != self._version:
            await self._look_at_all()
        self._version = version

    async def _look_at_all(self) -> None:
        """Tell which logouts were the last, and the windows of conversations whose places moved."""
        shown = [conversation for conversation in self._live() if conversation.windows]
        async with self._services.db.read() as reader:
            now = {each.record.id: await places.of(reader, each.record.id) for each in shown}
            last = await last_logouts(reader)
        self._hear_logouts(last)
        before, self._places = self._places, now
        for conversation in shown:
            id = conversation.record.id
            if id not in before or before[id] != now[id]:
                conversation.place_moved()


class _Followed:
    """One conversation that another client holds."""

    def __init__(self, conversation: LiveConversation, services: Services, *, lost: bool) -> None:
        self.conversation = conversation
        self._services = services
        self._lost = lost
        self._views: dict[str, FollowingWindow] = {}
        self._standing: Progress | None = None
        self._lease: Lease | None = None
        self._looked = False

    @property
    def is_behind(self) -> bool:
        """True if a window was opened since the last look, or moved by the person in the middle of it."""
        return not self.conversation.windows <= self._views.keys() or any(
            view.went for view in self._views.values()
        )

    def judge_holder(self, is_dead: Callable[[Lease], bool]) -> None:
        """Publish that the holder has died, or is another one."""
        if self._looked:
            free = self._lease is None or is_dead(self._lease)
            self.conversation.held_by(
                self._lease.owner if self._lease else self.conversation.holder, free=free
            )

    async def end(self) -> None:
        """Look once more; what waits is from now on what waits here. Raises StoreError."""
        await self.look()
        async with self._services.db.read() as reader:
            ours = {view.id: await queue.items(reader, view.id) for view in self._views.values()}
        for window_id, items in ours.items():
            self.conversation.publish(QueueChanged(window_id, tuple(each for each in items if each.waits)))

    async def look(self) -> None:
        """Read what is new, move our windows along, then publish it. Raises StoreError."""
        try:
            await self._look()
        except StoreError:
            # What was found may be told in part: everything is read anew the next time.
            self._views.clear()
            self._lost = True
            raise

    async def _look(self) -> None:
        conversation = self.conversation
        self._views = {
            id: self._views.get(id) or FollowingWindow(id, lost=self._lost) for id in conversation.windows
        }
        async with self._services.db.read() as reader:
            standing = await progress.of_conversation(
                reader, conversation.id, list(self._views), self._standing
            )
            if standing is None:
                return
            looks = [await view.look(reader, standing) for view in self._views.values()]
        self._lost, self._standing = False, standing
        moved = [view for view in self._views.values() if view.moved]
        if moved:
            # A store that cannot be written can still be followed.
            with contextlib.suppress(StoreError):
                async with self._services.db.write() as tx:
                    for view in moved:
                        await view.keep(tx)
        self._learn(standing)
        for view, events in zip(list(self._views.values()), looks, strict=True):
            if standing.busy and view.follows and conversation.doing(view.id) is Doing.IDLE:
                conversation.begin_turn(view.id)
                conversation.set_doing(view.id, Doing.WORKING)
            for item in events if not view.went else ():
                conversation.publish(item)
            if not standing.busy:
                conversation.set_doing(view.id, Doing.IDLE)

    def _learn(self, standing: Progress) -> None:
        conversation, before = self.conversation, self.conversation.record
        conversation.record = standing.record
        if standing.record.title != before.title:
            for window_id in conversation.windows:
                conversation.publish(Renamed(window_id, standing.record.title))
        if standing.record.agent != before.agent:
            for window_id in conversation.windows:
                conversation.clear_carrier(window_id)
        lease, before_it = standing.lease, self._lease
        if lease is not None and lease.owner.id == self._services.owner.id:
            return  # being taken over: whoever does that tells it
        self._lease = lease
        if lease is None:
            conversation.held_by(conversation.holder, free=True)
        elif before_it is None or before_it.owner != lease.owner:
            conversation.held_by(lease.owner, free=conversation.free and not self._looked)
        self._looked = True

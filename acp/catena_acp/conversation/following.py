"""Following conversations that another client holds: what it writes is told here as if it were done here.

One look at the file's version for the whole process, and a look at the rows only where that moved. While nothing is
followed nothing is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from catena_acp.conversation.core import Core
from catena_acp.conversation.following_window import FollowingWindow
from catena_acp.conversation.news import Doing, QueueChanged, Renamed
from catena_acp.conversation.services import Services
from catena_store.clients import following
from catena_store.clients.following import Standing
from catena_store.errors import StoreError
from catena_store.records import Lease
from catena_store.windows import queue

LOOK_SECONDS = 0.25
HOLDER_SECONDS = 1.0  # between two looks at whether the holder lives


class Following:
    """Everything that this process follows."""

    def __init__(self, services: Services, is_dead: Callable[[Lease], bool]) -> None:
        self._services = services
        self._is_dead = is_dead
        self._followed: dict[str, _Followed] = {}
        self._wake = asyncio.Event()
        self._looking = asyncio.Lock()
        self._failing = False
        self._version: int | None = None  # of the file, when everything was looked at

    def follow(self, core: Core, *, lost: bool = False) -> None:
        """Tell what another client does; ``lost`` where it took what was ours, and our windows go where it is."""
        self._followed[core.record.id] = _Followed(core, self._services, lost=lost)
        self._version = None
        self._wake.set()

    async def let_go(self, core: Core) -> None:
        """Look once more, so that our windows stand where the other's did; then no longer. Raises StoreError."""
        async with self._looking:
            followed = self._followed.get(core.record.id)
            if followed is not None and followed.core is core:
                await followed.end()
                del self._followed[core.record.id]

    async def drop(self, conversation_id: str) -> None:
        """Follow it no longer, without another look."""
        async with self._looking:
            self._followed.pop(conversation_id, None)

    async def run(self) -> None:
        """Look again and again; ends when it is cancelled."""
        holder_due = 0.0
        while True:
            if not self._followed:
                self._wake.clear()
                await self._wake.wait()
            async with self._looking:
                await self._look_if_possible()
                now = self._services.monotonic()
                if now >= holder_due:
                    holder_due = now + HOLDER_SECONDS
                    for followed in self._followed.values():
                        followed.judge_holder(self._is_dead)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look_if_possible(self) -> None:
        """A store that is busy is looked at again; that it cannot be read is told to whoever wants to write."""
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
        self._version = version


class _Followed:
    """One conversation that another client holds."""

    def __init__(self, core: Core, services: Services, *, lost: bool) -> None:
        self.core = core
        self._services = services
        self._lost = lost
        self._views: dict[str, FollowingWindow] = {}
        self._standing: Standing | None = None
        self._lease: Lease | None = None
        self._looked = False

    @property
    def is_behind(self) -> bool:
        """True where a window was opened since the last look, or moved by the person in the middle of it."""
        return not self.core.windows <= self._views.keys() or any(view.went for view in self._views.values())

    def judge_holder(self, is_dead: Callable[[Lease], bool]) -> None:
        """Tell where the holder has died, or is another one."""
        if self._looked:
            free = self._lease is None or is_dead(self._lease)
            self.core.held_by(self._lease.owner if self._lease else self.core.holder, free=free)

    async def end(self) -> None:
        """Look once more; what waits is from now on what waits here. Raises StoreError."""
        await self.look()
        async with self._services.db.read() as reader:
            ours = {view.id: await queue.items(reader, view.id) for view in self._views.values()}
        for window_id, items in ours.items():
            self.core.tell(QueueChanged(window_id, tuple(items)))

    async def look(self) -> None:
        """Read what is new, move our windows along, then tell. Raises StoreError."""
        try:
            await self._look()
        except StoreError:
            # What was found may be told in part: everything is read anew the next time.
            self._views.clear()
            self._lost = True
            raise

    async def _look(self) -> None:
        core = self.core
        self._views = {id: self._views.get(id) or FollowingWindow(id, lost=self._lost) for id in core.windows}
        async with self._services.db.read() as reader:
            standing = await following.standing(reader, core.record.id, list(self._views), self._standing)
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
        for view, news in zip(list(self._views.values()), looks, strict=True):
            if standing.busy and view.follows and core.doing(view.id) is Doing.IDLE:
                core.begin_turn(view.id)
                core.now(view.id, Doing.WORKING)
            for item in news if not view.went else ():
                core.tell(item)
            if not standing.busy:
                core.now(view.id, Doing.IDLE)

    def _learn(self, standing: Standing) -> None:
        core, before = self.core, self.core.record
        core.record = standing.record
        if standing.record.title != before.title:
            for window_id in core.windows:
                core.tell(Renamed(window_id, standing.record.title))
        if standing.record.agent != before.agent:
            for window_id in core.windows:
                core.carried_by_none(window_id)
        lease, before_it = standing.lease, self._lease
        if lease is not None and lease.owner.id == self._services.owner.id:
            return  # being taken over: whoever does that tells it
        self._lease = lease
        if lease is None:
            core.held_by(core.holder, free=True)
        elif before_it is None or before_it.owner != lease.owner:
            core.held_by(lease.owner, free=core.free and not self._looked)
        self._looked = True

"""When snapshots are made: around turns, beside what goes on, and not where they take too long."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from pathlib import Path

from catena_acp.process_group import is_running
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.database.database import Database
from catena_store.errors import SnapshotFailed, StoreError
from catena_store.snapshots import turns
from catena_store.snapshots.repository import SnapshotRepository, work_tree
from catena_store.snapshots.trees import DirectorySnapshot
from catena_store.snapshots.turns import CutOffTurn

PATIENCE = 0.15  # seconds that a prompt waits for the snapshot before it
_SLOW = 1.0  # seconds; a directory that takes longer than that twice is kept no more
_MOST_SLOW = 2
_DAY = 86_400  # seconds
_TURNS_OF_PACK = 50  # of a directory, after which what was kept is put into one file

Tell = Callable[[str], None]  # a line for the person
Write = Callable[[SnapshotRepository, DirectorySnapshot], Awaitable[None]]


class _Directory:
    """One directory: its snapshots follow one another, and end for good where they fail or take too long."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.kept = True
        self.slow = 0
        self.turns = 0  # that ended
        self.read_before = False  # a first snapshot reads every file, and may take its time


class FileSnapshots:
    """Keeps files around turns. A failure never stops a turn: it is told once, and the root is kept no more.

    ``directory`` is where the repositories are, and ``program`` is git, or None where the machine has none.
    """

    def __init__(
        self,
        db: Database,
        directory: Path,
        program: str | None,
        scope: SnapshotScope,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._directory = directory
        self._program = program if scope is not SnapshotScope.OFF else None
        self._scope = scope
        self._clock = clock
        self._monotonic = monotonic
        self._directories: dict[str, _Directory] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_work: set[SnapshotRepository] = set()

    async def begin(self, turn_id: str, directory: str, tell: Tell) -> None:
        """Keep the files as they are before a turn; return once they are kept, or after 0.15 s."""

        async def write(repository: SnapshotRepository, taken: DirectorySnapshot) -> None:
            async with self._db.write() as tx:
                await turns.begin(tx, turn_id, str(repository.root), taken.tree, taken.left_out)

        if self._program:
            await asyncio.wait({self._started(self._keep(directory, write, tell))}, timeout=PATIENCE)

    def end(self, turn_id: str, directory: str, tell: Tell) -> None:
        """Keep the files as they are after a turn."""

        async def write(repository: SnapshotRepository, taken: DirectorySnapshot) -> None:
            async with self._db.write() as tx:
                await turns.end(tx, turn_id, taken.tree, taken.left_out)

        if self._program:
            self._started(self._keep_and_pack(directory, write, tell))

    def close(self, conversation_id: str) -> None:
        """Keep the files as they are for the end of a conversation's turns that were cut off before it was kept."""
        if self._program and not self._db.read_only:
            self._started(self._close(conversation_id))

    async def settled(self, seconds: float | None = None) -> None:
        """Wait until everything is kept, or give the rest up after so long: a later snapshot stands for it."""
        loop = asyncio.get_running_loop()
        ends = None if seconds is None else loop.time() + seconds
        while self._tasks:
            await asyncio.wait(self._tasks, timeout=None if ends is None else max(0.0, ends - loop.time()))
            if ends is not None and loop.time() >= ends:
                ends = None  # what is given up ends soon
                self._program = None
                for repository in self._at_work:
                    repository.give_up()

    def repository(self, directory: str) -> SnapshotRepository | None:
        """The snapshots of a directory's root; None where none are made. Blocks for a moment."""
        if self._program is None:
            return None
        place = work_tree(Path(directory))
        if self._scope is SnapshotScope.REPOSITORIES and not (place / ".git").exists():
            return None
        return SnapshotRepository(self._program, self._directory, place)

    async def _keep_and_pack(self, directory: str, write: Write, tell: Tell) -> None:
        await self._keep(directory, write, tell)
        state = self._directories[directory]
        state.turns += 1
        # Beside what goes on: others may make snapshots meanwhile.
        if state.kept and state.turns % _TURNS_OF_PACK == 0:
            repository = await asyncio.to_thread(self.repository, directory)
            with contextlib.suppress(SnapshotFailed):  # after as many turns again
                if repository is not None:
                    await asyncio.to_thread(repository.pack)

    async def _close(self, conversation_id: str) -> None:
        with contextlib.suppress(StoreError):
            async with self._db.read() as reader:
                found = await turns.cut_off(reader, conversation_id=conversation_id)
            for root in sorted({each.root for each in found}):
                if await asyncio.to_thread(Path(root).is_dir):
                    await self._keep(root, None, lambda words: None)

    async def _keep(self, directory: str, write: Write | None, tell: Tell) -> None:
        state = self._directories.setdefault(directory, _Directory())
        async with state.turn:
            if not state.kept:
                return
            began = self._monotonic()
            try:
                repository = await asyncio.to_thread(self.repository, directory)
                if repository is None:
                    return
                await self._take(repository, write)
            except (SnapshotFailed, OSError) as error:
                state.kept = False
                tell(f"File snapshots are off until you restart Catena: {error}")
                return
            except StoreError:
                return  # what hinders the store is told where it matters more
            state.slow += state.read_before and self._monotonic() - began > _SLOW
            state.read_before = True
            if state.slow >= _MOST_SLOW:
                state.kept = False
                tell(f"Snapshots of {repository.root} take over a second: off until you restart Catena.")

    async def _take(self, repository: SnapshotRepository, write: Write | None) -> None:
        """Take one snapshot, which is also the end of turns that were cut off before it."""
        day = int(self._clock().timestamp()) // _DAY
        self._at_work.add(repository)
        try:
            async with self._db.read() as reader:
                found = await turns.cut_off(reader, str(repository.root))
            cut_off = await asyncio.to_thread(lambda: [each for each in found if self._is_over(each)])
            taken = await asyncio.to_thread(repository.capture, day=day)
            if write is not None:
                await write(repository, taken)
            for each in cut_off:
                with contextlib.suppress(SnapshotFailed):  # its start is lost
                    certain = await asyncio.to_thread(_certain, repository, each, taken.tree, day)
                    async with self._db.write() as tx:
                        await turns.end_later(tx, each.turn_id, taken.tree, certain, taken.left_out)
        finally:
            self._at_work.discard(repository)

    def _is_over(self, turn: CutOffTurn) -> bool:
        return turn.lease is None or not is_running(turn.lease.owner, turn.lease.heartbeat_at, self._clock())

    def _started(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _certain(repository: SnapshotRepository, turn: CutOffTurn, tree: str, day: int) -> str:
    """The tree of what a turn that was cut off certainly left, kept."""
    certain = repository.tree_until(turn.before, tree, turn.alive_at)
    repository.keep(certain, day=day)
    return certain

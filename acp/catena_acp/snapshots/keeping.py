"""When snapshots are made: around turns, beside what goes on, and not where they take too long."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from pathlib import Path

from catena_acp.process_group import is_running
from catena_acp.snapshots.scope import SnapshotScope
from catena_acp.tasks import TaskSet
from catena_store.database.database import Database
from catena_store.errors import SnapshotFailed, StoreError
from catena_store.snapshots import turns
from catena_store.snapshots.repository import SnapshotRepository, work_tree
from catena_store.snapshots.trees import DirectorySnapshot
from catena_store.snapshots.turns import CutOffTurn

PATIENCE = 0.15  # seconds that a prompt waits for the snapshot before it
CHANGE_PATIENCE = 2.0  # and that a change through us waits
_SLOW = 1.0  # seconds; a directory that takes longer than that twice in a row is kept no more
_MOST_SLOW = 2
_DAY = 86_400  # seconds
_TURNS_OF_PACK = 50  # of a directory, after which what was kept is put into one file, however little it is

Tell = Callable[[str], None]  # a line for the person
Write = Callable[[SnapshotRepository, DirectorySnapshot], Awaitable[None]]


def _is_busy() -> bool:
    """Whether more wants to run on this machine than it has processors; False where it does not tell."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1)
    except OSError:
        return False


class _Directory:
    """One directory: its snapshots follow one another, and end for good where they fail or take too long."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.kept = True
        self.slow = 0
        self.turns = 0  # that ended since what was kept was packed
        self.told = False  # why nothing is kept
        self.read_before = False  # a first snapshot reads every file, and may take its time


class _Start:
    """The snapshot of a turn's start, while it is made."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.acted = False  # the turn may have changed files


class FileSnapshots:
    """Keeps files around turns. A failure never stops a turn: it is told once, and the root is kept no more.

    ``directory`` is where the repositories are, ``program`` is git, or None where the machine has none, and ``home`` is
    the person's: a root that holds it is not kept. While the machine ``is_busy`` a slow snapshot says nothing of its
    directory.
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
        is_busy: Callable[[], bool] = _is_busy,
        home: Path | None = None,
    ) -> None:
        self._db = db
        self._directory = directory
        self._program = program
        self._scope = scope
        self._home = home or _home()
        self._clock = clock
        self._monotonic = monotonic
        self._is_busy = is_busy
        self._directories: dict[str, _Directory] = {}
        self._tasks = TaskSet()
        self._starts: dict[str, _Start] = {}  # by turn
        self._at_work: set[SnapshotRepository] = set()
        self._packing: set[SnapshotRepository] = set()
        self._ended = scope is SnapshotScope.OFF
        self._restores: set[str] = set()  # changes of files that this process is at

    def today(self) -> int:
        """The number of today, by which snapshots are kept."""
        return int(self._clock().timestamp()) // _DAY

    async def begin(self, turn_id: str, directory: str, tell: Tell) -> None:
        """Keep the files as they are before a turn; return once they are kept, or after 0.15 s.

        Files that are kept when the turn has acted already are noted as late.
        """
        start = _Start()

        async def write(repository: SnapshotRepository, taken: DirectorySnapshot) -> None:
            late = start.acted  # before the store is waited for
            async with self._db.write() as tx:
                await turns.begin(tx, turn_id, str(repository.root), taken.tree, taken.left_out, late=late)

        if not self._ended:
            self._stop_packing()
            self._starts[turn_id] = start
            start.task = self._tasks.begin(self._keep(directory, write, tell))
            start.task.add_done_callback(lambda _: self._starts.pop(turn_id, None))
            await asyncio.wait({start.task}, timeout=PATIENCE)

    def acts(self, turn_id: str) -> None:
        """Note that a turn may have changed files: a snapshot of its start that comes later is late."""
        if start := self._starts.get(turn_id):
            start.acted = True

    async def before_change(self, turn_id: str) -> None:
        """Wait until the files are kept as they were before a turn, for two seconds at most."""
        start = self._starts.get(turn_id)
        if start is not None and start.task is not None:
            await asyncio.wait({start.task}, timeout=CHANGE_PATIENCE)
        self.acts(turn_id)

    def end(self, turn_id: str, directory: str, tell: Tell) -> None:
        """Keep the files as they are after a turn."""

        async def write(repository: SnapshotRepository, taken: DirectorySnapshot) -> None:
            async with self._db.write() as tx:
                await turns.end(tx, turn_id, taken.tree, taken.left_out)

        if not self._ended:
            self._tasks.begin(self._keep_and_pack(directory, write, tell))

    def close(self, conversation_id: str) -> None:
        """Keep the files as they are for the end of a conversation's turns that were cut off before it was kept."""
        if not self._ended and not self._db.read_only:
            self._tasks.begin(self._close(conversation_id))

    @property
    def is_keeping(self) -> bool:
        """Whether a snapshot is under way."""
        return bool(self._tasks)

    async def caught_up(self) -> None:
        """Wait until everything is kept, or for a moment: what reads it then is no worse off than before."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_SLOW)

    async def settled(self, seconds: float | None = None) -> None:
        """Wait until everything is kept, or give the rest up after so long: a later snapshot stands for it."""
        loop = asyncio.get_running_loop()
        ends = None if seconds is None else loop.time() + seconds
        if ends is not None:
            self._stop_packing()
        while self._tasks:
            await asyncio.wait(self._tasks, timeout=None if ends is None else max(0.0, ends - loop.time()))
            if ends is not None and loop.time() >= ends:
                ends, self._ended = None, True  # what is given up ends soon
                for repository in self._at_work:
                    repository.give_up()

    def repository(self, directory: str) -> SnapshotRepository | None:
        """The snapshots of a directory's root; None where none are made. Blocks for a moment."""
        root = self._root(directory)
        if root is None or self._program is None or self._is_too_wide(root):
            return None
        return SnapshotRepository(self._program, self._directory, root)

    def _root(self, directory: str) -> Path | None:
        """The root that a directory's files are to be kept of, by the settings."""
        root = work_tree(Path(directory))
        if self._scope is SnapshotScope.REPOSITORIES and not (root / ".git").exists():
            return None
        return None if self._scope is SnapshotScope.OFF else root

    def _is_too_wide(self, root: Path) -> bool:
        return self._home is not None and (root == self._home or root in self._home.parents)

    def _refusal(self, directory: str) -> str | None:
        """Why a directory that is to be kept is not. Blocks for a moment."""
        root = self._root(directory)
        if root is None:
            return None
        if self._program is None:
            return "No file snapshots: git is not installed."
        return f"No file snapshots: {root} contains your home directory." if self._is_too_wide(root) else None

    def repository_at(self, root: Path) -> SnapshotRepository | None:
        """The snapshots of a root, also where none are made any more; None without git."""
        return SnapshotRepository(self._program, self._directory, root) if self._program else None

    @contextlib.contextmanager
    def restoring(self, id: str) -> Iterator[None]:
        """This process is at a change of files within the block."""
        self._restores.add(id)
        try:
            yield
        finally:
            self._restores.discard(id)

    def is_restoring(self, id: str) -> bool:
        """Whether this process is at a change of files."""
        return id in self._restores

    async def _keep_and_pack(self, directory: str, write: Write, tell: Tell) -> None:
        await self._keep(directory, write, tell)
        state = self._directories[directory]
        state.turns += 1
        if not state.kept or self._ended:
            return
        with contextlib.suppress(StoreError):  # after the next turn
            repository = await asyncio.to_thread(self.repository, directory)
            if repository is not None and await self._is_idle(repository):
                self._packing.add(repository)
                try:
                    if state.turns >= _TURNS_OF_PACK or await asyncio.to_thread(repository.is_loose):
                        await asyncio.to_thread(repository.pack)
                        state.turns = 0
                finally:
                    self._packing.discard(repository)

    async def _is_idle(self, repository: SnapshotRepository) -> bool:
        """Whether no turn of a root runs, in any Catena."""
        async with self._db.read() as reader:
            found = await turns.cut_off(reader, str(repository.root))
        return await asyncio.to_thread(lambda: all(self._is_over(each) for each in found))

    def _stop_packing(self) -> None:
        """A turn begins, or the end is near: packing goes on another time."""
        for repository in self._packing:
            repository.give_up()

    async def _close(self, conversation_id: str) -> None:
        with contextlib.suppress(StoreError):
            async with self._db.read() as reader:
                found = await turns.cut_off(reader, conversation_id=conversation_id)
            for root in sorted({each.root for each in found}):
                state = self._directories.setdefault(root, _Directory())
                async with state.turn:
                    repository = await asyncio.to_thread(self.repository, root)
                    if repository is None or str(repository.root) != root or not state.kept or self._ended:
                        continue
                    # The next snapshot tells what hinders it.
                    with contextlib.suppress(StoreError, OSError):
                        await self._take(repository, None)
                        state.read_before = True

    async def _keep(self, directory: str, write: Write, tell: Tell) -> None:
        state = self._directories.setdefault(directory, _Directory())
        async with state.turn:
            if not state.kept or self._ended:
                return
            began = self._monotonic()
            try:
                repository = await asyncio.to_thread(self.repository, directory)
                if repository is None:
                    if not state.told and (why := await asyncio.to_thread(self._refusal, directory)):
                        state.told = True
                        tell(why)
                    return
                await self._take(repository, write)
            except (SnapshotFailed, OSError) as error:
                state.kept = False
                tell(f"File snapshots are off until you restart Catena: {error}")
                return
            except StoreError:
                return  # what hinders the store is told where it matters more
            slow = self._monotonic() - began > _SLOW and state.read_before
            # A build takes the processors for an hour; files of that hour are to be kept, too.
            if not slow:
                state.slow = 0
            elif not self._is_busy():
                state.slow += 1
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


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:  # the system knows of none
        return None


def _certain(repository: SnapshotRepository, turn: CutOffTurn, tree: str, day: int) -> str:
    """The tree of what a turn that was cut off certainly left, kept."""
    certain = repository.tree_until(turn.before, tree, turn.alive_at)
    repository.keep(certain, day=day)
    return certain

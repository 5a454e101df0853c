"""The way of files back to what they were before some turns: what would change, and the change itself. It blocks.

Only paths that those turns changed are written, and only where nobody else changed them since. Each file is written
beside its place and renamed into it; directories are entered one by one and never through a link, so that nothing
outside of the root is reached whatever is swapped meanwhile. Every step can be done again: what a killed process left
is finished, or undone, by the same steps.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.trees import (
    LARGEST,
    ContentReader,
    TreeChange,
    TreeEntry,
    above,
    blob_id,
    is_among,
    mode_of,
)

_TEMPORARY = ".catena-restore-"  # in front of the name of a file that is being written
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Why(StrEnum):
    """Why a path is not brought back unless the person chooses it."""

    CHANGED_SINCE = "changed since by someone else"
    CHANGED_BETWEEN = "changed between the turns by someone else"
    KEPT_LATER = "kept later, and maybe changed by you"
    AT_WORK_TOO = "maybe changed by another agent that was at work at the same time"
    MOVED = "restored while the turn was at work"
    SAME_LINES = "changed since in the same lines"
    NOT_KEPT = "not kept: too large, unreadable, ignored, or in a repository of its own"
    IN_NO_SNAPSHOT = "in no snapshot: too large, unreadable, ignored, or in a repository of its own"


@dataclass(frozen=True, slots=True)
class RestoreStep:
    """One path: what is there now, and what shall be; None for no file."""

    path: str
    now: TreeEntry | None
    wanted: TreeEntry | None
    conflict: Why | None = None

    @property
    def possible(self) -> bool:
        """Whether the step can be taken, if the person chooses it: what is in no snapshot stays as it is."""
        return self.conflict is not Why.IN_NO_SNAPSHOT

    @property
    def reversed(self) -> RestoreStep:
        """The step back."""
        return RestoreStep(self.path, self.wanted, self.now)


@dataclass(frozen=True, slots=True)
class TurnSnapshots:
    """The trees of a turn's start and end, and its end without what may have been changed after it."""

    before: str
    after: str
    certain: str | None = None  # where the end was kept later
    shared: tuple[tuple[str, str, Why], ...] = ()  # trees between which it may be another's, and why


def plan(
    repository: SnapshotRepository,
    left: Sequence[TurnSnapshots],
    now: str,
    entered: Sequence[TurnSnapshots] = (),
    *,
    unkept: Iterable[str] = (),
    made: Iterable[str] = (),
) -> list[RestoreStep]:
    """The steps, by path, that leave turns, and enter others that followed where they began.

    Both are in the order in which they ran; ``now`` is a snapshot of this moment, ``unkept`` are the files and
    directories that one of the snapshots lacks, and ``made`` those of them that came in these turns and are in none. A
    change that is not surely a turn's has a conflict, whether the turn is left or entered. Raises SnapshotFailed.
    """
    back = Course(repository, left)
    back.end(now)
    ahead = Course(repository, entered)
    # Of a path that no left turn changed: what is there now, where that is not as the first entered one found it.
    elsewhere: dict[str, TreeEntry | None] = {}
    for began in dict.fromkeys(ahead.began[path] for path in ahead.first.keys() - back.first.keys()):
        for change in repository.changes(began, now):
            if ahead.began.get(change.path) == began:
                elsewhere[change.path] = change.new
    steps = []
    for path in sorted(back.first.keys() | ahead.first.keys()):
        conflict = back.conflict(path)
        if path in back.last:
            found, wanted = back.last[path], back.first[path]
        else:
            found = wanted = elsewhere.get(path, ahead.first[path])
        if path in ahead.first:
            if wanted != ahead.first[path]:
                conflict = conflict or Why.CHANGED_SINCE
            conflict = conflict or ahead.conflict(path)
            wanted = ahead.last[path]
        if found != wanted:
            steps.append(RestoreStep(path, found, wanted, conflict))
    found_steps = _without_guesses(repository, steps, now, set(unkept))
    known = {step.path for step in found_steps}
    never = [RestoreStep(path, None, None, Why.IN_NO_SNAPSHOT) for path in made if path not in known]
    return sorted([*found_steps, *never], key=lambda step: step.path)


def _without_guesses(
    repository: SnapshotRepository, steps: Sequence[RestoreStep], now: str, unkept: Set[str]
) -> list[RestoreStep]:
    """The steps, where what a snapshot lacks is not taken for what was not there."""
    ignored: Set[str] = set()
    gone = [step.path for step in steps if step.wanted is None]
    # What is kept now is not ignored now: it was then only where other rules held.
    if gone and any(step.path.rpartition("/")[2] == ".gitignore" for step in steps):
        wanted = repository.tree_with(now, {step.path: step.wanted for step in steps})
        ignored = repository.ignored(wanted, gone)
    certain = []
    with _root_of(repository) as root:
        for step in steps:
            if step.now is None and not root.is_directory(step.path):
                there = root.entry(step.path)
                if there == step.wanted:
                    continue
                if there is not None or root.is_other(step.path):
                    certain.append(replace(step, conflict=Why.IN_NO_SNAPSHOT))
                    continue
                lacking = False
            else:
                lacking = step.wanted is None and step.path in ignored
            if step.conflict is None and (lacking or is_among(step.path, unkept)):
                step = replace(step, conflict=Why.NOT_KEPT)
            certain.append(step)
    return certain


class Course:
    """What became of the paths that some turns changed: before the first of them, and after the last.

    ``began`` has the tree before the first, and ``others`` are paths that someone else changed after one of the turns
    had; of those in ``doubts`` it cannot be told whether a turn changed them.
    """

    def __init__(self, repository: SnapshotRepository, turns: Sequence[TurnSnapshots]) -> None:
        self.first: dict[str, TreeEntry | None] = {}
        self.began: dict[str, str] = {}
        self.last: dict[str, TreeEntry | None] = {}
        self.others: dict[str, Why] = {}
        self.doubts: dict[str, Why] = {}
        self._repository = repository
        self._tree: str | None = None
        for turn in turns:
            self._others(turn.before, Why.CHANGED_BETWEEN)
            changes = repository.changes(turn.before, turn.after)
            self._came_back_unseen(turn.before, changes)
            for change in changes:
                self.first.setdefault(change.path, change.old)
                self.began.setdefault(change.path, turn.before)
                self.last[change.path] = change.new
            for began, ended, why in turn.shared:
                for change in repository.changes(began, ended):
                    self.doubts.setdefault(change.path, why)
            if turn.certain is not None:
                for change in repository.changes(turn.certain, turn.after):
                    self.doubts[change.path] = Why.KEPT_LATER
            self._tree = turn.after

    def conflict(self, path: str) -> Why | None:
        """Why a path is not surely what the turns made of it."""
        return self.others.get(path) or self.doubts.get(path)

    def end(self, now: str) -> None:
        """Look at what others changed from the end of the last turn until now."""
        self._others(now, Why.CHANGED_SINCE)

    def _came_back_unseen(self, before: str, changes: Iterable[TreeChange]) -> None:
        """Doubt what a turn seems to have made anew where it was only ignored: anybody may have written it."""
        new = [each.path for each in changes if each.path in self.last and self.last[each.path] is None]
        for path in self._repository.ignored(before, new) if new else ():
            self.doubts.setdefault(path, Why.NOT_KEPT)

    def _others(self, tree: str, why: Why) -> None:
        for change in self._repository.changes(self._tree, tree) if self._tree else ():
            if change.path in self.last:
                self.last[change.path] = change.new
                self.others[change.path] = why


def restore(
    repository: SnapshotRepository,
    steps: Iterable[RestoreStep],
    *,
    done: Callable[[RestoreStep], None] = lambda step: None,
) -> list[RestoreStep]:
    """Bring paths to their wanted state; return the steps left because somebody changed the file meanwhile.

    A path that is in its wanted state already counts as done. ``done`` is called after each. Raises SnapshotFailed,
    with the paths before the failed one done.
    """
    refused, ordered = [], list(steps)
    needed = {each for step in ordered if step.wanted is not None for each in above(step.path)}
    # What goes makes room for what comes: a directory may be where a file was, and the other way round.
    ordered.sort(key=lambda step: (step.wanted is not None, step.path))
    with repository.held(), _root_of(repository) as root, repository.contents() as contents:
        for step in ordered:
            try:
                # Done before it was broken off: a directory of what comes is where the file was.
                is_done = step.wanted is None and step.path in needed and root.is_directory(step.path)
                if not is_done and not _restore_one(root, contents, step):
                    refused.append(step)
                    continue
            except OSError as error:
                raise SnapshotFailed(repository.root, f"{step.path}: {error.strerror}") from error
            done(step)
    return refused


def count_done(repository: SnapshotRepository, steps: Iterable[RestoreStep]) -> int:
    """How many of the steps are done: what is wanted is there. Nothing is read through a link."""
    try:
        with _Root(repository.root) as root:
            return sum(root.entry(step.path) == step.wanted for step in steps)
    except OSError:
        return 0


def _restore_one(root: _Root, contents: ContentReader, step: RestoreStep) -> bool:
    found = root.entry(step.path)
    root.clear(step.path)
    if step.now is None and step.wanted is not None:
        root.remove_empty(step.path)
    if root.is_other(step.path) or found not in (step.now, step.wanted):
        return False
    if step.wanted is None:
        root.remove(step.path)
        return True
    if found == step.wanted:
        return True
    try:
        root.write(step.path, step.wanted, contents.read(step.wanted.blob))
    except NotADirectoryError:  # a link or a file stands where one of its directories was
        return False
    return True


def _root_of(repository: SnapshotRepository) -> _Root:
    try:
        return _Root(repository.root)
    except OSError as error:
        raise SnapshotFailed(repository.root, str(error.strerror)) from error


class _Root:
    """The files below a directory, reached without following a link."""

    def __init__(self, path: Path) -> None:
        self._directory = os.open(path, _DIRECTORY)

    def __enter__(self) -> _Root:
        return self

    def __exit__(self, *raised: object) -> None:
        os.close(self._directory)

    def entry(self, path: str) -> TreeEntry | None:
        """What is at a path; None for nothing, and for what no snapshot holds."""
        try:
            with self._parent(path) as (parent, name):
                mode = _kept_mode(os.lstat(name, dir_fd=parent))
                if mode is None:
                    return None
                return TreeEntry(mode, blob_id(_content(parent, name)))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def is_other(self, path: str) -> bool:
        """Whether something is there that no snapshot holds: a directory, a pipe, a file that is too large."""
        try:
            with self._parent(path) as (parent, name):
                found = os.lstat(name, dir_fd=parent)
                if _kept_mode(found) is None:
                    return True
                return stat.S_ISREG(found.st_mode) and not os.access(name, os.R_OK, dir_fd=parent)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""
        try:
            with self._parent(path) as (parent, name):
                return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
        except OSError:
            return False

    def clear(self, path: str) -> None:
        """Remove what was left of a file that was being written when its process was killed."""
        with suppress(FileNotFoundError, NotADirectoryError), self._parent(path) as (parent, name):
            os.unlink(_temporary(name), dir_fd=parent)

    def remove(self, path: str) -> None:
        """Remove a file, and the directories above it that are empty then; also where it is gone already."""
        with suppress(FileNotFoundError, NotADirectoryError), self._parent(path) as (parent, name):
            os.unlink(name, dir_fd=parent)
        above, _, _ = path.rpartition("/")
        while above:
            try:
                with self._parent(above) as (parent, name):
                    os.rmdir(name, dir_fd=parent)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError:  # not empty
                return
            above, _, _ = above.rpartition("/")

    def remove_empty(self, path: str) -> None:
        """Remove a directory in which, however deep, there is no file."""
        absent = suppress(FileNotFoundError, NotADirectoryError, PermissionError)
        with absent, self._parent(path) as (parent, name):
            if _is_without_files(parent, name):
                _remove_directories(parent, name)

    def write(self, path: str, entry: TreeEntry, content: bytes) -> None:
        """Put a file or a link at a path, whole or not at all."""
        with self._parent(path, make=True) as (parent, name):
            temporary = _temporary(name)
            try:
                if entry.is_link:
                    os.symlink(content, temporary, dir_fd=parent)
                    _give_to_owner(parent, name, temporary)
                else:
                    _write_file(parent, name, temporary, content, entry, _permissions(parent, name, entry))
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open directory of a path, and its last name. Raises OSError, also where a link is in the way."""
        *above, name = path.split("/")
        directory = os.dup(self._directory)
        try:
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=directory)
                        _give_to_owner(directory, part, part)
                below = _opened(part, directory)
                os.close(directory)
                directory = below
            yield directory, name
        finally:
            os.close(directory)


def _is_without_files(parent: int, name: str) -> bool:
    with _directory_at(parent, name) as directory, os.scandir(directory) as entries:
        return all(
            each.is_dir(follow_symlinks=False) and _is_without_files(directory, each.name) for each in entries
        )


def _remove_directories(parent: int, name: str) -> None:
    """Remove a directory with those below it. Raises OSError at the first file."""
    with _directory_at(parent, name) as directory:
        with os.scandir(directory) as entries:
            names = [each.name for each in entries]
        for each in names:
            _remove_directories(directory, each)
    os.rmdir(name, dir_fd=parent)


@contextmanager
def _directory_at(parent: int, name: str) -> Iterator[int]:
    directory = _opened(name, parent)
    try:
        yield directory
    finally:
        os.close(directory)


def _temporary(name: str) -> str:
    return _TEMPORARY + blob_id(os.fsencode(name))


def _opened(name: str, parent: int) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what macOS says of a link
            raise NotADirectoryError(error.errno, os.strerror(errno.ENOTDIR), name) from error
        raise


def _kept_mode(found: os.stat_result) -> int | None:
    """The mode of what a snapshot can hold."""
    return mode_of(found) if found.st_size <= LARGEST else None


def _content(parent: int, name: str) -> bytes:
    if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
        return os.fsencode(os.readlink(name, dir_fd=parent))
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
        content = file.read(LARGEST + 1)  # it may grow meanwhile
    if len(content) > LARGEST:
        raise PermissionError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    return content


def _permissions(parent: int, name: str, entry: TreeEntry) -> int | None:
    """The mode that a file keeps from the one in its place, but for who may run it; None where there is none."""
    try:
        found = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    kept = stat.S_IMODE(found.st_mode) & 0o666
    return kept | (kept & 0o444) >> 2 if entry.is_executable else kept


def _give_to_owner(parent: int, name: str, made: str) -> None:
    """Give what was made to the owner of what is in its place, or of the directory: we may be root. Else it is ours."""
    try:
        owner = os.lstat(name, dir_fd=parent) if made != name else os.fstat(parent)
    except FileNotFoundError:
        owner = os.fstat(parent)
    found = os.lstat(made, dir_fd=parent)
    if (found.st_uid, found.st_gid) != (owner.st_uid, owner.st_gid):
        with suppress(PermissionError):
            os.chown(made, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)


def _write_file(
    parent: int, name: str, temporary: str, content: bytes, entry: TreeEntry, permissions: int | None
) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    ours = 0o777 if entry.is_executable else 0o666  # less what the person's umask takes
    with os.fdopen(os.open(temporary, flags, ours, dir_fd=parent), "wb") as file:
        _give_to_owner(parent, name, temporary)
        file.write(content)
        file.flush()
        if permissions is not None:
            os.fchmod(file.fileno(), permissions)
        os.fsync(file.fileno())

"""Reading of who wrote each line of a file as it is now, over all conversations of its directory."""

from __future__ import annotations

import asyncio
import os
import os.path
import re
import stat
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from catena_acp.blame.authorship import (
    Author,
    BlamedFile,
    BlamedTurn,
    Block,
    Doubt,
    Proof,
    Timeline,
    blocks_of,
    timeline,
)
from catena_acp.changes.changed_file import lines_of
from catena_acp.diff import diff_of_lines
from catena_acp.errors import NotBlamed
from catena_acp.spoken.call import Call
from catena_store import places
from catena_store.chains.turns import prompts_of_turns
from catena_store.conversations import messages
from catena_store.conversations.tree import prompts_of_branch
from catena_store.database.database import Database, Reader
from catena_store.errors import SearchStopped, SnapshotFailed
from catena_store.ids import to_milliseconds
from catena_store.records import Message
from catena_store.snapshots import turns
from catena_store.snapshots.git import executable
from catena_store.snapshots.line_history import LineOrigin, line_origins
from catena_store.snapshots.repository import SnapshotRepository, snapshots_beside
from catena_store.snapshots.trees import LARGEST, TreeEntry, is_among
from catena_store.snapshots.turns import DirectoryTurn, FilesMove

MOST_LINES = 100_000
_SECONDS = 30.0  # that the search may take
_MOST_SNAPSHOTS = 20_000
_MOST_REPORTS = 2_000  # tool calls that are looked through
_SILENCE = timedelta(minutes=1)  # after which a client without a sign of life counts as killed
_MOST_GONE = 200  # files that went when one came, whose lines are compared
_PLAIN = re.compile(r"[ !#-\[\]-~]+")  # what stands in JSON as it is
_BINARY_WITHIN = 8_000  # bytes, as git looks at them

_TELLING = re.compile(r"\w")  # a line without any letter may be anybody's


async def blame(db: Database, path: Path, now: datetime) -> BlamedFile:
    """Who wrote the lines of a file. Where it is cancelled, its search ends, too.

    Raises NotBlamed where the file cannot be read as text, and StoreError.
    """
    stopped = threading.Event()
    try:
        content = await asyncio.to_thread(_content, path)
        path = await asyncio.to_thread(path.resolve)
        async with db.read_concurrently() as reader:
            around = [root for root in await turns.roots(reader) if path.is_relative_to(root)]
            every = await turns.working_directories(reader)
        root = max(around, key=len, default=None)
        near = await asyncio.to_thread(_near, every, root, path)
        async with db.read_concurrently() as reader:
            known = await _turns(reader, root, near, now)
            return await _blame(reader, db.path, path, content, known, lambda: not stopped.is_set())
    finally:
        stopped.set()


@dataclass(frozen=True, slots=True)
class _Turns:
    """The turns that may have written a file, and the root whose snapshots are looked at."""

    root: str | None
    kept: Sequence[DirectoryTurn]
    others: Sequence[DirectoryTurn]
    moves: Sequence[FilesMove] = ()


async def _blame(
    reader: Reader, store: Path, path: Path, content: bytes, known: _Turns, wanted: Callable[[], bool]
) -> BlamedFile:
    lines = _lines(content)
    authors, paths = await asyncio.to_thread(_by_snapshots, store, path, content, len(lines), known, wanted)
    unproven = {at: author.perhaps for at, author in enumerate(authors) if author.perhaps}
    if unproven:
        by_turn = await _by_reports(reader, lines, unproven, paths, path)
        authors = [
            Author(Proof.REPORT, by_turn[at]) if at in by_turn else author
            for at, author in enumerate(authors)
        ]
    blocks = blocks_of(authors)
    return BlamedFile(path, tuple(lines), blocks, await _blamed_turns(reader, blocks), known.root)


def _content(path: Path) -> bytes:
    """What is in a file. Raises NotBlamed where it is no text, or too long."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise NotBlamed(f"{path} is not a file")
            if found.st_size > LARGEST:
                raise NotBlamed(
                    f"{path} is over {LARGEST // 1_000_000} MB: no snapshots are made of such files"
                )
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise NotBlamed(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if b"\0" in content[:_BINARY_WITHIN]:
        raise NotBlamed(f"{path} is not a text file")
    if content.count(b"\n") > MOST_LINES:
        raise NotBlamed(f"{path} has over {MOST_LINES:,} lines")
    return content


def _lines(content: bytes) -> list[str]:
    lines = content.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


async def _turns(reader: Reader, root: str | None, near: Sequence[str], now: datetime) -> _Turns:
    """The turns that may have written a file: those of its root, and others that worked in or around it."""
    alive_since = to_milliseconds(now - _SILENCE)
    kept = await turns.of_root(reader, root, alive_since) if root else []
    others = await turns.not_kept(reader, root or "", near, alive_since)
    return _Turns(root, kept, others, await turns.moves(reader, root) if root else ())


def _near(directories: Sequence[str], root: str | None, path: Path) -> list[str]:
    """Those of the directories that are below a root, or around a file."""
    found = []
    for each in directories:
        real = Path(os.path.realpath(each))
        if (root is not None and real.is_relative_to(root)) or path.is_relative_to(real):
            found.append(each)
    return found


def _by_snapshots(
    store: Path, path: Path, content: bytes, count: int, known: _Turns, wanted: Callable[[], bool]
) -> tuple[list[Author], set[str]]:
    """Who wrote each line as the snapshots prove it, and the absolute paths that the file has had. Blocks."""
    paths = {str(path)}
    anybody = tuple(turn.id for turn in (*known.kept, *known.others))
    unknown = Author(Proof.UNKNOWN, doubt=Doubt.NONE, perhaps=anybody)
    program = executable()
    if known.root is None or program is None or not content or ".git" in path.parts:
        return [unknown] * count, paths
    repository = SnapshotRepository(program, snapshots_beside(store), Path(known.root))
    if not repository.path.exists():
        return [unknown] * count, paths
    newest = known.kept[-_MOST_SNAPSHOTS // 2 :]
    kept = [turn.files for turn in newest if turn.files]
    named = {tree for each in kept for tree in (each.before, each.after, each.certain) if tree}
    named |= {tree for move in known.moves for tree in (move.before, move.after)}
    line = timeline(newest, known.others, repository.lacks(named), known.moves)
    if not line.trees:
        return [unknown] * count, paths
    authors = [replace(unknown, doubt=Doubt.TOO_LONG)] * count
    at_work = {turn.id for turn in newest if turn.ended is None}
    judging = _Judging(repository, line, at_work, content.split(b"\n"))
    inside = os.path.relpath(path, known.root)
    try:
        with closing(
            line_origins(
                repository,
                line.trees,
                inside,
                content,
                seconds=_SECONDS,
                untouched=line.untouched,
                wanted=wanted,
            )
        ) as found:
            for origin in found:
                paths.add(str(Path(known.root) / origin.path))
                authors[origin.first : origin.first + origin.count] = judging.authors(origin)
    except SearchStopped:
        pass  # the rest is older than what was looked through
    return authors, paths


class _Judging:
    """Judges who wrote lines by the moment at which they came into their file."""

    def __init__(
        self, repository: SnapshotRepository, line: Timeline, at_work: set[str], lines: Sequence[bytes]
    ) -> None:
        self._repository = repository
        self._line = line
        self._at_work = at_work
        self._lines = lines
        self._ignored: dict[tuple[str, str], bool] = {}
        self._gone_lines: dict[int, frozenset[bytes] | None] = {}

    def authors(self, origin: LineOrigin) -> list[Author]:
        """Who wrote each of these lines. Raises SnapshotFailed."""
        author = self._author(origin)
        if not origin.new_file or author.doubt in (Doubt.OLDER, Doubt.UNSEEN):
            return [author] * origin.count
        moved = Author(Proof.UNKNOWN, doubt=Doubt.MOVED)
        gone = self._lines_of_gone(origin.moment)
        lines = self._lines[origin.first : origin.first + origin.count]
        return [moved if gone is None or (line in gone and line.strip()) else author for line in lines]

    def _author(self, origin: LineOrigin) -> Author:
        interval = self._line.interval(origin.moment)
        if interval is None:
            return Author(Proof.UNKNOWN, doubt=Doubt.OLDER)
        if origin.new_file and self._may_have_been_hidden(origin, interval.left_out):
            return Author(Proof.UNKNOWN, doubt=Doubt.UNSEEN, perhaps=interval.turns)
        if not interval.turns:
            return Author(Proof.BETWEEN, after=interval.after, before=interval.before)
        if interval.proven:
            return Author(Proof.SNAPSHOTS, interval.turns[0])
        if len(interval.turns) > 1:
            return Author(Proof.UNKNOWN, doubt=Doubt.SEVERAL, perhaps=interval.turns)
        doubt = Doubt.AT_WORK if interval.turns[0] in self._at_work else Doubt.NOT_KEPT
        return Author(Proof.UNKNOWN, doubt=doubt, perhaps=interval.turns)

    def _may_have_been_hidden(self, origin: LineOrigin, left_out: frozenset[str]) -> bool:
        """True where the file may have been there before, though no snapshot has it."""
        trees = self._line.trees
        if origin.moment == len(trees):
            return True  # ignored files never are in a snapshot
        if is_among(origin.path, left_out):
            return True
        return self._was_ignored(trees[origin.moment - 1], origin.path)

    def _was_ignored(self, tree: str, path: str) -> bool:
        """True where the ignore files of a snapshot leave a path out, and where that cannot be told."""
        if (tree, path) not in self._ignored:
            try:
                ignored = path in self._repository.ignored(tree, [path])
            except SnapshotFailed:
                ignored = True
            self._ignored[tree, path] = ignored
        return self._ignored[tree, path]

    def _lines_of_gone(self, moment: int) -> frozenset[bytes] | None:
        """The lines of the files that went when one came into the snapshots; None where these are too many."""
        if moment not in self._gone_lines:
            trees = self._line.trees
            changed = self._repository.changes(trees[moment - 1], trees[moment])
            gone = [change.old for change in changed if change.old is not None and change.new is None]
            self._gone_lines[moment] = self._texts(gone)
        return self._gone_lines[moment]

    def _texts(self, entries: Sequence[TreeEntry]) -> frozenset[bytes] | None:
        """The lines of files; None where these are too many to look at."""
        if len(entries) > _MOST_GONE:
            return None
        lines: set[bytes] = set()
        with self._repository.contents() as contents:
            for entry in entries:
                lines.update(contents.read(entry.blob).split(b"\n"))
        return frozenset(lines)


async def _by_reports(
    reader: Reader, lines: Sequence[str], unproven: Mapping[int, Sequence[str]], paths: set[str], path: Path
) -> dict[int, str]:
    asked = {turn for perhaps in set(unproven.values()) for turn in perhaps}
    # Other characters may be escaped in the stored JSON.
    name = max(_PLAIN.findall(path.name), key=len, default="")
    rows = await messages.tools_of_turns(reader, asked, name, _MOST_REPORTS)

    def judged() -> dict[int, str]:
        return _by_report(lines, unproven, _reported_runs(rows, paths, str(path.parent)))

    return await asyncio.to_thread(judged)


async def _blamed_turns(reader: Reader, blocks: Sequence[Block]) -> dict[str, BlamedTurn]:
    """The turns that the blocks name."""
    named = {id for block in blocks for id in _shown_turns(block.author)}
    prompts = await prompts_of_turns(reader, named)
    numbers: dict[str, int] = {}
    here: set[str] = set()
    for conversation in {each.conversation_id for each in prompts.values()}:
        leaf = await places.of(reader, conversation)
        branch = [id for id, _ in await prompts_of_branch(reader, leaf)]
        here.update(branch)
        numbers |= {id: number for number, id in enumerate(branch, start=1)}
    for each in prompts.values():
        if each.prompt_id not in numbers:
            numbers[each.prompt_id] = len(await prompts_of_branch(reader, each.prompt_id))
    return {
        id: BlamedTurn(each, numbers.get(each.prompt_id), each.prompt_id in here)
        for id, each in prompts.items()
    }


def _shown_turns(author: Author) -> tuple[str, ...]:
    """The turns of an author that are told of; of very many that may have been it, none."""
    return author.turns if len(author.perhaps) <= 3 else ()


def _reported_runs(rows: Iterable[Message], paths: Collection[str], cwd: str) -> dict[str, list[list[str]]]:
    """The lines that turns reported to have written into a file, as runs of lines, by turn.

    ``paths`` are the absolute ones that the file has had; relative ones count from ``cwd``. Only edits that are known
    to have been made count.
    """
    found: dict[str, list[list[str]]] = {}
    for row in rows:
        call = Call.of(row)
        if row.turn_id is None:
            continue
        for diff in call.made:
            named = os.path.normpath(os.path.join(cwd, diff.path))  # noqa: PTH118 - the path need not be one
            if diff.new is None or named not in paths:
                continue
            old, new = (_without_ends(lines_of(text)) for text in (diff.old, diff.new))
            runs = [new[block.new : block.new_end] for block in diff_of_lines(old, new).blocks]
            found.setdefault(row.turn_id, []).extend(run for run in runs if run)
    return found


def _by_report(
    lines: Sequence[str],
    perhaps: Mapping[int, Collection[str]],
    reported: Mapping[str, Sequence[Sequence[str]]],
) -> dict[int, str]:
    """The turns of those lines for which exactly one of the possible turns reported to have written them.

    ``perhaps`` has the turns that a line may be from. A line proves something where it is the only one of its text in
    the file; with it go the lines around it that stand around it in the report, too.
    """
    single = {text for text, count in Counter(lines).items() if count == 1 and _TELLING.search(text)}
    places = {lines[at]: at for at in perhaps if lines[at] in single}
    claims: dict[int, set[str]] = {}
    for turn, runs in reported.items():
        for run in runs:
            for at, text in enumerate(run):
                line = places.get(text)
                if line is not None and turn in perhaps[line]:
                    _claim(claims, lines, perhaps, turn, run, line, at)
    return {line: next(iter(turns)) for line, turns in claims.items() if len(turns) == 1}


def _claim(
    claims: dict[int, set[str]],
    lines: Sequence[str],
    perhaps: Mapping[int, Collection[str]],
    turn: str,
    run: Sequence[str],
    line: int,
    at: int,
) -> None:
    """Note a turn for a line, and for its neighbours as far as the report goes on in the same way."""
    for step in (-1, 1):
        place, here = line, at
        while 0 <= here < len(run) and turn in perhaps.get(place, ()) and lines[place] == run[here]:
            if turn in claims.setdefault(place, set()) and place != line:
                break
            claims[place].add(turn)
            place, here = place + step, here + step


def _without_ends(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]

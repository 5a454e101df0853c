"""Authorship of a file's lines as far as it is known, and the times at which turns worked between snapshots. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from catena_store.chains.turns import TurnPrompt
from catena_store.snapshots.turns import DirectoryTurn, FilesMove, TurnFiles


class Proof(StrEnum):
    """How it is known who wrote a line."""

    SNAPSHOTS = "snapshots"  # the start of a turn lacks it, and its end has it
    REPORT = "report"  # the agent reported the edit
    BETWEEN = "between turns"  # it came while no turn was at work
    UNKNOWN = "unknown"


class Doubt(StrEnum):
    """Why it is not known who wrote a line."""

    OLDER = "older than the first snapshot"
    SEVERAL = "several turns were at work"
    NOT_KEPT = "no snapshot of the turn's start or end"
    AT_WORK = "a turn is at work"
    UNSEEN = "not in the snapshot before: new, ignored or left out then"
    MOVED = "it stood in a file that went when this one came"
    TOO_LONG = "the history is too long"
    NONE = "no snapshots"


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote some lines, as far as it is known."""

    proof: Proof
    turn_id: str | None = None  # of SNAPSHOTS and REPORT
    after: str | None = None  # of BETWEEN: the turn that had ended last, if there was one
    before: str | None = None  # of BETWEEN: the turn that began next, if there is one
    doubt: Doubt | None = None  # of UNKNOWN
    perhaps: tuple[str, ...] = ()  # of UNKNOWN: the turns that may have been it

    @property
    def turns(self) -> tuple[str, ...]:
        """Every turn that is named."""
        named = (self.turn_id, self.after, self.before, *self.perhaps)
        return tuple(dict.fromkeys(id for id in named if id is not None))


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that follow each other and have one author."""

    first: int  # from 0
    count: int
    author: Author

    @property
    def end(self) -> int:
        """The line behind the last one."""
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class BlamedTurn:
    """A turn that is named."""

    prompt: TurnPrompt
    number: int | None = None  # of its branch, from 1
    on_branch: bool = True  # False: it is on a branch that its conversation has left


@dataclass(frozen=True, slots=True)
class BlamedFile:
    """A file as it is now, and who wrote its lines."""

    path: Path
    lines: tuple[str, ...]  # without line ends; hostile text
    blocks: tuple[Block, ...]  # all of the file, from its first line on
    blamed_turns: Mapping[str, BlamedTurn]  # by turn
    root: str | None = None  # of the snapshots, where there are any

    def block_at(self, line: int) -> int:
        """The place of the block that has a line, counted from 0."""
        return next((at for at, block in enumerate(self.blocks) if line < block.end), len(self.blocks) - 1)


def blocks_of(authors: Sequence[Author]) -> tuple[Block, ...]:
    """Neighbouring lines with the same author as blocks."""
    blocks: list[Block] = []
    for line, author in enumerate(authors):
        if blocks and blocks[-1].author == author:
            blocks[-1] = Block(blocks[-1].first, blocks[-1].count + 1, author)
        else:
            blocks.append(Block(line, 1, author))
    return tuple(blocks)


@dataclass(frozen=True, slots=True)
class Interval:
    """The time between two snapshots that follow one another, or between the last one and now."""

    turns: tuple[str, ...]  # that were at work in it, or may have been
    proven: bool = False  # True: all of it lies within the only one of them
    after: str | None = None  # the turn that had ended last when it began
    before: str | None = None  # the turn that began when it ended
    left_out: frozenset[str] = frozenset()  # paths that the snapshot before it lacks


@dataclass(frozen=True, slots=True)
class Timeline:
    """Different snapshots, oldest first, and the interval before each but the first; the last one lasts until now."""

    trees: tuple[str, ...]
    intervals: tuple[Interval, ...]

    @property
    def untouched(self) -> set[int]:
        """The moments that no turn was at work before, since the moment before them."""
        return {at for at, interval in enumerate(self.intervals, start=1) if not interval.turns}

    def interval(self, moment: int) -> Interval | None:
        """The interval in which what a snapshot is the first to have came about; None for the first snapshot."""
        return self.intervals[moment - 1] if moment else None


class _Event(NamedTuple):
    """A beginning or an end; of two at one time an end comes first, unless it is that of a turn of no length."""

    time: int
    order: int
    at: int  # of the turn
    turn: DirectoryTurn
    ends: bool


def timeline(
    kept: Sequence[DirectoryTurn],
    others: Iterable[DirectoryTurn],
    lost: Set[str],
    moves: Sequence[FilesMove] = (),
) -> Timeline:
    """The timeline of turns that have snapshots, in the order in which they began, and of others beside them.

    ``moves`` are Catena's own changes of files, and ``lost`` are trees that are not in the repository any more.
    """
    building = _Building(lost)
    events = sorted(chain(_events(_in_order(kept)), _events(others)), key=lambda event: event[:3])
    placed = sorted(((_placed(move, kept), at, move) for at, move in enumerate(moves)), reverse=True)
    for event in events:
        while placed and placed[-1][0] <= event.time:
            building.move(placed.pop()[-1])
        building.take(event)
    while placed:
        building.move(placed.pop()[-1])
    return building.finished()


def _placed(move: FilesMove, kept: Iterable[DirectoryTurn]) -> int:
    """The time at which a change by Catena comes: before the end of a turn, where that was kept after it had begun."""
    ends = (
        turn.ended
        for turn in kept
        if turn.ended is not None and turn.files and not turn.files.certain
        if move.began < (turn.files.kept_at or 0)
    )
    return min((move.ended, *ends))


class _Building:
    def __init__(self, lost: Set[str]) -> None:
        self._lost = lost
        self._trees: list[str] = []
        self._intervals: list[Interval] = []
        self._at_work: dict[str, bool] = {}  # by turn: whether both its start and its end were kept
        self._since: dict[str, bool] = {}  # at work since the last snapshot: whether all the time, and kept
        self._ended: str | None = None
        self._left_out: frozenset[str] = frozenset()

    def take(self, event: _Event) -> None:
        """Go on to the next event."""
        turn, files = event.turn, event.turn.files
        if event.ends:
            self._end(turn)
            return
        kept = files is not None and not {files.before, _end_of(files)} & {None, *self._lost}
        if files:
            if files.late:  # what it did first is in its own start
                self._at_work[turn.id] = self._since[turn.id] = False
            self._snapshot(files.before, turn.id)
            self._left_out = frozenset(each.path for each in files.left_out)
        self._at_work[turn.id] = self._since[turn.id] = kept

    def move(self, move: FilesMove) -> None:
        """Go on to a change of files by Catena itself."""
        if self._trees and move.before not in self._lost:
            self._snapshot(move.before, None)
            self._snapshot(move.after, None, by_turns=False)

    def _end(self, turn: DirectoryTurn) -> None:
        files = turn.files
        end = _end_of(files) if files else None
        if files and end is not None:
            self._snapshot(end, None)
            self._left_out = frozenset(each.path for each in files.left_out)
        self._at_work.pop(turn.id, None)
        if files:
            self._ended = turn.id
        if files and end is not None and end not in self._lost and files.certain is None:
            self._since.pop(turn.id, None)  # it left nothing behind its last snapshot
        elif turn.id in self._since:
            self._since[turn.id] = False  # what it did last is in a later snapshot

    def finished(self) -> Timeline:
        """The timeline until now."""
        if self._trees:
            self._intervals.append(self._interval(None))
        return Timeline(tuple(self._trees), tuple(self._intervals))

    def _snapshot(self, tree: str, beginning: str | None, *, by_turns: bool = True) -> None:
        if tree in self._lost:
            return
        if self._trees and self._trees[-1] != tree:
            own = Interval((), after=self._ended, left_out=self._left_out)
            self._intervals.append(self._interval(beginning) if by_turns else own)
        if not self._trees or self._trees[-1] != tree:
            self._trees.append(tree)
        self._since = dict(self._at_work)

    def _interval(self, beginning: str | None) -> Interval:
        turns = tuple(self._since)
        whole = len(turns) == 1 and self._since[turns[0]]
        return Interval(turns, whole, self._ended, beginning, self._left_out)


def _end_of(files: TurnFiles) -> str | None:
    """The tree of a turn's end; of one that was cut off, as far as that is certain."""
    return files.certain if files.certain is not None else files.after


def _in_order(kept: Sequence[DirectoryTurn]) -> Iterable[DirectoryTurn]:
    """The turns with beginnings that never go back, as a clock that was set may have it."""
    latest = 0
    for turn in kept:
        latest = max(latest, turn.began)
        ended = None if turn.ended is None else max(turn.ended, latest)
        yield DirectoryTurn(turn.id, latest, ended, turn.files)


def _events(turns: Iterable[DirectoryTurn]) -> Iterable[_Event]:
    for at, turn in enumerate(turns):
        yield _Event(turn.began, 1, at, turn, False)
        if turn.ended is not None:
            yield _Event(turn.ended, 0 if turn.ended > turn.began else 2, at, turn, True)

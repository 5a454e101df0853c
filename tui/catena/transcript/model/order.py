"""The order of entries in the column, subagents below calls, their gaps, and the groups that calls stand in. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from catena.transcript.model.entry import Entry
from catena_acp.continuity.tool_calls import is_words
from catena_acp.spoken.spoken import Ended
from catena_store.records import Kind

_LARGEST_GROUP = 200  # calls; drawing its line reads them all
_NEW = 4  # calls of a run whose work is shown: these at least,
_GATHERED_AT_ONCE = 6  # and as many more before so many go into a group together, since rows go then
STEP = 1 << 24  # between the ordinals of entries: what subagents say and do comes between
_LINE_LIKE = frozenset({Kind.THOUGHT, Kind.TOOL})


def top_level(ordinal: int) -> int:
    """The ordinal of the entry of the conversation itself that this one is, or is below."""
    return ordinal // STEP * STEP


def number(entries: Sequence[Entry], first: int) -> None:
    """Give entries their ordinals from ``first`` on, those of subagents below the one of their call."""
    ordinal = first - STEP
    for entry in entries:
        ordinal = ordinal + 1 if entry.owner is not None else top_level(ordinal) + STEP
        entry.ordinal = ordinal


def explains_interruption(entry: Entry) -> bool:
    """True for a notice that tells why what is above it was interrupted."""
    return isinstance(entry.said, Ended)


def place_below(entry: Entry, before: Entry | None) -> None:
    """Set the gap of ``entry`` below ``before``."""
    hangs_on = before is not None and _is_line_like(entry) and _is_line_like(before)
    entry.gap = 0 if hangs_on else 1


def _is_line_like(entry: Entry) -> bool:
    return entry.message.kind in _LINE_LIKE and not is_words(entry.message)


@dataclass(frozen=True, slots=True)
class CallRun:
    """Calls of one kind without anything between them; ``goes_on``: it is full, and more of its kind follow."""

    calls: tuple[Entry, ...]
    goes_on: bool = False


class CallGroups:
    """The folds of groups that the person set, and whether work that is no longer new is grouped now."""

    def __init__(self) -> None:
        self._folds: dict[str, bool] = {}  # by the first message of a group
        self._gathers = True
        self._left_open: Entry | None = None  # the first call of a run that was not gathered

    def fold(self, first: Entry, folded: bool) -> None:
        """Fold or unfold the group that begins with an entry."""
        self._folds[first.message.id] = folded

    def is_folded(self, run: CallRun) -> bool:
        """True unless the group of a run was unfolded."""
        return not run.calls or self._folds.get(run.calls[0].message.id, True)

    def gather(self, gathers: bool) -> Entry | None:
        """Gather from now on, or not; returns the first call of a run that was left open and can be gathered now."""
        self._gathers, left_open = gathers, self._left_open
        if not gathers or left_open is None:
            return None
        self._left_open = None
        return left_open

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather meanwhile."""
        gathers, self._gathers = self._gathers, True
        try:
            yield
        finally:
            self._gathers = gathers

    def size(self, run: CallRun) -> int:
        """How many calls of a run are in its group: all, but of those that show their work not the newest."""
        calls = run.calls
        if not calls or not calls[0].shows_work or run.goes_on:
            return len(calls)
        grouped = max(0, len(calls) - _NEW) // _GATHERED_AT_ONCE * _GATHERED_AT_ONCE
        before = min(len(calls[0].group), len(calls))
        if grouped > before and not self._gathers:
            self._left_open = self._left_open or calls[0]
            return before
        return grouped


def runs_of_calls(entries: Sequence[Entry], start: int, *, around: bool) -> Iterator[CallRun]:
    """The runs of calls ``around`` an entry, else from it on; each run's group is set before the next is asked for."""
    position = min(start, len(entries))
    while position > 0 and (position == len(entries) or not entries[position].group):
        before = entries[position - 1]
        if not before.folded_away and before.group_key is None and (before.hidden or not before.empty):
            break
        position -= 1
    run: list[Entry] = []
    for at in range(position, len(entries)):
        entry = entries[at]
        key = entry.group_key
        if entry.folded_away or (key is None and entry.empty and not entry.hidden):
            continue
        same = run and key == run[0].group_key
        joins = same and not entry.group and len(run) < _LARGEST_GROUP
        if key is None or not joins:
            yield CallRun(tuple(run), goes_on=bool(same))
            run = [entry] if entry.message.kind is Kind.TOOL else []
        else:
            run.append(entry)
        if key is None and around and at > start:
            break
    yield CallRun(tuple(run))

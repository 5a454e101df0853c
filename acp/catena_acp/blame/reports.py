"""Lines that no snapshot proves, by what agents reported of their edits. Pure."""

from __future__ import annotations

import os.path
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from catena_acp.changes.hunks import lines_of
from catena_acp.diff import diff_of_lines
from catena_acp.spoken.call import Call
from catena_store.records import Message

_TELLING = re.compile(r"\w")  # a line without any letter may be anybody's


def reported_runs(rows: Iterable[Message], paths: Collection[str], cwd: str) -> dict[str, list[list[str]]]:
    """The lines that turns reported to have written into a file, as runs of lines, by turn.

    ``paths`` are the absolute ones that the file has had; relative ones count from ``cwd``. Only edits that are known
    to have been made count.
    """
    found: dict[str, list[list[str]]] = {}
    for row in rows:
        call = Call.of(row)
        if row.turn_id is None or call.status != "completed":
            continue
        for diff in call.diffs:
            named = os.path.normpath(os.path.join(cwd, diff.path))  # noqa: PTH118 - the path need not be one
            if diff.new is None or named not in paths:
                continue
            old, new = (_without_ends(lines_of(text)) for text in (diff.old, diff.new))
            runs = [new[block.new : block.new_end] for block in diff_of_lines(old, new).blocks]
            found.setdefault(row.turn_id, []).extend(run for run in runs if run)
    return found


def by_report(
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

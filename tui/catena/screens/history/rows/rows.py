"""Rows of the history: what is asked of a conversation, as words on the axes of the column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from catena.cells import cell_len
from catena.history.entries import EntryState, HistoryEntry
from catena.history.finding import MessageHit
from catena.history.query import Quality, Span, spans
from catena.text.formats import from_home
from catena.text.safe_text import safe_cells, safe_line
from catena.widgets.row_list import Tone

_MARGIN = 2  # cells on either side of the text
_HIT = 4  # the cell that hits begin on
_GAP = 3  # cells between columns
_NARROW = 60  # cells below which a row is its title and its time
_TITLE = 42  # cells of a title that columns leave
_TIME, _COUNT, _BRANCHES, _TODOS = 9, 9, 11, 8
_AGENT, _DIRECTORY = 12, 24  # at most
_AHEAD = 18  # cells before what matched, where a line has to be cut
_WEEK = 7
_MONTH = 30
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ONE_LINE = {ord("\n"): " ", ord("\t"): " "}

WORKING_FRAMES = "◐◓◑◒"
_CHOSEN, _MARKED = "▌", "✓"

WAITING, RUNNING, PINNED, ARCHIVED = "Waiting for you", "Running", "Pinned", "Archived"
_TIMES = ("Today", "Yesterday", "Last 7 days", "Last 30 days", "Earlier")
_HEADINGS = (WAITING, RUNNING, PINNED, *_TIMES, ARCHIVED)
IN_MESSAGES, BY_LETTERS = "in messages", "by their letters"
_TALL = re.compile(b"%c+" % Quality.ELSEWHERE)


@dataclass(frozen=True, slots=True)
class RowPiece:
    """Some characters of a row, and how they look; ``found``: they are what was looked for."""

    text: str
    tone: Tone = Tone.MUTED
    found: bool = False
    bold: bool = False


@dataclass(frozen=True)
class HistoryRows:
    """The content of the list: entries in their order, and the hits in each of them."""

    entries: Sequence[HistoryEntry] = ()
    qualities: Sequence[Quality] = ()
    hits: dict[str, MessageHit] = field(default_factory=dict)  # by conversation
    words: tuple[str, ...] = ()  # folded
    headings: dict[int, str] = field(default_factory=dict)  # by the row below it
    rules: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def tall(self) -> Sequence[range]:
        """The rows with a line below their title, which says what was found: in order, and apart from each other."""
        kinds = bytearray(self.qualities)
        if self.hits:
            for at, entry in enumerate(self.entries):
                if entry.key in self.hits:
                    kinds[at] = Quality.ELSEWHERE
        return [range(*run.span()) for run in _TALL.finditer(kinds)]

    def index(self, key: str | None) -> int | None:
        """The place of a key."""
        return next((at for at, entry in enumerate(self.entries) if entry.key == key), None)


class AgentNames:
    """Names of agents as a person says them; ``title`` is the settings' title of an agent and profile, if any."""

    def __init__(self, title: Callable[[str, str], str | None]) -> None:
        self._title = title
        self._known: dict[tuple[str, str], str] = {}

    def name(self, agent: str, profile: str) -> str:
        """The name of a stored agent and profile."""
        known = self._known.get((agent, profile))
        if known is None:
            known = self._known[agent, profile] = safe_line(self._title(agent, profile) or agent)
        return known

    def of(self, entry: HistoryEntry) -> str:
        """The name of a conversation's agent."""
        return self.name(entry.agent, entry.profile)


@dataclass(frozen=True, slots=True)
class RowLook:
    """What all rows of a list have in common."""

    now: datetime
    agent: Callable[[HistoryEntry], str]  # as a person says it
    places: dict[str, tuple[int, int]] = field(default_factory=dict)  # of hits: version, versions
    marked: frozenset[str] = frozenset()
    directories: bool = False  # they are not all of one
    agents: int = 8  # cells of the widest agent
    todos: bool = True  # some have open ones
    frame: str = WORKING_FRAMES[0]


def time_headings(
    entries: Sequence[HistoryEntry], now: datetime, *, moved: int | None = None
) -> dict[int, str]:
    """The headings of a list in which nothing is looked for, by the rows below them.

    It looks at few of the entries, since they are in the order of the headings, but for one that was ``moved``.
    """
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    times = [midnight - timedelta(days=days) for days in (0, 1, _WEEK - 1, _MONTH - 1)]

    def heading(entry: HistoryEntry) -> int:
        if entry.archived:
            return len(_HEADINGS) - 1
        if entry.waits:
            return 0
        if entry.state is EntryState.WORKING:
            return 1
        return 2 if entry.pinned else 3 + sum(entry.updated_at < since for since in times)

    ends = [len(entries)] if moved is None else [moved, moved + 1, len(entries)]
    headings: dict[int, str] = {}
    at, last = 0, -1
    for end in ends:
        while at < end:
            number = heading(entries[at])
            if number != last:
                headings[at], last = _HEADINGS[number], number
            at = bisect_right(entries, number, at, end, key=heading)
    return headings


def when(then: datetime, now: datetime, *, headed: bool = False) -> str:
    """When something was: `14:09` today, `yesterday`, `19 Nov`, `Nov 2025`; ``headed``: a heading says yesterday."""
    then = then.astimezone(now.tzinfo)
    days = (now.date() - then.date()).days
    if days <= 0 or (days == 1 and headed):
        return f"{then:%H:%M}"
    if days == 1:
        return "yesterday"
    month = _MONTHS[then.month - 1]
    return f"{then.day} {month}" if then.year == now.year else f"{month} {then.year}"


def title_line(
    rows: HistoryRows, at: int, entry: HistoryEntry, look: RowLook, width: int, *, chosen: bool
) -> tuple[list[RowPiece], list[RowPiece]]:
    """The mark, the title and what is said of it; and what stands on the right, each with the blanks before it.

    ``entry`` is that of the row, with all that was read of it.
    """
    mark = _mark(entry, look, chosen=chosen)
    right = _columns(entry, look, width, rows.words, headed=bool(rows.headings))
    room = width - _MARGIN - (width >= _NARROW) * _MARGIN - sum(cell_len(each.text) for each in right) - 2
    tone = Tone.MUTED if (entry.archived or entry.foreign) and not chosen else Tone.TEXT
    fuzzy = rows.qualities[at] is Quality.FUZZY
    found = spans(entry.name, rows.words, fuzzy=fuzzy) if rows.words else ()
    label = cut(entry.name, found, max(1, room), tone, bold=chosen, head=room // 3)
    note = _note(entry)
    if note and sum(cell_len(piece.text) for piece in label) + 2 + cell_len(note) <= room:
        label += [RowPiece("  "), RowPiece(note, Tone.FAINT if not entry.opened else Tone.ACCENT)]
    return [mark, *label], right


def found_line(rows: HistoryRows, at: int, look: RowLook, width: int) -> list[RowPiece]:
    """The line below a title: what was found in a message, else in the last prompt or the directory."""
    entry = rows.entries[at]
    indent, room = RowPiece(" " * _HIT), max(1, width - _HIT - _MARGIN)
    hit = rows.hits.get(entry.key)
    if hit is None:
        found = spans(entry.last_prompt, rows.words)
        text = entry.last_prompt if found else from_home(entry.cwd)
        return [indent, *cut(text, found or spans(text, rows.words), room)]
    lead: list[RowPiece] = []
    version, versions = look.places.get(hit.message_id, (1, 1))
    if versions > 1:
        lead = [RowPiece(f"‹ {version}/{versions} ›", Tone.ACCENT), RowPiece(" ")]
    more = f"+{hit.more}{'+' if hit.more_uncounted else ''}" if hit.more or hit.more_uncounted else ""
    tail = [RowPiece(f"  {more}", Tone.FAINT)] if more and room >= _NARROW else []
    taken = sum(cell_len(piece.text) for piece in (*lead, *tail))
    return [indent, *lead, *cut(hit.snippet, hit.spans, max(1, room - taken)), *tail]


def cut(
    text: str,
    found: Sequence[Span],
    width: int,
    tone: Tone = Tone.MUTED,
    *,
    bold: bool = False,
    head: int = 0,
) -> list[RowPiece]:
    """A text in one line and at most so many cells, with what was found in it in sight.

    ``head``: cells of its beginning that stay in any case.
    """
    line = safe_cells(text).translate(_ONE_LINE)
    begin = 0
    if found and cell_len(line) > width and cell_len(line[: found[0][1]]) > width - 1:
        begin = line.rfind(" ", 0, max(0, found[0][0] - min(_AHEAD, (width - head) // 3))) + 1
    lead = f"{_fitting(line, head).rstrip()}… " if begin else ""
    pieces: list[RowPiece] = [RowPiece(lead, tone, bold=bold)] if begin else []
    room = width - cell_len(lead)
    if cell_len(line[begin:]) > room:
        room -= 1
    at = begin
    ends = False
    for start, end in (*found, (len(line), len(line))):
        for part, is_found in ((line[at : max(at, start)], False), (line[max(at, start) : end], True)):
            if not part:
                continue
            kept = _fitting(part, room)
            ends = len(kept) < len(part)
            kept = kept.rstrip("…") if ends else kept
            room -= cell_len(kept)
            if kept:
                pieces.append(RowPiece(kept, tone, is_found, bold))
            if ends:
                break
        if ends:
            break
        at = max(at, end)
    if ends:
        pieces.append(RowPiece("…", tone, bold=bold))
    return pieces


def _fitting(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    kept, used = 0, 0
    for character in text:
        used += cell_len(character)
        if used > width:
            break
        kept += 1
    return text[:kept]


def _mark(entry: HistoryEntry, look: RowLook, *, chosen: bool) -> RowPiece:
    """What it does or waits for, in the margin."""
    if entry.key in look.marked:
        text, tone = _MARKED, Tone.ACCENT
    elif entry.state is EntryState.ASKS:
        text, tone = "?", Tone.ASKING
    elif entry.state is EntryState.WORKING:
        text, tone = look.frame, Tone.ACCENT
    elif entry.state is EntryState.FAILED:
        text, tone = "!", Tone.FAILURE
    elif entry.state is EntryState.UNREAD:
        text, tone = "•", Tone.ACCENT
    elif entry.pinned:
        text, tone = "◆", Tone.MUTED
    else:
        text, tone = _CHOSEN if chosen else " ", Tone.ACCENT
    return RowPiece(f"{text} ", tone, bold=text in "?!")


def _note(entry: HistoryEntry) -> str:
    """What is said right behind the title."""
    if entry.archived:
        return "archived"
    if entry.foreign:
        return safe_line(entry.source)
    return "open" if entry.opened else ""


def _columns(
    entry: HistoryEntry, look: RowLook, width: int, words: tuple[str, ...], *, headed: bool
) -> list[RowPiece]:
    """The columns that leave room for the title; those that matter least go first."""
    time = when(entry.updated_at, look.now, headed=headed)
    if width < _NARROW:
        return [RowPiece(f"{time:>{_TIME}}")]
    count = f"{entry.messages:,} msg" if entry.messages else ""
    wanted: list[tuple[int, int, str]] = [  # place, width, text; the most important first
        (9, _TIME, time),
        (5, min(_AGENT, look.agents), look.agent(entry)),
    ]
    if look.directories:
        wanted.append((1, _DIRECTORY, _ending(from_home(entry.cwd))))
    wanted.append((6, _COUNT, count))
    if look.todos:
        wanted.append((3, _TODOS, f"{entry.todos:,} to do" if entry.todos else ""))
    wanted.append((4, _BRANCHES, f"{entry.branches:,} branches" if entry.branches > 1 else ""))
    room = width - 2 * _MARGIN - _TITLE
    taken: list[tuple[int, int, str]] = []
    for place, cells, text in wanted:
        if room >= cells + _GAP:
            room -= cells + _GAP
            taken.append((place, cells, text))
    shown = sorted(taken)
    while shown and not shown[0][2]:  # what is blank at the left is room for the title
        shown.pop(0)
    pieces: list[RowPiece] = []
    for place, cells, text in shown:
        gap = " " * (_GAP + max(0, cells - cell_len(text)))
        if place == 1 and words:
            pieces += [RowPiece(gap), *cut(text, spans(text, words), cells)]
        else:
            pieces.append(RowPiece(gap + _fitting(text, cells)))
    return pieces


def _ending(path: str) -> str:
    """The end of a path that is too long, for paths differ at their ends."""
    line = safe_line(path)
    if cell_len(line) <= _DIRECTORY:
        return line
    while cell_len(line) > _DIRECTORY - 1:
        line = line[1:]
    return f"…{line}"

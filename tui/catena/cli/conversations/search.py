"""``catena search``: conversations by what they are called and by what was said in them, best first."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from catena.cli.conversations.list import agent_name, line_width
from catena.cli.outcome import outcome
from catena.errors import ExitStatus
from catena.history.entries import HistoryScope
from catena.history.finding import FoundConversation, HitPlace, MessageFinder, answers
from catena.history.listing import HistoryListing
from catena.history.query import HistoryQuery, Quality, Span, spans
from catena.history.reading import HistoryReader, lives
from catena.settings.agents import titles_in_settings
from catena.text.formats import age, cell_width, from_home, truncate
from catena.text.json_shapes import dumps, time_shape
from catena.text.safe_text import safe, safe_line
from catena_store.database.database import Database, default_path
from catena_store.ids import utc_now

_MOST = 10_000  # hits, where all are wanted
# Cells of a terminal on which the second line stands below the title; of a title, at least.
_WIDE, _TITLE = (
    100,
    20,
)
_GAP, _INDENT = "  ", 4
_BOLD, _PLAIN = "\x1b[1m", "\x1b[22m"


def print_found(text: str, *, cwd: str | None, limit: int | None, json: bool) -> int:
    """Print what a query finds, everywhere or in one directory; status 1 where that is nothing."""
    query = HistoryQuery.parse(text, now=utc_now().astimezone())
    for each in query.problems:
        ignored = f"{text[each.start : each.end]} is ignored: {each.problem}"
        print(f"catena: {safe_line(ignored)}", file=sys.stderr)
    found, places = outcome(_find(query, cwd=cwd, limit=limit, placed=not json))
    if json:
        print(dumps([_shape(each, query) for each in found], indent=2))
    else:
        for line in _lines(found, places, query, titles_in_settings(), now=utc_now(), width=line_width()):
            print(line)
    if found:
        return ExitStatus.ANSWERED
    print(f"catena: nothing found for “{safe_line(text)}”", file=sys.stderr)
    return ExitStatus.FAILED


async def _find(
    query: HistoryQuery, *, cwd: str | None, limit: int | None, placed: bool
) -> tuple[Sequence[FoundConversation], Mapping[str, HitPlace]]:
    scope = HistoryScope.EVERYWHERE if cwd is None else HistoryScope.HERE
    listing = HistoryListing(directory=cwd or "")
    async with Database.open(default_path()) as db:
        reader = HistoryReader(db, listing, lives=lives(socket.gethostname(), utc_now))
        finder = MessageFinder(db, listing)
        found = (await answers(reader, finder, query, scope, limit=limit or _MOST))[:limit]
        shown = [each.hit for each in found if each.hit is not None] if placed else []
        return found, {hit.message_id: await finder.place(hit) for hit in shown}


def _shape(found: FoundConversation, query: HistoryQuery) -> dict[str, Any]:
    entry, hit = found.entry, found.hit
    return {
        "conversation": entry.key,
        "title": entry.name,
        "message": hit.message_id if hit else None,
        "kind": hit.kind if hit else "title",
        "snippet": hit.snippet if hit else _why(found, query)[0],
        "at": time_shape(hit.at if hit else entry.updated_at),
        "agent": entry.agent,
        "cwd": entry.cwd,
    }


def _why(found: FoundConversation, query: HistoryQuery) -> tuple[str, Sequence[Span]]:
    """The text of an entry that has the words, where no message has them, and where it has them."""
    entry = found.entry
    for text in (entry.name, entry.last_prompt, entry.cwd):
        line = " ".join(text.split())
        if query.folded and (at := spans(line, query.folded, fuzzy=found.quality is Quality.FUZZY)):
            return line, at
    return entry.name, ()


def _lines(
    found: Sequence[FoundConversation],
    places: Mapping[str, HitPlace],
    query: HistoryQuery,
    title_of: Callable[[str, str], str | None],
    *,
    now: datetime,
    width: int | None,
) -> Iterator[str]:
    """Yield two lines each: id, age, agent, title and directory; and, below the title, why it was found."""
    bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    rows = [
        (
            each.entry.key,
            age(each.entry.updated_at, now),
            agent_name(each.entry.agent, each.entry.profile, title_of),
        )
        for each in found
    ]
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    narrow = width is not None and width - sum(widths) - len(_GAP) * 3 < _TITLE
    for each, (identity, old, agent) in zip(found, rows, strict=True):
        columns = [f"{identity:<{widths[0]}}", f"{old:>{widths[1]}}"]
        if not narrow:
            columns.append(agent + " " * (widths[2] - cell_width(agent)))
        head = _GAP.join([*columns, ""])
        room = None if width is None else max(1, width - cell_width(head))
        name = safe_line(each.entry.name)
        line = _marked(name, spans(name, query.folded, fuzzy=each.quality is Quality.FUZZY), room, bold)
        where = from_home(safe_line(each.entry.cwd))
        if room is None or cell_width(name) + 3 + cell_width(where) <= room:
            line += f" · {where}"
        yield head + line
        if (why := _second_line(each, places, query)) is not None:
            indent = " " * (_INDENT if width is not None and width < _WIDE else cell_width(head))
            text, at = why
            if width is not None:
                text, at = _from_match(text, at, width - len(indent))
            yield indent + _marked(text, at, None if width is None else max(1, width - len(indent)), bold)


def _from_match(text: str, at: Sequence[Span], room: int) -> tuple[str, Sequence[Span]]:
    """The text without its beginning, where the first match would be cut off."""
    if not at or cell_width(text[: at[0][1]]) < room:
        return text, at
    start = text.rfind(" ", 0, max(0, at[0][0] - 1)) + 1
    return f"…{text[start:]}", [(a - start + 1, b - start + 1) for a, b in at]


def _second_line(
    found: FoundConversation, places: Mapping[str, HitPlace], query: HistoryQuery
) -> tuple[str, Sequence[Span]] | None:
    if found.hit is None:
        text, at = _why(found, query)
        return None if not at or text == found.entry.name else (text, at)
    place = places.get(found.hit.message_id)
    before = f"version {place.version} of {place.versions} · " if place and place.versions > 1 else ""
    return before + found.hit.snippet, [(a + len(before), b + len(before)) for a, b in found.hit.spans]


def _marked(text: str, at: Sequence[Span], room: int | None, bold: bool) -> str:
    """The text made safe and cut to so many cells, with what was found in bold."""
    pieces: list[tuple[str, bool]] = []
    last = 0
    for start, end in at:
        pieces += [(text[last:start], False), (text[start:end], True)]
        last = end
    pieces.append((text[last:], False))
    line = ""
    for piece, found in pieces:
        shown = safe(piece).replace("\n", " ").replace("\t", " ")
        cut = shown if room is None else truncate(shown, room) if room > 0 else ""
        line += f"{_BOLD}{cut}{_PLAIN}" if found and bold and cut else cut
        if room is not None:
            room -= cell_width(shown)
    return line

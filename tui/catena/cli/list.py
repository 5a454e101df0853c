"""``catena list``: the conversations, newest first, read from the store without loading the screen."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from catena.errors import ExitStatus
from catena.settings.agents import titles_in_settings
from catena.text.formats import age, cell_width, truncate
from catena.text.json_shapes import dumps, record_shape
from catena.text.safe_text import safe_line
from catena_store.conversations import conversations
from catena_store.database.database import Database, default_path
from catena_store.ids import utc_now
from catena_store.records import Summary

_PAGE = 200


def print_list(*, cwd: str | None, limit: int | None, json: bool) -> int:
    """Print the newest conversations, of one directory or of all; ``limit`` None for every one of them."""

    async def read() -> list[Summary]:
        async with Database.open(default_path()) as db:
            return await _newest(db, cwd=cwd, limit=limit)

    summaries = asyncio.run(read())
    if json:
        print(dumps([record_shape(each, without=frozenset({"profile"})) for each in summaries], indent=2))
        return ExitStatus.ANSWERED
    for line in _lines(summaries, titles_in_settings(), now=utc_now(), width=_width()):
        print(line)
    return ExitStatus.ANSWERED


async def _newest(db: Database, *, cwd: str | None, limit: int | None) -> list[Summary]:
    found: list[Summary] = []
    before: tuple[int, str] | None = None
    while limit is None or len(found) < limit:
        wanted = _PAGE if limit is None else min(_PAGE, limit - len(found))
        async with db.read() as reader:
            page = await conversations.page(reader, limit=wanted, before=before, cwd=cwd)
        found += page
        if len(page) < wanted:
            break
        before = conversations.page_key(page[-1])
    return found


def _lines(
    summaries: Sequence[Summary],
    title_of: Callable[[str, str], str | None],
    *,
    now: datetime,
    width: int | None,
) -> Iterator[str]:
    """Yield id, age, agent, number of messages and title, a line each, cut at ``width`` cells."""
    rows = [
        (each.id, age(each.updated_at, now), _agent(each, title_of), str(each.messages), _name(each))
        for each in summaries
    ]
    widths = [max(map(cell_width, column)) for column in islice(zip(*rows, strict=True), 4)] if rows else []
    for identity, old, agent, messages, name in rows:
        agent += " " * (widths[2] - cell_width(agent))  # a person's own title may be in any script
        line = f"{identity:<{widths[0]}}  {old:>{widths[1]}}  {agent}  {messages:>{widths[3]}}  {name}"
        yield line if width is None else truncate(line, width)


def _agent(summary: Summary, title_of: Callable[[str, str], str | None]) -> str:
    """The agent's title of the settings, else its catalogue name, or the program of any other command."""
    if title := title_of(summary.agent, summary.profile):
        return safe_line(title)
    name = summary.agent.removeprefix("command:")
    return safe_line(name if name == summary.agent else name.split()[0].rpartition("/")[2])


def _name(summary: Summary) -> str:
    return safe_line(summary.title or summary.preview)


def _width() -> int | None:
    """The width of the terminal in cells; None if the output goes elsewhere and lines stay whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

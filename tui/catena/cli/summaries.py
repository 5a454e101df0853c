"""``catena list``: the conversations, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from catena.text.formats import age, cut
from catena.text.json_shapes import dumps, record_shape
from catena.text.safe_text import safe_line
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.records import Summary

_PAGE = 200


async def newest(db: Database, *, cwd: str | None, limit: int | None) -> list[Summary]:
    """The newest conversations, of one directory or of all; ``limit`` None for every one of them."""
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


def as_json(summaries: Sequence[Summary]) -> str:
    """A JSON list of objects, newest first."""
    return dumps([record_shape(summary) for summary in summaries], indent=2)


def as_lines(summaries: Sequence[Summary], *, now: datetime, width: int | None) -> Iterator[str]:
    """One line each: id, age, agent, number of messages, title; cut at ``width`` cells where there is one."""
    rows = [
        (each.id, age(each.updated_at, now), _agent(each), str(each.messages), _name(each))
        for each in summaries
    ]
    widths = [max(map(len, column)) for column in islice(zip(*rows, strict=True), 4)] if rows else []
    for identity, old, agent, messages, name in rows:
        line = f"{identity:<{widths[0]}}  {old:>{widths[1]}}  {agent:<{widths[2]}}  {messages:>{widths[3]}}  {name}"
        yield line if width is None else cut(line, width)


def _agent(summary: Summary) -> str:
    """The catalogue's name; of any other command, the program's."""
    name = summary.agent.removeprefix("command:")
    return safe_line(name if name == summary.agent else name.split()[0].rpartition("/")[2])


def _name(summary: Summary) -> str:
    return safe_line(summary.title or summary.preview)

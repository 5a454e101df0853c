"""``catena list``: the conversations, newest first, from the store and other tools' files, without the screen."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

from catena.errors import ExitStatus
from catena.settings.agents import titles_in_settings
from catena.text.formats import age, cell_width, program_of, truncate
from catena.text.json_shapes import dumps, record_shape, time_shape
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena_acp.transcripts.session import ForeignSession
from catena_store.conversations import conversations
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError
from catena_store.ids import utc_now
from catena_store.records import Summary

_PAGE = 200
_OURS = "catena"
_MOST_TOLD = 3  # files that cannot be read

Listed = Summary | ForeignSession


def print_list(*, cwd: str | None, limit: int | None, json: bool, all_sources: bool = False) -> int:
    """Print the newest conversations, of one directory or of all; ``limit`` None for every one of them.

    With ``all_sources`` also the sessions that other tools keep, each conversation once.
    """

    async def read() -> tuple[Sequence[Listed], dict[str, dict[str, Any]]]:
        async with Database.open(default_path()) as db:
            ours = await _newest(db, cwd=cwd, limit=limit)
            further = await _further(db, ours) if json else {}
            if not all_sources:
                return ours, further
            found: list[Listed] = [*ours, *await _foreign(db, cwd)]
        return sorted(found, key=lambda each: each.updated_at, reverse=True)[:limit], further

    found, further = asyncio.run(read())
    if json:
        shapes = [_shape(each, all_sources=all_sources) for each in found]
        print(dumps([shape | further.get(str(shape["id"]), {}) for shape in shapes], indent=2))
        return ExitStatus.ANSWERED
    for line in _lines(found, titles_in_settings(), now=utc_now(), width=line_width()):
        print(line)
    return ExitStatus.ANSWERED


async def _foreign(db: Database, cwd: str | None) -> Sequence[ForeignSession]:
    from catena.settings.sources import other_sessions
    from catena_acp.transcripts.folding import claim_forks, fold

    found = await other_sessions()
    for file in found.unread[:_MOST_TOLD]:
        print(f"catena: {safe_line(str(file.path))}: {safe_line(file.reason)}", file=sys.stderr)
    if more := len(found.unread[_MOST_TOLD:]):
        print(f"catena: {more} more files cannot be read", file=sys.stderr)
    with suppress(StoreError):  # where nothing can be written, one of ours may be listed
        await claim_forks(db, found.sessions)
    async with db.read() as reader:
        return (await fold(reader, [each for each in found.sessions if cwd in (None, each.cwd)])).foreign


def _shape(each: Listed, *, all_sources: bool) -> dict[str, object]:
    if isinstance(each, Summary):
        shape = record_shape(each, without=frozenset({"profile"}))
        return shape | {"source": _OURS} if all_sources else shape
    return {
        "id": each.session_id,
        "title": each.title,
        "agent": each.source,
        "cwd": each.cwd,
        "messages": each.messages,
        "preview": each.first_prompt,
        "created_at": time_shape(each.created_at or each.updated_at),
        "updated_at": time_shape(each.updated_at),
        "source": each.label,
        "path": str(each.path) if each.path else None,
    }


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


async def _further(db: Database, summaries: Sequence[Summary]) -> dict[str, dict[str, Any]]:
    """What else the history knows of conversations, by id."""
    from catena.history.listing import HistoryListing
    from catena.history.reading import HistoryReader, lives

    listing = HistoryListing(directory="")
    reader = HistoryReader(db, listing, lives=lives(socket.gethostname(), utc_now))
    await reader.read([each.id for each in summaries])
    entries = [entry for each in summaries if (entry := listing.get(each.id)) is not None]
    return {
        entry.key: {
            "state": entry.state or None,
            "pinned": entry.pinned,
            "last_prompt": entry.last_prompt,
            "branches": entry.branches,
            "todos": entry.todos,
            "git_branch": entry.git_branch,
            "opened_at": time_shape(entry.opened_at) if entry.opened_at else None,
        }
        for entry in entries
    }


def _lines(
    found: Sequence[Listed],
    title_of: Callable[[str, str], str | None],
    *,
    now: datetime,
    width: int | None,
) -> Iterator[str]:
    """Yield id, age, agent, number of messages and title, a line each, cut at ``width`` cells."""
    rows = [
        (_id(each), age(each.updated_at, now), _agent(each, title_of), _messages(each), _name(each))
        for each in found
    ]
    widths = [max(map(cell_width, column)) for column in islice(zip(*rows, strict=True), 4)] if rows else []
    for identity, old, agent, messages, name in rows:
        agent += " " * (widths[2] - cell_width(agent))  # a person's own title may be in any script
        line = f"{identity:<{widths[0]}}  {old:>{widths[1]}}  {agent}  {messages:>{widths[3]}}  {name}"
        yield line if width is None else truncate(line, width)


def _id(each: Listed) -> str:
    return each.id if isinstance(each, Summary) else safe_line(each.session_id)


def _messages(each: Listed) -> str:
    return "–" if each.messages is None else str(each.messages)


def _agent(each: Listed, title_of: Callable[[str, str], str | None]) -> str:
    """The name of an agent, or, of a session that another tool keeps, that tool."""
    if not isinstance(each, Summary):
        return safe_line(f"({each.label})")
    return agent_name(each.agent, each.profile, title_of)


def agent_name(agent: str, profile: str, title_of: Callable[[str, str], str | None]) -> str:
    """The agent's title of the settings, else its catalogue name, or the program of any other command."""
    if title := title_of(agent, profile):
        return safe_line(title)
    return safe_line(program_of(agent))


def _name(each: Listed) -> str:
    preview = each.preview if isinstance(each, Summary) else each.first_prompt
    return safe_line(conversation_name(each.title, preview))


def line_width() -> int | None:
    """The width of the terminal in cells; None if the output goes elsewhere and lines stay whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

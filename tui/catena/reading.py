"""``catena list`` and ``catena show``: what is read from the store and printed, with nothing of the screen loaded."""

from __future__ import annotations

import asyncio
import shutil
import sys

from catena import listing, showing
from catena.exit_status import ExitStatus
from catena_store.database import Database, default_path
from catena_store.ids import utc_now
from catena_store.records import Summary


def print_list(*, cwd: str | None, limit: int | None, json: bool) -> int:
    """Print the newest conversations; ``limit`` None for all."""

    async def read() -> list[Summary]:
        async with Database.open(default_path()) as db:
            return await listing.newest(db, cwd=cwd, limit=limit)

    summaries = asyncio.run(read())
    if json:
        print(listing.as_json(summaries))
        return ExitStatus.ANSWERED
    for line in listing.as_lines(summaries, now=utc_now(), width=_width()):
        print(line)
    return ExitStatus.ANSWERED


def print_conversation(conversation_id: str, *, json: bool) -> int:
    """Print one conversation. Raises NotFound or Ambiguous."""

    async def read_whole() -> showing.Whole:
        async with Database.open(default_path()) as db:
            return await showing.whole(db, conversation_id)

    async def read_branch() -> showing.Branch:
        async with Database.open(default_path()) as db:
            return await showing.newest_branch(db, conversation_id)

    if json:
        print(showing.as_json(asyncio.run(read_whole())))
        return ExitStatus.ANSWERED
    for block in showing.as_text(asyncio.run(read_branch())):
        print(block)
    return ExitStatus.ANSWERED


def _width() -> int | None:
    """The cells of a line where a person looks on; None where the output goes elsewhere and is kept whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

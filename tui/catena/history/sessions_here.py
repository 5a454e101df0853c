"""Sessions of other tools in one directory, counted for a line that says so."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from catena_store.database.database import Database

if TYPE_CHECKING:  # what reads the transcripts is imported in a thread, behind the first frame
    from catena.settings.settings import Settings
    from catena_acp.transcripts.session import ForeignSession

_NAMED = 2  # tools at most


async def sessions_here(db: Database, settings: Settings, directory: str) -> str:
    """Words such as `3 sessions of Claude Code here`, of those that are no conversations yet; "" for none.

    Raises StoreError.
    """
    heads = await asyncio.to_thread(_heads, settings)
    from catena_acp.transcripts.folding import fold
    from catena_acp.transcripts.session import Tool

    async with db.read() as reader:
        foreign = (await fold(reader, [each for each in heads if each.cwd == directory])).foreign
    tools = Counter(Tool(each.source).full_name for each in foreign).most_common()
    if not tools:
        return ""
    (tool, count), *others = tools if len(tools) <= _NAMED else [("other tools", len(foreign))]
    sessions = "session" if count == 1 else "sessions"
    return (
        ", ".join((f"{count} {sessions} of {tool}", *(f"{each} of {other}" for other, each in others)))
        + " here"
    )


def _heads(settings: Settings) -> list[ForeignSession]:
    from catena.settings.sources import known_places, own_copies, own_heads
    from catena_acp.transcripts.sources import Scanner

    scanner = Scanner(known_places(settings), also=own_copies().files, kept=own_heads())
    return [each for batch in scanner.batches() for each in batch.sessions]

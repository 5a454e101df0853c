"""Where other tools keep their sessions: in this environment, and in that of each account of the settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress

from catena.errors import InvalidSettings
from catena.settings.settings import Settings, load_settings
from catena_acp.transcripts.copies import FOLDER, Copies
from catena_acp.transcripts.session import ForeignSession, Tool
from catena_acp.transcripts.sources import FILE, Batch, KeptHeads, Scanner, SourcePlace, Unread, places
from catena_store.database.database import data_directory


def known_places(settings: Settings, environment: Mapping[str, str] = os.environ) -> tuple[SourcePlace, ...]:
    """Every directory in which a tool may have sessions of the person's; the accounts' come first."""
    found: dict[SourcePlace, None] = {}
    for setting in settings.agents.values():
        tool = setting.agent or setting.name
        if setting.env and tool in Tool.__members__.values():
            own = places({**environment, **dict(setting.env)}, setting.profile, only=tool)
            found |= dict.fromkeys(own)
    default = places(environment)
    taken = {place.root for place in found}
    return (*found, *(place for place in default if place.root not in taken))


def own_copies() -> Copies:
    """The copies of transcripts below our data folder."""
    return Copies(data_directory() / FOLDER)


def own_heads() -> KeptHeads:
    """The heads of the last scan, in a file in our data folder."""
    return KeptHeads(data_directory() / FILE)


async def other_sessions() -> Batch:
    """The sessions that other tools keep, newest first, copied where the settings ask for it; and unreadable files.

    Settings that cannot be used count as none; so does a copy that cannot be made.
    """
    try:
        settings = load_settings()
    except InvalidSettings:
        settings = Settings()
    copies = own_copies()
    sessions: list[ForeignSession] = []
    unread: list[Unread] = []
    async for batch in Scanner(known_places(settings), also=copies.files, kept=own_heads()).scan():
        sessions += batch.sessions
        unread += batch.unread
    if settings.history.copies:
        with suppress(OSError):
            await asyncio.to_thread(copies.keep, sessions)
    return Batch(sessions, unread)

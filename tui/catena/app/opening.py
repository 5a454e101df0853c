"""What is opened after the first frame: the store, the conversations, the tabs."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from catena.settings.settings import Start

if TYPE_CHECKING:
    from catena.workspace.tabs import OpenTabs


# Imported in a thread, which gives way to the first keys.
_SHORT_TURNS = 0.000_5  # seconds that a thread runs before another one may
_PARTS = ("catena.app.services", "catena.workspace.tabs", "catena.screens.chat.commands", "catena.transcript")


async def _import_parts() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SHORT_TURNS)
    try:
        for part in _PARTS:
            await asyncio.to_thread(import_module, part)
    finally:
        sys.setswitchinterval(usual)


@asynccontextmanager
async def open_tabs(start: Start) -> AsyncIterator[OpenTabs]:
    """The tabs, for as long as the store is open. Raises StoreError."""
    await _import_parts()
    gc.freeze()  # what was imported stays; a round of the collector through all of it would hold up the screen
    from catena.app.services import serve_conversations
    from catena.log import log_to_file
    from catena.workspace.tabs import OpenTabs
    from catena_store.database.database import Database, data_directory, default_path
    from catena_store.ids import new_id

    log_to_file(data_directory())
    async with (
        Database.open(default_path()) as db,
        serve_conversations(db, start.settings, chosen=start.agent, tools=True) as conversations,
    ):
        yield OpenTabs(db, conversations, directory=start.directory, new_id=new_id)

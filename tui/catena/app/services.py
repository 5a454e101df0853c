"""The conversations of this process, made from the store, the settings and agents; and merges of the search index."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from catena import __version__
from catena.settings.agents import REHEARSAL, stored_agent
from catena.settings.settings import Settings
from catena_acp.agents.agent import end_group, process_start_time, start_agent
from catena_acp.continuity.services import Checkpointing, WhileIdle
from catena_acp.conversation.conversations import Conversations
from catena_acp.port import AgentPort, AgentSpec
from catena_acp.protocol.files import FileAccess
from catena_store.conversations import search
from catena_store.conversations.checkpoints import Frequency
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import AgentGroup

LOOK_SECONDS = 2.0
_BREATH_SECONDS = 0.02  # between two steps, in which others can write


async def merge_search_index(
    db: Database, busy: Callable[[], bool], *, look_seconds: float = LOOK_SECONDS
) -> None:
    """Merge the search index in small steps, at the start and after each busy period; never while busy.

    Where anybody else asks for something meanwhile, the next step comes with the next look: who opens a conversation
    reads a dozen times, and each time would wait for a step.
    """
    due = not db.read_only
    while True:
        await asyncio.sleep(look_seconds)
        if busy():
            due = True
            continue
        with contextlib.suppress(StoreError):  # no space now: tried again after the next busy period
            while due and not busy():
                before = db.requested
                due = await search.merge_index(db)
                await asyncio.sleep(_BREATH_SECONDS)
                if db.requested > before + 1:
                    break
            continue
        due = False


@asynccontextmanager
async def serve_conversations(
    db: Database,
    settings: Settings,
    *,
    chosen: AgentSpec | None = None,
    may_write: bool = True,
    tools: bool = False,
    read: bool = True,
) -> AsyncIterator[Conversations]:
    """Serve conversations until the end of the block; then end turns and agents, and release the leases.

    ``chosen`` is an agent that may be neither in the settings nor in the catalogue. ``may_write`` lets agents write
    files through the client, below the conversation's directory. ``tools`` gives agents the checkpoint tools where the
    settings allow them, which need a person to answer. ``read`` is True if a person reads remarks.
    """

    def spec_of(name: str, profile: str) -> AgentSpec:
        if chosen is not None and (chosen.name, chosen.profile) == (name, profile):
            return chosen
        return stored_agent(name, profile, settings)

    async def start(spec: AgentSpec, cwd: str) -> AgentPort:
        files = FileAccess(roots=(Path(cwd),), writable=may_write)
        return await start_agent(spec, cwd=cwd, client_version=__version__, files=files)

    async def end(group: AgentGroup) -> bool:
        return await end_group(group.pid, group.started)

    def tells(spec: AgentSpec) -> bool:
        return read and spec.name != REHEARSAL  # remarks on scripted sessions are of no use

    async with Conversations.serve(
        db,
        start_agent=start,
        spec_of=spec_of,
        end_group=end,
        start_time_of=process_start_time,
        while_idle=WhileIdle(probe=True, park=settings.park, kept=settings.checkpoints.keep, tells=tells),
        checkpointing=_checkpointing(settings, tools=tools),
    ) as conversations:
        tidying = asyncio.create_task(merge_search_index(db, lambda: conversations.busy))
        try:
            yield conversations
        finally:
            tidying.cancel()
            await asyncio.wait((tidying,))


def _checkpointing(settings: Settings, *, tools: bool) -> Checkpointing:
    server = None
    if tools and settings.checkpoints.tools:
        from catena.app.mcp_server import available, tool_server

        if available():
            server = tool_server
        else:
            logging.getLogger(__name__).warning("checkpoint tools are off: the mcp extra is not installed")
    return Checkpointing(Frequency(settings.checkpoints.frequency), settings.checkpoints.keep, server)

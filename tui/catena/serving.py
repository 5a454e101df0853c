"""The conversations of this process, put together from the store, the settings and the protocol's side."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catena import __version__
from catena.agent_choice import agent_kept
from catena.config import Settings
from catena_acp.agent import end_group, process_start_time, start_agent
from catena_acp.conversation.conversations import Conversations
from catena_acp.file_access import FileAccess
from catena_acp.port import AgentPort, AgentSpec
from catena_store.database import Database
from catena_store.records import AgentGroup


@asynccontextmanager
async def serving(
    db: Database, settings: Settings, *, chosen: AgentSpec | None = None, may_write: bool = True
) -> AsyncIterator[Conversations]:
    """Serve conversations until the end of the block; then end turns and agents, and give the leases back.

    ``chosen`` is an agent that may stand neither in the settings nor in the catalogue; ``may_write`` says whether
    agents may write files through us, below the conversation's directory.
    """

    def spec_of(name: str) -> AgentSpec:
        return chosen if chosen is not None and chosen.name == name else agent_kept(name, settings)

    sdk_is_new = True

    async def start(spec: AgentSpec, cwd: str) -> AgentPort:
        nonlocal sdk_is_new
        files = FileAccess(roots=(Path(cwd),), writable=may_write)
        agent = await start_agent(spec, cwd=cwd, client_version=__version__, files=files)
        if sdk_is_new:
            sdk_is_new = False
            gc.freeze()  # it came with the first agent and stays; going through it takes a tenth of a second
        return agent

    async def end(group: AgentGroup) -> bool:
        return await end_group(group.pid, group.started)

    async with Conversations.serve(
        db, start_agent=start, spec_of=spec_of, end_group=end, start_time_of=process_start_time
    ) as conversations:
        yield conversations

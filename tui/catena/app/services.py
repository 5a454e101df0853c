"""The conversations of this process, made from the store, the settings and agents; and merges of the search index."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from catena import __version__
from catena.settings.agents import REHEARSAL, stored_agent, stored_names
from catena.settings.replays import replay_budget
from catena.settings.settings import Settings
from catena.settings.tables import absolute, additional_directories
from catena.text.safe_text import safe_line
from catena.workspace.directories import is_directory
from catena_acp.agents.agent import end_group, process_start_time, start_agent
from catena_acp.continuity.services import Checkpointing, OpeningWait, WhileIdle
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.mcp.servers import McpServer, ServerOrigin, Transport
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.process_group import Guards
from catena_acp.protocol.files import FileAccess
from catena_acp.snapshots.keeping import FileSnapshots
from catena_store.conversations.checkpoints import Frequency
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.finding import search
from catena_store.ids import utc_now
from catena_store.records import AgentGroup
from catena_store.snapshots.git import executable
from catena_store.snapshots.repository import snapshots_beside

if TYPE_CHECKING:
    from catena.programs.hooks import Hooks, Settling

LOOK_SECONDS = 2.0
_BREATH_SECONDS = 0.02  # between two steps, in which others can write

_KEPT_LINES = 300  # of one process
_LONGEST_LINE = 2_000  # characters


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
    asks_first: bool = False,
    probe: bool = True,
    tools: bool = False,
    read: bool = True,
    rules: bool = True,
    tell: Callable[[str], None] | None = None,
    settling: Settling | None = None,
    open_timeout: float | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> AsyncIterator[Conversations]:
    """Serve conversations until the end of the block; then end turns and agents, and release the leases.

    ``chosen`` is an agent that may be neither in the settings nor in the catalogue. ``may_write`` lets agents write
    files and run commands through the client, below the conversation's directory, as far as the settings allow it.
    ``asks_first`` gives them a mode in which they ask before they act. ``probe``: what they can do is tried out after
    their turns. ``tools`` gives agents the checkpoint tools where the settings allow them, which need a person to
    answer. ``read`` is True if a person reads remarks, and ``rules`` if the person's permission rules answer requests.
    After ``open_timeout`` seconds a prompt goes on without a session that does not open; with None, the person decides.
    ``tell`` is told of a hook that fails, and in a block of ``settling`` hooks come to their end. ``clock`` tells the
    times that are stored.
    """

    def spec_of(name: str, profile: str) -> AgentSpec:
        if chosen is not None and (chosen.name, chosen.profile) == (name, profile):
            return chosen
        return stored_agent(name, profile, settings)

    async def start(spec: AgentSpec, cwd: str, printed: Callable[[str], None]) -> AgentPort:
        files = FileAccess(
            roots=(Path(cwd),),
            readable=settings.files,
            writable=settings.files and may_write,
            follows_sessions=True,
            own_requests=settings.own_requests,
        )
        terminals = settings.terminals and may_write
        return await start_agent(
            spec,
            cwd=cwd,
            client_version=__version__,
            files=files,
            terminals=terminals,
            log=_agent_log(spec.title),
            printed=printed,
            guards=guards,
        )

    async def end(group: AgentGroup) -> bool:
        return await end_group(group.pid, group.started)

    def tells(spec: AgentSpec) -> bool:
        return read and spec.name != REHEARSAL  # remarks on scripted sessions are of no use

    async with (
        contextlib.aclosing(Guards()) as guards,
        _hooks(settings, db, tell, settling) as hooks,
        Conversations.serve(
            db,
            start_agent=start,
            spec_of=spec_of,
            end_group=end,
            start_time_of=process_start_time,
            clock=clock,
            budget=replay_budget(settings),
            while_idle=WhileIdle(
                probe=probe, park=settings.park, kept=settings.checkpoints.keep, tells=tells
            ),
            checkpointing=_checkpointing(settings, tools=tools),
            is_directory=is_directory,
            snapshots=_snapshots(settings, db),
            asks_first=asks_first,
            opening_wait=_opening_wait(open_timeout),
            rules=settings.permission_rules if rules else None,
            mcp_servers=mcp_servers(settings),
            directories_of=partial(additional_directories, settings.projects) if settings.projects else None,
            idle_agents=settings.idle_agents * 60.0,
            observe=hooks.observe if hooks else (lambda conversation_id, event: None),
        ) as conversations,
    ):
        if hooks:
            hooks.conversations = conversations
        tidying = asyncio.create_task(merge_search_index(db, lambda: conversations.busy))
        try:
            yield conversations
        finally:
            tidying.cancel()
            await asyncio.wait((tidying,))


def _opening_wait(most: float | None) -> OpeningWait:
    usual = OpeningWait()
    return usual if most is None else OpeningWait(min(usual.long, most), most)


@asynccontextmanager
async def _hooks(
    settings: Settings, db: Database, tell: Callable[[str], None] | None, settling: Settling | None
) -> AsyncIterator[Hooks | None]:
    """The person's hooks; None without any, and nothing is imported for them."""
    if not settings.hooks.any:
        yield None
        return
    from catena.programs.hooks import Hooks

    async with Hooks.serve(settings.hooks, db, tell=tell, settling=settling) as hooks:
        yield hooks


def _snapshots(settings: Settings, db: Database) -> FileSnapshots:
    return FileSnapshots(db, snapshots_beside(db.path), executable(), settings.snapshots, clock=utc_now)


def _checkpointing(settings: Settings, *, tools: bool) -> Checkpointing:
    server = None
    if tools and (settings.checkpoints.tools or settings.memory.tools):
        from catena.app.mcp_server import available, server_name, tool_server

        if available():
            server = partial(tool_server, name=server_name(settings))
        else:
            logging.getLogger(__name__).warning("tools for agents are off: the mcp extra is not installed")
    return Checkpointing(Frequency(settings.checkpoints.frequency), settings.checkpoints.keep, server)


def _agent_log(title: str) -> Callable[[str], None]:
    """A writer of lines about one process of an agent; of a flood it writes the first."""
    logger, lines = logging.getLogger("catena.agents"), 0

    def write(line: str) -> None:
        nonlocal lines
        lines += 1
        if lines <= _KEPT_LINES:
            logger.warning("%s: %s", safe_line(title), safe_line(line[:_LONGEST_LINE]))
        elif lines == _KEPT_LINES + 1:
            logger.warning("%s: more is not logged", safe_line(title))

    return write


def mcp_servers(settings: Settings) -> tuple[McpServer, ...]:
    """The servers of the `[mcp.NAME]` tables, in their order. Raises AgentMissing."""
    return tuple(
        McpServer(
            each.name,
            Transport.STDIO if each.command else Transport(each.type),
            ServerOrigin.SETTINGS,
            command=each.command,
            env=each.env,
            url=each.url,
            headers=each.headers,
            agents=tuple(stored_names(name, settings) for name in each.agents),
            projects=tuple(absolute(path) for path in each.projects),
            enabled=each.enabled,
        )
        for each in settings.mcp
    )

"""``catena mcp``: checkpoint tools for an agent, over MCP on standard input and output.

The only module that imports the `mcp` package, which an optional extra installs.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from catena import __version__
from catena.app.memory import Memory, NotRemembered
from catena.errors import CommandRefused, ExitStatus
from catena.settings.settings import Settings, load_settings
from catena_acp.continuity.sessions.opening import settled_point
from catena_acp.conversation.checkpoints.checkpoints import drawn, found, label_of
from catena_acp.errors import AgentError, NoCheckpoint
from catena_acp.mcp.servers import OWN_NAMES
from catena_store.chains import turns
from catena_store.conversations import checkpoints, conversations
from catena_store.conversations.checkpoints import Checkpoint, Frequency, SqliteCheckpoints, frequency_of
from catena_store.database.database import Database, Reader, data_directory, default_path
from catena_store.errors import StoreError
from catena_store.ids import new_id, utc_now
from catena_store.records import ConversationRecord, Turn, WindowRecord
from catena_store.windows import windows

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


BOTH, MEMORY, CHECKPOINTS = OWN_NAMES  # names of the server, by its tools
ASKED = (
    "The person was asked whether to go back {where}. Nothing has happened yet: if they agree, it is done after this "
    "turn has ended. Files are not changed by it. End your turn now; do not wait for the answer."
)
_SAVED = "Saved as checkpoint {id}{label}: the conversation as it is now. Files are not part of it."


class ConversationGone(AgentError):
    """Error of tools whose window no longer shows their conversation."""


class AgentCheckpoints:
    """Checkpoint tools of one window; each returns text for the agent."""

    def __init__(
        self,
        db: Database,
        *,
        conversation_id: str,
        window_id: str,
        usually: Frequency,
        new_id: Callable[[], str],
        clock: Callable[[], datetime],
    ) -> None:
        """Create the tools; ``usually`` is the frequency for conversations without a setting of their own."""
        self._db = db
        self._conversation_id = conversation_id
        self._window_id = window_id
        self._usually = usually
        self._new_id = new_id
        self._clock = clock
        self._store = SqliteCheckpoints(db.read, db.write)

    async def save(self, label: str | None, note: str | None) -> str:
        """Save a checkpoint of the window's leaf. Raises AgentError, StoreError."""
        name = label_of(label)
        async with self._db.read() as reader:
            record, window, open_turn = await self._place(reader)
            if (await frequency_of(reader, record.id) or self._usually) is Frequency.OFF:
                raise NoCheckpoint("The person has turned checkpoints off in this conversation.")
            new = await drawn(
                reader,
                record,
                await settled_point(reader, window.leaf_id),
                id=self._new_id(),
                now=self._clock(),
                label=name,
                automatic=True,
                turn=open_turn,
                note=note,
                by="agent",
            )
        saved = await self._store.save(new)
        return _SAVED.format(id=saved.id, label=f" “{saved.label}”" if saved.label else "")

    async def list(self) -> str:
        """List all checkpoints, newest first, a line each. Raises AgentError, StoreError."""
        async with self._db.read() as reader:
            await self._place(reader)
        kept = await self._store.list(self._conversation_id)
        return "\n".join(map(_line, kept)) or "There is no checkpoint yet."

    async def rewind_to(self, key: str) -> str:
        """Request the person's consent to a rewind. Raises AgentError, StoreError."""
        async with self._db.read() as reader:
            record, window, _ = await self._place(reader)
        checkpoint = found(await self._store.list(record.id), key)
        async with self._db.write() as tx:
            await checkpoints.ask_for_rewind(
                tx,
                id=self._new_id(),
                conversation_id=record.id,
                window_id=window.id,
                checkpoint_id=checkpoint.id,
            )
        named = f"“{checkpoint.label}”" if checkpoint.label else checkpoint.id
        return ASKED.format(where=f"to checkpoint {named}")

    async def _place(self, reader: Reader) -> tuple[ConversationRecord, WindowRecord, Turn | None]:
        """The conversation, the agent's window and its open turn.

        A session may carry another window than the one it got these tools for: then it is the only one with a turn.
        """
        record = await conversations.get(reader, self._conversation_id)
        at_work = {turn.window_id: turn for turn in await turns.open_in(reader, self._conversation_id)}
        window_id: str | None = self._window_id
        if window_id not in at_work and len(at_work) == 1:
            window_id = next(iter(at_work))
        window = await windows.get(reader, window_id) if window_id else None
        if record is None or window is None or window.conversation_id != record.id:
            raise ConversationGone(
                "The person's window no longer shows the conversation that these tools are for."
            )
        return record, window, at_work.get(window.id)


def tool_server(conversation_id: str, window_id: str, *, name: str = CHECKPOINTS) -> dict[str, object]:
    """The MCP server of a window's tools, in the form of a session's `mcpServers`."""
    where = {"CATENA_DATA_DIR": str(data_directory())}
    if settings := os.environ.get("CATENA_CONFIG_DIR"):
        where["CATENA_CONFIG_DIR"] = settings
    # -P: a directory named `catena` in the project must not be imported instead.
    started = ["-P", "-m", "catena", "mcp", "--conversation", conversation_id, "--window", window_id]
    env = [{"name": name, "value": value} for name, value in where.items()]
    return {"name": name, "command": sys.executable, "args": started, "env": env}


def _line(checkpoint: Checkpoint) -> str:
    facts = [f"{checkpoint.created_at:%Y-%m-%d %H:%M} UTC", f"{checkpoint.data.get('messages')} messages"]
    if note := checkpoint.data.get("note"):
        facts.append(str(note))
    label = f" “{checkpoint.label}”" if checkpoint.label else ""
    return f"{checkpoint.id}{label}: {', '.join(facts)}"


_MISSING = (
    "the tools need the package `mcp`, 2.3 or later, beside Catena: pipx inject catena-chat mcp, "
    "or pip install mcp"
)
_REMEMBER = (
    "recall finds what was said in this person's earlier conversations, and read_turn reads one turn of them. Use them "
    "where the person refers to earlier work, or where it would tell how something came to be. Cite what you use."
)
_INSTRUCTIONS = (
    "Checkpoints are places in this conversation that the person can go back to. Save one before something that may "
    "have to be taken back. They hold the conversation, never files."
)


def available() -> bool:
    """True if the `mcp` extra is installed."""
    try:
        return find_spec("mcp") is not None
    except ValueError:  # its import was blocked
        return False


def serve_tools(conversation_id: str, window_id: str) -> int:
    """Serve the tools until standard input ends. Raises CommandRefused if the extra is missing."""
    if not available():
        raise CommandRefused(_MISSING)
    asyncio.run(_serve(conversation_id, window_id))
    return ExitStatus.ANSWERED


async def _serve(conversation_id: str, window_id: str) -> None:
    async with Database.open(default_path()) as db:
        settings = load_settings()
        server = _server(settings)
        if _has_checkpoints(settings):
            checkpoints = AgentCheckpoints(
                db,
                conversation_id=conversation_id,
                window_id=window_id,
                usually=Frequency(settings.checkpoints.frequency),
                new_id=new_id,
                clock=utc_now,
            )
            _add_checkpoints(server, checkpoints)
        if settings.memory.tools:
            memory = Memory(
                db,
                conversation_id=conversation_id,
                window_id=window_id,
                everywhere=settings.memory.scope == "everywhere",
                rules=settings.export.mask,
            )
            _add_memory(server, memory)
        await server.run_stdio_async()


def _has_checkpoints(settings: Settings) -> bool:
    """True if the checkpoint tools are on, and where none are: whoever starts the server by hand gets these."""
    return settings.checkpoints.tools or not settings.memory.tools


def server_name(settings: Settings) -> str:
    """The name of the server with the tools that are on."""
    if not settings.memory.tools:
        return CHECKPOINTS
    return BOTH if settings.checkpoints.tools else MEMORY


def _server(settings: Settings) -> MCPServer:
    from mcp.server.mcpserver import MCPServer

    told = [_INSTRUCTIONS] if _has_checkpoints(settings) else []
    told += [_REMEMBER] if settings.memory.tools else []
    return MCPServer(
        server_name(settings), version=__version__, instructions=" ".join(told), log_level="ERROR"
    )


def _add_memory(server: MCPServer, memory: Memory) -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    @server.tool(structured_output=False)
    async def recall(words: str) -> str:
        """Find turns of the person's earlier conversations that have all of the words, the newest first.

        Each is quoted in part, with its conversation and the id of its turn.
        """
        try:
            return await memory.recall(words)
        except (NotRemembered, StoreError) as error:
            raise ToolError(str(error)) from error

    @server.tool(structured_output=False)
    async def read_turn(turn: str, part: int = 1) -> str:
        """Read a whole turn of an earlier conversation by its id, from recall; a long one in several parts."""
        try:
            return await memory.read_turn(turn, part)
        except (NotRemembered, StoreError) as error:
            raise ToolError(str(error)) from error


def _add_checkpoints(server: MCPServer, checkpoints: AgentCheckpoints) -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    @server.tool(structured_output=False)
    async def save_checkpoint(label: str | None = None, note: str | None = None) -> str:
        """Save a checkpoint of this conversation as it is now, with a short label and a note if you like."""
        try:
            return await checkpoints.save(label, note)
        except (AgentError, StoreError) as error:
            raise ToolError(str(error)) from error

    @server.tool(structured_output=False)
    async def list_checkpoints() -> str:
        """List the checkpoints of this conversation, newest first: id, label, time, number of messages, note."""
        try:
            return await checkpoints.list()
        except (AgentError, StoreError) as error:
            raise ToolError(str(error)) from error

    @server.tool(structured_output=False)
    async def rewind_to(checkpoint: str) -> str:
        """Ask the person to take this conversation back to a checkpoint, named by its label or id.

        They decide. It happens after your turn has ended, and files are not changed by it.
        """
        try:
            return await checkpoints.rewind_to(checkpoint)
        except (AgentError, StoreError) as error:
            raise ToolError(str(error)) from error

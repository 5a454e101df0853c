"""`catena mcp`: the checkpoint tools for an agent, over MCP on standard input and output.

The only module that imports the `mcp` package, which an extra brings.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from catena import __version__
from catena.agent_checkpoints import AgentCheckpoints
from catena.config import load_settings
from catena.exit_status import ExitStatus, Refused
from catena_acp.errors import AgentError
from catena_store.conversations.checkpoints import Frequency
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError
from catena_store.ids import new_id, utc_now

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_MISSING = "the checkpoint tools need the `mcp` extra: pip install 'catena[mcp]'"
_INSTRUCTIONS = (
    "Checkpoints are places in this conversation that the person can go back to. Save one before something that may "
    "have to be taken back. They hold the conversation, never files."
)


def available() -> bool:
    """True where the extra is installed."""
    try:
        return find_spec("mcp") is not None
    except ValueError:  # it was kept from being imported
        return False


def serve_tools(conversation_id: str, window_id: str) -> int:
    """Serve the tools until standard input ends. Raises Refused where the extra is missing."""
    if not available():
        raise Refused(_MISSING)
    asyncio.run(_serve(conversation_id, window_id))
    return ExitStatus.ANSWERED


async def _serve(conversation_id: str, window_id: str) -> None:
    async with Database.open(default_path()) as db:
        checkpoints = AgentCheckpoints(
            db,
            conversation_id=conversation_id,
            window_id=window_id,
            usually=Frequency(load_settings().checkpoints.frequency),
            new_id=new_id,
            clock=utc_now,
        )
        await _server(checkpoints).run_stdio_async()


def _server(checkpoints: AgentCheckpoints) -> MCPServer:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer(
        "catena-checkpoints", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR"
    )

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

    return server

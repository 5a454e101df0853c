"""An MCP server for tests, as a program: ``python mcp_server.py stdio|http``; over HTTP it prints its port.

Its one tool answers with the key that it was started or asked with, so that an answer proves who called it, and how.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys

from mcp.server.mcpserver import Context, MCPServer


def tools(transport: str) -> MCPServer:
    """The server, with the tool ``chime_stdio`` or ``chime_http``."""
    server = MCPServer("chimes", log_level="ERROR")

    @server.tool(name=f"chime_{transport}", structured_output=False)
    def chime(word: str, ctx: Context) -> str:
        """Chime a word."""
        key = os.environ.get("CHIME_KEY") or (ctx.headers or {}).get("x-chime-key")
        return f"chimed {word} with key {key}"

    return server


async def serve_http() -> None:
    """Serve on a port that is bound when it is printed."""
    import uvicorn

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        print(bound.getsockname()[1], flush=True)
        app = tools("http").streamable_http_app(host="127.0.0.1")
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[bound])


if __name__ == "__main__":
    asyncio.run(serve_http() if sys.argv[1:] == ["http"] else tools("stdio").run_stdio_async())

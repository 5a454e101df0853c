"""The MCP servers of the settings, as conversations take them."""

from __future__ import annotations

from catena.settings.agents import stored_names
from catena.settings.settings import Settings
from catena.settings.tables.projects import absolute
from catena_acp.mcp.server import McpServer, ServerOrigin, Transport


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

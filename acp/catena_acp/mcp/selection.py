"""Which servers a session is given, and why others are not. Pure, but for the look where a program stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from catena_acp.mcp.server import McpServer, ServerOrigin, Transport, VariableMissing, stored_server
from catena_acp.port.abilities import Abilities

NOT_ALLOWED_YET = "waits for you to allow it"
_NAMES = {Transport.HTTP: "HTTP", Transport.SSE: "SSE"}


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """A server with the form in which sessions get it, or with the reason why they do not."""

    server: McpServer
    sent: dict[str, object] | None
    why: str = ""
    unexpected: bool = False  # the person wants it there, and has to be told


@dataclass(frozen=True, slots=True)
class Recipient:
    """The session that servers are chosen for."""

    cwd: str
    agent: str  # as links are stamped
    profile: str
    title: str
    abilities: Abilities | None  # None while the agent does not run

    def refusal(self, server: McpServer) -> str:
        """The reason, in words, why the agent cannot take a server; "" if it can, or is not known to be unable."""
        if self.abilities is None or self.abilities.takes_server(server.transport):
            return ""
        return f"{self.title} does not support MCP over {_NAMES[server.transport]}"


def choose(
    kept: Sequence[dict[str, object]],
    servers: Sequence[McpServer],
    recipient: Recipient,
    *,
    project_allowed: bool | None,
    environment: Mapping[str, str],
) -> tuple[ServerChoice, ...]:
    """For each server what becomes of it: first those that the conversation keeps, in the form in which they are sent.

    ``project_allowed`` is what the person answered about the project's file.
    """
    chosen: list[ServerChoice] = []
    for sent in kept:
        server = stored_server(sent)
        why = recipient.refusal(server)
        chosen.append(ServerChoice(server, None if why else sent, why, unexpected=bool(why)))
    taken = {each.server.name for each in chosen}
    for server in servers:
        choice = _choice(server, recipient, project_allowed, environment, taken)
        if choice.sent is not None:
            taken.add(server.name)
        chosen.append(choice)
    return tuple(chosen)


def _choice(
    server: McpServer,
    recipient: Recipient,
    project_allowed: bool | None,
    environment: Mapping[str, str],
    taken: Set[str],
) -> ServerChoice:
    if server.origin is ServerOrigin.PROJECT and not project_allowed:
        return ServerChoice(
            server, None, NOT_ALLOWED_YET if project_allowed is None else "not allowed by you"
        )
    if not server.enabled:
        return ServerChoice(server, None, "disabled")
    if not server.is_for_agent(recipient.agent, recipient.profile):
        return ServerChoice(server, None, "for other agents")
    if not server.is_for_directory(recipient.cwd):
        return ServerChoice(server, None, "for other projects")
    if server.name in taken:
        return ServerChoice(server, None, "another server has this name")
    if why := recipient.refusal(server):
        return ServerChoice(server, None, why, unexpected=True)
    try:
        return ServerChoice(server, server.as_sent(environment))
    except VariableMissing as missing:
        return ServerChoice(server, None, f"${missing} is not set", unexpected=True)

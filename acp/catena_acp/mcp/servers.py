"""MCP servers: how one is described, those that a project's `.mcp.json` brings, and which a session is given.

A project is a stranger, and a server is a program that is started: nothing of `.mcp.json` is sent before a person
allowed just this content.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from catena_acp.port.abilities import Abilities
from catena_acp.port.elicitation.requests import address_of

OWN_NAMES = ("catena", "catena-memory", "catena-checkpoints")  # of the servers that Catena is itself
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class Transport(StrEnum):
    """How an agent speaks with a server, by the names of the protocol."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"


class ServerOrigin(StrEnum):
    """Who wants a server, in the words of a person."""

    SETTINGS = "settings file"
    PROJECT = "project"
    CONVERSATION = "this conversation"


class VariableMissing(ValueError):
    """A variable that a server's values name is not set; ``str()`` of it is the variable's name."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server; its texts still have their variables in them, so that no secret is in here by way of one."""

    name: str
    transport: Transport
    origin: ServerOrigin
    command: tuple[str, ...] = ()  # of stdio
    env: tuple[tuple[str, str], ...] = ()
    url: str = ""  # of the others
    headers: tuple[tuple[str, str], ...] = ()
    agents: tuple[tuple[str, str | None], ...] = ()  # by stored name, and profile or any; none: every agent
    projects: tuple[str, ...] = ()  # absolute directories, with all below them; none: everywhere
    enabled: bool = True
    directory: str = ""  # that the path of its program counts from, if it is relative

    def is_for_agent(self, name: str, profile: str) -> bool:
        """True if an agent, by its stored name and profile, is to get it."""
        return not self.agents or any(name == wanted and of in (None, profile) for wanted, of in self.agents)

    def is_for_directory(self, cwd: str) -> bool:
        """True if a session in a directory is to get it."""
        return not self.projects or any(is_below(cwd, project) for project in self.projects)

    def as_sent(self, environment: Mapping[str, str]) -> dict[str, object]:
        """The server as one of a session's `mcpServers`, its variables filled in. Raises VariableMissing."""

        def pairs(of: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
            return [{"name": name, "value": filled_in(value, environment)} for name, value in of]

        if self.transport is not Transport.STDIO:
            where = filled_in(self.url, environment)
            return {
                "type": self.transport.value,
                "name": self.name,
                "url": where,
                "headers": pairs(self.headers),
            }
        program, *arguments = (filled_in(word, environment) for word in self.command)
        return {
            "name": self.name,
            "command": self._path_of(program, environment),
            "args": arguments,
            "env": pairs(self.env),
        }

    def _path_of(self, program: str, environment: Mapping[str, str]) -> str:
        """The absolute path of a program, as ACP wants it; its name where it is not here, as for an agent elsewhere."""
        if "/" in program:
            return str(Path(self.directory, Path(program).expanduser() if program[0] == "~" else program))
        return shutil.which(program, path=environment.get("PATH")) or program


def stored_server(sent: Mapping[str, object]) -> McpServer:
    """A server that a conversation keeps in the form in which sessions get it, as far as it can be read."""

    def pairs(key: str) -> tuple[tuple[str, str], ...]:
        value = sent.get(key)
        items = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
        return tuple((str(each.get("name", "")), str(each.get("value", ""))) for each in items)

    arguments = sent.get("args")
    words = [sent.get("command", ""), *(arguments if isinstance(arguments, list) else [])]
    kind = sent.get("type")
    return McpServer(
        str(sent.get("name", "")),
        Transport(kind) if kind in ("http", "sse") else Transport.STDIO,
        ServerOrigin.CONVERSATION,
        command=tuple(str(word) for word in words),
        env=pairs("env"),
        url=str(sent.get("url", "")),
        headers=pairs("headers"),
    )


def filled_in(text: str, environment: Mapping[str, str]) -> str:
    """A text with ``${NAME}`` and ``${NAME:-default}`` replaced. Raises VariableMissing for one without either."""

    def value(found: re.Match[str]) -> str:
        name, default = found.groups()
        if default is not None:
            return environment.get(name) or default
        if name not in environment:
            raise VariableMissing(name)
        return environment[name]

    return _VARIABLE.sub(value, text)


def is_below(path: str, directory: str) -> bool:
    """True if a path is a directory or lies below it; both are absolute."""
    return Path(path).is_relative_to(directory)


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


def choose_servers(
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


PROJECT_FILE_NAME = ".mcp.json"
_MOST_BYTES = 256 * 1024
_MOST_SERVERS = 100
_LONGEST_NAME = 64
_ENDS_LINE = re.compile(r"[\r\n]")
_TRANSPORTS = {
    "stdio": Transport.STDIO,
    "http": Transport.HTTP,
    "streamable-http": Transport.HTTP,
    "streamableHttp": Transport.HTTP,
    "streamable_http": Transport.HTTP,
    "sse": Transport.SSE,
}


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The servers in the file of a project; ``wrong`` says in words which parts of it cannot be used."""

    path: str  # resolved
    digest: str  # of its content
    servers: tuple[McpServer, ...] = ()
    wrong: tuple[str, ...] = ()


class _Unusable(ValueError):
    """A server that cannot be used; ``str()`` of it says why."""


def read_project_file(cwd: str) -> ProjectFile | None:
    """The file that holds for a directory: its own, else the next one above within its git work tree. Blocks."""
    try:
        path = _find(Path(cwd))
        if path is None:
            return None
        path = path.resolve()
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        return None
    import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

    digest = hashlib.sha256(data).hexdigest()
    if len(data) > _MOST_BYTES:
        return ProjectFile(str(path), digest, wrong=(f"{PROJECT_FILE_NAME} is too large",))
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return ProjectFile(str(path), digest, wrong=(f"{PROJECT_FILE_NAME} is not JSON",))
    return _read(path, digest, document)


def _find(cwd: Path) -> Path | None:
    above = [cwd, *cwd.parents]
    top = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
    return next((file for each in above[: top + 1] if (file := each / PROJECT_FILE_NAME).is_file()), None)


def _read(path: Path, digest: str, document: Any) -> ProjectFile:
    entries = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        return ProjectFile(str(path), digest, wrong=(f"{PROJECT_FILE_NAME} has no `mcpServers`",))
    servers, wrong = [], []
    for name, entry in list(entries.items())[:_MOST_SERVERS]:
        try:
            servers.append(_server(name, entry, str(path.parent)))
        except _Unusable as error:
            shown = name if name.isprintable() else ascii(name)
            wrong.append(f"{shown[:_LONGEST_NAME]}: {error}")
    return ProjectFile(str(path), digest, tuple(servers), tuple(wrong))


def _server(name: str, entry: Any, directory: str) -> McpServer:
    if not isinstance(entry, dict):
        raise _Unusable("is not an object")
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise _Unusable("its name cannot be used")
    if name in OWN_NAMES:
        raise _Unusable("is the name of Catena's own server; rename it")
    url = entry.get("url")
    named = entry.get("type", "http" if url else "stdio")
    transport = _TRANSPORTS.get(named) if isinstance(named, str) else None
    if transport is None:
        raise _Unusable("its `type` is not known")
    enabled = entry.get("disabled") is not True
    if transport is not Transport.STDIO:
        if not isinstance(url, str) or not url:
            raise _Unusable("has no `url`")
        if refusal := address_of(url).refusal:
            raise _Unusable(f"its `url` is not used: {refusal[:1].lower()}{refusal[1:].rstrip('.')}")
        headers = _pairs(entry, "headers")
        return McpServer(
            name, transport, ServerOrigin.PROJECT, url=_checked(url, "url"), headers=headers, enabled=enabled
        )
    command, arguments = entry.get("command"), entry.get("args", [])
    if not isinstance(command, str) or not command:
        raise _Unusable("has no `command`")
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise _Unusable("its `args` are not strings")
    if "cwd" in entry:
        raise _Unusable("wants a directory of its own (`cwd`), which ACP cannot pass on")
    words = tuple(_checked(each, "command") for each in (command, *arguments))
    return McpServer(
        name,
        transport,
        ServerOrigin.PROJECT,
        command=words,
        env=_pairs(entry, "env"),
        enabled=enabled,
        directory=directory,
    )


def _pairs(entry: dict[str, Any], key: str) -> tuple[tuple[str, str], ...]:
    value = entry.get(key) or {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise _Unusable(f"its `{key}` is not an object of strings")
    for name, text in value.items():
        if (
            not name
            or "=" in name
            or not name.isprintable()
            or (key == "headers" and _ENDS_LINE.search(text))
        ):
            raise _Unusable(f"its `{key}` has characters that cannot be sent")
    return tuple((name, _checked(text, key)) for name, text in value.items())


def _checked(text: str, key: str) -> str:
    if "\0" in text or any("\ud800" <= each <= "\udfff" for each in text):
        raise _Unusable(f"its `{key}` has characters that cannot be sent")
    return text

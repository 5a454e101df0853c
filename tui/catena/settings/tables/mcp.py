"""The `[mcp.NAME]` tables: MCP servers that sessions are given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catena.errors import InvalidSettings
from catena.settings.tables.projects import is_absolute

Wrong = Callable[[tuple[str, ...], str], InvalidSettings]  # the error of a key, with its file and line

_KEYS = ("command", "url", "type", "env", "headers", "agents", "projects", "enabled")
_TYPES = ("http", "sse")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class McpSetting:
    """One `[mcp.NAME]` table; either ``command`` or ``url`` is set."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    type: str = "http"  # of one with a URL; one of http, sse
    env: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    agents: tuple[str, ...] = ()  # names; none: every agent
    projects: tuple[str, ...] = ()  # directories as they are written; none: everywhere
    enabled: bool = True


def read_mcp(
    document: Mapping[str, Any], wrong: Wrong, agents: Callable[[], Collection[str]]
) -> tuple[McpSetting, ...]:
    """The servers of a settings file; ``agents`` tells which agents there are. Raises what ``wrong`` makes."""
    tables = document.get("mcp", {})
    if not isinstance(tables, dict):
        raise wrong(("mcp",), "must be a table: [mcp.NAME]")
    return tuple(_ServerTable(name, table, wrong).read(agents) for name, table in tables.items())


class _ServerTable:
    def __init__(self, name: str, table: Any, wrong: Wrong) -> None:
        self._name, self._at, self._wrong = name, ("mcp", name), wrong
        if not isinstance(table, dict):
            raise wrong(self._at, "must be a table with `command` or `url`")
        self._table: dict[str, Any] = table

    def read(self, agents: Callable[[], Collection[str]]) -> McpSetting:
        table, name = self._table, self._name
        for key in table:
            if key not in _KEYS:
                raise self._wrong((*self._at, key), f"is not a setting; known: {', '.join(_KEYS)}")
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise self._wrong(self._at, f"needs a name of one line and at most {_LONGEST_NAME} characters")
        from catena_acp.mcp.servers import OWN_NAMES

        if name in OWN_NAMES:
            raise self._wrong(self._at, "is the name of Catena's own server; choose another")
        if ("command" in table) == ("url" in table):
            raise self._wrong(self._at, "needs either `command` or `url`")
        self._only_with("url", "type", "headers")
        self._only_with("command", "env")
        kind = table.get("type", "http")
        if kind not in _TYPES:
            raise self._wrong((*self._at, "type"), f"must be one of {', '.join(_TYPES)}")
        enabled = table.get("enabled", True)
        if not isinstance(enabled, bool):
            raise self._wrong((*self._at, "enabled"), "must be true or false")
        return McpSetting(
            name,
            command=self._command() if "command" in table else (),
            url=self._url() if "url" in table else "",
            type=kind,
            env=self._pairs("env"),
            headers=self._pairs("headers"),
            agents=self._agents(agents),
            projects=self._projects(),
            enabled=enabled,
        )

    def _only_with(self, what: str, *keys: str) -> None:
        for key in keys:
            if key in self._table and what not in self._table:
                raise self._wrong((*self._at, key), f"is only for a server with `{what}`")

    def _command(self) -> tuple[str, ...]:
        value, at = self._table["command"], (*self._at, "command")
        if isinstance(value, str):
            import shlex

            try:
                value = shlex.split(value)
            except ValueError as error:
                raise self._wrong(at, f"cannot be parsed as a command: {error}") from error
        words = value if isinstance(value, list) else []
        if not words or not words[0] or not all(isinstance(each, str) and "\0" not in each for each in words):
            raise self._wrong(at, 'must be a command: "my-server --stdio", or ["my-server", "--stdio"]')
        return tuple(words)

    def _url(self) -> str:
        value, at = self._table["url"], (*self._at, "url")
        if not isinstance(value, str) or not value.isprintable():
            raise self._wrong(at, 'must be an address: "https://example.org/mcp"')
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(value)
        except ValueError as error:
            raise self._wrong(at, f"is not an address: {error}") from error
        if not value.startswith("${") and (parts.scheme not in ("http", "https") or not parts.netloc):
            raise self._wrong(at, "must begin with http:// or https://")
        return value

    def _pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        value, at = self._table.get(key, {}), (*self._at, key)
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise self._wrong(at, 'must be a table of strings: { NAME = "value" }')
        for name, text in value.items():
            if not name or "=" in name or not name.isprintable() or "\0" in text:
                raise self._wrong((*at, name), "has characters that cannot be sent")
            if key == "headers" and ("\n" in text or "\r" in text):
                raise self._wrong((*at, name), "must be one line")
        return tuple(value.items())

    def _agents(self, known: Callable[[], Collection[str]]) -> tuple[str, ...]:
        names = self._texts("agents", "names of agents")
        for name in names:
            if name not in known():
                raise self._wrong((*self._at, "agents"), f'"{name}" is not an agent; see `catena agents`')
        return names

    def _projects(self) -> tuple[str, ...]:
        paths = self._texts("projects", "directories")
        for path in paths:
            if not is_absolute(path):
                raise self._wrong((*self._at, "projects"), f'"{path}" must begin with / or ~')
        return paths

    def _texts(self, key: str, of: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise self._wrong((*self._at, key), f"must be a list of {of}")
        return tuple(value)


def mcp_values(
    servers: tuple[McpSetting, ...],
) -> Iterator[tuple[tuple[str, ...], str | bool | tuple[str, ...]]]:
    """The settings of each server that are set, by their keys."""
    for server in servers:
        at = ("mcp", server.name)
        for key in ("command", "url", "agents", "projects"):
            if value := getattr(server, key):
                yield (*at, key), value
        if server.url:
            yield (*at, "type"), server.type
        for key, pairs in (("env", server.env), ("headers", server.headers)):
            for name, text in pairs:
                yield (*at, key, name), text
        yield (*at, "enabled"), server.enabled

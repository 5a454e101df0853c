"""`.mcp.json`: the servers that a project brings, in the shape that other tools read, too.

A project is a stranger, and a server is a program that is started: nothing in here is sent before a person allowed
just this content.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena_acp.mcp.servers import OWN_NAMES, McpServer, ServerOrigin, Transport
from catena_acp.port.elicitation.requests import address_of

FILE_NAME = ".mcp.json"
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
        return ProjectFile(str(path), digest, wrong=(f"{FILE_NAME} is too large",))
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return ProjectFile(str(path), digest, wrong=(f"{FILE_NAME} is not JSON",))
    return _read(path, digest, document)


def _find(cwd: Path) -> Path | None:
    above = [cwd, *cwd.parents]
    top = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
    return next((file for each in above[: top + 1] if (file := each / FILE_NAME).is_file()), None)


def _read(path: Path, digest: str, document: Any) -> ProjectFile:
    entries = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        return ProjectFile(str(path), digest, wrong=(f"{FILE_NAME} has no `mcpServers`",))
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

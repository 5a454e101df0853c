"""``catena agents``: the installed agents with their versions, and how to install the others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from catena import __version__
from catena.errors import ExitStatus
from catena.settings.agents import REHEARSAL, agent_of_setting
from catena.settings.settings import AgentSetting, Settings, load_settings
from catena.text.json_shapes import dumps
from catena.text.safe_text import safe_line
from catena_acp.agents.catalog import Installation, find_agents
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec

_VERSION_SECONDS = 3.0
# Programs that would first fetch or search for the agent.
_LAUNCHERS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "docker", "node", "python", "python3"})
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.]+)?")


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """Installation, version and login of one agent."""

    name: str
    title: str
    command: tuple[str, ...]  # () where it is not installed
    version: str | None
    install: str | None  # how to install it, where it is missing
    login: str | None  # how to log in

    @property
    def found(self) -> bool:
        return bool(self.command)


def print_agents(*, json: bool) -> int:
    """Print the agents of the settings and the catalogue, the rehearsal agent last."""
    lines = asyncio.run(agent_statuses(load_settings()))
    if json:
        print(dumps([_shape(line) for line in lines], indent=2))
        return ExitStatus.ANSWERED
    for text in _as_text(lines):
        print(text)
    return ExitStatus.ANSWERED


async def agent_statuses(settings: Settings) -> list[AgentStatus]:
    """Every known agent, installed ones first, with the version where `--version` is quick."""
    found = find_agents()
    in_catalogue = {each.entry.name for each in found}
    own = [
        _setting_status(each, settings) for each in settings.agents.values() if each.name not in in_catalogue
    ]
    of_catalogue = [_catalogue_status(each, settings) for each in found]
    lines = await asyncio.gather(*map(_with_version, own + of_catalogue))
    return sorted(lines, key=lambda line: (line.name == REHEARSAL, not line.found))


async def agent_versions(settings: Settings) -> dict[str, str]:
    """The versions of the installed agents, by name, where they are known within three seconds.

    That of the built-in one is the program's own, and tells nothing in a list of agents.
    """
    statuses = await agent_statuses(settings)
    return {each.name: each.version for each in statuses if each.version and each.name != REHEARSAL}


def _setting_status(setting: AgentSetting, settings: Settings) -> AgentStatus:
    try:
        spec = agent_of_setting(setting, settings)
    except AgentMissing as error:
        return AgentStatus(setting.name, setting.title or setting.name, (), None, str(error), None)
    return _status(setting.name, spec, install="its command in the settings was not found", login=None)


def _catalogue_status(found: Installation, settings: Settings) -> AgentStatus:
    entry = found.entry
    setting = settings.agents.get(entry.name)
    if setting is not None and setting.command:
        spec = agent_of_setting(setting, settings)
        return _status(
            entry.name, spec, install="its command in the settings was not found", login=entry.login
        )
    if found.spec is None:
        return AgentStatus(entry.name, entry.title, (), None, entry.install, entry.login)
    return AgentStatus(entry.name, entry.title, found.spec.command, found.version, None, entry.login)


def _status(name: str, spec: AgentSpec, *, install: str, login: str | None) -> AgentStatus:
    there = shutil.which(spec.command[0]) is not None
    return AgentStatus(
        name, spec.title, spec.command if there else (), None, None if there else install, login
    )


async def _with_version(line: AgentStatus) -> AgentStatus:
    if line.name == REHEARSAL:
        return replace(line, version=__version__)
    if line.version is not None or not line.found or Path(line.command[0]).name in _LAUNCHERS:
        return line
    return replace(line, version=await _read_version(line.command[0]))


async def _read_version(command: str) -> str | None:
    """The version that `--version` prints; None if it prints none within three seconds."""
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_VERSION_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        return None
    found = _VERSION.search(said.decode("utf-8", "replace"))
    return found[0] if found else None


def _shape(line: AgentStatus) -> dict[str, Any]:
    return {
        "name": line.name,
        "title": line.title,
        "found": line.found,
        "command": list(line.command) or None,
        "version": line.version,
        "install": line.install,
        "login": line.login,
    }


def _as_text(lines: Sequence[AgentStatus]) -> Iterator[str]:
    width = max(len(line.name) for line in lines)
    for line in lines:
        mark = "✓" if line.found else "·"
        state = line.version or "found" if line.found else "not installed"
        yield f"{mark} {safe_line(line.name):<{width}}  {safe_line(line.title)} · {safe_line(state)}"
        for words in (line.install, line.login and f"log in: {line.login}"):
            if words:
                yield f"  {'':<{width}}  {safe_line(words)}"

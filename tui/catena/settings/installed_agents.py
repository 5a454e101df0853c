"""The known agents, whether they are installed, and their versions if these can be found quickly."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from catena import __version__
from catena.settings.agents import REHEARSAL, agent_of_setting
from catena.settings.settings import Settings
from catena.settings.tables.agents import AgentSetting
from catena_acp.agents.catalog import Installation, find_agents, lacks_account
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec

_VERSION_SECONDS = 3.0
# Programs that would first fetch or search for the agent.
_LAUNCHERS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "docker", "node", "python", "python3"})
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.]+)?")


class Origin(StrEnum):
    """Whence an installed agent is."""

    CATENA = "catena"  # installed by it
    PATH = "path"
    NPX = "npx"  # fetched by npx when it is started
    SETTINGS = "settings"
    BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """Installation, version and login of one agent."""

    name: str
    title: str
    command: tuple[str, ...]  # () where it is not installed
    version: str | None
    install: str | None  # how to install it, where it is missing
    login: str | None  # how to log in
    lacks_account: bool = False
    origin: Origin = Origin.PATH

    @property
    def found(self) -> bool:
        return bool(self.command)


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
    title = setting.title if setting and setting.title else entry.title
    return AgentStatus(
        entry.name,
        title,
        found.spec.command,
        found.version,
        None,
        entry.login,
        lacks_account=lacks_account(entry),
        origin=_origin(found),
    )


def _origin(found: Installation) -> Origin:
    if found.install:
        return Origin.CATENA
    if found.entry.name == REHEARSAL:
        return Origin.BUILT_IN
    return Origin.NPX if found.spec and found.spec.command[0] == "npx" else Origin.PATH


def _status(name: str, spec: AgentSpec, *, install: str, login: str | None) -> AgentStatus:
    there = shutil.which(spec.command[0], path=dict(spec.env).get("PATH")) is not None
    command = spec.command if there else ()
    return AgentStatus(
        name, spec.title, command, None, None if there else install, login, origin=Origin.SETTINGS
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
        return None
    finally:  # also where the answer is not wanted any more: Catena may be ending
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    # A program that does not know the option may print its usage, and name an address in it.
    first = said.decode("utf-8", "replace").strip().partition("\n")[0]
    found = _VERSION.search(first)
    return found[0] if found else None

"""The agents that a person can choose from, which of them are installed, and in what version."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from catena import __version__
from catena.settings.agents import REHEARSAL, agent_of_setting, require_command, stored_agent_name
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena_acp.agents.catalog import (
    NO_ACCOUNT,
    Installation,
    agent_name,
    find_agents,
    how_to_install,
    install_command,
    is_command,
    lacks_account,
)
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec

if TYPE_CHECKING:  # the first frame does without the registry's data
    from catena_acp.agents.registry.entries import RegistryEntry


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


FROM_SETTINGS = "from your settings"
_OR = ", or "  # between two ways to log in
_USED_HERE = "used in this conversation"


class Readiness(StrEnum):
    """What stands between a person and an agent, in the words of a list."""

    READY = "ready"
    LOG_IN = "log in"
    LIMITED = "limit reached"
    MISSING = "not installed"


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """An agent that can be chosen, or could be if it were installed."""

    name: str  # in the settings or the catalogue
    title: str
    readiness: Readiness
    how: str = ""  # to log in, or to install it
    note: str = ""
    version: str = ""
    last_used: bool = False
    short_title: str = ""  # where it is talked to, if that is another

    @property
    def installable(self) -> bool:
        """True if it is missing, and Catena can install it."""
        return not self.found and self.how == install_command(self.name)

    @property
    def found(self) -> bool:
        """True if it can be started."""
        return self.readiness is not Readiness.MISSING

    @property
    def usable(self) -> bool:
        """True if a prompt can go to it now, after a login at most."""
        return self.readiness in (Readiness.READY, Readiness.LOG_IN)

    @property
    def addressed_as(self) -> str:
        """What it is called where it is talked to."""
        return self.short_title or self.title

    @property
    def needs_login(self) -> bool:
        """True if it is found, and has no account yet."""
        return self.readiness is Readiness.LOG_IN

    @property
    def about(self) -> str:
        """A remark beside its state: how to install it or log in, or the reason for its place in the list."""
        if self.needs_login:
            return self.how.partition(_OR)[0]
        if not self.found:
            return self.how
        return "last used" if self.last_used else self.note


def agent_choices(
    settings: Settings,
    last_used: tuple[str, str] | None,
    offered: Sequence[RegistryEntry] = (),
    used: Mapping[str, str] | None = None,
    *,
    limited: tuple[str, str] | None = None,
) -> list[AgentChoice]:
    """Every known agent: the last used, the others that are found and first ready, rehearsal; then the missing.

    ``last_used`` is its stored name and profile. ``offered`` are the agents of the registry, which Catena can install.
    ``used`` are the stored names and titles of a conversation's agents: a command of its own is known from there only.
    ``limited``: the stored name and profile of one whose limit is reached; it is the last of those that are found.
    """
    struck = stored_agent_name(*limited, settings) if limited else None
    name = stored_agent_name(*last_used, settings) if last_used else None
    own = [*_own_agents(settings), *_used_commands(used or {}, settings)]
    named = {choice.name for choice in own}
    known = [*own, *(choice for choice in _catalogue_agents(offered) if choice.name not in named)]
    marked = [
        replace(
            choice,
            last_used=choice.name == name,
            readiness=Readiness.LIMITED if choice.name == struck and choice.found else choice.readiness,
        )
        for choice in known
    ]
    return sorted(
        marked,
        key=lambda choice: (
            not choice.found,
            not choice.usable,
            not (choice.last_used and choice.found),
            choice.name == REHEARSAL,
            choice.needs_login,
        ),
    )


async def offered_agents() -> Sequence[RegistryEntry]:
    """The agents of the registry's data, read in a thread."""
    import asyncio

    from catena_acp.agents.registry.data import load_registry

    return (await asyncio.to_thread(load_registry)).entries


def with_versions(choices: Sequence[AgentChoice], versions: Mapping[str, str]) -> list[AgentChoice]:
    """The same agents, with the versions that are known by now."""
    return [replace(choice, version=versions.get(choice.name, choice.version)) for choice in choices]


def _own_agents(settings: Settings) -> list[AgentChoice]:
    own = []
    for setting in settings.agents.values():
        try:
            spec = agent_of_setting(setting, settings)
        except AgentMissing:
            continue
        choice = AgentChoice(setting.name, spec.title, Readiness.READY, note=FROM_SETTINGS)
        try:
            require_command(spec)
        except AgentMissing:
            how = f"{spec.command[0]}, the command in your settings, was not found"
            choice = replace(choice, readiness=Readiness.MISSING, how=how)
        own.append(choice)
    return own


def _used_commands(used: Mapping[str, str], settings: Settings) -> Iterator[AgentChoice]:
    for name, title in used.items():
        if is_command(stored_agent_name(name, "", settings)):
            yield AgentChoice(name, title, Readiness.READY, note=_USED_HERE)


def _catalogue_agents(offered: Sequence[RegistryEntry]) -> list[AgentChoice]:
    choices, by_id = [], {entry.id: entry for entry in offered}
    for found in find_agents():
        entry, in_registry = found.entry, by_id.pop(found.entry.id, None)
        if found.spec is None:
            how = how_to_install(entry, in_registry)
            choice = AgentChoice(entry.name, entry.title, Readiness.MISSING, how=how)
        elif entry.name == REHEARSAL:
            choice = AgentChoice(entry.name, entry.title, Readiness.READY, note=NO_ACCOUNT)
        else:
            readiness = Readiness.LOG_IN if lacks_account(entry) else Readiness.READY
            choice = AgentChoice(
                entry.name,
                entry.title,
                readiness,
                how=entry.login or "",
                version=found.version or "",
                short_title=entry.short_title,
            )
        choices.append(choice)
    return [*choices, *(_registry_agent(entry) for entry in by_id.values())]


def _registry_agent(entry: RegistryEntry) -> AgentChoice:
    """An agent that only the registry has, and that is not installed."""
    from catena_acp.agents.registry.plans import plan_install

    name = agent_name(entry.id)
    how = install_command(name) if plan_install(entry) else f"see {entry.homepage}" if entry.homepage else ""
    return AgentChoice(name, entry.name, Readiness.MISSING, how=how)

"""``catena agents`` and ``catena agents AGENT``."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from catena.cli.agents.known import KnownAgent, known_agents
from catena.errors import CommandRefused, ExitStatus
from catena.settings.agent_choices import FROM_SETTINGS, Origin
from catena.settings.agents import REHEARSAL
from catena.settings.settings import Settings, load_settings
from catena.text.formats import from_home, size_text
from catena.text.json_shapes import dumps, time_shape
from catena.text.safe_text import safe, safe_line
from catena_acp.agents.catalog import NO_ACCOUNT
from catena_acp.agents.registry.data import RegistryData
from catena_acp.agents.registry.entries import Archive
from catena_acp.agents.registry.plans import this_platform
from catena_acp.agents.sightings import ABILITIES, AgentRecord, Sighting
from catena_acp.continuity.wording.counts import counted
from catena_store.ids import utc_now

_ORIGINS = {
    Origin.CATENA: "installed by Catena",
    Origin.PATH: "found on PATH",
    Origin.NPX: "fetched by npx when it is started",
    Origin.SETTINGS: FROM_SETTINGS,
    Origin.BUILT_IN: "comes with Catena",
}


def print_agents(*, check: bool, json: bool) -> int:
    """Print all known agents; with ``check``, start those that are installed first."""
    settings = load_settings()
    if check:
        _check(settings, None)
    agents, registry = asyncio.run(known_agents(settings))
    if json:
        print(dumps([_shape(agent) for agent in agents], indent=2))
        return ExitStatus.ANSWERED
    for line in _list_lines(agents, registry):
        print(plain_line(line))
    return ExitStatus.ANSWERED


def print_agent(named: str, *, check: bool, json: bool) -> int:
    """Print one agent in detail. Raises CommandRefused if there is none of this name or registry id."""
    settings = load_settings()
    _one(asyncio.run(known_agents(settings))[0], named)
    if check:
        _check(settings, named)
    agents, registry = asyncio.run(known_agents(settings))
    agent = _one(agents, named)
    if json:
        print(dumps(_shape(agent), indent=2))
        return ExitStatus.ANSWERED
    for name, words in _detail(agent, registry):
        print(f"{name:<9} {safe_line(words)}")
    return ExitStatus.ANSWERED


def plain_line(text: str) -> str:
    """A line of a table, whose blanks stay, without what a terminal would act on."""
    return safe(text).replace("\n", " ")


def registry_age(registry: RegistryData, today: date) -> str:
    """The registry's data in words: how many agents, as of when, from where."""
    days = (today - registry.date).days
    age = "today" if days == 0 else f"{counted(days, 'day')} old" if days > 0 else "dated in the future"
    return (
        f"{counted(len(registry.entries), 'agent')}, {registry.date.isoformat()} ({age}), {registry.source}"
    )


def _one(agents: Sequence[KnownAgent], named: str) -> KnownAgent:
    for agent in agents:
        if named == agent.name:
            return agent
    for agent in agents:
        if agent.entry and named == agent.entry.id:
            return agent
    raise CommandRefused(f"{named}: no such agent; see `catena agents`")


def _check(settings: Settings, named: str | None) -> None:
    from catena.cli.agents.checking import check_agents

    asyncio.run(check_agents(settings, named))


def _list_lines(agents: Sequence[KnownAgent], registry: RegistryData) -> Iterator[str]:
    width = max(len(agent.name) for agent in agents)
    missing = [agent for agent in agents if not agent.status.found]
    for agent in agents:
        if not agent.status.found:
            continue
        yield f"✓ {agent.name:<{width}}  {agent.status.title} · {_state(agent)}"
        for line in (_where(agent), _abilities_line(agent)):
            if line:
                yield f"  {'':<{width}}  {line}"
    if missing:
        yield ""
        yield f"Not installed ({len(missing)}); catena agents install AGENT installs one"
    for agent in missing:
        yield f"· {agent.name:<{width}}  {agent.status.title}{_other_way(agent)}"
    yield ""
    yield f"Registry: {registry_age(registry, utc_now().date())}"
    if registry.trouble:
        yield f"! {registry.trouble}"
    yield "catena agents AGENT shows one; catena agents update URL reads newer data of the registry."


def _other_way(agent: KnownAgent) -> str:
    """How to get an agent that Catena cannot install."""
    if agent.plan is not None:
        return ""
    return f" · {agent.status.install or f'no program for {this_platform()}'}"


def _state(agent: KnownAgent) -> str:
    version = agent.status.version or "version unknown"
    if agent.status.lacks_account:
        return f"{version} · log in: {agent.status.login}"
    newer = f" · {agent.newer} is in the registry" if agent.newer else ""
    return f"{version} · ready{newer}"


def _where(agent: KnownAgent) -> str:
    if agent.name == REHEARSAL:
        return NO_ACCOUNT
    return f"{from_home(agent.path or '')} · {_ORIGINS[agent.status.origin]}"


def _abilities_line(agent: KnownAgent) -> str:
    seen = agent.seen
    if agent.name == REHEARSAL or seen is None:
        return ""
    can = [name for name in ABILITIES if name in seen.can]
    return f"can {', '.join(can) or 'only chat'} ({_seen_words(seen)})"


def _seen_words(seen: Sighting | AgentRecord) -> str:
    if isinstance(seen, AgentRecord):
        return f"recorded {seen.seen} with {seen.version}, not seen here"
    when = f" {seen.at.astimezone().date().isoformat()}" if seen.at else ""
    return f"seen here{when} with {seen.version or 'an unknown version'}"


def _detail(agent: KnownAgent, registry: RegistryData) -> Iterator[tuple[str, str]]:
    status, entry, plan = agent.status, agent.entry, agent.plan
    yield "agent", f"{agent.name} · {status.title}"
    if entry and entry.description:
        yield "what", entry.description
    if status.found:
        yield "state", f"{_state(agent)} · {_ORIGINS[status.origin]}"
        yield "program", from_home(agent.path or "")
        yield "command", shlex.join(status.command)
    else:
        yield "state", "not installed"
        yield "get it", status.install or f"there is no program for {this_platform()}"
    if status.login:
        yield "log in", status.login
    seen = agent.seen
    if seen is not None:
        yield "can", ", ".join(name for name in ABILITIES if name in seen.can) or "only chat"
        if cannot := [name for name in ABILITIES if name in seen.known - seen.can]:
            yield "cannot", ", ".join(cannot)
        yield "seen", _seen_words(seen)
    else:
        yield "can", "unknown: it has never run here (catena agents check AGENT starts it)"
    if agent.install:
        checked = "SHA-256 checked" if agent.install.verified else "no SHA-256 known"
        words = f"{agent.install.version} from {agent.install.source}, {size_text(agent.install.size)}"
        yield "installed", f"{words}, {checked}" if _is_archive(agent) else words
        yield "in", from_home(str(agent.install.path))
    if entry:
        source = f" · {plan.source}" if plan else f" · nothing for {this_platform()}"
        yield "registry", f"{entry.id} {entry.version}{source} · {registry.date.isoformat()}"
        if entry.license:
            yield "licence", entry.license
        if entry.homepage:
            yield "home", entry.homepage


def _is_archive(agent: KnownAgent) -> bool:
    return agent.plan is not None and isinstance(agent.plan.distribution, Archive)


def _shape(agent: KnownAgent) -> dict[str, Any]:
    status, entry, plan = agent.status, agent.entry, agent.plan
    return {
        "name": agent.name,
        "title": status.title,
        "found": status.found,
        "ready": agent.can_begin,
        "command": list(status.command) or None,
        "path": agent.path,
        "origin": status.origin if status.found else None,
        "version": status.version,
        "install": status.install,
        "login": status.login,
        "abilities": _abilities_shape(agent.seen),
        "registry": {
            "id": entry.id,
            "version": entry.version,
            "description": entry.description,
            "license": entry.license,
            "homepage": entry.homepage,
            "source": plan.source if plan else None,
            "sha256": plan.sha256 if plan else None,
        }
        if entry
        else None,
    }


def _abilities_shape(seen: Sighting | AgentRecord | None) -> dict[str, Any] | None:
    if seen is None:
        return None
    here = isinstance(seen, Sighting)
    when = (time_shape(seen.at) if seen.at else None) if isinstance(seen, Sighting) else seen.seen
    return {
        **{name: name in seen.can if name in seen.known else None for name in ABILITIES},
        "seen": "here" if here else "elsewhere",
        "at": when,
        "version": seen.version,
    }

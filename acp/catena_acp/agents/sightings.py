"""What agents were seen to be able to do: on this machine, and elsewhere if they were never started here.

A sighting is kept in the store with its version and time, under the name that an agent's links have; it is read without
the SDK. Of the records of others, those of the first table were run in November 2026 with what they say in
``initialize``; the answer of the others to it was seen by the registry's own probe on 2026-08-20, which looks at four
abilities only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from catena_acp.port.abilities import Abilities
from catena_store.chains import agents
from catena_store.database.database import Reader, Writer

_ABILITY = "seen"
_ANY_VERSION = ""  # in the place of a version: the last one that ran
_OF_SESSIONS = frozenset({"modes", "models"})  # known once a session was opened

ABILITIES: Final = ("load", "resume", "fork", "list", "delete", "close", "modes", "models", "images", "mcp")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Abilities of an agent when it last ran; ``known`` are those that were told."""

    version: str
    can: frozenset[str]
    known: frozenset[str]
    at: datetime | None = None


def told_abilities(abilities: Abilities) -> frozenset[str]:
    """What an agent told in its answer to `initialize`, by the names of ``ABILITIES``."""
    told = {
        "load": abilities.load,
        "resume": abilities.resume,
        "fork": abilities.fork,
        "list": abilities.list,
        "delete": abilities.delete,
        "close": abilities.close,
        "images": abilities.image,
        "mcp": abilities.mcp_http or abilities.mcp_sse,
    }
    return frozenset(name for name, can in told.items() if can)


async def keep_sighting(
    tx: Writer, agent: str, abilities: Abilities, *, modes: bool | None = None, models: bool | None = None
) -> None:
    """Keep what an agent can do; ``modes`` and ``models`` are None where no session was opened."""
    before = _sighting((await agents.abilities(tx, agent, _ANY_VERSION)).get(_ABILITY, ""))
    of_session = {"modes": modes, "models": models}
    known = {name for name, offered in of_session.items() if offered is not None}
    can = {name for name, offered in of_session.items() if offered}
    if before and before.version == abilities.version:
        kept = (before.known & _OF_SESSIONS) - known
        known, can = known | kept, can | (before.can & kept)
    known |= frozenset(ABILITIES) - _OF_SESSIONS
    can |= told_abilities(abilities)
    value = {"version": abilities.version, "can": sorted(can), "known": sorted(known)}
    await agents.set_ability(tx, agent, _ANY_VERSION, _ABILITY, json.dumps(value))


async def sightings(r: Reader) -> dict[str, Sighting]:
    """The last sighting of each agent, by the name that its links have."""
    kept = await agents.dated_ability_by_agent(r, _ANY_VERSION, _ABILITY)
    read = {agent: _sighting(value, at) for agent, (value, at) in kept.items()}
    return {agent: sighting for agent, sighting in read.items() if sighting}


def _sighting(value: str, at: datetime | None = None) -> Sighting | None:
    try:
        fields: Any = json.loads(value)
        version, can, known = str(fields["version"]), frozenset(fields["can"]), frozenset(fields["known"])
    except (ValueError, TypeError, KeyError):
        return None
    return Sighting(version, can & frozenset(ABILITIES), known & frozenset(ABILITIES), at)


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What one version of an agent could do; ``known`` are the abilities that were looked at."""

    id: str  # in the registry
    version: str
    seen: str  # when: a month or a day
    can: frozenset[str]
    known: frozenset[str]


def record_of(id: str) -> AgentRecord | None:
    """The record of the registry's agent with this id."""
    for run_id, version, words in _RUN:
        if run_id == id:
            return AgentRecord(id, version, "2026-11", frozenset(words.split()), _RUN_ABILITIES.get(id, _ALL))
    for probed_id, version, words in _PROBED:
        if probed_id == id:
            return AgentRecord(id, version, "2026-08-20", frozenset(words.split()), _PROBED_ABILITIES)
    return None


_ALL: Final = frozenset(ABILITIES)
# Kimi asked for a login before it told of a session.
_RUN_ABILITIES: Final = {"kimi": _ALL - {"modes", "models"}}
_PROBED_ABILITIES: Final = frozenset({"load", "resume", "fork", "list"})

_RUN: Final = (
    ("claude-acp", "0.101.0", "load resume fork list delete close modes models images mcp"),
    ("codex-acp", "2.6.0", "load resume fork list delete close modes models images mcp"),
    ("opencode", "1.18.33", "load resume fork list close modes models images mcp"),
    ("gemini", "0.61.0", "load modes models images mcp"),
    ("qwen-code", "0.24.4", "load resume list modes models images mcp"),
    ("github-copilot-cli", "1.0.102", "load list close modes images mcp"),
    ("mistral-vibe", "3.0.2", "load fork list close modes models images"),
    ("fast-agent", "0.10.46", "load resume list modes images mcp"),
    ("kimi", "1.49.0", "load resume list images mcp"),
)

_PROBED: Final = (
    ("amp-acp", "0.9.0", ""),
    ("auggie", "0.35.0", "load list"),
    ("cline", "3.0.55", "load"),
    ("corust-agent", "0.6.0", ""),
    ("cursor", "2026.08.11", "load list"),
    ("devin", "3000.4.25", "load list"),
    ("dimcode", "0.3.16", "load list resume"),
    ("dirac", "0.4.37", "load resume"),
    ("factory-droid", "0.200.0", "load list resume"),
    ("glm-acp-agent", "1.6.0", "load list fork resume"),
    ("goose", "1.46.0", "load list"),
    ("grok-build", "1.0.7", "load list resume"),
    ("harn", "0.10.105", "load list resume"),
    ("junie", "2913.6.0", "load list fork resume"),
    ("kilo", "7.4.22", "load list fork resume"),
    ("nova", "1.1.35", "load list fork resume"),
    ("pi-acp", "0.0.33", "load list"),
    ("poolside", "1.0.16", "load list"),
    ("sigit", "1.5.2", "load fork"),
    ("stakpak", "0.3.88", "load"),
)

"""What agents of this machine were seen to be able to do, kept with the version that it was seen with and when.

Kept in the store, under the name that an agent's links have; read without the SDK.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catena_acp.agents.registry.records import ABILITIES
from catena_acp.port.abilities import Abilities
from catena_store.chains import agents
from catena_store.database.database import Reader, Writer

_ABILITY = "seen"
_ANY_VERSION = ""  # in the place of a version: the last one that ran
_OF_SESSIONS = frozenset({"modes", "models"})  # known once a session was opened


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

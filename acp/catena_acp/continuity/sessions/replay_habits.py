"""Habits of an agent version when it opens a session: whether its replay is faithful, and whether it comes in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catena_acp.continuity.routing.replay_check import Verdict
from catena_acp.port.abilities import Abilities
from catena_store.chains import agents
from catena_store.database.database import Reader, Writer

REPLAY: Final = "replay"  # "faithful", "doubted", "none", or, as it was kept once, "late"
_LATE: Final = "replays_late"  # "yes": it sends a history behind the answer to an opening


@dataclass(frozen=True, slots=True)
class ReplayHabits:
    """What is known of an agent version's replays."""

    faithful: bool | None  # None while that is not known
    late: bool  # a history was seen to come behind the answer

    def proves(self, found: Verdict) -> bool:
        """True if a verdict says something: an agent that is late may be later than it is waited for."""
        return found is not Verdict.EMPTY or not self.late or self.faithful is True


async def read_habits(r: Reader, abilities: Abilities) -> ReplayHabits:
    """What is known of the replays of this agent version."""
    known = await agents.abilities(r, abilities.name, abilities.version)
    faithful = abilities.quirks.replay_faithful
    if faithful is None:
        faithful = {"faithful": True, "none": False}.get(known.get(REPLAY, ""))
    return ReplayHabits(faithful, known.get(_LATE) == "yes" or known.get(REPLAY) == "late")


async def keep_late(tx: Writer, abilities: Abilities) -> None:
    """Keep that a version was seen to send a history behind the answer, unless the mark of its end is known."""
    if not abilities.quirks.replay_ends_with_commands:
        await agents.set_ability(tx, abilities.name, abilities.version, _LATE, "yes")


async def keep_faith(tx: Writer, abilities: Abilities, found: Verdict) -> None:
    """Keep whether a version's replay is faithful: one contradiction is believed, a second is not."""
    name, version = abilities.name, abilities.version
    known = (await agents.abilities(tx, name, version)).get(REPLAY)
    match found:
        case Verdict.AGREES:
            value = "faithful"
        case Verdict.EMPTY:
            value = "none"
        case Verdict.CONTRADICTS:
            value = "none" if known == "doubted" else "doubted"
    await agents.set_ability(tx, name, version, REPLAY, value)

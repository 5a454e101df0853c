"""Habits of agent versions, learnt by replays: whether a replay is faithful and in time, and which turns it keeps.

Of turns that did not end well: two replays in different sessions that showed the same, and none that showed less, are
believed of a version and a kind of end. The first replay that shows less than was believed ends that for the version,
for good.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from catena_acp.continuity.routing.replay_check import Verdict
from catena_acp.continuity.routing.surely_kept import BadEnd, KeptPart, ShownTurn
from catena_acp.port.abilities import Abilities
from catena_store.chains import agents
from catena_store.database.database import Reader, Writer

REPLAY: Final = "replay"  # "faithful", "doubted", "none", or, as it was kept once, "late"
_LATE: Final = "replays_late"  # "yes": it sends a history behind the answer to an opening

_KEPT: Final = "kept"  # "inconsistent" once a replay showed less than was believed
_INCONSISTENT: Final = "inconsistent"
_ENOUGH: Final = 2  # sessions that showed the same


@dataclass(frozen=True, slots=True)
class ReplayHabits:
    """The known habits of an agent version in replays."""

    faithful: bool | None  # None while that is not known
    late: bool  # a history was seen to come behind the answer

    def proves(self, found: Verdict) -> bool:
        """True if a verdict says something: an agent that is late may be later than it is waited for."""
        return found is not Verdict.EMPTY or not self.late or self.faithful is True


async def read_habits(r: Reader, abilities: Abilities) -> ReplayHabits:
    """Read the known habits of this agent version in replays."""
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


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was seen of a kind of end: the sessions that kept so much, and the most that all of them kept."""

    prompt: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    most: KeptPart = KeptPart.ALL

    @property
    def believed(self) -> KeptPart:
        if len(self.all) >= _ENOUGH and self.most is KeptPart.ALL:
            return KeptPart.ALL
        if len(self.prompt) >= _ENOUGH and self.most >= KeptPart.PROMPT:
            return KeptPart.PROMPT
        return KeptPart.NOTHING

    def with_shown(self, session_id: str, shown: ShownTurn) -> _Seen:
        return replace(
            self,
            prompt=_with(self.prompt, session_id) if shown.least >= KeptPart.PROMPT else self.prompt,
            all=_with(self.all, session_id) if shown.least is KeptPart.ALL else self.all,
            most=min(self.most, shown.most),
        )


async def believed(r: Reader, abilities: Abilities, end: BadEnd) -> KeptPart:
    """What a session of this agent version surely keeps of a turn with such an end."""
    known = await agents.abilities(r, abilities.name, abilities.version)
    return KeptPart.NOTHING if known.get(_KEPT) == _INCONSISTENT else _seen(known, end).believed


async def learn(tx: Writer, abilities: Abilities, session_id: str, shown: Sequence[ShownTurn]) -> None:
    """Learn from what the replay of a session shows of its turns."""
    name, version = abilities.name, abilities.version
    known = await agents.abilities(tx, name, version)
    for each in shown:
        if each.turn.end is None:
            continue
        before = _seen(known, each.turn.end)
        if each.most < before.believed:
            await take_back(tx, abilities)
        seen = before.with_shown(session_id, each)
        if seen != before:
            known[_name(each.turn.end)] = written = json.dumps([seen.prompt, seen.all, seen.most])
            await agents.set_ability(tx, name, version, _name(each.turn.end), written)


async def take_back(tx: Writer, abilities: Abilities) -> None:
    """Believe nothing of this agent version any more: a session held less than was believed."""
    await agents.set_ability(tx, abilities.name, abilities.version, _KEPT, _INCONSISTENT)


def _name(end: BadEnd) -> str:
    return f"{_KEPT}_{end}"


def _seen(known: dict[str, str], end: BadEnd) -> _Seen:
    if (written := known.get(_name(end))) is None:
        return _Seen()
    prompt, whole, most = json.loads(written)
    return _Seen(tuple(prompt), tuple(whole), KeptPart(most))


def _with(sessions: tuple[str, ...], session_id: str) -> tuple[str, ...]:
    known = session_id in sessions or len(sessions) >= _ENOUGH
    return sessions if known else (*sessions, session_id)

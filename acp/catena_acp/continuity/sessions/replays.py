"""Replays: the record that each is compared with, and what they teach of an agent's version.

Of turns that did not end well: two replays in different sessions that showed the same, and none that showed less, are
believed of a version and a kind of end. The first replay that shows less than was believed ends that for the version,
for good.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from catena_acp.continuity.routing.late_history import LateHistory, Recorded
from catena_acp.continuity.routing.replay_check import (
    BadEnd,
    BadTurn,
    Expected,
    KeptPart,
    ShownTurn,
    Speaker,
    Verdict,
    bad_end,
    bare,
    is_unproven,
    pieces_of,
    shown_of,
    verdict,
)
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.port.abilities import Abilities
from catena_acp.port.session_events import Event
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import others_of
from catena_store import ancestry
from catena_store.chains import agents, turns
from catena_store.conversations import messages
from catena_store.database.database import Database, Reader, Writer
from catena_store.records import Kind, Link, Message, MessageState

_CHARACTERS_OF_CALLS = 32_000  # in as many as can be told
_ROWS = 250  # that are read at a time: the screen and the store go on between


class ReplayRecord:
    """The content of a session by the pointers of a link, for replays to be compared with.

    The part that the session was told in full is read first. The part above is read only for a replay that does not
    agree with the first: nothing of the part above has to be replayed, but other texts of a replay may come from it.
    """

    def __init__(self, db: Database, link: Link, notes: Sequence[str] = ()) -> None:
        """``notes`` are patterns of the messages that the agent itself adds to those of the person."""
        self._db = db
        self._link = link
        self._notes = notes
        self._read: dict[str | None, _Record] = {}  # by the row that it was read from

    async def verdict(self, replay: Sequence[Event]) -> Verdict:
        """Compare a replay with the record; a long one takes a while, in which the loop goes on."""
        since = self._link.unabridged_from
        found = await self._compared(replay, since)
        if found is Verdict.CONTRADICTS and since is not None:
            found = await self._compared(replay, None)
        return found

    @property
    def proves(self) -> bool:
        """True if a replay that agreed says something of the agent: there was something to be found in it."""
        return any(record.holds for record in self._read.values())

    async def holds(self) -> bool:
        """True if a faithful replay tells something."""
        return bool((await self._read_from(self._link.unabridged_from)).holds)

    async def late_history(self) -> LateHistory:
        """The filter of a history of the session that comes late.

        The history may contain messages from before the session was told something abridged, or from the source of the
        fork.
        """
        link, since = self._link, self._link.unabridged_from
        async with self._db.read() as reader:
            older = since and (link.source_id or await turns.any_before(reader, link.id, since))
        record = await self._read_from(None if older else since)
        async with self._db.read() as reader:
            rows = await messages.calls_between(
                reader, record.sure, link.reach, characters=_CHARACTERS_OF_CALLS
            )
        calls = {row.message.agent_message_id: Call.of(row.message).title for row in rows}
        return LateHistory(record.texts, {id: title for id, title in calls.items() if id})

    @property
    def assumes(self) -> bool:
        """True if it counts something as held that no replay has shown yet."""
        return any(record.assumes for record in self._read.values())

    async def shown(self, replay: Sequence[Event]) -> list[ShownTurn]:
        """What a replay that agreed shows of the turns of this link that did not end well."""
        record = await self._read_from(self._link.unabridged_from)
        if not record.bad:
            return []
        return await asyncio.to_thread(_shown, record, replay, self._notes)

    async def proved(self, shown: Sequence[ShownTurn]) -> str | None:
        """The row to which the session surely holds the branch by now; None where that is what the link knows."""
        record = await self._read_from(self._link.unabridged_from)
        rows = [each.row_id for each in shown if each.row_id is not None]
        below = [row_id for row_id in rows if record.depths[row_id] > record.known]
        return max(below, key=record.depths.__getitem__, default=None)

    async def _compared(self, replay: Sequence[Event], since: str | None) -> Verdict:
        return await asyncio.to_thread(verdict, replay, await self._read_from(since), self._notes)

    async def _read_from(self, since: str | None) -> _Record:
        if since not in self._read:
            self._read[since] = await self._record(since)
        return self._read[since]

    async def _record(self, since: str | None) -> _Record:
        link = self._link
        if link.reach is None:
            return _Record((), ())
        async with self._db.read() as reader:
            pointers = [row for row in (link.knows, link.unabridged_from) if row]
            path = await ancestry.path(reader, link.reach, pointers)
            top = await messages.depth(reader, link.reach) - path.above.position
            first = await messages.get(reader, since) if since and path.holds(since) else None
        above = first.parent_id if first else None
        rows: list[_ComparedRow] = []  # newest first
        leaf: str | None = link.reach
        while leaf is not None:
            async with self._db.read() as reader:
                page = await messages.spoken_between(reader, above, leaf, _ROWS)
                rows += reversed(await _rows(reader, page))
            leaf = page[0].parent_id if len(page) == _ROWS else None
        start, known = top + path.position(link.unabridged_from), top + path.position(link.knows)
        return await asyncio.to_thread(_record_of, link.id, rows[::-1], start, known)


@dataclass(frozen=True, slots=True)
class _Record(Expected):
    """What has to be in a replay, and the texts that may be in it."""

    texts: Sequence[Recorded] = ()
    sure: str | None = None  # the last row that has to be in it
    bad: Sequence[BadTurn] = ()  # the link's own that did not end well
    depths: Mapping[str, int] = field(default_factory=dict)  # of their rows, by id
    known: int = -1  # the depth of the row that the link knows
    assumes: bool = False  # something of a turn that did not end well is taken to be held


@dataclass(frozen=True, slots=True)
class _ComparedRow:
    """What is compared of a prompt or an answer."""

    id: str
    kind: Kind
    text: str
    depth: int
    turn_id: str | None
    steered: bool
    proves: bool  # the answer of a turn that ended cleanly
    words: bool  # it is all words
    bad: turns.BadlyEnded | None  # its turn, if that did not end well


async def _rows(reader: Reader, page: Sequence[Message]) -> list[_ComparedRow]:
    turn_ids = {row.turn_id for row in page if row.turn_id}
    clean = await turns.clean_among(reader, turn_ids)
    bad = await turns.badly_ended(reader, turn_ids - clean)
    return [
        _ComparedRow(
            id=row.id,
            kind=row.kind,
            text=row.text,
            depth=row.depth,
            turn_id=row.turn_id,
            steered=row.steered,
            proves=row.turn_id in clean and row.state is MessageState.FINAL,
            words=not others_of(row),
            bad=bad.get(row.turn_id or ""),
        )
        for row in page
    ]


def _record_of(link_id: str, rows: Sequence[_ComparedRow], start: int, known: int) -> _Record:
    """What has to be in a replay, of the rows at these depths, and what may be in it, of all."""
    prompts = [row for row in rows if row.kind is Kind.USER]
    commands = {row.turn_id for row in prompts if command_name(row.text) and not row.steered}
    longest = _longest_answers(rows)
    holds: list[tuple[Speaker, str]] = []
    texts: list[Recorded] = []
    unproven = 0  # prompts behind the last of `holds`
    sure: str | None = None
    for row in rows:
        doubtful = row.kind is Kind.USER and is_unproven(row.text)
        unproven += doubtful
        held = (
            not doubtful
            and start <= row.depth <= known
            and not (row.turn_id and row.turn_id in commands)
            and not row.steered  # agents keep what was said into a turn elsewhere, or as something else
            and (row.kind is Kind.USER or row in longest or _is_assumed(row))
        )
        said = Speaker.PERSON if row.kind is Kind.USER else Speaker.AGENT
        if not row.steered:
            texts.append(Recorded(said, row.text, surely=held))
        if held:
            holds.append((said, row.text))
            unproven, sure = 0, row.id
    bad = [row for row in rows if row.depth >= start and row.bad and row.bad.link_id == link_id]
    return _Record(
        holds,
        [row.text for row in prompts],
        unproven,
        texts,
        sure=sure,
        bad=_bad_turns(bad),
        depths={row.id: row.depth for row in bad},
        known=known,
        assumes=any(row.depth <= known and row.bad and row.bad.kept for row in rows),
    )


def _is_assumed(row: _ComparedRow) -> bool:
    """True for the answer of a turn that did not end well, of which its session was taken to keep all."""
    return row.kind is Kind.AGENT and row.bad is not None and row.bad.kept == "all"


def _bad_turns(rows: Sequence[_ComparedRow]) -> list[BadTurn]:
    """The turns of these rows, whose prompts are among them."""
    by_turn: dict[str, list[_ComparedRow]] = {}
    for row in rows:
        if row.bad:
            by_turn.setdefault(row.bad.id, []).append(row)
    found = []
    for prompt, *rest in by_turn.values():
        turn = prompt.bad
        if turn and prompt.kind is Kind.USER and not prompt.steered:
            plain = not turn.has_tools and all(row.kind is Kind.AGENT and row.words for row in rest)
            answers = [(row.id, row.text) for row in rest if row.kind is Kind.AGENT]
            end = bad_end(turn.stop_reason)
            found.append(BadTurn(turn.id, end, prompt.id, prompt.text, answers, plain, turn.told))
    return found


def _shown(record: _Record, replay: Sequence[Event], notes: Sequence[str]) -> list[ShownTurn]:
    return shown_of(record.bad, record.possible, pieces_of(replay), notes)


def _longest_answers(rows: Sequence[_ComparedRow]) -> set[_ComparedRow]:
    """The longest answer of each turn that ended cleanly: what else an agent said in it, its replay may lack."""
    longest: dict[str | None, _ComparedRow] = {}
    for row in rows:
        if row.kind is Kind.AGENT and row.proves:
            before = longest.get(row.turn_id)
            if before is None or len(bare(row.text)) > len(bare(before.text)):
                longest[row.turn_id] = row
    return set(longest.values())


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

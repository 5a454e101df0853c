"""New messages of an adopted session, from its own tool, added below the end of its conversation.

Only if nothing else happened: the conversation is open nowhere, its newest row is the ceiling of the session's link,
and every turn of it stands in the transcript as it does here. Else nothing is touched, and the next prompt's replay
tells that the session holds more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.routing.replay_check import bare
from catena_acp.conversation.adoption.rows import AdoptedRows, adopted_rows
from catena_acp.transcripts.session import ForeignTranscript, ForeignTurn
from catena_store import places
from catena_store.chains import links, turns
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Reader, Writer
from catena_store.records import ConversationRecord, Kind, Link, LinkState, Message
from catena_store.windows import windows

_MOST_ROWS = 100_000

_Said = tuple[str, str]  # a prompt and what was answered, without white space

_PIECE = 500  # rows: the thread of the store goes back to its loop between them


async def catch_up(
    db: Database, conversation_id: str, transcript: ForeignTranscript, new_id: Callable[[], str]
) -> int:
    """Add the turns that the transcript has more; return how many messages those are. Raises StoreError."""
    if not transcript.complete:
        return 0
    async with db.write() as tx:
        link = await _link(tx, conversation_id, transcript.session.session_id)
        if link is None:
            return 0
        known = [said for said, _ in _turns_here(await messages.page(tx, link.reach, _MOST_ROWS))]
        told = [_said_there(turn) for turn in transcript.turns if turn.prompt]
        if len(told) <= len(known) or told[: len(known)] != known:
            return 0
        newer = [turn for turn in transcript.turns if turn.prompt][len(known) :]
        rows = adopted_rows(
            ForeignTranscript(transcript.session, newer), conversation_id, link.id, new_id, below=link.reach
        )
        await add_rows(tx, rows, link.id)
        for window in await windows.of_conversation(tx, conversation_id):
            if window.leaf_id == link.reach:
                await windows.advance(tx, window.id, rows.rows[-1].id)
        record = await conversations.get(tx, conversation_id)
        began = record.created_at if record else transcript.session.updated_at
        await conversations.set_times(tx, conversation_id, began, transcript.session.updated_at)
    return sum(row.kind in (Kind.USER, Kind.AGENT) for row in rows.rows)


@dataclass(frozen=True, slots=True)
class SharedBeginning:
    """What a fork has of a conversation that is here: so many turns, the last of which ends with a row."""

    source: ConversationRecord
    turns: int
    last_id: str


async def shared_beginning(reader: Reader, transcript: ForeignTranscript) -> SharedBeginning | None:
    """The turns that a forked session shares with a conversation of ours; None if it shares none."""
    source_id = transcript.session.forked_from
    if source_id is None or not transcript.complete:
        return None
    held = (await links.conversations_of_sessions(reader, [source_id])).get(source_id)
    source = await conversations.get(reader, held) if held else None
    if source is None:
        return None
    chain = await links.of_conversation(reader, source.id)
    link = next((each for each in chain if each.session_id == source_id and each.reach), None)
    rows = await messages.page(reader, link.reach, _MOST_ROWS) if link else []
    told = [turn for turn in transcript.turns if turn.prompt]
    shared, last_id = 0, None
    for (said, end), turn in zip(_turns_here(rows), told, strict=False):
        if said != _said_there(turn) or any(row.data.get("compacted") for row in turn.rows):
            break
        shared, last_id = shared + 1, end
    return SharedBeginning(source, shared, last_id) if last_id else None


def without_beginning(transcript: ForeignTranscript, shared: SharedBeginning) -> ForeignTranscript:
    """The turns of a fork that are its own."""
    told = [turn for turn in transcript.turns if turn.prompt]
    return replace(transcript, turns=told[shared.turns :])


async def _link(tx: Writer, conversation_id: str, session_id: str) -> Link | None:
    """The link of the session, if only that has anything to say."""
    if await leases.get(tx, conversation_id) is not None:
        return None
    held = [
        link for link in await links.of_conversation(tx, conversation_id) if link.session_id == session_id
    ]
    usable = [link for link in held if link.state is LinkState.OPEN and link.reach is not None]
    newest = await messages.newest(tx, conversation_id)
    return next((link for link in usable if link.reach == newest), None)


def _turns_here(rows: Sequence[Message]) -> list[tuple[_Said, str]]:
    """What was said in each turn of a branch, and the turn's last row."""
    said: list[tuple[str, list[str]]] = []
    ends: list[str] = []
    for row in rows:
        if row.is_prompt:
            said.append((bare(row.text), []))
            ends.append(row.id)
        elif said:
            ends[-1] = row.id
            if row.kind is Kind.AGENT:
                said[-1][1].append(bare(row.text))
    return [((prompt, "".join(answers)), end) for (prompt, answers), end in zip(said, ends, strict=True)]


def _said_there(turn: ForeignTurn) -> _Said:
    answers = "".join(bare(row.text) for row in turn.rows if row.kind is Kind.AGENT)
    return bare(turn.prompt.text) if turn.prompt else "", answers


async def add_rows(tx: Writer, adopted: AdoptedRows, link_id: str) -> None:
    """Add rows and turns, and move the pointers of their link with them."""
    for start in range(0, len(adopted.rows), _PIECE):
        await messages.insert_many(tx, adopted.rows[start : start + _PIECE])
    for turn in adopted.turns:
        await turns.insert(tx, turn)
    if adopted.rows:
        first, last = adopted.rows[0], adopted.rows[-1]
        await places.grow(tx, first.conversation_id, first.parent_id, last.id)
    since = adopted.unabridged_from
    await links.move(
        tx,
        link_id,
        knows=adopted.knows or links.UNSET,
        reach=adopted.reach or links.UNSET,
        unabridged_from=since or links.UNSET,
    )

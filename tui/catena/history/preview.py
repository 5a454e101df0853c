"""The preview of a conversation: how it began, what was found in it, how it ended, and what going on there takes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from catena.history.finding import HitPlace, MessageHit
from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.conversation.inspection.price import price_when_closed
from catena_acp.conversation.inspection.todos import left_open_on
from catena_acp.spoken.spoken import Plan
from catena_store import places
from catena_store.chains import links
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Reader
from catena_store.records import Cause, Kind, Message

_FIRST_ROWS = 12  # of a branch, among which its first answer is looked for
_AROUND = 40  # rows above a hit, among which its prompt is looked for
_READ_ROWS, _MOST_READ = 500, 5_000  # that are read to be read through
_MOST = 4_000  # characters of a text
_TODOS = 5
_SET_APART = frozenset({Cause.PARK, Cause.ASIDE, Cause.PROBE})
_LOOK_SECONDS = 0.5  # for a directory; one on a network may hang


@dataclass(frozen=True, slots=True)
class PreviewTurn:
    """A prompt and what answered it. Texts are hostile."""

    prompt: str = ""
    answer: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The content of a conversation's preview, shown beside the list."""

    key: str
    agents: tuple[tuple[str, str], ...]  # agent and profile of its sessions, in their order
    began: PreviewTurn
    ended: PreviewTurn
    ended_at: datetime | None
    found: PreviewTurn | None  # around the hit
    todos: tuple[str, ...]
    more_todos: int
    sessions: int
    price: str  # of the next prompt where it would be opened; "" where that is not known
    directory_gone: bool
    leaf_id: str | None  # where it would be opened


async def read_preview(
    db: Database,
    conversation_id: str,
    *,
    budget: Budget,
    hit: MessageHit | None = None,
    place: HitPlace | None = None,
) -> Preview | None:
    """Read the preview of a conversation, opened at a hit if one is given; None if the conversation is gone."""
    async with db.read_concurrently() as reader:
        record = await conversations.get(reader, conversation_id)
        if record is None:
            return None
        leaf = await places.of(reader, conversation_id)
        opened_at = place.leaf_id if place else leaf
        chain = [
            link
            for link in await links.of_conversation(reader, conversation_id)
            if link.cause not in _SET_APART
        ]
        first = await messages.page_from(reader, leaf, 0, _FIRST_ROWS) if leaf else []
        last = await messages.last_turn(reader, leaf)
        left = await left_open_on(reader, leaf)
        price = await price_when_closed(reader, record, opened_at, budget)
        found = await _around(reader, hit) if hit else None
    todos = _open(left.plan) if left.plan else tuple(todo.text for todo in left.todos if not todo.done)
    agents = dict.fromkeys((link.agent, link.profile) for link in chain)
    return Preview(
        conversation_id,
        tuple(agents) or ((record.agent, record.profile),),
        _exchange(first, first=True),
        _exchange(last),
        last[-1].created_at if last else None,
        found,
        todos[:_TODOS],
        max(0, len(todos) - _TODOS),
        len(chain),
        price.words,
        await directory_is_gone(record.cwd),
        opened_at,
    )


def _exchange(rows: Sequence[Message], *, first: bool = False) -> PreviewTurn:
    """The first exchange of rows, or their last one."""
    prompt = next((row for row in rows if row.kind is Kind.USER), None)
    answers = [row for row in rows if row.kind is Kind.AGENT and row.text.strip()]
    answer = (answers[0] if first else answers[-1]) if answers else None
    return PreviewTurn(
        prompt.text[:_MOST] if prompt else "",
        (answer.text[:_MOST] if first else answer.text[-_MOST:]) if answer else "",
        prompt.created_at if prompt else None,
    )


async def _around(reader: Reader, hit: MessageHit) -> PreviewTurn | None:
    rows = await messages.page(reader, hit.message_id, _AROUND)
    if not rows:
        return None
    found = rows[-1]
    prompt = next((row for row in reversed(rows) if row.kind is Kind.USER), None)
    if found.kind is Kind.USER:
        return PreviewTurn(prompt=found.text[:_MOST], at=found.created_at)
    return PreviewTurn(prompt.text[:_MOST] if prompt else "", hit.snippet, found.created_at)


def _open(plan: Message) -> tuple[str, ...]:
    return tuple(step.text for step in Plan.of(plan).steps if step.status != "completed")


async def directory_is_gone(directory: str) -> bool:
    """True if a directory is surely not there."""
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            return not await asyncio.to_thread(Path(directory).is_dir)
    except (TimeoutError, OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class ActPrices:
    """The prices of the next prompt after each act, in words; "" if an act is not possible."""

    open: str = ""
    fork: str = ""
    edit: str = ""


async def read_prices(
    db: Database,
    conversation_id: str,
    *,
    budget: Budget,
    hit: MessageHit | None = None,
    place: HitPlace | None = None,
) -> ActPrices:
    """Price opening a conversation, forking it there, and saying the prompt there in other words."""
    async with db.read_concurrently() as reader:
        record = await conversations.get(reader, conversation_id)
        if record is None:
            return ActPrices()
        leaf = place.leaf_id if place else await places.of(reader, conversation_id)
        at = hit.message_id if hit else leaf
        prompt = await prompt_at(reader, at)
        at_prompt = prompt is not None and prompt.id == at
        above = prompt.parent_id if prompt else None
        opening = await price_when_closed(reader, record, leaf, budget)
        forked = await price_when_closed(reader, record, above if at_prompt else at, budget, apart=True)
        edited = await price_when_closed(reader, record, above, budget)
    first = at_prompt and above is None
    return ActPrices(opening.words, "" if first else forked.words, edited.words if prompt else "")


async def prompt_at(reader: Reader, message_id: str | None) -> Message | None:
    """The prompt that a message is or belongs to."""
    rows = await messages.page(reader, message_id, _AROUND)
    return next((row for row in reversed(rows) if row.kind is Kind.USER), None)


async def read_rows(
    db: Database, conversation_id: str, *, hit: MessageHit | None = None, place: HitPlace | None = None
) -> list[Message]:
    """The end of a conversation's branch, or of that of a hit, with the hit and some rows above it."""
    async with db.read_concurrently() as reader:
        leaf = place.leaf_id if place else await places.of(reader, conversation_id)
        if leaf is None:
            return []
        limit = _READ_ROWS
        if hit is not None:
            below = await messages.depth(reader, leaf) - await messages.depth(reader, hit.message_id)
            limit = min(_MOST_READ, max(limit, below + _AROUND))
        return await messages.page(reader, leaf, limit)

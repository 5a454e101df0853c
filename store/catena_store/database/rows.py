"""Rows of the tables as records: their columns, their conversion, JSON values, and conditions that queries share.

The integers of the tree stay inside the store: a column list selects the text id of the row that a pointer leads to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.ids import from_milliseconds
from catena_store.records import (
    AgentGroup,
    Cause,
    ContextSource,
    ConversationRecord,
    Kind,
    Lease,
    Link,
    LinkEvent,
    LinkState,
    Message,
    MessageState,
    Owner,
    QueueItem,
    StopReason,
    Turn,
    WindowRecord,
    Workspace,
)

Row = tuple[Any, ...]


def _uid(pointer: str) -> str:
    return f"(SELECT uid FROM message WHERE message.id = {pointer})"


CONVERSATION = (
    f"c.id, c.family, c.title, c.agent, c.profile, c.cwd, {_uid('c.fork_point_id')}, "
    "c.created_at, c.updated_at"
)
MESSAGE = (
    "m.uid, m.conversation_id, (SELECT p.uid FROM message p WHERE p.id = m.parent_id), m.turn_id, "
    "m.kind, m.state, m.text, m.data, m.link_id, m.agent_message_id, m.barrier, m.depth, m.created_at"
)
TURN = (
    f"t.id, t.conversation_id, {_uid('t.prompt_id')}, t.link_id, t.base_link_id, t.window_id, "
    f"{_uid('t.last_id')}, t.how, t.cause, {_uid('t.told_from')}, {_uid('t.told_to')}, t.told, t.told_total, "
    f"t.tools_listed, t.tools_left_out, t.left_out, t.shortened, t.masked, {_uid('t.whole_id')}, t.prior_context, "
    "t.stop_reason, t.error, t.usage, "
    "t.cost, t.currency, t.model, t.mode, t.started_at, t.ended_at, t.kept"
)
LINK = (
    "l.id, l.conversation_id, l.agent, l.profile, l.session_id, l.cwd, l.cause, l.source_id, "
    f"{_uid('l.base')}, {_uid('l.knows')}, {_uid('l.reach')}, {_uid('l.whole')}, "
    "l.state, l.owner, l.version, l.cost_total, l.ended, l.created_at"
)
LINK_EVENT = "e.conversation_id, e.link_id, e.event, e.detail, e.at"
LEASE = "conversation_id, owner, host, pid, started, epoch, heartbeat_at, agents"
WORKSPACE = "id, directory, active_window_id, owner, host, pid, started, heartbeat_at"
WINDOW = (
    f"w.id, w.workspace_id, w.position, w.conversation_id, {_uid('w.leaf_id')}, "
    "coalesce(f.draft, ''), f.scroll, w.pane"
)
QUEUE_ITEM = "id, window_id, position, text, held, data, created_at"

# True of a prompt that began a turn, not of a text that was steered into a running one.
IS_PROMPT = "(m.kind = 'user' AND NOT coalesce(json_extract(m.data, '$.steered'), 0))"


def begins_with(column: str) -> str:
    """A condition that the column begins with parameter ?1, in a form that an index serves."""
    return f"{column} >= ?1 AND {column} < ?1 || char(1114111)"


def conversation(row: Row) -> ConversationRecord:
    id, family, title, agent, profile, cwd, fork_point, created_at, updated_at = row
    return ConversationRecord(
        id=id,
        family=family,
        title=title,
        agent=agent,
        profile=profile,
        cwd=cwd,
        fork_point_id=fork_point,
        created_at=from_milliseconds(created_at),
        updated_at=from_milliseconds(updated_at),
    )


def message(row: Row) -> Message:
    (
        uid,
        conversation_id,
        parent,
        turn,
        kind,
        state,
        text,
        data,
        link,
        agent_id,
        barrier,
        depth,
        created_at,
    ) = row
    return Message(
        id=uid,
        conversation_id=conversation_id,
        parent_id=parent,
        turn_id=turn,
        kind=Kind(kind),
        state=MessageState(state),
        text=text,
        data={} if data == "{}" else json.loads(data),
        link_id=link,
        agent_message_id=agent_id,
        barrier=bool(barrier),
        depth=depth,
        created_at=from_milliseconds(created_at),
    )


def turn(row: Row) -> Turn:
    (id, conversation_id, prompt, link, base_link, window, last, how, *rest) = row
    (
        cause,
        told_from,
        told_to,
        told,
        told_total,
        tools,
        tools_left_out,
        left_out,
        shortened,
        masked,
        unabridged_from,
        prior_context,
        stop_reason,
        *rest,
    ) = rest
    (error, usage, cost, currency, model, mode, started_at, ended_at, kept) = rest
    return Turn(
        id=id,
        conversation_id=conversation_id,
        prompt_id=prompt,
        link_id=link,
        base_link_id=base_link,
        window_id=window,
        last_id=last,
        how=ContextSource(how),
        cause=cause,
        told_from=told_from,
        told_to=told_to,
        told=told,
        told_total=told_total,
        tools_listed=tools,
        tools_left_out=tools_left_out,
        left_out=left_out,
        shortened=shortened,
        masked=masked,
        unabridged_from=unabridged_from,
        prior_context=prior_context,
        stop_reason=None if stop_reason is None else StopReason(stop_reason),
        error=error,
        usage=None if usage is None else json.loads(usage),
        cost=cost,
        currency=currency,
        model=model,
        mode=mode,
        started_at=from_milliseconds(started_at),
        ended_at=None if ended_at is None else from_milliseconds(ended_at),
        kept=kept,
    )


def link(row: Row) -> Link:
    (id, conversation_id, agent, profile, session_id, cwd, cause, source, *pointers, state, owner) = row[:14]
    version, cost_total, ended, created_at = row[14:]
    base, knows, reach, unabridged_from = pointers
    return Link(
        id=id,
        conversation_id=conversation_id,
        agent=agent,
        profile=profile,
        session_id=session_id,
        cwd=cwd,
        cause=Cause(cause),
        source_id=source,
        base=base,
        knows=knows,
        reach=reach,
        unabridged_from=unabridged_from,
        state=LinkState(state),
        owner=owner,
        version=version,
        cost_total=cost_total,
        ended=ended,
        created_at=from_milliseconds(created_at),
    )


def link_event(row: Row) -> LinkEvent:
    conversation_id, link_id, event, detail, at = row
    return LinkEvent(conversation_id, link_id, event, detail, from_milliseconds(at))


def lease(row: Row) -> Lease:
    conversation_id, owner, host, pid, started, epoch, heartbeat_at, agents = row
    return Lease(
        conversation_id=conversation_id,
        owner=Owner(owner, host, pid, started),
        epoch=epoch,
        heartbeat_at=from_milliseconds(heartbeat_at),
        agents=tuple(AgentGroup(pid, started) for pid, started in json.loads(agents)),
    )


def workspace(row: Row) -> Workspace:
    id, directory, active_window_id, owner, host, pid, started, heartbeat_at = row
    return Workspace(
        id=id,
        directory=directory,
        active_window_id=active_window_id,
        owner=None if owner is None else Owner(owner, host, pid, started),
        heartbeat_at=None if heartbeat_at is None else from_milliseconds(heartbeat_at),
    )


def window(row: Row) -> WindowRecord:
    return WindowRecord(*row)


def queue_item(row: Row) -> QueueItem:
    id, window_id, position, text, held, data, created_at = row
    return QueueItem(
        id, window_id, position, text, bool(held), json.loads(data), from_milliseconds(created_at)
    )


def as_json(data: Mapping[str, Any]) -> str:
    """A mapping as the tables store it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """The value of a JSON text, None where the text is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def as_list(ids: Iterable[str]) -> str:
    """Ids as one parameter, for ``IN (SELECT value FROM json_each(?))``."""
    return json.dumps(list(ids))


async def rowids(r: Reader, ids: Iterable[str | None]) -> dict[str | None, int | None]:
    """The integers of messages; None, the root, is itself. Raises NotFound.

    Looked up in SQL, a pointer to a missing message would become NULL, that is, the root.
    """
    found: dict[str | None, int | None] = {None: None}
    wanted = {id for id in ids if id is not None}
    if wanted:
        sql = "SELECT uid, id FROM message WHERE uid IN (SELECT value FROM json_each(?))"
        found.update(await r.all(sql, (as_list(wanted),)))
    for id in wanted:
        if id not in found:
            raise NotFound("message", id)
    return found

"""Conversations put into a real store for commands that print them."""

from __future__ import annotations

from datetime import UTC, datetime

from catena_store.chains import links, turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import (
    Cause,
    ContextSource,
    Kind,
    LinkState,
    MessageState,
    NewLink,
    NewMessage,
    StopReason,
    Turn,
)
from catena_store.windows import windows
from support.clients.command_line import Catena

CONVERSATION = "conversation0001"


def said(
    catena: Catena, id: str, text: str, *, cwd: str = "/shop", title: str | None = None, profile: str = ""
) -> None:
    async def work(tx: Writer) -> None:
        await conversations.create(tx, id=id, agent="rehearsal", cwd=cwd, title=title, profile=profile)
        await messages.insert(
            tx, NewMessage(id=f"{id}-u", conversation_id=id, parent_id=None, kind=Kind.USER, text=text)
        )
        await conversations.touch(tx, id)

    catena.write(work)


def turn_of(id: str, prompt_id: str, link_id: str, last_id: str, how: ContextSource, **more: object) -> Turn:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    values: dict[str, object] = {
        "id": id,
        "conversation_id": CONVERSATION,
        "prompt_id": prompt_id,
        "link_id": link_id,
        "base_link_id": None,
        "window_id": "w",
        "last_id": last_id,
        "how": how,
        "cause": None,
        "told_from": None,
        "told_to": None,
        "told": 0,
        "told_total": 0,
        "tools_listed": 0,
        "tools_left_out": 0,
        "left_out": 0,
        "shortened": 0,
        "masked": 0,
        "unabridged_from": None,
        "prior_context": None,
        "stop_reason": None,
        "error": None,
        "usage": None,
        "cost": None,
        "currency": None,
        "model": None,
        "mode": None,
        "started_at": at,
        "ended_at": None,
    }
    return Turn(**(values | more))  # type: ignore[arg-type]


async def two_sessions(tx: Writer) -> None:
    """Two turns, the second on another session that was told the first; a parked fork, an unused link, a sibling."""

    def row(id: str, parent: str | None, kind: Kind, text: str = "", **more: object) -> NewMessage:
        return NewMessage(id=id, conversation_id=CONVERSATION, parent_id=parent, kind=kind, text=text, **more)  # type: ignore[arg-type]

    await conversations.create(tx, id=CONVERSATION, agent="rehearsal", cwd="/shop", title="the login")
    await messages.insert(tx, row("u1", None, Kind.USER, "Find out why."))

    async def link(id: str, cause: Cause = Cause.NEW, state: LinkState = LinkState.OPEN) -> None:
        await links.add(
            tx,
            NewLink(
                id=id,
                conversation_id=CONVERSATION,
                agent="rehearsal",
                profile="",
                session_id=f"s-{id}",
                cwd="/shop",
                cause=cause,
                state=state,
            ),
        )

    await link("a")
    await turns.insert(tx, turn_of("t1", "u1", "a", "u1", ContextSource.FRESH))
    stamp = {"turn_id": "t1", "link_id": "a"}
    await messages.insert_many(
        tx,
        [
            row("th1", "u1", Kind.THOUGHT, "hm", **stamp),
            row("x1", "th1", Kind.TOOL, data={"title": "Read views.py", "status": "completed"}, **stamp),
            row("x2", "x1", Kind.TOOL, data={"title": "Run pytest", "status": "failed"}, **stamp),
            row(
                "a1",
                "x2",
                Kind.AGENT,
                "Because of \x1b[31mthe order\x1b[0m.\x07",
                agent_message_id="m-1",
                **stamp,
            ),
        ],
    )
    await turns.set_last(tx, "t1", "a1")
    await turns.end(tx, "t1", stop_reason=StopReason.END_TURN)
    await link("parked", Cause.PARK, LinkState.PARKED)
    await link("unused")
    await links.move(tx, "unused", state=LinkState.LOST, ended="not found")
    await messages.insert(tx, row("old", "a1", Kind.USER, "An earlier version of the prompt."))
    await messages.insert(tx, row("u2", "a1", Kind.USER, "Now add\na test."))
    await link("b")
    await turns.insert(
        tx,
        turn_of(
            "t2",
            "u2",
            "b",
            "u2",
            ContextSource.TOLD,
            base_link_id=None,
            cause="rate limit at 14:02",
            told=2,
            told_total=2,
            told_from="u1",
            told_to="a1",
            prior_context="Earlier: …",
        ),
    )
    stamp = {"turn_id": "t2", "link_id": "b"}
    await messages.insert_many(
        tx,
        [
            row("s2", "u2", Kind.SEAM, "rate limit at 14:02 · 2 messages replayed", **stamp),
            row("a2", "s2", Kind.AGENT, "Done", state=MessageState.INTERRUPTED, **stamp),
            row("n2", "a2", Kind.NOTICE, "The agent stopped (killed by signal 9).", **stamp),
        ],
    )
    await turns.set_last(tx, "t2", "n2")
    await turns.end(tx, "t2", stop_reason=StopReason.AGENT_GONE, error="killed")
    await windows.open(tx, id="w", conversation_id=CONVERSATION, leaf_id="n2")
    await windows.close(tx, "w")

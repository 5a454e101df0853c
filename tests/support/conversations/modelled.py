"""Real conversations over a real store file whose agents are models: what each session heard can be asked of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from catena_acp.continuity.conversation_events import TurnEnded
from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.continuity.services import Printed
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.errors import AgentRefused
from catena_acp.port.port import AgentPort, AgentSpec
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.records import AgentGroup, ContextSource
from catena_store.windows import windows
from support.agents.model import Running, Upstream
from support.conversations.rehearsed import Desk, open_window

Scene = Callable[[Running], None]


def answering(running: Running) -> None:
    """Answers with the prompt's own words."""
    running.say(f"heard {running.texts[-1]}")
    running.end()


def dying(running: Running) -> None:
    running.say("I was about to")
    running.agent.die()


def limited(running: Running) -> None:
    running.fail(AgentRefused(-32603, "429 rate limit"))


def waiting(running: Running) -> None:
    """Says something and goes on until somebody ends it."""
    running.say("one moment")


@asynccontextmanager
async def client(
    place: Path, *upstreams: Upstream, resume: Desk | None = None, budget: Budget | None = None
) -> AsyncIterator[Desk]:
    """One life of a client whose agents are models; the first of them is the one that is talked to."""
    by_name = {upstream.name: upstream for upstream in upstreams}

    async def start_agent(spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
        return by_name[spec.name].start()

    async def end_group(group: AgentGroup) -> bool:
        return True

    async with (
        Database.open(place / "catena.db") as db,
        Conversations.serve(
            db,
            start_agent=start_agent,
            spec_of=lambda name, profile: by_name[name].spec,
            end_group=end_group,
            start_time_of=lambda _: "now",
            budget=budget,
        ) as served,
    ):
        if resume:
            conversation = await served.open(resume.conversation.id)
            desk = Desk(db, served, conversation, resume.window_id)
        else:
            conversation = await served.create(agent=upstreams[0].spec, cwd="/shop")
            desk = Desk(db, served, conversation, await open_window(db, conversation.id))
        conversation.subscribe(desk.hear)
        yield desk


async def rewind(desk: Desk, leaf: str | None) -> None:
    async with desk.db.write() as tx:
        await windows.set_leaf(tx, desk.window_id, leaf)


async def another_window(desk: Desk, leaf: str | None) -> Desk:
    """A second window of the same conversation."""
    window_id = await open_window(desk.db, desk.conversation.id, leaf)
    second = Desk(desk.db, desk.conversations, desk.conversation, window_id)
    desk.conversation.subscribe(second.hear)
    return second


async def forked(desk: Desk) -> Desk:
    """A conversation of its own that begins where the window stands."""
    source, leaf = desk.conversation.record, (await desk.stored_window()).leaf_id
    async with desk.db.write() as tx:
        await conversations.create(
            tx, id="fork", agent=source.agent, cwd=source.cwd, family=source.family, fork_point_id=leaf
        )
    conversation = await desk.conversations.open("fork")
    branch = Desk(desk.db, desk.conversations, conversation, await open_window(desk.db, "fork", leaf))
    conversation.subscribe(branch.hear)
    return branch


def how(over: TurnEnded) -> ContextSource:
    assert over.turn is not None, over.problem
    return over.turn.how

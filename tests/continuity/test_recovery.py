"""Taking up what another client left, over a real store file."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from catena_acp.continuity.services import Printed, Services, Tenure
from catena_acp.continuity.wording.problems import problem_of_notice
from catena_acp.conversation.recovery.recovery import recover
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store.chains import links, turns
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.errors import Fenced
from catena_store.ids import utc_now
from catena_store.records import (
    AgentGroup,
    Cause,
    Kind,
    Lease,
    Link,
    LinkState,
    Message,
    MessageState,
    NewLink,
    NewMessage,
    Owner,
    StopReason,
    Turn,
)
from catena_store.windows import attached_files, attachments, windows
from support.storage.turns import clean_turn

DEAD = Owner("owner-dead", "here", 1, "long ago")
GROUP = AgentGroup(4_000_000, "then")


@dataclass(slots=True)
class Left:
    """A store in which a client died, or sleeps, in the middle of a turn: U1 a1 U2 p2, the last one growing."""

    db: Database
    owner: Owner
    ended: list[AgentGroup]

    async def take_over(
        self,
        *,
        ends: bool = True,
        host: str = "here",
        lease: bool = True,
        meanwhile: AgentGroup | None = None,  # an agent of ours that is started while theirs is ended
    ) -> tuple[Lease | None, int]:
        """What a new client does with it."""

        own: list[AgentGroup] = []

        async def no_agent(spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
            raise AssertionError("recovery starts no agent")

        async def end_group(group: AgentGroup) -> bool:
            self.ended.append(group)
            own.extend([meanwhile] if meanwhile else [])
            return ends

        owner = replace(self.owner, host=host)
        numbers = itertools.count()
        services = Services(self.db, owner, lambda: f"new{next(numbers)}", utc_now, no_agent)
        async with self.db.write() as tx:
            taken = await leases.acquire(tx, "c", owner, is_dead=lambda _: True)
        assert isinstance(taken, leases.OwnLease)
        left_by = taken.taken_from if lease else None
        closed = await recover(
            Tenure(services, "c", taken.lease.epoch), left_by, end_group, "Model", lambda: own
        )
        return left_by, closed

    async def link(self) -> Link:
        async with self.db.read() as reader:
            link = await links.get(reader, "L")
        assert link is not None
        return link

    async def turn(self) -> Turn:
        async with self.db.read() as reader:
            turn = await turns.get(reader, "T2")
        assert turn is not None
        return turn

    async def message(self, id: str) -> Message:
        async with self.db.read() as reader:
            message = await messages.get(reader, id)
        assert message is not None
        return message

    async def leaf(self, window_id: str) -> str | None:
        async with self.db.read() as reader:
            window = await windows.get(reader, window_id)
        assert window is not None
        return window.leaf_id


@pytest.fixture
async def left(tmp_path: Path) -> AsyncIterator[Left]:
    async with Database.open(tmp_path / "catena.db") as db:
        async with db.write() as tx:
            await conversations.create(tx, id="c", agent="model", cwd="/shop")

            def row(id: str, parent: str | None, kind: Kind, **more: object) -> NewMessage:
                return NewMessage(id=id, conversation_id="c", parent_id=parent, kind=kind, text=id, **more)  # type: ignore[arg-type]

            await messages.insert_many(tx, [row("U1", None, Kind.USER)])
            link = NewLink("L", "c", "model", "", "s1", "/shop", Cause.NEW, owner="w")
            await links.add(tx, link)
            await turns.insert(tx, clean_turn("T1", "L", "U1", "U1"))
            await messages.insert(tx, row("a1", "U1", Kind.AGENT, turn_id="T1", link_id="L"))
            await turns.set_last(tx, "T1", "a1")
            await messages.insert(tx, row("U2", "a1", Kind.USER))
            under_way = replace(clean_turn("T2", "L", "U2", "U2"), stop_reason=None, ended_at=None)
            await turns.insert(tx, under_way)
            growing = {"turn_id": "T2", "link_id": "L", "state": MessageState.OPEN}
            call = {"title": "deploy", "status": "in_progress"}
            await messages.insert(tx, row("t2", "U2", Kind.TOOL, data=call, **growing))
            await messages.insert(tx, row("p2", "t2", Kind.AGENT, **growing))
            await turns.set_last(tx, "T2", "p2")
            await links.move(tx, "L", knows="a1", reach="p2")
            await windows.open(tx, id="w", conversation_id="c", leaf_id="p2")
            await windows.open(tx, id="w2", conversation_id="c", leaf_id="a1")
            await leases.acquire(tx, "c", DEAD, is_dead=lambda _: True)
            await leases.set_agents(tx, "c", DEAD.id, [GROUP])
        yield Left(db, Owner("owner-new", "here", 2, "now"), [])


async def test_an_open_turn_is_closed_as_interrupted_and_its_partial_text_is_kept(left: Left) -> None:
    _, closed = await left.take_over()
    assert closed == 1
    turn = await left.turn()
    assert turn.stop_reason is StopReason.INTERRUPTED
    assert turn.ended_at is not None
    partial = await left.message("p2")
    assert (partial.text, partial.state) == ("p2", MessageState.INTERRUPTED)


async def test_p07_a_tool_call_in_flight_has_an_unknown_outcome(left: Left) -> None:
    await left.take_over()
    call = await left.message("t2")
    assert (call.data["status"], call.state) == ("unknown", MessageState.INTERRUPTED)


async def test_12_a_notice_is_hung_below_and_the_session_may_hold_as_much_as_that(left: Left) -> None:
    await left.take_over()
    turn, link = await left.turn(), await left.link()
    notice = await left.message(turn.last_id)
    assert (notice.kind, notice.parent_id, notice.link_id) == (Kind.NOTICE, "p2", "L")
    assert (link.knows, link.reach) == ("a1", notice.id)


async def test_r17_the_notice_names_the_call_whose_outcome_nobody_saw_and_says_what_can_be_done(
    left: Left,
) -> None:
    await left.take_over()
    problem = problem_of_notice(await left.message((await left.turn()).last_id))
    assert problem is not None and problem.trouble is Trouble.INTERRUPTED
    assert problem.text == (
        "Catena exited during this turn. `deploy` may or may not have finished: check before you retry."
    )
    assert problem.offers == (Offer.RETRY, Offer.OTHER_AGENT)


async def test_a_window_that_stood_at_the_end_of_the_turn_follows_and_others_stay(left: Left) -> None:
    await left.take_over()
    assert await left.leaf("w") == (await left.turn()).last_id
    assert await left.leaf("w2") == "a1"


async def test_11_the_session_may_be_used_again_where_its_agent_is_proved_dead(left: Left) -> None:
    await left.take_over(ends=True)
    assert left.ended == [GROUP]
    assert (await left.link()).state is LinkState.OPEN


async def test_11_the_session_is_suspect_where_its_agent_may_still_run(left: Left) -> None:
    await left.take_over(ends=False)
    link = await left.link()
    assert link.state is LinkState.SUSPECT
    assert link.ended


async def test_11_the_session_is_suspect_where_its_client_ran_on_another_machine(left: Left) -> None:
    await left.take_over(host="there")
    assert (await left.link()).state is LinkState.SUSPECT


async def test_11_the_session_is_suspect_where_nobody_knows_who_left_it(left: Left) -> None:
    await left.take_over(lease=False)
    assert (await left.link()).state is LinkState.SUSPECT


async def test_11_who_dies_before_the_agents_are_ended_leaves_them_in_the_lease(left: Left) -> None:
    async with left.db.write() as tx:
        halfway = Owner("owner-halfway", "here", 3, "in between")
        await leases.acquire(tx, "c", halfway, is_dead=lambda _: True)
    left_by, _ = await left.take_over()
    assert left_by is not None
    assert left_by.owner.id == "owner-halfway"
    assert left.ended == [GROUP]


async def test_an_agent_that_is_started_while_those_of_the_dead_are_ended_is_in_the_lease(left: Left) -> None:
    ours = AgentGroup(4_000_001, "just now")
    await left.take_over(meanwhile=ours)
    async with left.db.read() as reader:
        lease = await leases.get(reader, "c")
    assert lease is not None and list(lease.agents) == [ours]


@pytest.mark.parametrize("known", [True, False])
async def test_r12_a_prompt_that_was_never_claimed_is_the_draft_again_where_its_client_is_known_to_be_dead(
    left: Left, known: bool
) -> None:
    notes = attached_files.from_bytes(b"x", "notes.txt")
    async with left.db.write() as tx:
        await messages.insert(
            tx, NewMessage(id="U3", conversation_id="c", parent_id="a1", kind=Kind.USER, text="say it")
        )
        await attachments.add_to_message(tx, "U3", [notes])
        await windows.advance(tx, "w2", "U3")
        await windows.set_draft(tx, "w2", "typed meanwhile")
    await left.take_over(lease=known)
    async with left.db.read() as reader:
        window = await windows.get(reader, "w2")
        files = await attachments.of_draft(reader, "w2")
    assert window is not None
    if known:
        assert (window.leaf_id, window.draft, files) == ("a1", "say it\ntyped meanwhile", [notes])
        assert (await left.message("U3")).state is MessageState.REFUSED
    else:
        assert (window.leaf_id, window.draft, files) == ("U3", "typed meanwhile", [])


async def test_r12_every_window_that_stands_on_a_prompt_that_was_never_claimed_goes_back_from_it(
    left: Left,
) -> None:
    async with left.db.write() as tx:
        await messages.insert(
            tx, NewMessage(id="U3", conversation_id="c", parent_id="a1", kind=Kind.USER, text="say it")
        )
        await windows.advance(tx, "w2", "U3")
        await windows.open(tx, id="w3", conversation_id="c", leaf_id="U3")
    await left.take_over()
    assert [await left.leaf("w2"), await left.leaf("w3")] == ["a1", "a1"]


async def test_r12_what_a_session_told_of_another_client_between_turns_is_no_prompt_that_is_given_back(
    left: Left,
) -> None:
    async with left.db.write() as tx:
        await messages.insert(
            tx,
            NewMessage(
                id="U3", conversation_id="c", parent_id="a1", kind=Kind.USER, text="of another", link_id="L"
            ),
        )
        await windows.advance(tx, "w2", "U3")
    await left.take_over()
    assert await left.leaf("w2") == "U3"
    assert (await left.message("U3")).state is MessageState.FINAL


async def test_taking_up_what_was_left_in_order_changes_nothing(left: Left) -> None:
    await left.take_over()
    before = await left.link(), await left.turn()
    _, closed = await left.take_over()
    assert closed == 0
    assert (await left.link(), await left.turn()) == before


async def test_the_owner_that_only_slept_cannot_write_any_more(left: Left) -> None:
    async with left.db.read() as reader:
        lease = await leases.get(reader, "c")
    assert lease is not None
    await left.take_over()
    async with left.db.write() as tx:
        with pytest.raises(Fenced):
            await leases.guard(tx, "c", DEAD.id, lease.epoch)

"""Turns: attempts at a prompt and how they ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.database.database import Writer
from catena_store.errors import NotFound, StoreError
from catena_store.records import ContextSource, Kind, StopReason
from support.storage.rows import START, Clock, Explained, a_turn, new_conversation, new_link, say, store


async def a_conversation(tx: Writer) -> None:
    await new_conversation(tx)
    await say(tx, "u1", None)
    await say(tx, "a1", "u1", kind=Kind.AGENT)
    await say(tx, "u2", "a1")
    await new_link(tx, "l1")
    await new_link(tx, "l2", source_id="l1")


async def test_a_turn_comes_back_as_it_was_put_in(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_conversation(tx)
        turn = a_turn(
            "t1",
            "u2",
            "l2",
            base_link_id="l1",
            window_id="w1",
            how=ContextSource.CAUGHT_UP,
            cause="rate limit at 14:02",
            told_from="u1",
            told_to="a1",
            told=2,
            told_total=2,
            tools_listed=3,
            tools_left_out=4,
            left_out=1,
            shortened=1,
            masked=2,
            unabridged_from="a1",
            prior_context="So far: …",
            model="opus",
            waited=2500,
        )
        await turns.insert(tx, turn)
        assert await turns.get(tx, "t1") == turn
        assert await turns.get(tx, "nobody") is None
        with pytest.raises(NotFound, match="nobody"):
            await turns.insert(tx, a_turn("t2", "u2", "l1", told_from="nobody"))


async def test_a_turn_ends_once(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await a_conversation(tx)
            await turns.insert(tx, a_turn("t1", "u1", "l1", mode="ask"))
            await turns.set_last(tx, "t1", "a1")
        clock.forward(8)
        async with db.write() as tx:
            ended = await turns.end(
                tx,
                "t1",
                stop_reason=StopReason.END_TURN,
                usage={"input": 7},
                cost=0.5,
                currency="USD",
                model="opus",
                unabridged_from="u1",
            )
            assert ended == await turns.get(tx, "t1")
            assert (ended.stop_reason, ended.last_id, ended.unabridged_from) == (
                StopReason.END_TURN,
                "a1",
                "u1",
            )
            assert (ended.usage, ended.cost, ended.currency) == ({"input": 7}, 0.5, "USD")
            assert (ended.model, ended.mode, ended.error) == ("opus", "ask", None)
            assert (ended.started_at, ended.ended_at) == (START, clock())
            with pytest.raises(StoreError, match="ended already"):
                await turns.end(tx, "t1", stop_reason=StopReason.AGENT_GONE)
            with pytest.raises(NotFound):
                await turns.end(tx, "nobody", stop_reason=StopReason.AGENT_GONE)
            with pytest.raises(NotFound):
                await turns.set_last(tx, "nobody", "a1")
            with pytest.raises(NotFound):
                await turns.set_last(tx, "t1", "nobody")
            assert await turns.get(tx, "t1") == ended


async def test_u06_a_turn_took_the_time_of_its_work_and_not_that_of_the_person_s_answers(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await a_conversation(tx)
            await turns.insert(tx, a_turn("t1", "u2", "l1", last_id="u2", started_at=clock()))
            await say(tx, "a2", "u2", kind=Kind.AGENT, turn_id="t1")
            await turns.set_last(tx, "t1", "a2")
        for asking in (True, True, False, False, True):
            clock.forward()
            async with db.write() as tx:
                await turns.set_asking(tx, "t1", asking)
        clock.forward(600)
        async with db.write() as tx:
            ended = await turns.end(tx, "t1", stop_reason=StopReason.END_TURN)
            assert (ended.waited, ended.seconds) == (602_000, 3)
            last = await messages.get(tx, "a2")
            assert last is not None and last.took == 3
            assert await turns.seconds_of(tx, ["t1"]) == 3


async def test_turns_are_found_by_what_they_belong_to(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_conversation(tx)
        for id, prompt, link in (
            ("t1", "u1", "l1"),
            ("t2", "u2", "l1"),
            ("t3", "u2", "l2"),
            ("t4", "u2", "l2"),
        ):
            await turns.insert(tx, a_turn(id, prompt, link))
        for id, reason in (
            ("t1", StopReason.END_TURN),
            ("t2", StopReason.CANCELLED),
            ("t3", StopReason.MAX_TOKENS),
        ):
            await turns.end(tx, id, stop_reason=reason)
        read = Explained(tx)
        assert [turn.id for turn in await turns.of_conversation(read, "c1")] == ["t1", "t2", "t3", "t4"]
        assert [turn.id for turn in await turns.open_in(read, "c1")] == ["t4"]
        assert await turns.busy_links(read, ["l1", "l2"]) == {"l2"}
        assert await turns.busy_links(read, []) == set()
        await turns.end(read, "t4", stop_reason=StopReason.ERROR, error="500")
        assert read.scans("t", "turn", "message") == []


async def test_m05_no_row_of_a_turn_is_without_the_link_it_travelled_on(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "A")
        await new_link(tx, "B")
        parent = None
        for turn, link in (("t1", "A"), ("t2", "B")):
            prompt = f"prompt of {turn}"
            await say(tx, prompt, parent, turn_id=turn, link_id=link)
            for kind in (Kind.THOUGHT, Kind.TOOL, Kind.AGENT):
                await say(tx, f"{kind} of {turn}", prompt, kind=kind, turn_id=turn, link_id=link)
            await turns.insert(tx, a_turn(turn, prompt, link))
            parent = f"agent of {turn}"
        stamps = await tx.all("SELECT DISTINCT turn_id, link_id FROM message ORDER BY id")
        assert stamps == [("t1", "A"), ("t2", "B")]


async def test_m05_a_stamp_that_names_no_link_is_refused(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            async with db.write() as tx:
                await new_conversation(tx)
                await say(tx, "u1", None, link_id="nobody")
        async with db.read() as r:
            assert await r.one("SELECT count(*) FROM message") == (0,)

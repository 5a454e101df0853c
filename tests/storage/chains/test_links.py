"""Chains: links, their pointers and their record."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.chains import links
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound, SessionHeld, StoreError
from catena_store.records import Cause, LinkState, NewLink
from support.storage.rows import Clock, Explained, link_events, new_conversation, new_link, say, store


async def carried(tx: Writer, *ids: str) -> None:
    for link in ids:
        await links.record(tx, link, links.CARRIED)


async def record_of(r: Reader, conversation: str = "c1") -> list[tuple[str, str]]:
    return [(line.link_id, line.event) for line in await link_events(r, conversation)]


async def test_a_link_comes_back_as_it_was_put_in(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        await say(tx, "u2", "u1")
        await new_link(tx, "l1")
        link = await links.add(
            tx,
            NewLink(
                id="l2",
                conversation_id="c1",
                agent="claude",
                profile="work",
                session_id="abc",
                cwd="/shop",
                cause=Cause.FORK_AT,
                source_id="l1",
                base="u1",
                knows="u1",
                reach="u2",
                unabridged_from=None,
                state=LinkState.PARKED,
                owner="w1",
                cost_total=0.25,
            ),
        )
        assert await links.get(tx, "l2") == link
        assert (link.base, link.knows, link.reach, link.unabridged_from) == ("u1", "u1", "u2", None)
        assert (link.cause, link.state, link.version, link.source_id) == (
            Cause.FORK_AT,
            LinkState.PARKED,
            0,
            "l1",
        )
        assert await links.by_session(tx, "claude", "work", "abc") == link
        assert await links.by_session(tx, "claude", "", "abc") is None
        assert await links.get(tx, "nobody") is None


async def test_m02_every_session_is_one_link_and_the_view_is_by_last_use(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            for id in "ABC":
                await new_link(tx, id)
                await carried(tx, id)
            assert [link.id for link in await links.of_conversation(tx, "c1")] == ["A", "B", "C"]
            assert [link.id for link in await links.view(tx, "c1")] == ["A", "B", "C"]
        async with db.write() as tx:
            await new_conversation(tx, "c2")
            for id in "DE":
                await new_link(tx, id, "c2")
            await carried(tx, "D", "E", "D", "D")
            assert [link.id for link in await links.of_conversation(tx, "c2")] == ["D", "E"]
            assert [link.id for link in await links.view(tx, "c2")] == ["E", "D"]
            assert [line for line in await record_of(tx, "c2") if line[1] == "carried"] == [
                ("D", "carried"),
                ("E", "carried"),
                ("D", "carried"),
            ]


async def test_m02_the_same_twice_in_a_row_is_recorded_once(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "A")
        await new_link(tx, "P")
        await carried(tx, "A", "A")
        await links.record(tx, "P", "parked")
        await carried(tx, "A")
        await links.record(tx, "A", "resumed", "after a restart")
        await links.record(tx, "A", "resumed", "after a restart")
        await links.record(tx, "A", "resumed", "after a login")
        await carried(tx, "A")
        assert await record_of(tx) == [
            ("A", "born"),
            ("P", "born"),
            ("A", "carried"),
            ("P", "parked"),
            ("A", "resumed"),
            ("A", "resumed"),
            ("A", "carried"),
        ]
        with pytest.raises(NotFound):
            await links.record(tx, "nobody", "carried")


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
async def test_m02_a_blank_session_id_is_never_stored(tmp_path: Path, blank: str) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        with pytest.raises(StoreError, match="without an id"):
            await new_link(tx, "A", session_id=blank)
        assert await links.of_conversation(tx, "c1") == []


async def test_m02_the_record_cannot_be_changed_nor_lines_of_it_removed(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        await new_link(tx, "A")
        for statement in ("UPDATE link_event SET event = 'x'", "DELETE FROM link_event"):
            with pytest.raises(StoreError, match="append-only"):
                await tx.run(statement)
        assert await record_of(tx) == [("A", "born")]


async def test_m03_two_hundred_links_are_kept_and_the_view_of_them_is_capped_and_indexed(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for number in range(200):
            await new_link(tx, f"l{number}")
            await carried(tx, f"l{number}")
        assert len(await links.of_conversation(tx, "c1")) == 200
        read = Explained(tx)
        view = await links.view(read, "c1")
        assert [link.id for link in view] == [f"l{number}" for number in range(184, 200)]
        assert [link.id for link in await links.view(read, "c1", 2)] == ["l198", "l199"]
        await links.of_conversation(read, "c1")
        await links.of_family(read, "c1", "rehearsal", "")
        await links.by_session(read, "rehearsal", "", "session-l1")
        await links.events_of_link(read, "l7")
        await links.move(read, "l7", owner="w1", event="carried")
        await new_link(read, "another")
        assert read.scans("l", "e", "c", "link", "link_event", "conversation") == []
        assert any("INDEX link_event_carried" in step for step in read.steps)


async def test_two_links_cannot_have_one_session_unless_one_is_lost(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_conversation(tx, "c2")
        await new_link(tx, "A", session_id="s")
        await new_link(tx, "A-of-another-profile", session_id="s", profile="work")
        await new_link(tx, "A-of-another-agent", session_id="s", agent="codex")
        with pytest.raises(SessionHeld) as held:
            await new_link(tx, "B", "c2", session_id="s")
        assert held.value.link_id == "A"
        await links.move(tx, "A", state=LinkState.LOST, ended="the agent no longer has it")
        await new_link(tx, "B", "c2", session_id="s")
        with pytest.raises(SessionHeld) as held:
            await links.move(tx, "A", state=LinkState.OPEN)
        assert held.value.link_id == "B"
        assert await links.by_session(tx, "rehearsal", "", "s") == await links.get(tx, "B")


async def test_a_move_changes_what_it_names_and_makes_the_version_one_more(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        await say(tx, "u2", "u1")
        await new_link(tx, "A", knows="u1", reach="u1", owner="w1", cost_total=1.0)
        moved = await links.move(tx, "A", reach="u2")
        assert (moved.knows, moved.reach, moved.owner, moved.version) == ("u1", "u2", "w1", 1)
        moved = await links.move(
            tx,
            "A",
            knows=None,
            owner=None,
            unabridged_from="u2",
            state=LinkState.SUSPECT,
            ended="it answered nothing",
        )
        assert (moved.knows, moved.reach, moved.unabridged_from, moved.owner, moved.version) == (
            None,
            "u2",
            "u2",
            None,
            2,
        )
        assert (moved.state, moved.ended, moved.cost_total) == (LinkState.SUSPECT, "it answered nothing", 1.0)
        assert (await links.move(tx, "A", cost_total=None, event="carried", detail="u2")).cost_total is None
        assert [(line.event, line.detail) for line in await link_events(tx, "c1")] == [
            ("born", None),
            ("carried", "u2"),
        ]
        assert await links.move(tx, "A") == await links.get(tx, "A")


async def test_a_pointer_to_nothing_is_never_taken_for_the_root(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "A")
        with pytest.raises(NotFound, match="nobody"):
            await links.move(tx, "A", reach="nobody")
        with pytest.raises(NotFound, match="nobody"):
            await new_link(tx, "B", knows="nobody")
        with pytest.raises(NotFound, match="link"):
            await links.move(tx, "B", owner=None)


async def test_a_family_gives_the_links_of_one_agent_and_profile_lost_ones_too(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await new_conversation(tx, "c2", family="c1")
            await new_conversation(tx, "stranger")
            await new_link(tx, "A")
            await new_link(tx, "other", agent="codex")
            await new_link(tx, "C", "stranger")
        clock.forward()
        async with db.write() as tx:
            await new_link(tx, "B", "c2")
            await new_link(tx, "lost", state=LinkState.LOST)
        async with db.read() as r:
            assert [link.id for link in await links.of_family(r, "c1", "rehearsal", "")] == [
                "A",
                "B",
                "lost",
            ]
            assert await links.of_family(r, "c1", "rehearsal", "work") == []

"""What links carried, and which of them a branch travelled on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from catena_store.chains import links, turns
from catena_store.chains.turns import TurnPlace
from catena_store.database.database import Writer
from catena_store.records import Kind, StopReason
from support.storage.rows import Explained, a_turn, new_conversation, new_link, say, store


async def two_links(tx: Writer) -> None:
    """Two turns on link a, one on b below them, and beside that a prompt that no agent accepted."""
    await new_conversation(tx)
    await new_link(tx, "a")
    await new_link(tx, "b")
    above = None
    for number, link in ((1, "a"), (2, "a"), (3, "b")):
        stamp: dict[str, Any] = {"turn_id": f"t{number}", "link_id": link}
        await say(tx, f"u{number}", above, f"prompt {number}", **stamp)
        await turns.insert(tx, a_turn(f"t{number}", f"u{number}", link, cause=f"cause {number}"))
        await say(tx, f"a{number}", f"u{number}", f"{number}" * 500, kind=Kind.AGENT, **stamp)
        await say(tx, f"n{number}", f"a{number}", "a notice", kind=Kind.NOTICE, **stamp)
        await turns.end(tx, f"t{number}", stop_reason=StopReason.ERROR, error=f"error {number}")
        above = f"n{number}"
    await say(tx, "u4", "n2", "a sibling")
    await turns.insert(tx, a_turn("t4", "u4", "a"))
    await turns.end(tx, "t4", stop_reason=StopReason.NOT_SENT)
    await tx.run("UPDATE message SET turn_id = 't4', link_id = 'a' WHERE uid = 'u4'")


async def test_m03_what_links_carried_is_read_by_index(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_links(tx)
        read = Explained(tx)
        loads = await links.turns_by_link(read, ["a", "b", "nobody"])
        ends = await links.extent(read, "a", loads["a"])
        await links.events_of_link(read, "a")
        await links.previews(read, ["u1"])
        await turns.place_on(read, "n3")
        assert read.scans("t", "m", "f", "l", "e", "message", "turn", "link_event") == []
    assert {link: load.count for link, load in loads.items()} == {"a": 2, "b": 1}
    assert loads["a"].newest < loads["b"].newest
    assert ends.first is not None
    assert ends.last is not None
    assert (ends.first.id, ends.first.kind, ends.first.text) == ("u1", Kind.USER, "prompt 1")
    assert (ends.cause, ends.stop_reason, ends.error) == ("cause 1", StopReason.ERROR, "error 2")
    assert len(ends.last.text) == 240


async def test_m09_a_turn_has_a_place_among_those_of_its_branch_and_none_on_another(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_links(tx)
        assert await turns.links_on(tx, "n3") == {"a", "b"}
        assert await turns.place_on(tx, "n3") == TurnPlace("t3", 3, 3, "t2", None)
        assert await turns.place_on(tx, "n3", "t2") == TurnPlace("t2", 2, 3, "t1", "t3")
        assert await turns.place_on(tx, "u4") == TurnPlace("t2", 2, 2, "t1", None)
        assert await turns.place_on(tx, "u4", "t3") is None
        assert await turns.place_on(tx, "u4", "t4") is None
        assert await turns.place_on(tx, None) is None


async def test_m09_a_look_is_recorded_again_for_its_time(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_links(tx)
        for _ in range(2):
            await links.record(tx, "a", links.LOOKED, "yes: it loads", again=True)
        events = [event.event for event in await links.events_of_link(tx, "a")]
    assert events == [links.BORN, links.LOOKED, links.LOOKED]

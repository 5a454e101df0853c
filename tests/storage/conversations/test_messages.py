"""The rows of the tree and the walks over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store import ancestry
from catena_store.chains import turns
from catena_store.conversations import branches, messages
from catena_store.database.database import Writer
from catena_store.errors import NotFound, StoreError
from catena_store.records import Kind, Message, MessageState, NewMessage
from support.storage.rows import START, Explained, a_turn, new_conversation, new_link, say, say_much, store


def ids(found: list[Message]) -> list[str]:
    return [message.id for message in found]


async def a_tree(tx: Writer) -> None:
    """Two prompts with answers, the second one edited once, and a barrier between two stretches of it.

    ::

        u1 ─ t1 ─ x1 ─ a1 ─┬─ u2 ─ a2 ─ clear ─ u3 ─ a3
                           └─ u2b ─ a2b
    """
    await new_conversation(tx)
    await say(tx, "u1", None, "first prompt")
    await say(tx, "t1", "u1", "thinking", kind=Kind.THOUGHT)
    await say(tx, "x1", "t1", "reading", kind=Kind.TOOL)
    await say(tx, "a1", "x1", "first answer", kind=Kind.AGENT)
    await say(tx, "u2", "a1", "second prompt")
    await say(tx, "a2", "u2", "second answer", kind=Kind.AGENT)
    await say(tx, "clear", "a2", kind=Kind.SEAM, barrier=True)
    await say(tx, "u3", "clear", "third prompt")
    await say(tx, "a3", "u3", "third answer", kind=Kind.AGENT)
    await say(tx, "u2b", "a1", "second prompt, edited")
    await say(tx, "a2b", "u2b", "another answer", kind=Kind.AGENT)


async def test_a_row_comes_back_as_it_was_put_in(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await new_link(tx, "l1")
            await say(tx, "u1", None, "prompt")
            put = await say(
                tx,
                "x1",
                "u1",
                "Read a file",
                kind=Kind.TOOL,
                state=MessageState.OPEN,
                data={"title": "Read", "locations": [{"path": "a.py", "line": 3}], "name": "Grüße"},
                link_id="l1",
                agent_message_id="call-7",
            )
        async with db.read() as r:
            assert await messages.get(r, "x1") == put
            assert put.depth == 1
            assert put.created_at == START
            assert await messages.get(r, "nobody") is None


async def test_rows_put_in_together_may_hang_below_each_other(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        put = await messages.insert_many(
            tx,
            [
                NewMessage(id, "c1", parent, Kind.AGENT, id)
                for id, parent in (("a", "u1"), ("b", "a"), ("c", "b"))
            ],
        )
        assert [message.depth for message in put] == [1, 2, 3]
        assert await messages.page(tx, "c", 10) == [
            await messages.get(tx, id) for id in ("u1", "a", "b", "c")
        ]
        assert await messages.insert_many(tx, []) == []


@pytest.mark.parametrize("parent", ["nobody", "later"])
async def test_a_row_below_a_parent_that_is_not_there_is_refused(tmp_path: Path, parent: str) -> None:
    async with store(tmp_path) as db:
        with pytest.raises(NotFound, match="no message"):
            async with db.write() as tx:
                await new_conversation(tx)
                await messages.insert_many(
                    tx,
                    [NewMessage("u1", "c1", parent, Kind.USER), NewMessage("later", "c1", None, Kind.USER)],
                )
        async with db.read() as r:
            assert await r.one("SELECT count(*) FROM message") == (0,)


async def test_a_row_of_no_conversation_is_refused(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            await say(tx, "u1", None, conversation="nobody")


async def test_an_open_row_grows_and_a_closed_one_does_not(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        await say(tx, "a1", "u1", "One ", kind=Kind.AGENT, state=MessageState.OPEN)
        await messages.append(tx, "a1", "two ")
        await messages.append(tx, "a1", "thr\x00ee")
        closed = await messages.update(tx, "a1", state=MessageState.INTERRUPTED)
        assert (closed.text, closed.state) == ("One two thr\x00ee", MessageState.INTERRUPTED)
        with pytest.raises(StoreError, match="closed"):
            await messages.append(tx, "a1", "four")
        with pytest.raises(NotFound):
            await messages.append(tx, "nobody", "four")
        with pytest.raises(NotFound):
            await messages.update(tx, "nobody", text="four")


async def test_a_change_leaves_alone_what_it_does_not_name(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "x1", None, "Read", kind=Kind.TOOL, state=MessageState.OPEN, data={"status": "pending"})
        changed = await messages.update(tx, "x1", data={"status": "completed"})
        assert (changed.text, changed.data, changed.state) == (
            "Read",
            {"status": "completed"},
            MessageState.OPEN,
        )
        changed = await messages.update(tx, "x1", text="Read a file")
        assert (changed.text, changed.data) == ("Read a file", {"status": "completed"})
        assert changed == await messages.get(tx, "x1")


async def test_closing_what_is_open_touches_the_rows_of_that_turn_only(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        await new_link(tx, "l1")
        for id, turn, state in (
            ("a1", "t1", MessageState.FINAL),
            ("a2", "t1", MessageState.OPEN),
            ("a3", "t2", MessageState.OPEN),
            ("a4", "t1", MessageState.OPEN),
        ):
            await say(tx, id, "u1", id, kind=Kind.AGENT, state=state, turn_id=turn)
        for turn in ("t1", "t2"):
            await turns.insert(tx, a_turn(turn, "u1", "l1"))
        assert ids(await messages.open_rows(tx, "c1")) == ["a2", "a3", "a4"]
        closed = await messages.close_open(tx, "t1", MessageState.INTERRUPTED)
        assert [(message.id, message.state) for message in closed] == [
            ("a2", MessageState.INTERRUPTED),
            ("a4", MessageState.INTERRUPTED),
        ]
        assert ids(await messages.open_rows(tx, "c1")) == ["a3"]


async def test_a_path_starts_after_the_last_barrier(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        every = [row.id for row in await messages.of_conversation(tx, "c1")]
        for leaf, expected in (
            ("a3", ["u3", "a3"]),
            ("clear", []),
            ("a2", ["u1", "t1", "x1", "a1", "u2", "a2"]),
            ("a2b", ["u1", "t1", "x1", "a1", "u2b", "a2b"]),
            ("u1", ["u1"]),
            (None, []),
        ):
            path = await ancestry.path(tx, leaf, every)
            assert sorted(path.places, key=path.position) == expected
            assert path.above.position == len(expected)
        path = await ancestry.path(tx, "a2", every, prompt_id="next")
        assert [path.position(id) for id in ("u1", "a2", "next", "u2b", None)] == [1, 6, 7, 0, 0]
        assert path.holds("next")
        assert not path.holds_before_prompt("next")
        assert not path.holds("u3")
        assert path.unknown_to("x1") == (3, 0)
        assert path.unknown_to(None) == (4, 1)


async def test_a_page_goes_through_barriers_and_the_next_one_starts_above_it(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        page = await messages.page(tx, "a3", 4)
        assert ids(page) == ["a2", "clear", "u3", "a3"]
        page = await messages.page(tx, page[0].parent_id, 4)
        assert ids(page) == ["t1", "x1", "a1", "u2"]
        page = await messages.page(tx, page[0].parent_id, 4)
        assert ids(page) == ["u1"]
        assert await messages.page(tx, page[0].parent_id, 4) == []
        assert await messages.page(tx, "a3", 0) == []


async def test_what_was_spoken_between_two_rows_is_the_newest_of_it_and_crosses_no_barrier(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        assert ids(await messages.spoken_between(tx, None, "a2", 20)) == ["u1", "a1", "u2", "a2"]
        assert ids(await messages.spoken_between(tx, None, "a2", 3)) == ["a1", "u2", "a2"]
        assert ids(await messages.spoken_between(tx, "u1", "a2", 20)) == ["a1", "u2", "a2"]
        assert ids(await messages.spoken_between(tx, "a1", "a2b", 20)) == ["u2b", "a2b"]
        assert ids(await messages.spoken_between(tx, None, "a3", 20)) == ["u3", "a3"]
        assert await messages.spoken_between(tx, "a2", "a2", 20) == []
        assert await messages.spoken_between(tx, None, "clear", 20) == []
        assert await messages.spoken_between(tx, None, None, 20) == []
        assert await messages.spoken_between(tx, None, "a2", 0) == []


async def test_tool_calls_between_two_rows_are_listed_and_counted_apart(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        assert ids(await messages.newest_tools(tx, "a2", 5)) == ["x1"]
        assert await messages.count_between(tx, None, "a2") == (4, 1)
        assert await messages.count_between(tx, "x1", "a2") == (3, 0)
        assert await messages.count_between(tx, None, "a3") == (2, 0)
        assert await messages.count_between(tx, "a2", "a2") == (0, 0)
        assert await messages.count_between(tx, None, None) == (0, 0)


async def test_p04_messages_are_read_newest_first_until_the_characters_are_spent(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        leaf = await say_much(tx, 12)
        length = len((await messages.spoken_between(tx, None, leaf, 1))[0].text)

        async def read(characters: int, longest: int = 1_000) -> list[str]:
            found, _ = await messages.told_between(
                tx, "m2", leaf, characters=characters, longest=longest, each=10, calls=0
            )
            return ids([row.message for row in found])

        assert await read(10_000) == [f"m{number}" for number in range(3, 12)]
        assert await read(2 * (length + 10)) == ["m9", "m10", "m11"], "and one that may be too much"
        assert await read(2 * (length + 10), longest=0) == [f"m{number}" for number in range(7, 12)]
        assert await read(0) == []


async def test_p04_calls_that_act_are_read_with_what_they_brought_and_those_that_look_without(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u", None, "go")
        above = "u"
        for number, (kind, name) in enumerate(
            [("edit", ""), *[("read", "")] * 450, ("read", "mcp__mail__send"), ("other", ""), ("edit", "")]
        ):
            data = {"title": "x", "kind": kind, "name": name, "raw_input": {"a": "b" * 300}, "content": ["c"]}
            await say(tx, f"x{number}", above, kind=Kind.TOOL, data=data, state=MessageState.FINAL)
            above = f"x{number}"

        async def read(characters: int) -> list[Message]:
            found = await messages.calls_between(tx, None, above, characters=characters)
            return [row.message for row in found]

        everything = await read(100_000)
        assert len(everything) == 4 + 400 and everything[0].id == "x0"
        assert {row.id for row in everything if row.data.get("content")} == {"x0", "x451", "x452", "x453"}
        assert ids(await read(300)) == ["x452", "x453"], "as many as can be told in so many characters"
        assert await read(0) == []


async def test_m03_the_prior_context_of_20000_messages_is_read_through_an_index_in_as_few_steps_as_it_has_rows(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        leaf = await say_much(tx, 20_000)
        read = Explained(tx)
        found = await messages.spoken_between(read, None, leaf, 20)
        assert ids(found) == [f"m{number}" for number in range(19_980, 20_000)]
        assert read.scans("m", "p", "message") == []
        assert any("USING INDEX" in step for step in read.steps)


async def test_m03_every_walk_and_look_up_goes_through_an_index(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        read = Explained(tx)
        await messages.get(read, "a1")
        await ancestry.path(read, "a3", ["u3", "u1"])
        await messages.last_turn(read, "a3")
        await messages.page(read, "a3", 5)
        await messages.spoken_between(read, "u1", "a3", 5)
        await messages.newest_tools(read, "a3", 200)
        await messages.told_between(read, None, "a3", characters=1_000, longest=100, each=10, calls=1_000)
        await messages.count_between(read, None, "a3")
        await branches.siblings(read, "u2")
        await branches.siblings(read, "u1")
        await branches.sibling_positions(read, ["u1", "u2"])
        await messages.of_conversation(read, "c1")
        await messages.open_rows(read, "c1")
        await messages.depth(read, "a1")
        await say(read, "new", "a1", "text")
        await messages.append(read, await open_row(read), "more")
        await messages.update(read, "open", state=MessageState.FINAL)
        await messages.close_open(read, "t1", MessageState.FINAL)
        assert read.scans("m", "p", "s", "message") == []


async def open_row(tx: Writer) -> str:
    return (await say(tx, "open", "new", "text", state=MessageState.OPEN, kind=Kind.AGENT)).id


async def test_siblings_are_the_prompts_that_hang_at_the_same_place(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        await say(tx, "u1b", None, "first prompt, edited")
        await new_conversation(tx, "c2")
        await say(tx, "other", None, "another conversation", conversation="c2")
        assert await branches.siblings(tx, "u2") == ["u2", "u2b"]
        assert await branches.siblings(tx, "u2b") == ["u2", "u2b"]
        assert await branches.siblings(tx, "u1b") == ["u1", "u1b"]
        assert await branches.siblings(tx, "u3") == ["u3"]
        assert await branches.sibling_positions(tx, ["u1", "u2", "u2b", "u3", "other"]) == {
            "u1": (1, 2),
            "u2": (1, 2),
            "u2b": (2, 2),
        }
        assert await branches.sibling_positions(tx, []) == {}


async def test_a_branch_goes_on_into_the_conversation_that_it_was_forked_from(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_tree(tx)
        await new_conversation(tx, "c2", family="c1", fork_point_id="a1")
        await say(tx, "f1", "a1", "forked prompt", conversation="c2")
        assert ids(await messages.page(tx, "f1", 9)) == ["u1", "t1", "x1", "a1", "f1"]
        assert ids(await messages.of_conversation(tx, "c2")) == ["f1"]
        assert await messages.depth(tx, "f1") == 4
        with pytest.raises(NotFound):
            await messages.depth(tx, "nobody")

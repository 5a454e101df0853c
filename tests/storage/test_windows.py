"""Windows, workspaces, queues and input history: what a person left lying on the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.chains import agents
from catena_store.database.database import Writer
from catena_store.errors import NotFound
from catena_store.records import Kind
from catena_store.windows import inputs, queue, windows
from support.storage.rows import Clock, Explained, an_owner, new_conversation, say, store


async def a_table(tx: Writer) -> str:
    """A workspace with two tabs on a conversation that has a prompt with two siblings."""
    workspace = await windows.ensure_workspace(tx, "/shop", new_id=lambda: "s1")
    await new_conversation(tx)
    await say(tx, "u1", None)
    await say(tx, "a1", "u1", kind=Kind.AGENT)
    for id in ("u2", "u3"):
        await say(tx, id, "a1")
    await windows.open(tx, id="w1", conversation_id="c1", leaf_id="u2", workspace_id=workspace.id)
    await windows.open(tx, id="w2", conversation_id="c1", leaf_id=None, workspace_id=workspace.id)
    return workspace.id


@pytest.mark.parametrize(
    ("parts", "pieces"),
    [
        (("see ", "one\ntwo", "", "three", " why"), ("one\ntwo", "three")),
        (("", "a piece", ""), ("a piece",)),
        (("typed",), ()),
        (("with a sign \ufdd0 of ours\ufdd1", "a piece", ""), ()),
    ],
)
async def test_u02_a_draft_knows_its_pieces_after_a_restart_and_is_read_whole(
    tmp_path: Path, parts: tuple[str, ...], pieces: tuple[str, ...]
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_table(tx)
        await windows.set_draft(tx, "w1", *parts)
        await windows.advance(tx, "w1", "u3")
    async with store(tmp_path) as db, db.read() as r:
        window = await windows.get(r, "w1")
    assert window is not None and (window.draft, window.pieces) == ("".join(parts), pieces)


async def test_m06_tabs_drafts_and_scroll_positions_are_there_again_after_a_restart(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            workspace = await a_table(tx)
            await windows.set_draft(tx, "w1", "half a\nthought")
            await windows.set_scroll(tx, "w1", 42)
            await windows.set_draft(tx, "w2", "at the root")
            await windows.set_active(tx, workspace, "w2")
        async with db.read() as r:
            before = await windows.of_workspace(r, workspace)
    async with store(tmp_path) as db, db.write() as tx:
        again = await windows.ensure_workspace(tx, "/shop", new_id=lambda: "not used")
        assert (again.id, again.active_window_id) == (workspace, "w2")
        after = await windows.of_workspace(tx, workspace)
        assert after == before
        assert [(window.id, window.leaf_id, window.draft, window.scroll) for window in after] == [
            ("w1", "u2", "half a\nthought", 42),
            ("w2", None, "at the root", None),
        ]


async def test_w19_the_tabs_that_stand_side_by_side_are_known_again_from_the_left(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        workspace = await a_table(tx)
        for pair, places in ((["w2", "w1"], [1, 0]), (["w1", "w2"], [0, 1]), ([], [None, None])):
            await windows.set_panes(tx, workspace, pair)
            assert [window.pane for window in await windows.of_workspace(tx, workspace)] == places


async def test_e03_each_sibling_comes_back_with_its_own_draft_and_scroll_position(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_table(tx)
        await windows.set_draft(tx, "w1", "at u2")
        await windows.set_scroll(tx, "w1", 2)
        for leaf, draft, scroll in (("u3", "", None), (None, "", None), ("u2", "at u2", 2)):
            await windows.set_leaf(tx, "w1", leaf)
            window = await windows.get(tx, "w1")
            assert window is not None
            assert (window.leaf_id, window.draft, window.scroll) == (leaf, draft, scroll)
        await windows.set_leaf(tx, "w2", "u2")
        other = await windows.get(tx, "w2")
        assert other is not None
        assert other.draft == ""


async def test_a_leaf_that_grows_takes_draft_and_scroll_position_along(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_table(tx)
        await windows.set_draft(tx, "w1", "typed while it answers")
        await windows.set_scroll(tx, "w1", 7)
        for parent, leaf in (("u2", "a2"), ("a2", "a3")):
            await say(tx, leaf, parent, kind=Kind.AGENT)
            await windows.advance(tx, "w1", leaf)
            await windows.advance(tx, "w1", leaf)
        window = await windows.get(tx, "w1")
        assert window is not None
        assert (window.leaf_id, window.draft, window.scroll) == ("a3", "typed while it answers", 7)
        await windows.set_leaf(tx, "w1", "u2")
        window = await windows.get(tx, "w1")
        assert window is not None
        assert (window.draft, window.scroll) == ("", None)
        # The other window stood elsewhere and stays there.
        await windows.set_draft(tx, "w2", "first words")
        await windows.advance(tx, "w2", "u1")
        window = await windows.get(tx, "w2")
        assert window is not None
        assert (window.leaf_id, window.draft) == ("u1", "first words")


async def test_a_closed_tab_comes_back_where_it_was(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        workspace = await a_table(tx)
        await windows.set_draft(tx, "w1", "unsent")
        await windows.close(tx, "w1")
        assert [window.id for window in await windows.of_workspace(tx, workspace)] == ["w2"]
        assert [window.id for window in await windows.open_in(tx, "c1")] == ["w2"]
        await windows.open(tx, id="w3", conversation_id="c1", leaf_id=None, workspace_id=workspace)
        await windows.reopen(tx, "w1")
        found = await windows.of_workspace(tx, workspace)
        assert [(window.id, window.draft) for window in found] == [("w1", "unsent"), ("w2", ""), ("w3", "")]


async def test_every_window_of_a_conversation_is_found_the_last_used_first(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await a_table(tx)
            await windows.open(tx, id="w3", conversation_id="c1", leaf_id="u3")
        for closed in ("w3", "w1", "w2"):
            clock.forward()
            async with db.write() as tx:
                await windows.close(tx, closed)
        async with db.read() as r:
            closed_windows = await windows.of_conversation(r, "c1")
            assert [window.id for window in closed_windows] == ["w2", "w1", "w3"]


async def test_a_window_can_go_over_to_another_conversation(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_table(tx)
        await new_conversation(tx, "fork", family="c1", fork_point_id="a1")
        await windows.show(tx, "w1", "fork", "a1")
        window = await windows.get(tx, "w1")
        assert window is not None
        assert (window.conversation_id, window.leaf_id) == ("fork", "a1")


async def test_a_window_without_a_workspace_belongs_to_no_directory(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        workspace = await a_table(tx)
        headless = await windows.open(tx, id="run", conversation_id="c1", leaf_id="u1")
        assert (headless.workspace_id, headless.position) == (None, 0)
        assert "run" not in [window.id for window in await windows.of_workspace(tx, workspace)]
        assert {window.id for window in await windows.open_in(tx, "c1")} == {"w1", "w2", "run"}


async def test_a_window_that_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_table(tx)
        for change in (
            windows.set_leaf(tx, "nobody", "u1"),
            windows.set_leaf(tx, "w1", "nobody"),
            windows.advance(tx, "nobody", "u1"),
            windows.set_draft(tx, "nobody", "text"),
            windows.set_scroll(tx, "nobody", 1),
            windows.close(tx, "nobody"),
            windows.reopen(tx, "nobody"),
            windows.set_active(tx, "nobody", "w1"),
            windows.open(tx, id="w9", conversation_id="c1", leaf_id="nobody"),
        ):
            with pytest.raises(NotFound):
                await change


async def test_windows_are_found_through_an_index(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        workspace = await a_table(tx)
        read = Explained(tx)
        await windows.of_workspace(read, workspace)
        await windows.open_in(read, "c1")
        await windows.get(read, "w1")
        await windows.set_draft(read, "w1", "text")
        await windows.advance(read, "w1", "u3")
        assert read.scans("w", "f", "window", "window_leaf", "message") == []


async def test_a_workspace_is_one_clients_at_a_time(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        workspace = await a_table(tx)
        ours, theirs = an_owner("ours"), an_owner("theirs")
        assert await windows.take_workspace(tx, workspace, ours, is_dead=lambda held: False)
        assert await windows.take_workspace(tx, workspace, ours, is_dead=lambda held: False)
        assert not await windows.take_workspace(
            tx, workspace, theirs, is_dead=lambda held: held.owner != ours
        )
        assert await windows.take_workspace(tx, workspace, theirs, is_dead=lambda held: held.owner == ours)
        await windows.release_workspace(tx, workspace, ours.id)
        assert (await windows.ensure_workspace(tx, "/shop", new_id=lambda: "unused")).owner == theirs
        await windows.release_workspace(tx, workspace, theirs.id)
        free = await windows.ensure_workspace(tx, "/shop", new_id=lambda: "unused")
        assert (free.owner, free.heartbeat_at) == (None, None)
        with pytest.raises(NotFound):
            await windows.take_workspace(tx, "nobody", ours, is_dead=lambda held: True)


async def test_h14_what_was_typed_is_there_after_a_restart_newest_first_and_the_same_twice_in_a_row_once(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        for text in ("one", "two", "two", " \n", "two", "one", "three\nlines"):
            async with db.write() as tx:
                await inputs.add(tx, text, "/shop")
    async with store(tmp_path) as db, db.read() as r:
        found = await inputs.recent(r)
        assert [text for _, text in found] == ["three\nlines", "one", "two", "one"]
        first = await inputs.recent(r, 2)
        assert first + await inputs.recent(r, 2, before=first[-1][0]) == found


async def test_h14_what_was_typed_is_found_by_any_part_of_it_each_text_once(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        for text in (
            "fix the login",
            "100% sure",
            "fix the docs",
            "Fix the login",
            "fix the login",
            "a_b",
            "axb",
        ):
            await inputs.add(tx, text, "/shop")

        async def found(text: str, limit: int = 50) -> list[str]:
            return [match for _, match in await inputs.search(tx, text, limit)]

        assert await found("FIX") == ["fix the login", "Fix the login", "fix the docs"]
        assert await found("fix", 1) == ["fix the login"]
        assert await found("0% s") == ["100% sure"]
        assert await found("%") == ["100% sure"]
        assert await found("a_b") == ["a_b"]
        assert await found("\\") == []


async def test_h14_input_history_outlives_the_conversation_it_was_typed_in(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        names = await tx.all(
            "SELECT m.name FROM sqlite_schema m, pragma_foreign_key_list(m.name) WHERE m.name = 'input'"
        )
        assert names == []


async def test_a_queue_is_worked_off_in_order_and_waits_while_it_is_held(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_table(tx)
        for id in ("q1", "q2", "q3"):
            put = await queue.add(tx, id=id, window_id="w1", text=f"text of {id}", data={"mode": "ask"})
            assert (await queue.items(tx, "w1"))[-1] == put
        await queue.add(tx, id="other", window_id="w2", text="elsewhere")
        await queue.reorder(tx, "q3", 0)
        assert [(item.id, item.text) for item in await queue.items(tx, "w1")] == [
            ("q3", "text of q3"),
            ("q1", "text of q1"),
            ("q2", "text of q2"),
        ]
        await queue.hold(tx, "w1")
        assert await queue.first(tx, "w1") is None
        assert all(item.held for item in await queue.items(tx, "w1"))
        await queue.add(tx, id="q4", window_id="w1", text="said in knowledge of it")
        unheld = await queue.first(tx, "w1")
        assert unheld is not None and unheld.id == "q4"
        await queue.remove(tx, "q4")
        await queue.release(tx, "w1")
        await queue.remove(tx, "q1")
        await queue.reorder(tx, "q3", 99)
        for expected in ("q2", "q3"):
            item = await queue.first(tx, "w1")
            assert item is not None and item.id == expected
            await queue.remove(tx, item.id)
        assert await queue.first(tx, "w1") is None
        assert [item.id for item in await queue.items(tx, "w2")] == ["other"]
        for change in (queue.remove(tx, "q1"), queue.reorder(tx, "q1", 0), queue.set_data(tx, "q1", {})):
            with pytest.raises(NotFound):
                await change


async def test_what_was_learnt_of_an_agent_version_is_kept_until_it_is_learnt_anew(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await agents.set_ability(tx, "claude", "0.100", "fork_at", "honoured")
        await agents.set_ability(tx, "claude", "0.100", "replay", "faithful")
        await agents.set_ability(tx, "claude", "0.99", "fork_at", "ignored")
        await agents.set_ability(tx, "claude", "0.100", "fork_at", "ignored")
    async with store(tmp_path) as db, db.read() as r:
        assert await agents.abilities(r, "claude", "0.100") == {"fork_at": "ignored", "replay": "faithful"}
        assert await agents.abilities(r, "claude", "0.101") == {}

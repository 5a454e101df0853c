"""What the store says of branches: siblings, where a window stood, kin, the tree, messages by their ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store import ancestry
from catena_store.chains import turns
from catena_store.conversations import branches, messages, tree
from catena_store.database.database import Writer
from catena_store.errors import Ambiguous, NotFound
from catena_store.records import Kind, MessageState
from catena_store.windows import journal, windows
from catena_store.windows.journal import Act, WindowPlace
from support.storage.rows import Explained, a_turn, new_conversation, new_link, say, say_much, store


async def a_family(tx: Writer) -> None:
    """c1: u1 a1 u2 a2 u3 a3, u2 said anew as u2b; c2 forked from a2: f1 fa1, and u2 said anew there as f2."""
    await new_conversation(tx)
    above = None
    for row in ("u1", "a1", "u2", "a2", "u3", "a3"):
        kind = Kind.USER if row.startswith("u") else Kind.AGENT
        await say(tx, row, above, f"text of {row}", kind=kind)
        above = row
    await say(tx, "u2b", "a1", "text of u2b")
    await new_conversation(tx, "c2", family="c1", fork_point_id="a2")
    await say(tx, "f1", "a2", "text of f1", conversation="c2")
    await say(tx, "fa1", "f1", "text of fa1", conversation="c2", kind=Kind.AGENT)
    await say(tx, "f2", "a1", "text of f2", conversation="c2")
    await new_conversation(tx, "c3")
    await say(tx, "z1", None, "text of z1", conversation="c3")


async def test_siblings_are_those_that_the_conversation_has(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        assert await branches.siblings(tx, "u2") == ["u2", "u2b"]
        assert await branches.siblings(tx, "u2", "c2") == ["u2", "f2"]
        assert await branches.siblings(tx, "f2") == ["u2", "f2"]
        assert await branches.siblings(tx, "u3") == ["u3"]
        assert await branches.siblings(tx, "f1") == ["f1"]
        assert await branches.sibling_positions(tx, ["u1", "u2", "u2b", "u3"], "c1") == {
            "u2": (1, 2),
            "u2b": (2, 2),
        }
        await say(tx, "refused", "a1", "no", state=MessageState.REFUSED)
        assert await branches.siblings(tx, "u2") == ["u2", "u2b"]
        assert await branches.sibling_positions(tx, ["u2", "refused"], "c1") == {
            "u2": (1, 2),
            "refused": (3, 3),
        }
        await say(tx, "f0", None, "text of f0", conversation="c2")
        assert await branches.siblings(tx, "f0") == ["u1", "f0"]
        assert await branches.siblings(tx, "u1") == ["u1"]


async def test_e08_siblings_that_went_to_several_agents_are_told_apart_by_them(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        await new_link(tx, "A")
        await new_link(tx, "B", agent="other", profile="work")
        for prompt, link in (("u1", "A"), ("u2", "A"), ("u2b", "A"), ("u3", "B")):
            await turns.insert(tx, a_turn(f"turn of {prompt}", prompt, link))
            await messages.set_turn(tx, prompt, f"turn of {prompt}", link)
        assert await branches.agents_told_apart(tx, ["u1", "u2", "u2b", "u3"], "c1") == {}
        await turns.insert(tx, a_turn("again", "u2b", "B"))
        await messages.set_turn(tx, "u2b", "again", "B")
        assert await branches.agents_told_apart(tx, ["u1", "u2", "u2b", "u3"], "c1") == {
            "u2": ("rehearsal", ""),
            "u2b": ("other", "work"),
        }


async def test_a_window_comes_back_to_where_it_last_stood_in_a_branch(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        await windows.open(tx, id="w", conversation_id="c1", leaf_id="a3")
        for before, after in (("a3", "u2b"), ("u2b", "a2"), ("a2", "u2b")):
            await journal.record(
                tx,
                workspace_id=None,
                window_id="w",
                conversation_id="c1",
                act=Act.SIBLING,
                before=WindowPlace("c1", before).as_mapping(),
                after=WindowPlace("c1", after).as_mapping(),
            )
        assert await branches.last_leaf(tx, "w", "c1", "u2") == "a2"
        assert await branches.last_leaf(tx, "w", "c1", "u3") == "a3"
        assert await branches.last_leaf(tx, "w", "c2", "u2") is None
        assert await branches.last_leaf(tx, "another", "c1", "u2") is None
        assert await ancestry.newest_below(tx, "u2", "c1") == "a3"
        assert await ancestry.newest_below(tx, "u2", "c2") == "fa1"


async def test_f12_kin_are_the_source_and_the_forks_that_were_said_something_in(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        await new_conversation(tx, "empty", family="c1", fork_point_id="a1")
        await new_conversation(tx, "root", family="c1")
        await say(tx, "r1", None, "text of r1", conversation="root")
        await new_conversation(tx, "twig", family="c1", fork_point_id="fa1")
        await say(tx, "t1", "fa1", "text of t1", conversation="twig")
        of = tree.lineage
        assert [kin.id for kin in (await of(tx, "c1")).forks] == ["c2", "root"]
        assert [kin.id for kin in (await of(tx, "c2")).forks] == ["twig"]
        assert (await of(tx, "c1")).source is None
        for id, source in (("c2", "c1"), ("root", "c1"), ("twig", "c2")):
            kin = (await of(tx, id)).source
            assert kin is not None
            assert kin.id == source


async def test_a_message_is_found_by_the_beginning_of_its_id_within_its_conversation(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        assert (await messages.find(tx, "c1", "u3")).id == "u3"
        assert (await messages.find(tx, "c1", "u2")).id == "u2"  # and not u2b
        assert (await messages.find(tx, "c2", "u1")).id == "u1"
        with pytest.raises(Ambiguous, match="u1, u2, u2b, u3"):
            await messages.find(tx, "c1", "u")
        for conversation, id in (("c2", "u3"), ("c1", "f1"), ("c1", "z1"), ("c1", ""), ("c1", "x")):
            with pytest.raises(NotFound):
                await messages.find(tx, conversation, id)


async def test_a_message_is_not_found_by_what_may_be_meant_as_a_number(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        await say(tx, "512meh67hw5pgvgm", "a3", "the fourth prompt")
        assert (await messages.find(tx, "c1", "512m")).text == "the fourth prompt"
        for number in ("5", "512"):
            with pytest.raises(NotFound):
                await messages.find(tx, "c1", number)


async def test_t01_the_tree_has_a_node_for_every_prompt(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        nodes = {node.id: node for node in await tree.nodes(tx, "c1")}
        assert list(nodes) == ["u1", "u2", "u3", "u2b", "f1", "f2"]
        assert [node.parent_id for node in nodes.values()] == [None, "u1", "u2", "u1", "u2", "u1"]
        assert [node.leaf_id for node in nodes.values()] == ["u2b", "a3", "a3", "u2b", "fa1", "f2"]
        assert [node.rows for node in nodes.values()] == [1, 1, 1, 0, 1, 0]
        assert nodes["f1"].hangs_from == "a2"
        assert nodes["u2"].preview == "text of u2"
        assert [node.id for node in await tree.nodes_of_conversation(tx, "c2")] == ["u1", "u2", "f1", "f2"]
        assert [node.id for node in await tree.nodes_of_conversation(tx, "c1", {"c2"})] == [
            "u1",
            "u2",
            "u3",
            "u2b",
            "f1",
            "f2",
        ]
        assert await tree.nodes_of_conversation(tx, "nobody") == []


async def test_m03_what_is_asked_of_branches_goes_through_an_index(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_family(tx)
        await say_much(tx, 2_000, conversation="c3")
        read = Explained(tx)
        await branches.siblings(read, "f2", "c2")
        await branches.siblings(read, "u1", "c2")
        await branches.sibling_positions(read, ["u2", "f2"], "c2")
        await messages.find(read, "c2", "u1")
        await branches.last_leaf(read, "w", "c1", "u2")
        await ancestry.newest_below(read, "u1", "c1")
        await tree.nodes(read, "c1")
        await tree.prompt_at(read, "a3")
        await tree.lineage(read, "c2")
        assert read.scans("m", "p", "s", "c", "t", "l", "message", "conversation", "window", "w") == []

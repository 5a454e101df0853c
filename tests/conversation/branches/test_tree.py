"""The tree of prompts: what the store tells of it, how it lies on the screen, and what is said of two branches."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from catena.acts.branches import quote
from catena.screens.comparison.screen import branch_part, said_on, shared_part
from catena.screens.tree.rows import matches, tree_row
from catena.widgets.row_list import Row
from catena.workspace.tree_layout import TreeLayout, TreeLine
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_acp.conversation.live import LiveConversation
from catena_store.conversations import conversations
from catena_store.conversations.tree import FamilyTree, compare, family_tree, rows_of_prompt
from catena_store.database.database import Database
from catena_store.records import Kind
from support.counted_work import calls_counted, queries_counted, turns_counted
from support.storage.rows import Explained, new_conversation, say, say_much, store
from support.storage.tree import NOW, broad, shop


class _Services:
    def __init__(self, db: Database) -> None:
        self.services = self
        self.db = db


def tree_of(db: Database) -> ConversationTree:
    """The tree of a conversation, on a store."""
    return ConversationTree(cast("LiveConversation", _Services(db)))


async def places_of(tmp_path: Path, conversation_id: str = "c1", leaf_id: str | None = "a2b") -> FamilyTree:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        async with db.read() as reader:
            return await family_tree(reader, conversation_id, leaf_id)


def drawn(arranged: TreeLayout, folded: set[str] | None = None) -> list[str]:
    """The lines as a person sees them, without what stands on the right."""
    return [
        f"{row.lead.rails}{row.lead.bead.text} {row.label}"
        for row in rows_of(arranged, arranged.lines(arranged.heads if folded is None else folded))
        if row.lead is not None
    ]


def rows_of(arranged: TreeLayout, lines: list[TreeLine], *, wide: bool = True) -> list[Row]:
    return [tree_row(arranged, line, (), NOW + timedelta(minutes=5), wide=wide) for line in lines]


# What the store tells.


async def test_t01_a_tree_has_every_prompt_with_what_became_of_it(tmp_path: Path) -> None:
    places = await places_of(tmp_path)
    assert [node.id for node in places.nodes] == ["p1", "p2", "p3", "p2b", "p4", "f1", "f2"]
    assert [node.parent_id for node in places.nodes] == [None, "p1", "p2", "p1", "p2b", "p2", "f1"]
    assert [node.end_id for node in places.nodes] == ["a1", "a2", "a3", "a2b", "p4", "af1", "af2"]
    assert places.own == {"p1", "p2", "p3", "p2b", "p4"}
    assert places.here == "p2b"
    assert places.labels == {"p1": ["before-list"]}
    assert places.names == {"c1": "the shop", "c2": "elsewhere"}


async def test_t01_a_fork_has_the_prompts_above_its_fork_point_and_none_of_its_sources_later_ones(
    tmp_path: Path,
) -> None:
    places = await places_of(tmp_path, "c2", "af2")
    assert places.own == {"p1", "p2", "f1", "f2"}


async def test_t01_a_deleted_fork_is_not_in_the_tree_and_a_deleted_source_only_as_far_as_something_hangs_from_it(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)

        async def without(gone: str, seen_from: str) -> list[str]:
            async with db.write() as tx:
                await conversations.set_deleted(tx, gone, True)
                left = await family_tree(tx, seen_from, None)
                await conversations.set_deleted(tx, gone, False)
            return [node.id for node in left.nodes]

        assert await without("c2", "c1") == ["p1", "p2", "p3", "p2b", "p4"]
        assert await without("c1", "c2") == ["p1", "p2", "f1", "f2"]


async def test_t01_the_tree_is_read_without_going_through_all_messages_of_the_store(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        async with db.write() as tx:
            explained = Explained(tx)
            await family_tree(explained, "c1", "a2b")
    assert explained.steps
    assert (
        explained.scans("message", "m", "p", "t", "l", "c", "k", "turn", "conversation", "checkpoint") == []
    )


async def test_t01_the_tree_of_300_prompts_is_read_arranged_and_put_into_words_with_little_work_for_each(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        leaf = await broad(db, tmp_path, 300)
        async with queries_counted(db) as queries, db.read() as reader:
            with calls_counted() as calls:
                places = await family_tree(reader, "c1", leaf)
                arranged = TreeLayout(places)
                rows = rows_of(arranged, arranged.lines(()))
    assert len(rows) == 300
    assert len(queries.asked) < 12
    assert queries.steps < 300 * 300
    assert calls.made < 150 * 300


async def test_m03_a_tree_of_many_prompts_is_read_while_the_loop_goes_on(tmp_path: Path) -> None:
    busiest: dict[int, int] = {}
    for prompts in (100, 1_000):
        (folder := tmp_path / str(prompts)).mkdir()
        async with store(folder) as db:
            leaf = await broad(db, folder, prompts)
            with turns_counted() as counted:
                async with db.read_concurrently() as reader:
                    places = await family_tree(reader, "c1", leaf)
            assert len(places.nodes) == prompts
            busiest[prompts] = counted.busiest
    assert busiest[1_000] < 2 * busiest[100]


# How it lies on the screen.


async def test_t01_only_branches_are_indented_and_the_one_that_is_stood_on_goes_straight_down(
    tmp_path: Path,
) -> None:
    arranged = TreeLayout(await places_of(tmp_path))
    assert drawn(arranged) == [
        "● [before-list] fix the login",
        "├─○ use a table",
        "│ ├─◇ ▸ “elsewhere” · try without",
        "│ ○ add a test",
        "◉ use a list",
        "✗ lost on the way",
    ]
    assert drawn(arranged, {"p1"}) == ["● ▸ [before-list] fix the login"]
    assert drawn(arranged, set())[2:4] == [
        "│ ├─◇ “elsewhere” · try without",
        "│ │ ○ and again",
    ]


async def test_t01_seen_from_a_fork_what_its_source_went_on_with_stands_beside_it(tmp_path: Path) -> None:
    arranged = TreeLayout(await places_of(tmp_path, "c2", "af2"))
    assert drawn(arranged) == [
        "● [before-list] fix the login",
        "├─◇ ▸ “the shop” · use a list",
        "● use a table",
        "├─◇ “the shop” · add a test",
        "● try without",
        "◉ and again",
    ]


async def test_t01_other_first_prompts_stand_above_the_one_that_is_gone_on_with(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "first words")
        await say(tx, "m2", "m1", "more")
        await say(tx, "m3", None, "other words")
        arranged = TreeLayout(await family_tree(tx, "c1", "m3"))
        assert drawn(arranged) == ["╭─○ first words", "│ ○ more", "◉ other words"]
        elsewhere = TreeLayout(await family_tree(tx, "c1", "m2"))
        assert drawn(elsewhere) == ["╭─○ other words", "● first words", "◉ more"]


async def test_t01_a_tree_thousands_of_prompts_deep_is_arranged(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        leaf = await say_much(tx, 6000)
        arranged = TreeLayout(await family_tree(tx, "c1", leaf))
    assert len(arranged.lines(())) == 3000
    assert arranged.lines({"m0"})[0].folded == 2999
    assert {line.lead for line in arranged.lines(())} == {""}


async def test_t01_a_line_says_who_answered_how_it_came_about_and_how_it_ended(tmp_path: Path) -> None:
    arranged = TreeLayout(await places_of(tmp_path))
    rows = {row.key: row for row in rows_of(arranged, arranged.lines(arranged.heads))}
    said = {key: (*(word.text for word in row.columns), row.detail) for key, row in rows.items()}
    assert said == {
        "p1": ("", "", "Rehearsal"),
        "p2": ("", "", "Rehearsal"),
        "f1": ("+1", "fork", "Rehearsal"),
        "p3": ("", "stopped", "Rehearsal"),
        "p2b": ("", "‹ 2/2 ›", "other"),
        "p4": ("", "not sent", ""),
    }
    assert {row.time for row in rows.values()} == {f"{NOW.astimezone():%H:%M}"}
    assert [key for key, row in rows.items() if not row.dim] == ["p1", "p2b"], "the others are off the way"


async def test_t01_the_end_of_a_branch_is_where_it_goes_straight_on_to(tmp_path: Path) -> None:
    arranged = TreeLayout(await places_of(tmp_path))
    assert [arranged.branch_end(id).id for id in ("p1", "p2", "p3", "f1", "p4")] == [
        "p2b",
        "p3",
        "p3",
        "f2",
        "p4",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("LIST", ["p1", "p2b"]),
        ("a table", ["p2"]),
        ("elsewhere", ["f1", "f2"]),
        ("before-list fix", ["p1"]),
        ("nothing like it", []),
    ],
)
async def test_t01_prompts_are_found_by_their_words_labels_agents_and_titles(
    tmp_path: Path, text: str, found: list[str]
) -> None:
    arranged = TreeLayout(await places_of(tmp_path))
    assert [node.id for node in arranged.places.nodes if matches(text, arranged, node)] == found


# Two branches beside each other, and quotes.


async def test_t03_two_branches_are_compared_from_where_they_part(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        found = await tree_of(db).compare("a3", "a2b")
    assert (found.shared, found.shared_prompts) == ("a1", 1)
    assert [row.id for row in found.tails[0].rows] == ["p2", "t0p2", "a2", "p3", "a3"]
    assert [row.id for row in found.tails[1].rows] == ["p2b", "t0p2b", "t1p2b", "a2b"]
    assert {path: file.added for path, file in found.tails[0].files.items()} == {"a.py": 1}
    assert {path: file.added for path, file in found.tails[1].files.items()} == {"a.py": 2, "b.py": 1}


async def test_t03_the_page_has_prompts_answers_and_the_files_that_each_branch_touched(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        found = await tree_of(db).compare("a3", "a2b")
    files = shared_part(found, str(tmp_path)).plain
    left, right = (
        branch_part("A", "one", found.tails[0], 80).plain,
        branch_part("B", "two", found.tails[1], 80).plain,
    )
    assert "Both start with the same prompt." in files
    assert "a.py\n    A  changed 1 time, +1\n    B  changed 1 time, +2" in files
    assert "b.py\n    A  not touched\n    B  changed 1 time, +1" in files
    assert left.startswith("A  one\n  2 prompts") and right.startswith("B  two\n  1 prompt")
    assert [row.text for row in said_on(found.tails[0])] == [
        "use a table",
        "a table it is",
        "add a test",
        "it passes",
    ]
    assert [row.text for row in said_on(found.tails[1])] == ["use a list", "a list it is"]
    assert not any("fix the login" in text for text in (files, left, right))


async def test_t03_branches_that_split_at_the_first_prompt_and_a_branch_that_ends_where_they_part_are_said_to(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        async with db.write() as tx:
            await say(tx, "other", None, "other \x1b[31mwords")
            await say(tx, "again", None, "other \x1b[31mwords")
        apart = await tree_of(db).compare("other", "a1")
        alike = await tree_of(db).compare("other", "again")
        above = await tree_of(db).compare("a1", "a2")
    words = shared_part(apart, "").plain + branch_part("A", "x", apart.tails[0], 80).plain
    assert "They split at the first prompt." in words
    assert "\x1b" not in words
    assert "Both answer the same first prompt." in shared_part(alike, "").plain
    assert (apart.shared, apart.shared_prompts) == (None, 0)
    assert "ends where the branches split" in branch_part("A", "x", above.tails[0], 80).plain


async def test_t03_what_is_too_much_of_a_branch_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        leaf = await say_much(tx, 50)
        await say(tx, "aside", "m9", "another way")
        found = await compare(tx, leaf, "aside", limit=10)
    assert (found.shared, found.shared_prompts) == ("m9", 5)
    assert [row.id for row in found.branches[0].newest] == [f"m{at}" for at in range(40, 50)]
    assert [each.count for each in found.branches] == [40, 1]


async def test_t03_three_branches_are_compared_from_the_last_row_that_all_of_them_have(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        async with db.write() as tx:
            await say(tx, "p3b", "a2", "and \x1b[31mthis")
        found = await tree_of(db).compare("a3", "p3b", "a2b")
        nothing = await tree_of(db).compare("a3", "a2b", "a3")
    assert (found.shared, found.shared_prompts) == ("a1", 1)
    assert [[row.id for row in tail.rows] for tail in found.tails] == [
        ["p2", "t0p2", "a2", "p3", "a3"],
        ["p2", "t0p2", "a2", "p3b"],
        ["p2b", "t0p2b", "t1p2b", "a2b"],
    ]
    words = shared_part(found, str(tmp_path)).plain
    assert "All 3 start with the same prompt." in words
    assert "b.py\n    A  not touched\n    B  not touched\n    C  changed 1 time, +1" in words
    assert nothing.shared == "a1", "a branch may be there twice"
    head, *_ = lines = branch_part("C", "the \x1b[31mthird " * 9, found.tails[2], 36).plain.split("\n")
    assert head.startswith("C  the ") and max(map(len, lines)) <= 36 and "\x1b" not in "".join(lines)


async def test_t04_a_quote_says_where_it_comes_from(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        async with db.read() as reader:
            places = await family_tree(reader, "c1", "a2b")
        arranged = TreeLayout(places)
        rows = {node.id: await tree_of(db).turn_messages(node) for node in places.nodes}
    nodes = {node.id: node for node in places.nodes}
    at = f"{NOW.astimezone():%Y-%m-%d %H:%M}"
    assert quote(arranged, nodes["p2"], rows["p2"]) == (
        f"From another branch, {at}, I said:\n> use a table\n\nand Rehearsal answered:\n> a table it is"
    )
    assert quote(arranged, nodes["f1"], rows["f1"]).startswith("From the conversation “elsewhere”, ")
    assert quote(arranged, nodes["p4"], rows["p4"]).endswith("I said:\n> lost on the way")


async def test_t04_a_quote_of_an_answer_in_several_pieces_has_all_of_them(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "two\nlines")
        for number in (2, 3):
            await say(tx, f"m{number}", f"m{number - 1}", f"piece {number}", kind=Kind.AGENT)
        places = await family_tree(tx, "c1", "m3")
        text = quote(TreeLayout(places), places.nodes[0], await rows_of_prompt(tx, places.nodes[0]))
    assert "> two\n> lines" in text
    assert text.endswith("> piece 2\n>\n> piece 3")

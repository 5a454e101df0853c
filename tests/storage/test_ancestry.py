"""Ancestry: the answers of its climbs are those of a walk from row to row, at a cost that does not grow with it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from catena_store import ancestry, places
from catena_store.chains import turns
from catena_store.clients import progress
from catena_store.conversations import branches, logouts, messages
from catena_store.database import repair
from catena_store.database.database import Database, Reader, Writer
from catena_store.database.schema import shipped
from catena_store.finding import search
from catena_store.records import SPOKEN_KINDS, Kind, MessageState, NewMessage, StopReason
from catena_store.windows import journal
from catena_store.windows.journal import Act, WindowPlace
from support.counted_work import queries_counted
from support.storage.rows import a_turn, every_prompt_carried, new_conversation, new_link, say_much, store

TABLES = ("ancestry", "branch_end")


@dataclass
class Forest:
    """A conversation ``c1`` and a fork ``c2`` of it, walked row by row in Python."""

    rows: dict[str, NewMessage] = field(default_factory=dict)
    fork_point: str | None = None

    def branch(self, leaf: str | None) -> list[str]:
        """The rows from the root to a leaf."""
        found: list[str] = []
        while leaf is not None:
            found.append(leaf)
            leaf = self.rows[leaf].parent_id
        return found[::-1]

    def path(self, leaf: str | None) -> list[str]:
        """The rows from below the last barrier to a leaf."""
        branch = self.branch(leaf)
        start = max((at + 1 for at, id in enumerate(branch) if self.rows[id].barrier), default=0)
        return branch[start:]

    def newest_below(self, id: str, conversation: str) -> str:
        """The newest row of the conversation at or below another, nothing below a refused prompt."""
        found = [id]
        if conversation == "c2" and self.fork_point and id in self.branch(self.fork_point):
            found = self.branch(self.fork_point)[self.branch(self.fork_point).index(id) :]
        for row in self.rows.values():
            kept = row.conversation_id == conversation and row.state is not MessageState.REFUSED
            if kept and row.parent_id in found:
                found.append(row.id)
        return max(found, key=list(self.rows).index)


async def a_forest(tx: Writer, chance: random.Random, size: int) -> Forest:
    """Rows of every kind; each hangs from one of the newest, or anywhere."""
    forest = Forest()
    await new_conversation(tx)
    for number in range(size):
        if number == size // 2:
            forest.fork_point = chance.choice(list(forest.rows))
            await new_conversation(tx, "c2", family="c1", fork_point_id=forest.fork_point)
        conversation = "c2" if forest.fork_point and chance.random() < 0.4 else "c1"
        mine = [row.id for row in forest.rows.values() if row.conversation_id == conversation]
        if conversation == "c2":
            mine.append(str(forest.fork_point))
        parent = chance.choice(mine[-3:] if chance.random() < 0.8 else mine) if mine else None
        kind = chance.choice(list(Kind))
        refused = kind is Kind.USER and chance.random() < 0.3
        row = NewMessage(
            f"m{number}",
            conversation,
            parent if chance.random() < 0.97 else None,
            kind,
            "text",
            MessageState.REFUSED if refused else MessageState.FINAL,
            barrier=kind is Kind.SEAM and chance.random() < 0.3,
            data={"steered": True} if kind is Kind.USER and chance.random() < 0.3 else {},
        )
        await messages.insert_many(tx, [row])
        forest.rows[row.id] = row
    return forest


@pytest.mark.parametrize("seed", range(12))
async def test_a_climb_gives_what_a_walk_from_row_to_row_gives(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with store(tmp_path) as db, db.write() as tx:
        forest = await a_forest(tx, chance, 60)
        every = list(forest.rows)
        for leaf in every:
            branch, path = forest.branch(leaf), forest.path(leaf)
            assert await ancestry.among(tx, leaf, every) == set(branch)
            below = {each for each in every if leaf in forest.branch(each)}
            assert await ancestry.at_or_below(tx, leaf, every) == below
            read = await ancestry.path(tx, leaf, every)
            assert sorted(read.places, key=read.position) == path
            spoken = [id for id in path if forest.rows[id].kind in SPOKEN_KINDS]
            tools = [id for id in path if forest.rows[id].kind is Kind.TOOL]
            assert (read.above.spoken, read.above.tools) == (len(spoken), len(tools))
            content = [id for id in path if id in {*spoken, *tools}]
            assert await ancestry.oldest_content(tx, leaf) == next(iter(content), None)
            prompts = [id for id in path if forest.rows[id].kind is Kind.USER]
            first = {
                id: next((row for row in content if path.index(row) > path.index(id)), None) for id in prompts
            }
            answers = {id: forest.rows[row] for id, row in first.items() if row}
            answered = {id for id, row in answers.items() if row.kind is not Kind.USER or row.data}
            assert await ancestry.answered(tx, leaf, path) == answered
            depth = chance.randrange(len(branch) + 1)
            assert [row.id for row in await messages.page_from(tx, leaf, depth, 3)] == branch[depth:][:3]
            for id in path:
                behind = path[path.index(id) + 1 :]
                assert read.unknown_to(id) == (len({*spoken} & {*behind}), len({*tools} & {*behind}))
            every_tool = [id for id in branch if forest.rows[id].kind is Kind.TOOL]
            assert [row.id for row in await messages.newest_tools(tx, leaf, 3)] == every_tool[-3:]
            bottom = chance.randrange(len(branch))
            top = chance.randint(0, bottom)
            between_depths = await search.rows_with_text(tx, leaf, "", top=top, bottom=bottom)
            assert [row.id for row in between_depths] == branch[top : bottom + 1]
            other = chance.choice(every)
            shared = [id for id in branch if id in forest.branch(other)]
            assert await ancestry.meeting(tx, leaf, other) == (shared[-1] if shared else None)
            for conversation in ("c1", "c2"):
                newest = await ancestry.newest_below(tx, leaf, conversation)
                assert newest == forest.newest_below(leaf, conversation)
                prompts = [id for id in branch if forest.rows[id].kind is Kind.USER]
                born = [id for id in every if forest.rows[id].conversation_id == conversation]
                assert await messages.newest(tx, conversation) == (born[-1] if born else None)
                taken = [id for id in born if forest.rows[id].state is not MessageState.REFUSED]
                left = forest.fork_point if conversation == "c2" else None
                assert await places.of(tx, conversation) == (taken[-1] if taken else left)
                places_of_prompts = await branches.sibling_positions(tx, prompts, conversation)
                parted = await ancestry.partings(tx, leaf, conversation)
                assert await branches.sibling_positions(tx, parted, conversation) == places_of_prompts


async def derived(r: Reader) -> dict[str, list[tuple[object, ...]]]:
    return {table: await r.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}


async def test_r18_an_older_file_gets_the_ancestry_that_it_would_have_had(tmp_path: Path) -> None:
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    async with Database.open(new) as db:
        async with db.write() as tx:
            await a_forest(tx, random.Random(5), 200)
        async with db.read() as r:
            expected = await derived(r)
    async with Database.open(old, migrations=shipped()[:5]):
        pass
    with closing(sqlite3.connect(old, isolation_level=None)) as file:
        file.execute("ATTACH ? AS new", (str(new),))
        for table in ("conversation", "message"):
            names = ", ".join(row[1] for row in file.execute(f"PRAGMA main.table_info({table})").fetchall())
            file.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
    async with Database.open(old) as db, db.read() as r:
        assert await derived(r) == expected
    assert len(expected["ancestry"]) == 200


async def test_ancestry_that_was_damaged_is_derived_from_the_messages_again(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await a_forest(tx, random.Random(3), 100)
        async with db.read() as r:
            before = await derived(r)
        path = db.path
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("UPDATE ancestry SET jump_id = 1, spoken = 0 WHERE id > 50")
        file.execute("DELETE FROM ancestry WHERE id < 20")
        file.execute("BEGIN IMMEDIATE")
        repair.derive_ancestry(file)
        file.execute("COMMIT")
    async with Database.open(path) as db, db.read() as r:
        assert await derived(r) == before


Question = Callable[[Reader, str], Awaitable[object]]

# Asked of a branch of so many rows, by the id of its leaf.
QUESTIONS: Mapping[str, Question] = {
    "a row far above": lambda r, leaf: ancestry.contains(r, leaf, "m1"),
    "the path": lambda r, leaf: ancestry.path(r, leaf, ["m1", "m500", leaf]),
    "the counts": lambda r, leaf: messages.count_between(r, "m3", leaf),
    "the newest tool calls of all the branch": lambda r, leaf: messages.newest_tools(r, leaf, 2_000),
    "where two branches part": lambda r, leaf: ancestry.meeting(r, leaf, "first"),
    "the newest messages": lambda r, leaf: messages.spoken_between(r, None, leaf, 20),
    "what is told of messages": lambda r, leaf: messages.told_between(
        r, None, leaf, characters=2_000, longest=100, each=40, calls=0
    ),
    "what is told of tool calls": lambda r, leaf: messages.calls_between(r, None, leaf, characters=2_000),
    "the last turn": messages.last_turn,
    "the newest row below the first prompt": lambda r, _: ancestry.newest_below(r, "m0", "c1"),
    "where the window stood last": lambda r, _: branches.last_leaf(r, "w", "c1", "m0"),
    "which prompts have siblings": lambda r, leaf: ancestry.partings(r, leaf, "c1"),
    "the siblings in a fork": lambda r, _: branches.siblings(r, "m0", "c2"),
    "the oldest message": ancestry.oldest_content,
    "which prompts have an answer": lambda r, leaf: ancestry.answered(r, leaf, ["m0", "m500", leaf]),
    "a logout since": lambda r, leaf: logouts.logged_out_since(r, "c1", "m1", agent="rehearsal", profile=""),
    "an agent's last turn": lambda r, leaf: turns.newest_on(r, leaf, "rehearsal"),
    "another agent's last turn": lambda r, leaf: turns.newest_on(r, leaf, "other"),
    "the turns to fork at": lambda r, leaf: turns.clean_above(r, ["early", "late", "all"], leaf, limit=3),
    "the links at work": lambda r, _: turns.busy_links(r, ["early", "late", "all"]),
    "the turns at work": lambda r, _: turns.open_in(r, "c1"),
    "the newest row": lambda r, _: messages.newest(r, "c1"),
    "the leaf that nobody left": lambda r, _: places.of(r, "c1"),
    "a leaf that another client moved": lambda r, leaf: progress.passes_through(r, "m1", leaf),
    "a message by its id": lambda r, _: messages.find(r, "c2", "m0"),
}


async def a_long_branch(tx: Writer, length: int) -> str:
    """A branch with an edit at both ends, a logout beside it, a link of its beginning and one of its end."""
    await new_conversation(tx)
    leaf = await say_much(tx, length)
    end = length - 1
    await new_conversation(tx, "c2", family="c1", fork_point_id=leaf)
    await new_link(tx, "early", knows="m1", reach="m1")
    await new_link(tx, "late", knows=leaf, reach=leaf)
    for turn, prompt, link in (("t0", 0, "early"), ("t1", end - 1, "late")):
        await turns.insert(tx, a_turn(turn, f"m{prompt}", link, last_id=f"m{prompt + 1}"))
        await turns.end(tx, turn, stop_reason=StopReason.END_TURN)
        await messages.set_turn(tx, f"m{prompt}", turn, link)
    await new_link(tx, "all", knows=leaf, reach=leaf)
    await every_prompt_carried(tx, "c1", "all")
    logout = logouts.logout_data("rehearsal", "")
    await messages.insert_many(
        tx,
        [
            NewMessage("first", "c1", None, Kind.USER, "the first prompt, edited"),
            NewMessage("last", "c1", f"m{end - 2}", Kind.USER, "the last prompt, edited"),
            NewMessage("out", "c1", "last", Kind.SEAM, "logged out", data=logout, barrier=True),
        ],
    )
    for number in range(3):
        await journal.record(
            tx,
            workspace_id=None,
            window_id="w",
            conversation_id="c1",
            act=Act.SIBLING,
            before=WindowPlace("c1", leaf).as_mapping(),
            after=WindowPlace("c1", f"m{end - number - 2}").as_mapping(),
        )
    return leaf


async def test_m03_what_is_asked_of_a_branch_of_20000_messages_costs_what_it_costs_in_one_of_1000(
    tmp_path: Path,
) -> None:
    steps: dict[int, dict[str, int]] = {}
    for length in (1_000, 20_000):
        (folder := tmp_path / str(length)).mkdir()
        async with store(folder) as db:
            async with db.write() as tx:
                leaf = await a_long_branch(tx, length)
            steps[length] = {}
            for name, question in QUESTIONS.items():
                async with queries_counted(db) as queries, db.read() as r:
                    for _ in range(5):
                        await question(r, leaf)
                steps[length][name] = queries.steps
    grown = {name: (few, steps[20_000][name]) for name, few in steps[1_000].items()}
    assert {name: cost for name, cost in grown.items() if cost[1] > 2 * cost[0] + 500} == {}

"""The search of the tree in what was answered: in the store, and on the screen of the real app."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from catena.screens.tree.rows import TreeSearch
from catena.screens.tree.screen import TreeScreen
from catena.widgets.row_list import RowList
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.errors import StoreBusy
from catena_store.finding.search import TreeHit, TreeHits, find_in_family
from catena_store.records import Kind, NewMessage
from support.conversations.rehearsed import World
from support.screen.pilot import Person
from support.screen.tree import in_the_shop, open_tree, rows_of, under_the_cursor
from support.screen.tree import world as world
from support.storage.rows import new_conversation, say, store
from support.storage.tree import broad, label, shop


async def hits(db: Database, text: str, **bounds: int) -> TreeHits:
    async with db.read_concurrently() as reader:
        return await find_in_family(reader, "c1", text, **bounds)


async def looking_for(person: Person, screen: TreeScreen, text: str) -> TreeSearch:
    """Type it into the field; what the prompts say is seen at once."""
    field = screen.query_one(TreeSearch)
    if not field.has_focus:
        await person.press("slash")
        await person.until(lambda: field.has_focus, "the field")
    await person.press(*text)
    return field


# The store.


async def test_t01_what_was_said_is_found_by_its_prompt_in_the_family_and_nowhere_else(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        await shop(db, tmp_path)
        async with db.write() as tx:
            await new_conversation(tx, "other")
            await say(tx, "o1", None, "a table of mine", conversation="other")
            await say(tx, "s1", "a3", "a thought of tables", kind=Kind.THOUGHT)
            await say(tx, "s2", "s1", "said into the turn: tablecloth", data={"steered": True})
        found = await hits(db, "tab")
        assert found == TreeHits(
            {
                "p3": TreeHit(Kind.USER, "…the turn: tablecloth"),
                "p2": TreeHit(Kind.AGENT, "a table it is"),
            }
        )
        # Two rows of p2 have it, of which the newest counts; it is the same row that a smaller page has.
        assert (await hits(db, "tab", limit=1)).cut
        assert (await hits(db, "without then")).by_prompt == {"f1": TreeHit(Kind.AGENT, "without, then")}
        assert await hits(db, "?!") == await hits(db, "") == await hits(db, "nothinglikeit") == TreeHits()
        async with db.read_concurrently() as reader:
            assert await find_in_family(reader, "no such family", "tab") == TreeHits()


async def test_t01_a_snippet_begins_where_the_word_is_however_long_the_answer(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
            await say(tx, "p1", None, "why")
            long = f"{'so it is said ' * 200}because of the needle in it, {'and so on ' * 200}"
            await say(tx, "a1", "p1", long, kind=Kind.AGENT)
        (hit,) = (await hits(db, "needle")).by_prompt.values()
        assert hit.snippet.startswith("…of the needle in it, and so on")
        assert len(hit.snippet) < 120


# The screen.


async def test_t01_an_answer_is_found_marked_with_its_words_and_enter_goes_to_its_turn(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await looking_for(person, screen, "passes")
        text = await person.sees("in the answer: it passes")
        assert rows_of(screen) == ["p3"]
        assert "○ add a test" in text
        await person.press("enter")
        await person.until(lambda: screen.focused is None, "the letters to be commands again")
        assert under_the_cursor(screen) == "p3"
        await person.press("enter")
        await person.back()
        await person.until(lambda: person.tab.leaf_id == "a3", "that turn")


async def test_t01_an_answer_in_a_fork_is_found_and_enter_goes_there(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await looking_for(person, screen, "without, then")
        await person.sees("in the answer: without, then")
        await person.press("enter")
        await person.until(lambda: screen.focused is None, "the letters to be commands again")
        await person.press("enter")
        await person.back()
        await person.until(lambda: person.tab.conversation.id == "c2", "the fork's tab")
        await person.until(lambda: person.tab.leaf_id == "af1", "that turn")


async def test_t01_prompts_are_shown_without_waiting_for_the_answers_and_the_cursor_stays_when_these_come(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asked_by_hand(monkeypatch) as asked:
        async with in_the_shop(world) as person:
            screen = await open_tree(person)
            field = await looking_for(person, screen, "table")
            await person.until(lambda: rows_of(screen) == ["p2"], "the prompt")
            await person.until(
                lambda: [text for text, _ in asked if text == "table"], "the store to be asked"
            )
            assert under_the_cursor(screen) == "p2"
            asked[-1][1].set_result(
                TreeHits({"p1": TreeHit(Kind.AGENT, "of that \x1b]52;c;aa\x07\u202etable")})
            )
            text = await person.sees("in the answer: of that")
            assert rows_of(screen) == ["p1", "p2"]
            assert under_the_cursor(screen) == "p2"
            assert not {"\x1b", "\x07", "\u202e"} & set(text)
            assert field.wanted == "table"


async def test_t01_what_another_text_had_found_is_never_shown_and_its_search_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asked_by_hand(monkeypatch) as asked:
        async with in_the_shop(world) as person:
            screen = await open_tree(person)
            await looking_for(person, screen, "zebra")
            await person.sees("no prompt matches; searching answers")
            await person.until(
                lambda: [text for text, _ in asked if text == "zebra"], "the store to be asked"
            )
            first = asked[-1][1]
            await looking_for(person, screen, "s")
            await person.until(first.cancelled, "the first search to be given up")
            await person.until(lambda: asked[-1][0] == "zebras", "the second search")
            asked[-1][1].set_result(TreeHits({"p3": TreeHit(Kind.AGENT, "zebras pass")}, cut=True))
            await person.sees("in the answer: zebras pass", "only the newest answers are listed")
            await looking_for(person, screen, "q")
            await person.until(lambda: not rows_of(screen), "what was found for less to be gone")
            await person.until(lambda: asked[-1][0] == "zebrasq", "the third search")
            asked[-1][1].set_exception(StoreBusy(world.store))
            await person.sees("no prompt matches", str(StoreBusy(world.store)))
            for words in ("no match", "searching answers", "only the newest answers are listed"):
                await person.sees_no(words)
            await person.press("escape")
            await person.sees("use a table", "◉ use a list")


@contextmanager
def asked_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[list[tuple[str, asyncio.Future[TreeHits]]]]:
    """What the store is asked for, and the futures by which it answers."""
    asked: list[tuple[str, asyncio.Future[TreeHits]]] = []

    async def ask(self: ConversationTree, text: str) -> TreeHits:
        answer: asyncio.Future[TreeHits] = asyncio.get_running_loop().create_future()
        asked.append((text, answer))
        return await answer

    with monkeypatch.context() as patched:
        patched.setattr(ConversationTree, "search", ask)
        yield asked


async def test_t01_a_letter_that_follows_at_once_leaves_nothing_of_the_search_before(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        field = await looking_for(person, screen, "passe")
        for _ in range(3):
            field.search()  # within one turn of the loop, as keys of one packet do
        await looking_for(person, screen, "s")
        await person.sees("in the answer: it passes")
    gc.collect()  # a coroutine that was never begun is told now, as an error


async def test_t01_what_is_answered_while_the_tree_is_searched_comes_in(world: World) -> None:
    async with in_the_shop(world) as person:
        await person.say("cue first")
        await person.until(lambda: person.tab.at_work and person.tab.leaf_id != "a2b", "the turn")
        screen = await open_tree(person)
        await looking_for(person, screen, "cetacean")
        await person.sees("no match")
        async with Database.open(world.store) as db, db.write() as tx:
            await say(tx, "late", "a3", "a cetacean, too", kind=Kind.AGENT)
        world.cue("first")
        await person.sees("in the answer: a cetacean, too")
        assert rows_of(screen) == ["p3"]
        await person.press("escape")
        await person.sees("◉ cue first")
        await person.press("escape")
        await person.back()
        await person.idle()


async def test_t01_the_search_is_of_use_in_40_columns(world: World) -> None:
    async with in_the_shop(world, (40, 10)) as person:
        screen = await open_tree(person)
        await looking_for(person, screen, "passes")
        text = await person.sees("○ add a test", "answer: it passes")
        assert max(len(line) for line in text.splitlines()) <= 40


async def test_t01_a_click_on_a_hit_selects_it_and_a_second_one_goes_to_its_turn(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await looking_for(person, screen, "it")
        await person.sees("in the answer: it passes", "in the answer: it was the form")
        at = rows_of(screen).index("p3")
        await person.pilot.click(RowList, offset=(40, at))
        await person.until(lambda: under_the_cursor(screen) == "p3", "the row to be selected")
        await person.pilot.click(RowList, offset=(40, at))
        await person.back()
        await person.until(lambda: person.tab.leaf_id == "a3", "that turn")


async def test_t01_among_10_000_messages_an_answer_is_found_while_the_store_is_written_to(
    world: World,
) -> None:
    async def fill(db: Database, directory: Path) -> None:
        leaf = await broad(db, directory, 5_000)
        async with db.write() as tx:
            said = NewMessage("needle", "c1", leaf, Kind.AGENT, text="there is the needle")
            await messages.insert_many(tx, [said])

    async with in_the_shop(world, fill=fill, leaf="needle") as person:
        screen = await open_tree(person)
        field = screen.query_one(TreeSearch)
        async with person.tab.conversation.services.db.write():
            await looking_for(person, screen, "needle")
            await person.sees("in the answer: …is the needle")
        assert rows_of(screen) == ["p4999"]
        field.value = "so be"
        await person.sees("Too many matches: only the newest answers are listed.")
        assert len(rows_of(screen)) == 500


async def test_t01_the_hint_of_the_tree_names_the_keys_that_are_of_use_at_every_width(world: World) -> None:
    async with in_the_shop(world, (100, 30)) as person:
        screen = await open_tree(person)
        await person.sees("enter go there · / search · space fold · m mark", "q quote · esc close")
        await looking_for(person, screen, "table")
        await person.sees("enter keep these  ·  esc whole tree")
        await person.sees_no("space fold")
        await person.pilot.click("#hint", offset=(4, 0))
        await person.sees("enter go there · / search · m mark", "q quote · esc whole tree")
        assert screen.focused is None
        await person.sees_no("space fold")
        await person.press("slash")
        await person.until(lambda: screen.focused is not None, "the field")
        await person.press(*"zzz")
        await person.until(lambda: not rows_of(screen), "nothing to be found")
        await person.sees_no("enter keep these")
        await person.press("escape")
        await person.sees("enter go there · / search · space fold")
        await person.pilot.resize_terminal(40, 10)
        await person.sees("enter go there", "esc close")


async def test_t01_an_empty_conversation_says_so_before_and_after_a_search(world: World) -> None:
    async def empty(db: Database, directory: Path) -> None:
        async with db.write() as tx:
            await new_conversation(tx, "c1", cwd=str(directory))

    async with in_the_shop(world, fill=empty, leaf=None) as person:
        await person.type("/tree")
        await person.press("enter")
        screen = await person.sees_dialog(TreeScreen)
        text = await person.sees("no prompts yet", "esc close")
        assert "enter go" not in text
        await looking_for(person, screen, "it")
        await person.sees("no match")
        await person.press("escape")
        await person.sees("no prompts yet")


async def test_t01_forty_levels_deep_a_line_says_how_many_levels_are_not_drawn_and_keeps_its_words(
    world: World,
) -> None:
    async def deep(db: Database, directory: Path) -> None:
        async with db.write() as tx:
            await new_conversation(tx, "c1", cwd=str(directory))
            for level in range(41):
                await say(tx, f"x{level}", f"x{level - 1}" if level else None, f"first {level}")
            for level in range(40, -1, -1):
                await say(tx, f"y{level}", f"x{level}", f"other {level}")
        await label(db, "k1", "x3", "a label that is much longer than what anybody has room for")

    async with in_the_shop(world, (60, 12), fill=deep, leaf="y0") as person:
        screen = await open_tree(person)
        await person.press("g")
        await person.sees("○ [a label that is much longer…] first 3")
        await person.press("pagedown", "pagedown", "pagedown", "pagedown", "pagedown")
        await person.until(lambda: under_the_cursor(screen) in rows_of(screen)[38:46], "the deepest lines")
        await person.sees("…33 │ │ │ │ │ │ ├─○ first 40", "…32 │ │ │ │ │ │ ├─○ first 39")

"""The tree on the screen: the real app on a real store, with real agent processes where something is said."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from catena.screens.common.page import PageScreen
from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena.widgets.row_list import RowList
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_store.conversations.tree import TreeNode
from catena_store.database.database import Database
from catena_store.records import Message, MessageState
from support.conversations.rehearsed import World
from support.counted_work import calls_counted
from support.screen.pilot import Person, at_the_screen
from support.screen.tree import in_the_shop, open_tree, rows_of, under_the_cursor
from support.screen.tree import world as world
from support.storage.rows import new_conversation, say
from support.storage.tree import broad, shop


async def closed(person: Person) -> None:
    await person.back()


async def test_t01_the_tree_shows_every_branch_with_labels_agents_marks_and_where_one_stands(
    world: World,
) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        text = await person.sees("5 prompts, 2 branches", "1 other conversation")
        assert under_the_cursor(screen) == "p2b"
        lines = [line.lstrip(" ▌").rstrip() for line in text.splitlines()]
        assert any(line.startswith("● [before-list] fix the login") and "Rehearsal" in line for line in lines)
        assert any(line.startswith("├─○ use a table") for line in lines)
        assert any(
            line.startswith("│ ├─◇ ▸ “elsewhere” · try without") and "+1" in line and "fork" in line
            for line in lines
        )
        assert any(line.startswith("│ ○ add a test") and "stopped" in line for line in lines)
        assert any(
            line.startswith("◉ use a list") and "‹ 2/2 ›" in line and "other" in line for line in lines
        )
        assert any(line.startswith("✗ lost on the way") and "not sent" in line for line in lines)


async def test_m09_the_tree_calls_an_agent_by_its_title_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    settings = Settings(agents={"rehearsal": AgentSetting("rehearsal", title="The stage")})
    agent = find_agent("rehearsal", settings)
    async with at_the_screen(str(tmp_path), agent=agent, settings=settings) as person:
        await person.say("say one")
        await person.idle()
        await open_tree(person)
        await person.sees("Tree", "1 prompt", "The stage")
        assert "Rehearsal" not in person.text.partition("Tree ")[2]


async def test_t01_branches_fold_and_search_finds_what_is_folded(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await person.press("g", "space")
        await person.sees("▸ [before-list] fix the login", "+6")
        await person.sees_no("use a table")
        await person.press("slash", *"again")
        await person.sees("and again")
        await person.sees_no("fix the login")
        await person.press("enter", "escape")
        await person.sees("fix the login", "│ │ ○ and again")
        assert under_the_cursor(screen) == "f2"
        await person.press("slash", *"zzz")
        await person.sees("no match", "esc whole tree")
        await person.press("escape", "escape")
        await closed(person)


async def test_t01_the_tree_is_of_use_in_60_columns_and_in_a_very_small_terminal(world: World) -> None:
    async with in_the_shop(world, (60, 20)) as person:
        await open_tree(person)
        text = await person.sees("◉ use a list", "other", "stopped", "│ ├─◇ ▸ “elsewh")
        assert max(len(line) for line in text.splitlines()) <= 60
        await person.pilot.resize_terminal(40, 10)
        await person.until(lambda: max(map(len, person.text.splitlines())) <= 40, "the other size")
        await person.sees("◉ use a list", "├─○ use a table")
        await person.press("k", "k", "k", "enter")
        await person.sees("a table it is")


async def test_t01_branches_of_branches_of_branches_leave_room_for_words(world: World) -> None:
    async def deep(db: Database, path: Path) -> None:
        async with db.write() as tx:
            await new_conversation(tx, "c1", cwd=str(path))
            for level in range(15):
                await say(tx, f"x{level}", f"x{level - 1}" if level else None, f"first {level}")
            for level in range(14, -1, -1):
                await say(tx, f"y{level}", f"x{level}", f"other {level}")

    async with in_the_shop(world, (60, 12), fill=deep, leaf="y0") as person:
        screen = await open_tree(person)
        await person.press("g", *["j"] * 16)
        await person.until(lambda: under_the_cursor(screen) == "y13", "what follows the deepest branch")
        text = await person.sees("─○ first 14", "○ other 13")
        assert any(line.strip().startswith("…") for line in text.splitlines())


async def test_t01_3000_prompts_are_painted_with_the_work_for_those_in_sight(world: World) -> None:
    async with in_the_shop(world, fill=lambda db, path: broad(db, path, 3_000), leaf="a2999") as person:
        screen = await open_tree(person)
        list_of_rows = screen.query_one(RowList)
        assert len(list_of_rows.rows) == 3_000
        with calls_counted() as calls:
            screen._draw()
            list_of_rows.render_lines(list_of_rows.scrollable_content_region)
        assert calls.made < 20_000
        await person.press("g")
        await person.sees("prompt number 0 of many")
        await person.press("G")
        await person.sees("prompt number 2999 of many")
        await person.press("left_square_bracket")
        await person.until(lambda: screen._lines[list_of_rows.cursor].parts, "a branch point")


async def test_t02_enter_stands_at_any_prompt_says_the_price_and_undo_comes_back(world: World) -> None:
    async with in_the_shop(world) as person:
        person.composer.put("half a thought")
        await open_tree(person)
        await person.press("k", "k", "k")  # from the list: the test, the fork, the table
        await person.sees("├─○ use a table")
        await person.press("enter")
        await closed(person)
        await person.sees("a table it is", "Now at “use a table”. Your next prompt: ")
        await person.sees_no("a list it is")
        await person.done()
        assert person.tab.leaf_id == "a2"
        assert person.draft == ""  # the draft is that of the branch which was left
        await person.say("/undo")
        await person.sees("a list it is")
        await person.until(lambda: person.draft == "half a thought", "the draft")
        assert person.tab.leaf_id == "a2b"


async def test_t02_what_is_said_after_a_jump_hangs_from_there(world: World) -> None:
    async with in_the_shop(world) as person:
        await open_tree(person)
        await person.press("g", "enter")
        await closed(person)
        await person.until(lambda: person.tab.leaf_id == "a1", "the first answer")
        await person.say("say anew")
        await person.sees("  anew")
        await person.idle()
        tree = await person.tab.conversation.tree.places(person.tab.window)
        assert [node.parent_id for node in tree.nodes if node.preview == "say anew"] == ["p1"]
        assert tree.here == next(node.id for node in tree.nodes if node.preview == "say anew")


async def test_t02_e_goes_to_the_end_of_the_branch_under_the_cursor(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await person.press("k", "k", "k", "space", "e")
        await person.until(lambda: under_the_cursor(screen) == "p3", "the end of that branch")
        await person.press("enter")
        await person.until(lambda: person.tab.leaf_id == "a3", "its end")
        await person.sees("it passes")


async def test_t02_a_prompt_that_no_agent_took_is_nothing_to_go_on_from_and_can_be_quoted(
    world: World,
) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await person.press("G", "enter")
        await person.sees("That prompt was never sent")
        assert person.app.screen is screen
        await person.press("q")
        await closed(person)
        await person.until(lambda: "> lost on the way" in person.draft, "the quote")


async def test_t02_a_prompt_of_a_fork_is_reached_in_the_forks_own_tab(world: World) -> None:
    async with in_the_shop(world) as person:
        await open_tree(person)
        await person.press("k", "k")
        await person.sees("◇ ▸ “elsewhere”")
        await person.press("f")
        await person.sees("That is in another conversation")
        await person.press("enter")
        await closed(person)
        await person.until(lambda: person.tab.conversation.id == "c2", "the fork")
        await person.until(lambda: person.tab.leaf_id == "af1", "its first answer")
        assert len(person.tabs) == 2


async def test_t02_nothing_moves_while_a_turn_runs_and_it_is_said(world: World) -> None:
    async with in_the_shop(world) as person:
        await person.say("cue held")
        await person.until(lambda: person.tab.at_work, "the turn")
        await person.until(lambda: person.tab.leaf_id != "a2b", "the prompt's row")
        await open_tree(person)
        await person.press("g", "enter")
        await closed(person)
        await person.sees("The agent is still working; Esc stops it.")
        assert person.tab.leaf_id != "a1"
        await person.say("/stop")
        await person.idle()


async def test_t01_f_in_the_tree_forks_from_a_prompt_of_another_branch(world: World) -> None:
    async with in_the_shop(world) as person:
        await open_tree(person)
        await person.press("k", "k", "k", "f")
        await closed(person)
        await person.sees("Fork from here")
        await person.press("enter")
        await person.until(lambda: person.tab.conversation.id not in ("c1", "c2"), "the fork")
        assert person.tab.conversation.record.fork_point_id == "a2"


async def test_t03_d_compares_two_marked_branches_and_one_with_where_one_stands(world: World) -> None:
    async with in_the_shop(world) as person:
        await open_tree(person)
        await person.press("g", "d")
        await person.sees("Both are on one branch.")
        await person.press("end", "k", "k", "d")
        await person.until(lambda: isinstance(person.app.screen, PageScreen), "the page")
        await person.sees(
            "you are here", "Both start with the same prompt.", "changed 1 time, +2", "not touched"
        )
        await person.press("escape")
        await person.sees("Tree")
        await person.press("m")
        await person.sees("Marked. d compares", "* │ ○ add a test")
        await person.press("k", "m")
        await person.sees("Two marked")
        await person.press("d")
        await person.until(lambda: isinstance(person.app.screen, PageScreen), "the page")
        await person.sees("Both start with the same 2 prompts.", "…“and again”")


async def test_t04_q_quotes_another_branch_behind_the_draft_of_this_one(world: World) -> None:
    async with in_the_shop(world) as person:
        person.composer.put("as we said:")
        await open_tree(person)
        await person.press("k", "k", "k", "q")
        await closed(person)
        await person.until(lambda: "> a table it is" in person.draft, "the quote")
        assert person.draft.startswith("as we said:\n\nFrom another branch, ")
        assert "I said:\n> use a table\n\nand Rehearsal answered:\n> a table it is" in person.draft
        assert person.tab.leaf_id == "a2b"
        await open_tree(person)
        await person.press("m", "k", "m", "q")
        await closed(person)
        await person.until(lambda: "> add a test" in person.draft, "the second quote")
        assert "From this branch, " in person.draft


async def test_t04_a_quote_that_is_read_slowly_goes_to_its_tab_and_keeps_what_came_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, may_read = ConversationTree.turn_messages, asyncio.Event()

    async def read_slowly(tree: ConversationTree, node: TreeNode) -> Sequence[Message]:
        await may_read.wait()
        return await read(tree, node)

    async with in_the_shop(world) as person:
        await person.new_tab()
        await person.to_tab(1, "ctrl+pageup")
        first = person.tab
        person.composer.put("as we said:")
        for keys in (("k", "k", "k"), ()):
            await open_tree(person)
            await person.press(*keys)
            monkeypatch.setattr(ConversationTree, "turn_messages", read_slowly)
            await person.press("q")
            await person.back()
        await person.to_tab(2, "ctrl+pagedown")
        person.composer.put("elsewhere")
        may_read.set()
        await person.until(lambda: first.draft.count("I said:") == 2, "both quotes")
        assert first.draft.startswith("as we said:") and person.draft == "elsewhere"


async def test_t01_a_turn_that_runs_comes_into_the_open_tree_and_the_cursor_folds_marks_and_search_stay(
    world: World,
) -> None:
    async with in_the_shop(world) as person:
        await person.say("cue first")
        await person.until(lambda: person.tab.at_work and person.tab.leaf_id != "a2b", "the turn")
        await person.say("say use both")
        await person.until(lambda: person.tab.queue, "the prompt to wait")
        screen = await open_tree(person)
        await person.sees("◉ cue first", "6 prompts")
        await person.press("g", "j", "m", "space")
        await person.sees("* ├─○ ▸ use a table")
        await person.press("slash", *"use", "enter")
        await person.until(lambda: rows_of(screen) == ["p2", "p2b"], "what was found")
        world.cue("first")
        await person.until(lambda: len(rows_of(screen)) == 3, "the prompt that waited")
        await person.sees("7 prompts", "◉ say use both")
        assert under_the_cursor(screen) == "p2"
        await person.press("escape")
        await person.sees("* ├─○ ▸ use a table", "● cue first", "◉ say use both")
        assert under_the_cursor(screen) == "p2"
        await person.press("escape")
        await closed(person)
        await person.idle()


async def test_t01_how_a_turn_ended_and_what_is_said_in_an_open_fork_come_into_the_open_tree(
    world: World,
) -> None:
    async with in_the_shop(world) as person:
        first = person.tab
        fork = await person.chat.context.tabs.open_conversation("c2")
        await person.say("cue broken; refuse")
        await person.until(lambda: first.at_work and first.leaf_id != "a2b", "the turn")
        await open_tree(person)
        assert "refused" not in await person.sees("◉ cue broken", "+1")
        world.cue("broken")
        await person.sees("refused")
        await fork.window.say("say beside")
        await person.sees("◇ ▸ “elsewhere”", "+2")
        await fork.window.wait_idle()
        await person.press("escape")
        await closed(person)
        await person.idle()


async def test_t01_a_failed_turn_in_the_tree_has_its_cause_in_two_words(world: World) -> None:
    async with in_the_shop(world, (120, 40)) as person:
        for script in (
            "say a half; ratelimit 600",
            "say a half; overload",
            "errortext",
            "say b; error 1 why",
            "crash",
        ):
            await person.say(script)
            await person.idle()
        await open_tree(person)
        lines = (await person.sees("◉ crash")).splitlines()
        for cause in (
            "ratelimit 600 .* rate limit",
            "overload .* overloaded",
            "errortext .* rate limit",
            "crash .* agent exited",
            "error 1 why .* failed",
        ):
            assert any(re.search(cause, line) for line in lines), f"{cause!r} in {lines}"


async def test_t01_the_end_of_a_turn_shows_code_as_the_transcript_does(world: World) -> None:
    async with in_the_shop(world, (100, 40)) as person:
        await person.answered("say use `sorted` there")
        await open_tree(person)
        await person.sees("use sorted there")


async def test_t01_a_click_selects_and_a_second_one_goes_there(world: World) -> None:
    async with in_the_shop(world) as person:
        screen = await open_tree(person)
        await person.pilot.click(RowList, offset=(12, 0))
        await person.until(lambda: under_the_cursor(screen) == "p1", "the first prompt to be selected")
        assert person.app.screen is screen
        await person.pilot.click(RowList, offset=(12, 0))
        await closed(person)
        await person.until(lambda: person.tab.leaf_id == "a1", "the first answer")


async def test_t01_what_agents_and_people_wrote_cannot_steer_the_terminal(world: World) -> None:
    async def hostile(db: Database, path: Path) -> None:
        await shop(db, path)
        async with db.write() as tx:
            await say(tx, "bad", "a1", "one\x1b]52;c;aaaa\x07\ntwo\u202e", state=MessageState.FINAL)

    async with in_the_shop(world, fill=hostile) as person:
        await open_tree(person)
        text = await person.sees("one")
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text

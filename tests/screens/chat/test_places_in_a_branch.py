"""Places in a long branch: its beginning, its end and the middle, each gone to in one step."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from catena.screens.chat import presenter
from catena.transcript.model.heights import ReadingPosition
from catena.transcript.widget import transcript
from catena.workspace.tab_branches import HistoryPage, TabBranches
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.database.location import default_path
from catena_store.ids import new_id
from catena_store.records import Kind, NewMessage
from support.conversations.rehearsed import World
from support.screen.chain import world as world
from support.screen.pilot import Person, at_the_screen

ROWS = 3_000
MOST_SHOWN = 400  # rows, of so many


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def long_branch(*, cwd: str = "/usr", sibling_of: int | None = None, one_turn: bool = False) -> str:
    """A conversation of one long branch, with a second version of one of its prompts if that is named."""
    async with Database.open(default_path()) as db, db.write() as tx:
        conversation = await conversations.create(tx, id=new_id(), agent="rehearsal", profile="", cwd=cwd)
        new: list[NewMessage] = []
        for row in range(ROWS):
            parent = new[-1].id if new else None
            kind = Kind.AGENT if row % 2 or (row and one_turn) else Kind.USER
            new.append(NewMessage(new_id(), conversation.id, parent, kind, f"message {row} of all"))
        if sibling_of is not None:
            parent = new[sibling_of].parent_id
            new.insert(
                sibling_of, NewMessage(new_id(), conversation.id, parent, Kind.USER, "the first version")
            )
        await messages.insert_many(tx, new)
        await conversations.touch(tx, conversation.id)
    return conversation.id


def shown(person: Person) -> int:
    """How many messages the transcript holds."""
    return len(person.transcript._column.entries)


async def at_home(person: Person) -> None:
    """Browse, and go to the beginning."""
    await person.browse()
    await person.press("home")
    await person.sees("message 0 of all")


async def test_h24_home_is_the_beginning_and_end_the_end_in_one_press(tmp_path: Path) -> None:
    conversation = await long_branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await at_home(person)
        assert shown(person) < MOST_SHOWN
        assert not person.transcript.following
        await person.press("j")
        record = person.transcript.record(person.transcript.current)
        assert record is not None
        assert record.text == "message 1 of all"
        await person.press("end")
        await person.sees(f"message {ROWS - 1} of all")
        assert person.transcript.following
        assert person.transcript.current is not None
        assert shown(person) < MOST_SHOWN


async def test_h24_from_the_beginning_the_branch_is_read_on_downwards_without_a_gap(tmp_path: Path) -> None:
    conversation = await long_branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await at_home(person)
        for _ in range(30):
            top = person.transcript.scroll_y
            await person.press("pagedown")
            await person.until(lambda top=top: person.transcript.scroll_y > top, "the next page")  # type: ignore[misc]
        await person.idle()
        texts = [entry.message.text for entry in person.transcript._column.entries]
        assert texts == [f"message {row} of all" for row in range(len(texts))]
        assert len(texts) > MOST_SHOWN


async def test_h24_what_comes_while_one_reads_the_beginning_moves_nothing_and_stands_at_the_end(
    world: World,
) -> None:
    conversation = await long_branch(cwd=str(world.project))
    async with at_the_screen(str(world.project), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await person.say("say coming; cue go; tool read Look; say and more")
        await person.sees("  coming")
        await at_home(person)
        below = person.transcript.below
        before = person.text.splitlines()[:20]
        world.cue("go")
        await person.idle()
        assert person.text.splitlines()[:20] == before
        assert person.transcript.below > below
        newest = person.chat.context.presenter.newest(Kind.AGENT)
        assert newest is not None
        assert "and more" in newest.text
        await person.press("end")
        await person.sees("and more")
        assert person.transcript.below == 0


async def test_h24_an_answer_that_grows_is_whole_where_its_beginning_is_reached_from_above(
    world: World,
) -> None:
    conversation = await long_branch(cwd=str(world.project))
    async with at_the_screen(str(world.project), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await person.say("say coming; cue go; say and on")
        await person.sees("  coming")
        await at_home(person)
        await person.press("end")
        await person.sees("▌ coming")
        world.cue("go")
        await person.sees("and on")
        await person.idle()
        texts = [entry.message.text for entry in person.transcript._column.entries]
        assert len(texts) == len({entry.message.id for entry in person.transcript._column.entries})
        assert "and on" in texts[-1]


async def test_h24_a_place_in_the_middle_is_kept_over_a_restart_and_read_at_once(tmp_path: Path) -> None:
    conversation = await long_branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await at_home(person)
        for _ in range(3):
            top = person.transcript.scroll_y
            await person.press("pagedown")
            await person.until(lambda top=top: person.transcript.scroll_y > top, "the next page")  # type: ignore[misc]
        first = next(line for line in person.text.splitlines() if "message " in line).strip(" ▌")
        await person.press("escape")
        await person.writing()
        await person.say("/quit")
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(first)
        assert shown(person) < MOST_SHOWN


async def test_h24_a_branch_point_is_gone_to_in_one_step_from_the_other_end(tmp_path: Path) -> None:
    conversation = await long_branch(sibling_of=40)
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await person.browse()
        await person.press("[")
        await person.sees("message 40 of all", "2/2")
        record = person.transcript.record(person.transcript.current)
        assert record is not None
        assert record.text == "message 40 of all"
        await person.press("[")
        await person.sees("No branch point above.")
        await person.press("end")
        await person.sees(f"message {ROWS - 1} of all")
        await person.press("[")
        await person.sees("message 40 of all")
        await person.press("home", "]")
        await person.sees("message 40 of all", "2/2")


async def test_h24_esc_twice_at_the_beginning_chooses_the_last_prompt_and_esc_leads_back(
    tmp_path: Path,
) -> None:
    conversation = await long_branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await at_home(person)
        await person.press("escape")
        await person.writing()
        await person.escape_twice()
        await person.sees(f"message {ROWS - 2} of all")
        record = person.transcript.record(person.transcript.current)
        assert record is not None
        assert record.text == f"message {ROWS - 2} of all"
        await person.press("escape")
        await person.sees("message 0 of all")


async def test_h24_however_much_is_read_only_what_is_near_the_screen_stays_loaded(tmp_path: Path) -> None:
    conversation = await long_branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await at_home(person)
        transcript, presenter = person.transcript, person.chat.context.presenter
        most = 0

        def held() -> list[int]:
            return [entry.message.depth for entry in transcript._column.entries]

        async def read_on(*, down: bool) -> None:
            nonlocal most
            before, seen = presenter.loaded, person.text
            if down:
                transcript._scroll_to_anchor(None)  # the last message that is loaded
            else:
                transcript._scroll_to_top()
            await person.until(lambda: presenter.loaded != before and person.text != seen, "the next page")
            most = max(most, len(held()))
            assert held() == list(presenter.loaded)

        while presenter.loaded.stop < ROWS:
            await read_on(down=True)
        assert transcript.below == 0
        assert transcript.record(transcript.current) is not None
        while presenter.loaded.start:
            await read_on(down=False)
        assert most < ROWS / 2
        await person.press("home")
        await person.sees("message 0 of all")
        newest = presenter.newest(Kind.AGENT)
        assert newest is not None
        assert newest.text == f"message {ROWS - 1} of all"
        await person.press("end")
        await person.sees(f"message {ROWS - 1} of all")


async def test_h24_the_prompt_of_a_place_is_edited_though_it_stands_far_above(tmp_path: Path) -> None:
    conversation = await long_branch(one_turn=True)
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await person.browse()
        await person.press("e")
        await person.writing()
        assert person.draft == "message 0 of all"


@pytest.mark.parametrize("seed", range(3))
async def test_h24_wherever_one_reads_while_an_answer_comes_the_end_is_as_it_is_stored(
    world: World, seed: int
) -> None:
    chance = random.Random(seed)
    conversation = await long_branch(cwd=str(world.project))
    async with at_the_screen(str(world.project), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        transcript, presenter = person.transcript, person.chat.context.presenter
        await person.say(
            "stream 20 rate 0; cue a; tool read x; stream 30 rate 300; cue b; tool edit y; stream 9; cue c; say so"
        )
        for cue in ("a", "b", "c", ""):
            for _ in range(6):
                near_end = ROWS - chance.choice((40, 200, 300, 500))
                depth = chance.choice((0, near_end, chance.randrange(ROWS)))
                act = chance.choice(("go", "end", "down", "down", "up"))
                match act:
                    case "go":
                        await presenter.go_to(ReadingPosition(depth, 0, 0).pack())
                    case "end":
                        transcript.follow()
                    case "down":
                        transcript._scroll_to_anchor(None)
                    case _:
                        transcript._scroll_to_top()
                await person.taken_in()
            world.cue(cue or "none")
        await person.idle()
        async with person.chat.context.tabs.store.read() as reader:
            stored = await messages.page(reader, person.tab.leaf_id, 4_000)
        newest = list(presenter._newest.values())
        assert [row.id for row in newest] == [row.id for row in stored[-len(newest) :]]
        first = presenter.loaded.start
        held = {entry.message.id for entry in transcript._column.entries}
        assert held == {row.id for row in stored[first : first + len(held)]}
        await presenter.go_to(None)
        texts = {
            entry.message.id: transcript.text_of(entry.message.id) for entry in transcript._column.entries
        }
        assert all(texts[row.id] == row.text for row in stored[-len(texts) :] if row.kind is Kind.AGENT)
        assert len(stored) - transcript.below == presenter.loaded.stop


async def test_q04_however_many_turns_follow_only_the_rows_near_the_screen_stay_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presenter, "_MOST_ROWS", 20)
    monkeypatch.setattr(presenter, "_FEWEST_CUT", 5)
    monkeypatch.setattr(transcript, "_FAR", 3)
    async with at_the_screen(str(tmp_path), size=(100, 12)) as person:
        most = 0
        for number in range(16):
            await person.answered(f"say turn {number}")
            held = [entry.message.depth for entry in person.transcript._column.entries]
            most = max(most, len(held))
            assert held == list(person.chat.context.presenter.loaded)
        assert most < 30
        await person.sees("turn 15")
        await person.browse()
        await person.press("home")
        await person.sees("█ say turn 0")
        await person.press("end")
        await person.sees("▌ say turn 15")


async def test_q04_who_reads_further_up_while_turns_follow_keeps_no_more_of_them_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presenter, "_MOST_ROWS", 20)
    monkeypatch.setattr(presenter, "_FEWEST_CUT", 5)
    monkeypatch.setattr(transcript, "_FAR", 3)
    async with at_the_screen(str(tmp_path), size=(100, 12)) as person:
        for number in range(6):
            await person.answered(f"say turn {number}")
        await person.browse()
        await person.press("home")
        await person.sees("say turn 0")
        tab, drawn = person.tab, person.chat.context.presenter
        for number in range(6, 20):
            await tab.window.say(f"say turn {number}")
            await person.until(lambda: person.is_over(tab), "the end of its turn")
            held = [entry.message.depth for entry in person.transcript._column.entries]
            assert held == list(drawn.loaded) and len(held) < 40
        assert "say turn 0" in person.text
        assert drawn.loaded.stop < 40 and person.transcript.below == 40 - drawn.loaded.stop
        await person.press("end")
        await person.sees("▌ say turn 19")


async def test_who_writes_before_the_end_is_there_chooses_no_prompt_to_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await long_branch(cwd=str(tmp_path))
    async with at_the_screen(str(tmp_path), conversation_id=conversation) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await at_home(person)
        await person.press("escape")
        await person.writing()
        let_go, page_at = asyncio.Event(), TabBranches.page_at

        async def slow(*args: Any, **given: Any) -> HistoryPage:
            await let_go.wait()
            return await page_at(*args, **given)

        monkeypatch.setattr(TabBranches, "page_at", slow)
        person.chat.actions.edits.clock = lambda: 0.0
        await person.press("escape", "escape")
        await person.type("hello")
        let_go.set()
        await person.done()
        await person.type("t")
        assert person.app.screen is person.app.chat and person.draft == "hellot"

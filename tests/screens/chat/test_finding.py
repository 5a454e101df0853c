"""Finding a text in a long branch of which only a part is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from catena.workspace.tab import Tab
from catena.workspace.tab_branches import HistoryPage, TabBranches
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.database.location import default_path
from catena_store.ids import new_id
from catena_store.records import Kind, NewMessage
from support.screen.pilot import Person, at_the_screen

ROWS = 3_000
MOST_SHOWN = 400  # rows, of so many


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


Row = tuple[Kind, str, dict[str, object]]


def said(number: int) -> Row:
    return Kind.AGENT if number % 2 else Kind.USER, f"message {number} of all", {}


async def branch(row: Callable[[int], Row] = said, *, count: int = ROWS) -> str:
    """A conversation of one branch."""
    async with Database.open(default_path()) as db, db.write() as tx:
        conversation = await conversations.create(tx, id=new_id(), agent="rehearsal", profile="", cwd="/usr")
        new: list[NewMessage] = []
        for number in range(count):
            kind, text, data = row(number)
            parent = new[-1].id if new else None
            new.append(NewMessage(new_id(), conversation.id, parent, kind, text, data=data))
        await messages.insert_many(tx, new)
        await conversations.touch(tx, conversation.id)
    return conversation.id


async def look_for(person: Person, text: str) -> None:
    """Open the find bar, and type a text into it at once."""
    await person.press("ctrl+f")
    await person.until(lambda: person.area.place == "finding", "the keys to go to the find bar")
    await person.type(text)


def counted(person: Person) -> str:
    """The line of the find bar that says which of how many hits is shown."""
    return next((line for line in person.text.splitlines() if "Find" in line and "╭" in line), "")


async def test_h24_find_searches_the_whole_branch_counts_and_goes_there(tmp_path: Path) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await look_for(person, "MESSAGE 17")
        await person.sees("message 1799 of all", "111 of 111")
        assert len(person.transcript._column.entries) < MOST_SHOWN
        await person.press("enter")
        await person.sees("message 17 of all", "1 of 111")
        await person.press("up")
        await person.sees("message 1799 of all", "111 of 111")
        await person.press("up", "up", "up")
        await person.sees("message 1796 of all", "108 of 111")
        await person.press("escape")
        await person.writing()
        await person.press("end")
        await person.sees(f"message {ROWS - 1} of all")


async def test_h24_a_text_above_the_place_is_gone_to_before_those_below(tmp_path: Path) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await look_for(person, "message 1500 ")
        await person.sees("message 1500 of all", "1 of 1")
        await person.press("ctrl+u")
        await person.type("99 of")
        await person.sees("message 1499 of all", "15 of 30")
        await person.press("down")
        await person.sees("message 1599 of all", "16 of 30")


async def test_h24_from_the_beginning_the_first_hit_below_is_found(tmp_path: Path) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        await person.browse()
        await person.press("home")
        await person.sees("message 0 of all")
        await look_for(person, "message 28")
        await person.sees("message 28 of all", "1 of 111")
        await person.press("enter")
        await person.sees("message 280 of all", "2 of 111")


async def test_h24_what_is_within_words_within_calls_and_beyond_ascii_is_found_as_on_the_screen(
    tmp_path: Path,
) -> None:
    call: dict[str, object] = {
        "kind": "execute",
        "status": "completed",
        "raw_input": {"command": "make", "args": ["check", "it's 100%"]},
        "content": [{"type": "text", "text": 'it said "twenty\\ two_percent"\nand a STRAßE'}],
    }

    plan: dict[str, object] = {"entries": [{"text": "Sweep the yard", "status": "pending"}]}

    def row(number: int) -> Row:
        match number:
            case 10:
                return Kind.TOOL, "Make", call
            case 20:
                return Kind.AGENT, "An unbelievable ÄRGER in 100% of them_all", {}
            case 30:
                return Kind.PLAN, "", plan
            case 40:
                return Kind.NOTICE, "", {"trouble": "refusal", "detail": "because it rained"}
            case _:
                return said(number)

    conversation = await branch(row, count=600)
    wanted = {
        "believ": 1,
        "ärger": 1,
        "100%": 2,
        "them_all": 1,
        "themxall": 0,
        "make check 'it": 1,
        "s 100%'": 1,
        'said "twenty\\ two_': 1,
        "straße": 1,
        "sweep the": 1,
        "it rained": 1,
        "message 1 of": 1,
    }
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees("message 599 of all")
        finding = person.chat.actions.finding
        for text, count in wanted.items():
            await person.chat.context.presenter.go_to(None)
            finding.look(text)
            await person.until(lambda: not finding._counting, f"the count of {text}")
            assert person.transcript.hit_position[1] == count, text


async def test_h24_more_than_ten_thousand_hits_are_said_so(tmp_path: Path) -> None:
    conversation = await branch(lambda number: (said(number)[0], f"{number} " + "ten " * 10, {}))
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees("2999 ten")
        await look_for(person, "ten")
        await person.until(lambda: "10,000+" in counted(person), "the count")


async def test_h24_keys_do_not_wait_for_the_search_and_the_newest_text_wins(tmp_path: Path) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        async with person.chat.context.tabs.store.read_concurrently():  # every search waits for this
            await look_for(person, "message 4")
            await person.type("2 of")
            await person.sees("message 42 of", "…")
        await person.sees("message 42 of all", "1 of 1")
        await person.idle()
        assert person.transcript.hit_position == (1, 1)


@pytest.mark.parametrize("columns", [100, 40])
async def test_h24_that_nothing_matches_is_said_once_the_whole_branch_is_looked_through(
    tmp_path: Path, columns: int
) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(columns, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        async with person.chat.context.tabs.store.read_concurrently():  # every search waits for this
            await look_for(person, "zzznothing")
            await person.until(lambda: "…" in counted(person), "the sign of a search that goes on")
            assert "no match" not in counted(person)
        await person.until(lambda: "no match" in counted(person), "that nothing matches")
        await person.press("enter")
        await person.idle()
        assert "no match" in counted(person)
        await person.press("ctrl+u")
        await person.until(lambda: "no match" not in counted(person), "nothing to be said of no text")
        await person.type("message 42 of")
        await person.until(lambda: "1 of 1" in counted(person), "the count")


async def test_h24_closing_the_find_bar_ends_the_search(tmp_path: Path) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        async with person.chat.context.tabs.store.read_concurrently():
            await look_for(person, "message 42 of")
            await person.press("escape")
            await person.writing()
        await person.idle()
        await person.sees(f"message {ROWS - 1} of all")
        assert person.transcript.following


async def test_h24_for_a_hit_far_away_only_what_is_around_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        read, pages = TabBranches.page_at, list[HistoryPage]()

        async def noted(self: TabBranches, tab: Tab, place: int | str | None, **known: Any) -> HistoryPage:
            pages.append(page := await read(self, tab, place, **known))
            # The end of the branch is known already.
            assert [id(row) for row in page.end] == [id(row) for row in known["known"]]
            return page

        monkeypatch.setattr(TabBranches, "page_at", noted)
        await look_for(person, "message 17 ")
        await person.sees("message 17 of all", "1 of 1")
        assert pages and all(len(page.rows) <= 90 for page in pages)


async def test_h24_a_letter_more_in_the_find_bar_lays_nothing_out_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await branch(count=100)
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await look_for(person, "message 9")
        await person.sees("11 of 11")
        laid_out = 0
        lay_out = Screen._refresh_layout

        def counted_layouts(self: Screen[Any], *args: Any, **named: Any) -> None:
            nonlocal laid_out
            laid_out += 1
            lay_out(self, *args, **named)

        monkeypatch.setattr(Screen, "_refresh_layout", counted_layouts)
        await person.type("x")
        await person.idle()
        assert "message 9x" in person.text and laid_out == 0


async def test_h24_what_comes_while_the_find_bar_is_open_is_counted_and_nothing_moves(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say("say one apple; cue more; say and an apple; cue rest")
        await person.sees("  one apple")
        await look_for(person, "apple")
        await person.until(lambda: "3 of 3" in counted(person), "the count")
        await person.press("up", "up")
        await person.until(lambda: "1 of 3" in counted(person), "the first one")
        cues = tmp_path / "rehearsal" / "cues"
        cues.mkdir(exist_ok=True)
        (cues / "more").touch()
        await person.until(lambda: "1 of 4" in counted(person), "what came to be counted")
        (cues / "rest").touch()
        await person.idle()
        assert "1 of 4" in counted(person)


async def test_h24_a_search_that_another_tab_broke_off_is_done_when_its_bar_is_opened_again(
    tmp_path: Path,
) -> None:
    conversation = await branch()
    async with at_the_screen(str(tmp_path), conversation_id=conversation, size=(100, 30)) as person:
        await person.sees(f"message {ROWS - 1} of all")
        async with person.chat.context.tabs.store.read_concurrently():  # every search waits for this
            await look_for(person, "message 17")
            await person.until(lambda: "…" in counted(person), "the sign of a search that goes on")
            await person.press("ctrl+t")
            await person.until(lambda: not person.area.find_bar.is_open, "another tab")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees(f"message {ROWS - 1} of all")
        await person.press("ctrl+f")
        await person.until(lambda: "of 111" in counted(person), "all places")
        await person.sees(f"message {ROWS - 1} of all")

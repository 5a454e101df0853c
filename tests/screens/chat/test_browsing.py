"""Browsing has one cursor: it is in sight whatever moves the view, and no key acts on another message."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store import places
from catena_store.conversations import messages
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id
from catena_store.records import Kind, NewMessage
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def made_long(person: Person, turns: int) -> None:
    """More turns than are loaded at once, with answers of several rows."""
    conversation, below = person.tab.conversation.id, person.tab.leaf_id
    async with Database.open(default_path()) as db, db.write() as tx:
        for turn in range(turns):
            for kind, words in ((Kind.USER, f"ask {turn}"), (Kind.AGENT, f"answer {turn}\n\n" * 3)):
                row = await messages.insert(tx, NewMessage(new_id(), conversation, below, kind, words))
                below = row.id
        await places.move(tx, conversation, below)


def in_sight(person: Person) -> bool:
    transcript = person.transcript
    return transcript.current in {row.entry.message.id for row in transcript._viewport.rows}


def browsed(person: Person) -> str:
    record = person.transcript.record(person.transcript.current)
    return record.text.split("\n")[0] if record is not None else ""


async def test_u03_whatever_moves_the_view_moves_the_cursor(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say first")
        await person.idle()
        await made_long(person, 150)
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.first_tab()
        await person.sees("answer 149")
        await person.browse()
        await person.press("g")
        await person.sees("say first")
        await person.idle()
        assert (browsed(person), in_sight(person)) == ("say first", True)
        await person.press("J")
        await person.idle()
        assert browsed(person) == "ask 0"
        for key in ("pagedown", "pagedown", "pageup", "G", "pageup", "home", "pagedown", "end"):
            await person.press(key)
            await person.idle()
            assert in_sight(person), key
            before = browsed(person)
            away, back = ("j", "k") if key == "home" else ("k", "j")
            await person.press(away)
            await person.idle()
            assert in_sight(person) and browsed(person) != before, key
            await person.press(back)
            await person.idle()
            assert in_sight(person) and browsed(person) == before, key
        person.transcript.scroll_to(y=40, animate=False)  # as the wheel does
        await person.idle()
        assert in_sight(person)


async def test_u03_another_version_is_browsed_where_it_is_seen(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say first")
        await person.idle()
        await made_long(person, 12)
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.first_tab()
        await person.sees("answer 11")
        first = next(each.message for each in person.transcript._column.entries if each.message.is_prompt)
        await person.browse()
        await person.press("g", "e")
        await person.until(lambda: person.tab.editing is not None, "the edit")
        await person.writing()
        await person.type(" anew")
        await person.press("enter")
        await person.idle()
        await made_long(person, 12)
        await person.sees("12 later turns elsewhere")
        await person.press("end")
        await person.sees("answer 11")
        await person.browse()
        await person.press("g", "h")
        await person.until(lambda: person.transcript.current == first.id, "the version before")
        await person.idle()
        assert in_sight(person)
        person.chat.actions.branches.sibling_clicked(first.id, 1)
        await person.until(lambda: person.transcript.record(first.id) is None, "the other version")
        await person.idle()
        assert (browsed(person), in_sight(person)) == ("say first anew", True)


async def test_u03_u_asks_before_it_undoes_and_a_word_that_begins_with_it_undoes_nothing(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say first")
        await person.idle()
        await person.say("/rename Mine")
        await person.until(lambda: person.tab.conversation.record.title == "Mine", "the title")
        await person.browse()
        await person.type_at_once("update it\n")
        await person.sees("Undo the title “Mine”?")
        assert person.tab.conversation.record.title == "Mine"
        await person.press("escape")
        await person.until(lambda: person.area.place == "browsing", "the question to be closed")
        await person.press("u")
        await person.is_asked()
        await person.press("enter")
        await person.sees("Undone: the title “Mine”")
        assert person.area.place == "browsing"


@pytest.mark.parametrize("wrong", [False, True])
async def test_u03_the_keys_of_browsing_are_seen_although_something_was_said_before(
    tmp_path: Path, wrong: bool
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say first")
        await person.idle()
        hints = person.area.prompt.hints
        hints.say("Something was done.", wrong=wrong)
        await person.browse()
        await person.idle()
        assert person.area.place == "browsing"
        assert hints.said == ("Something was done." if wrong else "")
        assert ("edit" in hints.inside(100).plain) is not wrong

"""A tab whose conversation went on elsewhere: it follows when it comes back, or says where End goes."""

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


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


async def elsewhere(conversation_id: str, below: str | None, text: str) -> None:
    """A turn that another process adds below a row."""
    async with Database.open(default_path()) as db, db.write() as tx:
        for kind, words in ((Kind.USER, f"say {text}"), (Kind.AGENT, text)):
            row = await messages.insert(tx, NewMessage(new_id(), conversation_id, below, kind, words))
            below = row.id
        await places.move(tx, conversation_id, below)


async def test_m06_a_tab_that_comes_back_follows_with_its_draft_and_says_so(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "one")
        await person.type("half a thought")
        conversation_id, leaf = person.tab.conversation.id, person.tab.leaf_id
    await elsewhere(conversation_id, leaf, "two")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.first_tab()
        await person.sees("say two", "1 later turn from elsewhere.", "half a thought")
        assert person.tab.elsewhere is None


async def test_m16_a_tab_beside_the_place_says_where_it_is_and_end_goes_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "one")
        await said(person, "two")
        conversation_id = person.tab.conversation.id
        async with Database.open(default_path()) as db, db.read() as reader:
            first = (await messages.page(reader, person.tab.leaf_id, 100))[1]
    await elsewhere(conversation_id, first.id, "beside")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.first_tab()
        await person.sees("say two", "1 later turn elsewhere: end goes there")
        await person.press("end")
        await person.sees("say beside")
        await person.sees_no("elsewhere")
        await person.press("f2", "u")
        await person.is_asked()
        await person.press("enter")
        await person.sees("say two")


async def test_m16_a_tab_that_is_open_says_at_once_that_another_one_went_on(tmp_path: Path) -> None:
    """A fork that is undone shows its source again, which has another tab by now."""
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "one")
        source = person.tab.conversation.id
        await person.say("/fork")
        await person.is_asked()
        await person.press("enter")
        await person.until(lambda: person.tab.conversation.id != source, "the fork")
        await person.done()
        await person.say("/lineage")
        await person.until(lambda: person.tab.conversation.id == source, "the source in a tab of its own")
        await person.done()
        await person.to_tab(1, "ctrl+pageup")
        await person.say("/undo")
        await person.until(lambda: person.tab.conversation.id == source, "the source again")
        await person.done()
        first, _ = person.tabs
        await person.to_tab(2, "ctrl+pagedown")
        await said(person, "two")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("1 later turn elsewhere: end goes there")
        await person.press("end")
        await person.sees("say two")
        await person.sees_no("elsewhere")
        await person.press("f2", "u")
        await person.is_asked()
        await person.press("enter")
        await person.sees_no("say two")
        assert first.elsewhere is None

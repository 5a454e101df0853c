"""A draft on its way: wherever the person goes meanwhile, no text is lost, and none is in the place of another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events

from catena.screens.common.picker import Picker
from catena.terminal import key_gate
from catena.workspace.tab_branches import TabBranches
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError
from catena_store.records import Attachment
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    # Slices: what the person goes to next is not held up by the store.
    monkeypatch.setattr(key_gate, "_PATIENCE", 2)


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


async def two_tabs(person: Person) -> None:
    """Two tabs with a prompt and a draft each; the second is looked at."""
    await said(person, "first")
    await person.type("draft one")
    await person.new_tab()
    await said(person, "second")
    await person.type("draft two")


async def without_a_tab(person: Person) -> None:
    """No agent selected, and there is no tab."""
    await person.sees("Start with")
    await person.done()


def agrees(person: Person) -> bool:
    """True if the composer shows the draft of the tab that is on the screen."""
    context = person.chat.context
    return context.tab is context.presenter.shown is context.drafts.tab and person.draft == person.tab.written


async def test_w19_who_goes_to_another_tab_while_one_is_opened_stays_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, _ = person.tabs
        async with person.store_held():
            await person.press("ctrl+t")
            await person.type("new")
            await person.press("ctrl+pageup")
            await person.type("!")
        await person.until(lambda: len(person.tabs) == 3, "the third tab")
        await person.done()
        assert person.tab is first and agrees(person)
        assert [tab.draft for tab in person.tabs] == ["draft one!", "draft two", "new"]


async def test_w19_what_was_written_without_a_tab_is_in_the_first_one_that_is_opened(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await without_a_tab(person)
        await person.type("a thought")
        await person.press("ctrl+t")
        await person.sees_dialog(Picker)
        await person.type("rehearsal")
        await person.press("enter")
        await person.back()
        await person.first_tab()
        await person.done()
        assert person.draft == "a thought" and agrees(person)


async def test_w19_what_was_written_without_a_tab_is_told_at_the_end(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await without_a_tab(person)
        await person.type("a thought")
        await person.press("ctrl+t")
        await person.sees_dialog(Picker)
        app = person.app
    assert app.unsent_lines == ["Unsaved text:", "a thought"]


async def test_k11_nothing_is_typed_into_a_tab_that_is_being_closed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        async with person.store_held():
            person.chat.do("close")
            await person.press("ctrl+pageup")
            await person.type("!")
        await person.until(lambda: len(person.tabs) == 1, "one tab")
        await person.done()
        assert person.draft == "draft one!" and agrees(person)
        await person.say("/undo")
        await person.sees("  second", "│ draft two")


async def test_k11_what_is_typed_for_a_leaf_that_a_tab_moves_to_waits_while_another_tab_is_looked_at(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        await person.browse()
        await person.press("e")
        await person.done()
        await person.say("say other")
        await person.sees("  other")
        await person.idle()
        await person.type("draft three")
        await person.browse()
        async with person.store_held():
            await person.press("h")
            await person.press("ctrl+pageup")
            await person.press("ctrl+pageup")
            await person.type("!")
            await person.until(lambda: person.composer.text.endswith("!"), "the key to be let in")
        await person.sees("  second")
        await person.done()
        assert person.draft == "draft two\n!" and agrees(person)
        await person.browse()
        await person.press("l")
        await person.sees("  other", "│ draft three")
        await person.done()
        assert person.draft == "draft three" and agrees(person)


async def test_a_file_that_is_dropped_while_a_tab_is_opened_belongs_to_that_tab(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("what is in it")
    (project := tmp_path / "project").mkdir()
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        async with person.store_held():
            await person.press("ctrl+t")
            await person.type("see ")
            person.composer.post_message(events.Paste(str(file)))
            await person.sees("Tab attaches the file instead of the path.")
            await person.press("tab")
            await person.type("it")
        await person.until(lambda: len(person.tabs) == 2, "the second tab")
        first, second = person.tabs
        await person.looks_at(second)
        await person.done()
        assert first.attachments == () and [file.name for file in second.attachments] == ["notes.md"]
        assert person.draft == "see it" and agrees(person)


async def test_e01_what_is_typed_behind_a_command_in_an_edit_stays(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.browse()
        async with person.store_held():
            await person.press("e", "ctrl+u")
            await person.type("/label here")
            await person.press("enter")
            await person.type(" too")
        await person.done()
        assert person.draft == "say alpha too"


async def test_r12_a_text_that_the_store_refuses_after_its_tab_is_closed_is_in_the_composer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        go_on = asyncio.Event()

        async def refuse(*arguments: object) -> None:
            await go_on.wait()
            raise StoreError("it is full")

        monkeypatch.setattr(second.window, "say", refuse)
        await person.press("enter")
        person.chat.do("close")
        await person.looks_at(first)
        await person.until(lambda: person.tabs == [first], "the tab to be closed")
        go_on.set()
        await person.sees("it is full")
        await person.done()
        assert person.draft == "draft two\ndraft one" and agrees(person)


async def test_h14_a_walk_through_earlier_inputs_keeps_the_draft_it_began_at_where_its_place_comes(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.press("up")
        await person.until(lambda: person.draft == "say first", "the earlier input")
        await person.press("down")
        await person.until(lambda: person.draft == "", "the end of the walk")
        async with person.store_held():
            await person.press("ctrl+t")
            await person.type("new")
            await person.press("up")
            assert person.draft == "say first"
        await person.until(lambda: len(person.tabs) == 2, "the second tab")
        await person.looks_at(person.tabs[1])
        await person.press("down")
        await person.until(lambda: person.draft == "new", "the draft")
        await person.done()
        assert agrees(person)


async def test_a_reason_that_cannot_be_given_stands_in_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        await person.until(lambda: person.area.place == "question", "the question to have the keys")

        async def refuse(*arguments: object) -> None:
            raise StoreError("it is full")

        monkeypatch.setattr(person.tab.conversation, "answer", refuse)
        await person.press("r")
        await person.until(lambda: person.area.place == "reason", "the reason to be asked for")
        await person.type("not today")
        await person.press("enter")
        await person.sees("it is full")
        await person.done()
        assert person.draft == "not today"


async def test_e01_an_edit_whose_files_are_still_read_is_saved_when_its_tab_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        go_on = asyncio.Event()
        attachments_of = TabBranches.attachments_of

        async def slowly(branches: TabBranches, message_id: str) -> list[Attachment]:
            await go_on.wait()
            return await attachments_of(branches, message_id)

        monkeypatch.setattr(TabBranches, "attachments_of", slowly)
        await person.browse()
        await person.press("e")
        await person.type(" too")
        person.chat.do("close")
        await person.until(lambda: len(person.tabs) == 1, "one tab")
        go_on.set()
        await person.done()
        async with Database.open(default_path()) as db, db.read() as reader:
            drafts = [draft for (draft,) in await reader.all("SELECT draft FROM window_leaf")]
        assert "say second too\ndraft two" in drafts

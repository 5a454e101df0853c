"""Undo, redo, the list of what was done, and deleting and archiving, on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.conversation.journal import move_window
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, default_path
from catena_store.records import Kind
from catena_store.windows.journal import Act
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


async def go_back_to_first_answer(person: Person) -> None:
    """What a rewind does below the screen."""
    acts = person.chat
    assert acts is not None
    tabs, tab = acts.context.tabs, person.tab
    async with tabs._db.write() as tx:
        path = await messages.page(tx, tab.leaf_id, 1_000)
        second = [row.id for row in path if row.kind is Kind.USER][1]
        prompt = await messages.get(tx, second)
        assert prompt is not None
        await move_window(
            tx,
            window_id=tab.window_id,
            conversation_id=tab.conversation.id,
            leaf_id=prompt.parent_id,
            act=Act.REWIND,
        )
    tab.conversation.moved(tab.window_id, prompt.parent_id)


async def test_k11_u_while_browsing_undoes_and_says_so_with_draft_and_branch_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await said(person, "second")
        person.composer.put("half a thought")
        acts = person.chat
        assert acts is not None
        person.tab.draft = "half a thought"
        await acts.context.tabs.keep(person.tab)
        await go_back_to_first_answer(person)
        await person.sees_no("  second")
        person.composer.put("")

        await person.browse()
        await person.press("u")
        await person.is_asked()
        await person.press("enter")
        screen = await person.sees("  second", "Undone: the rewind.")
        assert "/undo redo to redo" in screen
        await person.done()
        assert person.draft == "half a thought"
        assert person.area.place == "browsing", "u can be pressed again"
        await person.press("u")
        await person.sees("Nothing to undo")
        await person.press("escape")
        await person.say("/redo")
        await person.sees("Redone: the rewind")
        await person.sees_no("  second")
        await said(person, "third")  # and goes on from there
        assert "  second" not in person.text


async def test_k11_a_title_and_a_closed_tab_are_undone_by_command_and_listed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "left")
        await person.new_tab()
        await said(person, "right")
        await person.say("/rename Other")
        await person.sees("Renamed to “Other”")
        person.composer.put("kept draft")
        acts = person.chat
        assert acts is not None
        acts.do("close")
        await person.until(lambda: len(person.tabs) == 1, "one tab")
        await person.looks_at(person.tabs[0])
        assert person.draft == ""

        await person.say("/undo")
        await person.sees("Undone: closing the tab “Other”", "/undo again for: the title “Other”", "  right")
        await person.done()
        assert (person.tab is person.tabs[1], person.draft) == (True, "kept draft")
        person.composer.put("")
        await person.say("/undo")
        await person.sees("Undone: the title “Other”")
        await person.say("/reflog")
        await person.sees("Undo history", "closing the tab", "the title “Other”", "undone")
        await person.press("down", "enter")
        await person.sees("Redone: the title “Other”")
        await person.done()
        assert person.tab.conversation.record.title == "Other"


async def test_k11_while_the_agent_works_undo_is_refused_in_words(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await said(person, "second")
        await go_back_to_first_answer(person)
        await person.sees_no("  second")
        await person.say("wait 60")
        await person.until(lambda: person.tab.at_work, "the turn to run")
        await person.say("/undo")
        await person.sees("A turn is running here: stop it, then undo.")
        await person.say("/delete")
        await person.sees("The agent is still working")
        await person.press("escape")
        await person.idle()


async def test_h08_delete_closes_the_tab_hides_it_from_the_history_and_comes_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/delete")
        await person.sees("This conversation is empty")
        await said(person, "precious")
        gone = person.tab.conversation.id
        await person.say("/delete")
        await person.sees("Deleted. /undo to restore it.")
        await person.until(lambda: person.tab.conversation.id != gone, "a new tab")
        await person.done()
        await person.press("ctrl+o")
        await person.sees("no conversations yet")
        await person.press("escape")
        await person.say("/undo")
        await person.sees("Undone: deleting", "  precious")
        await person.done()
        assert person.tab.conversation.id == gone


async def test_h08_the_history_deletes_archives_and_undoes_by_key(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.new_tab()
        await said(person, "beta")
        beta = person.tab.conversation.id
        await person.press("ctrl+o")
        await person.sees("f9 acts", "say alpha", "say beta")
        await person.press("f9", "d")  # the newest, beta, is the first row
        await person.sees("is deleted")
        await person.sees_no("  beta")
        await person.until(lambda: len(person.tabs) == 1, "its tab to be closed")
        await person.press("ctrl+underscore")
        await person.sees("Undone: deleting")
        await person.until(lambda: len(person.tabs) == 2, "its tab")
        await person.press("f9", "a")
        await person.sees("is archived", "archived ")
        async with Database.open(default_path()) as db, db.read() as reader:
            assert (await conversations.marks(reader, beta)).archived
        await person.press("down", "f9", "a")
        await person.sees("is no longer archived")
        await person.press("escape")
        await person.until(lambda: person.tab in person.tabs, "a tab that is there")
        await person.sees("  alpha")


async def test_s06_a_turn_whose_tab_was_closed_says_so(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say half of it; hang")
        await person.sees("  half of it")
        closed = person.tab.conversation.id
        await person.say("/close")
        await person.sees("is stopped. /undo opens it again.")
        await person.until(lambda: person.tab.conversation.id != closed, "a new tab")
        await person.done()
        await person.say("/undo")
        await person.sees("half of it", "You closed the tab during this turn.")


async def test_k11_a_prompt_that_is_being_edited_is_not_lost_to_undo(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.say("/rename Mine")
        await person.sees("Renamed to “Mine”")
        await person.browse()
        await person.press("e")
        await person.sees("esc cancel")
        await person.writing()
        await person.type(" and more")
        changed = person.draft
        await person.browse()
        await person.press("u")
        await person.sees("Finish or cancel the edit first")
        assert (person.draft, person.tab.conversation.record.title) == (changed, "Mine")
        await person.press("escape", "escape")
        await person.until(lambda: person.tab.editing is None, "the edit to be left")
        await person.browse()
        await person.press("u")
        await person.is_asked()
        await person.press("enter")
        await person.sees("Undone: the title “Mine”")


async def test_k11_undoing_the_first_title_gives_the_tab_its_own_name_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "left")
        await person.new_tab()
        await person.say("say right; hang")
        await person.sees("  right")
        await person.say("/rename Other")
        await person.sees("Renamed to “Other”", " 2 Other")
        await person.say("/undo")
        await person.sees("Undone: the title “Other”", " 2 say right")
        await person.sees_no(" 2 Other")
        assert person.tab.name() == "say right; hang"

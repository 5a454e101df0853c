"""Two panes side by side: each a chat of its own, of which one has the keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena.screens.chat.area.area import ChatArea
from catena.workspace.panes import Pane
from support.screen.pilot import Person, at_the_screen

WIDE, NARROW = (180, 40), (120, 40)


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


def areas(person: Person) -> list[ChatArea]:
    """The areas on the screen, from the left."""
    return [area for area in every_area(person) if area.display]


def every_area(person: Person) -> list[ChatArea]:
    return [area for area in person.app.chat.panes.children if isinstance(area, ChatArea)]


def panes(person: Person) -> list[Pane]:
    return person.chat.context.tabs.panes.open


async def side_by_side(person: Person) -> None:
    """Open a new conversation side by side, which has the keys then."""
    left = person.tab
    await person.answered("say first")
    await person.press(*"/side", "enter")
    await person.sees("A new conversation")
    await person.type("new conv")
    await person.press("enter")
    await person.until(lambda: len(areas(person)) == 2 and person.area is areas(person)[1], "two panes")
    await person.until(lambda: person.area.chat.shown not in (None, left), "the new conversation")
    await person.looks_at(person.tabs[-1])
    await person.writing()


async def other_pane(person: Person) -> None:
    """Go to the other pane with F6."""
    area = person.area
    await person.press("f6")
    await person.until(lambda: person.area is not area, "the other pane")
    await person.taken_in()


async def test_w19_each_of_two_panes_is_a_chat_and_the_keys_go_to_one(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        left, right = areas(person)
        await person.type("to the right")
        await person.press("f6")
        await person.type("to the left")
        assert [area.prompt.composer.text for area in (left, right)] == ["to the left", "to the right"]
        assert [tab.written for tab in person.tabs] == ["to the left", "to the right"]
        await other_pane(person)
        person.composer.clear()
        async with person.agent_held():
            await person.say("say heard on the right")
            await person.until(lambda: person.tab.at_work, "the right to work")
            await other_pane(person)
            person.composer.clear()
            await person.say("say heard on the left; pause 60")
            await person.sees("  heard on the left")
            await person.press("escape")
            await person.until(lambda: not person.tab.busy, "the turn on the left to be stopped")
            assert person.tabs[1].at_work, "the turn on the right goes on"
        await person.sees("  heard on the left", "  heard on the right")
        await person.until(lambda: person.is_over(person.tabs[1]), "the answer on the right")
        assert not person.tabs[1].unread, "it was seen"


async def test_w19_a_question_in_the_other_pane_is_marked_and_answered_only_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        await other_pane(person)
        async with person.agent_held():
            await person.say("ask May I?")
            await person.until(lambda: person.tab.at_work, "the turn")
            asking = person.area
            await other_pane(person)
        await person.until(lambda: asking.panels.permission.ask, "the question")
        await person.until(
            lambda: "first ?" in person.text.splitlines()[1], "the mark at the head of the pane"
        )
        await person.apart()
        await person.type("y")
        assert (person.draft, len(person.tabs[0].asks)) == ("y", 1)
        await person.pilot.click(asking.panels.permission.band, offset=(10, 2))
        await person.until(lambda: person.area is asking, "the pane that was clicked")
        assert person.tabs[0].asks, "the click chose no option"
        await person.until(lambda: person.area.place == "question", "the keys to go to the question")
        await person.apart()
        await person.press("y")
        await person.until(lambda: not person.tabs[0].asks, "the answer")
        assert (person.tabs[1].draft, person.tabs[0].draft) == ("y", "")


async def test_w19_below_160_columns_one_pane_is_shown_and_nothing_is_lost(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        await person.type("on the right")
        left, right = areas(person)
        await person.pilot.resize_terminal(*NARROW)
        await person.until(lambda: areas(person) == [right], "one pane")
        await person.until(lambda: not left.pane.in_sight, "the other one to be away")
        await person.tabs[0].window.say("say told out of sight")
        await person.until(lambda: person.tabs[0].mark == "•", "the mark of what was not seen")
        await person.press("ctrl+pageup")
        await person.sees("  told out of sight")
        assert areas(person) == [left] and person.area is left
        assert not person.tabs[0].unread
        await person.browse()
        await person.press("F")
        await person.sees("in a new tab?")
        await person.press("escape", "escape")
        await person.pilot.resize_terminal(*WIDE)
        await person.until(lambda: areas(person) == [left, right], "both panes")
        await person.sees("  told out of sight", "on the right")
        await person.writing()


async def test_w19_panes_are_there_again_after_a_restart(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        await person.type("right draft")
        await other_pane(person)
        await person.type("left draft")
        await person.say("/swap-panes")
        await person.until(lambda: areas(person)[1] is person.area, "the panes to change places")
        shown = [area.chat.tab for area in areas(person)]
        assert shown == [person.tabs[1], person.tabs[0]]
        await person.idle()
    async with at_the_screen(str(tmp_path), size=NARROW, choose=True) as person:
        await person.until(lambda: len(panes(person)) == 2, "both panes")
        await person.until(lambda: all(area.chat.shown for area in every_area(person)), "their tabs")
        assert len(areas(person)) == 1 and person.tab is person.tabs[0]
        await person.pilot.resize_terminal(*WIDE)
        await person.sees("  first", "right draft")
        assert [pane.tab for pane in panes(person)] == [person.tabs[1], person.tabs[0]]
        assert person.area is areas(person)[1]


async def test_w19_a_tab_stands_in_one_pane_and_each_way_to_it_leads_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await person.new_tab()
        await person.to_tab(1, "ctrl+pageup")
        await side_by_side(person)
        left, right = areas(person)
        await person.press("ctrl+pagedown")
        await person.looks_at(person.tabs[0 + 1])
        assert person.area is right, "steps leave out what stands in the other pane"
        await person.press("ctrl+o")
        await person.sees("History")
        await person.type("first")
        await person.sees("say first")
        await person.press("enter")
        await person.until(lambda: person.area is left, "the pane of that conversation")
        await person.back()
        await person.writing()
        assert [pane.tab for pane in panes(person)] == [person.tabs[0], person.tabs[1]]
        await person.press("f6")
        await person.press("f2")
        await person.say("/side 1")
        await person.until(lambda: person.area is left, "the pane of that tab")
        assert len(areas(person)) == 2


async def test_w19_a_pane_goes_alone_or_with_its_tab_and_the_keys_to_the_other_one(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        left, right = areas(person)
        await person.type("/close-pane")
        await person.type_at_once("\nkept")
        await person.until(lambda: areas(person) == [left], "one pane")
        await person.until(lambda: person.draft == "kept", "what was typed then")
        assert len(person.tabs) == 2 and person.tab is person.tabs[0]
        person.composer.clear()
        await person.say("/side 2")
        await person.until(lambda: areas(person) == [left, right], "two panes again")
        await person.looks_at(person.tabs[1])
        await other_pane(person)
        await person.type("/close")
        await person.type_at_once("\nnext")
        await person.until(lambda: areas(person) == [right], "the tab and its pane to be closed")
        await person.until(lambda: len(person.tabs) == 1, "the tab to be closed")
        await person.until(lambda: person.draft == "next", "what was typed then")
        await person.done()
        person.composer.clear()
        await person.say("/undo")
        await person.sees("  first")


async def test_f02_a_fork_stands_side_by_side_and_both_answer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await person.answered("say the source")
        await person.browse()
        await person.press("F")
        await person.sees("Fork from here side by side?")
        await person.press("enter")
        await person.type("and on")
        await person.until(lambda: len(areas(person)) == 2, "two panes")
        await person.until(lambda: person.area is areas(person)[1], "the keys to go there")
        await person.until(lambda: person.draft == "and on", "what was typed on the way")
        assert [tab.draft for tab in person.tabs] == ["", "and on"]
        await person.looks_at(person.tabs[1])
        person.composer.clear()
        await person.answered("say in the fork")
        await other_pane(person)
        await person.answered("say in the source")
        await person.sees("  in the fork", "  in the source")
        await other_pane(person)
        await person.say("/undo")
        await person.until(lambda: len(areas(person)) == len(person.tabs) == 1, "the fork to be undone")
        await person.writing()
        await person.sees("  in the source")


async def test_w19_what_comes_late_in_one_pane_takes_no_key_from_the_other(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        left, right = areas(person)
        await person.idle()
        async with person.store_held():
            await person.press("ctrl+t")
            await person.type("for the new tab")
            await person.press("f6")
            await person.type("stays ")
        await person.until(lambda: right.chat.shown is person.tabs[-1], "the new tab on the right")
        await person.type("on the left")
        await person.until(
            lambda: person.tabs[-1].draft == "for the new tab", "what was typed on the way there"
        )
        assert len(person.tabs) == 3 and person.area is left
        assert (left.prompt.composer.text, person.tabs[0].draft) == ("stays on the left",) * 2


async def test_w19_a_conversation_that_is_deleted_elsewhere_takes_its_pane_along(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await side_by_side(person)
        right = person.area
        await person.answered("say second")
        await person.press("ctrl+o")
        await person.sees("History")
        await person.type("first")
        await person.sees("say first")
        await person.press("f9", "d")
        await person.sees("deleted")
        await person.press("escape", "escape")
        await person.back()
        await person.until(
            lambda: areas(person) == [right], "the pane of the deleted conversation to be gone"
        )
        await person.writing()
        await person.sees("  second")


async def test_h02_a_conversation_of_the_history_is_opened_side_by_side(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await person.answered("say first")
        await person.new_tab()
        await person.answered("say second")
        await person.say("/close")
        await person.until(lambda: len(person.tabs) == 1, "the tab to be closed")
        await person.looks_at(person.tabs[0])
        await person.press("ctrl+o")
        await person.sees("History")
        await person.type("second")
        await person.until(lambda: "say second" in person.text and "say first" not in person.text, "it alone")
        await person.press("f9")
        await person.sees("open side by side")
        await person.press("s")
        await person.until(lambda: len(areas(person)) == 2, "two panes")
        await person.looks_at(person.tabs[1])
        await person.sees("  first", "  second")
        assert person.area is areas(person)[1]


async def test_a_fork_that_is_wanted_side_by_side_says_why_it_is_in_a_tab_as_the_command_does(
    tmp_path: Path,
) -> None:
    why = "Side by side needs a wider terminal: 160 columns, this one has 120."
    async with at_the_screen(str(tmp_path), size=NARROW) as person:
        await person.answered("say one")
        await person.idle()
        await person.say("/side")
        await person.sees(why)
        await person.say("/fork side")
        await person.sees(f"Forked in a new tab. {why}")
        await person.say("/fork")
        await person.sees("Fork this branch in this tab?")
        await person.apart()
        await person.press("s")
        await person.sees("Forked in a new tab. Your next prompt:")


async def test_a_fork_that_stands_side_by_side_is_said_to_stand_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=WIDE) as person:
        await person.answered("say one")
        await person.idle()
        await person.say("/fork side")
        await person.until(lambda: len(areas(person)) == 2, "two panes")
        await person.sees("Forked side by side. Your next prompt:")

"""Tabs, the history, and coming back to both."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena_acp.agents.catalog import find_spec
from catena_acp.continuity.conversation_events import MessageChanged
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id, utc_now
from catena_store.records import Kind, NewMessage
from catena_store.windows import windows
from support.conversations.rehearsed import World
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


def left_of_scrollbar(person: Person) -> list[str]:
    return [line[: person.app.size.width - 2].rstrip() for line in person.text.splitlines()]


async def kept(conversation_count: int, *, cwd: str = "/usr", rows: int = 2, profile: str = "") -> list[str]:
    """That many conversations in the store, oldest first, each with a prompt and answers."""
    ids = []
    ticks = count()  # two of one millisecond would stand in any order
    began = utc_now() - timedelta(seconds=20)
    async with (
        Database.open(default_path(), clock=lambda: began + timedelta(milliseconds=next(ticks))) as db,
        db.write() as tx,
    ):
        for number in range(conversation_count):
            tx._now = None  # all in one transaction, and each at a time of its own
            conversation = await conversations.create(
                tx, id=new_id(), agent="rehearsal", profile=profile, cwd=cwd
            )
            parent = None
            new = []
            for row in range(rows):
                kind = Kind.AGENT if row % 2 else Kind.USER
                text = f"message {row} of conversation {number}"
                new.append(NewMessage(new_id(), conversation.id, parent, kind, text))
                parent = new[-1].id
            await messages.insert_many(tx, new)
            ids.append(conversation.id)
    return ids


async def test_w19_the_tab_bar_is_there_only_while_there_are_several(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        assert " 1 new" not in person.text
        await person.new_tab()
        await person.sees("1 new", " 2 new")
        await person.say("/close")
        await person.sees_no(" 2 new")


async def test_w19_each_tab_keeps_its_own_text_draft_and_answer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "in the first")
        await person.type("draft one")
        await person.new_tab()
        await person.sees(" 2 new")
        assert person.draft == ""
        await said(person, "in the second")
        await person.type("draft two")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("  in the first")
        assert person.draft == "draft one"
        assert "in the second" not in person.text.replace("say in the second", "")
        await person.to_tab(2, "ctrl+pageup")
        await person.sees("  in the second")
        assert person.draft == "draft two"


async def test_w19_marks_say_what_the_other_tabs_do(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("say so; ask May I?")
            await person.until(lambda: person.tab.at_work, "the first tab to work")
            await person.new_tab()
            await person.sees(" 2 new")
            await person.until(lambda: "◐" in person.text.splitlines()[0], "its mark")
        await person.until(lambda: person.tabs[0].mark == "?", "the question")
        await person.until(lambda: " ?" in person.text.splitlines()[0], "its mark")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("Allow running this?", "“May I?”", "  so")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("y")
        await person.to_tab(2, "ctrl+pagedown")
        await person.until(lambda: person.tabs[0].mark in ("", "•"), "the first tab to end")


async def test_w19_an_answer_that_was_not_seen_is_marked_unread(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("say seen later")
            await person.until(lambda: person.tab.at_work, "the first tab to work")
            await person.new_tab()
        await person.until(lambda: person.tabs[0].mark == "•", "the answer")
        await person.sees("•")
        await person.pilot.click("#tabs", offset=(4, 0))
        await person.looks_at(person.tabs[0])
        await person.sees("  seen later")
        await person.sees_no("•")


async def test_a_streaming_tab_shows_all_of_it_after_another_was_looked_at(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 60)) as person:
        await person.say("stream 30; cue go-on; stream 30 rate 60 end=CURTAIN")
        await person.until(lambda: person.tab.growing, "it to stream")
        await person.new_tab()
        await person.sees(" 2 new")
        (tmp_path / "rehearsal" / "cues").mkdir()
        (tmp_path / "rehearsal" / "cues" / "go-on").touch()
        await person.to_tab(1, "ctrl+pageup")
        await person.until(lambda: "CURTAIN" in person.text.replace("end=CURTAIN", ""), "its end")
        await person.idle()
        row = person.chat.context.presenter.newest(Kind.AGENT)
        transcript = person.area.conversation.transcript
        assert row is not None and transcript is not None
        assert transcript.text_of(row.id) == row.text
        async with Database.open(default_path()) as db, db.read() as reader:
            stored = await messages.get(reader, row.id)
        assert stored is not None and stored.text == row.text


async def test_m06_tabs_texts_drafts_and_places_come_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 16)) as person:
        await person.say("stream 400")
        await person.idle()
        transcript = person.transcript
        await person.until(lambda: not transcript.busy, "it to be drawn")
        await person.press("pageup", "pageup")
        await person.until(lambda: transcript.position() is not None and not transcript.busy, "the place")
        place, seen = transcript.position(), left_of_scrollbar(person)[:6]
        await person.type("not sent yet")
        await person.new_tab()
        await person.sees(" 2 new")
        await person.type("second draft")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees(" 1 ")
    async with at_the_screen(str(tmp_path), size=(80, 16), choose=True) as person:
        await person.first_tab()
        assert len(person.tabs) == 2
        await person.until(lambda: person.draft == "not sent yet", "the draft")
        transcript = person.transcript
        await person.until(lambda: transcript.position() == place, "the place")
        # The tab bar takes the first two rows; what was on top of the transcript is on top of it again.
        await person.until(lambda: left_of_scrollbar(person)[2:8] == seen, f"the same rows: {seen}")
        await person.to_tab(2, "ctrl+pagedown")
        assert person.draft == "second draft"


async def test_m06_a_second_catena_in_the_same_directory_opens_one_empty_tab(tmp_path: Path) -> None:
    rehearsal = Settings(agent="rehearsal")
    async with at_the_screen(str(tmp_path)) as first:
        await said(first, "mine alone")
        async with at_the_screen(str(tmp_path), settings=rehearsal, choose=True) as second:
            await second.sees("Another Catena is open here")
            await second.first_tab()
            assert [tab.untouched for tab in second.tabs] == [True]


async def test_h10_an_empty_chat_leaves_no_trace(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        conversation_id = person.tab.conversation.id
    assert person.app.resume_id is None
    async with Database.open(default_path()) as db, db.read() as reader:
        assert await conversations.get(reader, conversation_id) is None


async def test_h10_leaving_names_the_conversation_to_come_back_to(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "remember me")
        conversation_id = person.tab.conversation.id
    assert person.app.resume_id == conversation_id


async def test_an_empty_chat_with_a_draft_stays_for_the_next_time(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("half a thought")
        await person.until(lambda: person.tab.draft == "half a thought", "the draft to be known")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.until(lambda: person.draft == "half a thought", "the draft")


async def test_h17_the_picker_opens_a_conversation_and_focuses_the_tab_of_one_that_is_open(
    tmp_path: Path,
) -> None:
    await kept(3)
    async with at_the_screen(str(tmp_path)) as person:
        await person.press("ctrl+o")
        await person.sees("╭ History ─", "message 0 of conversation 2", "message 0 of conversation 0")
        await person.type("conversation 1")
        await person.sees("▌ message 0 of conversation 1 ")
        await person.press("enter")
        await person.back()
        await person.sees("▌ message 0 of conversation 1", "message 1 of conversation 1")
        await person.done()
        assert len(person.tabs) == 2
        await person.press("ctrl+o")
        await person.sees("╭ History ─", "message 0 of conversation 2")
        await person.type("conversation 1")
        await person.sees("▌ message 0 of conversation 1 ")
        await person.press("enter")
        await person.back()
        await person.done()
        await person.sees("▌ message 0 of conversation 1", "message 1 of conversation 1")
        assert len(person.tabs) == 2


async def test_h10_the_picker_calls_an_agent_by_its_title_of_the_settings(tmp_path: Path) -> None:
    await kept(1)
    await kept(1, profile="work", cwd="/work")
    night = AgentSetting("night", agent="rehearsal", profile="work", title="Night shift")
    async with at_the_screen(str(tmp_path), settings=Settings(agents={"night": night})) as person:
        await person.press("ctrl+o")
        await person.sees("╭ History ─", "/work", "/usr")
        (of_work,) = (line for line in person.text.splitlines() if "/work" in line)
        (own,) = (line for line in person.text.splitlines() if "/usr" in line)
        assert "Night shift" in of_work and "Rehearsal" not in of_work
        assert "Rehearsal" in own and "Night shift" not in own


async def test_h10_a_list_of_thousands_is_read_in_pages(tmp_path: Path) -> None:
    await kept(2_500, rows=1)
    async with at_the_screen(str(tmp_path)) as person:
        await person.press("ctrl+o")
        await person.sees("message 0 of conversation 2499")
        await person.type("conversation 17 ")
        await person.sees("message 0 of conversation 17")


async def test_h11_a_conversation_is_painted_from_the_store_before_its_agent_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_START_DELAY", "600")
    (conversation_id,) = await kept(1, rows=400)
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id, size=(100, 20)) as person:
        await person.sees("message 399 of conversation 0")
        assert person.tab.session is None or person.tab.session.link_id is None
        await person.press("pageup")
        await person.sees_no("message 399")


async def test_h11_going_up_reads_older_pages_down_to_the_first_message(tmp_path: Path) -> None:
    (conversation_id,) = await kept(1, rows=300)
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id, size=(100, 40)) as person:
        await person.sees("message 299 of conversation 0")
        while "▌ message 0 of" not in person.text:
            before, oldest = person.text, person.chat.context.presenter.oldest
            assert oldest is not None
            await person.press("pageup")
            await person.until(
                lambda before=before, oldest=oldest: (  # type: ignore[misc]
                    person.text != before or person.chat.context.presenter.oldest is not oldest
                ),
                "what is above",
            )
        await person.sees("▌ message 0 of conversation 0")


async def test_the_agent_can_be_changed_in_the_middle(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "before")
        await person.say("/agent rehearsal")
        await person.sees("Rehearsal is already in use here")


async def test_h14_up_and_down_walk_through_inputs_and_give_the_draft_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await said(person, "second")
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("a draft")
        await person.press("up")
        await person.until(lambda: person.draft == "say second", "the newest input")
        await person.press("up")
        await person.until(lambda: person.draft == "say first", "the one before")
        await person.press("down")
        await person.until(lambda: person.draft == "say second", "the newest input again")
        await person.press("down")
        await person.until(lambda: person.draft == "a draft", "the draft")


async def test_h14_ctrl_r_searches_what_was_typed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await said(person, "beta")
        await person.press("ctrl+r")
        await person.sees("Prompt history", "Type to filter")
        await person.type("alp")
        await person.press("enter")
        await person.until(lambda: person.draft == "say alpha", "the input")


async def test_a_tab_that_is_closed_is_not_opened_again(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "kept in the history")
        window_id = person.tab.window_id
        await person.say("/close")
        await person.until(lambda: person.tab.window_id != window_id, "a new tab")
        await person.press("ctrl+o")
        await person.sees("say kept in the history")
    async with Database.open(default_path()) as db, db.read() as reader:
        window = await windows.get(reader, window_id)
    assert window is None or window.leaf_id is not None


async def test_rename_shows_in_the_tab(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "anything")
        await person.say("/rename Release notes")
        await person.sees("Renamed to")
        await person.new_tab()
        await person.sees("1 Release notes")


async def test_the_rehearsal_agent_is_a_process_of_its_own_for_each_conversation(tmp_path: Path) -> None:
    assert find_spec("rehearsal").command
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "one")
        await person.new_tab()
        await person.sees(" 2 new")
        await person.say("crash")
        await person.sees("killed by signal")
        await person.to_tab(1, "ctrl+pageup")
        await said(person, "still here")
        await asyncio.sleep(0)


async def test_a_row_above_what_is_loaded_that_changes_is_not_put_at_the_end(tmp_path: Path) -> None:
    (id,) = await kept(1, cwd=str(tmp_path), rows=300)
    async with at_the_screen(str(tmp_path), conversation_id=id) as person:
        await person.sees("message 299")
        tab = person.tab
        async with Database.open(default_path()) as db, db.read() as reader:
            first, *_, last = await messages.page(reader, tab.leaf_id, 300)
        for row in (replace(first, text="changed above"), replace(last, text="changed below")):
            tab.conversation.publish(MessageChanged(tab.window_id, row))
        await person.sees("changed below")
        assert "changed above" not in person.text
        assert person.text.index("message 298") < person.text.index("changed below")


@pytest.mark.parametrize("how", ["its tab is closed", "everything is left"])
async def test_h10_an_empty_conversation_that_another_catena_has_is_not_taken_away_from_it(
    tmp_path: Path, how: str
) -> None:
    async with World(tmp_path).client() as desk:
        async with at_the_screen(str(tmp_path), conversation_id=desk.conversation.id) as person:
            assert person.tab.conversation.read_only
            if how == "its tab is closed":
                followed = person.tab
                await person.new_tab()
                await person.chat.context.tabs.close(followed)
        over = await desk.say("say one")
        assert over.turn is not None

"""What was asked for is done where that was, or not at all, if the person has gone on since."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from textual import events

from catena.desktop.clipboard import ImageClipboard
from catena.screens.chat.actions import tabs
from catena.screens.commands.help import HelpScreen
from catena.screens.common.page import PageScreen
from catena.screens.common.picker import Picker
from catena.screens.history.picker import HistoryScreen
from catena.screens.history.rows.list import RowDetails
from catena.settings.settings import Settings
from catena.settings.templates import KnownTemplates
from catena.workspace.directories import is_directory
from catena.workspace.tab import Tab
from catena.workspace.tab_branches import HistoryPage, TabBranches
from catena.workspace.tabs import OpenTabs
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.prompts.window import Window
from support.screen.pilot import Person, at_the_screen


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, beside a store of its own."""
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    (project := tmp_path / "project").mkdir()
    return project


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


async def two_tabs(person: Person) -> tuple[Tab, Tab]:
    """Two tabs with a prompt each; the second is looked at."""
    await said(person, "first")
    await person.new_tab()
    await said(person, "second")
    first, second = person.tabs
    return first, second


class HeldPage:
    """The page of a tab that is shown only when it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tab: Tab) -> None:
        self.asked_for, self.let_go = asyncio.Event(), asyncio.Event()
        page_at = TabBranches.page_at

        async def held(branches: TabBranches, of: Tab, *args: object, **given: object) -> HistoryPage:
            if of is tab:
                self.asked_for.set()
                await self.let_go.wait()
            return await page_at(branches, of, *args, **given)  # type: ignore[arg-type]

        monkeypatch.setattr(TabBranches, "page_at", held)


async def choose_in_history(person: Person, tab: Tab, act: str) -> None:
    """Choose the conversation of a tab in the history, and an act by its letter."""
    await person.press("ctrl+o")
    history = await person.sees_dialog(HistoryScreen)
    await person.until(history._everything.is_set, "all of it")
    rows = history.row_list
    await person.until(lambda: rows.chosen is not None, "a row to be chosen")
    while (chosen := rows.chosen) is None or chosen.key != tab.conversation.id:
        await person.press("down")
    await person.press("f9", act)
    await person.back()


def written(directory: Path) -> list[str]:
    """The names of the files in a directory."""
    return [file.name for file in directory.iterdir()]


@pytest.mark.parametrize("act", ["f", "e", "x", "t"])
async def test_an_act_of_the_history_is_done_to_no_other_tab_that_the_person_went_to_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    async with at_the_screen(str(project)) as person:
        first, second = await two_tabs(person)
        conversations = [tab.conversation.id for tab in person.tabs]
        page = HeldPage(monkeypatch, first)
        await choose_in_history(person, first, act)
        await asyncio.wait_for(page.asked_for.wait(), 30)
        await person.press("ctrl+pagedown")
        await person.looks_at(second)
        page.let_go.set()
        await person.done()
        await person.sees("You moved on")
        assert person.app.screen is person.app.chat and person.chat.tab is second
        assert [tab.conversation.id for tab in person.tabs] == conversations
        assert not any(tab.editing for tab in person.tabs)
        assert written(project) == []


def held_up(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> asyncio.Event:
    """Let nothing be done by a method until the event is set that is returned."""
    let_go, method = asyncio.Event(), getattr(owner, name)

    async def held(*args: object, **given: object) -> object:
        await let_go.wait()
        return await method(*args, **given)

    monkeypatch.setattr(owner, name, held)
    return let_go


async def test_a_list_opens_over_nothing_that_is_typed_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        session_known = held_up(monkeypatch, Window, "session_opened")
        await person.say("/mode")
        await person.all_in()  # and the list is not waited for any longer
        await person.type("hello wor")
        session_known.set()
        await person.sees("You moved on")
        await person.type("ld")
        assert person.app.screen is person.app.chat and person.draft == "hello world"


async def test_a_list_opens_over_no_other_tab_than_that_it_was_asked_for_in(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await two_tabs(person)
        session_known = held_up(monkeypatch, Window, "session_opened")
        await person.say("/mode")
        await person.all_in()
        await person.to_tab(1, "ctrl+pageup")
        session_known.set()
        await person.sees("You moved on")
        assert person.app.screen is person.app.chat


@pytest.mark.parametrize("command", ["/agent", "/usage", "/btw why"])
async def test_no_sheet_takes_the_keys_of_who_went_on_writing(project: Path, command: str) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        async with person.store_held():
            await person.say(command)
            await person.all_in()
            await person.type("hello wor")
        await person.done()
        await person.type("ld")
        assert person.app.screen is person.app.chat
        asked = [command] if command.startswith("/btw") else []
        assert person.draft.splitlines() == [*asked, "hello world"]


@pytest.mark.parametrize("command", ["/tree", "/files changes"])
async def test_no_sheet_that_goes_on_reading_takes_the_keys_of_who_went_on_writing(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        settled = held_up(monkeypatch, Conversation, "settle")
        await person.say(command)
        await person.all_in()
        await person.type("hello wor")
        settled.set()
        await person.done()
        await person.type("ld")
        assert person.app.screen is person.app.chat and person.draft == "hello world"


async def stays(person: Person, sheet: HelpScreen) -> None:
    """Wait until it is said below a sheet that the person has gone on; the sheet is still in front then."""
    await person.until(lambda: person.area.prompt.hints.said.startswith("You moved on"), "the words")
    assert person.app.screen is sheet


async def test_a_list_opens_above_no_sheet_that_was_opened_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        session_known = held_up(monkeypatch, Window, "session_opened")
        await person.say("/mode")
        await person.all_in()
        await person.press("f1")
        sheet = await person.sees_dialog(HelpScreen)
        session_known.set()
        await stays(person, sheet)
        await person.press("escape")
        await person.back()
        await person.sees("You moved on")


async def test_the_list_of_inputs_opens_above_no_sheet_that_was_opened_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        inputs_read = held_up(monkeypatch, OpenTabs, "recent_inputs")
        await person.press("ctrl+r")
        await person.all_in()
        await person.press("f1")
        sheet = await person.sees_dialog(HelpScreen)
        inputs_read.set()
        await stays(person, sheet)


async def test_an_act_of_the_history_is_done_below_no_sheet_that_was_opened_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        first, _ = await two_tabs(person)
        page = HeldPage(monkeypatch, first)
        await choose_in_history(person, first, "t")
        await asyncio.wait_for(page.asked_for.wait(), 30)
        await person.press("f1")
        sheet = await person.sees_dialog(HelpScreen)
        page.let_go.set()
        await stays(person, sheet)


@pytest.mark.parametrize(("key", "sheet"), [("f1", HelpScreen), ("ctrl+p", Picker)])
async def test_nobody_has_gone_on_who_asked_before_the_first_tab_was_there(
    project: Path, monkeypatch: pytest.MonkeyPatch, key: str, sheet: type[HelpScreen | Picker]
) -> None:
    tab_opened = held_up(monkeypatch, OpenTabs, "open_new")
    templates_read = held_up(monkeypatch, KnownTemplates, "read")
    settings = Settings(agent="rehearsal")
    async with at_the_screen(str(project), settings=settings, choose=True) as person:
        await person.press(key)
        tab_opened.set()
        await person.first_tab()
        templates_read.set()
        await person.sees_dialog(sheet)


async def test_who_looks_at_another_window_meanwhile_has_not_gone_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        session_known = held_up(monkeypatch, Window, "session_opened")
        await person.say("/mode")
        await person.all_in()
        person.app.post_message(events.AppBlur())
        await person.taken_in()
        session_known.set()
        await person.sees_dialog(Picker)


def moved(directory: Path) -> Path:
    """Move a directory away; return where it is."""
    return directory.rename(directory.with_name("moved"))


async def test_nobody_who_writes_is_asked_where_to_continue_for_a_directory_that_is_gone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        id = person.tab.conversation.id
    directory, looked_for = moved(project), threading.Event()
    monkeypatch.setattr(tabs, "is_directory", lambda cwd: looked_for.wait(30) and is_directory(cwd))
    async with at_the_screen(str(directory), conversation_id=id, size=(160, 30)) as person:
        await person.sees("  first")
        await person.type("go on with sto")
        looked_for.set()
        await person.sees("is gone: you can read, and /cd DIR continues elsewhere.")
        await person.type("re")
        await person.done()
        assert person.app.screen is person.app.chat and person.draft == "go on with store"
        await person.press("ctrl+u")
        await person.new_tab()
        await person.press("ctrl+pageup")
        await person.sees("Where to continue?")


@pytest.mark.parametrize("act", ["v", "o"])
async def test_what_is_chosen_in_the_history_opens_nothing_above_a_sheet_that_was_opened_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    async with at_the_screen(str(project)) as person:
        await two_tabs(person)
        await person.press("ctrl+o")
        history = await person.sees_dialog(HistoryScreen)
        await person.until(history._everything.is_set, "all of it")
        await person.until(lambda: history.row_list.chosen is not None, "a row to be chosen")
        found = held_up(monkeypatch, RowDetails, "place_of")
        await person.press("f9", act)
        await person.press("f1")
        sheet = await person.sees_dialog(PageScreen)
        found.set()
        await person.until(
            lambda: not any(each.group in ("reading", "leaving") for each in person.app.workers), "it"
        )
        await person.taken_in()
        assert person.app.screen is sheet
        await person.press("escape")
        await person.sees("You moved on")
        assert history.is_active


async def test_nobody_who_reads_a_sheet_is_asked_where_to_continue(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        id = person.tab.conversation.id
    directory, looked_for = moved(project), threading.Event()
    monkeypatch.setattr(tabs, "is_directory", lambda cwd: looked_for.wait(30) and is_directory(cwd))
    async with at_the_screen(str(directory), conversation_id=id, size=(160, 30)) as person:
        await person.sees("  first")
        await person.press("f1")
        sheet = await person.sees_dialog(HelpScreen)
        looked_for.set()
        await person.until(lambda: not person.tab.prepared, "it to be looked at another time")
        assert person.app.screen is sheet


async def test_copied_words_go_into_no_other_tab_than_that_they_were_pasted_in(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        first, second = await two_tabs(person)
        person.app.copy_to_clipboard("copied words")
        looked_into = held_up(monkeypatch, ImageClipboard, "read")
        person.app._clipboard_images.copied_here = False  # something may have been copied elsewhere since
        await person.press("ctrl+v")
        await person.to_tab(1, "ctrl+pageup")
        looked_into.set()
        await person.done()
        assert (first.written, second.written) == ("", "")


async def test_a_quote_from_the_history_goes_into_the_tab_that_it_was_asked_for_in(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        first, second = await two_tabs(person)
        message_read = held_up(monkeypatch, TabBranches, "message")
        await choose_in_history(person, first, "q")
        await person.to_tab(1, "ctrl+pageup")
        message_read.set()
        await person.done()
        assert first.written == ""
        assert second.written.startswith("From the conversation “say first”")


async def test_the_agents_of_a_retry_are_listed_though_their_prices_come_late(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        priced = held_up(monkeypatch, ConversationChain, "prices")
        await person.say("/retry")
        await person.sees("Retry this prompt?")
        standing = person.area.panels.fork.standing
        await person.until(lambda: standing.holds(time.monotonic()), "it to stand long enough")
        await person.press("a")
        await person.all_in()
        await person.taken_in()
        priced.set()
        await person.sees_dialog(Picker)


async def test_what_an_agent_asks_meanwhile_keeps_no_list_back(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(project)) as person:
        await said(person, "first")
        await person.say("wait 1; edit notes.txt")
        session_known = held_up(monkeypatch, Window, "session_opened")
        await person.say("/mode")
        await person.until(lambda: person.area.place == "question", "the question to have the keys")
        session_known.set()
        await person.sees_dialog(Picker)

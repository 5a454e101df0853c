"""What is typed while the screen is on its way to another text is not lost, and not sent elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual import events

from catena.acts import agents
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.history.picker import HistoryScreen
from catena.workspace.tab import Tab
from catena.workspace.tab_branches import HistoryPage, TabBranches
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.port.port import AgentSpec
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError
from catena_store.records import Kind
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


async def prompts(tab: Tab) -> list[str]:
    """What was said in a tab, the newest branch of it."""
    async with Database.open(default_path()) as db, db.read() as reader:
        rows = await reader.all(
            "SELECT text FROM message WHERE conversation_id = ? AND kind = ? ORDER BY id",
            (tab.conversation.id, Kind.USER.value),
        )
    return [text for (text,) in rows]


async def two_tabs(person: Person) -> None:
    """Two tabs with a prompt and a draft each; the second is looked at."""
    await said(person, "first")
    await person.type("draft one")
    await person.new_tab()
    await said(person, "second")
    await person.type("draft two")


async def test_w19_a_new_tab_gets_what_is_typed_while_it_is_opened_and_is_what_enter_speaks_to(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.type("draft one")
        async with person.store_held():
            await person.press("ctrl+t")
            await person.type("say new")
            assert person.draft == "say new"
            await person.press("enter")
            await person.sees("Queued behind your previous command.")
            await person.type("and then")
            assert "  new" not in person.text
        await person.until(lambda: len(person.tabs) == 2, "the second tab")
        await person.sees("  new", " 2 ", "│ and then")
        await person.idle()
        first, second = person.tabs
        assert (first.draft, second.draft) == ("draft one", "and then")
        assert await prompts(first) == ["say first"] and await prompts(second) == ["say new"]


async def test_w19_a_command_and_a_prompt_typed_at_once_take_effect_one_after_the_other(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.type_at_once("/new\nsay new\nwritten")
        await person.until(lambda: len(person.tabs) == 2, "the second tab")
        await person.sees("  new", " 2 ", "│ written")
        await person.idle()
        assert await prompts(person.tabs[0]) == ["say first"] and person.tabs[0].draft == ""


async def test_w19_another_tab_has_the_composer_and_the_keys_at_once_and_enter_waits_for_its_transcript(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        await person.browse()
        async with person.store_held():
            await person.press("1")
            assert person.app.focused is person.composer
            assert person.draft == "draft one" and "  second" in person.text
            await person.type(" and more")
            await person.press("enter")
            await person.type("say later")
            assert person.draft == "say later" and "  second" in person.text
            assert first.leaf_id is not None and not first.busy
        await person.looks_at(first)
        await person.sees("draft one and more")
        await person.idle()
        assert second.draft == "draft two" and first.draft == "say later"
        assert await prompts(first) == ["say first", "draft one and more"]
        assert await prompts(second) == ["say second"]


async def test_w19_each_of_several_tabs_gone_through_gets_what_was_typed_for_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        await person.new_tab()
        await person.type("draft three")
        first, second, third = person.tabs
        async with person.store_held():
            await person.press("ctrl+pagedown")
            await person.type("!")
            await person.press("ctrl+pagedown")
            await person.type("?")
            await person.press("enter", "ctrl+pagedown")
            await person.type("x")
            assert person.draft == "draft threex"
        await person.looks_at(third)
        await person.until(lambda: second.draft == "", "the second draft to be sent")
        await person.done()
        assert (first.draft, third.draft) == ("draft one!", "draft threex")
        await person.to_tab(2, "ctrl+pageup")
        await person.sees("▌ draft two?")
        await person.idle()
        assert await prompts(second) == ["say second", "draft two?"]
        assert await prompts(first) == ["say first"] and await prompts(third) == []


async def test_w19_a_tab_that_cannot_be_read_leaves_the_one_on_the_screen_with_its_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        read = TabBranches.page_at

        async def not_the_first(self: TabBranches, tab: Tab, place: int | None, **known: Any) -> HistoryPage:
            if tab is first:
                raise StoreError("it cannot be read")
            return await read(self, tab, place, **known)

        monkeypatch.setattr(TabBranches, "page_at", not_the_first)
        async with person.store_held():
            await person.press("ctrl+pageup")
            await person.type("!")
            await person.press("enter")
            await person.type("more")
        await person.sees("it cannot be read", "  second", "│ draft two")
        await person.looks_at(second)
        assert first.draft == "draft one!\nmore"
        monkeypatch.undo()
        monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
        await person.to_tab(1, "ctrl+pageup")
        assert person.draft == "draft one!\nmore"
        assert await prompts(first) == ["say first"]


async def test_w19_where_no_tab_can_be_read_enter_tries_that_once_more_and_sends_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.new_tab()
        read, failures = TabBranches.page_at, 0

        async def not_at_first(self: TabBranches, tab: Tab, place: int | None, **known: Any) -> HistoryPage:
            nonlocal failures
            failures += 1
            if failures <= 2:
                raise StoreError(f"it cannot be read: {failures}")
            return await read(self, tab, place, **known)

        monkeypatch.setattr(TabBranches, "page_at", not_at_first)
        await person.say("/close")
        await person.sees("it cannot be read: 1")
        await person.done()
        await person.say("say second")
        await person.sees("it cannot be read: 2", "│ say second")
        await person.done()
        await person.press("enter")
        await person.sees("  first", "  second")
        await person.idle()
        assert await prompts(person.tabs[0]) == ["say first", "say second"] and person.draft == ""


async def test_w19_who_goes_to_browse_while_a_tab_is_read_browses_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        async with person.store_held():
            await person.press("ctrl+pageup", "f2")
        await person.looks_at(person.tabs[0])
        await person.done()
        assert person.area.place == "browsing"
        await person.press("escape")
        await person.writing()
        await person.new_tab()  # nothing to browse here: the keys do not stay where nothing is drawn
        await person.to_tab(1, "ctrl+pagedown")
        async with person.store_held():
            await person.press("ctrl+pagedown", "ctrl+pagedown", "f2")
        await person.looks_at(person.tabs[2])
        await person.done()
        assert person.app.focused is person.composer


async def test_k11_a_closed_tab_keeps_its_draft_and_the_next_one_gets_what_is_typed_meanwhile(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        async with person.store_held():
            person.chat.do("close")
            await person.type(" typed")
        await person.until(lambda: len(person.tabs) == 1, "one tab")
        await person.sees("  first", "│ draft one", "│  typed")
        await person.done()
        assert person.tabs[0].draft == "draft one\n typed"
        await person.say("/undo")
        await person.sees("  second", "│ draft two")


async def test_k11_what_was_sent_while_the_last_tab_was_closed_is_there_where_no_other_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        monkeypatch.setattr(agents, "kept_agent", lambda tab, settings: None)  # it is not here any more
        async with person.store_held():
            await person.say("/close")
            await person.type("say next")
            await person.press("enter")
            await person.type("more")
        await person.sees("Start with", "│ say next", "│ more")
        await person.done()
        assert person.draft == "say next\nmore" and not person.tabs


async def test_k11_what_is_typed_while_an_act_is_undone_goes_to_where_that_leads(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.escape_twice()
        await person.press("enter")
        await person.sees("esc cancel")
        await person.done()
        await person.say("say beta")
        await person.sees("  beta")
        await person.idle()
        await person.type("/undo")
        async with person.store_held():
            await person.press("enter")
            await person.type("say gamma")
            await person.press("enter")
            await person.type("rest")
            assert person.draft == "rest" and "  beta" in person.text
        await person.sees("  alpha", "  gamma", "│ rest")
        await person.idle()
        assert "beta" not in person.text


async def test_k11_nothing_to_undo_sends_what_was_typed_meanwhile_where_it_was_typed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.type("a draft")
        async with person.store_held():
            person.chat.do("redo")
            await person.type("say beta")
            await person.press("enter")
            await person.type("rest")
        await person.sees("  beta", "│ a draft", "rest")
        await person.idle()
        assert person.draft == person.tab.draft == "a draft\nrest"


async def test_e01_a_prompt_to_be_edited_has_the_keys_at_once_and_what_is_typed_behind_it(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.type("my draft")
        await person.browse()
        async with person.store_held():
            await person.press("e")
            assert person.app.focused is person.composer
            await person.type(" too")
        await person.sees("esc cancel", "│ say alpha too")
        await person.done()
        assert person.tab.draft == "my draft"
        await person.press("escape")
        await person.sees("│ my draft")


async def test_e01_what_is_typed_while_an_edit_goes_out_is_the_next_prompt(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.type("my draft")
        await person.browse()
        await person.press("e")
        await person.sees("esc cancel")
        await person.done()
        await person.type(" too")
        async with person.store_held():
            await person.press("enter")
            await person.type("say next")
            await person.press("enter")
            await person.type("rest")
        await person.sees("  alpha too", "  next", "│ rest")
        await person.idle()
        assert await prompts(person.tab) == ["say alpha", "say alpha too", "say next"]
        await person.browse()
        await person.press("g", "K", "h")
        await person.sees("│ my draft")


async def test_e01_what_is_typed_while_an_edit_goes_out_is_not_taken_along_to_another_tab(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        await person.escape_twice()
        await person.press("enter")
        await person.until(lambda: second.editing, "the prompt to be edited")
        await person.done()
        await person.type(" too")
        async with person.store_held():
            await person.press("enter")
            await person.type("next")
            await person.press("ctrl+pageup")
            await person.until(lambda: person.chat.context.drafts.tab is first, "the other tab")
            assert person.draft == "draft one"
        await person.looks_at(first)
        await person.done()
        await person.to_tab(2, "ctrl+pageup")
        await person.idle()
        assert (first.draft, second.draft) == ("draft one", "next")
        assert await prompts(second) == ["say second", "say second too"]


async def test_e01_an_edit_that_does_not_go_out_is_back_with_what_was_typed_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.type("my draft")
        await person.browse()
        await person.press("e")
        await person.sees("esc cancel")
        await person.done()

        async def refuse(*arguments: object, **named: object) -> None:
            raise StoreError("it is full")

        monkeypatch.setattr(person.tab.window, "edit", refuse)
        async with person.store_held():
            await person.press("enter")
            await person.type("say next")
            await person.press("enter")
            await person.type("rest")
        await person.sees("it is full", "│ say alpha", "say next", "rest")
        await person.done()
        assert person.draft == "say alpha\nsay next\nrest" and person.tab.draft == "my draft"
        assert await prompts(person.tab) == ["say alpha"]


async def test_r12_texts_that_the_store_refuses_come_back_in_the_order_in_which_they_were_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        go_on = asyncio.Event()

        async def refuse(*arguments: object) -> None:
            await go_on.wait()
            raise StoreError("it is full")

        monkeypatch.setattr(person.tab.window, "say", refuse)
        for text in ("say one", "say two", "say three"):
            await person.say(text)
        await person.type("rest")
        go_on.set()
        await person.sees("it is full")
        await person.done()
        assert person.draft == "say one\nsay two\nsay three\nrest"
        assert await prompts(person.tab) == ["say alpha"]


async def test_m06_a_text_that_waits_to_go_out_is_saved_with_the_draft_behind_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, _ = person.tabs
        tabs = person.chat.context.tabs
        async with person.store_held():
            await person.press("ctrl+pageup")
            await person.type("!")
            await person.press("enter")
            await person.type("more")
            saving = asyncio.ensure_future(tabs.keep(first))
        await saving  # what a timer does; it comes before the transcript is read
        async with Database.open(default_path()) as db, db.read() as reader:
            drafts = await reader.all("SELECT draft FROM window_leaf WHERE window_id = ?", (first.window_id,))
        assert [draft for (draft,) in drafts if draft] == ["draft one!\nmore"]
        await person.looks_at(first)
        await person.idle()


async def test_e03_a_draft_that_is_left_stays_in_sight_until_something_is_typed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.type("my draft")
        await person.press("left", "left")
        cursor = person.composer.cursor_location
        async with person.store_held():
            person.chat.do("undo")
            await person.taken_in()
            assert person.draft == "my draft"
            await person.press("enter")  # and it is not sent: another may take its place
            assert person.draft == "my draft"
        await person.sees("Nothing to undo")
        await person.done()
        assert (person.draft, await prompts(person.tab)) == ("my draft", ["say alpha"])
        assert person.composer.cursor_location == cursor


async def test_e03_nobody_who_went_on_writing_is_asked_for_a_fork(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        for key in ("f", "r"):
            await person.browse()
            async with person.store_held():
                await person.press(key)
                await person.all_in()  # and the question is not waited for any longer
                await person.press("escape")
                await person.type("word ")
            await person.sees("You moved on")
            await person.done()
            assert person.app.focused is person.composer and not person.area.panels.fork.open
        assert person.draft == "word word "


async def test_a_command_that_wants_more_is_put_before_what_is_typed_behind_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        for command, named in (("/rename",) * 2, ("/label", "/checkpoint name"), ("/attach",) * 2):
            await person.type_at_once(f"{command}\nwords")
            await person.done()
            assert person.draft == f"{named} words"
            person.composer.put("")


async def test_earlier_texts_come_only_where_nothing_was_written_meanwhile(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        person.chat.actions.prompts._inputs.loaded = False
        async with person.store_held():
            await person.press("up")
            await person.type("mine")
        await person.done()
        assert person.draft == "mine"
        await person.press("up")
        await person.until(lambda: person.draft == "say alpha", "the text before")
        await person.press("down")
        assert person.draft == "mine"


async def test_m06_what_is_typed_while_a_tab_is_opened_is_kept_by_leaving(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.type("draft one")
        await person.taken_in()
        tab, tabs = person.tab, person.chat.context.tabs

        async def never(*arguments: object, **named: object) -> Tab:
            await asyncio.Event().wait()
            raise AssertionError

        tabs.open_new = never  # type: ignore[method-assign]
        await person.press("ctrl+t")
        await person.type(" and two")
        await person.press("enter")
        await person.type("rest")
    async with at_the_screen(str(tmp_path), conversation_id=tab.conversation.id) as person:
        assert person.draft == "draft one\n and two\nrest"


async def test_m06_what_is_saved_while_a_tab_goes_elsewhere_does_not_take_the_place_of_the_draft_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "alpha")
        await person.type("draft there")
        await person.browse()
        await person.press("e")
        await person.sees("esc cancel")
        await person.done()
        await person.say("say beta")
        await person.sees("  beta")
        await person.idle()
        await person.type("draft here")
        stand_anew = OpenTabs.reload

        async def saved_before(self: OpenTabs, tab: Tab) -> None:
            await self.keep(tab)  # what a timer does after a pause in typing
            await stand_anew(self, tab)

        monkeypatch.setattr(OpenTabs, "reload", saved_before)
        for key, draft in (("h", "draft there"), ("l", "draft here"), ("u", "draft there")):
            await person.browse()
            await person.press(key)
            if key == "u":
                await person.sees("Undo switching branches?")
                await person.press("enter")
            await person.done()
            assert person.draft == person.tab.draft == draft


async def test_k11_who_goes_to_another_tab_while_an_act_is_undone_stays_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        await person.say("/rename Other")
        await person.sees("Renamed to “Other”")
        await person.done()
        await person.type("draft two")
        async with person.store_held():
            person.chat.do("undo")
            await person.type("!")
            await person.press("ctrl+pageup")
            await person.type("?")
        await person.looks_at(first)
        await person.done()
        assert person.tab is first and person.draft == "draft one?"
        assert second.draft == "draft two\n!" and second.conversation.record.title != "Other"


async def test_a_question_is_answered_in_the_tab_that_asks_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        await person.press("ctrl+u")
        await person.say("ask May I?")
        await person.sees("Allow running this?", "“May I?”")
        await person.until(lambda: person.area.place == "question", "the keys to go there")
        (ask,) = second.asks
        assert isinstance(ask, PermissionOpened)
        async with person.store_held():
            await person.press("ctrl+pageup")
            assert person.app.focused is person.composer
            person.area.panels.permission.post_message(PermissionPanel.Answered(ask, ask.options[0], ""))
        await person.looks_at(first)
        await person.until(lambda: not second.busy and not second.asks, "the question to be answered")


async def test_w03_who_scrolls_up_while_a_prompt_goes_out_reads_on_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 16)) as person:
        await person.say("stream 400")
        await person.until(lambda: person.tab.leaf_id, "it to begin")
        await person.idle()
        await person.until(lambda: not person.transcript.busy, "it to be drawn")
        await person.type("say on")
        async with person.store_held():
            await person.press("enter", "pageup", "pageup")
            await person.until(lambda: person.transcript.position() is not None, "the place")
            place, leaf = person.transcript.position(), person.tab.leaf_id
        await person.until(lambda: person.tab.leaf_id != leaf, "it to go out")
        await person.idle()
        assert place is not None and person.transcript.position() == place


async def test_enter_waits_for_a_file_that_is_being_attached(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("what is in it")
    (project := tmp_path / "project").mkdir()
    async with at_the_screen(str(project)) as person:
        await person.type("say look ")
        person.composer.post_message(events.Paste(str(file)))
        await person.sees("Tab attaches the file instead of the path.")
        async with person.store_held():
            await person.press("tab", "enter")
            assert person.draft == "" and person.tab.leaf_id is None
            await person.type("and on")
        await person.sees("  look", "notes.md", "│ and on")
        await person.idle()
        assert person.tab.attachments == () and person.tab.draft == "and on"
        assert await prompts(person.tab) == ["say look"]


async def test_w03_enter_on_what_stood_in_one_tab_sends_nothing_in_the_next(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        first, second = person.tabs
        async with person.store_held():
            person.chat.do("close")
            await person.press("enter")
        await person.looks_at(first)
        await person.done()
        assert person.draft == first.draft == "draft one"
        assert await prompts(first) == ["say first"] and await prompts(second) == ["say second"]


async def test_h14_a_prompt_that_comes_back_while_another_tab_is_chosen_stays_where_it_was_written(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        await person.new_tab()
        await person.say("say second; hang")
        await person.sees("  second")
        await person.say("say waiting")
        await person.until(lambda: person.tab.queue, "the prompt to wait")
        first, second = person.tabs
        await person.press("ctrl+o")
        await person.sees_dialog(HistoryScreen)
        await second.window.queue.restore(second.queue[0].id)
        await person.until(lambda: person.draft == "say waiting", "the prompt to be back")
        await person.press("down", "enter")
        await person.back()
        await person.looks_at(first)
        await person.idle()
        assert (first.draft, second.draft) == ("", "say waiting")


class SlowPages:
    """The pages of some tabs: they are read, and shown only when they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *tabs: Tab) -> None:
        self.read: set[str] = set()
        self.let_go = {tab.window_id: asyncio.Event() for tab in tabs}
        lineage_line = OpenTabs.lineage_line

        async def slow(tabs: OpenTabs, tab: Tab) -> str:
            self.read.add(tab.window_id)
            if tab.window_id in self.let_go:
                await self.let_go[tab.window_id].wait()
            return await lineage_line(tabs, tab)

        monkeypatch.setattr(OpenTabs, "lineage_line", slow)


async def test_w19_who_comes_back_before_another_tab_was_shown_misses_nothing_that_is_said_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_tabs(person)
        await person.to_tab(1, "ctrl+pageup")
        first, second = person.tabs
        view, tabs = person.chat.context.presenter, person.chat.context.tabs
        pages = SlowPages(monkeypatch, first, second)
        for tab in (second, first):
            await person.press("ctrl+pageup")
            await person.until(lambda: tab.window_id in pages.read, "the page to be read")  # noqa: B023
        pages.let_go[second.window_id].set()
        await person.until(lambda: view._loading == [first], "the other tab to be given up")
        await first.window.say("say between")
        await first.window.wait_idle()
        await person.until(lambda: not tabs.panes.focused.published.is_set(), "the news to be looked at")
        pages.let_go[first.window_id].set()
        await person.looks_at(first)
        await person.sees("  first", "  between")


async def test_the_last_tab_may_be_closed_while_it_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        tab, view, tabs = person.tab, person.chat.context.presenter, person.chat.context.tabs
        pages = SlowPages(monkeypatch, tab)
        view._reload.set()
        tabs.panes.focused.published.set()
        await person.until(lambda: tab.window_id in pages.read, "the page to be read")
        open_new, opened = tabs.open_new, asyncio.Event()

        async def slowly_opened(spec: AgentSpec) -> Tab:
            await opened.wait()
            return await open_new(spec)

        monkeypatch.setattr(tabs, "open_new", slowly_opened)
        await person.say("/close")
        await person.until(lambda: tabs.active is None, "the tab to be closed")
        pages.let_go[tab.window_id].set()
        await person.until(lambda: not view._loading, "the page to be given up")
        opened.set()
        await person.until(lambda: view.shown in tabs.tabs, "another tab")
        await said(person, "second")


async def test_s05_a_page_that_cannot_be_read_anew_is_told_and_the_screen_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "first")
        read, failed = TabBranches.page_at, False

        async def not_at_first(self: TabBranches, tab: Tab, place: int | None, **known: Any) -> HistoryPage:
            nonlocal failed
            if not failed:
                failed = True
                raise StoreError("it cannot be read")
            return await read(self, tab, place, **known)

        monkeypatch.setattr(TabBranches, "page_at", not_at_first)
        person.chat.context.presenter._reload.set()
        person.chat.context.tabs.panes.focused.published.set()
        await person.sees("it cannot be read", "  first")
        await said(person, "second")

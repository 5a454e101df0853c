"""What was closed is gone: neither sheets nor conversations stay in memory."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.content import Content
from textual.messages import Prune
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerError

from catena.acts.settings import known_templates
from catena.history import entries, other_tools, preview
from catena.history.finding import HitPlace, MessageHit
from catena.screens.checkpoints.screen import CheckpointsScreen
from catena.screens.common.dialog import ListScreen
from catena.screens.common.page import PageScreen
from catena.screens.history.picker import HistoryScreen
from catena.screens.history.rows.list import RowDetails
from catena.screens.settings.permissions import PermissionsScreen
from catena.screens.settings.servers import ServersScreen
from catena.screens.settings.templates import TemplatesScreen
from catena.settings.templates import PROJECT_FOLDER
from catena_acp.conversation.access.allowances import ConversationRules
from catena_acp.permissions.rule import Rule, RuleScope, rule_of
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    # The loop keeps a limit that was not reached, with all that was under way then, until its time is over.
    for module, limit in (
        (other_tools, "_AGENTS_SECONDS"),
        (preview, "_LOOK_SECONDS"),
        (entries, "_SECONDS"),
    ):
        monkeypatch.setattr(module, limit, 1.0)


async def _history_opened_and_closed(person: Person) -> list[weakref.ref[StylesCache]]:
    """What keeps the drawn rows of each widget of the history."""
    await person.press("ctrl+o")
    screen = await person.sees_dialog(HistoryScreen)
    await person.sees("esc close")
    drawn = [weakref.ref(widget._styles_cache) for widget in screen.walk_children(Widget, with_self=True)]
    await person.press("escape")
    await person.back()
    await person.idle()
    return drawn


async def _gone(person: Person, those: Sequence[weakref.ref[Any]]) -> None:
    def gone() -> bool:
        gc.collect()
        return not any(each() for each in those)

    await person.until(gone, "what was closed to be gone")


async def test_q04_nothing_that_a_closed_sheet_drew_is_kept(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")  # all is imported
        drawn = await _history_opened_and_closed(person)
        await _history_opened_and_closed(person)

        await _gone(person, drawn)


class _Listed(ListScreen[None]):
    """A list whose work goes on at the moment at which its rows are gone and it is not."""

    def __init__(self) -> None:
        super().__init__()
        self.went_on = asyncio.Event()

    def on_mount(self) -> None:
        self.work = self.run_worker(self._work())

    async def _work(self) -> None:
        await self.went_on.wait()
        self.row_list.show([])

    async def _message_loop_exit(self) -> None:
        for child in (children := list(self.children)):
            child.post_message(Prune())
        await asyncio.gather(*(child._task for child in children if child._task))
        self.went_on.set()
        with suppress(WorkerError):
            await self.work.wait()
        await super()._message_loop_exit()


@pytest.mark.parametrize("ends", [False, True])
async def test_work_of_a_sheet_that_is_taken_down_never_finds_its_rows_gone(
    tmp_path: Path, ends: bool
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        sheet = _Listed()
        person.app.push_screen(sheet)
        await person.sees_dialog(_Listed)
        if not ends:
            sheet.dismiss(None)
            await person.back()
    assert sheet.went_on.is_set()


async def test_a_sheet_closes_itself_once_and_only_in_front(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        sheet, results = ListScreen[None](), list[object]()
        person.app.push_screen(sheet, results.append)
        await person.sees_dialog(ListScreen)
        cover = PageScreen("Above it", Content("a page"))
        person.app.push_screen(cover)
        await person.sees("a page")
        await sheet.dismiss(None)
        assert person.app.screen is cover and not results
        await cover.dismiss(None)
        assert person.app.screen_stack[-1] is sheet
        sheet.dismiss(None)
        sheet.dismiss(None)
        await person.back()
        assert results == [None] and person.app._exception is None


@pytest.mark.parametrize("key", ["f1", "ctrl+c"])
async def test_a_choice_that_is_found_after_the_next_key_closes_no_other_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(details: RowDetails, hit: MessageHit | None) -> HitPlace | None:
        begun.set()
        await go.wait()
        return None

    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")
        await person.press("ctrl+o")
        screen = await person.sees_dialog(HistoryScreen)
        await person.until(lambda: screen._everything.is_set() and screen.row_list.chosen, "the rows")
        monkeypatch.setattr(RowDetails, "place_of", slow)
        await person.press("enter")
        await asyncio.wait_for(begun.wait(), 60)
        if key == "f1":
            await person.press(key)
            await person.sees_dialog(PageScreen)
        else:  # the choice is found before the sheet has ended its work
            screen.action_cancel()
        before = person.app.screen
        go.set()
        await person.until(lambda: not any(each.group == "leaving" for each in person.app.workers), "the end")
        await person.taken_in()
        assert person.app.screen is before and person.app._exception is None
        if key == "f1":
            await person.press("escape")
            assert person.app.screen is screen
            await person.press("escape")
            await person.back()
        assert person.app._exception is None


async def test_a_rule_that_is_removed_is_removed_although_the_sheet_is_closed_at_once(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        rules = person.tab.conversation.rules
        await rules.add(rule_of("edit", "auth/", allow=True, scope=RuleScope.PROJECT))
        await person.say("/permissions")
        await person.sees("Permission rules (1)")
        async with person.store_held(on_a_sheet=True):
            await person.press("d", "escape")
            await person.back()
            await _ended(person, PermissionsScreen)
        await person.until(lambda: not person.app._outgoing._steps, "the write to end")
        assert not await rules.listed() and person.app._exception is None


async def test_a_write_that_fails_behind_its_sheet_is_told_on_the_screen_in_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = asyncio.Event()

    async def refuse(rules: ConversationRules, rule: Rule) -> None:
        await go.wait()
        raise StoreError("The disk is full.")

    async with at_the_screen(str(tmp_path)) as person:
        rules = person.tab.conversation.rules
        await rules.add(rule_of("edit", "auth/", allow=True, scope=RuleScope.PROJECT))
        await person.say("/permissions")
        await person.sees("Permission rules (1)")
        monkeypatch.setattr(ConversationRules, "remove", refuse)
        await person.press("d", "escape")
        await person.back()
        await _ended(person, PermissionsScreen)
        go.set()
        await person.sees("The disk is full.")


async def test_a_label_is_kept_although_the_sheet_is_closed_at_once(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")
        await person.say("/checkpoint one")
        await person.sees("Saved checkpoint")
        await person.say("/checkpoint list")
        await person.sees_dialog(CheckpointsScreen)
        await person.sees("one")
        await person.press("r", "ctrl+u", *"typed")
        async with person.store_held(on_a_sheet=True):
            await person.press("enter", "escape")
            await person.back()
            await _ended(person, CheckpointsScreen)
        await person.until(lambda: not person.app._outgoing._steps, "the write to end")
        labels = {each.label for each in await person.tab.conversation.checkpoints.all()}
        assert "typed" in labels and "one" not in labels and person.app._exception is None


async def test_a_title_is_kept_although_the_history_is_closed_at_once(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")
        await person.press("ctrl+o")
        screen = await person.sees_dialog(HistoryScreen)
        await person.until(lambda: screen._everything.is_set() and screen.row_list.chosen, "the rows")
        await person.press("f9", "r", "ctrl+u", *"another")
        id = person.tab.conversation.id
        async with person.store_held(on_a_sheet=True):
            await person.press("enter", "escape")
            await person.back()
            await _ended(person, HistoryScreen)
        await person.until(lambda: not person.app._outgoing._steps, "the write to end")
    assert person.app._exception is None
    async with Database.open(default_path()) as db, db.read() as reader:
        assert [
            title for (title,) in await reader.all("SELECT title FROM conversation WHERE id = ?", (id,))
        ] == ["another"]


@pytest.mark.parametrize(("keys", "allowed"), [(["x"], False), (["a", "y"], True)])
async def test_an_answer_about_servers_is_kept_although_the_sheet_is_closed_at_once(
    tmp_path: Path, keys: list[str], allowed: bool
) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"bell": {"command": "/bin/echo"}}}')
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/mcp")
        await person.sees("bell", "waits for you to allow it")
        *first, last = keys
        await person.press(*first)
        await person.apart()
        async with person.store_held(on_a_sheet=True):
            await person.press(last, "escape")
            await person.back()
            await _ended(person, ServersScreen)
        await person.until(lambda: not person.app._outgoing._steps, "the write to end")
        listed = await person.tab.conversation.servers.listed(person.tab.window_id)
        assert listed.allowed is allowed and person.app._exception is None


@pytest.mark.parametrize(("key", "allowed"), [("x", False), ("a", True)])
async def test_an_answer_about_a_template_is_kept_although_the_sheet_is_closed_at_once(
    tmp_path: Path, key: str, allowed: bool
) -> None:
    (folder := tmp_path / PROJECT_FOLDER).mkdir(parents=True)
    (folder / "greet.md").write_text("say $ARGUMENTS\n")
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/templates")
        await person.sees("/greet", "waits for you to allow it")
        async with person.store_held(on_a_sheet=True):
            await person.press(key, "escape")
            await person.back()
            await _ended(person, TemplatesScreen)
        await person.until(lambda: not person.app._outgoing._steps, "the write to end")
        known = await known_templates(person.chat.context.tabs, person.tab).read()
        (greet,) = (each for each in known if each.name == "greet")
        assert greet.allowed is allowed and person.app._exception is None


async def _ended(person: Person, kind: type[Screen[Any]]) -> None:
    """Wait until a sheet is closed, and its own work has ended."""

    def over() -> bool:
        return not any(isinstance(worker.node, kind) for worker in person.app.workers)

    await person.until(over, f"the end of the {kind.__name__}")


async def test_work_that_a_sheet_begins_in_its_last_moment_ends_with_it_and_without_a_warning(
    tmp_path: Path,
) -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.set()

    async with at_the_screen(str(tmp_path)) as person:
        sheet, closed = ListScreen[None](), asyncio.Event()
        person.app.push_screen(sheet)
        await person.sees_dialog(ListScreen)
        sheet.call_later(closed.wait)
        sheet.call_later(lambda: sheet.run_worker(work()) and None)
        sheet.dismiss(None)
        for _ in range(200):  # turns of the loop, in which it is asked to go
            await asyncio.sleep(0)
        closed.set()
        await asyncio.wait_for(ended.wait(), 60)


async def test_q04_a_conversation_that_was_closed_is_not_kept(tmp_path: Path) -> None:
    closed: list[weakref.ref[object]] = []
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")
        for number in range(3):
            await person.new_tab()
            await person.answered(f"say {number}")
            tab = person.tab
            closed += [
                weakref.ref(each)
                for each in (tab.conversation, tab.window, tab.window._conversation.sessions)
            ]
            del tab
            await person.say("/close")
            await person.until(lambda: len(person.tabs) == 1, "the tab to be closed")
            await person.looks_at(person.tabs[0])
            await person.idle()
        await _gone(person, closed[:-3])  # what is told last may still be about the last one
        opening = person.chat.context.tabs._conversations._opening
        await person.until(lambda: not opening, "the locks of what was opened and closed to be gone")

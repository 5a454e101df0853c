"""What was asked for is done where that was, or not at all, if the person has gone on since."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena.screens.history.picker import HistoryScreen
from catena.workspace.tab import Tab
from catena.workspace.tab_branches import HistoryPage, TabBranches
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

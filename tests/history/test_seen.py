"""What a person has seen, and that coming and going changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.database.database import Database, default_path
from catena_store.finding import history
from catena_store.finding.history import HistoryRow
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def row(id: str) -> HistoryRow:
    """A conversation as another client reads it."""
    async with Database.open(default_path()) as db, db.read() as reader:
        (found,) = await history.of_conversations(reader, [id])
        return found


async def sees_row(person: Person, id: str, *, unseen: bool) -> HistoryRow:
    """Wait until the newest answer of a conversation counts as seen or not."""
    for _ in range(1_000):
        if (found := await row(id)).unseen_answer is unseen and found.seen_at is not None:
            return found
        await person.pilot.pause(0.01)
    raise AssertionError(f"waited for {unseen=}: {found}")


async def test_h20_an_answer_is_unread_until_its_tab_is_looked_at_which_changes_nothing_else(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say one")
        first = person.tab
        await sees_row(person, first.conversation.id, unseen=False)
        await person.say("cue go; say later")
        await person.until(lambda: first.at_work, "it to begin")
        await person.new_tab()
        await person.answered("say two")
        second = person.tab.conversation.id
        (cues := tmp_path / "rehearsal" / "cues").mkdir(parents=True, exist_ok=True)
        (cues / "go").touch()
        await person.until(lambda: first.unread and person.is_over(first), "the answer in the other tab")
        before = await sees_row(person, first.conversation.id, unseen=True)
        order = [before.id, second]
        await person.to_tab(1, "ctrl+pageup")
        after = await sees_row(person, first.conversation.id, unseen=False)
        assert after.updated_at == before.updated_at
        assert await _newest(2) == order[::-1]
        first_id = first.conversation.id
    left = await row(first_id)
    async with at_the_screen(str(tmp_path)) as person:
        await person.until(lambda: len(person.tabs) == 3, "the tabs, and a new one")
        await person.to_tab(2, "ctrl+pageup")
        await person.to_tab(1, "ctrl+pageup")
    again = await row(first_id)
    assert again.updated_at == left.updated_at
    assert await _newest(2) == order[::-1]
    assert again.seen_at is not None
    assert left.seen_at is not None
    assert again.seen_at > left.seen_at


async def _newest(count: int) -> list[str]:
    async with Database.open(default_path()) as db, db.read() as reader:
        return [each.id for each in await history.page(reader, limit=count)]


async def test_h20_an_answer_that_came_while_the_terminal_was_not_looked_at_is_seen_with_the_next_look(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say one")
        id = person.tab.conversation.id
        await sees_row(person, id, unseen=False)
        person.app.app_focus = False
        tab, before = person.tab, person.tab.leaf_id
        person.chat.submit("say two")
        await person.until(lambda: tab.leaf_id != before and tab.unread and person.is_over(tab), "the answer")
        await sees_row(person, id, unseen=True)
        person.app.app_focus = True
        await sees_row(person, id, unseen=False)
        assert not person.tab.unread

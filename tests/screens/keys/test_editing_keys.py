"""Readline's keys edit text in every field; what removes or leads elsewhere has other ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena.keys.actions import ACTIONS, PLACES
from catena.screens.history.picker import HistoryScreen
from catena.widgets.fields.text_fields import SafeInput
from support.screen.pilot import at_the_screen

READLINE = {f"ctrl+{letter}" for letter in "aekuwybf"}
NOT_EDITING = {"find"}  # Ctrl+F in the composer, as everywhere in a chat


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


def test_u07_no_act_has_a_key_that_edits_text_where_text_is_edited() -> None:
    edited = {
        "text",
        *(within for place in PLACES.values() if "text" in place.within for within in place.within),
    }
    edited |= {place.name for place in PLACES.values() if "text" in place.within}
    acts = {
        action.name: sorted(READLINE & set(action.keys))
        for action in ACTIONS.values()
        if action.place in edited - {"text"} and READLINE & set(action.keys)
    }
    assert set(acts) == NOT_EDITING
    assert {
        key for each in ACTIONS.values() if each.place == "text" for key in each.keys
    } & READLINE == READLINE


async def test_u07_readline_s_keys_edit_in_the_history_as_in_the_composer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say something")
        await person.type("alpha beta")
        await person.press("ctrl+w", "ctrl+a", "ctrl+y")
        assert person.draft == "betaalpha "
        await person.press("ctrl+b", "ctrl+k", "ctrl+e", "ctrl+y", "ctrl+u")
        assert person.draft == ""
        await person.press("ctrl+o")
        screen = await person.sees_dialog(HistoryScreen)
        field = screen.query_one(SafeInput)
        await person.type("alpha beta")
        await person.press("ctrl+w", "ctrl+a", "ctrl+y")
        assert field.value == "betaalpha "
        await person.press("ctrl+f", "ctrl+b", "ctrl+k")
        assert field.value == "beta"
        await person.press("ctrl+y", "ctrl+e", "ctrl+u")
        assert field.value == ""
        await person.press("ctrl+y")
        assert field.value == "betaalpha "
        assert person.app.screen is screen
        await person.press("ctrl+u")
        await person.sees("say something")
        await person.sees_no("is archived")

"""Keys of the person's own, and vi's keys, on the real screen."""

from __future__ import annotations

from pathlib import Path

from catena.keys.keymap import KeyMap
from catena.screens.history.picker import HistoryScreen
from catena.settings.settings import Settings
from support.screen.pilot import at_the_screen


async def test_w20_a_key_of_ones_own_works_is_shown_and_takes_the_place_of_the_default(
    tmp_path: Path,
) -> None:
    own = KeyMap({"history": ("ctrl+b ctrl+h",), "top": ("g g",), "find": ()})
    async with at_the_screen(str(tmp_path), settings=Settings(keys=own, vim=True)) as person:
        await person.writing()
        await person.sees("ctrl+b ctrl+h history")
        await person.press("ctrl+o")
        assert not isinstance(person.app.screen, HistoryScreen)
        await person.press("ctrl+b", "x")
        assert not isinstance(person.app.screen, HistoryScreen)
        await person.press("ctrl+b", "ctrl+h")
        await person.until(lambda: isinstance(person.app.screen, HistoryScreen), "the history")
        await person.press("escape")
        await person.writing()


async def test_w32_the_composer_has_vis_modes_and_says_which(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), settings=Settings(vim=True)) as person:
        await person.writing()
        assert "INSERT" in person.text
        await person.type("one two three")
        await person.press("escape", "0", "d", "w", "2")
        assert person.draft == "two three"
        await person.sees("NORMAL 2")
        await person.press("escape", "w", "v", "e")
        await person.sees("VISUAL")
        await person.press("c", "4", "escape", "u")
        assert person.draft == "two three"
        await person.press("ctrl+r")
        assert person.draft == "two 4"

"""The hints of the composer name the keys that work in the mode of vi that it is in."""

from __future__ import annotations

from pathlib import Path

from catena.screens.chat.area.hints import with_vi_modes
from catena.settings.settings import Settings
from support.screen.pilot import at_the_screen


def test_w32_the_first_escape_leaves_insert_mode() -> None:
    hints = (("{stop} {stop}", "edit a prompt"), ("@", "files"), ("{send}", "queue"))
    assert with_vi_modes(hints, inserting=None) == hints
    assert with_vi_modes(hints, inserting=True) == (("{stop} {stop} {stop}", "edit a prompt"), *hints[1:])
    assert with_vi_modes(hints, inserting=False) == (hints[0], hints[2])


async def test_w32_in_each_of_vis_modes_the_hints_are_the_keys_that_work(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), settings=Settings(vim=True)) as person:
        await person.say("say one")
        await person.idle()
        await person.sees("INSERT", "@ files", "/ commands")
        await person.press("escape")
        await person.sees("NORMAL", "esc esc edit a prompt", "history")
        for gone in ("@ files", "/ commands"):
            await person.sees_no(gone)
        await person.press("i")
        await person.sees("INSERT", "/ commands")

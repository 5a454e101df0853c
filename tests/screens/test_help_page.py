"""The help: that of a place fits one screen, and at every width a key stands with what it does."""

from __future__ import annotations

from functools import partial

import pytest
from textual.widgets import Static

from catena.app.app import CatenaApp
from catena.keys.keymap import DEFAULT_KEYS
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.commands.help import SECTIONS, HelpScreen, help_text, keys_text
from catena.settings.settings import Start
from support.screen.transcript import until

_AXIS = 16  # cells of the text before what a key does


@pytest.mark.parametrize("width", [36, 55, 56, 75, 96])
def test_w20_what_a_key_does_is_whole_and_keeps_to_its_column_at_every_width(width: int) -> None:
    rows = help_text("browsing", [], SLASH_COMMANDS)(width).plain.split("\n")
    assert all(len(row) <= width for row in rows)
    indent = " " * (_AXIS if width >= 56 else 2)
    commands = [(f"/{own.usage}", own.summary) for own in SLASH_COMMANDS if own.words]
    for key, does in [
        *(pair for pairs in SECTIONS.values() for pair in DEFAULT_KEYS.hints(pairs)),
        *commands,
    ]:
        found = []
        for at, row in enumerate(rows):
            if row.startswith(key) and row[len(key) :][:1] in ("", " "):
                said = [row[len(key) :].strip()]
                for further in rows[at + 1 :]:
                    if not further.startswith(indent):
                        break
                    said.append(further.strip())
                found.append(" ".join(" ".join(said).split()))
        assert " ".join(does.split()) in found


@pytest.mark.parametrize("place", SECTIONS)
def test_w20_the_help_of_a_place_fits_one_screen_of_80_by_24(place: str) -> None:
    rows = keys_text(DEFAULT_KEYS.hints(SECTIONS[place]), 80 - 4).plain.split("\n")
    assert len(rows) == len(SECTIONS[place]), "no key needs a second line"
    assert len(rows) <= 24 - len(("head", "", "", "keys"))


async def test_w20_the_help_is_laid_out_again_for_another_width_and_all_of_it_is_a_key_away() -> None:
    app = CatenaApp(Start("/"), environment={})
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(HelpScreen("composer", [], SLASH_COMMANDS))
        text = app.screen.query("#text Static").first(Static)

        def laid_out(everything: bool, width: int) -> bool:
            rows = [strip.text.rstrip() for strip in text.render_lines(text.size.region)]
            every = partial(help_text("composer", [], SLASH_COMMANDS))
            wanted = (every if everything else partial(keys_text, DEFAULT_KEYS.hints(SECTIONS["composer"])))(
                text.size.width
            )
            return width - 8 < text.size.width < width and rows == [
                row.rstrip() for row in wanted.plain.split("\n")
            ]

        for width in (80, 40, 100):
            await pilot.resize_terminal(width, 24)
            await until(partial(laid_out, False, width))
        await pilot.press("a")
        await until(partial(laid_out, True, 100))
        await pilot.press("a")
        await until(partial(laid_out, False, 100))

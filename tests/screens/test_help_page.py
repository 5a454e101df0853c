"""The help at every width: what a key does stands beside it, or below it, and never under another key."""

from __future__ import annotations

from functools import partial

import pytest
from textual.app import App
from textual.widgets import Static

from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.common.page import PageScreen
from catena.screens.help import SECTIONS, help_text
from support.screen.transcript import until


@pytest.mark.parametrize("width", [36, 59, 60, 75, 200])
def test_w20_what_a_key_does_is_whole_and_keeps_to_its_column_at_every_width(width: int) -> None:
    rows = help_text("browsing", [], SLASH_COMMANDS)(width).plain.split("\n")
    assert all(len(row) <= width for row in rows)
    indent = " " * (24 if width >= 60 else 4)
    commands = [(f"/{own.name} {own.argument}".strip(), own.summary) for own in SLASH_COMMANDS]
    for key, does in [*(pair for pairs in SECTIONS.values() for pair in pairs), *commands]:
        found = []
        for at, row in enumerate(rows):
            if row.startswith(f"  {key}") and row[2 + len(key) :][:1] in ("", " "):
                said = [row[2 + len(key) :].strip()]
                for further in rows[at + 1 :]:
                    if not further.startswith(indent):
                        break
                    said.append(further.strip())
                found.append(" ".join(" ".join(said).split()))
        assert " ".join(does.split()) in found


async def test_w20_the_help_is_laid_out_again_for_another_width() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(PageScreen("help", help_text("composer", [], SLASH_COMMANDS)))
        text = pilot.app.screen.query("#text Static").first(Static)

        def laid_out(width: int) -> bool:
            rows = [strip.text.rstrip() for strip in text.render_lines(text.size.region)]
            wanted = help_text("composer", [], SLASH_COMMANDS)(text.size.width).plain.split("\n")
            return width - 8 < text.size.width < width and rows == [row.rstrip() for row in wanted]

        for width in (80, 40, 120):
            await pilot.resize_terminal(width, 24)
            await until(partial(laid_out, width))

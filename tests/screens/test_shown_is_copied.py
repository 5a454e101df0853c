"""Copying gives what was seen, and an address that hides where it leads is not opened. Section V06."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena.rendering.html import markdown_html
from catena.transcript import Transcript
from catena.transcript.markdown.markdown import link_style
from catena_acp.mcp.servers import read_project_file
from support.screen.pilot import at_the_screen

_HIDDEN = "http://good.example@evil.example/"


async def test_v06_what_is_copied_cannot_steer_a_terminal_and_keeps_newlines_and_tabs(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        person.app.copy_to_clipboard("\x1b]0;owned\x07one\n\ttwo\u202eeerht\r")
        assert person.app.clipboard == "␛]0;owned␇one\n\ttwo⟨202E⟩eerht\n"


async def test_v06_a_link_that_hides_where_it_leads_is_not_opened_and_the_screen_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    async with at_the_screen(str(tmp_path)) as person:
        monkeypatch.setattr(person.app, "open_url", opened.append)
        person.area.open_link(Transcript.LinkOpened(_HIDDEN))
        await person.sees("Not opened: it has a part that hides where it leads.")
        person.area.open_link(Transcript.LinkOpened("https://example.org/a"))
        assert opened == ["https://example.org/a"]
    assert link_style(_HIDDEN).link is None, "the terminal does not open it either"


def test_v06_an_exported_page_links_no_hidden_address_and_shows_the_target_behind_another() -> None:
    hidden = markdown_html(f"[here]({_HIDDEN})")
    assert "<a " not in hidden and _HIDDEN.replace("&", "&amp;") in hidden
    posing = markdown_html("[https://bank.example](https://evil.example/)")
    assert 'href="https://evil.example/"' in posing and "(https://evil.example/)" in posing
    assert "(https://" not in markdown_html("[the page](https://example.org/)")


def test_v06_a_projects_server_with_a_hidden_host_is_not_used(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(f'{{"mcpServers": {{"mail": {{"url": "{_HIDDEN}"}}}}}}')
    read = read_project_file(str(tmp_path))
    assert read is not None and not read.servers
    assert "hides where it leads" in " ".join(read.wrong)

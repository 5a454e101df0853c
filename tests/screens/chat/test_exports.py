"""Exporting from the chat."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from catena.export.forms import ExportForm, WantedExport, wanted_export
from support.screen.pilot import at_the_screen

TOKEN = "ghp" + "_" + "aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5p"


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


def endings_in(directory: Path) -> set[str]:
    return {path.suffix for path in directory.iterdir()}


async def test_h15_export_writes_beside_the_conversation_and_says_where_and_what_was_masked(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    async with at_the_screen(str(project)) as person:
        await person.say(f"say use {TOKEN}")
        await person.idle()
        await person.say("/export")
        await person.sees("Wrote", ".md · 1 secret masked (GitHub token)")
        (markdown,) = project.glob("*.md")
        assert TOKEN not in markdown.read_text() and TOKEN[4:20].lower() not in markdown.name
        assert "[masked: GitHub token 1]" in markdown.read_text()
        assert stat.S_IMODE(markdown.stat().st_mode) == 0o600

        await person.say("/export html tree my page.html")
        await person.sees("my page.html")
        assert (project / "my page.html").read_text().startswith("<!DOCTYPE html>")
        await person.say("/export my page.html")
        await person.sees("my page.html exists already")
        await person.say("/export")
        await person.until(lambda: [*project.glob("*-2.md")], "a second file beside the first")
        await person.say("/export nowhere/at/all.json")
        await person.sees("cannot be written: No such file or directory")
        await person.say("/export all.json")
        await person.sees("all.json · 1 secret masked")
        assert json.loads((project / "all.json").read_text())["format"] == 1
        assert len([*project.iterdir()]) == 4


async def test_h15_an_export_before_anything_was_said_says_so(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/export")
        await person.sees("The conversation has no messages yet.")
    assert not {".md", ".part"} & endings_in(tmp_path)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("", WantedExport(ExportForm.MARKDOWN, False, "")),
        ("html", WantedExport(ExportForm.HTML, False, "")),
        ("tree json", WantedExport(ExportForm.JSON, True, "")),
        ("a chat.html", WantedExport(ExportForm.HTML, False, "a chat.html")),
        ("md notes.txt", WantedExport(ExportForm.MARKDOWN, False, "notes.txt")),
        ("~/x.json", WantedExport(ExportForm.JSON, False, "~/x.json")),
    ],
)
def test_h15_what_is_typed_behind_export_is_form_tree_and_file(typed: str, wanted: WantedExport) -> None:
    assert wanted_export(typed) == wanted

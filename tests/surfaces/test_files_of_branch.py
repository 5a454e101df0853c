"""The files of a branch: every surface lists the same, whether the agent reported a change or a command made it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from catena.settings.settings import load_settings
from support.clients.command_line import Catena, newest
from support.clients.conversing import converse, furnish
from support.screen.pilot import at_the_screen


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with two files that a command of the agent changes and removes."""
    with furnish(tmp_path, monkeypatch) as project:
        (project / "old.txt").write_text("1\n")
        (project / "gone.txt").write_text("2\n")
        yield project


async def test_m10_files_that_commands_changed_are_listed_by_every_surface(project: Path) -> None:
    told = await converse(
        (
            "▸terminal sh -c 'echo more >> old.txt'",
            "▸terminal rm gone.txt",
            "▸terminal touch made.txt",
            "▸write reported.txt one",
            "▸tool read old.txt",
            "▸/files",
            "▸/changes",
        ),
        project,
    )
    listed, changed = told.split("▸/files\n")[1].split("▸/changes\n")
    files = [line.removeprefix("File: ") for line in listed.splitlines() if line.startswith("File: ")]
    assert files == [
        "old.txt, changed, read 1 time",
        "reported.txt, changed 1 time, 1 line added",
        "gone.txt, deleted",
        "made.txt, new",
    ]
    names = sorted(each.partition(",")[0] for each in files)
    assert [line.split()[1].rstrip(",") for line in changed.splitlines() if line[:1].isdigit()] == names

    id, catena = newest(Catena(project.parent)), Catena(project.parent)
    assert [turn["files"] for turn in json.loads(catena("files", id, "--json").out)["turns"]] == [
        1,
        1,
        1,
        1,
        0,
    ]

    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.say("/files")
        text = await person.sees("Files on this branch", "made.txt")
        rows = [line.split() for line in text.splitlines()]
        for file in files:
            shown = file.replace(", read", " · read").replace(", 1 line added", ", +1")
            assert shown.replace(",", "", 1).split() in rows


async def test_g04_who_looks_for_the_way_back_of_a_file_is_told_of_rewind_on_every_surface(
    project: Path,
) -> None:
    script = ("▸/undo", "▸write reported.txt one", "▸/undo", "▸/undo list", "▸/files changes")
    told = (await converse(script, project)).splitlines()
    assert told.count("Catena: Nothing to undo.") == 1
    assert told.count("Catena: Nothing to undo. /rewind restores files.") == 2
    assert told.count("Note: /files restore FILE restores one, /rewind all.") == 1

    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.say("/undo")
        await person.sees("Nothing to undo. /rewind restores files.")
        await person.say("/files changes")
        await person.sees("reported.txt", "/rewind restores files")
        await person.sees("x restore", "R /rewind restores files")
        await person.press("R")
        await person.sees("Checkpoints")

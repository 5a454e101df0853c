"""What each command loads: time to the first word is mostly imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.clients.command_line import Catena
from support.clients.imports import FORBIDDEN, imported


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--json"],
        ["search", "--help"],
        ["agents", "--json"],
        ["doctor"],
        ["--help"],
        ["run", "--help"],
        ["--version"],
    ],
)
def test_q03_reading_commands_load_neither_the_screen_nor_the_sdk(
    tmp_path: Path, arguments: list[str]
) -> None:
    loaded = imported(Catena(tmp_path), *arguments)

    assert "catena" in loaded
    assert not loaded & FORBIDDEN


def test_c03_show_and_search_load_neither_the_screen_nor_the_sdk(tmp_path: Path) -> None:
    from support.clients.listed import said

    catena = Catena(tmp_path)
    said(catena, "here", "x")

    (tmp_path / "file").write_text("line\n")
    for arguments in (["show", "here"], ["search", "x"], ["blame", str(tmp_path / "file")]):
        loaded = imported(catena, *arguments)

        assert "catena_store" in loaded
        assert not loaded & FORBIDDEN


def test_q03_version_and_help_do_not_even_load_the_store(tmp_path: Path) -> None:
    for argument in ("--version", "--help"):
        assert not imported(Catena(tmp_path), argument) & {"catena_store", "aiosqlite", "asyncio", "sqlite3"}


def test_q03_the_way_to_the_screen_loads_little_of_its_own(tmp_path: Path) -> None:
    # Everything before `from catena.app.app import run`.
    code = "import sys, catena.cli.command_line, catena.app.startup; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=Catena(tmp_path).environment | {"PYTHONPATH": ":".join(sys.path)},
    )

    loaded = set(done.stdout.split())
    assert not {module.partition(".")[0] for module in loaded} & {
        *FORBIDDEN,
        "asyncio",
        "argparse",
        "sqlite3",
    }


def test_q03_settings_with_rules_are_read_without_the_store(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('[[permissions.rules]]\nkind = "execute"\npattern = "git status"\nanswer = "allow"\n')
    code = "import sys; from catena.settings.settings import load_settings; assert load_settings().permission_rules"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env=catena.environment,
    )
    assert not set(done.stdout.split()) & {"aiosqlite", "asyncio", "sqlite3"}


def test_the_first_frame_of_the_history_loads_nothing_that_reads_transcripts_of_other_tools(
    tmp_path: Path,
) -> None:
    code = "import sys, catena.screens.chat.actions.conversations.history; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    loaded = set(done.stdout.split())
    assert "catena.screens.history.picker" in loaded
    assert not loaded & {
        "catena.history.foreign",
        "catena_acp.transcripts.sources",
        "catena_acp.transcripts.claude",
    }

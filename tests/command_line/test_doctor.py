"""`catena agents` and `catena doctor`."""

from __future__ import annotations

import sqlite3
import termios
from contextlib import closing
from pathlib import Path

import pytest

from support.clients.command_line import Catena
from support.clients.listed import said
from support.clients.on_terminal import on_terminal
from support.storage.damage import overwrite_pages, roots


def program(catena: Catena, name: str, script: str) -> Path:
    """Put a program on a PATH of its own."""
    directory = catena.home / "bin"
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    catena.environment["PATH"] = str(directory)  # and none of this machine's agents
    return path


def test_c04_agents_tells_what_is_here_and_how_to_get_the_rest_with_rehearsal_last(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "opencode", "echo opencode version 1.18.33")

    listed = catena("agents", "--json")

    assert (listed.status, listed.err) == (0, "")
    agents = {agent["name"]: agent for agent in listed.json}
    assert set(listed.json[0]) == {"name", "title", "found", "command", "version", "install", "login"}
    assert agents["opencode"]["found"] is True
    assert agents["opencode"]["version"] == "1.18.33"
    assert agents["opencode"]["command"] == ["opencode", "acp"]
    assert agents["goose"]["found"] is False
    assert agents["goose"]["command"] is None
    assert agents["goose"]["install"]
    assert listed.json[0]["name"] == "opencode"
    assert listed.json[-1]["name"] == "rehearsal"
    assert listed.json[-1]["found"] is True
    lines = catena("agents").out.splitlines()
    assert lines[0].startswith("✓ opencode")
    assert "1.18.33" in lines[0]


def test_an_agent_that_does_not_tell_its_version_soon_holds_nothing_up(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "opencode", "exec /bin/sleep 1000")
    program(catena, "goose", "echo 1.2.3; exit 1")

    agents = {agent["name"]: agent for agent in catena("agents", "--json").json}

    assert (agents["opencode"]["found"], agents["opencode"]["version"]) == (True, None)
    assert agents["goose"]["version"] == "1.2.3"


def test_agents_of_the_settings_are_listed_by_their_names(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "my-agent", "echo 0.1")
    catena.settings(
        """
        [agents.mine]
        command = "my-agent --acp"
        title = "My agent"
        [agents.lost]
        command = "no-such-program"
        """
    )

    agents = {agent["name"]: agent for agent in catena("agents", "--json").json}

    assert agents["mine"] == {
        "name": "mine",
        "title": "My agent",
        "found": True,
        "command": ["my-agent", "--acp"],
        "version": "0.1",
        "install": None,
        "login": None,
    }
    assert agents["lost"]["found"] is False


def test_c04_doctor_tells_places_store_agents_and_terminal(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "one", "hello")

    found = catena("doctor", TERM="xterm-256color")

    assert (found.status, found.err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in found.out.splitlines())
    assert lines["catena"].startswith("0.1.0 · Python 3.")
    assert lines["data"] == str(catena.data)
    assert "1 conversation, 1 message: sound" in lines["store"]
    assert lines["settings"] == f"{catena.config}/config.toml: none (using defaults)"
    assert lines["agent"].startswith("rehearsal")
    assert "TERM=xterm-256color" in lines["terminal"]


def test_doctor_names_what_is_wrong_with_status_1(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    path = catena.settings("colour = 1")
    said(catena, "one", "x" * 50_000)
    overwrite_pages(catena.store, [roots(catena.store)["message"]])

    found = catena("doctor")

    assert found.status == 1
    assert "damaged" in found.out and "catena doctor --salvage" in found.out
    assert f"settings  {path}:1: `colour` is not a setting" in found.out
    with closing(sqlite3.connect(catena.store)) as direct, pytest.raises(sqlite3.DatabaseError):
        direct.execute("SELECT sum(length(text)) FROM message").fetchone()


def test_doctor_makes_no_store_where_there_is_none(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    found = catena("doctor")

    assert found.status == 0
    assert "created with the first conversation" in found.out
    assert not catena.store.exists()


def test_s05_doctor_reset_restores_a_terminal_that_a_killed_program_left_behind(tmp_path: Path) -> None:
    with on_terminal(Catena(tmp_path), "doctor", "--reset", raw=True) as terminal:
        # Leave the alternate screen; report neither mouse nor focus nor pastes; show the cursor.
        for sequence in ("?1049l", "?1000l", "?1002l", "?1003l", "?1006l", "?1004l", "?2004l", "?25h"):
            terminal.wait_for(f"\x1b[{sequence}")
        assert terminal.status() == 0
        local_modes = termios.tcgetattr(terminal.descriptor)[3]

    assert local_modes & termios.ECHO
    assert local_modes & termios.ICANON
    assert local_modes & termios.ISIG


def test_doctor_reset_without_a_terminal_says_so(tmp_path: Path) -> None:
    refused = Catena(tmp_path)("doctor", "--reset")

    assert refused.status == 2
    assert refused.err == "catena: no terminal to reset\n"

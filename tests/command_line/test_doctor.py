"""`catena doctor`."""

from __future__ import annotations

import platform
import sqlite3
import termios
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from catena import __version__
from catena.cli.doctor.findings import TRIED_PYTHONS, print_findings, read_answers, versions_finding
from support.clients.command_line import Catena
from support.clients.listed import said
from support.clients.on_terminal import on_terminal
from support.places import ROOT
from support.storage.damage import overwrite_pages, roots
from support.storage.files import as_somebody_else, public_directory


def test_c04_doctor_tells_places_store_agents_and_terminal(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "one", "hello")

    found = catena("doctor", TERM="xterm-256color")

    assert (found.status, found.err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in found.out.splitlines())
    assert lines["catena"].startswith(f"{__version__} · Python 3.")
    assert lines["data"] == str(catena.data)
    assert "1 conversation, 1 message: sound" in lines["store"]
    assert lines["settings"] == f"{catena.config}/config.toml: none (using defaults)"
    assert lines["agent"].startswith("rehearsal")
    assert "TERM=xterm-256color" in lines["terminal"]


def test_the_pythons_that_were_tried_are_the_same_in_doctor_readme_and_classifiers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if each.startswith(prefix)]
    assert named == list(TRIED_PYTHONS)
    assert f"(tried: {named[0]} to {named[-1]})" in (ROOT / "README.md").read_text("utf-8")

    monkeypatch.setattr(platform, "python_version", lambda: "3.99.1")
    assert f"Python 3.99.1 (tried with {named[0]} to {named[-1]}) ·" in versions_finding().text
    monkeypatch.setattr(platform, "python_version", lambda: f"{named[-1]}.1")
    assert f"Python {named[-1]}.1 ·" in versions_finding().text


def test_doctor_says_that_nothing_works_where_home_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> tuple[int, dict[str, str]]:
        with as_somebody_else():
            status = print_findings(json=False)
        return status, dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())

    with public_directory() as place:
        home, elsewhere = place / "home", place / "elsewhere"
        home.mkdir(mode=0o555)
        elsewhere.mkdir()
        elsewhere.chmod(0o777)
        monkeypatch.setenv("HOME", str(home))
        for variable in ("CATENA_DATA_DIR", "CATENA_CONFIG_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(variable, raising=False)

        status, lines = said()
        assert status == 1, "and so it does not say that all is well"
        assert "nothing can be kept there (Permission denied): set CATENA_DATA_DIR" in lines["data"]
        assert lines["store"] == "catena.db: none, and it cannot be created"
        assert lines["settings"].endswith("none (using defaults); none can be saved there")
        assert "cannot be written (Permission denied): agents keep" in lines["home"]

        monkeypatch.setenv("CATENA_DATA_DIR", str(elsewhere / "data"))
        status, lines = said()
        assert (status, lines["data"]) == (0, str(elsewhere / "data"))
        assert "agents keep logins and sessions there" in lines["home"]
        assert list(elsewhere.iterdir()) == []


def test_a_database_that_another_program_locks_is_not_called_damaged(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "one", "hello")

    with closing(sqlite3.connect(catena.store, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        refused = catena("doctor", "salvage")

    assert (refused.status, refused.out) == (5, "")
    assert "is open in another program" in refused.err
    assert [each.name for each in catena.data.glob("catena.db.*")] == []


def test_doctor_names_what_is_wrong_with_status_1(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    path = catena.settings("colour = 1")
    said(catena, "one", "x" * 50_000)
    overwrite_pages(catena.store, [roots(catena.store)["message"]])

    found = catena("doctor")

    assert found.status == 1
    assert "damaged" in found.out and "catena doctor salvage" in found.out
    assert f"settings  {path}:1: `colour` is not a setting" in found.out
    with closing(sqlite3.connect(catena.store)) as direct, pytest.raises(sqlite3.DatabaseError):
        direct.execute("SELECT sum(length(text)) FROM message").fetchone()


def test_c04_doctor_as_json_has_the_same_and_neither_secrets_nor_values_of_settings(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    key = "sk-ant-api03-" + "a1B2" * 20
    catena.settings(
        f"""
        theme = "catena-ink"
        [agents.mine]
        command = "/bin/sh -c x --api-key={key}"
        env = {{ MY_KEY = "swordfish-77" }}
        """
    )

    found = catena("doctor", "--json", TMUX="/tmp/tmux-0/default,1,0")
    text = catena("doctor").out

    findings = {each["about"]: each for each in found.json["findings"]}
    assert (found.status, found.json["ok"]) == (0, True)
    assert findings["settings"]["set"] == ["theme", "agents"]
    assert findings["store"]["exists"] is False
    assert findings["terminal"]["variables"]["TMUX"] is True
    assert findings["registry"]["agents"] >= 30
    assert {"catena", "data", "log", "missing", "clipboard", "git"} <= set(findings)
    for written in (found.out, text):
        assert key not in written and "swordfish" not in written and "catena-ink" not in written


def test_c04_doctor_asks_the_terminal_what_it_can_and_waits_for_no_answer_that_does_not_come(
    tmp_path: Path,
) -> None:
    # It waits for a second, and the other end of the line may be slower on a machine that is busy.
    patient = "import sys, catena.cli.doctor.findings as asking; asking._ANSWER_SECONDS = 60"
    with on_terminal(Catena(tmp_path), "doctor", first=patient) as terminal:
        terminal.wait_for("\x1b[c")
        terminal.type("\x1b[?1u\x1b[?2026;2$y\x1bP>|xterm(390)\x1b\\\x1b[?62;22c")
        terminal.wait_for("answers   xterm(390) · kitty keyboard protocol: yes · synchronized output: yes")
        terminal.wait_for("background: not reported")
        assert terminal.status() == 0
        assert termios.tcgetattr(terminal.descriptor)[3] & termios.ECHO


def test_c04_answers_of_a_terminal_are_read_in_any_order() -> None:
    answers = read_answers(b"\x1b[?62c\x1b]11;rgb:1e1e/1E/2\x1b\\\x1b[?2026;0$y")

    assert (answers.background, answers.synchronized, answers.kitty_keys) == ("#1e1e22", False, False)
    assert read_answers(b"").name is None


def test_doctor_makes_no_store_where_there_is_none(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    found = catena("doctor")

    assert found.status == 0
    assert "created with the first conversation" in found.out
    assert not catena.store.exists()


def test_s05_doctor_reset_restores_a_terminal_that_a_killed_program_left_behind(tmp_path: Path) -> None:
    with on_terminal(Catena(tmp_path), "doctor", "--reset", raw=True) as terminal:
        # Leave the alternate screen; report neither mouse nor focus nor pastes; show the cursor.
        for sequence in (
            "<u\x1b[?1049l\x1b[<u",  # keys, of this screen and of the other
            "?1000l",
            "?1002l",
            "?1003l",
            "?1006l",
            "?1016l",
            "?1004l",
            "?2004l",
            "?5522l",
            "?25h",
        ):
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

"""What a person is told when a command cannot be carried out: one line, and the right exit status."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from catena import __version__
from support.clients.command_line import EXECUTABLE, Catena
from support.clients.listed import CONVERSATION, two_sessions


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: not a directory or command. See catena --help"),
        (["serach", "login", "form"], "serach: not a directory or command. Did you mean catena search?"),
        (["delte", "x"], "delte: not a directory or command. Did you mean catena delete?"),
        (["title", "x"], "title: not a directory or command. Did you mean catena rename?"),
        (["doctor", "slavage"], "unrecognized arguments: slavage. Did you mean catena doctor salvage?"),
        (["permissions", "ad", "execute", "x"], "Did you mean catena permissions add?"),
        (["help", "rnu"], "rnu: not a command. Did you mean catena run?"),
        (["help", "doctor", "backpu"], "doctor backpu: not a command. Did you mean catena doctor backup?"),
        (["help", "what"], "what: not a command. See catena --help"),
        (["--linear", "quiet"], "quiet: not a directory or command. Did you mean --linear=quiet?"),
        (["~nosuch"], "~nosuch: not a directory or command. See catena --help"),
        (["explain the login " * 20], "the login : not a directory or command. See catena --help"),
        (["doctor", "backup", "no/such/x.db"], "no/such: No such file or directory"),
        (["doctor", "backup", "~nosuch/x.db"], "~nosuch/x.db: Could not determine home directory"),
        (["import", "~nosuch/x.json"], "~nosuch/x.json: Could not determine home directory"),
        (["agents", "update", "~nosuch/x.json"], "~nosuch/x.json: Could not determine home directory"),
        (
            ["run", "--agent", "rehearsal", "--attach", "~nosuch/x", "x"],
            "~nosuch/x cannot be read: Could not",
        ),
        (["--continue", "--resume", "x"], "not allowed with argument --continue"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["list", "--limit", "-3"], "-3"),
        (["show"], "the following arguments are required: ID"),
        (["run", "--permissions", "maybe", "x"], "invalid choice: 'maybe'"),
        (["run", "one", "two"], "unrecognized arguments: two"),
        (["run", "--cwd", "/no/such/place", "x"], "/no/such/place: No such file or directory"),
        (["run", "  "], "the prompt is empty"),
        (["run"], "the prompt is empty"),
        (["run", "--resume", "nope", "x"], "no conversation 'nope'"),
        (["run", "--continue", "x"], "no conversations in"),
        (["--resume", "nope"], "no conversation 'nope'"),
        (["--continue"], "no conversations in"),
        (["--agent", "nope"], "nope: no such agent"),
        (["--agent", ""], "--agent needs a name"),
        (["--agent-command", ""], "--agent-command needs a command"),
        (["run", "--agent", "", "x"], "--agent needs a name"),
        (["run", "--agent-command", "", "x"], "--agent-command needs a command"),
        (["run", "--agent-command", "a 'b", "x"], "unclosed quotation mark"),
        (["login", "--agent-command", " "], "--agent-command needs a command"),
        ([], "the screen needs a terminal"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_with_status_2(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    finished = Catena(tmp_path)(*arguments)

    assert finished.status == 2
    assert finished.out == ""
    assert finished.err.startswith("catena: ")
    assert finished.err.count("\n") == 1
    assert words in finished.err


@pytest.mark.parametrize("arguments", [["export", CONVERSATION, "-o"], ["replay", CONVERSATION, "--cast"]])
def test_a_file_in_the_home_of_nobody_is_not_written_and_said_so_with_status_2(
    tmp_path: Path, arguments: list[str]
) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    finished = catena(*arguments, "~nosuch/x")

    assert finished.status == 2
    assert finished.err == "catena: ~nosuch/x: Could not determine home directory.\n"


def test_a_backup_whose_name_is_too_long_is_said_so_with_status_2(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    finished = catena("doctor", "backup", long := "x" * 300)

    assert (finished.status, finished.err) == (2, f"catena: {long}: File name too long\n")


@pytest.mark.parametrize("arguments", [[], ["run", "x"], ["--add-dir", "."], ["run", "--cwd", ".", "x"]])
def test_a_directory_whose_name_is_no_text_is_said_so_with_status_2(
    tmp_path: Path, arguments: list[str]
) -> None:
    catena = Catena(tmp_path)
    catena.project = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    catena.project.mkdir()

    finished = catena(*arguments)

    assert finished.status == 2
    assert finished.err == f"catena: {tmp_path}/caf\N{REPLACEMENT CHARACTER}: the name is not UTF-8\n"


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_streams_are_empty_ones(tmp_path: Path, closed: str) -> None:
    catena = Catena(tmp_path)
    for arguments, status in (("", 2), ("run", 2), ("run --agent rehearsal 'say hi'", 0)):
        done = subprocess.run(
            ["sh", "-c", f"{EXECUTABLE} {arguments} {closed}"],
            cwd=catena.project,
            env=catena.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (status, "hi\n" if status == 0 else "")
        assert "internal error" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="takes the full disk of Linux")
@pytest.mark.parametrize("arguments", ["keys", "--linear --agent rehearsal", "run --agent rehearsal"])
def test_a_disk_that_is_full_is_no_error_of_ours(tmp_path: Path, arguments: str) -> None:
    catena = Catena(tmp_path)
    done = subprocess.run(
        ["sh", "-c", f"echo say hi | {EXECUTABLE} {arguments} >/dev/full"],
        cwd=catena.project,
        env=catena.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = "catena: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize("arguments", [["list"], ["show", "x"], ["run", "hello"], ["--continue"]])
def test_a_file_that_is_no_store_is_said_so_with_status_2(tmp_path: Path, arguments: list[str]) -> None:
    catena = Catena(tmp_path)
    catena.data.mkdir()
    catena.store.write_text("not a database, and far too long to be taken for an empty one" * 20)

    finished = catena(*arguments)

    assert finished.status == 2
    advice = "if it was one, recover it with `catena doctor salvage`"
    assert finished.err == f"catena: {catena.store} is not a Catena database; {advice}\n"
    assert finished.out == ""


def test_a_data_directory_that_cannot_be_made_is_said_so_with_status_2(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    finished = catena("list", CATENA_DATA_DIR="/dev/null/data")

    assert finished.status == 2
    assert finished.err == "catena: /dev/null/data/catena.db cannot be opened: Not a directory\n"


def test_settings_that_make_no_sense_are_said_with_file_and_line(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    path = catena.settings('agent = "claude"\n\npermissions = "sometimes"\n')

    finished = catena("agents")

    assert finished.status == 2
    assert (
        finished.err
        == f'catena: {path}:3: `permissions` must be one of ask, allow-reads, allow, deny; it is "sometimes"\n'
    )


def test_an_error_of_our_own_is_one_line_and_its_traceback_is_in_the_log_file(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    # A module of this name is found before the real one, and cannot be imported.
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "aiosqlite.py").write_text("raise LookupError('aiosqlite is \\x1b[31mbro\\x07ken')\n")

    finished = catena("list", PYTHONPATH=str(broken))

    log = catena.data / "catena.log"
    assert finished.status == 1
    assert finished.err == (f"catena: internal error (LookupError: aiosqlite is bro␇ken). Details: {log}\n")
    assert "Traceback" in log.read_text("utf-8")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_version_and_help_need_nothing_but_themselves(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    assert catena("--version").out == f"catena {__version__}\n"
    for arguments in (
        ["--help"],
        ["run", "--help"],
        ["list", "--help"],
        ["show", "--help"],
        ["doctor", "--help"],
    ):
        finished = catena(*arguments)
        assert (finished.status, finished.err) == (0, "")
        assert finished.out.startswith("usage: catena")
    assert not catena.data.exists()


def test_python_m_catena_is_catena(tmp_path: Path) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "catena", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
    )

    assert done.stdout == f"catena {__version__}\n"

"""`catena login`, `catena logout`, and what a run says that wants a login; with the rehearsal agent's pretended one."""

from __future__ import annotations

import json
import shlex
import signal
import sys
from pathlib import Path

import pytest

from support.clients.command_line import Catena, agents_of, run, wait_until
from support.clients.on_terminal import on_terminal
from support.screen.terminal import Place, Terminal

OTHER_WAYS = """
import json, os
from catena_acp.rehearsal.settings import Login
Login.methods = lambda self: json.loads(os.environ["WAYS"])
from catena_acp.rehearsal.__main__ import main
main()
"""
WEB = {"id": "web", "name": "Account", "description": "In the browser"}
KEY = {
    "id": "key",
    "name": "API key",
    "type": "env_var",
    "vars": [{"name": "SHOP_KEY"}, {"name": "OTHER_KEY"}],
}
SHELL = {
    "id": "shell",
    "name": "Shell",
    "type": "terminal",
    "_meta": {"terminal-auth": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}},
}


def other_ways(place: Path, *flags: str) -> str:
    """The command of an agent whose ways to log in stand in the environment."""
    script = place / "other_ways.py"
    script.write_text(OTHER_WAYS)
    return shlex.join([sys.executable, str(script), *flags])


def heard(log: Path) -> list[str]:
    return [
        str(entry["method"]) for entry in map(json.loads, log.read_text().splitlines()) if "method" in entry
    ]


def test_r06_a_run_that_wants_a_login_names_the_ways_and_the_command_and_that_one_lets_it_through(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    env = {"CATENA_REHEARSAL_FLAGS": "--auth=required", "CATENA_REHEARSAL_LOG": str(tmp_path / "heard.jsonl")}
    beside = run(catena, "say I was here before", CATENA_REHEARSAL_FLAGS="--auth=none")
    assert beside.status == 0

    wanted = run(catena, "say one", **env)
    assert (wanted.status, wanted.out) == (6, "")
    assert "To log in: catena login rehearsal (Pretend to log in)" in wanted.err
    as_json = run(catena, "--json", "say one", **env)
    (problem,) = (event for event in as_json.events if event["event"] == "problem")
    assert problem["detail"][-1] == "To log in: catena login rehearsal (Pretend to log in)"
    assert as_json.events[-1]["exit_status"] == 6

    login = catena("login", "rehearsal", **env)
    assert (login.status, login.out) == (0, "Logged in to Rehearsal.\n")
    assert login.err == "Waiting for Rehearsal to log in; a browser may open. Ctrl+C cancels.\n"
    assert "authenticate" in heard(tmp_path / "heard.jsonl")

    again = run(catena, "say one", **env)
    assert (again.status, again.out) == (0, "one\n")
    # A conversation of before goes on in its session.
    on = catena("run", "--resume", "say I was here before", "echo", **env)
    assert on.status == 0 and "I was here before" in on.out
    assert "session resumed" in on.err

    out = catena("logout", "rehearsal", **env)
    assert out.status == 0 and out.out.startswith("Logged out of Rehearsal.")
    assert run(catena, "say one", **env).status == 6
    assert not agents_of(catena)


def test_w13_a_terminal_login_runs_in_this_terminal_and_its_failure_is_one_line_with_status_1(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    env = {"CATENA_REHEARSAL_FLAGS": "--auth=terminal"}
    assert run(catena, "say one", **env).status == 6

    login = catena("login", "rehearsal", **env)
    assert login.status == 0
    assert "This login is only pretended" in login.out and "Logged in to Rehearsal." in login.out
    command, leaving = login.err.splitlines()
    assert command.startswith("$ ") and command.endswith("-m catena_acp.rehearsal --login")
    assert leaving == "Ctrl+C stops it and returns."
    assert run(catena, "say one", **env).out == "one\n"

    command = other_ways(tmp_path)
    failed = catena("login", "--agent-command", command, WAYS=json.dumps([SHELL]))
    assert (failed.status, failed.out) == (1, "")
    assert failed.err.splitlines()[-1].endswith("exited with status 3. Nothing changed.")


def test_w13_a_login_counts_if_the_agent_opens_a_session_afterwards(tmp_path: Path) -> None:
    catena, log = Catena(tmp_path), tmp_path / "heard.jsonl"
    ends_well = {**SHELL, "_meta": {"terminal-auth": {"command": sys.executable, "args": ["-c", ""]}}}
    command = other_ways(tmp_path, "--auth=required")

    believed = catena("login", "--agent-command", command, WAYS=json.dumps([ends_well]))
    assert (believed.status, believed.out) == (6, "")
    assert "still needs a login: Authentication required" in believed.err

    faults = tmp_path / "faults.json"
    faults.write_text(json.dumps({"new": {"error": [-32603, "out of order"], "times": 1}}))
    env = {"CATENA_REHEARSAL_FLAGS": "--auth=required", "CATENA_REHEARSAL_LOG": str(log)}
    unchecked = catena("login", "rehearsal", **env, CATENA_REHEARSAL_FAULTS=str(faults))
    assert (unchecked.status, unchecked.out) == (1, "")
    assert "could not be checked: out of order" in unchecked.err
    assert catena("login", "rehearsal", **env).status == 0
    assert heard(log)[-3:] == ["session/new", "session/close", "session/delete"]
    assert catena("list", "--json").json == []


def test_w13_the_ways_to_log_in_are_listed_and_one_is_named_where_nobody_can_be_asked(tmp_path: Path) -> None:
    catena, command = Catena(tmp_path), other_ways(tmp_path, "--auth=required")
    env = {"WAYS": json.dumps([WEB, KEY, SHELL]), "SHOP_KEY": "sesame"}

    listed = catena("login", "--agent-command", command, "--list", **env)
    assert listed.status == 0
    assert listed.out.splitlines() == [
        "web  Account – In the browser (by the agent)",
        "key  API key (by environment variables)",
        "shell  Shell (in the terminal)",
    ]
    as_json = catena("login", "--agent-command", command, "--list", "--json", **env).json
    assert [each["kind"] for each in as_json] == ["agent", "env_var", "terminal"]
    assert as_json[1]["variables"] == [{"name": "SHOP_KEY", "set": True}, {"name": "OTHER_KEY", "set": False}]

    unnamed = catena("login", "--agent-command", command, **env)
    assert (unnamed.status, unnamed.out) == (2, "")
    assert "--method web (Account), --method key (API key), --method shell (Shell)" in unnamed.err
    unknown = catena("login", "--agent-command", command, "--method", "nope", **env)
    assert unknown.status == 2 and "no such login method" in unknown.err

    explained = catena("login", "--agent-command", command, "--method", "key", **env)
    assert explained.status == 6
    assert "SHOP_KEY: is set" in explained.out and "OTHER_KEY: is not set" in explained.out
    assert "sesame" not in explained.out + explained.err
    env["OTHER_KEY"] = "x"  # and yet this agent wants a login: the variables are set, and not right
    unbelieved = catena("login", "--agent-command", command, "--method", "key", **env)
    assert (unbelieved.status, "still needs a login" in unbelieved.err) == (6, True)
    content = other_ways(tmp_path, "--auth=none")
    assert catena("login", "--agent-command", content, "--method", "key", **env).status == 0

    refused = catena("login", "--agent-command", command, "--method", "web", **env)
    assert refused.status == 1
    assert "login failed: no such login method. Nothing changed." in refused.err


def test_w13_a_login_by_an_api_key_speaks_of_no_browser_and_without_the_key_one_is_still_wanted(
    tmp_path: Path,
) -> None:
    way = {"id": "api-key", "name": "API Key", "_meta": {"api-key": {"provider": "openai"}}}
    catena, command = Catena(tmp_path), other_ways(tmp_path)
    listed = catena("login", "--agent-command", command, "--list", WAYS=json.dumps([way]))
    assert listed.out == "api-key  API Key (by an API key)\n"
    refused = catena("login", "--agent-command", command, WAYS=json.dumps([way]))
    assert refused.status == 6
    assert "logs in with your API key" in refused.err and "login failed" in refused.err
    assert "browser" not in refused.err


@pytest.mark.parametrize(("answer", "status"), [("1\n", 1), ("2\n", 130)])
def test_w13_at_a_terminal_a_login_that_takes_it_shows_its_command_and_asks_first(
    tmp_path: Path, answer: str, status: int
) -> None:
    catena, command = Catena(tmp_path), other_ways(tmp_path)
    catena.environment["WAYS"] = json.dumps([SHELL])
    with on_terminal(catena, "login", "--agent-command", command) as terminal:
        terminal.wait_for("raise SystemExit(3)")
        terminal.wait_for("Ctrl+C stops it and returns.")
        terminal.wait_for("1-2? ")
        terminal.type(answer)
        assert terminal.status() == status


@pytest.mark.parametrize(
    "login",
    [
        {"command": "true", "env": {"A=B": "x"}},
        {"command": "true", "env": {"A": "x\0"}},
        {"command": "true", "args": ["a\0b"]},
        {"command": "tr\0ue"},
    ],
)
def test_w13_a_login_whose_command_or_environment_no_system_takes_is_a_message(
    tmp_path: Path, login: dict[str, object]
) -> None:
    catena, command = Catena(tmp_path), other_ways(tmp_path)
    way = {**SHELL, "_meta": {"terminal-auth": login}}
    refused = catena("login", "--agent-command", command, WAYS=json.dumps([way]))
    assert refused.status == 1
    assert refused.err.splitlines()[-1].startswith("catena: Login could not start: ")


def test_w13_an_agent_that_names_no_way_in_or_out_is_told_as_such(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    for arguments, words in (
        (["login", "rehearsal"], "Rehearsal offers no login from here."),
        (["logout", "rehearsal"], "Rehearsal cannot be logged out from here."),
    ):
        told = catena(*arguments, CATENA_REHEARSAL_FLAGS="--auth=none")
        assert (told.status, told.out) == (1, "")
        assert words in told.err and told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["login", "nope"], 3, "nope: no such agent"),
        (["logout", "--agent-command", "no-such-program"], 3, "no-such-program: not found"),
        (["login", "rehearsal", "--agent-command", "x"], 2, "not allowed with argument"),
        (["login", "rehearsal", "--json"], 2, "unrecognized arguments: --json"),
        (["login"], 3, "no agent is installed"),
    ],
)
def test_a_login_that_cannot_be_begun_is_one_line(
    tmp_path: Path, arguments: list[str], status: int, words: str
) -> None:
    told = Catena(tmp_path)(*arguments, PATH="/nowhere")

    assert (told.status, told.out) == (status, "")
    assert words in told.err and told.err.count("\n") == 1


def test_a_login_that_waits_is_given_up_by_ctrl_c_and_leaves_no_process(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    faults = tmp_path / "faults.json"
    faults.write_text(json.dumps({"authenticate": {"silent": True}}))
    log = tmp_path / "heard.jsonl"
    process = catena.start(
        "login", "rehearsal", CATENA_REHEARSAL_FAULTS=str(faults), CATENA_REHEARSAL_LOG=str(log)
    )
    with process:
        wait_until(lambda: log.exists() and "authenticate" in heard(log))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    wait_until(lambda: not agents_of(catena))


def test_w13_on_a_terminal_the_person_chooses_the_way(tmp_path: Path) -> None:
    place = Place(tmp_path)
    command = other_ways(tmp_path, "--auth=required")
    way = {"id": "rehearsal-login", "name": "The pretended one"}
    with place.catena("login", "--agent-command", command, WAYS=json.dumps([WEB, way])) as terminal:
        assert isinstance(terminal, Terminal)
        terminal.wait_for(r"1 Account – In the browser \(by the agent\)[\s\S]*1-2\?")
        terminal.write("2\n")
        terminal.wait_for("Logged in to other_ways.py.")
        assert terminal.ended() == 0

"""How `catena run` answers an agent that asks: by rule, and on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from catena.cli.run.answers import policy_answer
from catena.settings.tables import Permissions
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.subject import subject_of
from catena_acp.port.session_events import PermissionOption, ToolCallChanged
from support.clients.command_line import EXECUTABLE, Catena
from support.clients.on_terminal import OnTerminal, on_terminal

RUN = ("run", "--agent", "rehearsal")


def test_c01_ask_without_a_terminal_is_deny_with_status_4(tmp_path: Path) -> None:
    refused = Catena(tmp_path)(*RUN, "edit notes.txt")

    assert refused.status == 4
    assert refused.out == "Rejected: I did not pretend to change `notes.txt`.\n"
    assert refused.err == "denied: Edit notes.txt (use --permissions to allow it)\n"


@pytest.mark.parametrize(("policy", "status"), [("ask", 4), ("deny", 4), ("allow-reads", 4), ("allow", 0)])
def test_c01_a_policy_answers_what_the_agent_asks(tmp_path: Path, policy: str, status: int) -> None:
    answered = Catena(tmp_path)(*RUN, "--permissions", policy, "--json", "edit notes.txt\nask again")

    assert answered.status == status
    asked = [event for event in answered.events if event["event"] == "permission"]
    settled = [event for event in answered.events if event["event"] == "permission_settled"]
    assert [each["title"] for each in asked] == ["Edit notes.txt", "again"]
    assert [each["ask_id"] for each in settled] == [each["ask_id"] for each in asked]
    assert {each["by"] for each in settled} == {"policy"}
    assert {each["kind"] for each in settled} == {"allow_once" if status == 0 else "reject_once"}


@pytest.mark.parametrize("policy", ["ask", "deny", "allow-reads"])
def test_c01_an_agent_that_begins_in_a_mode_that_asks_for_nothing_is_put_into_one_that_asks(
    tmp_path: Path, policy: str
) -> None:
    command = (*RUN, "--permissions", policy, "edit notes.txt")
    refused = Catena(tmp_path)(*command, CATENA_REHEARSAL_FLAGS="--unasked")

    assert refused.status == 4
    assert refused.out == "Rejected: I did not pretend to change `notes.txt`.\n"
    assert "is in mode “Ask”: in “Auto” it would not ask." in refused.err


def test_c01_where_an_agent_has_no_mode_that_asks_it_is_said_that_nothing_can_be_refused(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    unasked = {"CATENA_REHEARSAL_FLAGS": "--unasked=only"}
    done = catena(*RUN, "--permissions", "deny", "edit notes.txt", **unasked)
    allowed = catena(*RUN, "--permissions", "allow", "edit notes.txt", **unasked)

    assert (done.status, allowed.status) == (0, 0)
    assert "is in mode “Auto”, in which it does not ask: nothing can be refused." in done.err
    assert "Auto" not in allowed.err


def test_the_settings_choose_the_policy_where_the_command_line_does_not(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('permissions = "allow"')

    assert catena(*RUN, "ask").status == 0
    assert catena(*RUN, "--permissions", "deny", "ask").status == 4


def test_an_agent_that_may_only_read_is_not_lent_our_hands_to_write(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (catena.project / "here.txt").write_text("readable")

    for policy in ("ask", "deny", "allow-reads"):
        tried = catena(*RUN, "--permissions", policy, "write new.txt hello\nread here.txt")
        assert tried.out == "[file] readable\n"
        assert not (catena.project / "new.txt").exists()

    assert catena(*RUN, "--permissions", "allow", "write new.txt hello").status == 0
    assert (catena.project / "new.txt").read_text() == "hello\n"


def asked(kind: str | None, *options: str) -> PermissionOpened:
    return PermissionOpened(
        "w",
        "ask",
        subject_of(ToolCallChanged("call", kind=kind, raw_input={"path": "a"}), "/p"),
        tuple(PermissionOption(name, name, name) for name in options),
    )


@pytest.mark.parametrize(
    ("policy", "kind", "options", "chosen"),
    [
        (Permissions.ALLOW, "edit", ("reject_once", "allow_always", "allow_once"), "allow_once"),
        (Permissions.ALLOW, None, ("reject_once", "allow_always"), "allow_always"),
        (Permissions.ALLOW, "edit", ("reject_once", "strange"), None),
        (Permissions.ALLOW_READS, "read", ("allow_once", "reject_once"), "allow_once"),
        (Permissions.ALLOW_READS, "search", ("allow_once", "reject_once"), "allow_once"),
        (Permissions.ALLOW_READS, "fetch", ("allow_once", "reject_once"), "reject_once"),
        (Permissions.ALLOW_READS, None, ("allow_once", "reject_once"), "reject_once"),
        (Permissions.DENY, "read", ("allow_once", "reject_always", "reject_once"), "reject_once"),
        (Permissions.DENY, "read", ("allow_once", "reject_always"), "reject_always"),
        (Permissions.DENY, "read", ("allow_once",), None),
        (Permissions.ASK, "read", ("allow_once", "reject_once"), "reject_once"),
    ],
)
def test_a_policy_takes_an_option_of_its_kind_for_this_time_first_and_never_another(
    policy: Permissions, kind: str | None, options: tuple[str, ...], chosen: str | None
) -> None:
    option = policy_answer(policy, asked(kind, *options))

    assert (option and option.id) == chosen


def test_on_a_terminal_the_person_is_asked_with_the_diff_and_without_a_default(tmp_path: Path) -> None:
    with on_terminal(Catena(tmp_path), *RUN, "edit notes.txt") as terminal:
        terminal.wait_for("1-4? ")
        assert "? Allow editing this file?\r\n  notes.txt" in terminal.seen
        assert "+++ " in terminal.seen
        terminal.type("\n")
        terminal.wait_for("1-4? ", 2)
        terminal.type("yes\n")
        terminal.wait_for("1-4? ", 3)
        terminal.type("1\n")
        terminal.wait_for("I pretended to change")
        assert terminal.status() == 0


def test_on_a_terminal_a_refusal_is_status_4_and_so_is_the_end_of_input(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    for answer in ("3\n", "\x04"):
        with on_terminal(catena, *RUN, "edit notes.txt") as terminal:
            terminal.wait_for("1-4? ")
            terminal.type(answer)
            terminal.wait_for("Rejected")
            assert terminal.status() == 4


def test_with_the_prompt_on_standard_input_the_answer_is_typed_on_the_terminal(tmp_path: Path) -> None:
    with on_terminal(Catena(tmp_path), *RUN, stdin="ask\n") as terminal:
        terminal.wait_for("1-4? ")
        terminal.type("1\n")
        terminal.wait_for("You chose `yes`.")
        assert terminal.status() == 0


def test_r11_ctrl_c_with_a_permission_open_stops_the_turn(tmp_path: Path) -> None:
    with on_terminal(Catena(tmp_path), *RUN, "ask") as terminal:
        terminal.wait_for("1-4? ")
        terminal.type("\x03")
        assert terminal.status() == 130


def test_a_job_in_the_background_is_never_stopped_by_a_question(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    ours, theirs = pty.openpty()
    leader = (
        "import fcntl, subprocess, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        "sys.exit(subprocess.Popen(sys.argv[1:], process_group=0).wait())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", leader, EXECUTABLE, *RUN, "ask"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=catena.project,
        env=catena.environment,
        start_new_session=True,
    )
    try:
        os.close(theirs)
        terminal = OnTerminal(process, ours)
        terminal.wait_for("You chose `no`.")
        assert process.wait(timeout=60) == 4
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_w01_rules_answer_before_the_policy_with_an_option_for_once(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena("permissions", "add", "edit", "docs/", "--cwd", str(catena.project))

    allowed = catena(*RUN, "--json", "edit docs/notes.txt")
    elsewhere = catena(*RUN, "edit notes.txt")

    assert allowed.status == 0
    assert not [event for event in allowed.events if event["event"] == "permission"]
    (*_, call) = [event for event in allowed.events if event["event"] == "tool"]
    assert call["rule"] == {"text": "allowed by your rule: edits below docs/", "allowed": True}
    assert elsewhere.status == 4
    assert catena(*RUN, "--permissions", "deny", "edit docs/notes.txt").status == 4

    catena("permissions", "add", "edit", "docs/secret/", "--reject", "--cwd", str(catena.project))
    rejected = catena(*RUN, "--permissions", "allow", "edit docs/secret/notes.txt")
    assert rejected.status == 4 and rejected.out.startswith("Rejected")

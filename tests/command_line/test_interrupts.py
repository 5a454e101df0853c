"""Ctrl+C, hang-ups, and readers that go away, while `catena run` runs."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.clients.command_line import EXECUTABLE, Catena, agents_of, newest, shown, until, wait_until


def test_ctrl_c_stops_the_turn_and_keeps_what_was_said_with_status_130(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    process = catena.start("run", "--agent", "rehearsal", "say before\nhang")

    with process:
        seen = until(process, "before")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert seen + out == "before\n"
    assert "Traceback" not in err
    whole = shown(catena, newest(catena))
    assert [turn["stop_reason"] for turn in whole["turns"]] == ["cancelled"]
    assert "before" in [row["text"] for row in whole["messages"]]


@pytest.mark.parametrize("module", ["dataclasses", "catena_store"])
def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_word(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt\n")  # it is found before the real one

    done = Catena(tmp_path)("list", PYTHONPATH=str(tmp_path))

    assert (done.status, done.out, done.err) == (130, "", "")


def test_a_second_ctrl_c_ends_an_agent_that_does_not_heed_the_first(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    log = tmp_path / "heard.jsonl"
    catena.settings(f'agents.rehearsal.env = {{ CATENA_REHEARSAL_LOG = "{log}" }}')
    process = catena.start("run", "--json", "--agent", "rehearsal", "say before\nhang hard")

    with process:
        seen = until(process, '"text": "before"')
        process.send_signal(signal.SIGINT)
        wait_until(lambda: "session/cancel" in log.read_text())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert err == ""
    last = (seen + out).splitlines()[-1]
    assert '"turn_ended"' in last
    assert '"exit_status": 130' in last
    assert agents_of(catena) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_r13_no_agent_outlives_a_run_that_is_ended(tmp_path: Path, number: int, status: int) -> None:
    catena = Catena(tmp_path)
    process = catena.start("run", "--agent", "rehearsal", "say before\nhang")

    with process:
        until(process, "before")
        assert agents_of(catena)
        process.send_signal(number)
        process.communicate(timeout=60)

    assert process.returncode == status
    assert agents_of(catena) == []
    assert [turn["stop_reason"] for turn in shown(catena, newest(catena))["turns"]] == ["interrupted"]


def test_a_run_whose_answer_is_there_waits_for_no_fork_and_heeds_signals_meanwhile(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    log, faults = tmp_path / "heard.jsonl", tmp_path / "faults.json"
    faults.write_text('{"fork": {"silent": true}}')
    catena.environment |= {"CATENA_REHEARSAL_LOG": str(log), "CATENA_REHEARSAL_FAULTS": str(faults)}
    # Known to fork at its end alone: nothing has to be found out before a fork of it is saved.
    agent = f"{shlex.quote(sys.executable)} -m catena_acp.rehearsal --name opencode --version 1.18.33"
    with catena.start("run", "--json", "--agent-command", agent, "say hello") as process:
        wait_until(lambda: log.exists() and "session/fork" in log.read_text())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    ended = json.loads(out.splitlines()[-1])
    assert (ended["stop_reason"], ended["exit_status"]) == ("end_turn", 143)
    assert (process.returncode, err) == (143, "")
    ended = catena("run", "--json", "--agent-command", agent, "say hello").event("turn_ended")
    assert (ended["stop_reason"], ended["exit_status"]) == ("end_turn", 0)
    assert agents_of(catena) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_any_signal_ends_a_hook_that_a_run_waits_for(tmp_path: Path, number: signal.Signals) -> None:
    catena = Catena(tmp_path)
    catena.settings('[hooks]\nturn_end = "touch begun; sleep 30; touch ended"')

    with catena.start("run", "--json", "--agent", "rehearsal", "say hello") as process:
        wait_until((catena.project / "begun").exists)
        wait_until(lambda: len(agents_of(catena)) > 1)
        process.send_signal(number)
        out, err = process.communicate(timeout=15)

    ended = json.loads(out.splitlines()[-1])
    assert (ended["stop_reason"], ended["exit_status"]) == ("end_turn", 128 + number)
    assert (process.returncode, err) == (128 + number, "")
    assert agents_of(catena) == [] and not (catena.project / "ended").exists()


def test_the_hook_of_a_turn_that_ctrl_c_stopped_ends_by_itself_or_by_the_next_ctrl_c(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('[hooks]\nturn_end = "cat > told; cp told begun; [ ! -e waits ] || sleep 30"')

    def stopped() -> subprocess.Popen[str]:
        process = catena.start("run", "--agent", "rehearsal", "say before\nhang")
        until(process, "before")
        process.send_signal(signal.SIGINT)
        return process

    with stopped() as process:
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads((catena.project / "told").read_text())["outcome"] == "cancelled"

    (catena.project / "begun").unlink()
    (catena.project / "waits").touch()
    with stopped() as process:
        wait_until((catena.project / "begun").exists)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=15)
    assert process.returncode == 130 and agents_of(catena) == []


def test_a_reader_that_goes_away_stops_the_turn_without_a_word(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    process = catena.start("run", "--agent", "rehearsal", "stream 5000 rate 50")

    assert process.stdout
    assert process.stderr
    until(process, " ")
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == ""
    assert process.wait(timeout=60) == 130
    assert [turn["stop_reason"] for turn in shown(catena, newest(catena))["turns"]] == ["cancelled"]


def test_a_reader_that_goes_away_at_the_end_ends_the_run_without_a_word(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    command = f"{shlex.quote(str(EXECUTABLE))} run --json --agent rehearsal 'say hi' | head -n 4"

    piped = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=catena.project,
        env=catena.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert piped.stderr == ""
    assert len(piped.stdout.splitlines()) == 4


def test_ctrl_c_ends_a_run_whose_reader_pauses(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    process = catena.start("run", "--agent", "rehearsal", "huge 900\nsay done")

    with process:
        # Nobody reads: the pipe is full, and all is said and recorded nevertheless.
        wait_until(lambda: catena.store.exists() and ended_turns(catena) == ["end_turn"])
        wait_until(lambda: agents_of(catena) == [process.pid])
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) in (0, 130)
        process.communicate()


def ended_turns(catena: Catena) -> list[str | None]:
    """How the turns of the newest conversation ended, None for one that has not."""
    listed = catena("list", "--json").json
    return [turn["stop_reason"] for turn in shown(catena, listed[0]["id"])["turns"]] if listed else []

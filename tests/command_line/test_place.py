"""Tabs and `catena run` on one conversation, as real processes: it goes on where its last act was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from support.clients.command_line import Catena, Finished, newest, run, shown, until
from support.walks.length import walks


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    return Catena(tmp_path)


def lines(catena: Catena, *typed: str, **environment: str) -> Finished:
    """Linear mode with the rehearsal agent: a tab of the project's directory, which is there again the next time."""
    text = "".join(f"{line}\n" for line in typed)
    return catena("--linear", "--agent", "rehearsal", stdin=text, **environment)


def back_in_lines(catena: Catena, *typed: str) -> Finished:
    """The same, with the tabs that were left."""
    return catena("--linear", stdin="".join(f"{line}\n" for line in typed))


def heard(finished: Finished) -> list[str]:
    """What the agent says that it has heard, of an `echo`."""
    assert finished.status == 0, finished.err
    return finished.out.split("all=")[-1].splitlines()[0].strip('"').split("|")


def killed_in_turn(catena: Catena, text: str) -> None:
    """`run --continue` that is killed in the middle of its turn, with everything that it started."""
    process = catena.start("run", "--continue", f"say {text} …; wait for never")
    with process:
        until(process, "…")
        os.killpg(process.pid, signal.SIGKILL)


def test_m16_runs_after_a_tab_hear_each_other_and_are_shown(catena: Catena) -> None:
    assert lines(catena, "say one", "say two").status == 0
    for text in ("say three", "say four"):
        assert run(catena, "--continue", text).status == 0
    assert heard(run(catena, "--continue", "echo")) == ["say one", "say two", "say three", "say four", "echo"]
    id = newest(catena)
    for printed in (catena("show", id).out, catena("export", id).out):
        assert all(f"say {text}" in printed for text in ("one", "two", "three", "four"))
    again = back_in_lines(catena, "echo")
    assert "3 later turns from elsewhere." in again.out
    assert heard(again) == ["say one", "say two", "say three", "say four", "echo", "echo"]


def test_m16_after_a_killed_run_the_next_one_goes_on_from_there(catena: Catena) -> None:
    assert lines(catena, "say one").status == 0
    killed_in_turn(catena, "two")
    assert run(catena, "--continue", "say three").status == 0
    assert run(catena, "--continue", "say four").status == 0
    seen = run(catena, "--continue", "echo").out
    assert all(f"say {text}" in seen for text in ("one", "two", "three", "four"))
    assert all(text in catena("show", newest(catena)).out for text in ("two", "three", "four"))


def test_m16_a_tab_that_went_another_way_says_where_the_conversation_went_on(catena: Catena) -> None:
    assert lines(catena, "say one", "say two").status == 0
    id = newest(catena)
    first = next(row for row in shown(catena, id)["messages"] if row["text"] == "one")
    assert run(catena, "--resume", id, "--at", first["id"], "say beside").status == 0
    again = back_in_lines(catena, "/follow", "echo")
    assert "1 later turn elsewhere: /tree end goes there." in again.out
    assert heard(again) == ["say one", "say beside", "echo"]


def test_m16_a_tab_is_told_when_a_client_that_only_reads_moves_the_conversation(catena: Catena) -> None:
    assert lines(catena, "say one", "say two").status == 0
    id = newest(catena)
    first = next(row for row in shown(catena, id)["messages"] if row["text"] == "one")
    assert run(catena, "--resume", id, "--at", first["id"], "say beside").status == 0
    with catena.start("--linear", stdin=subprocess.PIPE) as owner:
        assert owner.stdin
        owner.stdin.write("/follow\n")
        owner.stdin.flush()
        until(owner, "beside\n")
        elsewhere = catena("--linear", stdin=f"/open {id}\n/versions 3\n/open 1\n")
        assert "Read-only" in elsewhere.out and "say two" in elsewhere.out, elsewhere
        until(owner, "Note: 1 later turn elsewhere: /tree end goes there.")
        owner.communicate("/follow\n/quit\n", timeout=60)
    assert "say two" in catena("show", id).out


@pytest.mark.timeout(0)
def test_m16_whatever_real_runs_tabs_and_kills_do_no_turn_is_lost(catena: Catena) -> None:
    for seed in range(walks(1)):
        chance = random.Random(seed)
        assert lines(catena, "/new rehearsal", f"say first {seed}").status == 0
        said = [f"first {seed}"]
        for number in range(8):
            text = f"{seed}-{number}"
            match chance.choice(["run", "run", "tab", "killed"]):
                case "run":
                    assert run(catena, "--continue", f"say {text}").status == 0
                case "tab":
                    assert back_in_lines(catena, f"say {text}").status == 0
                case _:
                    killed_in_turn(catena, text)
            said.append(text)
            printed = catena("show", newest(catena)).out
            assert [each for each in said if f"say {each}" not in printed] == []

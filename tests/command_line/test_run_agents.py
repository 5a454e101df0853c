"""`catena run --agents`: several real agents are asked the same, and every answer is a version of one prompt."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.clients.command_line import Catena, agents_of, newest, shown, typed, until, wait_until

REHEARSAL = f"{shlex.quote(sys.executable)} -m catena_acp.rehearsal"


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    """One with agents that are told apart by nothing but their names, and one that goes at once."""
    catena = Catena(tmp_path)
    catena.settings(
        "".join(
            f"[agents.{name}]\ncommand = {command!r}\n"
            for name, command in {
                "one": f"{REHEARSAL} --no-fork",
                "two": f"{REHEARSAL} --no-load",
                "three": REHEARSAL,
                "gone": f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'".replace("'", '"'),
            }.items()
        )
    )
    return catena


def test_answers_stand_below_each_other_in_the_order_of_the_agents_whoever_is_first(
    catena: Catena, tmp_path: Path
) -> None:
    prompt, log = "say begun\ncue go\nsay hello", tmp_path / "heard.jsonl"
    process = catena.start("run", "--agents", "two,one,three", prompt, CATENA_REHEARSAL_LOG=str(log))

    with process:
        seen = until(process, "begun")
        wait_until(lambda: log.read_text().count("session/prompt") >= 3)
        catena.cue("go")
        out, err = process.communicate(timeout=60)

    answer = "begun\n\nhello\n"
    assert seen + out == f"== two ==\n{answer}\n== one ==\n{answer}\n== three ==\n{answer}"
    assert (process.returncode, err) == (0, "")


def test_each_answer_is_a_version_of_one_prompt_in_one_conversation_that_goes_on_from_the_first(
    catena: Catena,
) -> None:
    catena("run", "--agent", "three", "say before")

    asked = catena("run", "--continue", "--agents", "one,two,three", "echo")
    after = catena("run", "--continue", "--json", "echo")

    assert asked.status == 0
    assert len(catena("list", "--json").json) == 1
    whole = shown(catena, newest(catena))
    versions = [row for row in whole["messages"] if row["kind"] == "user" and row["text"] == "echo"]
    *versions, last = versions
    assert len({row["parent_id"] for row in versions}) == 1
    agents = {link["id"]: link["agent"].removeprefix("command:") for link in whole["links"]}
    assert [agents[row["link_id"]] for row in versions] == [
        f"{REHEARSAL} --no-fork",
        f"{REHEARSAL} --no-load",
        REHEARSAL,
    ]
    assert _above(whole, last)["turn_id"] == versions[0]["turn_id"]
    assert agents[after.event("link")["id"]] == f"{REHEARSAL} --no-fork"


def test_with_json_each_event_of_an_answer_names_the_agent_that_was_asked(catena: Catena) -> None:
    asked = catena("run", "--agents", "one,two", "--json", "say hello")

    first, *events = asked.events
    assert (asked.status, asked.err, first["event"], "asked_agent" in first) == (0, "", "conversation", False)
    for name in ("one", "two"):
        own = [event for event in events if event["asked_agent"] == name]
        assert "".join(event["text"] for event in own if event["event"] == "text") == "hello"
        assert own[-1]["event"] == "turn_ended"
        assert own[-1]["exit_status"] == 0
    assert {event["asked_agent"] for event in events} == {"one", "two"}


def test_with_json_nothing_comes_behind_the_last_end_not_even_the_words_on_a_hook_that_failed(
    catena: Catena,
) -> None:
    own = (catena.config / "config.toml").read_text()
    catena.settings(f"{own}[hooks]\nturn_end = 'sleep 0.5; exit 3'\n")

    asked = catena("run", "--agents", "one,two", "--json", "say hello")

    assert asked.status == 0
    assert "Hook turn_end" in asked.event("remark")["text"]
    ends = [event for event in asked.events if event["event"] == "turn_ended"]
    assert {event["asked_agent"] for event in ends} == {"one", "two"}
    assert asked.events[-1] == ends[-1]


def test_n01_the_same_agent_can_be_asked_twice_and_its_answers_are_told_apart(catena: Catena) -> None:
    asked = catena("run", "--agents", "one,two,one", "say hello")

    assert (asked.status, asked.err) == (0, "")
    assert asked.out == "== one ==\nhello\n\n== two ==\nhello\n\n== one (2) ==\nhello\n"
    rows = shown(catena, newest(catena))["messages"]
    assert [row["text"] for row in rows if row["kind"] == "agent"] == ["hello"] * 3
    assert len({row["link_id"] for row in rows if row["kind"] == "agent"}) == 3


@pytest.mark.parametrize("agents", ["gone,one,two", "one,gone,two"])
def test_an_agent_that_fails_decides_the_status_and_leaves_the_others_their_answers(
    catena: Catena, agents: str
) -> None:
    asked = catena("run", "--agents", agents, "say hello")

    assert asked.status == 3
    assert asked.out.count("hello") == 2
    assert "gone: " in asked.err
    rows = shown(catena, newest(catena))["messages"]
    assert [row["text"] for row in rows if row["kind"] == "agent"] == ["hello", "hello"]


def test_an_agent_that_is_not_installed_is_refused_before_anybody_is_asked(catena: Catena) -> None:
    asked = catena("run", "--agents", "one,nobody", "a long prompt")

    assert (asked.status, asked.out) == (3, "")
    assert "nobody" in asked.err
    assert catena("list", "--json").json == []
    assert typed(catena) == ["a long prompt"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--agents", "one", "x"],
        ["--agents", "one,two", "/clear"],
    ],
)
def test_what_names_no_two_agents_to_ask_is_wrong_usage(catena: Catena, wrong: list[str]) -> None:
    assert catena("run", *wrong).status == 2


def test_ctrl_c_stops_every_agent_and_keeps_what_each_has_said(catena: Catena) -> None:
    process = catena.start("run", "--agents", "one,two", "--json", "say before\nhang")

    with process:
        _until_said(process, "before", {"one", "two"})
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    assert process.returncode == 130
    whole = shown(catena, newest(catena))
    assert [turn["stop_reason"] for turn in whole["turns"]] == ["cancelled"] * 2
    assert [row["text"] for row in whole["messages"] if row["kind"] == "agent"] == ["before"] * 2
    assert agents_of(catena) == []


def test_a_second_ctrl_c_ends_the_agent_that_does_not_heed_the_first(catena: Catena, tmp_path: Path) -> None:
    log = tmp_path / "heard.jsonl"
    process = catena.start(
        "run", "--agents", "one,two", "--json", "say before\nhang hard", CATENA_REHEARSAL_LOG=str(log)
    )

    with process:
        _until_said(process, "before", {"one", "two"})
        process.send_signal(signal.SIGINT)
        wait_until(lambda: log.read_text().count("session/cancel") == 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (130, "")
    assert out.count('"turn_ended"') == 2
    assert agents_of(catena) == []


def test_one_policy_answers_the_permission_requests_of_all(catena: Catena) -> None:
    asked = catena("run", "--agents", "one,two", "--permissions", "deny", "edit a.py")

    assert asked.status == 4
    assert asked.err.count("denied: ") == 2


def _until_said(process: subprocess.Popen[str], text: str, names: set[str]) -> None:
    """Read until each of the agents has said something."""
    assert process.stdout
    waiting = set(names)
    while waiting:
        line = process.stdout.readline()
        assert line, "the output ended"
        waiting -= {
            name for name in waiting if f'"asked_agent": "{name}"' in line and f'"text": "{text}"' in line
        }


def _above(whole: Any, row: Any) -> Any:
    """The row that another one hangs from."""
    return next(each for each in whole["messages"] if each["id"] == row["parent_id"])

"""What goes wrong on demand: the faults of the rehearsal agent, over raw pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.clients.rehearsal import RawAgent, Refused, ready, rehearsal


def faulty(folder: Path, faults: dict[str, Any]) -> dict[str, str]:
    """The environment of an agent that has these faults."""
    path = folder / "faults.json"
    path.write_text(json.dumps(faults))
    return {"CATENA_REHEARSAL_FAULTS": str(path)}


def refusal(agent: RawAgent, session: str, prompt: str) -> Refused:
    """How a prompt is refused."""
    with pytest.raises(Refused) as refused:
        agent.prompt(session, prompt)
    return refused.value


def test_w18_a_crash_kills_the_process_in_the_middle_of_a_sentence(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.begin_prompt(session, "crash")
        agent.until_text("I was about to say")
        assert agent.gone() == -signal.SIGKILL
        assert agent.next() is None


@pytest.mark.parametrize("status", [0, 3])
def test_w18_it_exits_with_the_status_that_is_asked_for(tmp_path: Path, status: int) -> None:
    with ready(tmp_path) as (agent, session):
        agent.begin_prompt(session, f"exit {status}")
        agent.until_text("I was about to say")
        assert agent.gone() == status


def test_w18_an_orphan_holds_the_output_after_the_agent_is_gone(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.begin_prompt(session, "orphan")
        agent.until_text("I was about to say")
        assert agent.gone() == 0
        with pytest.raises(TimeoutError):
            agent.next(within=0.3)
        os.killpg(agent.process.pid, signal.SIGKILL)
        assert agent.next() is None


def test_w18_a_hanging_turn_can_be_stopped(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "hang")
        agent.cancel(session)
        assert agent.finish(running).result["stopReason"] == "cancelled"


def test_w18_a_turn_that_hangs_hard_cannot_be_stopped(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "say here; hang hard")
        agent.until_text("here")
        agent.cancel(session)
        other = agent.new()
        seen = agent.until(
            lambda message: message.get("method") == "session/update" and other in str(message)
        )
        assert not any(message.get("id") == running for message in seen)


def test_w18_a_deaf_agent_reads_no_more(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.begin_prompt(session, "deaf")
        agent.until_text("no longer listen")
        agent.begin("session/new", cwd="/srv/place", mcpServers=[])
        with pytest.raises(TimeoutError):
            agent.next(within=0.3)
        assert len(agent.heard("session/new")) == 1
        assert agent.process.stdin is not None
        os.set_blocking(agent.process.stdin.fileno(), False)
        with pytest.raises(BlockingIOError):
            for _ in range(1_000):
                agent.write(b" " * 65_536)
        os.set_blocking(agent.process.stdin.fileno(), True)


def test_w18_a_rate_limit_comes_after_partial_text_and_names_its_end(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "ratelimit 600")
        agent.until_text("I was about to say")
        with pytest.raises(Refused) as refused:
            agent.finish(running)
        assert refused.value.code == -32603
        assert refused.value.data["errorKind"] == "rate_limit"
        left = datetime.fromisoformat(refused.value.data["resetsAt"]) - datetime.now(UTC)
        assert 500 < left.total_seconds() <= 600


def test_w18_an_early_rate_limit_comes_before_any_update(tmp_path: Path) -> None:
    with ready(tmp_path, "--no-commands") as (agent, session):
        running = agent.begin_prompt(session, "ratelimit early")
        first = agent.next()
        assert first is not None
        assert (first["id"], first["error"]["code"]) == (running, -32603)


@pytest.mark.parametrize(
    ("scene", "code", "kind"),
    [
        ("ratelimit", -32603, "rate_limit"),
        ("credit", -32603, "billing_error"),
        ("overload", -32603, "overloaded"),
    ],
)
def test_w18_limits_of_three_kinds_can_be_told_apart(
    tmp_path: Path, scene: str, code: int, kind: str
) -> None:
    with ready(tmp_path) as (agent, session):
        refused = refusal(agent, session, scene)
        assert (refused.code, refused.data["errorKind"]) == (code, kind)
        assert agent.prompt(session, "say after").text == "after"


def test_w18_any_error_can_be_ordered(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        refused = refusal(agent, session, "error -31002 Invalid key, sorry")
        assert (refused.code, refused.message) == (-31002, "Invalid key, sorry")


@pytest.mark.parametrize(
    ("keeps", "heard"),
    [
        ("user", "users=2 assistants=0"),
        ("partial", "users=2 assistants=1"),
        ("nothing", "users=1 assistants=0"),
    ],
)
def test_w18_what_a_failed_turn_leaves_in_the_context_can_be_chosen(
    tmp_path: Path, keeps: str, heard: str
) -> None:
    with ready(tmp_path, f"--error-keeps={keeps}") as (agent, session):
        refusal(agent, session, "credit")
        assert heard in agent.prompt(session, "echo").text


@pytest.mark.parametrize(
    ("scene", "reason", "text"),
    [
        ("empty", "end_turn", ""),
        ("errortext", "end_turn", "exceeded retry limit, last status: 429 Too Many Requests"),
        ("refuse", "refusal", "I would rather not."),
        ("maxtokens", "max_tokens", "I was about to say"),
        ("stopreason bored", "bored", ""),
    ],
)
def test_w18_turns_end_in_every_way(tmp_path: Path, scene: str, reason: str, text: str) -> None:
    with ready(tmp_path, "--no-commands") as (agent, session):
        answer = agent.prompt(session, scene)
        assert answer.result["stopReason"] == reason
        assert answer.text == text
        assert bool(answer.updates) is bool(text)


def test_w18_a_refused_prompt_is_not_part_of_the_context(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say something unspeakable; refuse")
        assert agent.prompt(session, "echo").text.startswith("[heard] users=1 assistants=0")


def test_w18_text_comes_late_and_is_remembered(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "late")
        late = agent.until_text("This came late.")[-1]["params"]["update"]
        assert late["messageId"] == answer.of("agent_message_chunk")[0]["messageId"]
        assert "This came in time. This came late." in agent.prompt(session, "context").text


def test_w18_text_comes_between_turns_as_a_message_of_its_own(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "between 0.1")
        later = agent.until_text("between turns")[-1]["params"]["update"]
        assert later["messageId"] != answer.of("agent_message_chunk")[0]["messageId"]


def test_w18_garbage_comes_and_the_turn_ends_well(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "garbage")
        seen = agent.until(lambda message: message.get("id") == running)
        assert [line.strip() for line in agent.junk] == [
            *(b"this is no JSON", b"[]", b"42", b'"a text"', b"null", b"")
        ]
        told = [message["params"] for message in seen if message.get("method") == "session/update"]
        assert any(params.get("_meta", {}).get("session_id") == "FORGED" for params in told)
        assert any("FOREIGN" in str(params) and params["sessionId"] != session for params in told)
        assert "Before the garbage. Forged. After the garbage." in agent.prompt(session, "context").text


def test_w18_an_answer_comes_twice(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "twice")
        assert agent.finish(running).result["stopReason"] == "end_turn"
        assert agent.finish(running).result["stopReason"] == "refusal"


def test_w18_an_answer_comes_to_a_question_that_nobody_asked(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "wrongid")
        assert agent.finish(99_999_999).result["stopReason"] == "end_turn"
        assert agent.finish(running).result["stopReason"] == "end_turn"


def test_w18_bytes_that_are_no_text_come_in_the_middle(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        assert agent.prompt(session, "invalid-utf8").text == "Well formed, and well formed again."
        assert b"caf\xe9" in agent.junk[0]


def test_w18_a_banner_comes_in_plain_text(tmp_path: Path) -> None:
    with ready(tmp_path, "--banner") as (agent, session):
        agent.prompt(session, "banner")
        assert agent.junk == [b"Welcome to the rehearsal!\n", b"*** A new version is available! ***\n"]


def test_w18_it_complains_at_length_on_standard_error(tmp_path: Path) -> None:
    with rehearsal(tmp_path, stderr=subprocess.PIPE) as agent:
        agent.initialize()
        session = agent.new()
        running = agent.begin_prompt(session, "flood stderr 1000")
        assert agent.process.stderr is not None
        with agent.process.stderr:
            assert len(agent.process.stderr.read(1_000_000)) == 1_000_000
            agent.finish(running)


@pytest.mark.parametrize("auth", ["required", "terminal"])
@pytest.mark.parametrize("how", ["new", "load", "resume", "fork"])
def test_w18_a_login_is_wanted_before_a_session_is_opened(tmp_path: Path, auth: str, how: str) -> None:
    with rehearsal(tmp_path, f"--auth={auth}") as agent:
        offered = agent.initialize().result["authMethods"]
        with pytest.raises(Refused) as refused:
            agent.reopen(how, "11111111-2222-4333-8444-555555555555")
        assert refused.value.code == -32000
        assert refused.value.data == {"authMethods": offered}


def test_w18_the_offered_login_ends_the_refusals_in_every_process(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "--auth=required") as agent:
        (method,) = agent.initialize().result["authMethods"]
        agent.call("authenticate", methodId=method["id"])
        session = agent.new()
        assert refusal(agent, session, "say half; login").code == -32000
        assert refusal(agent, session, "say again").code == -32000
        with pytest.raises(Refused):
            agent.call("authenticate", methodId="another")
    with rehearsal(tmp_path, "--auth=required") as agent:
        agent.initialize()
        with pytest.raises(Refused):
            agent.new()
        agent.call("authenticate", methodId=method["id"])
        agent.reopen("resume", session)
        assert "users=2" in agent.prompt(session, "echo").text


def test_w18_a_login_in_the_terminal_is_the_agents_own_command(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "--auth=terminal") as agent:
        (method,) = agent.initialize().result["authMethods"]
        assert method["type"] == "terminal"
        line = method["_meta"]["terminal-auth"]
        assert line["args"][-1:] == method["args"]
        said = subprocess.run(
            [line["command"], *line["args"]],
            env={**os.environ, "CATENA_REHEARSAL_HOME": str(tmp_path / "home")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "no model" in said
        assert agent.new()


def test_w18_a_logout_wants_a_login_again(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.call("logout")
        assert refusal(agent, session, "say one").code == -32000


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"error": [-32002, "Resource not found"]}, -32002),
        ({"error": [-32603, "no rollout found", {"details": "for thread"}]}, -32603),
        ({"login": True}, -32000),
    ],
)
@pytest.mark.parametrize("how", ["new", "load", "resume", "fork", "list", "prompt"])
def test_w18_a_request_fails_as_the_file_says(
    tmp_path: Path, how: str, fault: dict[str, Any], code: int
) -> None:
    with rehearsal(tmp_path, environment=faulty(tmp_path, {})) as agent:
        agent.initialize()
        session = agent.new()
        faulty(tmp_path, {how: fault})
        with pytest.raises(Refused) as refused:
            agent.reopen(how, session, prompt=[{"type": "text", "text": "say one"}])
        assert refused.value.code == code
        faulty(tmp_path, {})
        if code != -32000:
            assert "users=1" in agent.prompt(session, "echo").text


def test_w18_a_fault_is_used_up_across_processes(tmp_path: Path) -> None:
    faults = {"prompt": [{"error": [-1, "first"], "times": 1}, {"error": [-2, "second"], "times": 2}]}
    environment = faulty(tmp_path, faults)
    codes = []
    for _ in range(2):
        with rehearsal(tmp_path, environment=environment) as agent:
            agent.initialize()
            session = agent.new()
            codes += [refusal(agent, session, "say one").code for _ in range(1)]
    assert codes == [-1, -2]
    with rehearsal(tmp_path, environment=environment) as agent:
        agent.initialize()
        session = agent.new()
        assert refusal(agent, session, "say one").code == -2
        assert agent.prompt(session, "say one").text == "one"


def test_w18_a_reopened_session_can_be_another_or_empty_or_shortened(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        for word in ("one", "two", "three"):
            agent.prompt(session, f"say {word}")
    faults = {
        "resume": [{"other_id": True, "times": 1}, {"last": 1, "times": 1}, {"empty": True, "times": 1}]
    }
    environment = faulty(tmp_path, faults | {"load": {"mute": True}})
    contexts = []
    for how in ("resume", "resume", "resume", "load"):
        with rehearsal(tmp_path, environment=environment) as agent:
            agent.initialize()
            answer = agent.reopen(how, session)
            got = answer.result.get("sessionId", session)
            contexts.append((got == session, agent.prompt(got, "echo").text.split(" last")[0]))
            assert not answer.updates
    assert contexts == [
        (False, "[heard] users=1 assistants=0"),
        (True, "[heard] users=2 assistants=1"),
        (True, "[heard] users=1 assistants=0"),
        (True, "[heard] users=6 assistants=5"),
    ]


def test_w18_an_answer_can_be_null_or_anything(tmp_path: Path) -> None:
    environment = faulty(tmp_path, {"load": {"result": None}, "resume": {"result": {"sessionId": 7}}})
    with rehearsal(tmp_path, environment=environment) as agent:
        agent.initialize()
        session = agent.new()
        assert agent.reopen("load", session).result is None
        assert agent.reopen("resume", session).result == {"sessionId": 7}


def test_w18_a_fork_can_answer_the_id_of_its_source_and_a_new_session_one_handed_out_before(
    tmp_path: Path,
) -> None:
    with rehearsal(tmp_path, environment=faulty(tmp_path, {})) as agent:
        agent.initialize()
        session = agent.new()
        faulty(tmp_path, {"fork": {"same_id": True}, "new": {"same_id": True}})
        assert agent.reopen("fork", session).result["sessionId"] == session
        assert agent.new() == session


def test_w18_a_fork_can_lose_the_history(tmp_path: Path) -> None:
    with rehearsal(tmp_path, environment=faulty(tmp_path, {"fork": {"empty": True}})) as agent:
        agent.initialize()
        session = agent.new()
        agent.prompt(session, "say one")
        branch = agent.reopen("fork", session).result["sessionId"]
        assert "users=1" in agent.prompt(branch, "echo").text


@pytest.mark.parametrize(("fault", "code"), [({"exit": 3}, 3), ({"kill": True}, -signal.SIGKILL)])
@pytest.mark.parametrize("method", ["new", "any"])
def test_w18_it_ends_while_a_session_is_opened(
    tmp_path: Path, method: str, fault: dict[str, Any], code: int
) -> None:
    with rehearsal(tmp_path, environment=faulty(tmp_path, {})) as agent:
        agent.initialize()
        faulty(tmp_path, {method: fault})
        agent.begin("session/new", cwd="/srv/place", mcpServers=[])
        assert agent.gone() == code


_NOTED = """
import os, time

def noted(seconds):
    if seconds:
        with open(os.environ["SLEPT"], "a") as slept:
            print(seconds, file=slept)

time.sleep = noted
"""


def sleeps_noted(tmp_path: Path) -> dict[str, str]:
    """An environment in which an agent that sleeps writes down for how long, and is up again at once."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_NOTED)
    return {"PYTHONPATH": str(tmp_path / "site"), "SLEPT": str(tmp_path / "slept")}


def slept(tmp_path: Path) -> list[float]:
    """The seconds of each sleep."""
    return [float(line) for line in (tmp_path / "slept").read_text().splitlines()]


def test_w18_it_can_be_silent_or_slow(tmp_path: Path) -> None:
    faults = faulty(tmp_path, {"list": {"silent": True}, "load": {"delay": 120.5}})
    with rehearsal(tmp_path, environment=faults | sleeps_noted(tmp_path)) as agent:
        agent.initialize()
        session = agent.new()
        listing = agent.begin("session/list")
        loading = agent.begin("session/load", sessionId=session, cwd="/srv/place", mcpServers=[])
        seen = agent.until(lambda message: message.get("id") == loading)
        assert slept(tmp_path) == [120.5]
        assert listing not in [message.get("id") for message in seen]


def test_w18_it_waits_for_cues_with_requests_in_a_turn_and_after_it(tmp_path: Path) -> None:
    def cue(name: str) -> None:
        (tmp_path / "home" / "cues").mkdir(exist_ok=True)
        (tmp_path / "home" / "cues" / name).touch()

    with rehearsal(tmp_path, environment=faulty(tmp_path, {"load": {"cue": "load-it"}})) as agent:
        agent.initialize()
        session = agent.new()
        loading = agent.begin("session/load", sessionId=session, cwd="/srv/place", mcpServers=[])
        prompting = agent.begin_prompt(session, "between cue later; say half; cue go-on; say whole")
        agent.until_text("half")
        cue("load-it")
        agent.finish(loading)
        cue("go-on")
        assert agent.finish(prompting).text.endswith("whole")
        cue("later")
        agent.until_text("between turns")
        assert agent.prompt(session, "cue go-on; say at once").text == "at once"
        stopped = agent.begin_prompt(session, "say waiting; cue never")
        agent.until_text("waiting")
        agent.cancel(session)
        assert agent.finish(stopped).result["stopReason"] == "cancelled"


def test_w18_it_can_be_slow_to_start(tmp_path: Path) -> None:
    delay = {"CATENA_REHEARSAL_START_DELAY": "90.5"}
    with rehearsal(tmp_path, environment=delay | sleeps_noted(tmp_path)) as agent:
        assert agent.initialize().result["protocolVersion"] == 1
    assert slept(tmp_path) == [90.5]

"""The sessions of the rehearsal agent, and which abilities it offers, over raw pipes and across processes."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any, ForwardRef

import pytest

from catena_acp.process_group import group_exists
from catena_acp.rehearsal.settings import Options
from support.clients.rehearsal import RawAgent, Refused, ready, rehearsal

FORK_KEY = "jetbrains"


def at(message_id: str) -> dict[str, Any]:
    """The fork point as those agents want it that know one."""
    return {"_meta": {FORK_KEY: {"air": {"fork": {"version": 1, "messageId": message_id}}}}}


def context(agent: RawAgent, session: str) -> str:
    """The users' texts that a session holds, without the question for them."""
    said = agent.prompt(session, "echo").text
    return said.split(" all=")[1].removesuffix("echo").removesuffix("|")


def message_ids(updates: list[dict[str, Any]]) -> list[str]:
    """The ids of the agent's messages, each once."""
    return list(dict.fromkeys(u["messageId"] for u in updates if u["sessionUpdate"] == "agent_message_chunk"))


def _of_help() -> set[str]:
    """The modules that are imported for the help of any parser, which a newer Python draws in colours."""
    listing = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-c",
            "import argparse; argparse.ArgumentParser().format_help()",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    return {line.rpartition("|")[2].strip() for line in listing.splitlines()}


def test_w18_it_needs_nothing_but_the_standard_library() -> None:
    listing = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "catena_acp.rehearsal", "--login"],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "CATENA_REHEARSAL_HOME": os.devnull + "/nowhere"}
        | {"CATENA_REHEARSAL_FLAGS": "--help"},
    ).stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in listing.splitlines()}
    assert "catena_acp" in imported
    assert not imported & {"acp", "pydantic", "asyncio", "textual", "platformdirs", "catena_store"}
    assert not (imported - _of_help()) & {"dataclasses", "inspect"}  # a third of its start otherwise
    ours = {line.rpartition("|")[2].strip() for line in listing.splitlines() if "catena_acp" in line}
    assert all(name == "catena_acp" or name.startswith("catena_acp.rehearsal") for name in ours)


def test_w18_it_offers_everything_but_steering(tmp_path: Path) -> None:
    with rehearsal(tmp_path) as agent:
        answer = agent.initialize().result
        assert answer["protocolVersion"] == 1
        assert answer["agentInfo"]["name"] == "catena-rehearsal"
        can = answer["agentCapabilities"]
        assert can["loadSession"] is True
        assert can["promptCapabilities"] == {"image": True, "audio": False, "embeddedContext": True}
        assert set(can["sessionCapabilities"]) >= {"list", "resume", "fork", "close", "delete"}
        assert "_meta" not in answer


@pytest.mark.parametrize("ability", ["load", "resume", "fork", "list", "close", "delete"])
def test_w18_an_ability_that_is_switched_off_is_neither_advertised_nor_there(
    tmp_path: Path, ability: str
) -> None:
    with ready(tmp_path, f"--no-{ability}") as (agent, session):
        offered = {"load": agent.capabilities["loadSession"]} | agent.capabilities["sessionCapabilities"]
        assert ability not in offered or offered[ability] is False
        with pytest.raises(Refused) as refused:
            agent.reopen(ability, session)
        assert refused.value.code == -32601


@pytest.mark.parametrize(("ability", "field"), [("modes", "modes"), ("options", "configOptions")])
def test_w18_modes_and_options_can_be_switched_off(tmp_path: Path, ability: str, field: str) -> None:
    with rehearsal(tmp_path, f"--no-{ability}") as agent:
        agent.initialize()
        assert field not in agent.call("session/new", cwd="/srv/place", mcpServers=[]).result


def test_w18_flags_may_come_from_the_environment(tmp_path: Path) -> None:
    flags = {"CATENA_REHEARSAL_FLAGS": "--name 'Some Agent' --version 9 --no-fork"}
    with rehearsal(tmp_path, "--version", "10", environment=flags) as agent:
        answer = agent.initialize().result
        assert (answer["agentInfo"]["name"], answer["agentInfo"]["version"]) == ("Some Agent", "10")
        assert "fork" not in agent.capabilities["sessionCapabilities"]


def test_w18_session_ids_cannot_be_guessed(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        ids = {session, *(agent.new() for _ in range(20))}
        assert len(ids) == 21
        assert all(uuid.UUID(one).version == 4 for one in ids)


def test_w18_the_context_is_what_was_heard_and_said_and_nothing_else(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say first\nand a line")
        other = agent.new()
        agent.prompt(other, "say elsewhere")
        heard = agent.prompt(session, "echo").text
        assert heard == '[heard] users=2 assistants=1 last="echo" all=say first/and a line|echo'
        whole = agent.prompt(session, "context").text.splitlines()
        assert whole[:3] == ["[context]", 'user "say first\\nand a line"', 'assistant "first"']


def test_w18_load_tells_the_whole_history_before_it_answers(tmp_path: Path) -> None:
    script = "think deeply; say one; tool read a.py; plan; say two; image"
    with ready(tmp_path) as (agent, session):
        live = agent.prompt(session, script)
        agent.prompt(session, "say three")
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        replay = agent.reopen("load", session)
        kinds = [update["sessionUpdate"] for update in replay.updates]
        assert kinds == [
            *("user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call"),
            *("tool_call_update", "plan", "agent_message_chunk", "agent_message_chunk"),
            *("user_message_chunk", "agent_message_chunk"),
        ]
        assert [u["content"]["text"] for u in replay.of("user_message_chunk")] == [script, "say three"]
        assert replay.text == "onetwothree"
        assert replay.of("tool_call")[0]["toolCallId"] == live.of("tool_call")[0]["toolCallId"]
        assert replay.of("tool_call_update")[0]["status"] == "completed"
        assert replay.of("plan")[0] == live.of("plan")[-1]
        assert message_ids(replay.updates)[:3] == message_ids(live.updates)
        assert all(update["messageId"] for update in replay.of("user_message_chunk"))
        assert context(agent, session) == f"{script}|say three"


def test_w18_resume_tells_nothing_and_knows_everything(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say PELICAN")
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        assert not agent.reopen("resume", session).updates
        assert context(agent, session) == "say PELICAN"


def test_w18_a_load_may_tell_nothing_although_the_context_is_whole(tmp_path: Path) -> None:
    with ready(tmp_path, "--replay=none") as (agent, session):
        agent.prompt(session, "say PELICAN")
        assert not agent.reopen("load", session).text
        assert context(agent, session) == "say PELICAN"


@pytest.mark.parametrize("how", ["load", "resume", "fork"])
@pytest.mark.parametrize("wrong", ["11111111-2222-4333-8444-555555555555", "../../etc/passwd", ""])
def test_w18_a_session_that_is_not_there_is_said_so(tmp_path: Path, how: str, wrong: str) -> None:
    with ready(tmp_path) as (agent, _), pytest.raises(Refused) as refused:
        agent.reopen(how, wrong)
    assert (refused.value.code, refused.value.data) == (-32002, {"sessionId": wrong})


def test_w18_a_session_must_be_opened_before_it_is_prompted(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say one")
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        with pytest.raises(Refused) as refused:
            agent.prompt(session, "say two")
        assert refused.value.code == -32002


def test_w18_a_fork_holds_the_history_and_goes_its_own_way(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say trunk")
        before = next((tmp_path / "home" / "sessions").glob(f"{session}*")).read_bytes()
        answer = agent.reopen("fork", session)
        branch = answer.result["sessionId"]
        assert branch != session
        assert not answer.of("user_message_chunk")
        agent.prompt(branch, "say branch")
        assert context(agent, branch) == "say trunk|say branch"
        assert next((tmp_path / "home" / "sessions").glob(f"{session}*")).read_bytes() == before
        twig = agent.reopen("fork", branch).result["sessionId"]
        assert context(agent, twig) == "say trunk|say branch|echo"
        assert context(agent, session) == "say trunk"


def test_w18_a_fork_begins_with_the_cost_of_its_source(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        spent = agent.prompt(session, "stream 100").of("usage_update")[-1]["cost"]["amount"]
        branch = agent.reopen("fork", session).result["sessionId"]
        assert agent.prompt(branch, "say one").of("usage_update")[-1]["cost"]["amount"] > spent


def test_w18_another_process_can_fork_a_session_that_it_has_not_opened(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say trunk")
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        branch = agent.reopen("fork", session).result["sessionId"]
        assert context(agent, branch) == "say trunk"
    with rehearsal(tmp_path, "--no-cold-fork") as agent:
        agent.initialize()
        with pytest.raises(Refused) as refused:
            agent.reopen("fork", session)
        assert refused.value.code == -32602


def test_w18_a_fork_of_a_running_turn_has_the_prompt_and_no_answer(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        branch = agent.reopen("fork", session).result["sessionId"]
        assert agent.prompt(branch, "echo").text.startswith("[heard] users=2 assistants=0")
        agent.cancel(session)
        assert agent.finish(running).result["stopReason"] == "cancelled"


def test_w18_fork_at_a_message_keeps_that_message_and_drops_the_rest(tmp_path: Path) -> None:
    with ready(tmp_path, "--fork-at") as (agent, session):
        first = agent.prompt(session, "say one; tool; say two")
        agent.prompt(session, "say three")
        _, two = message_ids(first.updates)
        branch = agent.reopen("fork", session, **at(two)).result["sessionId"]
        assert context(agent, branch) == "say one; tool; say two"
        replay = agent.reopen("load", branch)
        assert replay.of("agent_message_chunk")[1]["content"]["text"] == "two"


def test_w18_fork_at_an_unknown_message_is_refused(tmp_path: Path) -> None:
    with ready(tmp_path, "--fork-at") as (agent, session):
        agent.prompt(session, "say one")
        with pytest.raises(Refused) as refused:
            agent.reopen("fork", session, **at("bogus"))
        assert refused.value.code == -32602
        assert "bogus was not found" in refused.value.message
        assert agent.reopen("fork", session).result["sessionId"]


def test_w18_an_agent_that_does_not_know_the_key_forks_everything(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say one")
        branch = agent.reopen("fork", session, **at("bogus")).result["sessionId"]
        assert context(agent, branch) == "say one"


def test_w18_fork_at_a_prompt_keeps_its_whole_turn(tmp_path: Path) -> None:
    with ready(tmp_path, "--fork-at=user", "--echo-user") as (agent, session):
        first = agent.prompt(session, "say one").of("user_message_chunk")[0]["messageId"]
        agent.prompt(session, "say two")
        branch = agent.reopen("fork", session, _meta={"messageId": first}).result["sessionId"]
        assert agent.prompt(branch, "echo").text.startswith("[heard] users=2 assistants=1")
        with pytest.raises(Refused) as refused:
            agent.reopen("fork", session, _meta={"messageId": "bogus"})
        assert refused.value.code == -32602


def test_w18_sessions_are_listed_newest_first_by_directory_and_page(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "title The oldest; say it")
        # By more than a tick of the clock.
        os.utime(tmp_path / "home" / "sessions" / f"{session}.jsonl", (1, 1))
        elsewhere = agent.new("/elsewhere")
        many = [agent.new() for _ in range(55)]
        first = agent.call("session/list", cwd="/srv/place").result
        second = agent.call("session/list", cwd="/srv/place", cursor=first["nextCursor"]).result
        listed = [one["sessionId"] for one in first["sessions"] + second["sessions"]]
        assert len(first["sessions"]) == 50
        assert "nextCursor" not in second
        assert sorted(listed) == sorted([session, *many])
        assert listed[-1] == session
        assert second["sessions"][-1]["title"] == "The oldest"
        assert len(agent.call("session/list", cursor="50").result["sessions"]) == 7
        (other,) = agent.call("session/list", cwd="/elsewhere").result["sessions"]
        assert other["sessionId"] == elsewhere


def test_w18_a_closed_session_is_stopped_and_can_be_resumed(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        agent.call("session/close", sessionId=session)
        assert agent.finish(running).result["stopReason"] == "cancelled"
        with pytest.raises(Refused):
            agent.prompt(session, "echo")
        agent.reopen("resume", session)
        assert context(agent, session) == "say half; hang"


def test_w18_a_deleted_session_is_gone_also_when_a_turn_was_running(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        agent.call("session/delete", sessionId=session)
        agent.call("session/delete", sessionId=session)
        assert agent.finish(running).result["stopReason"] == "cancelled"
        assert agent.call("session/list").result["sessions"] == []
        with pytest.raises(Refused) as refused:
            agent.reopen("load", session)
        assert refused.value.code == -32002


def test_w18_the_title_is_told_once_and_kept(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        told = agent.prompt(session, "What is a chain?").of("session_info_update")
        assert [update["title"] for update in told] == ["What is a chain?"]
        assert not agent.prompt(session, "And a link?").of("session_info_update")
        (listed,) = agent.call("session/list").result["sessions"]
        assert listed["title"] == "What is a chain?"


def test_w18_modes_and_options_are_set_and_start_again_when_the_session_is_reopened(tmp_path: Path) -> None:
    with ready(tmp_path, session={"configOptions": {"boolean": {}}}) as (agent, session):
        agent.call("session/set_mode", sessionId=session, modeId="code")
        answer = agent.call("session/set_config_option", sessionId=session, configId="model", value="lead")
        values = {option["id"]: option["currentValue"] for option in answer.result["configOptions"]}
        assert values == {"mode": "code", "model": "lead", "thought": "brief", "fast": False}
        agent.call(
            "session/set_config_option", sessionId=session, configId="fast", type="boolean", value=True
        )
        said = "[settings] mode=code model=lead thought=brief fast=true"
        assert agent.prompt(session, "settings").text == said
        branch = agent.reopen("fork", session).result["sessionId"]
        assert "mode=ask model=understudy" in agent.prompt(branch, "settings").text


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "bogus"}),
        ("session/set_config_option", {"configId": "model", "value": "bogus"}),
        ("session/set_config_option", {"configId": "bogus", "value": "lead"}),
        ("session/prompt", {"prompt": []}),
    ],
)
def test_w18_what_does_not_exist_cannot_be_set(tmp_path: Path, method: str, params: dict[str, Any]) -> None:
    with ready(tmp_path) as (agent, session), pytest.raises(Refused) as refused:
        agent.call(method, sessionId=session, **params)
    assert refused.value.code == -32602


def test_w18_a_boolean_option_is_shown_only_to_a_client_that_knows_such(tmp_path: Path) -> None:
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        options = agent.call("session/new", cwd="/srv/place", mcpServers=[]).result["configOptions"]
        assert [option["category"] for option in options] == ["mode", "model", "thought_level"]
        assert len(options[1]["options"]) == 3


def test_w18_a_relative_directory_is_refused(tmp_path: Path) -> None:
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        with pytest.raises(Refused) as refused:
            agent.new("work/place")
        assert refused.value.code == -32602


@pytest.mark.parametrize(
    ("keeps", "heard"),
    [
        ("partial", "users=2 assistants=1"),
        ("user", "users=2 assistants=0"),
        ("nothing", "users=1 assistants=0"),
    ],
)
def test_w18_what_a_stopped_turn_leaves_in_the_context_can_be_chosen(
    tmp_path: Path, keeps: str, heard: str
) -> None:
    with ready(tmp_path, f"--cancel-keeps={keeps}") as (agent, session):
        running = agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        agent.cancel(session)
        agent.finish(running)
        assert heard in agent.prompt(agent.reopen("fork", session).result["sessionId"], "echo").text
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        agent.reopen("resume", session)
        assert heard in agent.prompt(session, "echo").text


def test_w18_a_killed_process_leaves_the_prompt_and_not_the_answer(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say whole")
        agent.begin_prompt(session, "say half; crash")
        agent.gone()
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        agent.reopen("resume", session)
        assert "users=3 assistants=1" in agent.prompt(session, "echo").text


def test_w18_a_torn_last_line_loses_that_line_only(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "say one")
        agent.prompt(session, "say two")
    (transcript,) = (tmp_path / "home" / "sessions").glob("*.jsonl")
    whole = transcript.read_bytes()
    transcript.write_bytes(whole[:-20])
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        agent.reopen("resume", session)
        agent.prompt(session, "say three")
    with rehearsal(tmp_path) as agent:
        agent.initialize()
        assert agent.reopen("load", session).text == "onethree"
        assert context(agent, session) == "say one|say two|say three"


def test_w18_an_idle_stop_is_harmless(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.cancel(session)
        agent.cancel("nobody")
        assert agent.prompt(session, "say still here").text == "still here"


def test_w18_a_second_prompt_in_a_running_turn_is_refused(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        with pytest.raises(Refused) as refused:
            agent.prompt(session, "say impatient")
        assert refused.value.code == -32600
        agent.cancel(session)
        agent.finish(running)
        assert "impatient" not in agent.prompt(session, "echo").text


def test_w18_turns_of_two_sessions_run_side_by_side(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        other = agent.new()
        running = agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        assert agent.prompt(other, "say meanwhile").text == "meanwhile"
        agent.cancel(session)
        assert agent.finish(running).result["stopReason"] == "cancelled"


def test_w18_message_ids_titles_usage_and_commands_can_be_left_out(tmp_path: Path) -> None:
    flags = ("--no-message-ids", "--no-titles", "--no-usage", "--no-commands")
    with ready(tmp_path, *flags) as (agent, session):
        answer = agent.prompt(session, "say one; think; image")
        assert {update["sessionUpdate"] for update in answer.updates} == {
            "agent_message_chunk",
            "agent_thought_chunk",
        }
        assert not any("messageId" in update for update in answer.updates)
        assert answer.result == {"stopReason": "end_turn"}
        assert not any("messageId" in update for update in agent.reopen("load", session).updates)


def test_w18_it_ends_when_its_input_does(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.begin_prompt(session, "say half; hang")
        agent.until_text("half")
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        assert agent.gone() == 0


def test_w18_a_stubborn_agent_ignores_the_end_of_input_and_a_polite_signal(tmp_path: Path) -> None:
    with ready(tmp_path, "--stubborn") as (agent, session):
        agent.process.terminate()
        assert agent.prompt(session, "say unmoved").text == "unmoved"
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            agent.process.wait(0.3)


def test_w18_a_child_keeps_its_process_group_alive(tmp_path: Path) -> None:
    with ready(tmp_path, "--child") as (agent, _):
        agent.process.kill()
        agent.gone()
        assert group_exists(agent.process.pid)


def test_w18_an_unknown_method_is_refused_and_an_unknown_notification_ignored(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.send({"method": "_somebody/shouts", "params": {}})
        with pytest.raises(Refused) as refused:
            agent.call("_session/steering", sessionId=session)
        assert refused.value.code == -32601


def test_w18_lines_that_are_no_messages_are_survived(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.write(b'nonsense\n\n[]\n42\n{"id": 5}\n{"jsonrpc":"2.0","id":77,"method":"session/prompt"}\n')
        codes = [agent.until(lambda m: "error" in m)[-1]["error"]["code"] for _ in range(4)]
        assert codes == [-32700, -32600, -32600, -32602]
        assert agent.prompt(session, "say fine").text == "fine"


def test_w18_some_agents_tell_the_history_when_they_fork_or_resume(tmp_path: Path) -> None:
    with ready(tmp_path, "--fork-replays", "--resume-replays") as (agent, session):
        agent.prompt(session, "say one")
        assert agent.reopen("resume", session).text == "one"
        branch = agent.reopen("fork", session)
        assert branch.text == "one"
        assert context(agent, branch.result["sessionId"]) == "say one"


def test_w18_a_long_history_is_made_at_once_and_replayed_whole(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        agent.prompt(session, "history 250")
        replay = agent.reopen("load", session)
        assert len(replay.of("user_message_chunk")) == 251
        assert replay.of("agent_message_chunk")[-1]["content"]["text"].startswith("Answer 250. ")


def test_no_annotation_of_the_options_is_compiled_when_the_agent_starts() -> None:
    assert not any(isinstance(each, ForwardRef) for each in Options.__annotations__.values())

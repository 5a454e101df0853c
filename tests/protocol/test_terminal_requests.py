"""An agent's requests for terminals, as they go over the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catena_acp.port.session_events import TerminalChanged
from catena_acp.protocol.files import FileAccess
from support.clients.protocol import HELLO, answer_to, heard, place, runs, scripted, until

TURN = """
def session_prompt(agent, request):
    def ask(method, **params):
        agent.count = getattr(agent, "count", 0) + 1
        agent.ask(f"t{agent.count}", method, **{"sessionId": "s1", **params})
        while True:
            message = agent.read()
            if message.get("id") == f"t{agent.count}":
                return message["result"] if "result" in message else message["error"]
    turn(ask)
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""


async def asked(tmp_path: Path, turn: str, *, terminals: bool = True, **files: Any) -> list[dict[str, Any]]:
    """Our answers to what an agent asks in a turn, in order."""
    access = FileAccess((tmp_path / "project",), **files)
    (tmp_path / "project").mkdir(exist_ok=True)
    async with scripted(tmp_path, turn + TURN, files=access, terminals=terminals) as agent:
        session_id = (await agent.new_session(place(tmp_path / "project"))).session_id
        await agent.prompt(session_id, HELLO)
    answers: list[dict[str, Any]] = []
    while (answer := answer_to(tmp_path, f"t{len(answers) + 1}")) is not None:
        answers.append(answer)
    return answers


async def test_w11_an_agent_runs_a_command_and_reads_its_output(tmp_path: Path) -> None:
    turn = """
def turn(ask):
    made = ask("terminal/create", command="printf", args=["%s\\n", "hi"], env=[{"name": "A", "value": "b"}])
    ask("terminal/wait_for_exit", **made)
    ask("terminal/output", **made)
    ask("terminal/kill", **made)
    ask("terminal/release", **made)
    ask("terminal/release", **made)
    ask("terminal/output", **made)
"""
    made, ended, output, killed, released, *refused = await asked(tmp_path, turn)
    assert heard(tmp_path, "initialize")[0]["params"]["clientCapabilities"]["terminal"] is True
    assert list(made["result"]) == ["terminalId"]
    assert ended["result"] == {"exitCode": 0}
    assert output["result"] == {"output": "hi\n", "truncated": False, "exitStatus": {"exitCode": 0}}
    assert (killed["result"], released["result"]) == ({}, {})
    assert [answer["error"]["code"] for answer in refused] == [-32002, -32002]
    assert "no terminal" in refused[0]["error"]["message"]


async def test_w11_a_command_starts_in_the_conversations_directories_alone(tmp_path: Path) -> None:
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "project" / "out").symlink_to(tmp_path)
    (tmp_path / "project" / "file").touch()
    turn = """
def turn(ask):
    import os
    project = os.path.dirname(os.environ["HEARD"]) + "/project"
    for cwd in (project + "/sub", project + "/sub/../..", project + "/out", "/", "sub", project + "/file",
                project + "/gone", "a\\0b"):
        made = ask("terminal/create", command="pwd", cwd=cwd)
        if "terminalId" in made:
            ask("terminal/wait_for_exit", **made)
            ask("terminal/output", **made)
"""
    _, _, output, *refused = await asked(tmp_path, turn)
    assert output["result"]["output"] == f"{(tmp_path / 'project' / 'sub').resolve()}\n"
    words = [answer["error"]["message"] for answer in refused]
    assert [next(w for w in ("outside", "absolute", "not a directory") if w in each) for each in words] == [
        *("outside", "outside", "outside", "absolute", "not a directory", "not a directory", "absolute")
    ]


async def test_w11_terminals_can_be_switched_off_and_are_refused_in_words(tmp_path: Path) -> None:
    turn = """
def turn(ask):
    ask("terminal/create", command="touch ran")
    ask("terminal/output", terminalId="terminal-1")
"""
    refused = await asked(tmp_path, turn, terminals=False)
    assert not heard(tmp_path, "initialize")[0]["params"]["clientCapabilities"].get("terminal")
    assert [answer["error"]["code"] for answer in refused] == [-32601, -32601]
    assert refused[0]["error"]["message"] == "Catena does not run commands for this agent"
    assert not (tmp_path / "project" / "ran").exists()


async def test_w10_files_can_be_switched_off_and_commands_still_run(tmp_path: Path) -> None:
    turn = """
def turn(ask):
    import os
    project = os.path.dirname(os.environ["HEARD"]) + "/project"
    ask("fs/write_text_file", path=project + "/a", content="x")
    ask("fs/read_text_file", path=project + "/a")
    made = ask("terminal/create", command="true", cwd=project)
    ask("terminal/wait_for_exit", **made)
"""
    write, read, _, ended = await asked(tmp_path, turn, readable=False, writable=False)
    capabilities = heard(tmp_path, "initialize")[0]["params"]["clientCapabilities"]
    assert not any((capabilities.get("fs") or {}).values())
    assert write["error"]["message"] == "Catena does not write files for this agent"
    assert read["error"]["message"] == "Catena does not read files for this agent"
    assert ended["result"] == {"exitCode": 0}


async def test_w11_hostile_requests_are_refused_and_the_connection_lives(tmp_path: Path) -> None:
    turn = """
def turn(ask):
    made = ask("terminal/create", command="sleep 300")
    ask("terminal/output", terminalId=made["terminalId"], sessionId="s2")
    ask("terminal/create", command="true", sessionId="nobody")
    ask("terminal/create", command="true\\0")
    ask("terminal/create", command="true", args=["x" * 3000000])
    ask("terminal/create", command={"evil": True})
    ask("terminal/create")
    ask("terminal/output", terminalId=["x"])
    ask("terminal/output", terminalId="\\ud800" * 200000)
    ask("terminal/create", command="true", env=[{"name": "A=", "value": "b"}])
    ask("terminal/output", **made)
"""
    made, *refused, alive = await asked(tmp_path, turn)
    assert "result" in made and "result" in alive
    assert len(refused) == 9 and all("error" in answer for answer in refused)
    assert all(len(answer["error"]["message"]) < 500 for answer in refused)


@pytest.mark.parametrize("end", ["session", "agent", "crash"])
async def test_w11_commands_end_with_their_session_and_with_the_agent(tmp_path: Path, end: str) -> None:
    script = (
        """
def turn(ask):
    ask("terminal/create", command="echo $$ > pid; echo started; sleep 300")

def session_cancel(agent, request):
    import os
    os.kill(os.getpid(), 9)
"""
        + TURN
    )
    pid = tmp_path / "pid"
    async with scripted(tmp_path, script, files=FileAccess((tmp_path,)), terminals=True) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[object] = []
        agent.listen(session_id, events.append)
        await agent.prompt(session_id, HELLO)
        await until(lambda: any(isinstance(each, TerminalChanged) for each in events))
        leader = int(pid.read_text())
        assert runs(leader)  # the end of its turn is not the end of a command
        match end:
            case "session":
                await agent.close_session(session_id)
            case "agent":
                await agent.stop()
            case "crash":
                await agent.cancel(session_id)
        await until(lambda: not runs(leader))
    assert not any(isinstance(each, TerminalChanged) and each.over for each in events)


async def test_w11_a_session_that_may_not_write_may_not_run_commands(tmp_path: Path) -> None:
    script = 'def turn(ask):\n    ask("terminal/create", command="touch ran")\n' + TURN
    async with scripted(tmp_path, script, files=FileAccess((tmp_path,)), terminals=True) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        agent.forbid_writes(session_id)
        await agent.prompt(session_id, HELLO)
    answer = answer_to(tmp_path, "t1")
    assert answer is not None and answer["error"]["message"] == "this session may not run commands"
    assert not (tmp_path / "ran").exists()

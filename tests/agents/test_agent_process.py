"""An agent's process: how it starts, how its end is noticed, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from catena_acp.agents import running_agent
from catena_acp.agents.agent import end_group, process_start_time, start_agent
from catena_acp.agents.process import AgentProcess
from catena_acp.agents.running_agent import Agent
from catena_acp.errors import AgentGone, AgentMissing, AgentRefused, AgentSilent, LoginNeeded, ProtocolBroken
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.port.session_events import Event, PermissionRequested, PermissionWithdrawn, TextBlock
from catena_acp.process_group import Guard, Guards, group_exists
from support.clients.protocol import AGENT, HELLO, heard, place, runs, scripted, spec, text_of, until
from support.counted_work import waits_counted


async def started(tmp_path: Path, script: str = "") -> Agent:
    return await start_agent(spec(tmp_path, script), cwd=str(tmp_path), client_version="0")


async def ending_of(tmp_path: Path, script: str) -> tuple[AgentGone, list[Event]]:
    """How an agent ends in the middle of a prompt, and what was told before; it is noticed without much waiting."""
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        deaths: list[str] = []
        agent.on_exit(lambda: deaths.append("noticed"))
        with waits_counted() as waits, pytest.raises(AgentGone) as caught:
            await agent.prompt(session_id, HELLO)
        assert sum(waits) < 2, "the rest is up to the machine"
        await until(lambda: deaths)
        assert deaths == ["noticed"]
        assert not agent.alive
        with pytest.raises(AgentGone):
            await agent.prompt(session_id, HELLO)
        with pytest.raises(AgentGone):
            await agent.delete_session(session_id)
    return caught.value, events


# Starting.


async def test_an_agent_fits_the_port(tmp_path: Path) -> None:
    async with scripted(tmp_path) as agent:
        port: AgentPort = agent
        assert port.alive
        assert port.abilities.name == "scripted"
        assert port.group == (agent.pid, process_start_time(agent.pid))


async def test_the_handshake_says_who_we_are_and_only_what_we_can(tmp_path: Path) -> None:
    async with scripted(tmp_path):
        (said,) = heard(tmp_path, "initialize")
    assert said["params"]["protocolVersion"] == 1
    assert said["params"]["clientInfo"] == {"name": "catena", "title": "Catena", "version": "0"}
    capabilities = said["params"]["clientCapabilities"]
    assert capabilities.pop("fs", {}) == {}  # some versions of the SDK send what is empty
    assert capabilities == {
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "auth": {"terminal": True},
        "elicitation": {"form": {}, "url": {}},
        "_meta": {"terminal-auth": True, "subagent-transcript": True},
    }


async def test_an_agent_leads_a_group_of_its_own_without_our_terminal(tmp_path: Path) -> None:
    async with scripted(tmp_path) as agent:
        assert os.getpgid(agent.pid) == agent.pid
        assert os.getsid(agent.pid) == agent.pid


async def test_an_agent_inherits_the_environment_but_what_would_confuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    def session_new(agent, request):
        import os
        agent.send(agent.error(request, 1, "env", dict(os.environ)))
    """
    monkeypatch.setenv("SOME_API_KEY", "k")
    monkeypatch.setenv("HTTPS_PROXY", "p")
    monkeypatch.setenv("TEXTUAL_DEBUG", "1")
    monkeypatch.setenv("COLUMNS", "80")
    async with scripted(tmp_path, script, env={"HTTPS_PROXY": "other"}) as agent:
        with pytest.raises(AgentRefused) as caught:
            await agent.new_session(place(tmp_path))
    environment = caught.value.data
    assert environment["SOME_API_KEY"] == "k"
    assert environment["HTTPS_PROXY"] == "other"
    assert environment["PATH"] == os.environ["PATH"]
    assert not {"TEXTUAL_DEBUG", "COLUMNS"} & environment.keys()


@pytest.mark.parametrize("command", [("no-such-agent-anywhere",), ("/etc/hostname",), ("/",)])
async def test_a_command_that_cannot_be_run_is_missing(tmp_path: Path, command: tuple[str, ...]) -> None:
    with pytest.raises(AgentMissing):
        await start_agent(AgentSpec("x", "X", command), cwd=str(tmp_path), client_version="0")


@pytest.mark.parametrize(
    ("command", "env"),
    [((sys.executable,), ("A=B", "x")), ((sys.executable,), ("A", "\0")), (("a\0b",), None)],
)
async def test_a_command_or_environment_that_no_system_takes_is_missing(
    tmp_path: Path, command: tuple[str, ...], env: tuple[str, str] | None
) -> None:
    with pytest.raises(AgentMissing, match=r"null byte|environment variable name"):
        await start_agent(
            AgentSpec("x", "X", command, (env,) if env else ()), cwd=str(tmp_path), client_version="0"
        )


async def test_a_directory_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(AgentMissing, match="directory"):
        await start_agent(spec(tmp_path), cwd=str(tmp_path / "gone"), client_version="0")


async def test_an_agent_that_ends_before_the_handshake_leaves_its_words(tmp_path: Path) -> None:
    script = """
    def initialize(agent, request):
        print("no model configured", file=sys.stderr)
        sys.exit(3)
    """
    with pytest.raises(AgentGone) as caught:
        await started(tmp_path, script)
    assert caught.value.returncode == 3
    assert caught.value.stderr_tail == ("no model configured",)


def _agents_of(tmp_path: Path) -> list[int]:
    """The agents that run and keep what they hear there."""
    heard_there = f"HEARD={tmp_path / 'heard'}".encode()
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and heard_there in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return [pid for pid in found if runs(pid)]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
async def test_an_agent_that_does_not_answer_the_handshake_is_silent_and_ended(tmp_path: Path) -> None:
    script = "def initialize(agent, request): pass"
    with pytest.raises(AgentSilent):
        await start_agent(spec(tmp_path, script), cwd=str(tmp_path), client_version="0", init_timeout=0.3)
    assert _agents_of(tmp_path) == []


async def test_a_start_that_is_given_up_leaves_nothing_running(tmp_path: Path) -> None:
    script = """
    def initialize(agent, request):
        open("pid", "w").write(str(os.getpid()))
    """
    starting = asyncio.create_task(started(tmp_path, script))
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not runs(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts what is open through /proc")
async def test_a_start_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(AgentMissing) as caught:
        await AgentProcess.start(("catena-no-such",), cwd=str(tmp_path), env=dict(os.environ), log=print)
    assert caught.tb is not None  # which holds whatever was left open
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


async def test_an_agent_of_another_protocol_version_is_refused(tmp_path: Path) -> None:
    script = """
    def initialize(agent, request):
        agent.send(agent.result(request, {"protocolVersion": 2}))
    """
    with pytest.raises(ProtocolBroken, match="version 2"):
        await started(tmp_path, script)


async def test_an_answer_that_is_no_handshake_is_a_broken_protocol(tmp_path: Path) -> None:
    with pytest.raises(ProtocolBroken):
        await started(tmp_path, 'def initialize(agent, request): agent.send(agent.result(request, "hi"))')


async def test_r06_a_handshake_that_wants_a_login_says_so(tmp_path: Path) -> None:
    script = """
    def initialize(agent, request):
        agent.send(agent.error(request, -32000, "Authentication required"))
    """
    with pytest.raises(LoginNeeded):
        await started(tmp_path, script)


# Ending.


async def test_r04_an_agent_killed_in_the_middle_of_a_prompt_is_noticed_with_what_it_said(
    tmp_path: Path,
) -> None:
    script = """
    def session_prompt(agent, request):
        print("out of memory", file=sys.stderr, flush=True)
        agent.send(agent.text("s1", "partial"))
        os.kill(os.getpid(), 9)
    """
    gone, events = await ending_of(tmp_path, script)
    assert gone.returncode == -signal.SIGKILL
    assert gone.stderr_tail == ("out of memory",)
    assert text_of(events) == "partial"


async def test_r05_an_agent_that_exits_with_0_in_the_middle_of_a_prompt_is_noticed(tmp_path: Path) -> None:
    gone, _ = await ending_of(tmp_path, "def session_prompt(agent, request): sys.exit(0)")
    assert gone.returncode == 0


async def test_r05_a_grandchild_that_keeps_the_output_hides_no_death_and_is_ended(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        import subprocess
        child = subprocess.Popen(["sleep", "600"])
        open("child", "w").write(str(child.pid))
        agent.send(agent.text("s1", "partial"))
        os._exit(4)
    """
    gone, events = await ending_of(tmp_path, script)
    assert (gone.returncode, text_of(events)) == (4, "partial")
    await until(lambda: not runs(int((tmp_path / "child").read_text())))


async def test_an_agent_that_closes_its_output_but_lives_on_is_gone_to_us_and_ended(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        import time
        os.close(1)
        time.sleep(600)
    """
    gone, _ = await ending_of(tmp_path, script)
    assert gone.returncode is None


async def test_an_agent_that_closes_its_input_is_gone_at_once_and_not_waited_for(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        import time
        os.close(0)
        time.sleep(600)
    """
    gone, events = await ending_of(tmp_path, script)
    assert (gone.returncode, events) == (None, [])


async def test_r04_a_permission_that_is_open_when_the_agent_dies_is_withdrawn(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.ask(1, "session/request_permission", sessionId="s1", toolCall={"toolCallId": "t"}, options=[])
        agent.read()
        os.kill(os.getpid(), 9)
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: events)
        await agent.cancel("another session")
        with pytest.raises(AgentGone):
            await turn
        assert [type(event) for event in events] == [PermissionRequested, PermissionWithdrawn]


async def test_a_death_is_told_to_those_who_ask_later_and_to_nobody_who_left(tmp_path: Path) -> None:
    told: list[str] = []
    async with scripted(tmp_path) as agent:
        agent.on_exit(lambda: told.append("left"))()
        agent.on_exit(lambda: told.append("stayed"))
    agent.on_exit(lambda: told.append("late"))
    assert told == ["stayed", "late"]


async def test_a_megabyte_of_standard_error_blocks_nothing_and_its_end_is_kept(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        for n in range(2000):
            print(n, "x" * 600, file=sys.stderr)
        sys.stderr.write("no end of line")
        sys.stderr.flush()
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        assert (await agent.prompt(session_id, HELLO)).stop_reason == "end_turn"
        await until(lambda: agent.stderr_tail and agent.stderr_tail[-1] == "no end of line")
        tail = agent.stderr_tail
    assert len(tail) == 200
    assert tail[-2].startswith("1999 x")
    assert max(map(len, tail)) == 500


# Stopping.


async def test_stopping_closes_the_open_sessions_first_and_then_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_agent, "_CLOSING_SESSIONS", 60)  # however slow the machine is
    monkeypatch.setattr(running_agent, "GRACE", 60)
    async with scripted(tmp_path) as agent:
        for _ in range(2):
            await agent.new_session(place(tmp_path))
    with pytest.raises(AgentGone) as gone:
        await agent.new_session(place(tmp_path))
    assert gone.value.returncode == 0, "it exited"
    assert sorted(call["params"]["sessionId"] for call in heard(tmp_path, "session/close")) == ["s1", "s2"]
    assert not group_exists(agent.pid)


async def test_r13_stopping_ends_an_agent_that_heeds_nothing_and_what_it_started(tmp_path: Path) -> None:
    script = """
    import signal, subprocess, time

    def session_new(agent, request):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
        open("child", "w").write(str(child.pid))
        agent.send(agent.result(request, {"sessionId": "s1"}))
        while True:
            time.sleep(600)
    """
    async with scripted(tmp_path, script) as agent:
        await agent.new_session(place(tmp_path))
        child = int((tmp_path / "child").read_text())
        await asyncio.gather(agent.stop(), agent.stop())
    assert not runs(agent.pid)
    await until(lambda: not runs(child))


async def test_stopping_in_the_middle_of_a_prompt_ends_the_prompt(tmp_path: Path) -> None:
    async with scripted(tmp_path, "def session_prompt(agent, request): pass") as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: heard(tmp_path, "session/prompt"))
        await agent.stop()
        with pytest.raises(AgentGone):
            await turn


async def test_stopping_does_not_wait_for_an_agent_that_does_not_read(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        import time
        time.sleep(600)
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        turns = [asyncio.create_task(agent.prompt(session_id, (TextBlock("x" * 5_000_000),))) for _ in "ab"]
        await until(lambda: heard(tmp_path, "session/prompt"))
        await agent.cancel(session_id)
        await agent.stop()
        for turn in turns:
            with pytest.raises(AgentGone):
                await turn


# The guard, and what someone else left behind.

CLIENT = """
import asyncio, sys
from catena_acp.agents.agent import start_agent
from catena_acp.port.port import AgentSpec, SessionSetup

async def main():
    agent = await start_agent(AgentSpec("a", "A", tuple(sys.argv[1:])), cwd=".", client_version="0")
    print(agent.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_r13_an_agent_and_its_children_end_when_we_are_killed(tmp_path: Path) -> None:
    script = """
    import signal, subprocess
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def initialize(agent, request):
        child = subprocess.Popen(["sleep", "600"])
        open("child", "w").write(str(child.pid))
        agent.send(agent.result(request, {"protocolVersion": 1}))
        while sys.stdin.buffer.readline():
            pass
        import time
        time.sleep(600)
    """
    env = {**os.environ, "SCRIPT": textwrap.dedent(script), "HEARD": str(tmp_path / "heard")}
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *AGENT], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    agent_pid = int(client.stdout.readline())
    child = int((tmp_path / "child").read_text())
    client.kill()
    client.wait()
    client.stdout.close()
    deadline = time.monotonic() + 60
    while runs(agent_pid) or runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def test_a_guard_that_is_released_ends_nothing_and_is_gone() -> None:
    sleeper = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    guard = Guard(sleeper.pid)
    watching = guard.pid
    assert watching is not None and runs(watching)
    await guard.release()
    await guard.release()
    assert not runs(watching)
    assert runs(sleeper.pid)
    sleeper.kill()
    await sleeper.wait()


WATCHING = """
    import os, signal, subprocess, time
    from catena_acp.process_group import Guards

    alone = {{"start_new_session": True, "stdout": subprocess.DEVNULL}}
    groups = [subprocess.Popen(["sleep", "600"], **alone).pid for _ in range(3)]
    guards = Guards()
    released = guards.watch(groups[0])
    guards.watch(groups[1])
    first = guards.pid
    {act}
    guards.watch(groups[2])
    guards.release(released)
    print(*groups, first, guards.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("killed", [False, True], ids=["one guard", "one in the place of a killed one"])
async def test_r13_one_guard_ends_all_groups_of_a_client_that_died_but_for_released_ones(
    killed: bool,
) -> None:
    act = (
        "os.kill(first, signal.SIGKILL); os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)"
        if killed
        else ""
    )
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", textwrap.dedent(WATCHING).format(act=act)), stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    released, one, other, first, guard = (int(pid) for pid in (await client.stdout.readline()).split())
    assert (first == guard) is not killed
    client.kill()
    await client.wait()
    await until(lambda: not (runs(one) or runs(other) or runs(guard)))
    assert runs(released)
    os.kill(released, signal.SIGKILL)


async def test_r13_agents_of_one_client_share_their_guard(tmp_path: Path) -> None:
    async with contextlib.aclosing(Guards()) as guards:
        first, second = [
            await start_agent(spec(tmp_path), cwd=str(tmp_path), client_version="0", guards=guards)
            for _ in range(2)
        ]
        guard = guards.pid
        assert guard is not None and runs(guard)
        await first.stop()
        assert guards.pid == guard and runs(guard)
        await second.stop()
    assert not runs(guard)


async def test_no_guard_outlives_an_agent_that_was_stopped(tmp_path: Path) -> None:
    def guards() -> set[str]:
        listed = subprocess.run(
            ["ps", "-ewwo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        lines = (line.split(None, 2) for line in listed.stdout.splitlines())
        return {pid for pid, parent, args in lines if parent == str(os.getpid()) and "catena-guard" in args}

    before = guards()
    async with scripted(tmp_path):
        assert len(guards() - before) == 1
    assert guards() == before


async def test_a_group_is_ended_only_where_its_leader_is_the_one_that_was_meant(tmp_path: Path) -> None:
    sleeper = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    began = process_start_time(sleeper.pid)
    assert began is not None
    assert await end_group(sleeper.pid, "another time")
    assert runs(sleeper.pid)
    assert await end_group(sleeper.pid, began)
    assert await sleeper.wait() == -signal.SIGTERM
    assert await end_group(sleeper.pid, began)
    assert process_start_time(sleeper.pid) is None


@pytest.mark.parametrize("number", [-(1 << 70), -1, 0, 1, 1 << 31, 1 << 70])
async def test_a_number_that_no_agents_group_can_have_is_left_alone_and_proves_nothing(number: int) -> None:
    # Never with the start time of such a process: should this ever fail, it must end nothing.
    assert not await end_group(number, "another time")


async def test_a_group_without_its_leader_is_left_alone_and_nothing_is_claimed(tmp_path: Path) -> None:
    leader = await asyncio.create_subprocess_exec(
        "sh", "-c", "sleep 600 & echo $!", start_new_session=True, stdout=asyncio.subprocess.PIPE
    )
    assert leader.stdout is not None
    orphan = int(await leader.stdout.readline())
    began = process_start_time(leader.pid) or "unknown"
    await until(lambda: process_start_time(leader.pid) is None)
    assert not await end_group(leader.pid, began)
    assert runs(orphan)
    os.kill(orphan, signal.SIGKILL)
    await leader.wait()
    await until(lambda: not group_exists(leader.pid))

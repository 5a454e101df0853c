"""Commands that run in terminals for an agent: real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from catena_acp.errors import TerminalRefused
from catena_acp.port.session_events import TerminalChanged
from catena_acp.terminals import terminal as terminal_module
from catena_acp.terminals.terminal import TerminalCommand, TerminalExit, text_of
from catena_acp.terminals.terminals import MAX_OPEN, MAX_RUNNING, Terminals
from support.clients.command_line import wait_until
from support.clients.protocol import runs, until


class Desk:
    """The terminals of one agent, and what was delivered of them."""

    def __init__(self, directory: Path) -> None:
        self.delivered: list[tuple[str, TerminalChanged]] = []
        self.directory = directory
        self.all = Terminals(
            lambda session, event: self.delivered.append((session, event)),
            {**os.environ, "FROM_PERSON": "yes", "PAGER": "less"},
            str,
            lambda _line: None,
        )

    async def create(
        self,
        command: str,
        *args: str,
        session: str = "s",
        limit: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        asked = TerminalCommand(command, args, tuple((env or {}).items()), self.directory)
        return await self.all.create(session, asked, limit)

    async def output(self, command: str, *args: str, env: Mapping[str, str] | None = None) -> str:
        """All that a command prints."""
        terminal_id = await self.create(command, *args, env=env)
        await self.all.wait("s", terminal_id)
        return self.text(terminal_id)

    def text(self, terminal_id: str) -> str:
        return text_of(*self.all.find("s", terminal_id).output.newest())

    async def says(self, terminal_id: str, words: str) -> str:
        """Wait until a terminal's output has these words."""
        await until(lambda: words in self.text(terminal_id))
        return self.text(terminal_id)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.all.close()
    await desk.all.ended()


async def test_w11_a_command_runs_in_a_real_terminal_of_its_own(desk: Desk) -> None:
    said = await desk.output(
        "tty; stty size; echo $TERM $FROM_PERSON $MINE $PAGER; pwd; cat; echo eof", env={"MINE": "x"}
    )
    device, size, variables, directory, *rest = said.splitlines()
    assert device.startswith("/dev/") and size == "40 120"
    assert variables == "xterm-256color yes x cat"
    assert Path(directory) == desk.directory.resolve()
    assert rest == ["eof"]  # nobody types: what reads is at its end


async def test_w11_a_command_with_arguments_is_a_program_and_one_without_may_be_a_line_for_a_shell(
    desk: Desk,
) -> None:
    assert await desk.output("printf", "%s|", "a b", "$HOME") == "a b|$HOME|"
    assert await desk.output("echo a | tr a b && echo c") == "b\nc\n"
    (desk.directory / "my tool").write_text("#!/bin/sh\necho mine\n")
    (desk.directory / "my tool").chmod(0o755)
    assert await desk.output("./my tool") == "mine\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 3", TerminalExit(exit_code=3)),
        ("kill -KILL $$", TerminalExit(signal="SIGKILL")),
        ("true", TerminalExit(exit_code=0)),
    ],
)
async def test_w11_the_end_is_told_with_its_code_or_signal(
    desk: Desk, command: str, status: TerminalExit
) -> None:
    terminal_id = await desk.create(command)
    assert await desk.all.wait("s", terminal_id) == status
    session, last = desk.delivered[-1]
    assert session == "s" and last.over
    assert (last.terminal_id, last.exit_code, last.signal) == (terminal_id, status.exit_code, status.signal)


async def test_w11_output_is_shown_while_the_command_runs_and_all_of_it_at_the_end(desk: Desk) -> None:
    terminal_id = await desk.create(
        "printf '\\033[32mfirst\\033[0m\\n'; while [ ! -e go ]; do sleep 0.01; done; seq 2000"
    )
    await until(lambda: desk.delivered)
    assert desk.delivered[0][1] == TerminalChanged(terminal_id, "\x1b[32mfirst\x1b[0m")
    (desk.directory / "go").touch()
    await desk.all.wait("s", terminal_id)
    assert desk.delivered[-1][1].output.split("\n")[1:] == [str(number) for number in range(1, 2001)]


async def test_w11_the_end_of_an_output_is_kept_also_where_nobody_had_time_to_read_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def left_nothing(_leader: int) -> bool:
        return True

    monkeypatch.setattr(terminal_module, "_READ", 128)
    monkeypatch.setattr(terminal_module, "_DRAIN", 0)
    monkeypatch.setattr(terminal_module, "end_session", left_nothing)
    terminal_id = await desk.create("seq 1000; touch over")
    wait_until((desk.directory / "over").exists)  # and the loop stands still meanwhile
    await desk.all.wait("s", terminal_id)
    assert desk.delivered[-1][1].output.endswith("\n1000")


async def test_w11_a_flood_is_looked_at_a_few_times_and_not_kept(desk: Desk) -> None:
    terminal_id = await desk.create("yes | head -c 5000000", limit=1_000)
    await desk.all.wait("s", terminal_id)
    assert desk.text(terminal_id) == "y\n" * 500
    assert len(desk.delivered) < 500  # of twelve hundred reads at least
    assert max(len(event.output) for _, event in desk.delivered) <= 64 * 1024


async def test_w11_kill_ends_all_that_a_command_started_and_leaves_its_output(desk: Desk) -> None:
    terminal_id = await desk.create("sleep 300 & echo $!; timeout 300 sh -c 'echo $$; sleep 300'; sleep 300")
    said = await desk.says(terminal_id, "\n")
    await until(lambda: len(desk.text(terminal_id).split()) == 2)
    pids = [int(pid) for pid in desk.text(terminal_id).split()]
    await desk.all.kill("s", terminal_id)
    said = desk.text(terminal_id)  # on a slow machine the shell has the time to say "Terminated", too
    assert not any(runs(pid) for pid in pids)
    assert await desk.all.wait("s", terminal_id) == TerminalExit(signal="SIGTERM")
    await desk.all.kill("s", terminal_id)  # once more is no error
    assert desk.text(terminal_id) == said


async def test_w11_what_a_command_leaves_behind_ends_with_it(desk: Desk) -> None:
    pid = int(await desk.output("trap '' HUP; sleep 300 & echo $!"))
    assert not runs(pid)


async def test_w11_a_command_that_ignores_everything_is_ended(desk: Desk) -> None:
    terminal_id = await desk.create("trap '' TERM HUP INT; echo $$; while :; do sleep 0.05; done")
    pid = int(await desk.says(terminal_id, "\n"))
    await desk.all.release("s", terminal_id)
    assert not runs(pid)


async def test_w11_a_released_terminal_is_known_no_more(desk: Desk) -> None:
    terminal_id = await desk.create("true")
    waiting = asyncio.ensure_future(desk.all.wait("s", terminal_id))
    await asyncio.sleep(0)
    await desk.all.release("s", terminal_id)
    await waiting
    for again in (desk.all.release, desk.all.kill, desk.all.wait):
        with pytest.raises(TerminalRefused, match="no terminal"):
            await again("s", terminal_id)


async def test_w11_a_terminal_belongs_to_its_session(desk: Desk) -> None:
    mine = await desk.create("sleep 300", session="s")
    with pytest.raises(TerminalRefused, match="no terminal"):
        await desk.all.release("other", mine)
    other = await desk.create("echo $$; sleep 300", session="other")
    desk.all.forget("s")
    await desk.all.ended()
    with pytest.raises(TerminalRefused):
        desk.all.find("s", mine)
    assert desk.all.find("other", other).status is None


@pytest.mark.parametrize(
    ("command", "args", "env", "why"),
    [
        ("  ", (), {}, "no command"),
        ("a\0b", (), {}, "NUL"),
        ("echo", ("a\0",), {}, "NUL"),
        ("echo", (), {"": "x"}, "variable"),
        ("echo", (), {"A=B": "x"}, "variable"),
        ("echo", (), {"A": "\0"}, "variable"),
        ("no-such-program", ("-v",), {}, "not found"),
        ("echo", ("x" * 3_000_000,), {}, "too long"),
    ],
)
async def test_w11_what_cannot_be_run_is_refused_in_words(
    desk: Desk, command: str, args: tuple[str, ...], env: dict[str, str], why: str
) -> None:
    with pytest.raises(TerminalRefused, match=why):
        await desk.create(command, *args, env=env)
    assert desk.delivered == []


async def test_w11_the_number_of_commands_and_terminals_is_limited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catena_acp.terminals.terminals.MAX_RUNNING", 3)
    monkeypatch.setattr("catena_acp.terminals.terminals.MAX_OPEN", 4)
    made = await asyncio.gather(*(desk.create("sleep 300") for _ in range(1_000)), return_exceptions=True)
    running = [each for each in made if isinstance(each, str)]
    assert len(running) == 3
    assert {str(each) for each in made if not isinstance(each, str)} == {
        "3 commands run already; wait for one, or kill it"
    }
    await desk.all.kill("s", running[0])
    await desk.all.wait("s", await desk.create("true"))
    with pytest.raises(TerminalRefused, match="4 terminals; release some"):
        await desk.create("true")
    assert MAX_RUNNING < MAX_OPEN


async def test_w11_no_command_starts_once_the_agent_is_gone(desk: Desk) -> None:
    terminal_id = await desk.create("sleep 300")
    desk.all.close()
    with pytest.raises(TerminalRefused):
        await desk.create("true")
    await desk.all.ended()
    with pytest.raises(TerminalRefused):
        desk.all.find("s", terminal_id)


KILLED = """
    import asyncio, os, pathlib, sys
    from catena_acp.terminals.terminal import TerminalCommand
    from catena_acp.terminals.terminals import Terminals

    async def main():
        told = asyncio.Event()
        terminals = Terminals(lambda s, e: told.set(), os.environ, str, print)
        line = "echo $$ > leader; timeout 300 sh -c 'echo $$ > grouped; echo ready; sleep 300'; echo"
        await terminals.create("s", TerminalCommand(line, (), (), pathlib.Path.cwd()), None)
        await told.wait()
        print("ready", flush=True)
        await asyncio.sleep(300)

    asyncio.run(main())
"""


def test_w11_no_command_outlives_a_client_that_is_killed(tmp_path: Path) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED)], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    with client, client.stdout as told:
        assert told.readline() == "ready\n"
        pids = [int((tmp_path / name).read_text()) for name in ("leader", "grouped")]
        assert all(map(runs, pids))
        client.send_signal(signal.SIGKILL)
        client.wait()
    asyncio.run(until(_none_runs(pids)))


def _none_runs(pids: list[int]) -> Callable[[], bool]:
    return lambda: not any(map(runs, pids))

"""A client that Ctrl+Z stops keeps nobody from writing, whatever its surface; a turn outlasts one that does."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from catena.errors import ExitStatus
from catena.workspace.outgoing import OutgoingTexts, unsaved_answer_lines
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.conversation_events import MessageAdded, TurnEnded
from catena_acp.conversation.conversations.conversations import Conversations
from catena_store.database.database import Database
from catena_store.errors import StoreBusy
from catena_store.ids import new_id
from catena_store.records import Kind, StopReason
from support.clients.command_line import Catena, wait_until
from support.clients.on_terminal import on_terminal
from support.clients.protocol import until
from support.conversations.rehearsed import World
from support.conversations.room import room
from support.screen.terminal import KEYS, Place, Terminal
from support.storage.lock_holder import can_write, stopped_writer

# The client, which stays within the transaction that stores a prompt until it may go on.
_PROGRAM = """
import asyncio, pathlib, sys
from catena_store.windows import inputs

here, go = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
add = inputs.add

async def add_slowly(tx, *rest):
    here.touch()
    while not go.exists():
        await asyncio.sleep(0.01)
    await add(tx, *rest)

inputs.add = add_slowly
from catena.__main__ import main
sys.exit(main())
"""

# The client, which waits for half a second for a process that is writing.
_IMPATIENT = """
import functools, sys
from catena_store.database.database import Database

Database.open = functools.partial(Database.open, busy_seconds=0.5)
from catena.__main__ import main
sys.exit(main())
"""


# … and tells by a file when it has waited in vain.
_GIVING_UP = """
import functools, pathlib, sys
from catena_store.database.database import Database
from catena_store.errors import StoreBusy

wait = Database._wait_for_owner

def noted(self, busy, waited):
    try:
        wait(self, busy, waited)
    except StoreBusy:
        pathlib.Path({gave_up!r}).touch()
        raise

Database._wait_for_owner = noted
Database.open = functools.partial(Database.open, busy_seconds=0.2)
"""


@pytest.mark.parametrize("surface", [(), ("--linear",), ("run",)], ids=["screen", "lines", "run"])
def test_ctrl_z_waits_for_the_end_of_a_transaction(tmp_path: Path, surface: tuple[str, ...]) -> None:
    place, program = Place(tmp_path), tmp_path / "slow.py"
    here, go = tmp_path / "here", tmp_path / "go"
    program.write_text(_PROGRAM)
    command = [sys.executable, str(program), str(here), str(go), *surface, "--agent", "rehearsal"]
    environment = place.environment | {"PS1": "$ "}
    shell = Terminal(("sh", "-im"), environment=environment, cwd=place.project, columns=100, rows=30)
    try:
        shell.wait_for(r"\$")
        if surface == ("run",):
            shell.write(shlex.join([*command, "say over"]) + "\r")
        else:
            shell.write(shlex.join(command) + "\r")
            shell.wait_for("Understudy" if not surface else "You 1:")
            shell.write("say over" + KEYS["enter"])
        shell.wait_until(here.exists, "the client to be within the transaction")
        shell.write(KEYS["ctrl+z"])
        shell.pump(0.1)
        go.touch()
        shell.wait_for("Stopped")
        assert can_write(place.data / "catena.db")
        shell.write("fg\r")
        shell.wait_for(r"(?m)^ *(?:Rehearsal 2: )?over")
    finally:
        shell.close()


@pytest.mark.parametrize("arguments", [("--linear",), ("--screen-reader",)], ids=["edited", "plain"])
def test_u11_ctrl_z_gives_the_terminal_back_while_a_locked_database_is_opened(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    place = Place(tmp_path)
    store = place.data / "catena.db"

    async def create() -> None:
        async with Database.open(store):
            pass

    asyncio.run(create())
    program = tmp_path / "patient.py"
    program.write_text(_IMPATIENT.replace("0.5", "60"))
    environment = place.environment | {"PS1": "$ ", "TERM": "xterm"}
    shell = Terminal(("sh", "-im"), environment=environment, cwd=place.project, columns=100, rows=30)
    locking = sqlite3.connect(store, isolation_level=None)
    try:
        locking.execute("PRAGMA locking_mode = EXCLUSIVE")
        locking.execute("BEGIN EXCLUSIVE")
        locking.execute("CREATE TABLE held (id)")
        shell.wait_for(r"\$")
        shell.write(shlex.join([sys.executable, str(program), *arguments, "--agent", "rehearsal"]) + "\r")
        shell.wait_for("linear mode")
        if arguments == ("--linear",):
            shell.wait_until(lambda: b"\x1b[?2004h" in shell.output, "the line to be edited")
        shell.pump(1)
        shell.write(KEYS["ctrl+z"])
        shell.wait_for("Stopped")
        shell.write("echo raw=$(stty -a | grep -c -- -icanon)\r")
        shell.wait_for(r"raw=\d")
        assert "raw=0" in shell.text, shell.text
        locking.execute("ROLLBACK")
        locking.close()
        shell.write("fg\r")
        shell.wait_for("You 1:")
        shell.write("say over" + KEYS["enter"])
        shell.wait_for(r"(?m)^Rehearsal 2: over")
    finally:
        locking.close()
        shell.close()


async def test_a_turn_outlasts_a_process_that_is_stopped_within_a_transaction(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        told = asyncio.Event()
        desk.db.tell_by(lambda _: told.set())
        desk.db._busy_seconds = 0.2
        await desk.window.say("say one; cue go-on; tool; say two")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        async with stopped_writer(world.store):
            world.cue("go-on")
            await told.wait()
            async with asyncio.timeout(60):
                while not any(entry.get("event") == "turn ended" for entry in world.requests()):
                    with pytest.raises(StoreBusy):  # the writes of the turn are as much in vain
                        async with desk.db.write():
                            pass
            assert not any(isinstance(news, TurnEnded) for news in desk.told)
        over = await desk.until_told(TurnEnded)
        assert over.problem is None and over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
        said = [row.text for row in await desk.branch() if row.kind is Kind.AGENT]
        assert said == ["one", "two"]
    assert not world.requests("session/cancel")


async def test_an_answer_that_cannot_be_saved_before_the_client_ends_is_handed_to_its_surface(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with AsyncExitStack() as afterwards:
        async with world.client() as desk:
            desk.db._busy_seconds = 0.2
            await desk.window.say("say one; cue go-on; tool; say two")
            await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
            pid = await afterwards.enter_async_context(stopped_writer(world.store))
            world.cue("go-on")
            # All that the agent said is taken in, and the end of its turn is to be stored.
            await until(lambda: (turn := desk.window._prompts.delivery.running) is not None and turn.over)
        ((answer, why),) = desk.conversations.unsaved_answers
    assert answer == "two" and isinstance(why, StoreBusy) and why.pid == pid
    assert unsaved_answer_lines([(answer, why)])[1:] == ["two"]


async def test_tabs_come_back_when_a_process_goes_on_that_was_stopped_within_a_transaction(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with room(world) as before:
        tab = await before.tabs.open_new(before.agent)
        await tab.window.say("say one")
        await tab.window.wait_idle()
    async with (
        Database.open(world.store, busy_seconds=0.2) as db,
        Conversations.serve(db, specs={"rehearsal": world.spec()}, client_version="test") as served,
    ):
        tabs = OpenTabs(db, served, outgoing=OutgoingTexts(), directory=str(world.project), new_id=new_id)
        async with stopped_writer(world.store):
            coming = asyncio.create_task(tabs.restore(waits=True))
            await until(lambda: db._gave_up is not None)
            assert not coming.done()
        await coming
        assert len(tabs.tabs) == 1 and tabs.workspace_is_ours
        await tabs.leave()


async def impatient_script(catena: Catena, surface: str) -> asyncio.subprocess.Process:
    """Start a client that reads a script from a pipe, and gives up at once what others wait for some seconds."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _IMPATIENT, surface, "--agent", "rehearsal"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=catena.project,
        env=catena.environment,
    )


@pytest.mark.parametrize("surface", ["--linear", "run"])
async def test_a_script_fails_if_a_stopped_process_keeps_it_from_opening_its_conversation(
    tmp_path: Path, surface: str
) -> None:
    catena = Catena(tmp_path)
    async with Database.open(catena.store):
        pass
    async with stopped_writer(catena.store) as pid:
        client = await impatient_script(catena, surface)
        said = (await client.communicate(b"say one\nsay two\n"))[0].decode().splitlines()
    assert client.returncode == ExitStatus.USAGE
    why = f"{catena.store} is locked by process {pid}, which is stopped: `kill -CONT {pid}` resumes it"
    waiting, failed = said[-2:]
    assert re.sub("^(Note|catena): ", "", waiting) == f"Waiting while {why}."
    assert re.sub("^(Trouble|catena): ", "", failed) == why


async def test_a_script_ends_once_a_stopped_process_keeps_it_from_saving_what_is_said(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    client = await impatient_script(catena, "--linear")
    assert client.stdin is not None and client.stdout is not None
    client.stdin.write(b"say one\n/chain\n")
    while not (await client.stdout.readline()).startswith(b"Sessions: "):
        pass
    async with stopped_writer(catena.store) as pid:
        said = (await client.communicate(b"say two\nsay three\n"))[0].decode()
    assert client.returncode == ExitStatus.USAGE, said
    assert f"{catena.store} is locked by process {pid}, which is stopped" in said
    assert "Catena: Nothing can be saved, so the rest of the script is not run." in said
    assert "say two" in said and "three" not in said, "what was not sent is named"


@pytest.mark.parametrize("goes_on", [True, False], ids=["until it goes on", "until Ctrl+C"])
async def test_linear_mode_at_a_terminal_waits_for_a_stopped_process_as_it_starts(
    tmp_path: Path, goes_on: bool
) -> None:
    catena, gave_up = Catena(tmp_path), tmp_path / "gave up"
    async with Database.open(catena.store):
        pass
    impatient = _GIVING_UP.format(gave_up=str(gave_up)) + "pass"
    async with AsyncExitStack() as afterwards:
        pid = await afterwards.enter_async_context(stopped_writer(catena.store))
        client = on_terminal(catena, "--linear", "--agent", "rehearsal", first=impatient)
        terminal = afterwards.enter_context(client)
        terminal.wait_for(
            f"Note: Waiting while {catena.store} is locked by process {pid}, which is stopped: "
        )
        wait_until(gave_up.exists)
        assert terminal.process.poll() is None and "Trouble" not in terminal.seen
        if goes_on:
            os.kill(pid, signal.SIGCONT)
            terminal.wait_for("You 1: ")
            terminal.type("say one\n")
            terminal.wait_for("Rehearsal 2: one")
            terminal.wait_for("You 3: ")  # while the agent is at work, leaving is asked about
            terminal.type("\x04")
            assert terminal.status() == ExitStatus.ANSWERED
        else:
            terminal.type("\x03")
            assert terminal.status() == ExitStatus.STOPPED
            terminal.read(1.0)
            assert "You 1: " not in terminal.seen

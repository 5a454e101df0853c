"""Disks that are full, and disks that may not be written: nothing typed is lost, nothing is torn, and it is said."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from catena.screens.history.picker import HistoryScreen
from catena_store.database.database import Database
from catena_store.database.location import lock_refusal
from support.clients.command_line import EXECUTABLE, Catena, run
from support.places import ROOT
from support.screen.pilot import at_the_screen
from support.screen.terminal import Place, Terminal
from support.storage.files import as_somebody_else, public_directory
from support.storage.refused_locks import CAN_REFUSE

pytestmark = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="limits a running process as Linux can"
)

UNLIMITED = resource.RLIM_INFINITY
STREAM = "say begun; stream 4000 rate 150"
_ROOM_LEFT = 250_000  # bytes: enough to begin a turn, too little for its answer


@contextmanager
def full_disk(terminal: Terminal) -> Iterator[None]:
    """No file of the program can grow, as if a quota were used up; its agent's files can."""
    resource.prlimit(terminal.pid, resource.RLIMIT_FSIZE, (0, UNLIMITED))
    try:
        yield
    finally:
        if terminal.pid:
            resource.prlimit(terminal.pid, resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))


def is_sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as file:
        return bool(file.execute("PRAGMA integrity_check").fetchall() == [("ok",)])


def kept_texts(path: Path, kind: str) -> list[str]:
    with closing(sqlite3.connect(path)) as file:
        return [
            text for (text,) in file.execute("SELECT text FROM message WHERE kind = ? ORDER BY id", (kind,))
        ]


def test_s05_a_disk_that_fills_up_in_mid_turn_stops_the_agent_and_loses_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Rehearsal")
        terminal.say(STREAM)
        terminal.wait_for("  begun")
        with full_disk(terminal):
            terminal.wait_for_words("cannot grow")
            terminal.write("say typed on a full disk")
            terminal.wait_for("say typed on a full disk")
        # There is room again: what is in the composer goes out, and what was heard is kept.
        terminal.press("enter")
        terminal.wait_for(r"  typed on a full disk[\s\S]*ctrl\+o history")  # else it asks before it quits
        terminal.press("ctrl+d")
        assert terminal.ended() == 0
    assert is_sound(place.data / "catena.db")
    assert kept_texts(place.data / "catena.db", "user") == [STREAM, "say typed on a full disk"]
    answer = kept_texts(place.data / "catena.db", "agent")[0]
    assert answer.startswith("begun") and len(answer.split()) < 4000


def test_s05_a_draft_that_finds_no_room_stays_in_the_composer_and_is_printed_at_the_end(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Rehearsal")
        terminal.say("say hello there")
        terminal.wait_for(r"  hello there[\s\S]*ctrl\+o history")  # the turn is over, and all of it is kept
        with full_disk(terminal):
            terminal.write("a draft of much work")
            terminal.wait_for_words("cannot grow")
            terminal.wait_for("a draft of much work")
            terminal.signal(15)
            terminal.ended()
        said = terminal.output.decode("utf-8", "replace")
    assert re.search(
        r"A draft could not be saved: .*cannot grow.*The text:\s+a draft of much work", said, re.DOTALL
    )
    assert "Traceback" not in said
    assert is_sound(place.data / "catena.db")


def test_s05_a_disk_that_is_full_at_the_start_is_told_with_what_was_typed_meanwhile(tmp_path: Path) -> None:
    place = Place(tmp_path)
    terminal = Terminal(
        ("/bin/sh", "-c", f"ulimit -f 0; exec {EXECUTABLE} --agent rehearsal"),
        environment=place.environment,
        cwd=place.project,
        columns=100,
        rows=30,
    )
    try:
        terminal.write("typed very early")
        assert terminal.ended() == 2
        said = " ".join(terminal.output.decode("utf-8", "replace").split())
    finally:
        terminal.close()
    assert "cannot be opened: the disk or a quota is full" in said
    assert said.endswith("Unsaved text: typed very early")
    assert "Traceback" not in said


def test_c01_a_disk_that_is_full_is_told_by_a_headless_run_which_ends(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say kept").status == 0

    process = catena.start("run", "--agent", "rehearsal", "--continue", STREAM)
    assert process.stdout is not None
    assert process.stdout.read(5) == "begun"
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, UNLIMITED))
    _, err = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "cannot grow" in err and "Traceback" not in err
    assert is_sound(catena.store)
    assert run(catena, "--continue", "say again").out == "again\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, where we may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_s05_a_disk_that_is_really_full_keeps_what_there_was_room_for(
    tmp_path: Path, small_disk: Path
) -> None:
    catena = Catena(tmp_path)
    here = {"CATENA_DATA_DIR": str(small_disk)}
    assert run(catena, "say kept", **here).status == 0
    (small_disk / "ballast").write_bytes(b"\0" * (shutil.disk_usage(small_disk).free - _ROOM_LEFT))

    refused = run(catena, "--continue", "stream 60000 rate 1000000", **here)

    assert refused.status == 1
    assert "cannot grow" in refused.err and "the disk is full" in refused.err
    (small_disk / "ballast").unlink()
    assert is_sound(small_disk / "catena.db")
    assert "kept" in kept_texts(small_disk / "catena.db", "agent")
    assert run(catena, "--continue", "say again", **here).out == "again\n"


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """The store and its directory, as they are for somebody who may only read them."""
    (directory / "catena.db").chmod(0o444)
    directory.chmod(0o555)
    try:
        with as_somebody_else():
            yield
    finally:
        directory.chmod(0o755)


async def test_s05_a_read_only_store_can_be_read_on_the_screen_and_a_prompt_says_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with public_directory() as directory:
        data, project = directory / "data", directory / "shop"
        for each in (data, project):
            each.mkdir()
            each.chmod(0o755)
        monkeypatch.setenv("CATENA_DATA_DIR", str(data))
        async with at_the_screen(str(project)) as person:
            await person.say("say what was said before")
            await person.sees("what was said before")
            await person.idle()
            await person.type("an old draft")
        data.chmod(0o755)
        with read_only(data):
            async with at_the_screen(str(project), choose=True) as person:
                await person.sees("what was said before", "The database is read-only", "an old draft")
                await person.say("new words")
                await person.sees("cannot be written: the file or its directory is read-only")
                await person.until(lambda: person.draft == "new words", "the text to come back")
                await person.press("ctrl+o")
                await person.sees_dialog(HistoryScreen)
                await person.press("escape")
                await person.back()
        assert person.app.return_code in (0, None)
        assert person.app.unsent_lines[-1] == "new words"


def test_s05_a_read_only_disk_can_be_listed_and_shown_and_a_run_says_why_not(
    tmp_path: Path, small_disk: Path
) -> None:
    catena = Catena(tmp_path)
    here = {"CATENA_DATA_DIR": str(small_disk)}
    assert run(catena, "say what was said before", **here).status == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    listed = catena("list", **here)
    refused = run(catena, "--continue", "hello", **here)
    found = catena("doctor", **here)

    assert listed.status == 0 and "what was said before" in listed.out
    assert refused.status == 1
    (line,) = refused.err.splitlines()
    assert line.endswith("cannot be written: the file or its directory is read-only")
    assert "read-only" in found.out and "sound" in found.out


async def test_s05_a_store_on_a_read_only_disk_shows_what_another_process_left_in_its_log() -> None:
    with public_directory() as directory:
        path = directory / "catena.db"
        async with Database.open(path) as writing:
            async with writing.write() as tx:
                await tx.run("INSERT INTO input (text, cwd, created_at) VALUES ('still in the log', '/', 0)")
            for file in directory.iterdir():
                file.chmod(0o444)
            with read_only(directory):
                async with Database.open(path) as db, db.read() as r:
                    assert db.read_only
                    assert await r.one("SELECT text FROM input") == ("still in the log",)
            os.chmod(path, 0o600)  # noqa: PTH101 - the connection that writes goes on


@pytest.mark.skipif(not CAN_REFUSE, reason="the kernel takes no such filter")
@pytest.mark.parametrize("network", [False, True])
def test_s05_a_file_system_that_refuses_locks_is_said_to_and_nobody_else_is_accused(
    tmp_path: Path, network: bool
) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from catena_store.database import database
from support.storage.refused_locks import refuse_locks

async def opened():
    async with database.Database.open(Path(sys.argv[1]), busy_seconds=0.01):
        pass

asyncio.run(opened())
refuse_locks()
database.on_network = lambda directory: {network}
try:
    asyncio.run(opened())
except database.StoreUnlockable as error:
    print(error)
"""
    path = tmp_path / "catena.db"
    done = subprocess.run(
        [sys.executable, "-c", program, path], cwd=ROOT / "tests", capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        f"{path} cannot be used: its file system refuses locks (No locks available);"
        " set CATENA_DATA_DIR to a directory on a local disk\n"
    )
    assert {each.name for each in tmp_path.iterdir()} == {"catena.db"}
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert lock_refusal(tmp_path) is None  # a lock that somebody holds is not one that is refused

"""The client is killed: what was told is kept, nobody is left behind, the next client goes on."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from catena_acp.process_group import process_start_time
from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.records import Kind, StopReason
from catena_store.windows import attachments, queue, windows
from support.conversations.rehearsed import World
from support.places import CRASH_CLIENT, EDITING_CLIENT
from support.walks.length import walks

KILLS = walks(9)
UNWRITTEN_SECONDS = 0.25
# Two busy cores: a timer that is due is not yet a transaction that is done. Where so many drafts were written since,
# each in a transaction that was asked for later, it is.
DRAFTS_SINCE = 3


class Client:
    """The client that is to be killed."""

    def __init__(self, place: Path) -> None:
        self.store = place / "data" / "catena.db"
        self._place = place
        self._home = place / "rehearsal"
        self._known: tuple[str, ...] = ()
        self._lives = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> None:
        command = [
            sys.executable,
            *map(str, (CRASH_CLIENT, self.store, self._home, self._notes)),
            *self._known,
        ]
        self._process = subprocess.Popen(command, env={**os.environ, **environment})

    def kill(self) -> None:
        """Kill it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def notes(self) -> list[dict[str, Any]]:
        """What the present life has noted; a line that is just being written, or was when it was killed, is none."""
        *lines, _unfinished = self._notes.read_bytes().split(b"\n") if self._notes.exists() else [b""]
        return [json.loads(line) for line in lines]

    def turn_page(self) -> None:
        """The next life's notes begin here, on the same conversation."""
        opened = next(note for note in self.notes() if note["news"] == "open")
        self._known = (opened["conversation"], *opened["windows"])
        self._lives += 1

    @property
    def _notes(self) -> Path:
        return self._place / f"notes{self._lives}.jsonl"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.kill()


def wait_for(found: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.005)


@pytest.mark.timeout(1_800)
def test_r17_a_client_killed_at_random_points_loses_nothing_that_was_told(
    client: Client, tmp_path: Path
) -> None:
    chance = random.Random(17)
    drafted = 0
    with _following(client.store):
        for _ in range(KILLS):
            client.start()
            # Also while it still starts, recovers, and opens its sessions.
            pause = time.monotonic() + chance.uniform(0, 1.6)
            wait_for(lambda: any(note["news"] == "open" for note in client.notes()))
            wait_for(lambda: time.monotonic() >= pause)  # noqa: B023
            client.kill()
            drafted = max(
                (note["number"] for note in client.notes() if note["news"] == "draft"), default=drafted
            )
            asyncio.run(_nothing_is_lost(client, drafted))
            wait_for(lambda: not _agents_of(tmp_path / "rehearsal"))
            client.turn_page()


@contextmanager
def _following(store: Path) -> Iterator[None]:
    """Another process reads along all the time, and must not be disturbed by any of it."""
    asyncio.run(_made(store))
    command = [sys.executable, str(CRASH_CLIENT), str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as follower:
        yield
        assert follower.poll() is None
        assert follower.stdin is not None
        follower.stdin.close()
        assert follower.wait(60) == 0


async def _made(store: Path) -> None:
    async with Database.open(store):
        pass


async def _nothing_is_lost(client: Client, drafted: int) -> None:
    added = {note["id"]: note["text"] for note in client.notes() if note["news"] == "added"}
    sure = dict(added)
    drafts = [note["at"] for note in client.notes() if note["news"] == "draft"]
    sure_until = drafts[-DRAFTS_SINCE] - UNWRITTEN_SECONDS if len(drafts) >= DRAFTS_SINCE else -math.inf
    for note in client.notes():
        if note["news"] == "grew" and note["at"] < sure_until:
            sure[note["id"]] += note["text"]
    ended = [note["turn"] for note in client.notes() if note["news"] == "ended" and note["turn"]]
    said = [note["text"] for note in client.notes() if note["news"] == "said"]
    (opened,) = (note for note in client.notes() if note["news"] == "open")
    async with Database.open(client.store) as db, db.read() as reader:
        assert await reader.all("PRAGMA integrity_check") == [("ok",)]
        assert await reader.all("PRAGMA foreign_key_check") == []
        for message_id, text in sure.items():
            kept = await messages.get(reader, message_id)
            assert kept is not None and kept.text.startswith(text)
        for turn_id in ended:
            turn = await turns.get(reader, turn_id)
            assert turn is not None and turn.stop_reason is StopReason.END_TURN
        waiting = [item.text for tab in opened["windows"] for item in await queue.items(reader, tab)]
        prompts = {text for (text,) in await reader.all("SELECT text FROM message WHERE kind = 'user'")}
        assert set(said) <= prompts.union(waiting)
        window = await windows.get(reader, opened["windows"][1])
        # A prompt of the same window takes the draft along: what is kept is that draft or none, never an older one;
        # one that the life before had not sent yet stands before it.
        assert window is not None
        draft = window.draft.rpartition("\n")[2]
        assert not draft.isdecimal() or int(draft) >= drafted


async def test_r17_the_next_client_closes_the_cut_turn_and_goes_on(client: Client, tmp_path: Path) -> None:
    # Its turns do not end, so that it is killed in the middle of both.
    client.start(CRASH_PROMPT="think first; tool read a.txt; stream 600 rate 60; hang; say")
    wait_for(lambda: len({note["window"] for note in client.notes() if note["news"] == "grew"}) == 2)
    client.kill()
    opened = next(note for note in client.notes() if note["news"] == "open")
    (tmp_path / "next").mkdir()
    world = World(tmp_path / "next")
    world.store = client.store
    async with world.reopened(opened["conversation"], opened["windows"][0], tmp_path / "rehearsal") as desk:
        cut = next(turn for turn in reversed(await desk.turns()) if turn.window_id == desk.window_id)
        assert cut.stop_reason is StopReason.INTERRUPTED
        rows = await desk.branch()
        assert rows[-1].kind is Kind.NOTICE and rows[-1].turn_id == cut.id
        async with desk.db.read() as reader:
            window = await windows.get(reader, desk.window_id)
        assert window is not None and window.leaf_id == rows[-1].id
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN


async def test_e01_an_edit_that_waits_for_a_turn_to_stop_is_the_draft_after_a_kill(tmp_path: Path) -> None:
    (tmp_path / "next").mkdir()
    world = World(tmp_path / "next")
    command = [sys.executable, str(EDITING_CLIENT), str(world.store), str(tmp_path / "rehearsal")]
    killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    conversation_id, window_id = killed.stdout.split()
    async with world.reopened(conversation_id, window_id, tmp_path / "rehearsal") as desk:
        assert (await desk.stored_window()).draft == "say it better\na draft"
        async with desk.db.read() as reader:
            assert [file.name for file in await attachments.of_draft(reader, window_id)] == ["notes.txt"]
            assert await queue.items(reader, window_id) == []


def _agents_of(place: Path) -> list[int]:
    """The rehearsal processes that have this home in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                environment = (process / "environ").read_bytes()
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(place).encode() in environment and b"catena_acp.rehearsal" in command:
                found.append(int(process.name))
    return [pid for pid in found if process_start_time(pid) is not None]


def _ended_by(process: subprocess.Popen[bytes], signal_: signal.Signals) -> bool:
    if process.poll() is None:
        process.send_signal(signal_)
    return process.poll() is not None


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_r13_no_agent_outlives_a_client_that_is_ended(tmp_path: Path, how: signal.Signals) -> None:
    home = tmp_path / "rehearsal"
    environment = {
        **os.environ,
        "CATENA_DATA_DIR": str(tmp_path / "data"),
        "CATENA_CONFIG_DIR": str(tmp_path / "config"),
        "CATENA_REHEARSAL_HOME": str(home),
    }
    catena = Path(sys.executable).with_name("catena")
    process = subprocess.Popen(
        [catena, "run", "--agent", "rehearsal", "say half; hang hard"],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"half"
        assert _agents_of(home)
        process.send_signal(how)
        if how is signal.SIGINT:
            # The first one asks the agent to stop, which this one does not heed.
            wait_for(lambda: _ended_by(process, how), seconds=60)
        process.wait(timeout=60)
        process.stdout.close()
        wait_for(lambda: not _agents_of(home))
    finally:
        process.kill()

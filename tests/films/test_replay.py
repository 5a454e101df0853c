"""`catena replay`: a conversation as a film, in a real terminal and as an asciicast."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pyte
import pytest

from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import Kind, NewMessage
from support.clients.command_line import Catena
from support.clients.listed import CONVERSATION, two_sessions
from support.screen.terminal import Place

TOKEN = "ghp" + "_" + "aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5p"

HOSTILE = "\x1b]52;c;aGk=\x07\x9b2J\u202eevil\x1b[2J"
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    client = Catena(tmp_path)
    client.write(two_sessions)
    return client


async def a_secret(tx: Writer) -> None:
    await messages.insert(tx, NewMessage("leak", CONVERSATION, "a1", Kind.USER, f"use {TOKEN} now"))


async def a_hostile_title(tx: Writer) -> None:
    await conversations.set_title(tx, CONVERSATION, HOSTILE)
    await messages.insert(tx, NewMessage("hostile", CONVERSATION, "a1", Kind.USER, HOSTILE))


def shown(cast: str) -> tuple[dict[str, Any], list[list[Any]], str]:
    """The header of an asciicast, its events, and what stands on the screen at its end."""
    header, *events = map(json.loads, cast.splitlines())
    screen = pyte.Screen(header["term"]["cols"], header["term"]["rows"])
    stream = pyte.Stream(screen)
    for _, code, data in events:
        if code == "o":
            stream.feed(data)
    return header, events, "\n".join(screen.display)


def test_d02_a_conversation_becomes_an_asciicast_with_a_marker_for_each_prompt(catena: Catena) -> None:
    before = catena("show", CONVERSATION, "--json").out

    written = catena(
        "replay", CONVERSATION, "--cast", "film.cast", "--width", "72", "--height", "24", "--speed", "8"
    )
    path = catena.project / "film.cast"
    header, events, last = shown(path.read_text("utf-8"))

    assert (written.status, written.out, written.err) == (0, "", "")
    assert (header["version"], header["term"]["cols"], header["term"]["rows"]) == (3, 72, 24)
    assert all(interval >= 0 for interval, _, _ in events)
    prompts = [each for each in json.loads(before)["messages"] if each["kind"] == "user"]
    assert 0 < sum(code == "m" for _, code, _ in events) <= len(prompts)
    assert "Now add" in last
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert catena("show", CONVERSATION, "--json").out == before
    assert catena("replay", CONVERSATION, "--cast", "film.cast").status == 2  # never over a file unasked


def test_h22_an_asciicast_is_masked_and_lists_what_was(catena: Catena) -> None:
    catena.write(a_secret)

    masked = catena("replay", CONVERSATION, "--at", "leak", "--cast", "-", "--speed", "20")
    plain = catena("replay", CONVERSATION, "--at", "leak", "--cast", "-", "--speed", "20", "--no-mask")

    assert TOKEN[:12] not in masked.out and "masked: GitHub token 1" in shown(masked.out)[2]
    assert "GitHub token 1" in masked.err and TOKEN not in masked.err
    assert TOKEN in shown(plain.out)[2]


def test_w27_titles_and_chapters_of_an_asciicast_steer_no_terminal(catena: Catena) -> None:
    catena.write(a_hostile_title)

    film = catena("replay", CONVERSATION, "--at", "hostile", "--cast", "-", "--speed", "20").out
    header, events, _ = shown(film)
    chapters = [data for _, code, data in events if code == "m"]

    assert "evil" in header["title"] and "evil" in chapters[-1]
    assert not UNSAFE.search("".join((film.replace("\n", ""), header["title"], *chapters)))


def test_d02_a_replay_needs_a_terminal_or_a_file(catena: Catena) -> None:
    refused = catena("replay", CONVERSATION)
    wide = catena("replay", CONVERSATION, "--width", "80")
    slow = catena("replay", CONVERSATION, "--speed", "0")

    assert (refused.status, wide.status, slow.status) == (2, 2, 2)
    assert "--cast FILE" in refused.err and "needs --cast" in wide.err and "not a speed" in slow.err


def test_d02_a_replay_in_the_terminal_pauses_goes_to_prompts_and_leaves(
    catena: Catena, tmp_path: Path
) -> None:
    with Place(tmp_path).catena("replay", CONVERSATION) as terminal:
        terminal.wait_for("(playing|end) ·")
        terminal.write(" ")
        terminal.wait_for("paused ·")
        for _ in range(9):
            terminal.write("\x1b[C")
        terminal.wait_for("Now add")
        terminal.wait_for("space play")
        terminal.write("+")
        terminal.wait_for("×2")
        terminal.wait_for("q quit")
        terminal.write("q")
        assert terminal.ended() == 0


@pytest.mark.parametrize(
    ("columns", "keys"), [(40, "q quit"), (60, "speed · q quit"), (80, "prompt · + − speed · q quit")]
)
def test_s01_the_keys_of_a_replay_are_never_cut(
    catena: Catena, tmp_path: Path, columns: int, keys: str
) -> None:
    with Place(tmp_path).catena("replay", CONVERSATION, "--speed", "2", rows=12, columns=columns) as terminal:
        terminal.wait_for("(playing|end) ·")
        terminal.wait_for(re.escape(keys))
        terminal.write("q")
        assert terminal.ended() == 0

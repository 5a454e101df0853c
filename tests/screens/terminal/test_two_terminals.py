"""Two real Catenas in two real terminals on one store: one has the conversation, the other reads along."""

from __future__ import annotations

import asyncio
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from catena_acp.process_group import process_start_time
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.ids import utc_now
from catena_store.records import Owner
from support.screen.terminal import Place, Terminal
from support.storage.leases import seize_lease

REHEARSAL = ("--agent", "rehearsal")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()  # what is told of the first parked fork takes the place of the hints
    return place


def open_newest(terminal: Terminal) -> None:
    """Open the first conversation of the history, which begins with "say the beginning"."""
    terminal.wait_for("Another Catena is open here")
    terminal.press("ctrl+o")
    terminal.wait_for(r"say the beginning[\s\S]*enter open")
    terminal.press("enter")


def test_m06_a_second_catena_that_finds_no_agent_lets_one_be_chosen(place: Place) -> None:
    place.environment["PATH"] = str(place.home)
    with place.catena() as first:
        first.wait_for("Start with")
        with place.catena() as second:
            second.wait_for(r"Start with[\s\S]*Another Catena is open here")
            second.press("enter")
            second.wait_for("Rehearsal is ready in")


def test_r16_the_second_catena_reads_along_live_and_goes_on_when_the_first_is_killed(place: Place) -> None:
    with place.catena(*REHEARSAL) as first:
        first.say("say the beginning")
        first.wait_for("  the beginning")
        with place.catena(*REHEARSAL) as second:
            open_newest(second)
            second.wait_for("  the beginning")
            second.wait_for(rf"read-only: open in Catena \({first.pid}\)")
            second.wait_for("◇")  # its tab's mark; frames come apart on a slow machine
            first.say("stream 40 rate 40; hang")
            second.wait_for(r"▌ stream 40[\s\S]*  [A-Z]\w+ \w+")
            second.press("escape")
            second.wait_for("Only the Catena that this conversation is open in can stop it")
            second.say("say after all")
            second.wait_for(rf"open in Catena on \S+ \(pid {first.pid}, since \d\d:\d\d\)")
            second.wait_for(r"│ say after all")
            first.signal(signal.SIGKILL)
            second.wait_for("other Catena exited: type, or /history takeover, to go on")
            second.wait_for(r"│ say after all")
            second.press("enter")
            second.wait_for(r"Catena exited during this turn[\s\S]*  after all")
            assert process_start_time(second.pid) is not None
            second.wait_gone("other Catena exited")


def test_r16_takeover_takes_what_a_catena_left_and_the_first_one_reads_when_it_comes_back(
    place: Place,
) -> None:
    with place.catena(*REHEARSAL) as first:
        first.say("say the beginning")
        first.wait_for(r"  the beginning[\s\S]*ctrl\+o history")  # else it asks before it quits
        with place.catena(*REHEARSAL) as second:
            open_newest(second)
            second.wait_for("read-only: open in Catena")
            second.say("/takeover")
            second.wait_for(r"pid \d+, since \d\d:\d\d\)")
            second.press("ctrl+u")
            first.press("ctrl+d")
            assert first.ended() == 0
            second.wait_for("other Catena exited")
            second.wait_until_quiet(1.2)  # it looks again and again, and sends nothing
            second.say("/takeover")
            second.wait_for("Taken over.")
            second.wait_gone("other Catena exited")
            with place.catena() as again:
                again.wait_for(rf"read-only: open in Catena \({second.pid}\) on \S+")
                second.say("say from the second")
                again.wait_for("  from the second")


def test_r16_a_catena_that_lost_the_conversation_says_so_keeps_the_text_and_can_take_it_back(
    place: Place,
) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say mine")
        terminal.wait_for(r"  mine[\s\S]*ctrl\+o history")
        asyncio.run(taken_by(place, Owner("thief", "elsewhere", 7, "then"), silent_for=timedelta()))
        terminal.say("say still mine")
        terminal.wait_for(r"read-only: open in Catena \(7\) on elsewhere")
        terminal.wait_for(r"  mine[\s\S]*│ say still mine")
        asyncio.run(taken_by(place, Owner("thief", "elsewhere", 7, "then"), silent_for=timedelta(seconds=61)))
        terminal.wait_for("other Catena exited")
        terminal.press("enter")
        terminal.wait_for("  still mine")
        terminal.wait_for("  mine")


async def taken_by(place: Place, owner: Owner, *, silent_for: timedelta) -> None:
    """Another machine's client takes every conversation, and was heard of so long ago."""
    async with (
        Database.open(place.data / "catena.db", clock=lambda: utc_now() - silent_for) as db,
        db.write() as tx,
    ):
        for conversation in await conversations.page(tx):
            await seize_lease(tx, conversation.id, owner)

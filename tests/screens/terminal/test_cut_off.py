"""Catena killed in mid-turn: what is offered when its tabs come back, and that nothing is done before it is taken."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from catena_store.chains import turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.records import Kind, StopReason
from support.clients.command_line import Catena, newest, shown, until
from support.screen.terminal import EMPTY_BOX, Place, Terminal
from support.walks.length import walks


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()  # what is told of the first parked fork takes the place of the hints
    return place


async def prompts_and_ends(place: Place) -> dict[str, list[StopReason | None]]:
    """How each of the prompts ended, by its text."""
    ends: dict[str, list[StopReason | None]] = {}
    async with Database.open(place.data / "catena.db") as db, db.read() as reader:
        for summary in await conversations.page(reader):
            rows = {row.id: row for row in await messages.of_conversation(reader, summary.id)}
            for row in rows.values():
                if row.kind is Kind.USER:
                    ends.setdefault(row.text, [])
            for turn in await turns.of_conversation(reader, summary.id):
                ends[rows[turn.prompt_id].text].append(turn.stop_reason)
    return ends


def test_r17_what_a_killed_catena_left_is_offered_in_its_tab_and_nothing_is_sent_before_it_is_taken(
    place: Place,
) -> None:
    streaming, deploying = "stream 2000 rate 30 end=CURTAIN", "say half of it; begin execute deploy; hang"
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.say(streaming)
        terminal.wait_for(r"\n  [A-Z]\w+[\s\S]*esc stop")
        terminal.press("ctrl+t")
        terminal.wait_for(" 2 new")
        terminal.say(deploying)
        terminal.wait_for(r"  half of it[\s\S]*deploy[\s\S]*esc stop")
        terminal.press("ctrl+t")
        terminal.wait_for(" 3 new")
        terminal.say("say the third")
        terminal.wait_for(r"  the third[\s\S]*ctrl\+o history")
        terminal.press("ctrl+pageup")
        terminal.wait_for("  half of it")
        terminal.signal(signal.SIGKILL)
        terminal.ended()
    with place.catena() as terminal:
        terminal.wait_for(r"tab to choose[\s\S]*r +Retry[\s\S]*a +Continue with another agent")
        terminal.wait_for_words("`deploy` may or may not have finished: check before you retry.")
        terminal.press("ctrl+pagedown")
        terminal.wait_for("  the third")
        terminal.wait_gone("Retry")
        terminal.press("ctrl+pagedown")
        terminal.wait_for(r" 1 [\s\S]*r +Retry")
        terminal.say("say going on")
        terminal.wait_for(r"  going on[\s\S]*ctrl\+o history")
        terminal.wait_gone("Retry")
        terminal.press("ctrl+pagedown")
        terminal.wait_for(r"  half of it[\s\S]*r +Retry")
        left = asyncio.run(prompts_and_ends(place))
        terminal.press("tab")
        terminal.wait_for("esc back")
        terminal.press("r")
        terminal.wait_for(r"‹ 2/2 ›[\s\S]*  half of it[\s\S]*esc stop")
        terminal.wait_gone("may or may not have finished")
    assert left == {
        streaming: [StopReason.INTERRUPTED],
        deploying: [StopReason.INTERRUPTED],
        "say the third": [StopReason.END_TURN],
        "say going on": [StopReason.END_TURN],
    }


@pytest.mark.timeout(3_600)
def test_r17_the_whole_client_killed_at_random_points_keeps_what_it_has_shown(place: Place) -> None:
    chance = random.Random(17)
    prompts, answers = ["say first"], ["first"]
    for life in range(walks(3)):
        with place.catena("--agent", "rehearsal") as terminal:
            if life == 0:
                terminal.say(*prompts)
                terminal.wait_for(r"  first[\s\S]*ctrl\+o history")
            killed_at = time.monotonic() + chance.uniform(0.2, 3.0)
            for number in range(100):
                text = f"say life{life}x{number}"
                if not shows(terminal, rf"({EMPTY_BOX}|│ say)[\s\S]*Understudy", killed_at):
                    break
                terminal.write(f"{text}\r")
                if not shows(terminal, f"▌ {text}", killed_at):
                    break
                prompts.append(text)
                if not shows(terminal, f"  life{life}x{number}[\\s\\S]*ctrl\\+o history", killed_at):
                    break
                answers.append(f"life{life}x{number}")
            terminal.signal(signal.SIGKILL)
            terminal.ended()
        asyncio.run(nothing_is_lost(place, prompts, answers))
    with place.catena() as terminal:
        terminal.wait_for("Understudy")
        terminal.press("ctrl+o")
        terminal.wait_for("Type to filter")
        terminal.write("say first")
        terminal.wait_for(r"say first +(open +)?Rehearsal")


def shows(terminal: Terminal, pattern: str, until: float) -> bool:
    """True as soon as the pattern is on the screen; False where the time comes before."""
    while re.search(pattern, terminal.text) is None:
        if time.monotonic() > until:
            return False
        terminal.pump(0.02)
    return True


async def nothing_is_lost(place: Place, prompts: Sequence[str], answers: Sequence[str]) -> None:
    async with Database.open(place.data / "catena.db") as db, db.read() as reader:
        assert await reader.all("PRAGMA integrity_check") == [("ok",)]
        assert await reader.all("PRAGMA foreign_key_check") == []
        kept: dict[str, set[str]] = {}
        for kind, text in await reader.all("SELECT kind, text FROM message"):
            kept.setdefault(kind, set()).add(text)
        drafts = "\n".join(draft for (draft,) in await reader.all("SELECT draft FROM window_leaf"))
    # One that no agent accepted before the end is in the composer again, and what was typed next stands behind it.
    texts = "\n".join([*kept[Kind.USER.value], drafts])
    assert all(prompt in texts for prompt in prompts)
    assert set(answers) <= kept[Kind.AGENT.value]


def test_r12_a_prompt_that_no_agent_had_when_catena_was_killed_is_in_the_composer_again(place: Place) -> None:
    with place.catena("--agent", "rehearsal", CATENA_REHEARSAL_START_DELAY="600") as terminal:
        terminal.say("say well after all")
        terminal.wait_for("▌ say well after all")
        terminal.signal(signal.SIGKILL)
        terminal.ended()
    with place.catena() as terminal:
        text = terminal.wait_for(r"│ say well after all[\s\S]*Understudy")
        assert "▌ say well" not in text and "Retry" not in text
        terminal.press("enter")
        terminal.wait_for(r"  well after all[\s\S]*ctrl\+o history")
    assert asyncio.run(prompts_and_ends(place))["say well after all"] == [StopReason.END_TURN]


def test_r17_what_an_agent_says_while_it_is_ended_is_not_put_below_the_notice_of_its_turn(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    faults = tmp_path / "faults.json"
    faults.write_text('{"close": {"delay": 0.3}}')  # meanwhile it goes on
    catena.environment["CATENA_REHEARSAL_FAULTS"] = str(faults)
    process = catena.start("run", "--json", "--agent", "rehearsal", "late; begin execute deploy\nhang")
    with process:
        until(process, '"deploy"')
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    *_, tool, kept = shown(catena, newest(catena))["messages"]
    assert (tool["kind"], kept["kind"], kept["parent_id"]) == ("tool", "notice", tool["id"])


def test_r17_a_run_that_is_ended_in_mid_turn_tells_scripts_the_same(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    process = catena.start("run", "--json", "--agent", "rehearsal", "say before; begin execute deploy\nhang")
    with process:
        seen = until(process, '"deploy"')
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        events = [json.loads(line) for line in (seen + process.stdout.read()).splitlines()]
    (problem,) = (event for event in events if event["event"] == "problem")
    assert problem["trouble"] == "interrupted"
    assert problem["offers"] == ["retry", "other_agent"]
    assert "`deploy` may or may not" in problem["text"]
    assert events[-1]["stop_reason"] == "interrupted" and events[-1]["exit_status"] == 143
    kept = shown(catena, newest(catena))["messages"][-1]
    assert (kept["kind"], kept["text"], kept["data"]["trouble"]) == ("notice", problem["text"], "interrupted")

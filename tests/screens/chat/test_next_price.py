"""What the next prompt sends besides itself stands above the composer before Enter, whatever led to it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support.screen.pilot import Person, at_the_screen

WORDS = "Next prompt: "


@pytest.fixture(autouse=True)
def _forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent whose sessions end with its process."""
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    monkeypatch.setenv("CATENA_REHEARSAL_FLAGS", "--no-load --no-resume --no-fork")


async def _priced(person: Person) -> None:
    """Wait until the price of the next prompt is known, whatever it is."""
    await person.until(lambda: person.tab.next_price is not None, "the price")
    await person.done()


async def _killed(person: Person) -> None:
    await person.until(lambda: person.agent, "the agent to be there")
    assert person.agent is not None
    os.kill(person.agent, signal.SIGKILL)


async def test_u06_an_agent_that_dies_between_two_prompts_has_its_replay_said_until_that_is_sent(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say first")
        await _priced(person)
        assert WORDS not in person.text  # the session goes on: only the prompt is sent
        await _killed(person)
        await person.sees(f"{WORDS}probably 2 messages replayed")
        await person.answered("say second")
        await person.sees("2 messages replayed")  # the seam
        await _priced(person)
        assert WORDS not in person.text


async def test_u06_a_conversation_that_is_opened_again_says_what_its_next_prompt_replays(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say first")
        id = person.tab.conversation.id
    async with at_the_screen(str(tmp_path), conversation_id=id) as person:
        await person.sees("  first", f"{WORDS}2 messages replayed, ~")
    async with at_the_screen(str(tmp_path), conversation_id=id, size=(40, 24)) as person:
        await person.sees("  first", "Next: 2 messages replayed")
    async with at_the_screen(str(tmp_path), conversation_id=id, size=(40, 10)) as person:
        await person.sees("  first", "replays 2")


async def test_u06_what_an_edit_replays_stands_in_the_place_of_what_the_next_prompt_would(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say first")
        await person.answered("say second")
        await _killed(person)
        await person.sees(f"{WORDS}probably 4 messages replayed")
        await person.escape_twice()
        await person.press("enter")
        await person.sees("2 messages replayed")
        await person.sees_no(WORDS)
        await person.press("escape")
        await person.sees(f"{WORDS}probably 4 messages replayed")


async def test_u06_after_clear_only_the_prompt_is_sent_and_nothing_said(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say first")
        await _killed(person)
        await person.sees(WORDS)
        await person.say("/clear")
        await person.sees("context cleared")
        await person.sees_no(WORDS)

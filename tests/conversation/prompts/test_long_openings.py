"""A session that an agent takes long to open: the person may go on without it, and a late answer is taken in time."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.app import services
from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena_acp.continuity.conversation_events import Doing, DoingChanged, TurnEnded
from catena_acp.continuity.services import OpeningWait
from catena_store.records import ContextSource, StopReason
from support.clients.command_line import Catena
from support.clients.protocol import AGENT, heard, spec, until
from support.conversations.rehearsed import Desk, World
from support.screen.pilot import at_the_screen

# The first process is honest; later ones answer a resume, and a new session, at a cue.
SLOW = """
import pathlib, select, sys
PLACE = pathlib.Path({place!r})
AGAIN = (PLACE / "again").exists()
(PLACE / "again").touch()
HELD = {{}}
CAPABILITIES.pop("loadSession")
CAPABILITIES["sessionCapabilities"].pop("fork")

def _answer(agent, name, result):
    agent.send(agent.result(HELD.pop(name), result))

def session_resume(agent, request):
    HELD["resume"] = request
    if (PLACE / "resume-now").exists():
        _answer(agent, "resume", {{}})

def session_new(agent, request):
    agent.sessions += 1
    HELD["new"] = request
    if AGAIN and (PLACE / "resume-first").exists():
        _answer(agent, "resume", {{}})
        return
    _answer(agent, "new", {{"sessionId": f"s{{agent.sessions}}{{'b' * AGAIN}}"}})

def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    if "resume" in HELD and (PLACE / "resume-late").exists():
        _answer(agent, "resume", {{}})
    agent.send(agent.text(s, "answered in " + s), agent.result(request, {{"stopReason": "end_turn"}}))
"""


@asynccontextmanager
async def reopened(tmp_path: Path, wait: OpeningWait) -> AsyncIterator[Desk]:
    """A conversation with one turn, in a client that was started again."""
    world = World(tmp_path)
    agent = {"scripted": spec(tmp_path, SLOW.format(place=str(tmp_path)))}
    async with world.client(specs=agent, agent="scripted") as first:
        await first.say("one")
    async with world.client(specs=agent, agent="scripted", resume=first, opening_wait=wait) as desk:
        yield desk


async def takes_long(desk: Desk) -> None:
    await desk.until_told(DoingChanged, lambda told: told.doing is Doing.LONG_OPENING)


def methods(tmp_path: Path) -> list[str]:
    return [message.get("method", "") for message in heard(tmp_path)]


async def test_r07_a_session_that_does_not_open_is_waited_for_until_the_person_goes_on_in_a_new_one(
    tmp_path: Path,
) -> None:
    async with reopened(tmp_path, OpeningWait(long=0.02)) as desk:
        await desk.window.say("two")
        await takes_long(desk)
        assert desk.window.doing is Doing.LONG_OPENING
        assert desk.window.leave_opening()
        ended = await desk.until_told(TurnEnded)
        assert ended.turn is not None and ended.turn.how is ContextSource.TOLD
        assert (await desk.branch())[-1].text == "answered in s1b"
        assert not desk.window.leave_opening()


async def test_r07_a_late_answer_is_taken_if_nothing_went_out_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "resume-first").touch()
    async with reopened(tmp_path, OpeningWait(long=0.02)) as desk:
        await desk.window.say("two")
        await takes_long(desk)
        desk.window.leave_opening()
        ended = await desk.until_told(TurnEnded)
        assert ended.turn is not None and ended.turn.how is ContextSource.RESUMED
        assert (await desk.branch())[-1].text == "answered in s1"


async def test_r07_a_late_answer_behind_the_text_is_closed(tmp_path: Path) -> None:
    (tmp_path / "resume-late").touch()
    async with reopened(tmp_path, OpeningWait(long=0.02)) as desk:
        await desk.window.say("two")
        await takes_long(desk)
        desk.window.leave_opening()
        await desk.until_told(TurnEnded)
        await until(
            lambda: [each for each in heard(tmp_path, "session/close") if each["params"]["sessionId"] == "s1"]
        )
        assert (await desk.branch())[-1].text == "answered in s1b"


async def test_r10_a_session_that_opens_late_carries_the_prompt_where_nobody_goes_on(tmp_path: Path) -> None:
    async with reopened(tmp_path, OpeningWait(long=0.02)) as desk:
        await desk.window.say("two")
        await takes_long(desk)
        await desk.window.stop()
        await desk.window.wait_idle()
        assert methods(tmp_path).count("session/new") == 1
        assert desk.window.doing is Doing.IDLE


async def test_r07_without_a_person_the_prompt_goes_on_after_its_time(tmp_path: Path) -> None:
    async with reopened(tmp_path, OpeningWait(long=0.02, most=0.04)) as desk:
        ended = await desk.say("two")
        assert ended.turn is not None and ended.turn.stop_reason is StopReason.END_TURN
        assert (await desk.branch())[-1].text == "answered in s1b"


def test_r07_a_run_goes_on_in_a_new_session_after_its_open_timeout(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.environment |= {"SCRIPT": SLOW.format(place=str(tmp_path)), "HEARD": str(tmp_path / "heard")}
    agent = shlex.join(AGENT)
    assert catena("run", "--agent-command", agent, "one").status == 0

    ran = catena("run", "--agent-command", agent, "--continue", "--open-timeout", "1", "two")

    assert (ran.status, ran.out) == (0, "answered in s1b\n")
    assert catena("run", "--open-timeout", "0", "three").status == 2


async def test_r10_the_screen_says_that_opening_takes_long_and_enter_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = spec(tmp_path, SLOW.format(place=str(tmp_path)))
    known = Settings(agents={"slow": AgentSetting("slow", slow.command, env=slow.env)})
    agent = find_agent("slow", known)
    async with at_the_screen(str(tmp_path), agent=agent, settings=known) as person:
        await person.answered("one")
        conversation_id = person.tab.conversation.id
    monkeypatch.setattr(services, "_opening_wait", lambda _most: OpeningWait(long=0.02))
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id, settings=known) as person:
        await person.say("two")
        await person.sees("Opening is slow: Enter continues in a new session")
        await person.press("enter")
        await person.idle()
        await person.sees("answered in s1b")

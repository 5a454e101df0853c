"""While an agent tries again to call its model, every front says so, until its next word or the end of the turn."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from catena_acp.trouble.troubles import Trouble
from support.clients.command_line import Catena
from support.clients.listening import lines_told
from support.clients.protocol import spec
from support.conversations.rehearsed import World
from support.screen.pilot import at_the_screen

LIMITED = "rate limited: the agent tries again (HTTP 429)"
BUSY = "the model's server failed: the agent tries again (HTTP 503)"
EVIL = "\x1b]52;c;aGk=\x07[bold]\u202e"

# What Vibe and Codex' adapter tell, each twice; before and after each the agent waits where CUE names a pipe.
AGENT = f"""
def wait():
    if cue := os.environ.get("CUE"):
        open(cue).read()

def vibe(**told):
    return {{"method": "_session/retrying", "params": told}}

def codex(agent, session, info):
    error = {{"message": {EVIL!r}, "codexErrorInfo": info, "additionalDetails": None, "turnId": "t", "willRetry": True}}
    return agent.update(session, "session_info_update", _meta={{"codex": {{"error": error}}}})

def session_prompt(agent, request):
    session = request["params"]["sessionId"]
    said, limited = request["params"]["prompt"][-1]["text"], {{"category": "rate_limited", "detail": "HTTP 429"}}
    if said != "go":
        begun = [agent.text(session, "I begin. ")] if said == "begin, and fail" else []
        agent.send(*begun, vibe(sessionId=session, **limited), agent.error(request, -32603, "It is over."))
        return
    agent.send(
        {{"method": "_session/retrying", "params": [session]}}, vibe(sessionId=7, **limited), vibe(**limited),
        *2 * [vibe(sessionId=session, **limited)],
    )
    wait()
    agent.send(agent.text(session, "I go on. "))
    wait()
    agent.send(*2 * [codex(agent, session, {{"responseStreamDisconnected": {{"httpStatusCode": 503}}}})])
    wait()
    agent.send(vibe(sessionId=session, category={EVIL!r} * 9_999, detail={EVIL!r} * 9_999))
    wait()
    agent.send(agent.text(session, "I am done."), agent.result(request, {{"stopReason": "end_turn"}}))
"""


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    catena = Catena(tmp_path)
    retrying = spec(tmp_path, AGENT)
    command, env = json.dumps(list(retrying.command)), dict(retrying.env)
    settings = f"[agents.scripted]\ncommand = {command}\n[agents.scripted.env]\n"
    catena.settings(settings + "".join(f"{name} = {json.dumps(value)}\n" for name, value in env.items()))
    return catena


async def test_the_screen_says_beside_the_clock_that_the_agent_tries_again_until_its_next_word(
    tmp_path: Path,
) -> None:
    cue = tmp_path / "cue"
    os.mkfifo(cue)
    (tmp_path / "shop").mkdir()

    async def go_on() -> None:
        await asyncio.to_thread(cue.write_text, "go")

    agent = spec(tmp_path, AGENT, {"CUE": str(cue)})
    async with at_the_screen(str(tmp_path / "shop"), agent=agent) as person:
        await person.type("go")
        await person.press("enter")
        await person.sees(LIMITED)
        await person.pilot.resize_terminal(40, 10)
        await person.until(
            lambda: re.search("rate limited: the agent tr.*… *$", person.text, re.M), "its beginning"
        )
        await person.pilot.resize_terminal(100, 30)
        screen = await person.sees(LIMITED)
        assert " s · rate limited" in next(row for row in screen.splitlines() if LIMITED in row)
        await go_on()
        await person.sees("I go on.")
        await person.sees_no("tries again")
        assert person.tab.busy
        await go_on()
        await person.sees(BUSY)
        await go_on()
        screen = await person.sees("the model's answer failed: the agent tries again")
        assert "bold" not in screen
        await go_on()
        await person.sees("I am done.")
        await person.idle()
        await person.sees_no("tries again")


def test_linear_mode_says_once_for_each_change_that_the_agent_tries_again(catena: Catena) -> None:
    said = lines_told(catena, "/agent scripted", "go")
    waits = [line for line in said if "tries again" in line]
    assert waits == [
        f"Waiting: {LIMITED}",
        f"Waiting: {BUSY}",
        "Waiting: the model's answer failed: the agent tries again",
    ]


def test_catena_run_says_on_standard_error_once_for_each_change_that_the_agent_tries_again(
    catena: Catena,
) -> None:
    done = catena("run", "--agent", "scripted", "go")
    assert (done.status, done.out) == (0, "I go on. I am done.\n")
    assert [line for line in done.err.splitlines() if "tries again" in line] == [
        LIMITED,
        BUSY,
        "the model's answer failed: the agent tries again",
    ]
    told = catena("run", "--agent", "scripted", "--json", "go")
    remarks = [event["text"] for event in told.events if event["event"] == "remark"]
    assert LIMITED in remarks and BUSY in remarks
    assert "tries again" not in catena("show", "last").out  # it is no message


@pytest.mark.parametrize("prompt", ["fail", "begin, and fail"])
async def test_an_agent_that_gave_up_trying_again_failed_for_what_it_had_tried_for(
    tmp_path: Path, prompt: str
) -> None:
    async with World(tmp_path).client(specs={"scripted": spec(tmp_path, AGENT)}, agent="scripted") as desk:
        ended = await desk.say(prompt)
        assert ended.problem is not None
        assert ended.problem.trouble is Trouble.RATE_LIMIT

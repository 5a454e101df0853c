"""What real agents do at the end of a turn beside the protocol: errors said in words, and stops called an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import Doing, DoingChanged, TurnEnded
from catena_acp.continuity.turns.endings import LastAnswer
from catena_acp.conversation.access.logins import UnansweredPrompt
from catena_acp.port.session_events import PermissionRequested, TextChunk, ToolCallChanged
from catena_acp.trouble.troubles import Trouble
from catena_store.records import ContextSource, Kind, LinkState, MessageState, StopReason
from support.clients.protocol import heard, spec
from support.conversations.quirks import Quirky
from support.conversations.rehearsed import Desk, World

# Claude says what its provider answers, then answers with it.
LIMITED = "Internal error: API Error: Request rejected (429) - slow down"
UNKNOWN = "Authentication required"

SAYS_ERRORS = f"""
def session_prompt(agent, request):
    session_id = request["params"]["sessionId"]
    said = request["params"]["prompt"][-1]["text"]
    agent.times = getattr(agent, "times", 0) + 1
    if agent.times == 2:
        if said == "half":
            agent.send(agent.text(session_id, "I began with it.", messageId="m0"))
        if said == "login":
            agent.send(agent.text(session_id, "Failed to authenticate. API Error: 401 no key", messageId="m1"))
            agent.send(agent.error(request, -32000, "{UNKNOWN}"))
        else:
            agent.send(agent.text(session_id, "API Error: Request rejected (429) - slow down", messageId="m1"))
            agent.send(agent.error(request, -32603, "{LIMITED}", {{"errorKind": "rate_limit"}}))
    else:
        agent.send(agent.text(session_id, "heard " + said), agent.result(request, {{"stopReason": "end_turn"}}))
"""

ENDS_WHEN_STOPPED = """
def session_prompt(agent, request):
    if request["params"]["prompt"][-1]["text"] == "wait":
        while agent.read().get("method") != "session/cancel":
            pass
    else:
        agent.send(agent.text(request["params"]["sessionId"], "done"))
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def retried(desk: Desk) -> TurnEnded:
    at = len(desk.told)
    await desk.window.retry()
    await desk.window.wait_idle()
    return next(news for news in desk.told[at:] if isinstance(news, TurnEnded))


def blocks_heard(place: Path) -> list[list[str]]:
    asked = heard(place, "session/prompt")
    return [[block["text"] for block in each["params"]["prompt"]] for each in asked]


@pytest.mark.parametrize(
    ("prompt", "trouble"), [("limit", Trouble.RATE_LIMIT), ("login", Trouble.LOGIN_NEEDED)]
)
async def test_r01_r06_r19_a_prompt_that_got_nothing_but_its_error_in_words_goes_again_as_the_same_row(
    world: World, prompt: str, trouble: Trouble
) -> None:
    scripted = spec(world.place, SAYS_ERRORS)
    async with world.client(specs={"scripted": scripted}, agent="scripted") as desk:
        await desk.say("one")
        over = await desk.say(prompt)
        assert over.problem is not None and over.problem.trouble is trouble
        assert "Its partial answer is saved" not in over.problem.text
        rows = await desk.branch()
        assert [row.kind for row in rows[2:]] == [Kind.USER, Kind.AGENT, Kind.NOTICE]
        assert "API Error" in rows[3].text  # the agent's words stay where they were said
        if trouble is Trouble.LOGIN_NEEDED:
            assert await desk.conversation.logins.owed(desk.window) == UnansweredPrompt(None, begun=False)
        assert (await retried(desk)).problem is None
        await desk.say("three")
        turns, links, rows = await desk.turns(), await desk.links(), await desk.branch()

    assert turns[1].prompt_id == turns[2].prompt_id
    assert [turn.how for turn in turns] == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.CONTINUED,
        ContextSource.CONTINUED,
    ]
    assert len(links) == 1
    assert blocks_heard(world.place) == [["one"], [prompt], [prompt], ["three"]]
    assert [row.kind for row in rows] == [Kind.USER, Kind.AGENT] * 3


async def test_r19_a_prompt_that_got_more_than_its_error_in_words_goes_again_as_a_sibling(
    world: World,
) -> None:
    scripted = spec(world.place, SAYS_ERRORS)
    async with world.client(specs={"scripted": scripted}, agent="scripted") as desk:
        await desk.say("one")
        over = await desk.say("half")
        assert over.problem is not None and "Its partial answer is saved" in over.problem.text
        await retried(desk)
        turns, links = await desk.turns(), await desk.links()

    assert turns[1].prompt_id != turns[2].prompt_id
    assert turns[1].link_id != turns[2].link_id and len(links) == 2


async def test_r11_an_agent_that_calls_a_stop_an_end_keeps_its_session(world: World) -> None:
    scripted = spec(world.place, ENDS_WHEN_STOPPED)
    async with world.client(specs={"scripted": scripted}, agent="scripted") as desk:
        await desk.say("one")
        at = len(desk.told)
        await desk.window.say("wait")
        await desk.until(
            lambda: next(
                (
                    True
                    for news in desk.told[at:]
                    if isinstance(news, DoingChanged) and news.doing is Doing.WORKING
                ),
                None,
            )
        )
        await desk.window.stop()
        await desk.window.wait_idle()
        await desk.say("two")
        turns, links = await desk.turns(), await desk.links()

    assert [turn.stop_reason for turn in turns] == [
        StopReason.END_TURN,
        StopReason.CANCELLED,
        StopReason.END_TURN,
    ]
    assert [link.state for link in links] == [LinkState.OPEN]


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        (
            "Info: Request failed due to an error. Error: Authentication failed with provider",
            Trouble.LOGIN_NEEDED,
        ),
        ("Error: The provider rejected the prompt as too long", Trouble.CONTEXT_FULL),
        (
            '{"error": {"message": "too long", "code": "context_length_exceeded"}}',
            Trouble.CONTEXT_FULL,
        ),
    ],
)
async def test_r09_an_end_whose_only_text_is_an_error_is_no_answer_and_its_prompt_counts_as_unheard(
    tmp_path: Path, words: str, trouble: Trouble
) -> None:
    quirky = Quirky(tmp_path)
    async with quirky.client() as desk:
        await desk.say("one")
        (before,) = await desk.links()
        over = await desk.say(f"fail: {words}")
        rows = await desk.branch()
        (after,) = await desk.links()
        await desk.say("two")
        (link,) = await desk.links()
        last = (await desk.stored_window()).leaf_id
    assert over.problem is not None and over.problem.trouble is trouble
    assert over.turn is not None and not over.turn.clean
    assert (over.turn.stop_reason, over.turn.error) == (StopReason.END_TURN, words)
    assert (rows[-1].kind, rows[-1].text, rows[-1].state) == (Kind.AGENT, words, MessageState.FINAL)
    assert (after.knows, after.reach) == (before.knows, rows[-1].id)
    assert link.knows == last, "it went on in the same session, which was told what it may not have"
    assert len(quirky.requests("session/prompt")[-1]["prompt"]) == 2


NAMES_ITS_FAILURE = """
def session_prompt(agent, request):
    failure = {"category": "limit", "severity": "error", "title": "Credit balance is too low", "actions": ["retry"]}
    if request["params"]["prompt"][-1]["text"] == "warn":
        failure["severity"] = "warning"
        agent.send(agent.text(request["params"]["sessionId"], "an answer"))
    meta = {"jetbrains": {"air": {"sessionFailure": failure}}}
    agent.send(agent.result(request, {"stopReason": "end_turn", "_meta": meta}))
"""


async def test_r09_a_failure_that_is_named_beside_an_answer_is_told_and_a_warning_is_none(
    world: World,
) -> None:
    scripted = spec(world.place, NAMES_ITS_FAILURE)
    async with world.client(specs={"scripted": scripted}, agent="scripted") as desk:
        assert (await desk.say("warn")).problem is None
        over = await desk.say("fail")
        (link,) = await desk.links()
    assert over.problem is not None and over.problem.trouble is Trouble.CREDIT
    assert over.turn is not None and not over.turn.clean
    assert link.state is LinkState.OPEN


def test_r09_words_beside_a_question_for_permission_are_not_all_that_there_is() -> None:
    words = LastAnswer()
    words.take([TextChunk("agent", "Rate limit exceeded.", "m1")])
    assert words.text == "Rate limit exceeded."
    words.take([PermissionRequested("ask", ToolCallChanged("call"), ())])
    assert words.text is None

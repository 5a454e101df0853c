"""Claude's own questions to the person, offline: its tool is there, and the answer reaches its model.

``tests/rig/rig install claude`` installs it. What it heard is proved by the model behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import ElicitationOpened, TurnEnded
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.elicitation.requests import (
    DECLINE,
    ChoiceField,
    ChoicesField,
    ElicitationAnswer,
    Form,
    TextField,
)
from catena_store.database.database import Database
from catena_store.records import Kind
from support.agents.real import RealAgent, fake_model
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

TEA = {"label": "Tea", "description": "hot"}
COFFEE = {"label": "Coffee", "description": "hotter"}
DRINK = {"question": "Which drink?", "header": "Drink", "options": [TEA, COFFEE], "multiSelect": False}
BOTH = DRINK | {"multiSelect": True}


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[RealAgent]:
    log = tmp_path / "requests.jsonl"
    with fake_model(log) as port:
        real = RealAgent("claude", tmp_path, port, log)
        yield real
        real.kill()


@pytest.mark.parametrize(
    ("question", "content", "heard"),
    [
        (DRINK, {"question_0": "Coffee"}, '"Which drink?"="Coffee"'),
        (DRINK, {"question_0_custom": "Water, please"}, '"Which drink?"="Water, please"'),
        (BOTH, {"question_0": ["Tea", "Coffee"]}, '"Which drink?"="Tea, Coffee"'),
    ],
)
async def test_w12_claude_asks_its_own_question_and_the_answer_reaches_its_model(
    claude: RealAgent, question: dict[str, object], content: dict[str, str | list[str]], heard: str
) -> None:
    prompt = f"TOOLNAMED AskUserQuestion {json.dumps({'questions': [question]})}"
    row = await _asked(claude, prompt, ElicitationAnswer("accept", content), choices=question is BOTH)
    assert row.startswith("Asked: Which drink? · ")
    last = claude.heard(prompt)
    assert "AskUserQuestion" in last.tools
    assert heard in last.results


async def test_w12_claude_goes_on_when_its_question_is_declined(claude: RealAgent) -> None:
    prompt = f"TOOLNAMED AskUserQuestion {json.dumps({'questions': [DRINK]})}"
    assert await _asked(claude, prompt, DECLINE, choices=False) == "Asked: Which drink? · declined"
    assert claude.heard(prompt).tool_results == 1


async def _asked(claude: RealAgent, prompt: str, answer: ElicitationAnswer, *, choices: bool) -> str:
    """A turn in which Claude asks once and is answered so; what the transcript keeps of it."""
    spec = command_spec(claude.command)
    async with (
        Database.open(claude.data / "catena.db") as db,
        Conversations.serve(db, specs={spec.name: spec}, client_version="test") as served,
    ):
        conversation = await served.create(agent=spec, cwd=str(claude.project))
        desk = Desk(db, served, conversation, await open_window(db, conversation.id))
        conversation.subscribe(desk.hear)
        await desk.window.say(prompt)
        asked = await desk.until(
            lambda: next((news for news in desk.told if isinstance(news, ElicitationOpened)), None), 90
        )
        assert isinstance(asked.request, Form) and asked.request.message == "Which drink?"
        drink, other = asked.request.fields
        assert isinstance(drink, ChoicesField if choices else ChoiceField) and isinstance(other, TextField)
        assert [(each.title, each.description) for each in drink.choices] == [
            ("Tea", "hot"),
            ("Coffee", "hotter"),
        ]
        await conversation.answer_elicitation(asked.ask_id, answer)
        over = await desk.until(
            lambda: next((news for news in desk.told if isinstance(news, TurnEnded)), None), 60
        )
        assert over.problem is None
        return next(row.text for row in await desk.branch() if row.kind is Kind.NOTICE)

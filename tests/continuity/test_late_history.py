"""A history that comes behind the first prompt, told from the answer: nothing of it is news, and no answer is lost."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from catena_acp.continuity.routing.late_history import LateHistory, Recorded
from catena_acp.continuity.routing.prior_context import BEGIN, END
from catena_acp.continuity.routing.replay_check import Speaker
from catena_acp.port.session_events import (
    Event,
    OtherContent,
    PermissionRequested,
    TextChunk,
    ToolCallChanged,
    UnknownUpdate,
)
from support.walks.length import walks

HOLDS = [
    (Speaker.PERSON, "told only"),
    (Speaker.PERSON, "one"),
    (Speaker.AGENT, "the first answer"),
    (Speaker.PERSON, "two"),
    (Speaker.AGENT, "the second"),
]


def user(text: str, id: str | None = None) -> TextChunk:
    return TextChunk("user", text, id)


def agent(text: str, id: str | None = None) -> TextChunk:
    return TextChunk("agent", text, id)


def heard(history: LateHistory, events: Iterable[Event]) -> str:
    """What is left of the agent's words when the turn is over."""
    kept = [each for event in events for each in history.take(event)] + history.end()
    return "".join(each.text for each in kept if isinstance(each, TextChunk) and each.role == "agent")


def begun(prompt: str, holds: Sequence[tuple[Speaker, str]] = HOLDS) -> LateHistory:
    history = LateHistory(Recorded(said, text) for said, text in holds)
    history.begin(prompt)
    return history


@pytest.mark.parametrize("ids", [True, False])
def test_r07_the_history_is_left_out_and_the_answer_joined_to_it_stays(ids: bool) -> None:
    chance = random.Random(7)
    told = [
        user(f"{BEGIN}\nthe rest\n{END}one"),
        agent("let me see "),
        agent("the first\nanswer"),
        user("two"),
    ]
    for walk in range(walks(20)):
        answer = "".join(chance.choice("the second ") for _ in range(chance.randrange(1, 30)))
        events: list[TextChunk] = []
        for number, chunk in enumerate([*told, agent("the  second"), agent(answer)]):
            at = 0
            while at < len(chunk.text):
                piece = chunk.text[at : at + chance.randrange(1, 12)]
                at += len(piece)
                events.append(TextChunk(chunk.role, piece, str(number) if ids else None))
        if not ids:  # as they are joined on their way
            for at in sorted(chance.sample(range(1, len(events)), len(events) // 2), reverse=True):
                if events[at].role == events[at - 1].role:
                    events[at - 1 : at + 1] = [
                        TextChunk(events[at].role, events[at - 1].text + events[at].text, None)
                    ]
        history = begun("three")
        assert heard(history, events).strip() == answer.strip(), walk
        assert history.found


def test_r07_an_agent_that_answers_at_once_is_heard_at_once() -> None:
    history = begun("three")
    assert history.take(agent("the first answer")) == [agent("the first answer")]
    assert history.take(user("one")) == []
    assert history.take(agent("well")) == [agent("well")]
    assert history.take(agent("known")) == [agent("known")] and history.end() == []


@pytest.mark.parametrize("ids", [True, False])
def test_r07_a_history_that_comes_within_an_answer_is_left_out_and_the_answer_goes_on_at_once(
    ids: bool,
) -> None:
    record = [
        Recorded(Speaker.PERSON, "one"),
        Recorded(Speaker.AGENT, "let me see", surely=False),
        Recorded(Speaker.AGENT, "the first answer"),
        Recorded(Speaker.PERSON, "two"),
        Recorded(Speaker.AGENT, "the sec", surely=False),  # and there it was stopped
    ]
    told = [user("one"), agent("let me see"), agent("the first answer"), user("two"), agent("the sec")]
    for length in (2, 3, 4, 5):
        history = LateHistory(record)
        history.begin("three")
        events = [agent("it is "), *told[:length], agent("so.")]
        events = [TextChunk(e.role, e.text, str(at) if ids else None) for at, e in enumerate(events)]
        kept = [history.take(event) for event in events]
        assert kept[0] == [events[0]] and kept[-1][-1] == events[-1], "it is not held back to the end"
        assert heard(history, ()) == "" and history.found
        given = (each for some in kept for each in some)
        said = "".join(e.text for e in given if isinstance(e, TextChunk) and e.role == "agent")
        assert said == "it is so."


def test_r07_an_agent_that_says_the_prompt_back_is_no_teller_of_history() -> None:
    history = begun("three")
    assert history.take(user("three")) == []
    assert history.take(agent("x")) == [user("three"), agent("x")] and not history.found


@pytest.mark.parametrize("answer", ["the first answer", "the first answer, again", "no", "the first"])
def test_r07_a_prompt_that_was_said_before_and_is_said_back_costs_no_answer(answer: str) -> None:
    for holds in (HOLDS, HOLDS[:3], HOLDS[:2]):
        history = begun("one", holds)
        kept = heard(history, [user("one"), *(agent(letter) for letter in answer)])
        assert kept == answer and not history.found


def test_r07_the_same_prompt_again_behind_a_history_of_it_has_its_own_answer() -> None:
    history = begun("one", HOLDS[:3])
    events = [user("one", "1"), agent("the first answer", "2"), agent("the first answer", "3")]
    assert heard(history, events) == "the first answer" and history.found


def test_r07_a_known_tool_call_at_the_end_of_a_history_was_not_made_again() -> None:
    def call(id: str, title: str) -> ToolCallChanged:
        return ToolCallChanged(id, title=title, status="completed")

    for record, behind in ((HOLDS[1:4], []), (HOLDS[1:], [Recorded(Speaker.AGENT, "cut", surely=False)])):
        for sent in (call("m1", "mail"), call("m1", "mail again"), call("m2", "mail")):
            history = LateHistory(
                [*(Recorded(said, text) for said, text in record), *behind], {"m1": "mail", "m9": "other"}
            )
            history.begin("three")
            told = [
                user("one", "1"),
                agent("the first answer", "2"),
                user("two", "3"),
                agent("the second", "4"),
            ]
            events: list[Event] = [*told[: len(record)], call("m1", "mail"), sent, agent("well", "5")]
            kept = [each for event in events for each in history.take(event)] + history.end()
            news = [] if sent == call("m1", "mail") else [sent]
            assert kept == [*news, agent("well", "5")] and history.found
    history = LateHistory([Recorded(*HOLDS[1])], {"m1": "mail"})
    history.begin("three")
    assert history.take(call("m1", "mail")) == [call("m1", "mail")], "no history began"


WORDLESS: list[Event] = [OtherContent("user", "image", "an image", None, {}), user(f"{BEGIN}\ncut short")]


@pytest.mark.parametrize("first", WORDLESS)
def test_r07_a_history_that_begins_with_a_prompt_without_words_is_known_by_its_answer(first: Event) -> None:
    record = [(Speaker.PERSON, ""), *HOLDS[2:]]
    events = [
        first,
        agent("the first answer", "1"),
        user("two"),
        agent("the second", "2"),
        agent("well", "3"),
    ]
    history = begun("three", record)
    assert heard(history, events) == "well" and history.found
    history = begun("three", record)
    assert heard(history, [events[0], agent("another", "1")]) == "another" and not history.found


@pytest.mark.parametrize("first", WORDLESS)
def test_r07_a_prompt_without_words_that_is_said_back_costs_no_answer(first: Event) -> None:
    record = [(Speaker.PERSON, ""), (Speaker.AGENT, "a cat")]
    history = begun("", record)
    assert heard(history, [first, agent("a "), agent("cat")]) == "a cat" and not history.found
    history = begun("", record)
    assert heard(history, [first, agent("a cat", "1"), agent("a cat", "2")]) == "a cat" and history.found


def test_r07_what_is_not_known_of_a_history_is_kept_rather_than_lost() -> None:
    history = begun("three")
    between = UnknownUpdate("something", {})
    assert [history.take(each) for each in (user("one"), between, agent("something else"))] == [[]] * 3
    asked = PermissionRequested("a", ToolCallChanged("t"), ())
    assert history.take(asked) == [between, agent("something else"), asked]
    assert history.take(agent("x")) == [agent("x")] and history.found

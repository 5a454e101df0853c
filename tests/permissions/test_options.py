"""Which option answers a request by its kind; with several that allow once, only the person chooses."""

from __future__ import annotations

import shlex
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.options import option_of
from catena_acp.permissions.rule import Rule, RuleScope, rule_of
from catena_acp.port.session_events import PermissionOption
from catena_store.records import Kind
from support.clients.command_line import Catena
from support.clients.on_terminal import on_terminal
from support.clients.protocol import AGENT, answer_to, spec
from support.conversations.rehearsed import Desk, World
from support.screen.pilot import at_the_screen

ASKS = """
def session_prompt(agent, request):
    options = [
        {"optionId": "opt-staging", "name": "Staging", "kind": "allow_once"},
        {"optionId": "opt-live", "name": "Production", "kind": "allow_once"},
        {"optionId": "opt-none", "name": "Neither", "kind": "reject_once"},
    ]
    s = request["params"]["sessionId"]
    call = {"toolCallId": "t1", "title": "Deploy", "kind": "read", "rawInput": {"path": "a.txt"}}
    agent.ask(7, "session/request_permission", sessionId=s, toolCall=call, options=options)
    while agent.read().get("id") != 7:
        pass
    agent.send(agent.text(s, "went on"), agent.result(request, {"stopReason": "end_turn"}))
"""


def options(*kinds: str) -> list[PermissionOption]:
    return [PermissionOption(f"{number}", kind, kind) for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("kinds", "allow", "lasting", "chosen"),
    [
        (("allow_once", "reject_once"), True, False, "0"),
        (("allow_always", "allow_once", "reject_once"), True, True, "1"),
        (("allow_once", "allow_once", "reject_once"), True, False, None),
        (("allow_once", "allow_once", "allow_always", "reject_once"), True, True, None),
        (("allow_always", "reject_once"), True, False, None),
        (("allow_always", "reject_once"), True, True, "0"),
        (("allow_always", "allow_always", "reject_once"), True, True, None),
        (("allow_once", "allow_once", "reject_once"), False, False, "2"),
        (("allow_once", "reject_once", "reject_once"), False, False, None),
        (("allow_once", "reject_always"), False, False, None),
        (("allow_once", "reject_always"), False, True, "1"),
        (("strange",), True, True, None),
        ((), False, True, None),
    ],
)
def test_w01_the_only_option_of_a_kind_answers_and_several_are_a_question_with_choices(
    kinds: tuple[str, ...], allow: bool, lasting: bool, chosen: str | None
) -> None:
    option = option_of(options(*kinds), allow=allow, lasting=lasting)

    assert (option and option.id) == chosen


def client(
    place: Path, script: str = ASKS, rules: tuple[Rule, ...] = ()
) -> AbstractAsyncContextManager[Desk]:
    """A client whose agent asks that."""
    return World(place).client(specs={"scripted": spec(place, script)}, agent="scripted", rules=rules)


def chosen(place: Path) -> object:
    """The id that went back to the agent; None if it heard `cancelled`."""
    answer = answer_to(place, 7)
    assert answer is not None
    return answer["result"]["outcome"].get("optionId")


def catena_with_choices(place: Path) -> tuple[Catena, str]:
    """The program, and the command of an agent that asks a question with choices."""
    catena = Catena(place)
    catena.environment |= {"SCRIPT": ASKS, "HEARD": str(place / "heard")}
    return catena, shlex.join(AGENT)


@pytest.mark.parametrize("lasts", ["allow_once", "allow_always"])
def test_w01_no_policy_chooses_between_several_that_allow(tmp_path: Path, lasts: str) -> None:
    catena, agent = catena_with_choices(tmp_path)
    catena.environment["SCRIPT"] = ASKS.replace("allow_once", lasts)

    ran = catena("run", "--agent-command", agent, "--permissions", "allow", "go")

    assert (ran.status, chosen(tmp_path)) == (4, None)
    assert ran.err == (
        "denied: Deploy (several answers allow it, and only a person can choose: Staging, Production)\n"
    )


def test_w01_a_policy_that_rejects_takes_the_only_rejection_of_a_question_with_choices(
    tmp_path: Path,
) -> None:
    catena, agent = catena_with_choices(tmp_path)

    assert catena("run", "--agent-command", agent, "--permissions", "deny", "go").status == 4
    assert chosen(tmp_path) == "opt-none"


def test_w01_on_a_terminal_a_number_chooses_and_its_id_goes_back(tmp_path: Path) -> None:
    catena, agent = catena_with_choices(tmp_path)

    with on_terminal(catena, "run", "--agent-command", agent, "go") as terminal:
        terminal.wait_for("1-3? ")
        terminal.type("2\n")
        assert terminal.status() == 0
    assert chosen(tmp_path) == "opt-live"


@pytest.mark.parametrize(("typed", "answer"), [(("y", "/allow", "2"), "opt-live"), (("y", "n"), "opt-none")])
def test_w01_in_lines_y_is_no_answer_and_a_number_is(
    tmp_path: Path, typed: tuple[str, ...], answer: str
) -> None:
    catena, agent = catena_with_choices(tmp_path)

    said = catena("--linear", "--agent-command", agent, stdin="".join(f"{line}\n" for line in ("go", *typed)))

    assert chosen(tmp_path) == answer
    assert "y allows once" not in said.out
    assert "Not an answer: “y”" in said.out and "Always in this project" not in said.out


@pytest.mark.parametrize(("keys", "answer"), [(("y", "2"), "opt-live"), (("a", "n"), "opt-none")])
async def test_w01_on_the_screen_y_and_a_choose_nothing_and_a_number_does(
    tmp_path: Path, keys: tuple[str, str], answer: str
) -> None:
    async with at_the_screen(str(tmp_path), agent=spec(tmp_path, ASKS)) as person:
        await person.say("go")
        panel = person.area.panels.permission
        await person.until(lambda: person.app.focused is panel, "the keys to go to the question")
        await person.apart()
        await person.press(keys[0])
        await person.sees("Several answers allow this.")
        assert person.tab.asks
        await person.apart()
        await person.press(keys[1])
        await person.idle()
    assert chosen(tmp_path) == answer


@pytest.mark.parametrize(
    ("rule", "answer", "asked"),
    [
        (rule_of("read", "**", allow=True, scope=RuleScope.SETTINGS), "opt-live", True),
        (rule_of("read", "**", allow=False, scope=RuleScope.SETTINGS), "opt-none", False),
    ],
)
async def test_w01_a_rule_that_allows_leaves_the_choice_to_the_person_and_one_that_rejects_answers(
    tmp_path: Path, rule: Rule, answer: str, asked: bool
) -> None:
    async with client(tmp_path, rules=(rule,)) as desk:
        await desk.say("go", "opt-live")
        assert any(isinstance(each, PermissionOpened) for each in desk.told) is asked
    assert chosen(tmp_path) == answer


async def test_w01_a_rule_that_rejects_cancels_a_request_without_a_plain_rejection(tmp_path: Path) -> None:
    rule = rule_of("read", "**", allow=False, scope=RuleScope.SETTINGS)
    async with client(tmp_path, ASKS.replace('"reject_once"', '"reject_always"'), rules=(rule,)) as desk:
        await desk.say("go")
        assert not any(isinstance(each, PermissionOpened) for each in desk.told)
    assert chosen(tmp_path) is None


async def test_w01_a_side_question_chooses_nothing_among_several_that_allow(tmp_path: Path) -> None:
    async with client(tmp_path) as desk:
        aside = await desk.conversation.asides.begin(desk.window)
        _ = [each async for each in aside.ask("what stands there?")]
        assert [row.text for row in aside.rows if row.kind is Kind.NOTICE]
        await aside.close()
    assert chosen(tmp_path) == "opt-none"

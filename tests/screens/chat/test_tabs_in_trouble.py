"""Three tabs, and the one in the middle in trouble: each cause, its words, its way out, and what it must not touch."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from catena.keys.actions import ACTIONS
from catena.screens.chat import presenter
from catena.screens.chat.panels.trouble import KEY_ACTIONS
from catena.screens.common.picker import Picker
from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena.workspace import tab, trouble
from catena.workspace.tab import Tab
from catena.workspace.trouble import StandingTrouble
from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.trouble.troubles import Trouble
from catena_store.records import Kind, Message
from support.screen.pilot import Person, at_the_screen

MEANWHILE = "typed while it was in trouble"
DRAFT = "a thought in the third tab"


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@dataclass
class Scene:
    """The first tab streams, the one in the middle is looked at, the third has a draft."""

    place: Path
    person: Person
    first: Tab
    middle: Tab
    third: Tab

    def fail(self, faults: Mapping[str, Any]) -> None:
        """How the next requests to the agent in the middle fail."""
        (self.place / "faults.json").write_text(json.dumps(dict(faults)))

    @property
    def streamed(self) -> int:
        """How much the first tab's agent has said."""
        return sum(len(str(text)) for text in self.first.growing.values())

    @property
    def standing(self) -> StandingTrouble:
        """The trouble of the tab in the middle."""
        assert self.middle.trouble.standing is not None
        return self.middle.trouble.standing

    async def troubled(self, trouble: Trouble, offers: str) -> None:
        """The trouble is on the screen, with the keys of what is offered, while the first tab streams on."""
        person, panel = self.person, self.person.area.panels.trouble
        await person.until(lambda: panel.can_act and not self.middle.busy, "something to be offered")
        assert self.standing.problem.trouble is trouble
        assert "".join(ACTIONS[KEY_ACTIONS[offer]].keys[0] for offer, _ in panel.words.offers) == offers  # type: ignore[union-attr]
        sentences = re.split(
            r"(?<=[.!?…]) (?=[A-Z`“])", " ".join(self.standing.problem.text.split()), maxsplit=1
        )
        await person.sees(*(sentence[:25] for sentence in sentences), "tab to choose")
        assert self.first.trouble.standing is None and self.third.trouble.standing is None
        await self.streams_on()
        await person.idle()

    async def streams_on(self) -> None:
        """The first tab's text grows."""
        so_far = self.streamed
        await self.person.until(lambda: self.streamed > so_far, "the first tab to stream on")

    async def end_agent(self) -> None:
        """Kill the agent in the middle, and wait until that is known: what is said before may still be for it."""
        conversation, window_id = self.middle.conversation, self.middle.window_id
        await self.person.until(lambda: conversation._carriers.get(window_id), "the agent to be ready")
        live = carrier_of(self.middle)
        os.kill(live.agent.group[0], signal.SIGKILL)
        await self.person.until(lambda: not live.agent.alive, "its end to be noticed")

    async def take(self, key: str) -> None:
        """Take an offer with its key."""
        person = self.person
        if person.area.place != "trouble":
            await person.press("tab")
            await person.until(lambda: person.area.place == "trouble", "the keys to go to the panel")
        await person.press(key)

    async def choose_agent(self, name: str) -> None:
        """Choose an agent in the list that is open."""
        await self.person.sees_dialog(Picker)
        await self.person.sees("Continue with which agent?")
        await self.person.type(name)
        await self.person.press("enter")

    async def untouched_elsewhere(self) -> None:
        """The first tab streams and shows it, the third one has its draft, and both have no trouble."""
        person = self.person
        await person.done()
        await self.streams_on()
        assert self.first.busy and self.first.mark == "◐"
        await person.to_tab(3, "ctrl+pagedown")
        assert person.draft == DRAFT and not person.area.panels.trouble.open
        await person.to_tab(1, "ctrl+pagedown")
        assert not person.area.panels.trouble.open
        so_far = answer_on(person)
        await person.until(lambda: answer_on(person) != so_far, "its text to grow on the screen")
        await person.to_tab(2, "ctrl+pagedown")


def answer_on(person: Person) -> list[str]:
    """What is on the screen of an answer, without the scroll bar."""
    rows = (line[: person.app.size.width - 2].rstrip() for line in person.text.splitlines())
    return [row for row in rows if row.startswith("  ")]


def of_the_middle(place: Path, *flags: str) -> Settings:
    """Settings with an agent that fails on demand, one that can be told to, and one that is not there."""
    env = (
        ("CATENA_REHEARSAL_FAULTS", str(place / "faults.json")),
        ("CATENA_REHEARSAL_HOME", str(place / "m")),
    )
    command = (sys.executable, "-m", "catena_acp.rehearsal", "--name", "Middle", *flags)
    return Settings(
        agents={
            "middle": AgentSetting("middle", command, "Middle", env),
            "nowhere": AgentSetting("nowhere", (str(place / "no-such-agent"),), "Nowhere"),
        }
    )


@asynccontextmanager
async def three_tabs(
    place: Path, *flags: str, agent: str = "middle", faults: Mapping[str, Any] | None = None
) -> AsyncIterator[Scene]:
    settings = of_the_middle(place, *flags)
    if faults:
        (place / "faults.json").write_text(json.dumps(dict(faults)))
    rehearsal = find_agent("rehearsal", settings)
    async with at_the_screen(str(place), agent=rehearsal, settings=settings) as person:
        await person.say("stream 9000 rate 30")
        for number, name in enumerate((agent, "rehearsal"), start=2):
            person.chat.context.run(person.chat.actions.act("catena.acts.agents:new", name=name))
            await person.until(lambda number=number: len(person.tabs) == number, "another tab")  # type: ignore[misc]
            await person.looks_at(person.tabs[-1])
        person.composer.put(DRAFT)
        await person.taken_in()
        first, middle, third = person.tabs
        scene = Scene(place, person, first, middle, third)
        await person.until(lambda: scene.streamed, "the first tab to stream")
        await person.to_tab(2, "ctrl+pageup")
        yield scene


def notices(rows: list[Message]) -> list[str]:
    return [row.text for row in rows if row.kind is Kind.NOTICE]


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


LIMIT: list[Any] = [-32603, "You have reached your rate limit.", {"errorKind": "rate_limit", "status": 429}]
CREDIT = [-32603, "Your credit balance is too low", {"errorKind": "billing_error", "status": 402}]
OVERLOAD = [-32603, "API Error: 529 Overloaded", {"errorKind": "overloaded", "status": 529}]


@dataclass(frozen=True)
class Refused:
    """The agent fails the prompt once; the offer that is taken with ``key`` brings the answer."""

    trouble: Trouble
    fault: Mapping[str, Any]
    offers: str
    key: str = "r"
    flags: tuple[str, ...] = ()
    faults: Mapping[str, Any] = field(default_factory=dict)
    sees: str = "  well after all"


REFUSED = {
    "r01 rate limit without a time": Refused(Trouble.RATE_LIMIT, {"error": LIMIT}, "ra"),
    "r02 credit, and another agent": Refused(Trouble.CREDIT, {"error": CREDIT}, "arl", key="a"),
    "r03 overload": Refused(Trouble.OVERLOAD, {"error": OVERLOAD}, "ra"),
    "r04 killed by its prompt": Refused(Trouble.AGENT_GONE, {"kill": True}, "rea"),
    "r05 exit 0": Refused(Trouble.AGENT_GONE, {"exit": 0}, "rea"),
    "r06 login": Refused(Trouble.LOGIN_NEEDED, {"login": True}, "la", key="l"),
    "r08 empty turn": Refused(Trouble.EMPTY_TURN, {"result": {"stopReason": "end_turn"}}, "ra"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_r01_to_r08_a_prompt_that_failed_goes_out_again_with_one_key(tmp_path: Path, case: str) -> None:
    refused = REFUSED[case]
    async with three_tabs(tmp_path, *refused.flags) as scene:
        person = scene.person
        scene.fail({"prompt": {**refused.fault, "times": 1}} | dict(refused.faults))
        await person.say("say well after all")
        await scene.troubled(refused.trouble, refused.offers)
        returned = scene.standing.problem.returned
        assert person.draft == ("say well after all" if returned else "")
        if returned:
            person.composer.insert("\n")
        person.composer.insert(MEANWHILE)
        await scene.take(refused.key)
        if refused.key == "a":
            await scene.choose_agent("demo")
        await person.sees(refused.sees)
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        await person.until(lambda: not person.area.panels.trouble.open, "the trouble to be gone")
        assert person.draft == MEANWHILE
        await person.writing()
        await scene.untouched_elsewhere()
        assert person.draft == MEANWHILE


async def test_r09_an_error_that_pretends_to_be_an_answer_stays_as_it_came_and_can_be_tried_again(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.say("errortext")
        await scene.troubled(Trouble.RATE_LIMIT, "ra")
        await person.sees("  exceeded retry limit, last status: 429 Too Many Requests")
        await person.say("say well after all")
        await person.sees("  well after all")
        await person.until(lambda: not person.area.panels.trouble.open, "the trouble to be gone")
        await scene.untouched_elsewhere()


@dataclass(frozen=True)
class Broken:
    """The agent breaks in mid-turn; what it said is kept, and the next prompt goes on."""

    trouble: Trouble
    prompt: str
    offers: str
    kill: bool = False


BROKEN = {
    "r01 rate limit with a time": Broken(Trouble.RATE_LIMIT, "say half of it; ratelimit 600", "wra"),
    "r02 credit": Broken(Trouble.CREDIT, "say half of it; credit", "arl"),
    "r03 overload": Broken(Trouble.OVERLOAD, "say half of it; overload", "ra"),
    "r04 killed": Broken(Trouble.AGENT_GONE, "say half of it; hang", "rea", kill=True),
    "r05 exit 0": Broken(Trouble.AGENT_GONE, "say half of it; exit 0", "rea"),
    "r05 a child holds its output": Broken(Trouble.AGENT_GONE, "say half of it; orphan 3", "rea"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_r01_to_r05_what_breaks_in_mid_turn_keeps_its_text_and_the_next_prompt_goes_on(
    tmp_path: Path, case: str
) -> None:
    broken = BROKEN[case]
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.say(broken.prompt)
        await person.sees("  half of it")
        if broken.kill:
            os.kill(agent_of(scene.middle), signal.SIGKILL)
        await scene.troubled(broken.trouble, broken.offers)
        await person.sees("  half of it")
        await person.say("echo")
        await person.sees("[heard]", broken.prompt)
        await person.until(lambda: not scene.middle.busy and not person.area.panels.trouble.open, "peace")
        await scene.untouched_elsewhere()


def agent_of(tab: Tab) -> int:
    """The process id of the agent that carries a tab."""
    return carrier_of(tab).agent.group[0]


def carrier_of(tab: Tab) -> LiveSession:
    """The session that carries a tab."""
    conversation = tab.conversation
    live = conversation.sessions.by_link(conversation._carriers[tab.window_id])
    assert live is not None
    return live


def much_later() -> datetime:
    """The time when every limit of these tests has ended."""
    return datetime.now(UTC) + timedelta(hours=1)


async def test_r01_w_waits_for_the_end_of_the_limit_and_sends_it_then_whatever_tab_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "LONGEST_NAP", 0.01)
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        limit = [*LIMIT[:2], {**LIMIT[2], "resetsAt": in_seconds(600)}]
        scene.fail({"prompt": {"error": limit, "times": 1}})
        await person.say("say well after all")
        await scene.troubled(Trouble.RATE_LIMIT, "wra")
        await scene.take("w")
        await person.sees("Retrying at", "Stop waiting")
        await person.to_tab(3, "ctrl+pagedown")
        assert not person.area.panels.trouble.open
        scene.middle.trouble._clock = much_later
        await person.until(lambda: scene.middle.unread and not scene.middle.busy, "the answer")
        await person.until(lambda: scene.middle.trouble.standing is None, "the end of the trouble")
        await person.to_tab(2, "ctrl+pageup")
        await person.sees("  well after all")
        await scene.untouched_elsewhere()


async def test_r01_r12_a_prompt_that_came_back_waits_in_its_tab_and_leaves_what_was_typed_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "LONGEST_NAP", 0.01)
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.until(lambda: scene.middle.session, "the session to be open")
        # Told while the session is opened: no session has the prompt, and it is back in the composer.
        limit = [*LIMIT[:2], {**LIMIT[2], "resetsAt": in_seconds(600)}]
        await scene.end_agent()
        await person.until(lambda: not scene.middle.conversation.last_lines(), "its end")
        scene.fail({method: {"error": limit, "times": 1} for method in ("load", "resume", "new", "fork")})
        await person.say("say well after all")
        await scene.troubled(Trouble.RATE_LIMIT, "wra")
        assert scene.standing.problem.returned and person.draft == "say well after all"
        person.composer.insert("\n" + MEANWHILE)
        await scene.take("w")
        await person.to_tab(3, "ctrl+pagedown")
        scene.middle.trouble._clock = much_later
        await person.until(lambda: scene.middle.unread and not scene.middle.busy, "the answer")
        assert person.draft == DRAFT and scene.middle.draft == MEANWHILE
        await person.to_tab(2, "ctrl+pageup")
        await person.sees("  well after all")
        assert person.draft == MEANWHILE


async def test_r01_what_waits_can_be_kept_back_and_a_limit_that_has_passed_says_so(tmp_path: Path) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        limit = [*LIMIT[:2], {**LIMIT[2], "resetsAt": in_seconds(600)}]
        scene.fail({"prompt": {"error": limit, "times": 1}})
        await person.say("say well after all")
        await scene.troubled(Trouble.RATE_LIMIT, "wra")
        await scene.take("w")
        await person.sees("Retrying at")
        await scene.take("w")
        await person.sees_no("Retrying at")
        await scene.take("w")
        await person.sees("Retrying at")
        await person.press("escape")
        await person.sees_no("Retrying at")
        person.area.panels.trouble._clock = much_later
        person.area.panels.trouble._look()
        await person.sees("The limit reset at", "r Retry")
        assert scene.middle.trouble.standing is not None and not scene.middle.busy
        await scene.take("r")
        await person.sees("  well after all")


async def test_r01_what_waits_is_not_sent_where_the_person_did_something_else_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "LONGEST_NAP", 0.01)
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        limit = [*LIMIT[:2], {**LIMIT[2], "resetsAt": in_seconds(600)}]
        scene.fail({"prompt": {"error": limit, "times": 1}})
        await person.say("say well after all")
        await scene.troubled(Trouble.RATE_LIMIT, "wra")
        await scene.take("w")
        await person.sees("Retrying at")
        await person.say("/clear")
        await person.sees("context cleared")
        await person.sees_no("Retrying")
        scene.middle.trouble._clock = much_later
        await person.until(
            lambda: all(each.group != "acts" for each in person.app.workers), "what was begun there to end"
        )
        assert not scene.middle.busy and scene.middle.leaf_id != scene.standing.leaf_id


async def test_r01_nothing_waits_for_the_limit_of_a_tab_that_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "LONGEST_NAP", 0.01)
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        limit = [*LIMIT[:2], {**LIMIT[2], "resetsAt": in_seconds(600)}]
        scene.fail({"prompt": {"error": limit, "times": 1}})
        await person.say("say well after all")
        await scene.troubled(Trouble.RATE_LIMIT, "wra")
        await scene.take("w")
        await person.sees("Retrying at")
        await person.say("/close")
        await person.until(lambda: scene.middle not in person.tabs, "the tab to be closed")
        await person.until(
            lambda: all(each.group != "acts" for each in person.app.workers), "what was begun there to end"
        )


async def to_the_panel(person: Person) -> None:
    await person.idle()
    await person.press("tab")
    await person.until(lambda: person.area.place == "trouble", "the keys to go to the panel")


async def test_r01_whoever_leaves_while_a_prompt_waits_is_told_that_it_is_not_sent(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ratelimit early 600")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
        await to_the_panel(person)
        await person.press("w")
        await person.sees("Retrying at")
        app = person.app
    (line,) = app.unsent_lines
    assert line.startswith("Not sent: the prompt of “ratelimit early 600” that waited until ")


async def test_r01_after_a_restart_what_can_be_done_is_offered_again(tmp_path: Path) -> None:
    settings = of_the_middle(tmp_path)
    (tmp_path / "faults.json").write_text(json.dumps({"prompt": {"error": OVERLOAD, "times": 1}}))
    async with at_the_screen(
        str(tmp_path), agent=find_agent("middle", settings), settings=settings
    ) as person:
        await person.say("say well after all")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
    async with at_the_screen(str(tmp_path), settings=settings, choose=True) as person:
        await person.first_tab()
        await person.until(lambda: person.area.panels.trouble.can_act, "it to be offered again")
        await person.sees("r Retry", "a Continue with another agent")
        await person.writing()
        await to_the_panel(person)
        await person.press("r")
        await person.sees("  well after all")


async def test_r04_an_agent_killed_between_turns_is_no_trouble(tmp_path: Path) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.say("say before")
        await person.sees("  before")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        await scene.end_agent()
        await person.say("say after")
        await person.sees("  after")
        assert not person.area.panels.trouble.open
        await scene.untouched_elsewhere()


async def test_r04_an_agent_killed_while_it_asks_takes_its_question_along_and_asks_again(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.say("ask May I?")
        await person.until(lambda: scene.middle.asks, "the question")
        os.kill(agent_of(scene.middle), signal.SIGKILL)
        await scene.troubled(Trouble.AGENT_GONE, "rea")
        assert not scene.middle.asks
        await scene.take("r")
        await person.until(lambda: scene.middle.asks, "the question again")
        await person.until(lambda: person.area.place == "question", "the keys to go there")
        await person.press("y")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        await scene.untouched_elsewhere()


async def test_r04_an_agent_that_dies_while_it_gets_ready_is_started_again_by_the_next_prompt(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path, faults={"new": {"kill": True, "times": 1}}) as scene:
        await scene.troubled(Trouble.AGENT_GONE, "ea")
        await scene.person.say("say well after all")
        await scene.person.sees("  well after all")
        await scene.person.until(lambda: not scene.person.area.panels.trouble.open, "the trouble to be gone")
        await scene.untouched_elsewhere()


async def test_r04_the_agents_last_lines_can_be_read_and_hold_no_control_sequence(tmp_path: Path) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.say("flood stderr 5; say half of it; crash")
        await scene.troubled(Trouble.AGENT_GONE, "rea")
        await scene.take("e")
        await person.sees("Error output of Middle")
        last = scene.standing.problem.detail[-1].strip()
        assert last
        await person.sees(last[:40])
        await person.press("escape")
        await person.back()
        await person.press("escape")
        await person.say("/stderr")
        await person.sees("Error output of Middle", last[:40])
        await person.press("escape")
        await person.back()
        await scene.untouched_elsewhere()


async def test_r06_a_login_that_is_wanted_from_the_start_is_offered_and_the_prompt_goes_out_after_it(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path, "--auth=required") as scene:
        person = scene.person
        await scene.troubled(Trouble.LOGIN_NEEDED, "la")
        await person.say("say well after all")
        await person.until(lambda: person.draft, "the text to come back")

        def came_back() -> bool:
            standing = scene.middle.trouble.standing
            return standing is not None and standing.problem.returned and person.is_over(scene.middle)

        await person.until(came_back, "the trouble of the prompt")
        person.composer.insert("\n" + MEANWHILE)
        await scene.take("l")
        await person.sees("  well after all")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        assert person.draft == MEANWHILE
        await scene.untouched_elsewhere()


STALE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "-32002": ((), {"load": {"error": [-32002, "Resource not found"]}}),
    "-32602": ((), {"load": {"error": [-32602, "Session not found: x"]}}),
    "-32603": ((), {"load": {"error": [-32603, "Internal error", {"details": "no rollout found"}]}}),
    "null": ((), {"load": {"result": None}}),
    "another id": ((), {"load": {"other_id": True}}),
}


@pytest.mark.parametrize("case", STALE)
async def test_r07_a_stale_session_is_told_by_a_seam_and_the_conversation_goes_on(
    tmp_path: Path, case: str
) -> None:
    flags, faults = STALE[case]
    async with three_tabs(tmp_path, "--no-fork", *flags) as scene:
        person = scene.person
        await person.say("say before")
        await person.sees("  before")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        await scene.end_agent()
        scene.fail(faults)
        await person.say("echo")
        person.composer.insert(MEANWHILE)
        await person.sees("[heard]")
        seam = " · 2 messages replayed"
        await person.until(lambda: seam in " ".join(person.text.replace("╎", " ").split()), "the seam")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        assert not person.area.panels.trouble.open
        assert person.draft == MEANWHILE
        await scene.untouched_elsewhere()


async def test_r10_r11_a_silent_agent_is_stopped_then_ended_and_the_panel_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presenter, "STOP_PATIENCE", 0.3)
    monkeypatch.setattr(tab, "STOP_PATIENCE", 0.3)
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        await person.say("say half of it; hang hard")
        await person.sees("  half of it", "esc stop")
        person.composer.insert(MEANWHILE)
        await person.press("escape")
        await person.until(lambda: scene.middle.doing is Doing.STOPPING, "the stop to be asked for")
        await person.sees("Middle is not stopping.", "Esc kills its process; its partial answer is saved.")
        await person.press("escape")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        await person.sees_no("is not stopping")
        await person.sees("Middle was killed; its partial answer is saved.")
        assert person.draft == MEANWHILE and "  half of it" in person.text
        await scene.untouched_elsewhere()


async def test_r12_an_agent_that_is_missing_gives_the_text_back_and_another_one_gets_it(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path, agent="nowhere") as scene:
        person = scene.person
        await person.say("say well after all")
        await person.until(lambda: person.draft, "the text to come back")
        await scene.troubled(Trouble.AGENT_MISSING, "a")
        assert person.draft == "say well after all"
        person.composer.insert("\n")
        person.composer.insert(MEANWHILE)
        await scene.take("a")
        await scene.choose_agent("demo")
        await person.sees("  well after all")
        await person.until(lambda: not scene.middle.busy, "the turn to end")
        assert person.draft == MEANWHILE
        await scene.untouched_elsewhere()


async def test_r12_a_text_that_came_back_and_was_changed_is_not_sent_by_a_key_of_the_panel(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        scene.fail({"prompt": {"error": [-32603, "no"]}})
        await person.say("say well after all")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
        assert person.draft == "say well after all"
        await person.type(", or not")
        await scene.take("r")
        await person.sees("You edited the prompt")
        assert person.draft == "say well after all, or not"


async def test_r12_a_retry_that_is_typed_in_the_place_of_a_text_that_came_back_sends_that_text(
    tmp_path: Path,
) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        scene.fail({"prompt": {"error": [-32603, "no"]}})
        await person.say("say well after all")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
        scene.fail({})
        await person.press("ctrl+u")
        await person.say("/retry")
        await person.sees("  well after all")
        assert person.draft == ""


async def test_trouble_of_another_tab_is_a_mark_and_is_there_when_it_is_looked_at(tmp_path: Path) -> None:
    async with three_tabs(tmp_path) as scene:
        person = scene.person
        async with person.agent_held():
            await person.say("say half of it; overload")
            await person.until(lambda: scene.middle.at_work, "the turn")
            await person.to_tab(3, "ctrl+pagedown")
        await person.until(lambda: scene.middle.mark == "!", "the mark")
        assert not person.area.panels.trouble.open and person.draft == DRAFT
        await person.to_tab(2, "ctrl+pageup")
        await person.until(lambda: person.area.panels.trouble.can_act, "the trouble")
        await person.to_tab(3, "ctrl+pagedown")
        await person.until(lambda: not person.area.panels.trouble.open, "the third tab has none")
        await person.to_tab(2, "ctrl+pageup")
        await person.until(lambda: person.area.panels.trouble.can_act, "it is still there")


async def test_escape_leaves_the_panel_and_a_second_one_puts_it_away_for_good(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say half of it; overload")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
        await to_the_panel(person)
        await person.press("escape")
        await person.writing()
        assert person.area.place == "composer" and person.area.panels.trouble.open
        await person.press("escape")
        await person.until(lambda: not person.area.panels.trouble.open, "it to be gone")
        await person.new_tab()
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("  half of it")
        assert not person.area.panels.trouble.open


async def test_a_click_on_an_offer_does_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say half of it; overload")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
        await person.sees("a Continue with another agent")
        lines = person.text.splitlines()
        y = next(at for at, line in enumerate(lines) if "Continue with another agent" in line)
        await person.pilot.click(offset=(lines[y].index("Continue") + 2, y))
        await person.sees("Continue with which agent?")
        await person.press("escape")
        await person.back()
        await person.until(lambda: person.area.panels.trouble.can_act, "the offers to stay")


async def test_p11_the_price_of_another_agent_stands_beside_that_of_a_retry(tmp_path: Path) -> None:
    other = AgentSetting("other", (sys.executable, "-m", "catena_acp.rehearsal", "--name", "other"), "Other")
    settings = Settings(agents={"other": other})
    agent = find_agent("rehearsal", settings)
    async with at_the_screen(str(tmp_path), agent=agent, settings=settings) as person:
        await person.answered("say the first answer")
        await person.say("say half of it; overload")
        await person.sees("Continue with another agent", "2 messages replayed, ~")
        retry = next(line for line in person.text.splitlines() if " Retry " in line and " r " in line)
        # A fork for it may be there already.
        assert "nothing replayed" in retry or "2 messages replayed" in retry


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40)])
async def test_s01_the_panel_has_room_on_every_screen_and_hides_neither_composer_nor_status(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with at_the_screen(str(tmp_path), size=size) as person:
        await person.say("say half of it; ratelimit 600")
        await person.until(lambda: person.area.panels.trouble.can_act, "something to be offered")
        await person.type("still typing")
        await person.sees("still typing", "Ask", "tab to choose" if size[0] >= 60 else "until…   tab")
        await to_the_panel(person)
        await person.sees(
            "r Retry", "a Continue with another agent" if size[0] >= 60 else "a Other agent", "Ask"
        )

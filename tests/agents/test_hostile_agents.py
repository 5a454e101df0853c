"""Agents that misbehave in every way that we could think of: the client, the other tabs and what was said live on."""

from __future__ import annotations

import asyncio
import re
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.port.elicitation.requests import DECLINE
from catena_acp.protocol import callbacks
from catena_acp.rehearsal.scenes import prose
from catena_store.conversations import messages
from catena_store.records import Kind, Message
from support.agents.hostile import MISDEEDS
from support.counted_work import turns_counted
from support.places import HOSTILE_AGENT
from support.screen.pilot import Person, at_the_screen

# Calls in one turn of the loop, during which no key is heard. The longest list takes half a million, and on a busy
# machine the next message may have come by then; a whole flood takes many times as many.
FREEZE = 2_000_000
ROOM = 400 * 1024 * 1024  # bytes of memory that a flood may cost
WORDS = 60  # of the neighbour's answer
# What a terminal would obey, or what turns the order of a line round.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@dataclass
class Scene:
    """The first tab streams from an honest agent; the second one's agent is hostile, and looked at."""

    place: Path
    person: Person
    neighbour: Tab
    hostile: Tab

    async def rows(self, tab: Tab) -> list[Message]:
        """The tab's branch, as the store has it."""
        assert self.person.chat is not None
        tabs = self.person.chat.context.tabs
        return await tabs.branches.of_branch(tab, lambda reader, leaf: messages.page(reader, leaf, 100_000))

    async def said(self, tab: Tab) -> str:
        """All that the agents of a tab said, as the store has it."""
        return "".join(row.text for row in await self.rows(tab) if row.kind is Kind.AGENT)

    async def sit_through(self, case: Case) -> None:
        """Answer what is asked, and stop or end what does not end by itself."""
        hostile, conversation = self.hostile, self.hostile.conversation
        if case.stopped:
            while not await self.said(hostile):
                await self.person.pilot.pause(0.01)
            await conversation.window(hostile.window_id).stop()
        if case.killed:
            await conversation.window(hostile.window_id).kill_agent()

        answered: set[str] = set()

        def over() -> bool:
            for ask in hostile.asks[:1]:  # as a person does: the next one when this one is settled
                if ask.ask_id in answered:
                    break
                answered.add(ask.ask_id)
                if isinstance(ask, PermissionOpened):
                    option_id = ask.options[0].id if ask.options else None
                    self.person.chat.context.run(conversation.answer(ask.ask_id, option_id))
                else:
                    self.person.chat.context.run(conversation.answer_elicitation(ask.ask_id, DECLINE))
            return self.person.is_over(hostile)

        # Every call is counted meanwhile, and some misdeeds make millions of them.
        await self.person.until(over, "the turn to end", patience=3)

    async def goes_on_honestly(self, told: str) -> None:
        """The same tab, with an honest agent: it is told what was said, and answers."""
        person = self.person
        await person.say("/agent rehearsal")
        await person.until(lambda: self.hostile.agent == "rehearsal", "the honest agent")
        await person.answered("echo")
        said = await self.said(self.hostile)
        assert told in said[said.rindex("[heard]") :]


@asynccontextmanager
async def two_tabs(place: Path, misdeed: str = "") -> AsyncIterator[Scene]:
    command = (sys.executable, str(HOSTILE_AGENT))
    settings = Settings(
        agents={"hostile": AgentSetting("hostile", command, "Hostile", (("MISDEED", misdeed),))}
    )
    here = place / "here"
    here.mkdir()
    rehearsal = find_agent("rehearsal", settings)
    async with at_the_screen(str(here), agent=rehearsal, settings=settings) as person:
        acts = person.chat.context
        assert acts is not None
        acts.run(person.chat.actions.act("catena.acts.agents:new", name="hostile"))
        await person.until(lambda: len(person.tabs) == 2, "another tab")
        await person.looks_at(person.tabs[1])
        neighbour, hostile = person.tabs
        yield Scene(place, person, neighbour, hostile)


@dataclass(frozen=True)
class Case:
    """A misdeed, and how its turn ends: ``notice`` is what the person reads where that is no good end."""

    notice: str | None = None
    stopped: bool = False  # it goes on until the person stops it
    killed: bool = False  # … and does not even heed that
    before: bool = True
    after: bool = True
    told: bool = True  # so little that the next agent is told all of it


WELL = Case()
REFUSED = Case("Hostile refused:", after=False)
STOPPED = Case("Stopped by you.", stopped=True, after=False)
CLOSED = Case("Hostile closed its connection.", after=False)

CASES = {
    "garbage": WELL,
    "not-objects": WELL,
    "batches": WELL,
    "small-garbage": WELL,
    "odd-ids": WELL,
    "odd-methods": WELL,
    "forged-meta": WELL,
    "foreign-sessions": WELL,
    "foreign-floods": WELL,
    "everything-twice": WELL,
    "huge-text": WELL,
    "line-without-end": WELL,
    "stderr-flood": WELL,
    "wrong-answers": WELL,
    "answers-twice": WELL,
    "error-of-odd-shape": REFUSED,
    "error-of-many-words": REFUSED,
    "stop-reason-of-another-type": Case("does not say why the turn ended", after=False),
    "unknown-stop-reason": WELL,
    "never-answers": STOPPED,
    "cancel-answered-with-an-error": STOPPED,
    "answers-first": Case(before=False, after=False),
    "asks-after-the-end": WELL,
    "no-utf8": WELL,
    "banners": WELL,
    "control-sequences": WELL,
    "control-sequences-in-an-error": REFUSED,
    "many-tool-calls": WELL,
    "many-questions": WELL,
    "many-chunks": WELL,
    "many-unjoinable-chunks": WELL,
    "deep-json": WELL,
    "odd-numbers": WELL,
    "huge-names": WELL,
    "long-lists": WELL,
    "markup-bombs": WELL,
    "odd-updates": WELL,
    "odd-settings": WELL,
    "odd-questions": WELL,
    "question-without-options": WELL,
    "ids-again": WELL,
    "odd-forms": WELL,
    "not-offered": WELL,
    "odd-terminals": WELL,
    "paths": WELL,
    "many-files": WELL,
    "exits": Case("Hostile exited.", after=False),
    "grandchild-keeps-stdout": Case("Hostile exited with status 3.", after=False),
    "closes-stdout": CLOSED,
    "closes-stdin": CLOSED,
    # Ended by us, it may close its connection before it is seen to be killed.
    "deaf": Case(
        "Its partial answer is saved. Your next prompt restarts it.", stopped=True, killed=True, after=False
    ),
    "talks-for-ever": Case("Stopped by you.", stopped=True, after=False, told=False),
}


def test_every_misdeed_is_tried() -> None:
    assert CASES.keys() == MISDEEDS.keys()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", CASES)
async def test_w27_r04_whatever_an_agent_does_keys_other_tabs_and_what_was_said_live_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case = CASES[name]
    monkeypatch.setattr(callbacks, "MAX_QUESTIONS", 40)  # each of them is drawn, and answered
    async with two_tabs(tmp_path) as scene:
        person, hostile, neighbour = scene.person, scene.hostile, scene.neighbour
        await person.until(lambda: hostile.session, "its session")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with turns_counted() as turns:
            await neighbour.window.say(f"stream {WORDS} rate 200 end=CURTAIN")
            await person.press("k")  # before it may ask: what is written keeps the keys
            await hostile.window.say(name)
            await person.press("k")
            assert person.draft == "kk"
            await scene.sit_through(case)
            await person.until(lambda: person.is_over(neighbour), "the neighbour's answer")
        assert turns.busiest < FREEZE
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < ROOM // 1024
        assert await scene.said(neighbour) == "".join(prose.stream_of_words(WORDS, "CURTAIN"))
        assert neighbour.trouble.standing is None
        said = await scene.said(hostile)
        assert (f"before {name}." in said, f"after {name}." in said) == (case.before, case.after)
        assert "FOREIGN" not in said and "FORGED" not in said
        if case.notice:
            notices = [row.text for row in await scene.rows(hostile) if row.kind is Kind.NOTICE]
            assert case.notice in notices[-1] and len(notices[-1]) < 20_000
        assert not UNSAFE.search(person.text)
        await scene.goes_on_honestly(name if case.told else "[Catena")


BAD_STARTS = {
    "version-99": "speaks version 99",
    "version-x": "no protocol version",
    "version-missing": "no protocol version",
    "initialize-null": "no protocol version",
    "initialize-list": "no protocol version",
    "exits-in-initialize": "exited",
    "silent-initialize": None,
    "silent-new": None,
    "new-null": "names no session",
    "new-text": "names no session",
    "new-blank": "names no session",
    "new-number": "names no session",
    "new-huge": "names a session with more than",
    "dies-in-new": "exited with status 9",
}


@pytest.mark.parametrize("misdeed", BAD_STARTS)
async def test_w27_r12_an_agent_that_begins_badly_gives_the_prompt_back_and_another_one_gets_it(
    tmp_path: Path, misdeed: str
) -> None:
    why = BAD_STARTS[misdeed]
    async with two_tabs(tmp_path, misdeed) as scene:
        person, hostile, neighbour = scene.person, scene.hostile, scene.neighbour
        with turns_counted() as turns:
            await neighbour.window.say(f"stream {WORDS} rate 200 end=CURTAIN")
            await person.say("say my precious words")
            if why is None:
                await person.until(lambda: hostile.busy, "it to be waited for")
                await hostile.window.stop()
            await person.until(lambda: "say my precious words" in person.draft, "the text to come back")
            await person.until(
                lambda: person.is_over(neighbour) and person.is_over(hostile), "the neighbour's answer"
            )
        assert turns.busiest < FREEZE
        assert await scene.said(neighbour) == "".join(prose.stream_of_words(WORDS, "CURTAIN"))
        if why is not None:
            assert hostile.trouble.standing is not None
            assert why in hostile.trouble.standing.problem.text
        assert not UNSAFE.search(person.text)
        person.composer.put("")
        await scene.goes_on_honestly("echo")


ODD_STARTS = (
    "banner-first",
    "evil-names",
    "huge-names-first",
    *(f"odd-capabilities-{number}" for number in range(5)),
    "unknown-mode",
    "replay-after-the-answer",
)


@pytest.mark.parametrize("misdeed", ODD_STARTS)
async def test_w27_an_agent_that_begins_oddly_can_be_talked_with_and_comes_back(
    tmp_path: Path, misdeed: str
) -> None:
    async with two_tabs(tmp_path, misdeed) as scene:
        person, hostile = scene.person, scene.hostile
        with turns_counted() as turns:
            await person.say("exits")
            await person.until(lambda: hostile.trouble.standing and person.is_over(hostile), "its end")
            await person.answered("something")
        assert turns.busiest < FREEZE
        said = await scene.said(hostile)
        assert "before exits." in said and "I do not know something." in said
        assert not UNSAFE.search(person.text)
        await scene.goes_on_honestly("something")


async def test_w27_a_setting_that_is_never_answered_holds_nothing_up(tmp_path: Path) -> None:
    async with two_tabs(tmp_path, "silent-settings") as scene:
        person, hostile = scene.person, scene.hostile
        await person.answered("garbage")
        setting = asyncio.create_task(hostile.window.set_mode("m"))
        await person.press("k")
        assert person.draft == "k"
        await person.answered("banners")
        assert "after banners." in await scene.said(hostile)
        assert not setting.done()
        setting.cancel()
        await scene.goes_on_honestly("banners")

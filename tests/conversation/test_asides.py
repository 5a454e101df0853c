"""Asides: asked of real agent processes, and leaving no trace in the conversation or in its session upstream."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import MessageGrew, PermissionOpened
from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.prior_context import BEGIN
from catena_acp.continuity.services import WhileIdle
from catena_acp.conversation.asides import asides
from catena_acp.conversation.asides.asides import Aside, AsideEnded, AsideEvent, AsideOpened, AsideRewound
from catena_acp.conversation.asides.session import AsideSessionOpener
from catena_acp.errors import NoCheckpoint, NotAQuestion, StillAtWork
from catena_acp.port.port import AgentSpec
from catena_store.conversations import conversations
from catena_store.errors import StoreFull
from catena_store.records import Cause, ContextSource, Kind, Link, LinkState, StopReason
from catena_store.windows import inputs
from support.conversations.rehearsed import Desk, World
from support.places import SCRIPTED_AGENT
from support.storage.paths import path_below


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def asked(aside: Aside, question: str) -> tuple[list[AsideEvent], AsideEnded]:
    """A whole question and everything that came of it."""
    news = [each async for each in aside.ask(question)]
    end = news[-1]
    assert isinstance(end, AsideEnded)
    return news, end


def words_of(news: list[AsideEvent]) -> list[str]:
    return [each.words for each in news if isinstance(each, AsideOpened)]


async def store_hash(desk: Desk) -> str:
    """Of everything that the store has of the conversation, but for the asides' links."""
    async with desk.db.read() as reader:
        found = [
            await reader.all(f"SELECT * FROM {table} ORDER BY 1")
            for table in ("message", "turn", "window", "conversation", "link WHERE cause <> 'aside'")
        ]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def transcript(world: World, link: Link) -> Path:
    """The agent's own file of a session."""
    (found,) = (world.place / "rehearsal").rglob(f"{link.session_id}.jsonl")
    return found


async def asides_of(desk: Desk) -> list[Link]:
    return [link for link in await desk.links() if link.cause is Cause.ASIDE]


async def test_a01_an_aside_is_asked_of_a_fork_and_leaves_no_trace(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        (trunk,) = await desk.links()
        before = await store_hash(desk), transcript(world, trunk).read_bytes()

        aside = await desk.conversation.asides.begin(desk.window)
        assert aside.price.native
        news, end = await asked(aside, "echo")
        assert (end.stop, end.problem) == (StopReason.END_TURN, None)
        assert words_of(news) == ["session forked"]
        assert "users=3 assistants=2" in aside.text and "all=say one|say two|" in aside.text
        assert [row.kind for row in aside.rows] == [Kind.USER, Kind.AGENT]
        news, _ = await asked(aside, "say more; echo")
        assert words_of(news) == [] and "users=4" in aside.text, "a follow-up goes to the same session"
        assert len(world.requests("session/fork")) == 1
        (link,) = await asides_of(desk)
        assert (link.state, link.source_id, link.owner) == (LinkState.SUSPECT, trunk.id, None)
        await aside.close()

        assert (await store_hash(desk), transcript(world, trunk).read_bytes()) == before
        await desk.say("echo")
        assert world.prompts()[-1] == ["echo"], "the bare prompt"
        answer = (await desk.branch())[-1]
        assert "users=3 assistants=2" in answer.text and "say more" not in answer.text
        assert answer.link_id == trunk.id, "in the session that it was in"


async def test_a01_while_a_turn_runs_the_aside_is_of_the_end_of_the_turn_before(world: World) -> None:
    async with world.client("--fork-at", while_idle=WhileIdle(probe=True)) as desk:
        await desk.say("say one")
        await desk.window.settled()
        forks = len(world.requests("session/fork"))
        await desk.window.say("say begun; ask may I?; say done")
        question = await desk.until_told(PermissionOpened)
        aside = await desk.conversation.asides.begin(desk.window)
        news, end = await asked(aside, "echo")
        assert end.problem is None and len(world.requests("session/fork")) == forks + 1
        assert words_of(news) == ["session forked at this point"]
        assert "all=say one|" in aside.text and "begun" not in aside.text
        await aside.close()
        await desk.conversation.answer(question.ask_id, question.options[0].id)
        await desk.window.wait_idle()
        assert (await desk.branch())[-1].text.endswith("done"), "the turn went on untouched"


async def test_a04_while_a_turn_runs_and_nothing_can_be_forked_there_the_aside_is_told(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("say begun; ask may I?; say done")
        question = await desk.until_told(PermissionOpened)
        aside = await desk.conversation.asides.begin(desk.window)
        news, _ = await asked(aside, "echo")
        assert words_of(news) == ["new session · 2 messages replayed"]
        told = world.prompts()[-1]
        assert told[0].startswith(BEGIN) and "say one" in told[0] and "begun" not in told[0]
        await aside.close()
        await desk.conversation.answer(question.ask_id, question.options[0].id)
        await desk.window.wait_idle()
        assert len([link for link in await desk.links() if link.cause is Cause.NEW]) == 1


async def test_a04_without_a_native_fork_a_session_is_told_and_the_price_is_said(world: World) -> None:
    async with world.client("--no-fork") as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        assert aside.price.words.startswith("2 messages replayed, ~")
        news, _ = await asked(aside, "echo")
        assert words_of(news) == ["Rehearsal cannot fork: new session · 2 messages replayed"]
        assert world.prompts()[-1][0].startswith(BEGIN) and world.requests("session/fork") == []
        await asked(aside, "say again")
        assert not world.prompts()[-1][0].startswith(BEGIN), "told once"
        await aside.close()
        await desk.say("echo")
        assert world.prompts()[-1] == ["echo"] and "users=2" in (await desk.branch())[-1].text


async def test_a04_an_empty_conversation_can_be_asked_beside_and_still_leaves_no_trace(world: World) -> None:
    async with world.client() as desk:
        aside = await desk.conversation.asides.begin(desk.window)
        news, _ = await asked(aside, "say hello")
        assert words_of(news) == ["new session"]
        assert aside.text == "hello"
        await aside.close()
        async with desk.db.write() as tx:
            assert await conversations.delete_if_empty(tx, desk.conversation.id)


@pytest.mark.parametrize("flags", [(), ("--no-delete",)])
async def test_a03_the_fork_is_closed_and_deleted_where_that_is_offered_and_shows_nowhere(
    world: World, flags: tuple[str, ...]
) -> None:
    async with world.client(*flags) as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        await asked(aside, "say beside")
        (link,) = await asides_of(desk)
        file = transcript(world, link)
        await aside.close()
        closed = [each["params"]["sessionId"] for each in world.requests("session/close")]
        assert closed == [link.session_id]
        assert file.exists() is bool(flags)
        (link,) = await asides_of(desk)
        assert (link.state, link.ended) == (LinkState.LOST, "the side question was closed")
        chain = await desk.conversation.chain.read(desk.window)
        assert (len(chain.entries), chain.folded) == (1, 1)
        async with desk.db.read() as reader:
            assert len(await conversations.page(reader, limit=10)) == 1
            found = await reader.all("SELECT 1 FROM message WHERE text LIKE '%beside%'")
        assert found == []
        with pytest.raises(StillAtWork):
            await asked(aside, "say too late")


async def test_a03_an_aside_that_is_open_when_the_client_leaves_is_thrown_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asides, "_ENDING_SECONDS", 60)  # however slow the machine is
    async with world.client() as desk:
        await desk.say("say one")
        await asked(await desk.conversation.asides.begin(desk.window), "say beside")
        (link,) = await asides_of(desk)
        file = transcript(world, link)
    assert not file.exists()


async def test_a03_what_an_agents_death_left_open_is_swept_when_it_runs_again(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        _, end = await asked(aside, "say beside; crash")
        assert end.stop is StopReason.AGENT_GONE and end.problem is not None
        assert "was killed" in end.problem and aside.text.startswith("beside")
        await aside.close()
        (left,) = await asides_of(desk)
        assert left.state is LinkState.SUSPECT and transcript(world, left).exists()
    async with world.client(resume=desk) as desk:
        kept = await desk.conversation.asides.begin(desk.window)
        await asked(kept, "say this one stays")
        await world.heard("session/delete")
        async with asyncio.timeout(60):
            while (await asides_of(desk))[0].state is not LinkState.LOST:  # noqa: ASYNC110 - nobody tells it
                await asyncio.sleep(0.01)
        assert kept._session is not None
        await desk.conversation.asides.sweep(kept._session.agent)
        swept, mine = await asides_of(desk)
        assert swept.ended == "the side question was left open"
        assert mine.state is LinkState.SUSPECT, "one that is open is left alone"
        deleted = [each["params"]["sessionId"] for each in world.requests("session/delete")]
        assert deleted == [left.session_id]
        await asked(kept, "echo")
        assert "this one stays" in kept.text
        await kept.close()


async def test_a01_where_the_agent_ended_the_next_question_begins_anew_and_that_is_said(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        await asked(aside, "crash")
        news, end = await asked(aside, "echo")
        assert end.problem is None
        assert words_of(news) == ["session forked · side question: 2 messages replayed"]
        assert "users=2 assistants=1" in aside.text
        assert any("the questions above were replayed" in row.text for row in aside.rows)
        told, _introduction, question = world.prompts()[-1]
        assert "> crash" in told and question == "echo"
        await aside.close()


async def test_k12_a_question_is_asked_otherwise_and_its_session_has_heard_nothing_of_it(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say trunk")
        (trunk,) = await desk.links()
        before = await store_hash(desk), transcript(world, trunk).read_bytes()
        kept = await desk.conversation.checkpoints.all()
        aside = await desk.conversation.asides.begin(desk.window)
        for question in ("say canary-one", "tool read README.md; say canary-two", "say canary-three"):
            await asked(aside, question)
        first, second, _third = [row for row in aside.rows if row.kind is Kind.USER]
        assert aside.price_of(first.id).native and aside.price_of(second.id).told == 2

        news = [each async for each in aside.ask("echo", instead_of=second.id)]
        rewound = news[0]
        assert isinstance(rewound, AsideRewound)
        assert [row.text for row in rewound.rows] == ["say canary-one", "canary-one"]
        assert words_of(news) == ["session forked · side question: 2 messages replayed"]
        assert [row.text for row in aside.rows if row.kind is Kind.USER] == ["say canary-one", "echo"]
        told, _introduction, prompt = world.prompts()[-1]
        assert "> canary-one" in told and prompt == "echo"
        assert "canary-two" not in told and "README" not in told
        assert "all=say trunk|" in aside.text, "its session is another fork of the conversation's"
        old, new = await asides_of(desk)
        assert (old.state, new.state) == (LinkState.LOST, LinkState.SUSPECT)
        assert [entry["params"]["sessionId"] for entry in world.requests("session/delete")] == [
            old.session_id
        ]

        # What was taken back is no checkpoint any more; what replaced it is one.
        with pytest.raises(NoCheckpoint):
            [each async for each in aside.ask("echo", instead_of=second.id)]
        await asked(aside, "say more")
        assert len(world.prompts()[-1]) == 2, "a follow-up is told nothing"
        news = [each async for each in aside.ask("context", instead_of=first.id)]
        assert words_of(news) == ["session forked"]
        assert "canary" not in aside.text and aside.rows[0].text == "context"
        await aside.close()
        assert all(link.state is LinkState.LOST for link in await asides_of(desk))
        assert (await store_hash(desk), transcript(world, trunk).read_bytes()) == before
        assert await desk.conversation.checkpoints.all() == kept, "they are in memory"


async def test_a01_an_aside_only_reads(world: World) -> None:
    notes = world.project / "notes.txt"
    async with world.client() as desk:
        (world.project / "known.txt").write_text("what stands in it")
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        _, end = await asked(aside, "edit notes.txt")
        (notice,) = [row for row in aside.rows if row.kind is Kind.NOTICE]
        assert notice.text.startswith("Rehearsal tried to do more than read: ")
        assert notice.text.endswith("Side questions are read-only, so this was denied.")
        assert end.stop is StopReason.END_TURN and desk.window.asked == []
        await asked(aside, "write notes.txt no; read known.txt")
        assert not notes.exists()
        written, read = [row for row in aside.rows if row.kind is Kind.TOOL][-2:]
        assert (written.data["status"], read.data["status"]) == ("failed", "completed")
        await aside.close()
        await desk.say("write notes.txt yes")
        assert notes.read_text() == "yes\n", "the conversation itself may"


READER = """
def session_prompt(agent, request):
    session = request["params"]["sessionId"]
    place = {"locations": [{"path": "notes.txt"}]} if "stands" in request["params"]["prompt"][-1]["text"] else {}
    call = {"toolCallId": "t", "title": "Read it", "kind": "read", **place}
    options = [
        {"optionId": "ever", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Once", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    agent.send({"id": "ask", "method": "session/request_permission",
                "params": {"sessionId": session, "toolCall": call, "options": options}})
    chosen = agent.read()["result"]["outcome"]["optionId"]
    agent.send(agent.text(session, "chose " + chosen), agent.result(request, {"stopReason": "end_turn"}))
"""


async def test_a01_reading_is_allowed_once_and_no_more(world: World) -> None:
    environment = (("SCRIPT", READER), ("HEARD", str(world.place / "scripted.jsonl")))
    spec = AgentSpec("reader", "Reader", (sys.executable, str(SCRIPTED_AGENT)), environment)
    async with world.client(specs={"reader": spec}, agent="reader") as desk:
        aside = await desk.conversation.asides.begin(desk.window)
        await asked(aside, "what stands there?")
        assert aside.text == "chose once"
        assert [row for row in aside.rows if row.kind is Kind.NOTICE] == []
        await asked(aside, "and what else?")
        assert aside.text == "chose no", "a title is no certainty"
        await aside.close()


async def test_a01_a_question_that_is_stopped_or_left_is_stopped_upstream_too(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        news: list[AsideEvent] = []
        async for each in aside.ask("say half; hang"):
            news.append(each)
            if isinstance(each, MessageGrew) or (aside.text and aside.busy):
                with pytest.raises(StillAtWork):
                    await asked(aside, "say meanwhile")
                await aside.stop()
        assert news[-1] == AsideEnded(StopReason.CANCELLED, None) and aside.text == "half"
        leaving = asyncio.ensure_future(asked(aside, "hang"))
        await world.heard("session/prompt", 3)
        await aside.close()
        _, end = await leaving
        assert end.stop is StopReason.CANCELLED
        (link,) = await asides_of(desk)
        assert link.state is LinkState.LOST
        assert await desk.say("say on") and (await desk.branch())[-1].text == "on"


async def test_a01_an_aside_left_while_its_session_opens_leaves_none_behind(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"fork": {"cue": "go-on"}})
        aside = await desk.conversation.asides.begin(desk.window)
        leaving = asyncio.ensure_future(asked(aside, "say never"))
        await world.heard("session/fork")
        closing = asyncio.ensure_future(aside.close())
        await asyncio.sleep(0)
        world.cue("go-on")
        await asyncio.gather(closing, leaving)
        (link,) = await asides_of(desk)
        assert link.state is LinkState.LOST and len(world.requests("session/delete")) == 1
        assert len(world.prompts()) == 1, "it was asked nothing"


async def test_a01_what_is_said_in_the_conversation_meanwhile_is_not_in_the_aside(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"fork": {"cue": "go-on"}})
        aside = await desk.conversation.asides.begin(desk.window)
        asking = asyncio.ensure_future(asked(aside, "echo"))
        await world.heard("session/fork")
        await desk.say("say meanwhile")
        world.cue("go-on")
        news, _ = await asking
        assert words_of(news) == ["new session · 2 messages replayed"]
        assert "say one" in aside.text and "meanwhile" not in aside.text
        assert [link.cause for link in await desk.links()] == [Cause.NEW, Cause.ASIDE]
        await aside.close()
        assert len(world.requests("session/delete")) == 2, "the fork that came too late is gone, too"


async def test_a01_what_goes_wrong_is_said_and_what_was_typed_is_kept(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        world.fail({"prompt": {"error": [-32603, "Overloaded", {"status": 529}], "times": 1}})
        _, end = await asked(aside, "say what?")
        assert end.stop is StopReason.ERROR and "overloaded" in (end.problem or "")
        with pytest.raises(NotAQuestion):
            await asked(aside, "/compact")
        await aside.close()
        world.fail({"fork": {"login": True}})
        aside = await desk.conversation.asides.begin(desk.window)
        _, end = await asked(aside, "say who?")
        assert "needs a login" in (end.problem or "")
        assert len(world.requests("session/new")) == 1, "a new session would want the same"
        await aside.close()
        async with desk.db.read() as reader:
            typed = [text for _, text in await inputs.recent(reader)]
        assert typed[:2] == ["say who?", "say what?"]


async def test_a03_no_prompt_ever_goes_to_an_asides_session(world: World) -> None:
    async with world.client("--fork-at") as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        await asked(aside, "say beside")
        (trunk,) = [link for link in await desk.links() if link.cause is Cause.NEW]
        (link,) = await asides_of(desk)
        path = path_below([(row.id, row.kind) for row in await desk.branch()])
        situation = route.Situation(
            target=route.Target("rehearsal", "", str(world.project)),
            conversation_id=desk.conversation.id,
            window_id=desk.window_id,
            path=path,
            links=[replace(trunk, id=link.id, state=state, cause=Cause.ASIDE) for state in LinkState],
            busy=frozenset(),
            clean_turns=[replace(turn, link_id=link.id) for turn in await desk.turns()],
            open_windows=frozenset(),
            warm=frozenset({link.id}),
            powers=route.SessionCapabilities(reopens=True, forks=True, forks_at=True),
        )
        assert route.candidates(situation) == [route.New()]
        assert len(route.candidates(replace(situation, links=[trunk]))) > 1
        await aside.close()


async def test_a01_the_branchs_model_answers_in_the_agents_own_mode(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.set_option("model", "lead")
        await desk.window.set_mode("code")
        await desk.say("say two")
        aside = await desk.conversation.asides.begin(desk.window)
        await asked(aside, "settings")
        assert "mode=ask model=lead" in aside.text
        await aside.close()
        world.fail({"set_config_option": {"error": [-32603, "not today"]}})
        aside = await desk.conversation.asides.begin(desk.window)
        await asked(aside, "settings")
        (notice,) = [row for row in aside.rows if row.kind is Kind.NOTICE]
        assert notice.text.startswith(
            "Rehearsal answers with different settings than the conversation: Model"
        )
        await aside.close()
        await desk.say("settings")
        assert "mode=code model=lead" in (await desk.branch())[-1].text


async def test_a03_a_session_that_a_link_has_is_not_deleted_where_an_aside_is_answered_with_it_and_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> Link:
        raise StoreFull(world.store)

    async with world.client("--no-fork") as desk:
        await desk.say("say one")
        world.fail({"new": {"same_id": True}})
        with monkeypatch.context() as full:
            full.setattr(AsideSessionOpener, "_add", refuse)
            await asked(await desk.conversation.asides.begin(desk.window), "say beside")
        assert len(world.requests("session/new")) == 2
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.CONTINUED
    assert world.requests("session/delete") == []


async def test_a03_what_a_client_could_not_end_before_it_left_is_swept_by_the_next(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await asked(await desk.conversation.asides.begin(desk.window), "say beside")
        (left,) = await asides_of(desk)
        world.fail({"close": {"kill": True}})
    world.fail({})
    async with world.client(resume=desk) as desk:
        assert (await asides_of(desk))[0].state is LinkState.SUSPECT
        assert transcript(world, left).exists()
        await desk.say("echo")
        assert "beside" not in (await desk.branch())[-1].text
        await world.heard("session/delete")
        assert [each["params"]["sessionId"] for each in world.requests("session/delete")] == [left.session_id]

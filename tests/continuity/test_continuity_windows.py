"""Windows, forks and late words: sessions that several could want, over a real store file and the model agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

from catena_acp.continuity.conversation_events import ConversationEvent, MessageAdded, TurnEnded
from catena_acp.continuity.routing.prior_context import without_prior_context
from catena_acp.errors import AgentRefused
from catena_acp.port.session_events import TextChunk
from catena_store.chains import links
from catena_store.conversations import messages
from catena_store.records import ContextSource, Kind, MessageState, StopReason
from support.agents.model import Profile, Running, Said, Upstream
from support.conversations.modelled import (
    another_window,
    answering,
    client,
    forked,
    how,
    limited,
    rewind,
    waiting,
)


async def test_9_a_second_window_forks_and_both_sessions_hold_only_their_own_branch(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("trunk")
        second = await another_window(desk, (await desk.stored_window()).leaf_id)
        await desk.say("left")
        assert how(await second.say("right")) in (ContextSource.FORKED, ContextSource.TOLD)
        await desk.say("left again")
        await second.say("right again")
    (one, _), (two, _) = model.prompts[-2:]
    assert one != two
    assert "right" not in model.heard_in(one)
    assert "left" not in model.heard_in(two)
    assert "trunk" in model.heard_in(two)


async def test_9_a_forked_conversation_goes_on_in_a_session_of_its_own(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("trunk")
        branch = await forked(desk)
        assert how(await branch.say("branch")) is ContextSource.FORKED
        assert how(await desk.say("trunk goes on")) is ContextSource.CONTINUED
    assert model.prompts[-2][1] == ("branch",)
    assert "branch" not in model.heard_in(model.prompts[-1][0])


async def test_9_a_session_that_was_opened_only_to_be_forked_still_answers_its_own_conversation(
    tmp_path: Path,
) -> None:
    """Its answer once went to the conversation that had opened it."""
    model = Upstream(profile=Profile(fork_cold=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("trunk")
        branch = await forked(desk)
        model.agents[-1].die()
        assert how(await branch.say("branch")) is ContextSource.FORKED
        over = await desk.say("trunk goes on")
        assert over.problem is None
        assert [row.text for row in await desk.branch()][-1] == "heard trunk goes on"


async def test_f09_a_message_that_is_told_while_it_grows_is_not_taken_for_known(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(fork=False), scene=waiting)
    async with client(tmp_path, model) as desk:
        await desk.window.say("one")
        growing = await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        model.scene = answering
        second = await another_window(desk, growing.message.id)
        over = await second.say("two")
        assert over.turn is not None
        assert "> one moment" in model.prompts[-1][1][0]
        assert over.turn.unabridged_from == over.turn.prompt_id


async def test_closing_a_tab_in_mid_turn_and_with_it_the_conversation_keeps_what_was_said(
    tmp_path: Path,
) -> None:
    model = Upstream(scene=waiting)
    async with client(tmp_path, model) as desk:
        await desk.window.say("one")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        desk.conversation.leave(desk.window_id)
        assert desk.conversation.busy
        await desk.conversations.close(desk.conversation.id)
        over = await desk.until_told(TurnEnded)
        assert over.turn is not None
        assert over.turn.stop_reason is StopReason.INTERRUPTED
        assert "one moment" in [row.text for row in await desk.branch()]


async def test_w16_a_prompt_that_is_said_the_moment_a_turn_ends_is_sent(tmp_path: Path) -> None:
    """It once came into the queue when nobody looked there any more."""
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        said: list[asyncio.Task[None]] = []

        def at_once(news: ConversationEvent) -> None:
            if isinstance(news, TurnEnded) and len(said) < 5:
                said.append(asyncio.ensure_future(desk.window.say(f"prompt {len(said)}")))

        desk.conversation.subscribe(at_once)
        await desk.window.say("first")
        await desk.until(lambda: sum(isinstance(item, TurnEnded) for item in desk.told) == 6 or None)
        await asyncio.gather(*said)
    assert [texts[-1] for _, texts in model.prompts] == ["first", *(f"prompt {at}" for at in range(5))]


async def test_text_that_comes_for_a_session_which_is_not_ours_any_more_is_let_go(tmp_path: Path) -> None:
    """It once was received again and again, without end."""
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        (link,) = await desk.links()
        async with desk.db.write() as tx:
            await links.move(tx, link.id, owner=None)
        model.agents[-1].tell(link.session_id, TextChunk("agent", "late", "late"))
        async with asyncio.timeout(60):
            assert (await desk.say("two")).turn is not None
        assert "late" not in [row.text for row in await desk.branch()]


async def test_late_text_below_a_prompt_does_not_lead_the_window_away_from_its_answer(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.scene = lambda running: running.end()
        await desk.say("two")
        prompt = [row for row in await desk.branch() if row.kind is Kind.USER][-1]
        await rewind(desk, prompt.id)
        model.agents[-1].tell("model-s1", TextChunk("agent", "late words", "late"))
        async with asyncio.timeout(60):
            while True:
                async with desk.db.read() as reader:
                    rows = await messages.of_conversation(reader, desk.conversation.id)
                late = next((row for row in rows if row.text == "late words"), None)
                if late and late.state is MessageState.FINAL:
                    break
        assert late.parent_id == prompt.id
        assert (await desk.stored_window()).leaf_id == prompt.id


async def test_what_a_person_sees_of_a_told_block_is_the_prompt_alone(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(resume=False, load=False, fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.agents[-1].die()
        await desk.say("two")
    assert without_prior_context("\n".join(model.prompts[-1][1])) == "two"


async def test_what_a_session_says_after_it_refused_a_prompt_keeps_it_off_the_branch_of_the_second_attempt(
    tmp_path: Path,
) -> None:
    """It once was swallowed, and the session used again with an answer in it that nobody had seen."""
    model = Upstream(profile=Profile(fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")

        def refused_once(running: Running) -> None:
            running.fail(AgentRefused(-32603, "not now"))
            model.scene = waiting

        model.scene = refused_once
        await desk.window.say("two")
        await desk.until(lambda: next((running for running in model.running() if running.answered), None))
        model.agents[-1].tell("model-s1", TextChunk("agent", "an answer after all", "late"))
        (running,) = model.running()
        await desk.window.stop()
        running.end("cancelled")
        await desk.window.wait_idle()
        model.scene = answering
        await desk.say("three")
        async with desk.db.read() as reader:
            rows = await messages.of_conversation(reader, desk.conversation.id)
        late = next(row for row in rows if row.text == "an answer after all")
        assert late.id not in [row.id for row in await desk.branch()]
    assert model.prompts[-1][0] != "model-s1"


async def test_what_a_session_says_after_it_refused_its_first_prompt_is_an_answer_and_no_greeting(
    tmp_path: Path,
) -> None:
    """It once raised no ceiling, and was shown below the next prompt as what a new session says of its own accord."""
    model = Upstream(profile=Profile(fork=False), scene=limited)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        (prompt, _) = await desk.branch()
        model.agents[-1].tell("model-s1", TextChunk("agent", "an answer after all", "late"))
        late = await desk.until_told(MessageAdded, lambda news: news.message.text == "an answer after all")
        assert late.message.kind is Kind.AGENT
        (link,) = await desk.links()
        assert (link.knows, link.reach) == (None, late.message.id)
        await rewind(desk, prompt.id)
        model.scene = answering
        await desk.say("two")
    assert [session for session, _ in model.prompts] == ["model-s1", "model-s2"]


async def test_12_a_session_that_failed_at_a_prompt_is_not_used_where_another_answered_it(
    tmp_path: Path,
) -> None:
    """It may have come to an answer of its own, which the client did not live to see."""
    model = Upstream(profile=Profile(fork=False, greets="behind"), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        answer = (await desk.stored_window()).leaf_id
        (_, greeting, _) = await desk.branch()
        await rewind(desk, greeting.id)
        model.scene = limited
        await desk.window.retry()
        await desk.window.wait_idle()
        assert [session for session, _ in model.prompts] == ["model-s1", "model-s2"]
        model.kept["model-s2"].content.append(Said("agent", "an answer that nobody saw"))
        model.agents[-1].die()
        del model.kept["model-s1"]
        model.scene = answering
        await rewind(desk, answer)
        assert how(await desk.say("two")) is ContextSource.TOLD
    assert model.prompts[-1][0] == "model-s3"

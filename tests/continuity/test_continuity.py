"""What each session really heard, over whole conversations: a real store file, and the model agent's own list."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import MessageAdded, PromptReturned, TurnEnded
from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.errors import AgentError, AgentRefused, AgentSilent
from catena_acp.port.session_events import ContextCompacted
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import links
from catena_store.conversations import branches
from catena_store.records import ContextSource, Kind, Link, LinkState, StopReason
from catena_store.records import Path as TreePath
from catena_store.windows import inputs
from support.agents.model import Profile, Running, Upstream
from support.conversations.modelled import answering, client, dying, how, limited, rewind, waiting
from support.conversations.rehearsed import Desk, open_window
from support.storage.rows import link_events

# --- P: prior context


async def test_p01_what_the_session_does_not_know_is_asked_once_a_prompt_and_the_happy_path_sends_bare_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    unknown_to = TreePath.unknown_to

    def counted(path: TreePath, knows: str | None) -> tuple[int, int]:
        asked.append(unknown_to(path, knows))
        return asked[-1]

    monkeypatch.setattr(TreePath, "unknown_to", counted)
    model = Upstream(scene=answering)
    texts = ["one", "  two\n\twith  spaces ", "drei · 三 · \N{PARTY POPPER}"]
    async with client(tmp_path, model) as desk:
        for number, text in enumerate(texts, 1):
            await desk.say(text)
            assert asked == [(0, 0)] * number
    assert [heard for _, heard in model.prompts] == [(text,) for text in texts]
    assert len({session for session, _ in model.prompts}) == 1


async def test_p02_prior_context_spans_every_session_of_the_chain(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(resume=False, load=False, fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        for word in ("alpha", "beta", "gamma", "delta"):
            await desk.say(word)
            model.agents[-1].die()
        sessions = [link.session_id for link in await desk.links()]
    assert len(sessions) == 4
    last = model.prompts[-1][1]
    assert len(last) == 2, "the prior context is a block of its own"
    assert all(f"> {word}" in last[0] and f"> heard {word}" in last[0] for word in ("alpha", "beta", "gamma"))
    assert last[1] == "delta"


@pytest.mark.parametrize(
    "profile", [Profile(), Profile(fork=False), Profile(resume=False, load=False, fork=False)]
)
async def test_p03_a_canary_of_one_branch_is_heard_in_no_other_branch_and_in_no_other_conversation(
    tmp_path: Path, profile: Profile
) -> None:
    model = Upstream(profile=profile, scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("start")
        fork_in_the_road = (await desk.stored_window()).leaf_id
        await desk.say("the canary is Frida")
        await desk.say("go on")
        await rewind(desk, fork_in_the_road)
        heard_before = len(model.prompts)
        await desk.say("the other branch")
        await desk.say("and further")
        other = await desk.conversations.create(agent=model.spec, cwd="/shop")
        elsewhere = Desk(desk.db, desk.conversations, other, await open_window(desk.db, other.id))
        other.subscribe(elsewhere.hear)
        await elsewhere.say("a new conversation")
        for session_id, _ in model.prompts[heard_before:]:
            assert "Frida" not in model.heard_in(session_id)


async def test_p08_an_agent_that_refuses_every_prompt_hears_a_text_twice_at_most(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.scene = lambda running: running.fail(AgentRefused(-32603, "no"))
        over = await desk.say("two")
        assert over.problem is not None
        assert sum(texts[-1] == "two" for _, texts in model.prompts) == 2
        assert model.count("new") == 2
        assert (await desk.stored_window()).draft == "two"


async def test_p09_each_turn_says_how_its_context_got_there(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        hows = [how(await desk.say("one")), how(await desk.say("two"))]
        model.agents[-1].die()
        hows.append(how(await desk.say("three")))
        model.scene = dying
        await desk.say("four")
        model.scene = answering
        hows.append(how(await desk.say("five")))
        model.lies["open"] = "gone"
        model.agents[-1].die()
        hows.append(how(await desk.say("six")))
        seams = [row.data["how"] for row in await desk.branch() if row.kind is Kind.SEAM]
    assert hows == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.RESUMED,
        ContextSource.CAUGHT_UP,
        ContextSource.TOLD,
    ]
    assert seams == ["resumed", "caught_up", "told"]


async def test_what_was_left_out_stays_marked_for_as_long_as_the_session_is_used(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(resume=False, load=False, fork=False), scene=answering)
    async with client(tmp_path, model, budget=Budget(characters=1)) as desk:
        for word in ("one", "two"):
            await desk.say(word)
        model.agents[-1].die()
        told = (await desk.say("three")).turn
        after = (await desk.say("four")).turn
        assert told is not None and after is not None
        assert (told.told, told.told_total, told.left_out) == (1, 4, 3)
        answer = next(row for row in await desk.branch() if row.text == "heard two")
        assert told.unabridged_from == after.unabridged_from == answer.id
        assert after.how is ContextSource.CONTINUED


# --- M: the chain


async def test_m02_sessions_a_b_and_a_again_are_two_links_and_three_records(tmp_path: Path) -> None:
    a, b = Upstream("a", scene=answering), Upstream("b", scene=answering)
    async with client(tmp_path, a, b) as desk:
        await desk.say("one")
        await desk.window.set_agent(b.spec)
        await desk.say("two")
        await desk.window.set_agent(a.spec)
        await desk.say("three")
        chain = await desk.links()
        async with desk.db.read() as reader:
            view = await links.view(reader, desk.conversation.id)
            carried = [event.link_id for event in await link_events(reader, desk.conversation.id)]
        assert [link.agent for link in chain] == ["a", "b"]
        assert [link.agent for link in view] == ["b", "a"]
        order = [event for at, event in enumerate(carried) if at == 0 or carried[at - 1] != event]
        assert order == [chain[0].id, chain[1].id, chain[0].id]
    assert "> two" in a.prompts[-1][1][0], "what the other agent was told is caught up with"


async def test_m02_a_session_id_is_kept_once_however_often_it_carries(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        for word in ("one", "two", "three"):
            await desk.say(word)
        (link,) = await desk.links()
        async with desk.db.read() as reader:
            events = [event.event for event in await link_events(reader, desk.conversation.id)]
    assert (link.session_id, events.count("carried")) == ("model-s1", 1)


async def test_m04_a_session_is_in_the_chain_before_its_first_prompt_and_is_used_again_after_a_restart(
    tmp_path: Path,
) -> None:
    model = Upstream()

    async with client(tmp_path, model) as desk:

        def dying_and_looking(running: Running) -> None:
            kept.append(asyncio.ensure_future(desk.links()))
            running.agent.die()

        kept: list[asyncio.Task[list[Link]]] = []
        model.scene = dying_and_looking
        over = await desk.say("one")
        assert over.turn is not None
        assert over.turn.stop_reason is StopReason.AGENT_GONE
        assert [link.session_id for link in await kept[0]] == ["model-s1"]
    model.scene = answering
    async with client(tmp_path, model, resume=desk) as again:
        await again.window.retry()
        await again.until_told(TurnEnded)
    assert [session for session, _ in model.prompts] == ["model-s1", "model-s1"]
    assert model.count("new") == 1


async def test_m07_a_rate_limit_keeps_the_session(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.scene = limited
        await desk.say("two")
        model.scene = answering
        await desk.window.retry()
        await desk.until(lambda: sum(isinstance(item, TurnEnded) for item in desk.told) == 3 or None)
    assert [session for session, _ in model.prompts] == ["model-s1"] * 3
    assert [texts for _, texts in model.prompts] == [("one",), ("two",), ("two",)]


async def test_m07_an_agent_that_crashes_keeps_the_session(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.agents[-1].die()
        assert how(await desk.say("two")) is ContextSource.RESUMED
    assert model.prompts == [("model-s1", ("one",)), ("model-s1", ("two",))]


@pytest.mark.parametrize(
    "trouble", [AgentSilent("no answer in 60 s"), AgentRefused(-32603, "529 overloaded")]
)
async def test_m07_a_time_out_or_an_outage_while_opening_keeps_the_session(
    tmp_path: Path, trouble: AgentError
) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.agents[-1].die()
        model.down = trouble
        over = await desk.say("two")
        assert over.turn is None and over.problem is not None
        assert [link.state for link in await desk.links()] == [LinkState.OPEN]
        model.down = None
        assert how(await desk.say("two")) is ContextSource.RESUMED
    assert model.prompts == [("model-s1", ("one",)), ("model-s1", ("two",))]


async def test_m07_a_restart_keeps_the_session(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
    async with client(tmp_path, model, resume=desk) as again:
        assert how(await again.say("two")) is ContextSource.RESUMED
    assert model.prompts == [("model-s1", ("one",)), ("model-s1", ("two",))]


# --- R: sessions that are not what they were


@pytest.mark.parametrize(
    ("request_name", "lie"),
    [("open", "gone"), ("open", "other"), ("open", "empty"), ("open", "half"), ("prompt", "refused")],
)
async def test_r07_a_stale_session_ends_in_a_seam_a_working_turn_and_nothing_missing(
    tmp_path: Path, request_name: str, lie: str
) -> None:
    model = Upstream(profile=Profile(fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("alpha")
        await desk.say("beta")
        model.agents[-1].die()
        model.lies[request_name] = lie
        over = await desk.say("gamma")
        assert how(over) is ContextSource.TOLD
        rows = await desk.branch()
        assert [row.text for row in rows if row.kind is not Kind.SEAM][-2:] == ["gamma", "heard gamma"]
        assert rows[-2].kind is Kind.SEAM
        assert (await desk.links())[0].state is LinkState.LOST
        assert how(await desk.say("delta")) is ContextSource.CONTINUED
    session_id, texts = model.prompts[-1]
    assert texts == ("delta",)
    for word in ("alpha", "heard alpha", "beta", "heard beta", "gamma"):
        assert word in model.heard_in(session_id)


async def test_r07_the_answer_of_a_second_attempt_is_on_the_branch_that_is_shown(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("alpha")
        model.agents[-1].die()
        model.lies["prompt"] = "refused"
        over = await desk.say("beta")
        assert over.turn is not None
        assert (await desk.stored_window()).leaf_id == over.turn.last_id


async def test_r08_after_a_turn_without_a_word_the_next_prompt_goes_another_way(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(fork=False), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.scene = lambda running: running.end()
        over = await desk.say("two")
        assert over.problem is not None
        assert over.problem.trouble is Trouble.EMPTY_TURN
        model.scene = answering
        await desk.say("three")
        assert [link.state for link in await desk.links()] == [LinkState.SUSPECT, LinkState.OPEN]
    assert [session for session, _ in model.prompts] == ["model-s1", "model-s1", "model-s2"]


@pytest.mark.parametrize("says", ["cancelled", "end_turn"])
async def test_r11_a_stopped_turn_keeps_its_partial_text_and_its_session(tmp_path: Path, says: str) -> None:
    model = Upstream(scene=waiting)
    async with client(tmp_path, model) as desk:
        await desk.window.say("one")
        await desk.until(lambda: next((running for running in model.running() if running.answered), None))
        await desk.window.stop()
        (running,) = model.running()
        assert running.cancel_asked
        running.end(says)
        over = await desk.until_told(TurnEnded)
        assert over.turn is not None
        assert over.turn.stop_reason is StopReason.CANCELLED
        (link,) = await desk.links()
        assert link.knows is None and link.reach is not None, "nobody knows how much of it is in the session"
        assert "one moment" in [row.text for row in await desk.branch()]
        model.scene = answering
        await desk.say("two")
        assert [link.session_id for link in await desk.links()] == ["model-s1"]


async def test_r12_stopping_twice_before_the_text_is_out_gives_it_back_once_and_leaves_no_turn_open(
    tmp_path: Path,
) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.agents[-1].die()
        model.down = AgentRefused(-32603, "slow")
        for _ in range(2):
            await desk.window.say("two")
            await asyncio.gather(*(desk.window.stop() for _ in range(3)))
            await desk.window.wait_idle()
        window = await desk.stored_window()
        assert window.draft == "two"
        assert all(turn.stop_reason is not None for turn in await desk.turns())
        async with desk.db.read() as reader:
            assert "two" in [text for _, text in await inputs.recent(reader)]
        returned = sum(isinstance(item, PromptReturned) for item in desk.told)
        ends = sum(isinstance(item, TurnEnded) for item in desk.told)
        assert (returned, ends) == (2, 3)


async def test_r14_nothing_from_above_a_clear_is_heard_below_it(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("the canary is Frida")
        await desk.window.clear()
        await desk.say("two")
        await desk.say("three")
        assert "the canary is Frida" in [row.text for row in await desk.branch()]
    session_id, texts = model.prompts[-1]
    assert texts == ("three",)
    assert "Frida" not in model.heard_in(session_id)
    assert ("prompt", "model-s1") in model.requests
    assert not any("/clear" in text for _, blocks in model.prompts for text in blocks)


async def test_r19_a_prompt_whose_turn_brought_nothing_is_sent_again_as_the_same_row(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.scene = limited
        await desk.say("two")
        model.scene = answering
        await desk.window.retry()
        await desk.until(lambda: sum(isinstance(item, TurnEnded) for item in desk.told) == 3 or None)
        prompts = [row for row in await desk.branch() if row.kind is Kind.USER]
        assert [row.text for row in prompts] == ["one", "two"]
        async with desk.db.read() as reader:
            assert await branches.siblings(reader, prompts[-1].id) == [prompts[-1].id]


async def test_r19_a_prompt_whose_turn_brought_text_is_sent_again_only_as_a_sibling(tmp_path: Path) -> None:
    model = Upstream(scene=dying)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        assert len(model.prompts) == 1
        model.scene = answering
        await desk.window.retry()
        await desk.until(lambda: sum(isinstance(item, TurnEnded) for item in desk.told) == 2 or None)
        prompt = next(row for row in await desk.branch() if row.kind is Kind.USER)
        async with desk.db.read() as reader:
            assert len(await branches.siblings(reader, prompt.id)) == 2
    session_id, _ = model.prompts[-1]
    assert "I was about to" not in model.heard_in(session_id)


@pytest.mark.parametrize("status", ["completed", "in_progress"])
async def test_a_session_is_abridged_from_the_row_on_that_tells_of_its_compaction(
    tmp_path: Path, status: str
) -> None:
    """Who died before the end of the turn once took the session for one that holds everything."""

    def compacting(running: Running) -> None:
        running.tell(ContextCompacted(None, status))

    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.scene = compacting
        await desk.window.say("two")
        told = await desk.until_told(MessageAdded, lambda news: "compacted" in news.message.data)
        (link,) = await desk.links()
        assert (link.reach, link.unabridged_from) == (told.message.id, told.message.parent_id)


async def test_a_compaction_between_turns_abridges_its_session(tmp_path: Path) -> None:
    model = Upstream(scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        model.agents[-1].tell("model-s1", ContextCompacted(None, "completed"))
        told = await desk.until_told(MessageAdded, lambda news: "compacted" in news.message.data)
        (link,) = await desk.links()
        assert (link.reach, link.unabridged_from) == (told.message.id, told.message.id)

"""What turns cost: per turn, per branch, per conversation, each counted once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from catena.text.usage import Spending, costs, spending, spending_shape, usage_rows, usage_text
from catena_acp.continuity.conversation_events import TurnEnded
from catena_acp.continuity.sending.context import FORK_AT
from catena_acp.port.session_events import UsageReported
from catena_store.chains import agents, turns, usage
from catena_store.conversations import conversations
from catena_store.database.database import Reader, Writer
from catena_store.records import ContextSource, Expense, Kind, StopReason
from support.agents.model import Profile, Running, Upstream
from support.clients.command_line import Catena, newest, run, shown
from support.clients.protocol import spec
from support.conversations.modelled import answering, client
from support.conversations.rehearsed import Desk, World, open_window
from support.storage.rows import Explained, a_turn, new_conversation, new_link, say, say_much, store


def words_of(found: Spending) -> dict[str, str]:
    """The rows of a usage, by title; of those that continue others the last."""
    return {title: " · ".join(values) for title, values in usage_rows(found)}


def telling(*totals: float) -> Any:
    """Answers, and tells the session's total cost so far: one of these for each turn."""
    left = list(totals)

    def scene(running: Running) -> None:
        running.tell(UsageReported(1_000, 200_000, left.pop(0), "USD"))
        answering(running)

    return scene


def turns_and_cost(spent: Sequence[Expense]) -> tuple[int, dict[str, float]]:
    return sum(each.turns for each in spent), costs(spent)


async def three(
    reader: Reader, leaf: str | None, conversation: str = "c1"
) -> list[tuple[int, dict[str, float]]]:
    found = await spending(reader, conversation, leaf)
    return [turns_and_cost(part) for part in (found.turn, found.branch, found.conversation)]


async def test_m13_a_prefix_that_branches_share_counts_once(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for link in ("A", "B"):
            await new_link(tx, link)
        await say(tx, "u1", None, "shared")
        for name, parent in (("u2", "u1"), ("u3", "u1")):
            await say(tx, name, parent, "a branch")
        for turn, prompt, link, cost in (
            ("t1", "u1", "A", 1.0),
            ("t2", "u2", "A", 0.25),
            ("t3", "u3", "B", 0.5),
        ):
            await turns.insert(tx, a_turn(turn, prompt, link, cost=cost, currency="USD"))
        assert await three(tx, "u2") == [(1, {"USD": 0.25}), (2, {"USD": 1.25}), (3, {"USD": 1.75})]
        assert await three(tx, "u3") == [(1, {"USD": 0.5}), (2, {"USD": 1.5}), (3, {"USD": 1.75})]
        # A conversation of its own that begins there has the shared part, too, once.
        await conversations.create(tx, id="c2", agent="rehearsal", cwd="/x", family="c1", fork_point_id="u2")
        await say(tx, "u4", "u2", "a fork", conversation="c2")
        await turns.insert(tx, a_turn("t4", "u4", "A", conversation_id="c2", cost=2.0, currency="USD"))
        assert await three(tx, "u4", "c2") == [(1, {"USD": 2.0}), (3, {"USD": 3.25}), (3, {"USD": 3.25})]
        assert await three(tx, None) == [(0, {}), (0, {}), (3, {"USD": 1.75})]


async def test_m13_every_attempt_at_a_prompt_counts(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "A")
        await say(tx, "u1", None, "again and again")
        for turn in ("t1", "t2"):
            await turns.insert(
                tx, a_turn(turn, "u1", "A", cost=0.5, currency="USD", stop_reason=StopReason.ERROR)
            )
        assert (await three(tx, "u1"))[1:] == [(2, {"USD": 1.0})] * 2


async def test_m13_currencies_are_told_beside_each_other_and_never_added_up(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "A")
        await new_link(tx, "B", agent="other", profile="work")
        await say(tx, "u1", None, "one")
        await say(tx, "u2", "u1", "two")
        await say(tx, "u3", "u2", "three")
        tokens = {"inputTokens": 10, "outputTokens": 4, "totalTokens": 14}
        await turns.insert(tx, a_turn("t1", "u1", "A", cost=1.0, currency="USD", model="Big", usage=tokens))
        await turns.insert(tx, a_turn("t2", "u2", "B", cost=0.05, currency="EUR", usage=tokens))
        await turns.insert(tx, a_turn("t3", "u3", "A", model="Big", usage={"inputTokens": "many", "x": None}))
        found = await spending(tx, "c1", "u3")
    words = words_of(found)
    assert words["this branch"] == "3 turns · $1.00 and €0.0500 · 20 tokens in, 8 out"
    assert words["last turn"] == "1 turn · cost and tokens not reported"
    lines = [" · ".join(values) for _, values in usage_rows(found)]
    assert "Several currencies: listed separately, not added up." in lines
    assert lines[-2:] == [
        "rehearsal · Big: 2 turns · $1.00 · 10 tokens in, 4 out",
        "other (work): 1 turn · €0.0500 · 10 tokens in, 4 out",
    ]
    shape = spending_shape(found.conversation)
    assert (shape["turns"], shape["cost"], shape["total_tokens"]) == (3, {"USD": 1.0, "EUR": 0.05}, 28)
    assert [each["agent"] for each in shape["by_model"]] == ["rehearsal", "other", "rehearsal"]


# Reports the tokens of the session so far, from the source's on in a fork.
SO_FAR = """
    turns = {}

    def session_fork(agent, request):
        agent.sessions += 1
        turns[f"s{agent.sessions}"] = turns[request["params"]["sessionId"]]
        agent.send(agent.result(request, {"sessionId": f"s{agent.sessions}"}))

    def session_prompt(agent, request):
        session_id = request["params"]["sessionId"]
        n = turns[session_id] = turns.get(session_id, 0) + 1
        used = {"inputTokens": 100 * n, "outputTokens": 2 * n, "totalTokens": 102 * n}
        answer = {"stopReason": "end_turn", "usage": used}
        agent.send(agent.text(session_id, "well"), agent.result(request, answer))
"""


async def test_m13_tokens_of_the_session_so_far_are_not_added_up_and_a_fork_starts_from_its_sources(
    tmp_path: Path,
) -> None:
    agent = spec(tmp_path, SO_FAR)
    async with World(tmp_path).client(specs={"scripted": agent}, agent="scripted") as desk:
        for text in ("one", "two", "three"):
            await desk.say(text)
        other = desk.conversation.window(await _another_window(desk))
        await other.say("four")
        await other.wait_idle()
        assert (await desk.turns())[-1].how == "forked"
        leaf = (await desk.stored_window()).leaf_id
        async with desk.db.read() as reader:
            found = await spending(reader, desk.conversation.id, leaf)
    assert [tokens(part) for part in (found.turn, found.branch, found.conversation)] == [
        (100, 2, 102),
        (300, 6, 306),
        (400, 8, 408),
    ]


async def test_w08_every_window_knows_the_cost_of_turns_in_the_others(tmp_path: Path) -> None:
    async with World(tmp_path).client() as desk:
        await desk.say("stream 300 rate 100000")
        await desk.conversation.read_costs()
        other = desk.conversation.window(await _another_window(desk))
        for window, words in ((other, 500), (desk.window, 200)):
            await window.say(f"stream {words} rate 100000")
            await window.wait_idle()
        async with desk.db.read() as reader:
            stored = await usage.costs_of_turns(reader, desk.conversation.id)
        known = desk.conversation.costs
    assert known is not None and known.keys() == stored.keys() == {"USD"}
    assert known["USD"] == pytest.approx(stored["USD"]) and known["USD"] > 0


def tokens(spent: Sequence[Expense]) -> tuple[int, int, int]:
    (found,) = spent
    return found.input_tokens, found.output_tokens, found.total_tokens


@pytest.mark.parametrize("known", [True, False])
async def test_m13_tokens_of_a_turn_are_added_up_where_the_figures_fall_or_the_agent_is_known(
    tmp_path: Path, known: bool
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "A")
        if known:
            await agents.set_ability(tx, "rehearsal", "", usage.REPORTED_OF, usage.OF_TURN)
        above = None
        for number, (heard, said_) in enumerate([(100, 5), (120, 9 if known else 4)], start=1):
            await say(tx, f"u{number}", above, "a prompt")
            above = f"u{number}"
            told = {"inputTokens": heard, "outputTokens": said_, "totalTokens": heard + said_}
            await turns.insert(tx, a_turn(f"t{number}", above, "A", usage=told))
        found = await usage.of_conversation(tx, "c1")
    assert tokens(found)[0] == 220


async def a_chat(tx: Writer, name: str, figures: Sequence[int], hows: Sequence[str] = ()) -> None:
    """A conversation of a link and a turn for each figure."""
    await new_conversation(tx, name)
    await new_link(tx, f"link of {name}", name)
    above = None
    for number, figure in enumerate(figures):
        prompt = f"{name} {number}"
        await say(tx, prompt, above, "a prompt", conversation=name)
        above = prompt
        used = {"inputTokens": figure, "outputTokens": figure // 10, "totalTokens": figure + figure // 10}
        how = ContextSource(hows[number]) if hows else ContextSource.CONTINUED
        turn = a_turn(
            f"turn of {prompt}", prompt, f"link of {name}", conversation_id=name, usage=used, how=how
        )
        await turns.insert(tx, turn)
        await usage.learn(tx, turn.id)


async def test_m13_once_a_figure_fell_all_conversations_of_the_agent_are_counted_by_turns(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_chat(tx, "before", [100, 200])
        (unsure,) = await usage.of_conversation(tx, "before")
        assert (unsure.input_tokens, unsure.tokens_at_least) == (200, True)
        assert usage_text([unsure]) == "2 turns · at least 200 tokens in, 20 out"
        await a_chat(tx, "fell", [300, 100])
        await a_chat(tx, "behind", [10, 20, 30])
        for name, total in (("before", 300), ("fell", 400), ("behind", 60)):
            (found,) = await usage.of_conversation(tx, name)
            assert (found.input_tokens, found.tokens_at_least) == (total, False)
        assert spending_shape([found, unsure])["tokens_at_least"]


async def test_m13_figures_that_begin_again_with_a_process_prove_nothing_and_are_counted_from_nothing(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await a_chat(tx, "c1", [100, 200, 50, 70], ["fresh", "continued", "resumed", "continued"])
        (found,) = await usage.of_conversation(tx, "c1")
        assert (found.input_tokens, found.tokens_at_least) == (270, True)


async def test_m13_an_agent_that_is_known_to_report_its_session_is_counted_surely(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await agents.set_ability(tx, "rehearsal", "", usage.REPORTED_OF, usage.OF_SESSION)
        await a_chat(tx, "c1", [100, 200, 150])
        (found,) = await usage.of_conversation(tx, "c1")
        assert (found.input_tokens, found.tokens_at_least) == (350, False)


async def test_m13_questions_of_an_aside_are_counted_as_what_they_added_to_its_session_and_its_source(
    tmp_path: Path,
) -> None:
    agent = spec(tmp_path, SO_FAR)
    async with World(tmp_path).client(specs={"scripted": agent}, agent="scripted") as desk:
        for text in ("one", "two", "three"):
            await desk.say(text)
        aside = await desk.conversation.asides.begin(desk.window)
        for question in ("four", "five"):
            assert [each async for each in aside.ask(question)]
        await aside.close()
        async with desk.db.read() as reader:
            found = await usage.of_asides(reader, desk.conversation.id)
        assert (tokens(found), found[0].turns, found[0].tokens_at_least) == ((200, 4, 204), 2, True)
        # An agent that reports the tokens of a turn is asked the same, and took what it said.
        async with desk.db.write() as tx:
            await agents.set_ability(tx, "scripted", "", usage.REPORTED_OF, usage.OF_TURN)
            found = await usage.of_asides(tx, desk.conversation.id)
        assert (tokens(found), found[0].tokens_at_least) == ((900, 18, 918), False)


async def test_m13_sums_are_read_by_indexes(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        leaf = await say_much(tx, 200)
        explained = Explained(tx)
        await usage.of_branch(explained, leaf)
        await usage.of_conversation(explained, "c1")
        await usage.of_source(explained, "A", leaf)
        await turns.newest_on(explained, leaf)
        assert explained.scans("t", "turn", "m", "message", "l", "link", "c") == []


def test_what_costs_nothing_is_said_to_cost_nothing() -> None:
    nothing: list[Expense] = []
    assert usage_text(nothing) == "0 turns · cost and tokens not reported"
    free = [Expense("a", "", None, "USD", 2, 0.0, 0, 0, 0)]
    assert usage_text(free) == "2 turns · $0.00"


async def test_m13_a_turn_costs_what_the_sessions_total_grew_by_also_where_the_total_begins_again(
    tmp_path: Path,
) -> None:
    upstream = Upstream(scene=telling(0.5, 0.75, 0.1))
    async with client(tmp_path, upstream) as desk:
        await desk.say("one")
        await desk.say("two")
    async with client(tmp_path, upstream, resume=desk) as again:
        await again.say("three")
        assert [turn.cost for turn in await again.turns()] == [0.5, 0.25, 0.1]


async def test_m13_a_forked_session_starts_from_its_sources_total(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        await desk.say("say one")
        (first,) = await desk.turns()
        second_window = await _another_window(desk)
        await desk.conversation.window(second_window).say("say two")
        await desk.conversation.window(second_window).wait_idle()
        turns = await desk.turns()
        assert turns[1].how == "forked"
        cost = turns[1].cost
        assert first.cost and cost is not None and cost == pytest.approx(first.cost, rel=0.2)
        async with desk.db.read() as reader:
            found = await usage.of_conversation(reader, desk.conversation.id)
        assert sum(each.cost or 0 for each in found) == pytest.approx(first.cost + cost)
        assert sum(each.input_tokens for each in found) > 0


async def test_m13_a_fork_at_a_message_whose_total_begins_anew_costs_what_it_reports(tmp_path: Path) -> None:
    upstream = Upstream("model", Profile(fork_at=True), scene=telling(0.5, 0.75, 0.3, 0.35))
    async with client(tmp_path, upstream) as desk:
        async with desk.db.write() as tx:
            await agents.set_ability(tx, "model", "1", FORK_AT, "honoured")
        for text in ("one", "two"):
            await desk.say(text)
        prompts = [row for row in await desk.branch() if row.kind is Kind.USER]
        await desk.window.edit(prompts[1].id, "another two", ())
        await desk.until(lambda: sum(isinstance(news, TurnEnded) for news in desk.told) == 3 or None)
        await desk.window.wait_idle()
        await desk.say("three")
        found = await desk.turns()
    assert found[2].how is ContextSource.FORKED_AT
    assert [turn.cost for turn in found] == pytest.approx([0.5, 0.25, 0.3, 0.05])


@pytest.mark.parametrize(
    ("early", "after", "cost"),
    [
        (0.7, 0.8, 0.1),  # what it says before its first prompt is what it counts from
        (None, 0.8, 0.8),  # above its source's total and not known to go on: all of it
        (None, 0.3, 0.3),
    ],
)
async def test_m13_a_session_that_is_opened_again_counts_from_its_first_figure_before_a_prompt(
    tmp_path: Path, early: float | None, after: float, cost: float
) -> None:
    upstream = Upstream(scene=telling(0.5, after))
    async with client(tmp_path, upstream) as desk:
        await desk.say("one")
    async with client(tmp_path, upstream, resume=desk) as again:
        if early is not None:
            upstream.tells_when_opened = UsageReported(1_000, 200_000, early, "USD")
        await again.say("two")
        assert [turn.cost for turn in await again.turns()] == pytest.approx([0.5, cost])


async def test_m13_that_a_version_s_totals_go_on_is_learnt_and_taken_back_at_the_first_contrary_sign(
    tmp_path: Path,
) -> None:
    upstream = Upstream(scene=telling(0.1, 0.2, 0.3, 0.4, 0.5, 0.2, 0.9))
    async with client(tmp_path, upstream) as desk:
        for text in ("one", "two", "three"):
            await desk.say(text)
    for text in ("four", "five", "six", "seven"):
        async with client(tmp_path, upstream, resume=desk) as again:
            await again.say(text)
            found = await again.turns()
    # One turn does not cost as much as three together: so it goes on. Then it falls: so it does not.
    assert [turn.cost for turn in found] == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.9])


async def _another_window(desk: Desk) -> str:
    window = await desk.stored_window()
    window_id = await open_window(desk.db, desk.conversation.id, window.leaf_id)
    desk.conversation.window(window_id)
    return window_id


def test_m13_show_as_json_has_the_usage(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    run(catena, "say one")
    run(catena, "--continue", "say two")
    whole = shown(catena, newest(catena))
    told = whole["usage"]["conversation"]
    assert told["turns"] == 2
    assert told["cost"] == {"USD": pytest.approx(sum(turn["cost"] for turn in whole["turns"]))}
    assert told["total_tokens"] == sum(turn["usage"]["totalTokens"] for turn in whole["turns"])
    assert whole["usage"]["branch"] == told
    assert told["by_model"][0]["agent"] == "rehearsal" and told["by_model"][0]["model"] == "Understudy"
    assert [turn["surroundings"]["options"]["model"] for turn in whole["turns"]] == ["understudy"] * 2
    assert whole["turns"][0]["surroundings"]["context_size"] == 200_000


async def test_m13_what_asides_cost_is_a_line_of_its_own_also_when_they_are_thrown_away(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        await desk.say("say one two three")
        (turn,) = await desk.turns()
        assert turn.cost
        aside = await desk.conversation.asides.begin(desk.window)
        for question in ("say yes", "say no"):
            assert [each async for each in aside.ask(question)]
        await aside.close()
        beside = await desk.conversation.asides.begin(desk.window)
        assert [each async for each in beside.ask("say maybe")]
        await beside.close()
        leaf = (await desk.stored_window()).leaf_id
        async with desk.db.read() as reader:
            found = await spending(reader, desk.conversation.id, leaf)
    assert [turns_and_cost(part) for part in (found.turn, found.branch, found.conversation)] == [
        (1, {"USD": turn.cost})
    ] * 3, "the turns of the conversation cost what they cost"
    questions, cost = turns_and_cost(found.asides)
    # The rehearsal agent's price of an answer of one word, three times: nothing of what the source had cost before.
    assert questions == 3 and 0.003 <= cost["USD"] <= 0.0032
    (spent,) = found.asides
    assert (spent.agent, spent.model) == ("rehearsal", "Understudy")
    assert spent.input_tokens > 0 < spent.output_tokens
    lines = words_of(found)
    assert lines["side questions"].startswith("3 questions · $0.003")
    assert lines["total"] == f"${turn.cost + cost['USD']:.4f}"


async def test_m13_an_aside_that_is_left_while_it_is_answered_is_counted_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        asking = aside.ask("say begun; hang")
        async for _ in asking:
            if aside.text == "begun":
                break
        await asking.aclose()
        await aside.close()
        found: list[Expense] = []
        async with asyncio.timeout(60):
            while not found:
                async with desk.db.read() as reader:
                    found = await usage.of_asides(reader, desk.conversation.id)
        assert [each.turns for each in found] == [1]


async def test_m13_an_agent_whose_total_begins_again_in_an_aside_makes_no_negative_cost(
    tmp_path: Path,
) -> None:
    async with client(tmp_path, Upstream(scene=telling(0.5, 0.1, 0.05, 0.3))) as desk:
        await desk.say("one")
        aside = await desk.conversation.asides.begin(desk.window)
        for question in ("two", "three", "four"):
            assert [each async for each in aside.ask(question)]
        await aside.close()
        async with desk.db.read() as reader:
            found = await usage.of_asides(reader, desk.conversation.id)
    # Its total began again, and once more, and went up.
    turn_count, cost = turns_and_cost(found)
    assert (turn_count, set(cost)) == (3, {"USD"})
    assert cost["USD"] == pytest.approx(0.1 + 0.05 + 0.25)

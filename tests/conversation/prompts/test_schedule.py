"""Who may move a window's leaf, and when: the schedule by itself, and what the next prompt waits for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from catena_acp.conversation.prompts.schedule import (
    Consumer,
    Free,
    Looking,
    Preparation,
    Sending,
    WindowSchedule,
)
from catena_acp.errors import GivenUp, StillAtWork


async def ticks() -> None:
    """Let everybody go as far as possible."""
    for _ in range(20):
        await asyncio.sleep(0)


class Line:
    """A schedule with what happens in it, in order; each turn and each move goes on until it is let go."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.schedule = WindowSchedule(self._stop, self._freed)

    async def _stop(self) -> None:
        self.told.append("stop")
        self.schedule.cancel()

    def _freed(self, then: Consumer | None) -> None:
        self.told.append("freed")
        if then:
            self.schedule.begin(then)

    def turn(self, name: str, *, looks: bool = False) -> Consumer:
        async def consume() -> None:
            self.told.append(name)
            if looks:
                self.schedule.look()
            try:
                await self.gate(name).wait()
            finally:
                self.told.append(f"{name} over")

        return consume

    def move(self, name: str) -> Callable[[], Coroutine[Any, Any, str]]:
        async def work() -> str:
            self.told.append(name)
            await self.gate(name).wait()
            self.told.append(f"{name} over")
            return name

        return work

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    async def let_go(self, *names: str) -> None:
        for name in names:
            self.gate(name).set()
        await ticks()


@pytest.fixture
def line() -> Line:
    return Line()


async def test_moves_have_the_leaf_one_after_the_other_and_it_is_free_after_the_last(line: Line) -> None:
    first = asyncio.ensure_future(line.schedule.move(line.move("first")))
    second = asyncio.ensure_future(line.schedule.move(line.move("second")))
    await line.let_go("second")
    assert line.told == ["first"] and not line.schedule.at_rest and not line.schedule.sending
    await line.let_go("first")
    assert line.told == ["first", "first over", "second", "second over", "freed"]
    assert (await first, await second) == ("first", "second") and line.schedule.at_rest


async def test_a_move_is_refused_while_a_prompt_is_on_its_way_or_waits_for_it_or_stops_it(line: Line) -> None:
    line.schedule.begin(line.turn("turn"))
    with pytest.raises(StillAtWork):
        await line.schedule.move(line.move("refused"))
    with pytest.raises(StillAtWork):
        await line.schedule.send(line.turn("refused"))
    waiting = asyncio.ensure_future(line.schedule.move(line.move("waiting"), wait=True))
    await line.let_go("waiting")
    assert line.told == ["turn"] and line.schedule.waiting == 1
    await line.schedule.move(line.move("waiting"), stop=True)
    await waiting
    assert line.told[:4] == ["turn", "stop", "turn over", "waiting"] and "refused" not in line.told


async def test_a_move_that_fails_frees_the_leaf(line: Line) -> None:
    async def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):
        await line.schedule.move(fail)
    assert line.schedule.at_rest and line.told == ["freed"]


async def test_of_two_edits_at_once_the_second_stops_the_turn_of_the_first(line: Line) -> None:
    line.schedule.begin(line.turn("turn"))
    await ticks()
    edits = [asyncio.ensure_future(line.schedule.send(line.turn(name), stop=True)) for name in ("one", "two")]
    await asyncio.gather(*edits)
    await ticks()
    assert line.told.count("stop") == 3 and line.told[-1] == "two"
    assert isinstance(line.schedule.state, Sending)
    await line.let_go("two")
    assert line.schedule.at_rest


async def test_the_leaf_is_not_called_free_while_somebody_waits_for_it_until_that_one_gives_up(
    line: Line,
) -> None:
    line.schedule.begin(line.turn("turn"))
    waiting = asyncio.ensure_future(line.schedule.move(line.move("move"), wait=True))
    await ticks()
    await line.let_go("turn")
    assert line.told == ["turn", "turn over", "move"]
    behind = asyncio.ensure_future(line.schedule.move(line.move("behind")))
    await ticks()
    behind.cancel()
    await ticks()
    assert "freed" not in line.told and line.schedule.waiting == 0
    await line.let_go("move")
    assert line.told[-1] == "freed" and await waiting == "move"


async def test_who_gives_up_as_the_leaf_becomes_free_leaves_it_to_what_waits_in_the_queue(line: Line) -> None:
    async def last_act() -> None:
        await line.gate("turn").wait()
        waiting.cancel()

    line.schedule.begin(last_act)
    waiting = asyncio.ensure_future(line.schedule.move(line.move("move"), wait=True))
    await ticks()
    await line.let_go("turn")
    assert line.told == ["freed"] and waiting.cancelled()


async def test_a_move_goes_on_to_its_end_though_nobody_waits_for_it_any_more(line: Line) -> None:
    move = asyncio.ensure_future(line.schedule.move(line.move("move")))
    await ticks()
    move.cancel()
    await ticks()
    assert line.told == ["move"] and not line.schedule.at_rest
    await line.let_go("move")
    assert line.told == ["move", "move over", "freed"]


async def test_a_consumer_that_is_cancelled_before_it_begins_leaves_the_leaf(line: Line) -> None:
    line.schedule.begin(line.turn("turn"))
    line.schedule.cancel()
    await line.schedule.sent()
    assert line.told == ["freed"] and line.schedule.at_rest


@pytest.mark.parametrize("meanwhile", ["nothing", "a prompt waited", "a stop", "a move waits"])
async def test_what_follows_a_look_follows_only_where_nothing_else_came(line: Line, meanwhile: str) -> None:
    line.schedule.begin(line.turn("look", looks=True))
    await ticks()
    line.schedule.begin_behind(line.turn("then"))
    assert isinstance(line.schedule.state, Looking)
    move = None
    match meanwhile:
        case "nothing":
            line.schedule.look()  # once more, at the end of what waits
        case "a prompt waited":
            line.schedule.found()
        case "a stop":
            line.schedule.cancel()
        case "a move waits":
            move = asyncio.ensure_future(line.schedule.move(line.move("move"), wait=True))
            await ticks()
    await line.let_go("look", "move", "then")
    assert ("then" in line.told) is (meanwhile == "nothing")
    assert isinstance(line.schedule.state, Free) and (move is None or await move == "move")


async def test_a_prompt_is_not_said_again_where_the_leaf_is_about_to_move(line: Line) -> None:
    line.schedule.begin(line.turn("look", looks=True))
    move = asyncio.ensure_future(line.schedule.move(line.move("move"), wait=True))
    await ticks()
    line.schedule.begin_behind(line.turn("again"))
    move.cancel()
    await line.let_go("look", "again")
    assert line.told == ["look", "look over", "freed"]


@pytest.mark.parametrize("catches_up", [True, False])
@pytest.mark.parametrize("meanwhile", ["nothing", "a stop", "a move waits"])
async def test_a_prompt_is_said_again_behind_a_move_that_only_catches_up_and_behind_no_other(
    line: Line, meanwhile: str, catches_up: bool
) -> None:
    moves = [asyncio.ensure_future(line.schedule.move(line.move("catching up"), catches_up=catches_up))]
    await ticks()
    line.schedule.begin_behind(line.turn("again"))
    match meanwhile:
        case "a stop":
            line.schedule.cancel()
        case "a move waits":
            moves.append(asyncio.ensure_future(line.schedule.move(line.move("move"))))
            await ticks()
    await line.let_go("catching up", "move", "again")
    await asyncio.gather(*moves)
    assert ("again" in line.told) is (catches_up and meanwhile == "nothing")
    assert line.schedule.at_rest


async def test_a_prompt_is_not_said_again_while_one_is_on_its_way_but_at_once_where_none_is(
    line: Line,
) -> None:
    line.schedule.begin(line.turn("turn"))
    line.schedule.begin_behind(line.turn("ignored"))
    await line.let_go("turn")
    line.schedule.begin_behind(line.turn("again"))
    await line.let_go("again")
    assert line.told == ["turn", "turn over", "freed", "again", "again over", "freed"]


async def test_whoever_comes_in_whatever_order_the_leaf_has_one_holder_and_is_free_in_the_end() -> None:
    for seed in range(30):
        await walk(random.Random(seed))


async def walk(chance: random.Random) -> None:
    holders = 0

    async def hold() -> None:
        nonlocal holders
        holders += 1
        assert holders == 1
        try:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            if schedule.sending and chance.random() < 0.5:
                schedule.look()
                await asyncio.sleep(0)
        finally:
            holders -= 1

    async def stop() -> None:
        schedule.cancel()

    def freed(then: Consumer | None) -> None:
        if then or chance.random() < 0.2:
            schedule.begin(then or hold)

    schedule = WindowSchedule(stop, freed)
    asked: list[asyncio.Future[Any]] = []
    for _ in range(40):
        match chance.randrange(6):
            case 0:
                asked.append(asyncio.ensure_future(schedule.move(hold, stop=chance.random() < 0.5)))
            case 1:
                asked.append(asyncio.ensure_future(schedule.move(hold, wait=True)))
            case 2:
                asked.append(asyncio.ensure_future(schedule.send(hold, stop=chance.random() < 0.5)))
            case 3:
                schedule.begin_behind(hold)
            case 4:
                schedule.cancel()
            case _ if asked:
                chance.choice(asked).cancel()
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)
    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        while not schedule.at_rest:
            await schedule.sent()
    allowed = (StillAtWork, asyncio.CancelledError)
    assert all(isinstance(each, allowed) for each in outcomes if isinstance(each, BaseException))
    assert (holders, schedule.waiting) == (0, 0)


async def test_preparations_are_done_one_after_the_other_and_each_can_be_given_up() -> None:
    told: list[str] = []
    gate = asyncio.Event()
    preparation = Preparation(lambda: told.append("over"))

    async def prepare(name: str) -> str:
        told.append(name)
        await gate.wait()
        return name

    first = asyncio.ensure_future(preparation.run(lambda: prepare("first")))
    second = asyncio.ensure_future(preparation.run(lambda: prepare("second")))
    await ticks()
    assert told == ["first"] and preparation.under_way
    preparation.give_up()
    with pytest.raises(GivenUp):
        await first
    await ticks()
    assert told == ["first", "over", "second"]
    gate.set()
    assert await second == "second" and not preparation.under_way


async def test_a_window_that_is_closed_waits_for_no_preparation_that_only_begins_then() -> None:
    preparation = Preparation(lambda: None)
    asked = [asyncio.ensure_future(preparation.run(asyncio.Event().wait)) for _ in range(3)]
    await ticks()
    async with asyncio.timeout(60):
        await preparation.close()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, GivenUp) for each in outcomes)

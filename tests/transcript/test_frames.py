"""One clock for drawing: what conversations publish and the text that grows are drawn in the same frames."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from catena.transcript.model.column import Column
from catena.transcript.widget.view import FrameClock
from catena_acp.continuity.conversation_events import MessageGrew
from catena_acp.growing_text import GrowingText
from catena_store.records import Kind
from support.conversations.rehearsed import World
from support.screen.chain import world as world
from support.screen.pilot import at_the_screen

FRAME = 0.04


class Clocked:
    """A frame clock whose time is set, with what it drew and what it scheduled."""

    def __init__(self) -> None:
        self.now = 100.0
        self.grown = True  # there is growing text to draw
        self.flushes: list[float] = []
        self.scheduled: list[tuple[float, Callable[[], None]]] = []
        self.clock = FrameClock(self._flush, self._schedule, now=lambda: self.now, frame=FRAME)

    def _flush(self) -> bool:
        self.flushes.append(self.now)
        return self.grown

    def _schedule(self, seconds: float, call: Callable[[], None]) -> None:
        self.scheduled.append((seconds, call))

    def wait_of_next(self) -> float:
        self.clock.request()
        seconds, _ = self.scheduled[-1]
        return seconds


def test_growth_within_a_frame_is_drawn_at_its_end_and_schedules_no_other() -> None:
    clocked = Clocked()
    with clocked.clock.frame():
        clocked.clock.request()
        assert clocked.flushes == []
    assert (clocked.flushes, clocked.scheduled, clocked.clock.waiting) == ([100.0], [], False)
    clocked.clock.request()
    clocked.clock.request()
    ((_, run),) = clocked.scheduled
    run()
    assert len(clocked.flushes) == 2 and not clocked.clock.waiting


def test_w19_two_clocks_share_the_half_of_the_time_that_one_may_take() -> None:
    waits = []
    for among in (1, 2):
        clocked = Clocked()
        clocked.clock.among = among
        with clocked.clock.frame():
            clocked.now += 0.1
        waits.append(clocked.wait_of_next())
    assert waits == [pytest.approx(0.1), pytest.approx(0.3)]


def test_the_next_frame_waits_for_the_whole_cost_of_the_last_one() -> None:
    clocked = Clocked()
    with clocked.clock.frame():
        clocked.now += 0.01  # events
    assert clocked.wait_of_next() == pytest.approx(FRAME - 0.01)

    dear = Clocked()
    with dear.clock.frame():
        dear.now += 0.1
    dear.now += 0.05
    dear.clock.add_cost(0.05)  # painting
    assert dear.wait_of_next() == pytest.approx(0.15)
    # What is painted late in the rest makes it longer by as much, and does not begin it anew.
    dear.clock.waiting = False
    dear.now += 0.1
    dear.clock.add_cost(0.01)
    assert dear.wait_of_next() == pytest.approx(0.07)


def test_after_a_frame_without_growing_text_the_next_one_comes_twice_as_soon() -> None:
    clocked = Clocked()
    clocked.grown = False
    with clocked.clock.frame():
        pass
    assert clocked.wait_of_next() == pytest.approx(FRAME / 2)


def test_pieces_of_a_text_are_joined_when_it_is_read() -> None:
    text = GrowingText("a")
    text.add("bc")
    assert (str(text), text.length) == ("abc", 3)
    text.add("")
    text.add("d")
    assert (str(text), text.length) == ("abcd", 4)


def test_very_many_pieces_of_a_text_take_little_more_room_than_their_letters() -> None:
    text, pieces = GrowingText(), 10_000
    for number in range(pieces):
        text.add(f"{number:11}")
    kept = [each for each in gc.get_referents(text) if isinstance(each, list)]
    assert sum(map(len, kept)) < pieces / 20
    assert str(text) == "".join(f"{number:11}" for number in range(pieces))


async def test_what_is_published_of_an_answer_is_drawn_with_its_events_and_without_a_timer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = 50
    async with at_the_screen(str(world.project)) as person:
        await person.say("say begun; hang")
        await person.sees("  begun")
        tabs, tab, transcript = person.chat.context.tabs, person.tab, person.transcript
        await person.until(lambda: not transcript.busy and not tabs.events, "all to be drawn")
        answer = person.chat.context.presenter.newest(Kind.AGENT)
        assert answer is not None
        grown: list[str] = []
        grow = Column.grow

        def counted(column: Column, message_id: str, text: str, *, draw: bool) -> None:
            grown.append(text)
            grow(column, message_id, text, draw=draw)

        monkeypatch.setattr(Column, "grow", counted)
        monkeypatch.setattr(transcript.frames, "_schedule", lambda *_: pytest.fail("a frame of its own"))
        for number in range(pieces):
            tabs.events.publish(tab, MessageGrew(tab.window_id, answer.id, f" word{number}"))
        tabs.panes.focused.published.set()
        await person.sees(f"word{pieces - 1}")
        assert "".join(grown) == "".join(f" word{number}" for number in range(pieces))
        assert len(grown) < pieces / 5
        await person.press("escape")
        await person.idle()

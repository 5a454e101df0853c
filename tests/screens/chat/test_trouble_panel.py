"""The trouble panel by itself: what it says, which keys and clicks it takes, and what a clock changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from catena.screens.chat.actions.surface import behind
from catena.screens.chat.panels.trouble import TroublePanel
from catena.workspace.tab import Tab
from catena.workspace.trouble import GRACE, StandingTrouble, TabTrouble, changes_in, duration, words_of
from catena_acp.continuity.conversation_events import (
    LeafMoved,
    Problem,
    PromptReturned,
    SessionChanged,
    SessionState,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store.records import ContextSource, StopReason, Turn
from support.screen.messages import press, taken_in
from support.screen.themed import ThemedApp
from support.screen.transcript import until

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
REHEARSAL = ("rehearsal", "")
EVERYTHING = (Offer.RETRY, Offer.WAIT, Offer.LOGIN, Offer.OTHER_AGENT, Offer.LAST_LINES, Offer.TAKE_OVER)


def limit(resets_at: datetime | None = NOON + timedelta(minutes=12), **more: Any) -> StandingTrouble:
    problem = Problem(
        Trouble.RATE_LIMIT,
        "Rehearsal is rate limited. Its partial answer is saved.",
        offers=(Offer.WAIT, Offer.RETRY, Offer.OTHER_AGENT),
        resets_at=resets_at,
    )
    return replace(StandingTrouble(problem, REHEARSAL, "row"), **more)


def gone(*offers: Offer) -> StandingTrouble:
    return StandingTrouble(Problem(Trouble.AGENT_GONE, "Rehearsal ended.", offers=offers), REHEARSAL, "row")


class Stage(ThemedApp):
    """The panel between a field and nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.panel = TroublePanel(clock=lambda: self.now)
        self.taken: list[Offer] = []
        self.mistyped = 0

    def compose(self) -> ComposeResult:
        yield self.panel
        yield Input()

    def on_trouble_panel_taken(self, event: TroublePanel.Taken) -> None:
        self.taken.append(event.offer)

    def on_trouble_panel_mistyped(self) -> None:
        self.mistyped += 1

    def on_trouble_panel_left(self) -> None:
        self.query_one(Input).focus()

    def rows(self) -> list[str]:
        return [
            strip.text.strip()
            for strip in self.screen._compositor.render_strips()[: self.panel.outer_size.height]
        ]


@asynccontextmanager
async def on_stage(size: tuple[int, int] = (100, 30)) -> AsyncIterator[tuple[Stage, Pilot[None]]]:
    stage = Stage()
    async with stage.run_test(size=size) as pilot:
        stage.query_one(Input).focus()
        await taken_in(pilot)
        yield stage, pilot


async def test_it_says_what_happened_and_offers_what_can_be_done_with_one_key_each() -> None:
    async with on_stage() as (stage, pilot):
        stage.panel.show(limit())
        await taken_in(pilot)
        said = "\n".join(stage.rows())
        until = format_time(NOON + timedelta(minutes=12), NOON)
        assert [" ".join(row.split()) for row in stage.rows()[1:-1]] == [
            "▌ Rehearsal is rate limited. tab to choose",
            "▌ Its partial answer is saved.",
            f"▌ w Wait and retry at {until}",
            "▌ r Retry",
            "▌ a Continue with another agent",
        ]
        assert said.startswith("▄") and said.endswith("▀")
        stage.panel.show(None)
        await taken_in(pilot)
        assert not stage.panel.display


@pytest.mark.parametrize(("key", "offer"), list(zip("rwlaet", EVERYTHING, strict=True)))
async def test_each_key_takes_its_offer_while_the_panel_has_the_focus_and_is_typed_elsewhere(
    key: str, offer: Offer
) -> None:
    async with on_stage() as (stage, pilot):
        until = NOON + timedelta(hours=1)
        stage.panel.show(
            StandingTrouble(Problem(Trouble.REFUSED, "no", (), EVERYTHING, until), REHEARSAL, None)
        )
        await press(pilot, key)
        assert stage.query_one(Input).value == key and not stage.taken
        stage.panel.focus()
        await press(pilot, key)
        assert stage.taken == [offer]
        assert stage.query_one(Input).value == key


async def test_a_key_that_offers_nothing_here_does_nothing_and_says_so() -> None:
    async with on_stage() as (stage, pilot):
        stage.panel.show(gone(Offer.RETRY))
        stage.panel.focus()
        await press(pilot, "l", "x", "9")
        assert not stage.taken and stage.mistyped == 1
        assert stage.query_one(Input).value == ""


async def test_a_click_on_an_offer_takes_it_and_leaves_the_focus_where_it_was() -> None:
    async with on_stage() as (stage, pilot):
        stage.panel.show(gone(Offer.RETRY, Offer.LAST_LINES, Offer.OTHER_AGENT))
        await taken_in(pilot)
        line = next(y for y, row in enumerate(stage.rows()) if "Error output" in row)
        column = stage.rows()[line].index("Error output") + 1
        await pilot.click(TroublePanel, offset=(column + 3, line))
        await taken_in(pilot)
        assert stage.taken == [Offer.LAST_LINES]
        await pilot.click(TroublePanel, offset=(column + 3, line - 2))
        await taken_in(pilot)
        assert stage.taken == [Offer.LAST_LINES]
        assert stage.focused is stage.query_one(Input)


@pytest.mark.parametrize(("size", "rows"), [((100, 10), 2), ((40, 10), 2)])
async def test_s01_on_a_short_screen_what_happened_takes_a_row_and_so_do_the_options_where_they_fit(
    size: tuple[int, int], rows: int
) -> None:
    async with on_stage(size) as (stage, pilot):
        stage.panel.show(limit())
        await taken_in(pilot)
        assert stage.panel.content_size.height == rows
        shown = [row for row in stage.rows() if row.strip("▄▀ ")]
        keys = " ".join(shown[1:])
        assert [word for word in keys.split() if len(word) == 1 and word != "▌"] == ["w", "r", "a"]
        assert max(map(len, stage.rows())) <= size[0]
        line = next(y for y, row in enumerate(stage.rows()) if " a " in row)
        await pilot.click(TroublePanel, offset=(stage.rows()[line].index(" a ") + 1, line))
        await taken_in(pilot)
        assert stage.taken == [Offer.OTHER_AGENT]


async def test_s01_on_a_narrow_screen_options_wrap_under_their_words_and_the_price_stands_below() -> None:
    async with on_stage((40, 30)) as (stage, pilot):
        stage.panel.show(standing := gone(Offer.RETRY, Offer.OTHER_AGENT))
        stage.panel.show_prices(standing, {Offer.RETRY: "14 of 57 messages replayed, ~6,200 tokens"})
        await taken_in(pilot)
        rows = [row.removeprefix("▌") for row in stage.rows()]
        retry = next(y for y, row in enumerate(rows) if "Retry" in row)
        assert rows[retry : retry + 4] == [
            " r     Retry",
            "       14 of 57 messages replayed,",
            "       ~6,200 tokens",
            " a     Continue with another agent",
        ]


async def test_the_price_of_a_retry_stands_at_the_right_edge_of_its_row_and_goes_with_its_trouble() -> None:
    async with on_stage() as (stage, pilot):
        stage.panel.show(standing := gone(Offer.RETRY))
        stage.panel.show_prices(standing, {Offer.RETRY: "same context, nothing replayed"})
        await taken_in(pilot)
        row = next(strip.text for strip in stage.screen._compositor.render_strips() if "Retry" in strip.text)
        assert row == f"▌ r       Retry{'same context, nothing replayed':>83}  "
        stage.panel.show(gone(Offer.RETRY, Offer.LAST_LINES))
        await taken_in(pilot)
        assert "same context" not in "\n".join(stage.rows())


async def test_the_time_that_is_left_is_counted_down_and_the_end_of_the_limit_is_told() -> None:
    async with on_stage() as (stage, pilot):
        waiting = limit(waits_until=NOON + timedelta(minutes=12))
        stage.panel.show(waiting)
        await taken_in(pilot)
        at = format_time(NOON + timedelta(minutes=12), NOON)
        assert f"Retrying at {at}, in 12 min." in "\n".join(stage.rows())
        assert "Stop waiting" in "\n".join(stage.rows())
        stage.now = NOON + timedelta(minutes=11, seconds=18)
        stage.panel.show(replace(waiting, leaf_id="other"))
        await taken_in(pilot)
        assert "in 42 s" in "\n".join(stage.rows())
        stage.now = NOON + timedelta(minutes=13)
        stage.panel.show(limit())
        await taken_in(pilot)
        said = "\n".join(stage.rows())
        assert f"The limit reset at {at}." in said
        assert "Retry" in said and "Wait" not in said


async def test_a_limit_that_ends_while_it_is_shown_says_so_by_itself() -> None:
    async with on_stage() as (stage, pilot):
        stage.panel.show(limit(NOON + timedelta(milliseconds=50)))
        await taken_in(pilot)
        assert "is rate limited" in "\n".join(stage.rows())
        stage.now = NOON + timedelta(seconds=1)
        await until(lambda: stage.panel.words is not None and "reset" in stage.panel.words.line)
        await taken_in(pilot)
        assert "The limit reset at" in "\n".join(stage.rows())


async def test_what_goes_away_while_it_has_the_keys_gives_them_back() -> None:
    async with on_stage() as (stage, pilot):
        stage.panel.show(gone(Offer.RETRY))
        stage.panel.focus()
        await taken_in(pilot)
        stage.panel.show(None)
        await taken_in(pilot)
        assert stage.focused is stage.query_one(Input)


async def test_w27_what_an_agent_says_of_its_trouble_is_text() -> None:
    async with on_stage() as (stage, pilot):
        said = "[bold]no[/bold] \x1b[31mred \x9d52;c;x\x07 \u202eback\nand another line"
        stage.panel.show(
            StandingTrouble(Problem(Trouble.REFUSED, said, offers=(Offer.RETRY,)), REHEARSAL, None)
        )
        await taken_in(pilot)
        shown = "\n".join(stage.rows())
        assert "[bold]no[/bold]" in shown and "and another line" in shown
        assert not set("\x1b\x9d\x07\u202e") & set(shown)


async def test_a_long_story_is_cut_and_leaves_the_offers_on_the_screen() -> None:
    async with on_stage((60, 20)) as (stage, pilot):
        stage.panel.show(
            StandingTrouble(Problem(Trouble.REFUSED, "word " * 200, offers=(Offer.RETRY,)), REHEARSAL, None)
        )
        await taken_in(pilot)
        assert stage.panel.content_size.height == 4
        assert stage.rows()[-2].endswith("Retry") and "…" in stage.rows()[-3]


# What it says, without a screen.


def test_while_a_turn_is_under_way_only_a_limit_that_lasts_is_worth_a_line() -> None:
    busy = words_of(limit(), NOON, busy=True)
    assert busy is not None and busy.offers == ()
    assert words_of(limit(), NOON + timedelta(hours=1), busy=True) is None
    assert words_of(gone(Offer.RETRY), NOON, busy=True) is None


def test_a_limit_without_a_time_can_be_tried_again_but_not_waited_for() -> None:
    words = words_of(limit(None), NOON, busy=False)
    assert words is not None and [offer for offer, _ in words.offers] == [Offer.RETRY, Offer.OTHER_AGENT]


@pytest.mark.parametrize(
    ("left", "said", "next_change"),
    [
        (timedelta(hours=3, minutes=5, seconds=30), "3 h 5 min", 30),
        (timedelta(hours=2), "2 h", 60),
        (timedelta(minutes=59, seconds=1), "59 min", 1),
        (timedelta(seconds=61), "1 min", 1),
        (timedelta(seconds=60), "60 s", 1),
        (timedelta(seconds=0.4), "1 s", 0.4),
    ],
)
def test_what_is_left_is_said_in_the_unit_that_matters_and_looked_at_when_it_changes(
    left: timedelta, said: str, next_change: float
) -> None:
    assert duration(left) == said
    assert changes_in(limit(waits_until=NOON + left), NOON) == pytest.approx(next_change)


def test_what_was_typed_behind_a_prompt_that_came_back_is_no_part_of_it() -> None:
    assert behind("say one", "say one") == ""
    assert behind("say one", "say one\nand more") == "and more"
    assert behind("say one", "say one or two") is None
    assert behind("say one", "") is None


# What ends it.


def ended(stop: StopReason | None = None, problem: Problem | None = None) -> TurnEnded:
    turn = None
    if stop is not None:
        nothing = dict.fromkeys(each.name for each in fields(Turn))
        turn = Turn(**nothing | {"id": "t", "stop_reason": stop, "how": ContextSource.FRESH})  # type: ignore[arg-type]
    return TurnEnded("w", turn, problem)


def heard(trouble: TabTrouble, *news: object, agent: str = "rehearsal") -> StandingTrouble | None:
    for each in news:
        trouble.handle(each, agent=(agent, ""), leaf_id="row")  # type: ignore[arg-type]
    return trouble.standing


def started() -> TurnStarted:
    turn = ended(StopReason.END_TURN).turn
    assert turn is not None
    return TurnStarted("w", turn)


def test_trouble_goes_with_the_next_turn() -> None:
    trouble = TabTrouble(lambda: NOON)
    assert heard(trouble, ended(problem=gone().problem)) is not None
    assert heard(trouble, started()) is None


def test_a_limit_stays_over_a_turn_with_another_agent_and_goes_when_its_own_answers() -> None:
    trouble = TabTrouble(lambda: NOON)
    heard(trouble, ended(problem=limit().problem))
    assert heard(trouble, started(), ended(StopReason.END_TURN), agent="two") is not None
    assert trouble.standing is not None and trouble.standing.gone_on
    assert words_of(trouble.standing, NOON, busy=False) is not None
    assert heard(trouble, started(), ended(StopReason.END_TURN)) is None


def test_a_limit_that_has_passed_goes_with_the_next_turn() -> None:
    trouble = TabTrouble(lambda: NOON + timedelta(hours=1))
    heard(trouble, ended(problem=limit().problem))
    assert heard(trouble, started()) is None


def test_a_text_that_came_back_is_remembered_with_its_trouble_and_one_from_the_queue_is_not() -> None:
    trouble = TabTrouble(lambda: NOON)
    returned = replace(gone().problem, returned=True)
    standing = heard(trouble, PromptReturned("w", "mine"), ended(problem=returned))
    assert standing is not None and standing.prompt == "mine"
    standing = heard(trouble, PromptReturned("w", "queued"), ended(problem=gone().problem))
    assert standing is not None and standing.prompt is None
    standing = heard(trouble, ended(problem=returned))
    assert standing is not None and standing.prompt is None


def test_a_prompt_waits_a_little_beyond_the_end_of_its_limit_for_clocks_that_differ() -> None:
    trouble = TabTrouble(lambda: NOON)
    assert trouble.wait() is None and not trouble.stop_waiting()
    heard(trouble, ended(problem=limit().problem))
    end = trouble.wait()
    assert end is not None and end == limit().problem.resets_at
    assert trouble.standing is not None and trouble.standing.waits_until == end + GRACE
    assert trouble.stop_waiting() and trouble.standing.waits_until is None


def test_trouble_outside_of_a_turn_goes_when_a_session_is_open() -> None:
    trouble = TabTrouble(lambda: NOON)
    standing = heard(trouble, Troubled("w", gone(Offer.RETRY).problem))
    assert standing is not None and not standing.about_prompt
    assert heard(trouble, SessionChanged("w", SessionState("Rehearsal", link_id="l"))) is None


def test_what_is_only_said_in_passing_does_not_take_the_place_of_what_can_be_acted_on() -> None:
    trouble = TabTrouble(lambda: NOON)
    heard(trouble, ended(problem=limit().problem))
    assert heard(trouble, Troubled("w", gone().problem)) == limit()


def test_another_branch_has_not_the_trouble_of_this_one() -> None:
    trouble = TabTrouble(lambda: NOON)
    heard(trouble, ended(problem=gone().problem))
    assert heard(trouble, LeafMoved("w", "elsewhere")) is None


def test_what_was_put_away_does_not_come_back_when_the_tab_is_looked_at_again() -> None:
    trouble = TabTrouble(lambda: NOON)
    heard(trouble, ended(problem=gone().problem))
    trouble.dismiss()
    trouble.restore(gone().problem, agent=REHEARSAL, leaf_id="row")
    assert trouble.standing is None
    trouble.restore(gone().problem, agent=REHEARSAL, leaf_id="another row")
    assert trouble.standing is not None


@pytest.mark.parametrize("trouble", [Trouble.OVERLOAD, Trouble.READ_ONLY])
def test_who_may_only_read_is_offered_nothing_but_to_take_over(trouble: Trouble) -> None:
    problem = Problem(trouble, "no", offers=(Offer.RETRY,))
    for read_only in (False, True):
        tab = Tab("w", SimpleNamespace(read_only=read_only), kept=True)  # type: ignore[arg-type]
        tab.trouble.restore(problem, agent=REHEARSAL, leaf_id="row")
        shown = tab.trouble_to_show
        assert (shown is not None) is (not read_only or trouble is Trouble.READ_ONLY)

"""Talking on the chat screen: sending, stopping, queueing, answering, and losing nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from catena.keys.keymap import KeyMap
from catena.screens.common.picker import Picker
from catena.settings.settings import Settings
from catena_acp.continuity.conversation_events import Doing
from catena_acp.port.port import AgentSpec
from support.screen.pilot import at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


async def test_what_is_said_is_answered_on_the_screen(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say the answer is forty-two")
        await person.sees("say the answer is forty-two", "  the answer is forty-two")
        await person.idle()
        assert person.draft == ""


async def test_w09_titles_notices_and_compactions_that_the_agent_tells_of_are_shown(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("title The tempest; notice Beware; compact; say ok")
        await person.sees("  Beware", "╌ the agent shortened its own context", "  ok")
        await person.new_tab()
        await person.sees("1 The tempest")


async def test_ctrl_j_makes_a_new_line_and_enter_sends_both(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("say one")
        await person.press("ctrl+j")
        await person.type("say two")
        assert person.draft == "say one\nsay two"
        await person.press("enter")
        await person.sees("  one", "  two")


async def test_an_enter_typed_at_once_behind_a_text_sends_all_of_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.type_at_once("say quick\nmore")
        await person.sees("  quick")
        assert person.draft == "more"


async def test_r11_escape_stops_the_turn_and_what_was_said_stays(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say first words; hang")
        await person.sees("  first words", "esc stop")
        await person.press("escape")
        await person.sees("Stopped by you")
        await person.idle()
        assert "  first words" in person.text


async def test_r11_ending_the_process_is_offered_after_five_seconds(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say still here; hang hard")
        await person.sees("  still here")
        await person.press("escape")
        await person.until(lambda: person.tab.doing is Doing.STOPPING, "the stop to be asked for")
        await person.sees("esc again kills the agent's process")
        await person.press("escape")
        await person.idle()
        assert "  still here" in person.text
        await person.say("say back again")
        await person.sees("  back again")


async def test_w16_enter_while_the_agent_works_queues_and_the_queue_is_sent_in_order(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("say busy")
            await person.until(lambda: person.tab.at_work, "the turn")
            await person.say("say the second")
            await person.sees("next  say the second")
        await person.sees("  busy", "  the second")
        await person.sees_no("next  say the second")


async def test_w16_up_in_an_empty_composer_takes_a_waiting_prompt_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say busy; hang")
        await person.sees("  busy")
        await person.say("say not yet")
        await person.sees("next  say not yet")
        await person.press("up")
        await person.until(lambda: person.draft == "say not yet", "the prompt to come back")
        await person.sees_no("next  say not yet")


async def test_w16_a_click_on_the_cross_takes_a_waiting_prompt_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say busy; hang")
        await person.sees("  busy")
        await person.say("say not yet")
        await person.sees("✕")
        await person.pilot.click("#queue", offset=(person.app.size.width - 2, 0))
        await person.until(lambda: person.draft == "say not yet", "the prompt to come back")
        await person.sees_no("✕")


async def test_w16_after_an_error_the_queue_waits_for_the_person(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("say busy; error -32603 no more")
            await person.until(lambda: person.tab.at_work, "the turn")
            await person.say("say and then")
            await person.sees("next  say and then")
        await person.sees("held  say and then")
        await person.idle()
        await person.press("enter")
        await person.sees("  and then")


async def test_w16_what_is_held_is_let_go_while_a_turn_runs_and_follows_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("say busy; error -32603 no more")
            await person.until(lambda: person.tab.at_work, "the turn")
            await person.say("say and then")
            await person.sees("next  say and then")
        await person.sees("held  say and then")
        await person.idle()
        async with person.agent_held():
            await person.say("say between")
            await person.until(lambda: person.tab.at_work, "the turn")
            await person.press("enter")
            await person.sees("next  say and then")
        await person.sees("  between", "  and then")


async def test_r12_a_prompt_that_no_agent_takes_is_back_in_the_composer(tmp_path: Path) -> None:
    nowhere = AgentSpec("command:no-such-agent", "Nowhere", ("no-such-agent-anywhere",))
    async with at_the_screen(str(tmp_path), agent=nowhere) as person:
        await person.say("a thought worth keeping")
        await person.until(lambda: person.draft, "the text to come back")
        assert person.draft == "a thought worth keeping"
        await person.sees("Nowhere cannot be started")
        await person.sees_no("is ready")


async def test_r12_an_agent_that_dies_keeps_its_words_on_the_screen_and_says_how_it_ended(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say half a sen; crash")
        await person.sees("  half a sen", "killed by signal")
        await person.idle()
        await person.say("say up again")
        await person.sees("  up again")


async def test_a_question_shows_the_agents_options_in_its_order_and_nothing_is_chosen_before(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        await person.sees("1 y Allow ▌ 2 Always allow ▌ 3 n Reject ▌ 4 Always reject")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("enter", "space", "x")
        assert person.tab.asks and person.draft == ""
        await person.apart()
        await person.press("3")
        await person.idle()
        assert not person.tab.asks
        assert person.app.focused is person.composer


async def test_w01_only_keys_that_do_something_are_named_at_a_question(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        text = await person.sees("r       Reject with a reason", "esc decide later")
        assert "full diff" not in text
        await person.press("1")
        await person.idle()
        await person.say("edit notes.txt")
        await person.sees("d full diff", "r       Reject with a reason", "esc decide later")


async def test_what_is_being_typed_never_answers_a_question(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("ask May I?")
            await person.type("yes, 1 or 2")
        await person.sees("tab to answer")
        await person.pilot.pause(0.5)
        assert person.app.focused is person.composer
        assert person.draft == "yes, 1 or 2"
        await person.press("tab")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("y")
        await person.until(lambda: not person.tab.asks, "the answer")
        assert person.draft == "yes, 1 or 2"


async def test_a_word_that_is_typed_at_a_question_opens_nothing_and_rejects_nothing(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("edit notes.txt")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.apart()
        await person.type_at_once("third prompt\n")
        await person.sees("Allow editing this file?", "You cannot type here: esc to decide later.")
        assert person.area.place == "question" and person.tab.asks
        await person.apart()
        await person.type_at_once("rthe names are wrong\n")
        await person.sees("the names are wrong")
        await person.idle()
        assert not person.tab.asks


async def test_a_key_of_ones_own_answers_a_question_and_the_one_before_it_says_that_it_does_nothing(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), settings=Settings(keys=KeyMap({"diff": ("x",)}))) as person:
        await person.say("edit notes.txt")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.apart()
        await person.press("d")
        await person.sees("You cannot type here: esc to decide later.")
        await person.apart()
        await person.press("x")
        await person.sees("Full diff")
        await person.press("escape")
        await person.back()
        await person.sees("Allow editing this file?")
        assert "You cannot type here" not in person.text


async def test_escape_leaves_a_question_open_and_says_so(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("escape")
        await person.sees("The request stays open")
        assert person.tab.asks
        await person.press("escape")
        await person.idle()
        assert not person.tab.asks


async def test_d_shows_the_whole_change_that_is_asked_for(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("edit notes.txt")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("d")
        await person.sees(
            "Full diff · notes.txt", '2 −     print("Hello")', '2 +     print(f"Hello, {name}!")'
        )
        await person.press("escape")
        await person.sees("Allow editing this file?")


async def test_a_reason_rejects_and_becomes_the_next_prompt(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("edit notes.txt; wait 0.3")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("r")
        await person.type("say use another file")
        await person.press("enter")
        await person.sees("▌ say use another file", "  use another file")


async def test_w06_the_plan_is_pinned_while_it_has_open_items(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("plan; say planned")
        await person.sees("  planned")
        await person.idle()
        panel = person.area.panels.plan
        assert not panel.display or not panel.has_class("-open")
        assert person.tab.plan is not None
        entries = [{"text": "Bow", "status": "pending"}]
        person.tab.plan = replace(person.tab.plan, data={"entries": entries})
        person.chat.context.presenter.refresh()
        await person.sees("0 of 1 step done", "○ Bow")


async def test_w02_mode_and_model_are_shown_and_switched(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.sees("Rehearsal · Understudy · Ask")
        await person.say("/mode")
        await person.sees_dialog(Picker)
        await person.type("code")
        await person.press("enter")
        await person.sees("Rehearsal · Understudy · Code")
        await person.say("/model")
        await person.sees_dialog(Picker)
        await person.press("down", "enter")
        await person.sees_no("Rehearsal · Understudy")


async def test_w02_a_key_goes_through_the_modes_also_while_the_agent_works(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 40)) as person:
        await person.sees("Rehearsal · Understudy · Ask", "shift+tab mode")
        await person.press("shift+tab", "shift+tab")
        await person.sees("Rehearsal · Understudy · Plan", "The mode is Plan.")
        await person.say("cue go; say done")
        await person.until(lambda: person.tab.at_work, "the agent to work")
        await person.press("shift+tab")
        await person.sees("Rehearsal · Understudy · Ask", "The mode is Ask.")
        await person.press("escape")
        await person.idle()


async def test_w02_the_key_leaves_out_a_mode_that_asks_for_nothing_and_says_so(tmp_path: Path) -> None:
    bold = AgentSpec("bold", "Bold", (sys.executable, "-m", "catena_acp.rehearsal", "--unasked"))
    async with at_the_screen(str(tmp_path), agent=bold, size=(120, 40)) as person:
        await person.sees("Bold · Understudy · Auto")
        for mode in ("Ask", "Code", "Plan", "Ask"):
            await person.press("shift+tab")
            await person.sees(
                f"The mode is {mode}. Only /model mode Auto lets the agent do everything unasked."
            )


async def test_w02_an_agent_without_modes_says_so_to_the_key(tmp_path: Path) -> None:
    plain = AgentSpec(
        "plain", "Plain", (sys.executable, "-m", "catena_acp.rehearsal", "--no-modes", "--no-options")
    )
    async with at_the_screen(str(tmp_path), agent=plain) as person:
        await person.sees("Ask Plain")
        await person.press("shift+tab")
        await person.sees("The agent offers no modes.")


async def test_w02_the_agents_other_options_can_be_set(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.sees("Understudy")
        await person.say("/options")
        await person.sees("The agent's settings")
        await person.press("escape")
        await person.sees_no("The agent's settings")


async def test_clear_is_ours_and_leaves_everything_on_the_screen(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say before")
        await person.sees("  before")
        await person.idle()
        await person.say("/clear")
        await person.sees("context cleared", "  before")


async def test_the_panel_of_a_question_is_away_when_there_is_none(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        assert not person.area.panels.permission.has_class("-asked")


async def test_w08_context_and_cost_are_shown_where_the_agent_reports_them(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("usage 42000/200000; say done")
        await person.sees("42k of 200k tokens · $")


async def test_w08_what_was_spent_before_a_clear_stays_in_the_cost(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("stream 500 rate 100000")
        await person.sees("tokens · $0.01")
        await person.say("/clear")
        await person.sees("context cleared")
        await person.answered("say one")
        await person.sees("tokens · $0.01")


async def test_w08_where_the_agent_reports_nothing_there_is_no_meter(tmp_path: Path) -> None:
    quiet = AgentSpec("quiet", "Quiet", (sys.executable, "-m", "catena_acp.rehearsal", "--no-usage"))
    async with at_the_screen(str(tmp_path), agent=quiet) as person:
        await person.say("say done")
        await person.sees("  done")
        await person.idle()
        assert "$" not in person.text and " of " not in person.text.splitlines()[-1]

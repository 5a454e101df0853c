"""A question of the agent's is answered with the mouse as well."""

from __future__ import annotations

import time
from pathlib import Path

from textual.geometry import Offset

from catena.widgets.band import BandText
from catena_acp.continuity.conversation_events import PermissionOpened
from support.screen.pilot import Person, at_the_screen


async def _clicks(person: Person, words: str) -> None:
    """Click on the first of these words of the answers, once the keys are there, too."""
    await person.until(lambda: person.app.focused is person.area.panels.permission, "the keys to go there")
    await person.taken_in()
    await _presses_and_lets_go(person, words)


async def _presses_and_lets_go(person: Person, words: str) -> None:
    """Hold the button down on these words until all that comes of it has come."""
    options = person.area.panels.permission.query_one(BandText)
    rows = [strip.text for strip in options.render_lines(options.size.region)]
    y, row = next((y, row) for y, row in enumerate(rows) if words in row)
    at = Offset(row.index(words), y)
    await person.pilot.mouse_down(options, offset=at)
    await person.taken_in()
    await person.pilot.click(options, offset=at)
    await person.taken_in()


async def test_w01_a_click_on_an_answer_is_that_answer_and_a_click_beside_them_is_none(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?; ask And this?")
        await person.sees("May I?")
        await _clicks(person, "Allow running")  # the question itself
        assert [ask.tool_call.title for ask in person.tab.asks if isinstance(ask, PermissionOpened)] == [
            "May I?"
        ]
        await _clicks(person, "Reject")
        await person.sees("And this?")
        await _clicks(person, "1 y")
        await person.idle()
        assert not person.tab.asks
        await person.sees("◌", "rejected", "✓")


async def test_w01_the_change_and_the_reason_can_be_clicked(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("edit notes.txt")
        await _clicks(person, "full diff")
        await person.sees("Full diff")
        await person.press("escape")
        await person.back()
        await _clicks(person, "Reject with")
        assert person.area.panels.permission.giving_reason
        await person.type("say use another file")
        await person.press("enter")
        await person.sees("▌ say use another file", "  use another file")


async def test_w01_a_click_while_one_types_takes_what_was_under_the_pointer_and_no_keys(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        async with person.agent_held():
            await person.say("ask May I?")
            await person.type("half a sentence")
        await person.sees("tab to answer", "1 y     Allow")
        standing = person.area.panels.permission.standing
        await person.until(lambda: standing.holds(time.monotonic()), "the question to stand long enough")
        await person.pilot.mouse_down(BandText)
        await person.taken_in()
        assert person.app.focused is person.composer
        await _presses_and_lets_go(person, "Reject")
        await person.idle()
        assert not person.tab.asks and person.draft == "half a sentence"
        assert person.app.focused is person.composer
        await person.sees("◌ Run")


async def test_w01_a_question_that_a_click_answers_takes_the_word_that_it_stays_open_along(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.press("escape")
        await person.sees("The request stays open")
        await _presses_and_lets_go(person, "1 y")
        await person.idle()
        assert person.area.prompt.hints.said == ""

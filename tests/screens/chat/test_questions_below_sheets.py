"""What is asked below a sheet, or while another program has the terminal, is seen before a key answers it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from catena.screens.chat.panels.fork import FINISH, ForkOption, ForkQuestion
from catena.screens.commands.help import HelpScreen
from support.screen.pilot import Person, at_the_screen

_LATER = 0.05  # seconds from the end of what was in front to the key, of which nothing can be read


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


async def _asked_below_the_help(person: Person, prompt: str) -> None:
    """An agent asks while the help is open, and waits for as long as it takes to answer what one sees."""
    await person.answered("say hello")
    async with person.agent_held():
        await person.say(prompt)
        await person.press("f1")
        await person.sees_dialog(HelpScreen)
    await person.until(lambda: person.tab.asks, "the agent to ask")
    await _as_long_as_a_question_stands(person)


async def _as_long_as_a_question_stands(person: Person) -> None:
    begun = time.monotonic()
    await person.until(lambda: time.monotonic() - begun > 1, "a question in sight to have the keys")


async def _types_behind_the_help(person: Person, key: str) -> None:
    """Close the help, and type a letter that was read right behind that, however slow the machine is."""
    await person.press("escape")
    await person.until(lambda: person.app.screen is person.app.chat, "the chat")
    await person.type_at_once(key, read_at=time.monotonic() + _LATER)


@pytest.mark.parametrize("key", ["a", "y", "n"])
async def test_a_letter_typed_right_behind_a_sheet_answers_no_request_that_came_below_it(
    tmp_path: Path, key: str
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await _asked_below_the_help(person, "edit src/notes.txt")
        await _types_behind_the_help(person, key)
        await person.done()
        assert person.tab.asks and not await person.tab.conversation.rules.listed()
        assert person.draft in (key, "")  # where the keys had gone by then, the letter is answered by a word
        await person.press("backspace")
        await person.press("tab")
        await person.until(lambda: person.area.place == "question", "the keys to go to the request")
        await person.apart()
        await person.press("n")
        await person.until(lambda: not person.tab.asks, "the request to be answered")


async def test_a_request_that_came_below_a_sheet_gets_the_keys_once_it_is_in_sight(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await _asked_below_the_help(person, "ask May I?")
        assert person.area.place == "composer"
        await person.press("escape")
        await person.back()
        await person.until(lambda: person.area.place == "question", "the keys to go to the request")
        await person.apart()
        await person.press("y")
        await person.until(lambda: not person.tab.asks, "the request to be answered")


async def test_nothing_looks_whether_a_sheet_above_a_question_is_still_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await _asked_below_the_help(person, "edit src/notes.txt")
        widgets = person.app.chat.walk_children(with_self=True)
        timers = {timer for widget in widgets for timer in widget._timers}
        assert timers and not any(timer._active.is_set() for timer in timers)


async def test_a_request_that_came_while_another_program_had_the_terminal_is_answered_by_no_first_letter(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")
        async with person.agent_held():
            await person.say("edit src/notes.txt")
        app = person.app
        with app.batch_update():  # as run_in_terminal does
            app.app_suspend_signal.publish(app)
            await person.until(lambda: person.tab.asks, "the agent to ask")
            await _as_long_as_a_question_stands(person)
            app.app_resume_signal.publish(app)
        await person.type_at_once("a", read_at=time.monotonic() + _LATER)
        await person.done()
        assert person.tab.asks and not await person.tab.conversation.rules.listed()
        assert person.draft == "a"
        await person.press("backspace", "tab")
        await person.until(lambda: person.area.place == "question", "the keys to go to the request")
        await person.apart()
        await person.press("n")
        await person.until(lambda: not person.tab.asks, "the request to be answered")


async def test_the_question_of_a_branch_that_came_below_a_sheet_is_not_decided_by_a_letter_behind_it(
    tmp_path: Path,
) -> None:
    decided: list[str | None] = []
    async with at_the_screen(str(tmp_path)) as person:
        await person.press("f1")
        await person.sees_dialog(HelpScreen)

        async def ask() -> None:
            question = ForkQuestion("Cut off.", "", "", (ForkOption(FINISH, "Finish it"),))
            decided.append(await person.area.panels.fork.ask(question))

        person.area.run(ask())
        await person.until(lambda: person.area.panels.fork.open, "it to be asked")
        await _as_long_as_a_question_stands(person)
        await _types_behind_the_help(person, "f")
        assert not decided
        await person.apart()
        await person.press("f")
        await person.until(lambda: decided, "the answer")
        assert decided == [FINISH]

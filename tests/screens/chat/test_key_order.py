"""A key belongs to what was asked for before it, however fast they come, and however busy the screen is."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual import events

from catena.terminal.times import KeyPace
from support.screen.pilot import Person, at_the_screen
from support.screen.terminal import EMPTY_BOX, KEYS, Place, Terminal

Keys = Sequence[str]
Way = Callable[[Terminal, Keys], None]

_WORD = "wherever"
_NO_TEXT = "\x1b[C"  # between Enter and text that come in one read, which would be a paste without it


def _at_once(terminal: Terminal, keys: Keys) -> None:
    terminal.write("".join(KEYS.get(key, key) for key in keys))


def _while_it_stands_still(terminal: Terminal, keys: Keys) -> None:
    """All of it is there when the program looks up again."""
    terminal.signal(signal.SIGSTOP)
    state = Path(f"/proc/{terminal.pid}/stat")
    terminal.wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", "it to stand still")
    for key in keys:
        terminal.press(key)
    terminal.signal(signal.SIGCONT)


def _apart(seconds: float) -> Way:
    def press(terminal: Terminal, keys: Keys) -> None:
        for key in keys:
            terminal.press(key)
            time.sleep(seconds)

    return press


FAST: tuple[Way, ...] = (_at_once, _while_it_stands_still)
SLOW: tuple[Way, ...] = (_apart(0.001), _apart(0.005), _apart(0.02))
WAYS: tuple[Way, ...] = (*FAST, *SLOW)


@contextmanager
def _talked(tmp_path: Path) -> Iterator[Terminal]:
    """A conversation with one prompt in it."""
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say a beginning")
        terminal.wait_for(r"  a beginning[\s\S]*ctrl\+o history")
        yield terminal


def _back(terminal: Terminal, *keys: str) -> None:
    """Back in the composer, with nothing in it, and nothing said but the beginning."""
    for number, key in enumerate(keys or ("escape",)):
        if number:
            terminal.wait_until_read()
            terminal.wait_until_quiet(0.2)  # else an escape would be half of another key
        terminal.press(key)
    text = terminal.wait_for(EMPTY_BOX + r"[^\n]*(ctrl\+o history|Your draft is back)")
    assert len(re.findall("^ *[▌█] ", text, re.MULTILINE)) == 1, text


def test_a_reason_that_is_typed_with_its_r_rejects_and_never_allows(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        for number, way in enumerate(WAYS):
            terminal.say(f"edit yes{number}.txt")
            terminal.wait_for(r"Allow editing[\s\S]* 1 y +Allow[\s\S]*esc decide later")
            way(terminal, ("r", *f"say why not y{number}", "enter"))
            text = terminal.wait_for(rf"  why not y{number}[\s\S]*ctrl\+o history")
            assert f"◌ Edit    yes{number}.txt" in text
            assert "✓" not in text


@dataclass(frozen=True, slots=True)
class _Case:
    """Keys in a row, what is seen when each has gone where it belongs, and the way back from there."""

    keys: Keys
    seen: str
    back: Keys = ("escape",)


def _filter(title: str, typed: str = _WORD) -> str:
    """What is typed in the filter of a sheet, below its title."""
    return rf"╭ {title} ─[^\n]*\n\W*{typed} "


def _all_go_there(tmp_path: Path, *cases: _Case) -> None:
    """Each comes at once, which is the worst; the other ways take turns, since one gate holds all keys."""
    with _talked(tmp_path) as terminal:
        for number, case in enumerate(cases):
            others = FAST[1:] if _NO_TEXT in case.keys else WAYS[1:]
            for way in (_at_once, others[number % len(others)]):
                way(terminal, case.keys)
                terminal.wait_for(case.seen)
                _back(terminal, *case.back)


def test_a_word_behind_the_key_of_a_screen_is_typed_there_and_no_prompt(tmp_path: Path) -> None:
    _all_go_there(
        tmp_path,
        _Case(("ctrl+p", *_WORD, "enter"), _filter("Commands") + r"[\s\S]*no match"),
        _Case(("ctrl+p", *"theme", "enter", _NO_TEXT, *_WORD), _filter("Theme")),
        _Case(("ctrl+o", *_WORD, "enter"), _filter("History")),
        _Case(("ctrl+r", *_WORD, "enter"), _filter("Prompt history")),
    )


def test_a_word_behind_the_key_of_a_bar_or_a_page_is_its_own(tmp_path: Path) -> None:
    _all_go_there(
        tmp_path,
        _Case(("ctrl+f", *_WORD, "enter"), _filter("Find")),
        _Case(("f1", *"jjk"), "↑↓ scroll"),
        _Case(("f2", "ctrl+p", *_WORD), _filter("Commands"), ("escape", "escape")),
    )


def test_letters_behind_shift_tab_are_commands_and_never_in_the_composer(tmp_path: Path) -> None:
    _all_go_there(
        tmp_path,
        _Case(("f2", *"jkxw"), r"│ j k message"),
        _Case(("f2", *"t/", *_WORD), _filter("Tree") + r"[\s\S]*no prompt matches", ("escape",) * 3),
        _Case(("f2", "e", *" of it"), "│ say a beginning of it"),
    )


def test_keys_behind_two_escapes_choose_a_prompt(tmp_path: Path) -> None:
    _all_go_there(
        tmp_path,
        _Case(("escape", "escape", "up", "down", "j"), r"│ [^\n]*↑ ↓ choose a prompt[^\n]*enter edit"),
    )


def test_what_is_typed_behind_a_command_goes_to_the_screen_that_it_opens(tmp_path: Path) -> None:
    with _talked(tmp_path) as terminal:
        for command, title in (("/history", "History"), ("/theme", "Theme"), ("/inputs", "Prompt history")):
            _at_once(terminal, (*command, "enter", _NO_TEXT, *_WORD))
            terminal.wait_for(_filter(title))
            _back(terminal)


def test_what_is_typed_behind_ctrl_t_is_in_the_new_tab(tmp_path: Path) -> None:
    with _talked(tmp_path) as terminal:
        for number, way in enumerate(WAYS, start=2):
            word = f"{_WORD}{number}"  # in the box of the tab before, it would stand behind another word
            way(terminal, ("ctrl+t", *word))
            terminal.wait_for(rf" {number} new\n[\s\S]*Rehearsal is ready in[\s\S]*│ {word} +│")


def test_letters_behind_ctrl_n_are_commands_of_the_queue(tmp_path: Path) -> None:
    with _talked(tmp_path) as terminal:
        terminal.say("say at work; hang")
        terminal.wait_for("  at work")
        for way in WAYS:
            terminal.say("say one after the other")
            terminal.wait_for("next  say one after the other")
            way(terminal, ("ctrl+n", *"jkd"))
            terminal.wait_for(r"Removed\.[\s\S]*")
            terminal.wait_for(EMPTY_BOX)


def test_letters_behind_the_tab_to_a_trouble_are_its_commands(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("crash")
        terminal.wait_for("tab to choose")
        for way in WAYS:
            way(terminal, ("tab", *"xq"))
            terminal.wait_for(r"│ press a letter [^\n]*esc esc dismiss")
            terminal.wait_until_quiet(0.2)
            terminal.press("escape")
            terminal.wait_for("tab to choose")


def test_a_paste_and_a_click_keep_their_place_among_the_keys(tmp_path: Path) -> None:
    with _talked(tmp_path) as terminal:
        for way in FAST:
            way(terminal, ("ctrl+o", *"one", "\x1b[200~ and two\x1b[201~", *" and three"))
            terminal.wait_for(_filter("History", "one and two and three"))
            _back(terminal)
            way(terminal, ("ctrl+p", "\x1b[<0;50;5M\x1b[<0;50;5m", *_WORD))  # a click behind it
            terminal.wait_for(_filter("Commands"))
            _back(terminal)


def test_keys_keep_their_order_after_the_program_was_stopped_from_outside(tmp_path: Path) -> None:
    text = "abcdefghijklmnopqrstuvwxyz"
    with _talked(tmp_path) as terminal:
        for _ in range(3):
            _while_it_stands_still(terminal, text)
            _apart(0.001)(terminal, text)
            terminal.wait_for(f"│ {text}{text} ")
            terminal.press("ctrl+u")
            terminal.wait_for(EMPTY_BOX)


# The permission's own caution.


async def _asked(person: Person) -> None:
    await person.say("ask May I?")
    await person.until(lambda: person.area.place == "question", "the keys to go there")


@pytest.mark.parametrize("key", ["y", "n", "1", "3"])
async def test_a_letter_or_digit_behind_another_printable_key_decides_nothing_and_the_hint_says_so(
    tmp_path: Path, key: str
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await _asked(person)
        await person.type_at_once(f"x{key}")
        await person.sees("Press again")
        assert person.tab.asks
        await person.apart()
        since = person.tab.since
        await person.press(key)
        await person.until(lambda: not person.tab.asks, "the answer")
        await person.until(lambda: person.tab.since > since, "the clock of the turn to have stood still")


async def test_a_letter_behind_one_that_went_to_the_composer_decides_nothing(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await _asked(person)
        await person.press("escape")
        await person.writing()
        await person.type_at_once("x")
        person.composer.put("")
        person.app.chat.set_focus(person.area.panels.permission)
        person.area.gate.pace._last = float("inf")  # no time passes before the next key
        await person.type_at_once("y")
        await person.sees("Press again")
        assert person.tab.asks


async def test_nothing_decides_while_a_reason_is_being_typed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await _asked(person)
        await person.press("r")
        await person.apart()
        person.app.chat.set_focus(person.area.panels.permission)
        await person.press("y", "1", "n")
        assert person.tab.asks and person.area.panels.permission.giving_reason


def test_keys_are_apart_by_when_they_were_read_and_not_by_when_their_turn_comes() -> None:
    now = 0.0
    pace = KeyPace(lambda _: now)
    told = []
    for key, at in [("a", 1.0), ("y", 1.2), ("y", 1.5), ("enter", 1.6), ("y", 1.81), ("y", 2.1)]:
        now = at
        pace.came(events.Key(key, key if len(key) == 1 else "\r"))
        told.append(pace.alone)
    assert told == [True, False, True, False, True, False]


@pytest.mark.parametrize(("between", "place"), [(0.4, "choosing"), (0.6, "composer")])
async def test_e01_two_escapes_belong_together_by_when_they_were_read_and_not_by_when_their_turn_comes(
    tmp_path: Path, between: float, place: str
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say one")
        await person.idle()
        await person.writing()
        driver = person.app._driver
        assert driver is not None
        for read_at in (10.0, 10.0 + between):
            event = events.Key("escape", None)
            event.time = read_at
            event.set_sender(person.app)
            driver.send_message(event)
            await person.all_in()
        assert person.area.place == place


# What is held back.


def _send(person: Person, *keys: str) -> None:
    """Press keys before any of them is handled."""
    driver = person.app._driver
    assert driver is not None
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(person.app)
        driver.send_message(event)


async def test_keys_that_are_held_when_the_app_is_left_end_nothing_in_an_error(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.press("f1")
        _send(person, "escape", "ctrl+d", "ctrl+d", "x", "y", "enter")
        await person.until(lambda: person.app._exit, "the app to be left")


async def test_an_act_that_leads_nowhere_in_time_holds_the_keys_no_longer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        never = asyncio.Event()

        async def wait() -> None:
            await never.wait()

        person.chat.context.run(person.area.gate.led(wait()))
        began = time.monotonic()
        _send(person, "ctrl+c")  # the first key that is not merely written
        await person.type_at_once("word")
        assert person.draft == "word"
        assert time.monotonic() - began > 0.5
        await person.type_at_once("s")
        assert person.draft == "words"
        never.set()


async def test_what_is_typed_behind_an_editing_key_of_a_filter_is_behind_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.press("ctrl+p")
        await person.sees("Type to filter")
        await person.type("theme")
        _send(person, "ctrl+u", "q", "i", "left", "u", "end", "t", "backspace", "t")
        await person.sees("│ quit ")


async def test_a_letter_into_the_composer_waits_for_nobody(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        for letter in "a word":
            await person.press("space" if letter == " " else letter)
            assert person.area.gate.open
        assert person.draft == "a word"

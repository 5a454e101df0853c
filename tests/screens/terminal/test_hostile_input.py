"""Nothing that a terminal sends ends the client, or is typed that nobody typed; and Ctrl+C always works."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.message import Message

from catena.terminal.input_sequences import PATIENCE, InputEvents, PastedText, TerminalInput
from support.screen.terminal import EMPTY_BOX, Place
from support.walks.length import walks

# What terminals send by themselves, or when a program asked them that ran before.
REPORTS = (
    "\x1b[?62;22;52c",  # DA1
    "\x1b[>41;388;0c",  # DA2
    "\x1bP!|7E565445\x1b\\",  # DA3
    "\x1bP>|kitty(0.44.1)\x1b\\",  # XTVERSION
    "\x1bP1+r524742=38\x1b\\",  # XTGETTCAP
    "\x1bP1$r0m\x1b\\",  # DECRQSS
    "\x1b]10;rgb:cccc/cccc/cccc\x1b\\",
    "\x1b]52;c;YQ==\x07",
    "\x1b]lterminal\x1b\\",  # the title
    "\x1b_Gi=1;OK\x1b\\",
    "\x1b[?1u",  # the flags of the keyboard
    "\x1b[?2026;2$y",
    "\x1b[4;1$y",
    "\x1b[12;40R",
    "\x1b[8;30;100t",
    "\x1b[48;0;0;0;0t",
    "\x1b[48;9999;9999;9999;9999t",
    "\x1b[?997;1n",  # the colour scheme
    "\x1b[<35;10;5M",
    "\x1b[<0;99999;-5m",
    "\x1b[32;10;5M",  # the mouse of rxvt
    "\x1b[M !!",  # and of old
    "\x1b[I",
    "\x1b[O",
    "\x1b[97;1:3u",  # a key that is released
    "\x1b[57441;2u",  # shift alone
    "\x1b[99999999;5u",
    "\x1b[55296u",
    "\x1b[;;;u",
    "\x1b[1;99999999A",
    "\x1b[9",
)

# That begins as Alt+] and a letter.
CUT = tuple(each for each in REPORTS[:-1] if not each.startswith("\x1b]l"))


class Person:
    """What comes of a terminal's input."""

    def __init__(self) -> None:
        self.now = 0.0
        self.got: list[Message | PastedText] = []
        self._terminal = TerminalInput()
        self._events = InputEvents()

    def reads(self, data: str) -> None:
        """Take what comes in one read."""
        for piece in self._terminal.feed(data, self.now):
            self._take(piece)

    def waits(self, seconds: float) -> None:
        """Let time go by."""
        until = self.now + seconds
        while self.now < until:
            self.now += 0.1
            for piece in self._terminal.wait(self.now):
                self._take(piece)

    def _take(self, piece: object) -> None:
        if isinstance(piece, str):
            self.got += self._events.of(piece)
        elif isinstance(piece, PastedText):
            self.got.append(piece)

    @property
    def keys(self) -> list[str]:
        """The keys that came, but for Esc."""
        return [each.key for each in self.got if isinstance(each, events.Key) and each.key != "escape"]

    @property
    def typed(self) -> str:
        """The characters that would stand in a field."""
        got = (each for each in self.got if isinstance(each, events.Key) and each.is_printable)
        return "".join(each.character or "" for each in got)


def _cut(text: str, chance: random.Random) -> Sequence[str]:
    at = chance.randint(1, len(text) - 1)
    return text[:at], text[at:]


@pytest.mark.parametrize("seed", range(walks(20)))
def test_s05_no_report_is_typed_wherever_it_is_cut_and_however_late_its_rest_is(seed: int) -> None:
    chance, person, typed = random.Random(seed), Person(), ""
    for _ in range(60):
        report = chance.choice(REPORTS[:-1])
        if chance.random() < 0.5:
            person.reads(report)
        else:
            first, rest = _cut(chance.choice(CUT), chance)
            person.reads(first)
            person.waits(chance.choice([0.0, 0.2]))
            person.reads(rest)
        for letter in "".join(chance.choices("abcxyz[O];0M", k=chance.randint(0, 3))):
            person.waits(chance.choice([0.0, 1.5]))
            person.reads(letter)
            typed += letter
    assert person.typed == typed
    assert not any(isinstance(each, PastedText) for each in person.got)


@pytest.mark.parametrize("seed", range(walks(40)))
def test_s05_ctrl_c_works_whatever_came_before_it(seed: int) -> None:
    chance, person = random.Random(seed), Person()
    for _ in range(chance.randint(1, 80)):
        match chance.randint(0, 3):
            case 0:
                person.reads(chance.choice(REPORTS))
            case 1:
                person.reads(chance.choice(_cut(chance.choice(REPORTS[:-1]), chance)))
            case 2:
                person.reads(
                    "".join(chance.choices("\x1b\x1b[]O_P^X<>?0123456789;:$!|uM~abc\r\x07\\\x9b\u200d", k=9))
                )
            case 3:
                person.reads(chance.choice(["\x1b[200~", "\x1b[201~", "\x1b[200~pasted"]))
        if chance.random() < 0.3:
            person.waits(chance.choice([0.1, 1.5, PATIENCE + 0.2]))
    before = len(person.keys)
    person.reads("\x03")
    assert person.keys[before:][-1:] == ["ctrl+c"]
    person.waits(PATIENCE + 0.2)
    person.reads("z")
    assert person.typed.endswith("z")


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\x1b[1097::111;5u", "ctrl+o"),  # Cyrillic щ on the key of o
        ("\x1b[1097:1065:111;6u", "ctrl+shift+o"),
        ("\x1b[961::114;5:2u", "ctrl+r"),  # Greek, held down
        ("\x1b[1497::104;3u", "alt+h"),  # Hebrew
        ("\x1b[1580::112;69u", "ctrl+p"),  # Arabic, with the lock of capitals
        ("\x1b[111::115;5u", "ctrl+o"),  # Dvorak: a Latin letter is itself
        ("\x1b[246::59;5u", "ctrl+ö"),
        ("\x1b[45:95;6u", "ctrl+underscore"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[13;5u", "enter"),
        ("\x1b[27;5;13~", "enter"),
        ("\x1b[13;3u", "enter"),
        ("\x1b\r", "enter"),
        ("\x1b[98;3u", "ctrl+left"),
        ("\x1bb", "ctrl+left"),
        ("\x1b[1080::98;3u", "ctrl+left"),
        ("\x1b[102;3u", "ctrl+right"),
        ("\x1bf", "ctrl+right"),
        ("\x1b[127;3u", "alt+backspace"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1b[57414u", "enter"),
        ("\x1b[27u", "escape"),
        ("\x1b[1;5R", "ctrl+f3"),
        ("\x1b[1;3A", "alt+up"),
        ("\x1b[[A", "f1"),
        ("\x1b[7$", "shift+home"),
    ],
)
def test_w34_a_key_is_the_same_in_every_terminal_and_on_every_layout(sequence: str, key: str) -> None:
    (event,) = InputEvents().of(sequence)
    assert isinstance(event, events.Key)
    assert event.key == key
    assert not event.is_printable


@pytest.mark.parametrize(
    ("sequence", "typed"),
    [
        ("\x1b[57400u\x1b[57400;129u\x1b[57413u", "11+"),  # the keypad, and with its lock
        ("\x1b[97:65;2u", "A"),
        ("\x1b[1097:1065;2u", "Щ"),
        ("\x1b[97;2;65u", "A"),
        ("\x1b[0;;228:246u", "äö"),  # an input method's text
        ("\x1b[97;1:3u\x1b[1114112u\x1b[56000u\x1b[155u", ""),
    ],
)
def test_w34_a_report_of_a_key_with_a_character_types_it(sequence: str, typed: str) -> None:
    got = list(InputEvents().of(sequence))
    assert "".join(each.character or "" for each in got if isinstance(each, events.Key)) == typed


def test_s05_reports_that_nobody_asked_for_leave_the_client_and_the_draft_as_they_are(tmp_path: Path) -> None:
    with Place(tmp_path).catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("one")
        for report in REPORTS:
            terminal.write(report)
            terminal.wait_until_read()
        terminal.write("\x1b[117;5u")  # what was cut off before it is dropped
        terminal.wait_for(EMPTY_BOX)
        terminal.write("two")
        terminal.wait_for(r"│ two\b")

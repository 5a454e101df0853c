"""Events of what is typed: keys, the mouse, the focus, sizes. An unknown sequence is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from textual import constants, events, messages
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS, MODIFIER_FUNCTIONAL_KEYS
from textual._xterm_parser import IS_ITERM, XTermParser
from textual.keys import _character_to_key
from textual.message import Message

from catena.terminal.input_sequences import split_keys

# A key of kitty's protocol, or of xterm with modifiers: the key, as shifted and of the base layout; modifiers; event;
# text. https://sw.kovidgoyal.net/kitty/keyboard-protocol/
_KEY = re.compile(
    r"\x1b\[(?:(\d{1,7})(?::(\d{0,7})(?::(\d{0,7}))?)?)?(?:;(\d{0,3})(?::(\d?))?)?(?:;([\d:]{0,64}))?([u~A-HPQRS])"
)
_MODIFIED_KEY = re.compile(
    r"\x1b\[27;(\d{1,3});(\d{1,7})~"
)  # as xterm sends it, and tmux by default from 3.5 on
_MOUSE = re.compile(r"\x1b\[<\d{1,4};-?\d{1,5};-?\d{1,5}[Mm]")
_SIZE = re.compile(r"\x1b\[48;(\d{1,4})(?::\d*)*;(\d{1,4})(?::\d*)*;(\d{1,5})(?::\d*)*;(\d{1,5})(?::\d*)*t")
_MODE = re.compile(r"\x1b\[\?(2026|2048);(\d)\$y")
_CURSOR_ROW = re.compile(r"\x1b\[(\d+);\d+R")
_MOST_ROWS, _MOST_COLUMNS = 1_000, 2_000  # of a size that is believed

_SHIFT, _ALT, _CTRL, _SUPER, _HYPER, _META = (1 << bit for bit in range(6))
_MODIFIERS = {"alt": _ALT, "ctrl": _CTRL, "hyper": _HYPER, "meta": _META, "shift": _SHIFT, "super": _SUPER}
_LEADING = _ALT | _CTRL | _SUPER | _HYPER | _META  # with one of them a key is no text
_RELEASED = "3"
_FIRST_OF_OTHER_SCRIPTS = 0x370  # Greek; all before it is Latin
_KEYPAD = dict(enumerate("0123456789./*-+", 57399)) | {57415: "=", 57416: ","}
_CHARACTERS = {"enter": "\r", "tab": "\t", "backspace": "\x7f"}
# What these keys are in a terminal without the protocol, they are in every one.
_SAME_KEY = {
    "alt+b": "ctrl+left",
    "alt+f": "ctrl+right",
    "alt+enter": "enter",
    "ctrl+enter": "enter",
    "ctrl+m": "enter",
    "ctrl+i": "tab",
    "ctrl+left_square_bracket": "escape",
}
_AFTER_ESCAPE = {
    "b": "ctrl+left",
    "f": "ctrl+right",
    "\x7f": "alt+backspace",
    "\t": "shift+tab",  # of the Linux console
}


class InputEvents:
    """Makes events of what is typed."""

    def __init__(self) -> None:
        self._mouse = XTermParser()  # knows where the mouse was, and the size of a cell in pixels

    def of(self, typed: str) -> Iterator[Message]:
        """Yield the events of typed text with whole sequences."""
        for key in split_keys(typed):
            if not key.startswith("\x1b["):
                yield from _typed_key(key)
            elif key == "\x1b[I":
                yield events.AppFocus()
            elif key == "\x1b[O":
                yield events.AppBlur()
            else:
                yield from self._of_sequence(key)

    def _of_sequence(self, sequence: str) -> Iterator[Message]:
        if _MOUSE.fullmatch(sequence):
            if (moved := self._mouse.parse_mouse_code(sequence)) is not None:
                yield moved
        elif size := _SIZE.fullmatch(sequence):
            yield from self._resized(*map(int, size.groups()))
        elif mode := _MODE.fullmatch(sequence):
            yield from _mode_known(mode[1], int(mode[2]))
        else:
            yield from _sequence_keys(sequence)

    def _resized(self, rows: int, columns: int, height: int, width: int) -> Iterator[Message]:
        if 0 < rows <= _MOST_ROWS and 0 < columns <= _MOST_COLUMNS and height and width:
            resized = events.Resize.from_dimensions((columns, rows), (width, height))
            self._mouse.terminal_size, self._mouse.terminal_pixel_size = resized.size, resized.pixel_size
            self._mouse.mouse_pixels = True
            yield resized


def _mode_known(mode: str, setting: int) -> Iterator[Message]:
    if mode == "2026" and setting:
        yield messages.TerminalSupportsSynchronizedOutput()
    elif mode == "2048" and constants.SMOOTH_SCROLL and not IS_ITERM:
        yield messages.InBandWindowResize.from_setting_parameter(setting)


def _typed_key(key: str) -> Iterator[events.Key]:
    """The events of a character, or of one with Esc before it, which is Alt."""
    character, alt = key[-1], len(key) == 2
    if len(key) > 2:
        yield from _table_keys(key)
    elif alt and character in _AFTER_ESCAPE:
        yield events.Key(_AFTER_ESCAPE[character], None)
    elif isinstance(known := ANSI_SEQUENCES_KEYS.get(character), tuple):
        yield from (events.Key(each.value, character) for each in known)
    elif not alt:
        yield events.Key(_character_to_key(character), character)
    else:
        name = f"shift+{character.lower()}" if character.isupper() else _character_to_key(character)
        # Esc and a letter that come together may be two keys: the letter is not lost. O and P begin sequences.
        typed = character.isalpha() and character not in "OP"
        yield events.Key(f"alt+{name}", character if typed else None)


def _table_keys(sequence: str) -> Iterator[events.Key]:
    known = ANSI_SEQUENCES_KEYS.get(sequence)
    if isinstance(known, tuple):
        yield from (events.Key(each.value, None) for each in known)


def _sequence_keys(sequence: str) -> Iterator[events.Key]:
    if modified := _MODIFIED_KEY.fullmatch(sequence):
        sequence = f"\x1b[{modified[2]};{modified[1]}u"
    row = _CURSOR_ROW.fullmatch(sequence)
    if row is not None and row[1] != "1":
        return  # where the cursor stands; in the first row it has the form of F3 with a modifier
    found = _KEY.fullmatch(sequence)
    if found is None:
        yield from _table_keys(sequence)
        return
    code, shifted, base, modifiers, event, text, end = found.groups()
    if event == _RELEASED:
        return
    held = max(0, int(modifiers or 1) - 1) & (_LEADING | _SHIFT)
    if text and not held & (_CTRL | _SUPER):
        for each in filter(None, map(_character, text.split(":"))):
            yield events.Key(_character_to_key(each), each)
    elif end != "u" or f"{code}u" in FUNCTIONAL_KEYS:
        yield from _functional_keys(sequence, int(code or 1), end, held)
    elif character := _character(code):
        yield _character_key(character, _character(shifted), _character(base), held)


def _functional_keys(sequence: str, code: int, end: str, held: int) -> Iterator[events.Key]:
    name = FUNCTIONAL_KEYS.get(f"{code}{end}")
    if name is None:
        yield from _table_keys(sequence)
    elif code in _KEYPAD:
        yield _character_key(_KEYPAD[code], "", "", held & _LEADING)
    else:
        yield _named(name, 0 if name in MODIFIER_FUNCTIONAL_KEYS else held)


def _character_key(character: str, shifted: str, base: str, held: int) -> events.Key:
    """The key of a character; with Ctrl, Alt and the like it is one of the base layout if its letter is not Latin."""
    if not held & _LEADING:
        if held & _SHIFT:
            upper = character.upper()
            character = shifted or (upper if len(upper) == 1 else character)
        return events.Key(_character_to_key(character), character)
    if base and ord(character) >= _FIRST_OF_OTHER_SCRIPTS:
        character = base
    elif held & _SHIFT and shifted and not shifted.isalpha():
        character, held = shifted, held & ~_SHIFT  # Ctrl+_ where that is Shift+-
    return _named(_character_to_key(character), held)


def _named(name: str, held: int) -> events.Key:
    name = "+".join([*(each for each, bit in _MODIFIERS.items() if held & bit), name])
    name = _SAME_KEY.get(name, name)
    return events.Key(name, _CHARACTERS.get(name))


def _character(code: str | None) -> str:
    """The character of a code point; empty if there is none that can be typed."""
    number = int(code or 0)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        return ""
    character = chr(number)
    return "" if character < " " or "\x7f" <= character < "\xa0" else character

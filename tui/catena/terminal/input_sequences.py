"""The terminal's input by its grammar, and the events that are made of it: keys, the mouse, the focus, sizes.

A terminal sends characters, keys as sequences (ECMA-48), reports of the mouse, and replies, some of which nobody here
asked for: a program that ran before may have. Whatever has the form of a sequence is one, known or not, and none of its
characters is ever typed. It may come cut up anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from textual import constants, events, messages
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS, MODIFIER_FUNCTIONAL_KEYS
from textual._xterm_parser import IS_ITERM, XTermParser
from textual.keys import _character_to_key
from textual.message import Message

from catena.terminal.control.replies import Reply, reply_of

PATIENCE = 3.0  # seconds for the rest of a sequence that no person types
PASTE_PATIENCE = 1.0  # seconds of silence after which a paste without its end is let go
_SECOND_THOUGHTS = 1.0  # seconds in which a key may still turn out to have been the beginning of a sequence

_ESCAPE = "\x1b"
_PASTE = "\x1b[200~"
_PASTE_END = "\x1b[201~"
_OLD_MOUSE = "\x1b[M"
_CTRL_C = re.compile(r"\x03|\x1b\[99(?::[\d:]*)?;5(?::1)?(?:;[\d:]*)?u")

# What ends a string without its end: another sequence, or a key that stops things.
_STRING = r"[^\x03\x07\x18\x1a\x1b]*"

# The beginning of a reply. Without it `ESC ]`, `ESC P` and the like are Alt+], Alt+P and text behind.
_REPLY = r"\](?=\d)|P(?=[0-9;<=>?!$+|])|_(?=G)"
_STRING_BEGUN = re.compile(rf"\x1b(?:{_REPLY}){_STRING}")

# A number may be negative: Ghostty reports the mouse outside of its window.
_WHOLE = re.compile(
    r"\x1b(?:"
    r"\[\[[ -~]"  # function keys of the Linux console
    r"|\[M[^\x00-\x1f]{3}"  # the mouse of old, in three characters
    r"|\[\d{1,2}\$"  # shifted keys of rxvt
    r"|\[[0-?-]*[ -/]*[@-LN-Z\\-~]|\[[0-?-]+[ -/]*M"
    rf"|[\]P_^X]{_STRING}(?:\x07|\x1b\\)"
    r"|O[A-Za-z]"
    r")"
)
_CERTAIN = re.compile(
    rf"\x1b(?:\[(?:\[|M[^\x00-\x1f]{{0,2}}|[0-?-]+[ -/]*|[ -/]+)|(?:{_REPLY}){_STRING}\x1b?)\Z"
)
_POSSIBLE = re.compile(r"\x1b[\[O\]P_]?\Z")  # or Esc, Alt+[, Alt+O …
_CUT = re.compile(r"\x1b\[(?:\[|M[^\x00-\x1f]{0,2}|[0-?-]+[ -/]*|[ -/]+)")
_KEY = re.compile(r"\x1b(?:O[A-Za-z]|\[\[[ -~]|\[\d{1,2}\$|\[[0-?-]*[ -/]*[@-~]|[^\x1b]?)|[^\x1b]", re.DOTALL)
_LONGEST = 64 * 1024  # characters of one reply; terminals send the clipboard in pieces of some 6,000
_LONGEST_CSI = 256
_ANY_STRING = "\x1bP0"  # in the place of what was too long: its end still has to come

# A key of kitty's protocol, or of xterm with modifiers: the key, as shifted and of the base layout; modifiers; event;
# text. https://sw.kovidgoyal.net/kitty/keyboard-protocol/
_NAMED_KEY = re.compile(
    r"\x1b\[(?:(\d{1,7})(?::(\d{0,7})(?::(\d{0,7}))?)?)?(?:;(\d{0,3})(?::(\d?))?)?(?:;([\d:]{0,64}))?([u~A-HPQRS])"
)
# As xterm sends it, and tmux by default from 3.5 on.
_MODIFIED_KEY = re.compile(r"\x1b\[27;(\d{1,3});(\d{1,7})~")
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


@dataclass(frozen=True, slots=True)
class PastedText:
    """A bracketed paste."""

    text: str


Piece = str | PastedText | Reply  # typed text holds whole sequences


class TerminalInput:
    """Separates what is typed, pasted and replied; what is not whole yet is held back.

    Times are those of a monotonic clock, in seconds.
    """

    def __init__(self) -> None:
        self._held = ""  # the beginning of a sequence
        self._held_since = 0.0
        self._released = ""  # what was held, and taken for a key in the end
        self._pieces: list[str] | None = None  # of a paste that has not ended
        self._tail = ""  # of these pieces: the mark of the end may be cut as well
        self._came_at = 0.0
        self._cut_paste = False  # a paste was let go without its end, which may still come

    @property
    def awaits(self) -> bool:
        """True while the rest of a sequence or of a paste is awaited: `wait` has to be called every now and then."""
        return bool(self._held) or self.pasting

    @property
    def pasting(self) -> bool:
        """True within a paste."""
        return self._pieces is not None

    def feed(self, data: str, now: float) -> Iterator[Piece]:
        """Yield what has come, in order; the beginning of a sequence or of a paste is held back."""
        came_before, self._came_at = self._came_at, now
        if self._pieces is not None and _CTRL_C.fullmatch(data):  # no end of the paste will come
            yield self._let_go()
        if self._cut_paste and self._pieces is None:
            if len(data) == 1 or _WHOLE.fullmatch(data):
                self._cut_paste = data == _PASTE_END  # else a key: what comes from now on is typed
            else:
                self._pieces, self._tail = [], ""
        if self._held and len(data) == 1 and self._is_overdue(now):
            self._held = ""
        released, self._released = self._released, ""
        if released and now - came_before <= _SECOND_THOUGHTS and _goes_on(released, data):
            data = released + data
        since = self._held_since if self._held else now
        data, self._held = self._held + data, ""
        while data:
            if self._pieces is not None:
                pasted, data = self._gather(data)
                if pasted is not None:
                    yield pasted
            else:
                typed, reply, data = self._next(data, since, now)
                since = now
                if typed:
                    yield typed
                if reply is not None:
                    yield reply

    def wait(self, now: float) -> Iterator[Piece]:
        """Yield what is let go after a moment in which nothing came."""
        if self._pieces is not None:
            if now - self._came_at > PASTE_PATIENCE:
                self._cut_paste = True
                yield self._let_go()
        elif self._held and not _CERTAIN.match(self._held):
            self._released, self._held = self._held, ""
            yield self._released
        elif self._is_overdue(now):
            self._held = ""

    def _is_overdue(self, now: float) -> bool:
        return now - self._held_since > PATIENCE

    # --- pastes

    def _let_go(self) -> PastedText:
        """End the paste with what has come of it."""
        assert self._pieces is not None
        text, self._pieces = "".join(self._pieces), None
        cut = next((n for n in range(len(_PASTE_END) - 1, 0, -1) if text.endswith(_PASTE_END[:n])), 0)
        return PastedText(text[: len(text) - cut])

    def _gather(self, data: str) -> tuple[PastedText | None, str]:
        """The paste if it ends in ``data``, and the rest after it; each character is searched once."""
        assert self._pieces is not None
        self._pieces.append(data)
        end = (self._tail + data).find(_PASTE_END)
        if end < 0:
            self._tail = (self._tail + data)[1 - len(_PASTE_END) :]
            return None, ""
        after = len(self._tail) + len(data) - end - len(_PASTE_END)
        whole, self._pieces = "".join(self._pieces), None
        self._cut_paste = False
        return PastedText(whole[: len(whole) - after - len(_PASTE_END)]), data[len(data) - after :]

    # --- sequences

    def _next(self, data: str, since: float, now: float) -> tuple[str, Reply | None, str]:
        """What is typed up to the next reply or paste, the reply, and the rest; ``since``: what was held began."""
        typed: list[str] = []
        at = 0
        while (escape := data.find(_ESCAPE, at)) >= 0:
            typed.append(data[at:escape])
            if whole := _WHOLE.match(data, escape):
                at = whole.end()
                if whole[0] == _PASTE:
                    self._pieces, self._tail = [], ""
                    return "".join(typed), None, data[at:]
                if (reply := reply_of(whole[0])) is not None:
                    return "".join(typed), reply, data[at:]
                if whole[0][1] in "[O" and not whole[0].startswith(_OLD_MOUSE):
                    typed.append(whole[0])
            elif _CERTAIN.match(data, escape) or _POSSIBLE.match(data, escape):
                self._hold(data[escape:], now if escape else since)
                return "".join(typed), None, ""
            elif cut := _STRING_BEGUN.match(data, escape) or _CUT.match(data, escape):
                at = cut.end()  # something else began within it: what has come of it is dropped
            else:
                at = min(escape + 2, len(data)) if data[escape + 1] != _ESCAPE else escape + 1
                typed.append(data[escape:at])
        typed.append(data[at:])
        return "".join(typed), None, ""

    def _hold(self, begun: str, since: float) -> None:
        self._held, self._held_since = begun, since
        if len(begun) > (_LONGEST_CSI if begun[1:2] == "[" else _LONGEST):
            self._held = "" if begun[1] == "[" else _ANY_STRING + ("\x1b" if begun[-1] == _ESCAPE else "")


def _goes_on(released: str, data: str) -> bool:
    """True where a key turns out to be the beginning of a sequence: no person types the rest at once."""
    if len(data) == 1 and released != "\x1b[":
        return False
    if whole := _WHOLE.match(released + data):
        return whole[0][1] != "O"
    return _CERTAIN.match(released + data) is not None


def split_keys(typed: str) -> Iterator[str]:
    """The keys of what was typed: characters, and sequences as they came."""
    at = 0
    while at < len(typed):
        found = _KEY.match(typed, at)
        assert found is not None
        key = found[0]
        if len(key) == 3 and key[1] == "O" and key not in ANSI_SEQUENCES_KEYS:
            key = key[:2]  # Alt+O, and a letter
        yield key
        at += len(key)


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
    found = _NAMED_KEY.fullmatch(sequence)
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

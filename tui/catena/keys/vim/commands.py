"""Commands of vi: as they are typed, and the changes that they make to a text; and the registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from catena.keys.vim.motions import MOTIONS
from catena.keys.vim.objects import NAMES, after, first_nonblank, line_end, line_start

_INDENT = 4  # blanks of one step of `>`

_CLIPBOARD = "+*"


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a text, ``end`` not included, and where the cursor goes; ``lines``: without the last newline."""

    start: int
    end: int
    cursor: int
    lines: bool = False


@dataclass(frozen=True, slots=True)
class VimChange:
    """A text after a change, and its cursor."""

    text: str
    cursor: int


def shifted(part: str, steps: int) -> str:
    """Lines with more blanks before them, or fewer where ``steps`` is negative."""
    lines = []
    for line in part.split("\n"):
        body = line.lstrip(" \t")
        width = len(line[: len(line) - len(body)].expandtabs(8))
        lines.append(" " * max(0, width + _INDENT * steps) + body if body else line if steps > 0 else "")
    return "\n".join(lines)


def swapped(part: str, case: str) -> str:
    """A text with other letters: `gu` small, `gU` capital, `g~` each the other one; its length stays."""
    return "".join(new if len(new := _cased(character, case)) == 1 else character for character in part)


def _cased(character: str, case: str) -> str:
    if case == "gu":
        return character.lower()
    return character.upper() if case == "gU" else character.swapcase()


def joined(text: str, at: int, count: int) -> VimChange | None:
    """`J`: join ``count`` lines to the line at a position, separated by blanks; None if no line follows."""
    cursor = at
    for done in range(count):
        end = line_end(text, cursor)
        if end >= len(text):
            return None if not done else VimChange(text, cursor)
        behind = end + 1
        last = line_end(text, behind)
        while behind < last and text[behind] in " \t":
            behind += 1
        line = text[line_start(text, end) : end]
        spaced = line and line[-1] not in " \t" and behind < last and text[behind] != ")"
        text = text[:end] + (" " if spaced else "") + text[behind:]
        cursor = end
    return VimChange(text, cursor)


def put(text: str, at: int, register: Register, times: int, *, behind: bool) -> VimChange:
    """`p` and `P`: a register put behind a place, or before it."""
    if register.lines:
        lines = "\n".join([register.text.removesuffix("\n")] * times)
        if behind:
            end = line_end(text, at)
            made = f"{text[:end]}\n{lines}{text[end:]}"
            return VimChange(made, first_nonblank(made, end + 1))
        start = line_start(text, at)
        made = f"{text[:start]}{lines}\n{text[start:]}"
        return VimChange(made, first_nonblank(made, start))
    place = after(text, at) if behind and at < line_end(text, at) else at
    body = register.text * times
    cursor = place if "\n" in body else place + len(body) - 1
    return VimChange(text[:place] + body + text[place:], max(place, cursor))


@dataclass(frozen=True, slots=True)
class Register:
    """A text in a register; ``lines``: it is put as whole lines."""

    text: str
    lines: bool = False


class Registers:
    """The unnamed register, the yanked text, `a` to `z`, and the clipboard."""

    def __init__(self) -> None:
        self._kept: dict[str, Register] = {}
        self.clipboard = ""  # as it is known; what others put there is not
        self.copied: str | None = None  # for the clipboard of the person, until it is taken

    @staticmethod
    def is_name(character: str) -> bool:
        """True for a character that names a register."""
        return character in '"_0-' + _CLIPBOARD or (character.isascii() and character.isalpha())

    def take(self, name: str) -> Register:
        """The text of a register; "" for the unnamed one."""
        if name and name in _CLIPBOARD:
            return Register(self.clipboard, self.clipboard.endswith("\n"))
        return self._kept.get(name.lower() or '"', Register(""))

    def put(self, name: str, register: Register, *, yanked: bool) -> None:
        """Keep what was deleted or yanked; `_` keeps nothing, a capital appends."""
        if name == "_":
            return
        if name and name in _CLIPBOARD:
            self.clipboard = self.copied = register.text
        elif name.isupper():
            before = self.take(name)
            lines = before.lines or register.lines
            between = "" if not lines or before.text.endswith("\n") or not before.text else "\n"
            register = Register(before.text + between + register.text, lines)
            self._kept[name.lower()] = register
        elif name not in ("", '"'):
            self._kept[name] = register
        elif yanked:
            self._kept["0"] = register
        elif not register.lines and "\n" not in register.text:
            self._kept["-"] = register
        self._kept['"'] = register

    def take_copied(self) -> str | None:
        """Take the text that is to go to the person's clipboard; None if there is none."""
        copied, self.copied = self.copied, None
        return copied


OPERATORS = ("d", "c", "y", ">", "<", "g~", "gu", "gU")
_LINE_OF = {"g~": ("~", "g~"), "gu": ("u", "gu"), "gU": ("U", "gU")}  # the second part that means lines
_WITH_CHARACTER = frozenset("fFtT")
_SEARCHES = frozenset("/?")
_REPEATED = frozenset(";,nN")
_SIMPLE = frozenset(
    {*"xXsSrDCYJpPoOIAaiuvV~.", "ctrl+r"},
)
_VISUAL = frozenset({*"xXsSrDCYJpPoduUcyvV~<>", "gu", "gU", "g~"})
_MOST = 9999  # of a count; more would only take time


class Typed(Enum):
    """How far the keys of a command have come."""

    INCOMPLETE = auto()
    INVALID = auto()


@dataclass(frozen=True, slots=True)
class VimCommand:
    """A whole command; ``name`` is that of a motion, an object (`iw`), `lines`, or of what is done at once."""

    name: str
    operator: str = ""
    count: int | None = None
    register: str = ""
    argument: str = ""  # a character to find or to put, or a text that is searched for

    @property
    def times(self) -> int:
        """How often it is done."""
        return 1 if self.count is None else self.count


class _Keys:
    """The keys that are not read yet."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)
        self._at = 0

    def next(self) -> str | None:
        """The next key, which is read; None behind the last one."""
        if self._at == len(self._keys):
            return None
        self._at += 1
        return self._keys[self._at - 1]

    def count(self) -> int | None:
        """A number, if one comes next."""
        digits = ""
        while self._at < len(self._keys) and (key := self._keys[self._at]).isdigit() and key.isascii():
            if key == "0" and not digits:
                break
            digits += key
            self._at += 1
        return min(int(digits[:9]), _MOST) if digits else None

    def name(self) -> str | None:
        """The name of a motion or an act: a key, or `g` and another one."""
        key = self.next()
        if key != "g":
            return key
        second = self.next()
        return None if second is None else f"g{second}"


def parsed(typed: Sequence[str], *, visual: bool) -> VimCommand | Typed:
    """The command that the keys are; ``visual``: something is selected, and operators need nothing more."""
    keys = _Keys(typed)
    register, count = "", keys.count()
    key = keys.name()
    while key == '"':
        name = keys.next()
        if name is None:
            return Typed.INCOMPLETE
        if not Registers.is_name(name):
            return Typed.INVALID
        register, count = name, _product(count, keys.count())
        key = keys.name()
    if key is None:
        return Typed.INCOMPLETE
    if visual and key in _VISUAL:
        return _act(keys, key, count, register)
    if key in OPERATORS and not visual:
        return _operated(keys, key, count, register)
    if visual and key in ("i", "a"):
        return _object(keys, key, "", count, register)
    if key in _SIMPLE and not visual:
        return _act(keys, key, count, register)
    return _motion(keys, key, "", count, register)


def _act(keys: _Keys, name: str, count: int | None, register: str) -> VimCommand | Typed:
    if name != "r":
        return VimCommand(name, count=count, register=register)
    character = keys.next()
    if character is None:
        return Typed.INCOMPLETE
    character = "\n" if character == "enter" else character
    if len(character) != 1:
        return Typed.INVALID
    return VimCommand(name, count=count, argument=character)


def _operated(keys: _Keys, operator: str, count: int | None, register: str) -> VimCommand | Typed:
    count = _product(count, keys.count())
    key = keys.name()
    if key is None:
        return Typed.INCOMPLETE
    if key in _LINE_OF.get(operator, (operator,)):
        return VimCommand("lines", operator, count, register)
    if key in ("i", "a"):
        return _object(keys, key, operator, count, register)
    return _motion(keys, key, operator, count, register)


def _object(keys: _Keys, key: str, operator: str, count: int | None, register: str) -> VimCommand | Typed:
    name = keys.next()
    if name is None:
        return Typed.INCOMPLETE
    return VimCommand(f"{key}{name}", operator, count, register) if name in NAMES else Typed.INVALID


def _motion(keys: _Keys, name: str, operator: str, count: int | None, register: str) -> VimCommand | Typed:
    if name in _WITH_CHARACTER:
        character = keys.next()
        if character is None:
            return Typed.INCOMPLETE
        return (
            VimCommand(name, operator, count, register, character) if len(character) == 1 else Typed.INVALID
        )
    if name in MOTIONS or name in _REPEATED or name in _SEARCHES:
        return VimCommand(name, operator, count, register)
    return Typed.INVALID


def _product(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return min(one * other, _MOST)

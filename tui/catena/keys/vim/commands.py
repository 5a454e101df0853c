"""Commands of vi as they are typed: register, count, operator, and what it is done to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from catena.keys.vim.changes import Registers
from catena.keys.vim.motions import MOTIONS
from catena.keys.vim.objects import NAMES

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

"""Changes of vi to a text: what an operator is done to, what some commands make of it; and the registers."""

from __future__ import annotations

from dataclasses import dataclass

from catena.keys.vim.characters import after, first_nonblank, line_end, line_start

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

"""Registers of vi: the texts that were deleted and yanked."""

from __future__ import annotations

from dataclasses import dataclass

_CLIPBOARD = "+*"


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
        """What is to go to the clipboard of the person; None if nothing is."""
        copied, self.copied = self.copied, None
        return copied

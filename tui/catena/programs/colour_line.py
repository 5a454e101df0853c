"""A line that a program of the person's own wrote, with its colours and nothing else that a terminal would obey."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from textual.content import Content

from catena.text.safe_text import safe

# OSC, DCS, …
_STRINGS = re.compile("(?:\x1b[]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c|$)")
_SEQUENCES = re.compile("(?:\x1b\\[|\x9b)([0-9;:<=>?]*)[ -/]*([@-~])|\x1b[ -/]*[0-~]")
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_LONGEST = 2_000  # characters; a row has a few hundred

# The eight colours are those of the theme that mean the like, so that they can be read on its ground.
_NAMED = ("background", "failure", "added", "asking", "accent", "unasked", "accent", "foreground")
_STEPS = (0, 95, 135, 175, 215, 255)  # of the colour cube of 256 colours


@dataclass(frozen=True, slots=True)
class _Look:
    """The look that the sequences so far ask for."""

    attributes: frozenset[str] = frozenset()
    colour: str = ""
    ground: str = ""

    @property
    def style(self) -> str:
        words = [*sorted(self.attributes), self.colour or "$muted"]
        return " ".join((*words, "on", self.ground) if self.ground else words)


_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}, 27: {"reverse"}, 29: {"strike"}}


def coloured_line(output: str, *, coloured: bool = True) -> Content:
    """The first line of an output; without ``coloured`` it keeps bold, dim and underline alone."""
    line = _STRINGS.sub("", output.lstrip("\r\n").partition("\n")[0][:_LONGEST])
    return Content.assemble(*_parts(line, coloured)).rstrip()


def _parts(line: str, coloured: bool) -> Iterator[tuple[str, str]]:
    look, at = _Look(), 0
    for found in _SEQUENCES.finditer(line):
        if text := _plain(line[at : found.start()]):
            yield text, look.style
        at = found.end()
        if found[2] == "m":
            look = _changed(look, _numbers(found[1]), coloured)
    if text := _plain(line[at:]):
        yield text, look.style


def _plain(text: str) -> str:
    return safe(_CONTROLS.sub("", text).replace("\t", " ")).replace("\n", " ")


def _numbers(parameters: str) -> list[int]:
    """The numbers of a sequence; one without any resets."""
    if not re.fullmatch("[0-9;:]*", parameters):
        return []
    return [int(each[:4] or 0) for each in parameters.replace(":", ";").split(";")]


def _changed(look: _Look, numbers: Sequence[int], coloured: bool) -> _Look:
    at = 0
    while at < len(numbers):
        number = numbers[at]
        at += 1
        if number == 0:
            look = _Look()
        elif number in _ATTRIBUTES:
            look = replace(look, attributes=look.attributes | {_ATTRIBUTES[number]})
        elif number in _ENDS:
            look = replace(look, attributes=look.attributes - _ENDS[number])
        elif number in (38, 48):
            colour, used = _extended(numbers[at:])
            at += used
            if coloured and colour:
                look = replace(look, colour=colour) if number == 38 else replace(look, ground=colour)
        elif number in (39, 49):
            look = replace(look, colour="") if number == 39 else replace(look, ground="")
        elif coloured and (30 <= number <= 37 or 90 <= number <= 97):
            look = replace(look, colour=_named(number % 10, bright=number >= 90))
        elif coloured and (40 <= number <= 47 or 100 <= number <= 107):
            look = replace(look, ground=_named(number % 10, bright=number >= 100))
    return look


def _named(number: int, *, bright: bool) -> str:
    return "$faint" if bright and number == 0 else f"${_NAMED[number]}"


def _extended(numbers: Sequence[int]) -> tuple[str, int]:
    """A colour of 256 or of all, and how many numbers it took; "" for one that is none."""
    match numbers:
        case [5, index, *_]:
            return _indexed(index), 2
        case [2, red, green, blue, *_]:
            valid = max(red, green, blue) <= 255
            return (f"#{red:02x}{green:02x}{blue:02x}" if valid else ""), 4
        case _:
            return "", len(numbers)


def _indexed(index: int) -> str:
    if index < 16:
        return _named(index % 8, bright=index >= 8)
    if index < 232:
        cube = index - 16
        red, green, blue = (_STEPS[cube // 36], _STEPS[cube // 6 % 6], _STEPS[cube % 6])
        return f"#{red:02x}{green:02x}{blue:02x}"
    if index < 256:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    return ""

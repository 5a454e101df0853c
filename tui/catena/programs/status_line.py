"""The command that writes the status line, and its line with colours and nothing else that a terminal would obey."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from textual.content import Content

from catena.programs.filter import run_filter
from catena.settings.tables import Program
from catena.text.safe_text import safe, safe_line

# OSC, DCS, …
_STRINGS = re.compile("(?:\x1b[]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c|$)")
_SEQUENCES = re.compile("(?:\x1b\\[|\x9b)([0-9;:<=>?]*)[ -/]*([@-~])|\x1b[ -/]*[0-~]")
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_LONGEST_LINE = 2_000  # characters; a row has a few hundred

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
    line = _STRINGS.sub("", output.lstrip("\r\n").partition("\n")[0][:_LONGEST_LINE])
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


LIMIT_SECONDS = 10.0
PAUSE_SECONDS = 0.35  # from one beginning to the next
_LONGEST_FAILURE = 200  # characters of what is said of a failure


class StatusLine:
    """Runs the command of one chat; ``run`` it once, and say with ``refresh`` that something changed."""

    def __init__(
        self,
        program: Program,
        *,
        told: Callable[[], Awaitable[dict[str, Any] | None]],
        show: Callable[[str], None],
        failed: Callable[[str], None],
        limit: float = LIMIT_SECONDS,
        pause: float = PAUSE_SECONDS,
    ) -> None:
        """``told`` is asked for what the command is told, None where there is nothing to tell.

        ``show`` gets its output, "" where it failed; ``failed`` is told of its first failure, in words.
        """
        self._program = program
        self._told = told
        self._show = show
        self._failed: Callable[[str], None] | None = failed
        self._limit = limit
        self._pause = pause
        self._stale = asyncio.Event()

    def refresh(self) -> None:
        """Run the command anew, as soon as it may run again; one that still runs is ended."""
        self._stale.set()

    async def run(self) -> None:
        """Run the command whenever it is to be refreshed, until this is cancelled."""
        while True:
            await self._stale.wait()
            self._stale.clear()
            began = time.monotonic()
            await self._run_until_stale()
            await asyncio.sleep(max(0.0, began + self._pause - time.monotonic()))

    async def _run_until_stale(self) -> None:
        running = asyncio.ensure_future(self._run_once())
        stale = asyncio.ensure_future(self._stale.wait())
        try:
            await asyncio.wait((running, stale), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stale.cancel()
            running.cancel()
            await asyncio.wait((running,))
        if not running.cancelled():
            running.result()

    async def _run_once(self) -> None:
        told = await self._told()
        if told is None:
            self._show("")
            return
        cwd = str(told["cwd"])
        try:
            ended = await run_filter(
                self._program.arguments(os.environ),
                json.dumps(told),
                directory=cwd,
                environment={**os.environ, "CLAUDE_PROJECT_DIR": cwd},
                seconds=self._limit,
            )
        except OSError as error:
            self._report(f"cannot be started: {error.strerror or error}")
            return
        if ended.trouble:
            self._report(ended.trouble)
        else:
            self._show(ended.out)

    def _report(self, trouble: str) -> None:
        self._show("")
        if self._failed is not None:
            text = safe_line(f"Status line ({self._program}) {trouble}")
            self._failed(text if len(text) <= _LONGEST_FAILURE else f"{text[: _LONGEST_FAILURE - 1]}…")
            self._failed = None

"""Widths, ages, durations and titles of text for a person."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime
from unicodedata import category, east_asian_width

from catena.text.safe_text import safe_line

_NAMED = 2  # of the work in the background
_LONGEST_TITLE = 30  # cells
_WIDTHLESS = frozenset({"Mn", "Me", "Cf"})


def cell_width(text: str) -> int:
    """The width of a text in cells."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def truncate(text: str, width: int) -> str:
    """The text in at most ``width`` cells, with `…` where it is cut."""
    if cell_width(text) <= width:
        return text
    room, kept = max(width - 1, 1), []
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip("…") + "…"


def truncate_left(text: str, width: int) -> str:
    """The end of a text in at most ``width`` cells, with `…` where it is cut: paths differ there."""
    if cell_width(text) <= width:
        return text
    while text and cell_width(text) > width - 1:
        text = text[1:]
    return f"…{text}"


_CLAUSES = re.compile(r", | · | \(|; ")


def whole_clauses(text: str, width: int) -> str:
    """The first clauses of a text that fit into ``width`` cells; cut like any text if they fill less than a third.

    What stands in quotation marks is not ours, and no clause ends within it.
    """
    if cell_width(text) <= width:
        return text
    ends = [at for found in _CLAUSES.finditer(text) if not _is_quoted(text, at := found.start())]
    fitting = [end for end in ends if width <= 3 * cell_width(text[:end]) <= 3 * width]
    return text[: fitting[-1]] if fitting else truncate(text, width)


def _is_quoted(text: str, at: int) -> bool:
    return text.count("“", 0, at) > text.count("”", 0, at)


def _cell(character: str) -> int:
    if category(character) in _WIDTHLESS:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_DATE_AFTER_DAYS = 60
_WEEK = 7
# Not by the person's locale: every other word is English, too.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def age(then: datetime, now: datetime) -> str:
    """The age of a time: `now`, `5 min`, `3 h`, `12 d`, or its date after two months."""
    seconds = (now - then).total_seconds()
    if seconds >= _DATE_AFTER_DAYS * 86_400:
        return then.astimezone().date().isoformat()
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def time_or_day(then: datetime, now: datetime) -> str:
    """When something was: `14:09` today, `yesterday`, `Thursday` within a week, `19 Nov`, else its date."""
    then, now = then.astimezone(), now.astimezone()
    days = (now.date() - then.date()).days
    if days <= 0:
        return f"{then:%H:%M}"
    if days == 1:
        return "yesterday"
    if days < _WEEK:
        return _DAYS[then.weekday()]
    return f"{then.day} {_MONTHS[then.month - 1]}" if then.year == now.year else then.date().isoformat()


def duration_text(seconds: float, *, precise: bool = True) -> str:
    """Return `0.3 s`, `42 s`, `3 min 12 s` or `2 h 5 min`; not ``precise``: in whole seconds from 1 s on."""
    if seconds < 9.95 and precise:
        return f"{seconds:.1f} s"
    return " ".join(f"{number} {unit}" for number, unit in duration_parts(seconds))


def duration_parts(seconds: float) -> list[tuple[int, str]]:
    """A duration in seconds (`s`, one at least), in `min` and `s` from 60 on, in `h` and `min` from an hour on."""
    minutes, rest = divmod(max(1, round(seconds)), 60)
    if minutes < 60:
        parts = [(minutes, "min"), (rest, "s")]
    else:
        hours, minutes = divmod(minutes, 60)
        parts = [(hours, "h"), (minutes, "min")]
    return [(number, unit) for number, unit in parts if number]


def program_of(agent: str) -> str:
    """What a stored agent is called that has no title: by its name, or by the program of its command."""
    command = agent.removeprefix("command:")
    return agent if command == agent else command.split()[0].rpartition("/")[2]


def turn_text(seconds: float | None) -> str:
    """How long a turn took, as `duration_text`; "" for a short one, and if that is not known."""
    return duration_text(seconds) if seconds is not None and seconds >= _LONG_TURN else ""


_LONG_TURN = 10  # seconds; a short chat stays calm


def taken_text(seconds: float) -> str:
    """How long something took, as `duration_text`; "" for no time at all."""
    return duration_text(seconds) if seconds >= _SHORTEST else ""


_SHORTEST = 0.05  # seconds; less would be `0.0 s`


def size_text(size: int) -> str:
    """A number of bytes: `812 B`, `4.3 KB`, `12 MB`."""
    value, unit = float(size), "B"
    for unit in ("B", "KB", "MB", "GB"):
        if value < 999.5 or unit == "GB":
            break
        value /= 1_000
    return f"{value:.1f} {unit}" if unit != "B" and value < 9.95 else f"{value:.0f} {unit}"


_TITLE_LENGTH = 60


def shortened(text: str) -> str:
    """The beginning of a text in one safe line of at most 80 characters."""
    line = safe_line(text)
    return line if len(line) <= 80 else f"{line[:77].rstrip(' .…')}..."


def title_of(prompt: str) -> str:
    """The default title of a conversation: the first line of its first prompt, at most 60 characters."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


def from_home(path: str) -> str:
    """A path as a person reads it: with `~` for their home."""
    home = os.path.expanduser("~")  # noqa: PTH111 - a text to compare with
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def joined(*texts: str) -> str:
    """The texts that are not blank, one below the other."""
    return "\n".join(text for text in texts if text.strip())


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `A`, `A and B`, `A, B and C`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def size_in_words(size: int) -> str:
    """A size as a person reads it, such as `3 kB`."""
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def background_words(titles: Sequence[str]) -> str:
    """Work that goes on in the background, in words: its first two are named."""
    named = [f"“{truncate(safe_line(title), _LONGEST_TITLE)}”" for title in titles[:_NAMED]]
    if len(titles) > _NAMED:
        named.append(f"{len(titles) - _NAMED} more")
    *others, last = named
    who = f"{', '.join(others)} and {last}" if others else last
    return f"{who} {'runs' if len(titles) == 1 else 'run'} in the background"

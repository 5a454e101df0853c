"""What a request is about, as lines in which a line break is visible. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from catena.text.safe_text import BREAK, safe, safe_line
from catena_acp.continuity.wording.counts import counted

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.permissions.subject import RequestSubject

_WIDTH = 80  # cells that a row is taken to have where it is counted


def subject_lines(subject: RequestSubject) -> Iterator[str]:
    """All parts of a subject, whole; each line of one that goes on ends with a sign."""
    for part in subject.shown:
        first, *more = safe(part.text).splitlines() or [""]
        lines = [f"{safe_line(part.label)}: {first}", *(f"  {line}" for line in more)]
        yield from (f"{line} {BREAK}" for line in lines[:-1])
        yield lines[-1]


def first_rows(lines: Sequence[str], most: int) -> tuple[list[str], int]:
    """The lines that fit into so many rows, and how many are left; a line of which only a part fits is cut."""
    shown: list[str] = []
    for line in lines:
        rows = len(line) // _WIDTH + 1
        if rows > most:
            if not shown:
                return [f"{line[: most * _WIDTH]}…"], len(lines)
            break
        shown.append(line)
        most -= rows
    return shown, len(lines) - len(shown)


def more_words(left: int) -> str:
    """How much more there is, and how to read it."""
    return f"… {counted(left, 'more line')}: d shows all"

"""Composition of the edits of one file: exact, or not at all. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from catena_acp.changes.changed_file import TextChange


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit as it was reported: texts of the file, or of a part of it that is nowhere named."""

    old: str | None  # None: the file was written anew
    new: str
    line: int | None = None  # of the file, as it was reported


def before_edits(text: str, edits: Sequence[Edit]) -> tuple[bool, str | None]:
    """The text that a file had before edits, by the whole text that it has after them; and whether that is certain.

    Each edit is taken back, the last one first, where what it left is in the text exactly once. None is no file.
    """
    current: str | None = text
    for edit in reversed(edits):
        if current == edit.new:
            current = edit.old
            continue
        if current is None or edit.old is None or (at := _only_place(edit.new, current)) is None:
            return False, None
        current = current[:at] + edit.old + current[at + len(edit.new) :]
    return True, current


def composed(edits: Iterable[Edit]) -> tuple[TextChange, ...] | None:
    """The edits as changes of parts that do not touch each other; None where the texts do not tell.

    An edit within what an earlier one left, or around it, becomes one change with it.
    """
    parts: list[TextChange] = []
    for edit in edits:
        taken = _with_edit(parts, edit)
        if taken is None:
            return None
        parts = taken
    return tuple(part for part in parts if part.old != part.new)


def _with_edit(parts: list[TextChange], edit: Edit) -> list[TextChange] | None:
    if edit.old is None:
        if not parts:
            return [TextChange(None, edit.new, whole=True)]
        return [replace(parts[0], new=edit.new)] if parts[0].whole else None
    inside = [at for at, part in enumerate(parts) if part.new is not None and edit.old in part.new]
    around = [at for at, part in enumerate(parts) if at not in inside and part.new and part.new in edit.old]
    if len(inside) == 1 and not around:
        part = parts[inside[0]]
        new = _replaced(part.new or "", edit.old, edit.new)
        return None if new is None else [*parts[: inside[0]], replace(part, new=new), *parts[inside[0] + 1 :]]
    if inside or any(part.whole for part in parts) or any(_touch(part, edit) for part in parts):
        return None
    old: str | None = edit.old
    for at in around:
        part = parts[at]
        if old is not None and part.old is not None and part.new is not None:
            old = _replaced(old, part.new, part.old)
    if old is None:
        return None
    rest = [part for at, part in enumerate(parts) if at not in around]
    return [*rest, TextChange(old, edit.new, line=edit.line or 1)]


def _replaced(text: str, old: str, new: str) -> str | None:
    """A text in which a part that is in it exactly once is replaced."""
    if text == old:
        return new
    at = _only_place(old, text)
    return None if at is None else text[:at] + new + text[at + len(old) :]


def _only_place(part: str, text: str) -> int | None:
    """Where a part is in a text; None where that is nowhere, or more than one place."""
    at = text.find(part) if part else -1
    return at if at >= 0 and text.find(part, at + 1) < 0 else None


def _touch(part: TextChange, edit: Edit) -> bool:
    """True where the end of one text may be the beginning of the other: they may be the same lines of the file."""
    if not part.new or not edit.old:
        return True
    if part.new in edit.old:
        return False
    return _ends_as_begins(part.new, edit.old) or _ends_as_begins(edit.old, part.new)


def _ends_as_begins(upper: str, lower: str) -> bool:
    """True where the last lines of one text that have any letters are the first lines of another."""
    first, _, _ = lower.partition("\n")
    if first not in upper:
        return False
    lines = lower.split("\n")
    common = _overlap(upper.removesuffix("\n").split("\n"), lines)
    return any(line.strip() for line in lines[:common])


def _overlap(upper: Sequence[str], lower: Sequence[str]) -> int:
    """How many lines, at most, are the last of one text and the first of another; by Knuth, Morris and Pratt."""
    shorter = [0] * len(lower)  # for as many lines as match: how many do where the next one does not
    count = 0
    for at in range(1, len(lower)):
        while count and lower[at] != lower[count]:
            count = shorter[count - 1]
        count += lower[at] == lower[count]
        shorter[at] = count
    count = 0
    for line in upper:
        while count and (count == len(lower) or line != lower[count]):
            count = shorter[count - 1]
        count += line == lower[count]
    return count

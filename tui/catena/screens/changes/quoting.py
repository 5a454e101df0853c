"""Hunks as they are quoted into a prompt. Pure."""

from __future__ import annotations

import re

from catena.screens.changes.shown_lines import place_words, shown_lines, shows_carriages
from catena.text.changes_text import shown_path
from catena_acp.changes.changed_file import ChangedFile
from catena_acp.changes.hunks import FileHunk
from catena_acp.continuity.wording.counts import counted

_MOST_LINES = 200
_TICKS = re.compile("`{3,}")
_UNDO = "Undo this change:"


def quote_of(file: ChangedFile, hunk: FileHunk, directory: str, *, undo: bool = False) -> str:
    """A hunk below its file and lines; ``undo``: as something to be taken back."""
    path = shown_path(file.path, directory)
    every = hunk.hunk.lines
    shown = shown_lines(every[:_MOST_LINES], carriages=shows_carriages(every))
    lines = [f"{line.sign}{line.text}" for line in shown]
    if (more := len(every) - len(lines)) > 0:
        lines.append(f"… {counted(more, 'more line')}")
    quote = fenced(f"{path}, {place_words(hunk)}:", "\n".join(lines), "diff")
    return "\n".join([*([_UNDO, ""] if undo else []), quote])


def fenced(head: str, body: str, language: str = "") -> str:
    """Lines as a block of code below a head; no line of them ends the block."""
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(body)), default=0))
    return "\n".join([head, f"{fence}{language}", body, fence])


def quote_of_file(file: ChangedFile, words: str, directory: str, *, undo: bool = False) -> str:
    """A file without hunks, named with what became of it."""
    head = f"{shown_path(file.path, directory)} ({words or 'changed'})"
    return "\n".join([*([_UNDO, ""] if undo else []), head])

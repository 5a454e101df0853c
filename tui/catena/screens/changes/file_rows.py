"""The rows of changed files. Pure."""

from __future__ import annotations

from catena.text.changes_text import shown_path, size_words, state_words
from catena.transcript.drawing.wrapping import shorten, width_of
from catena.widgets.row_list import Columns, Row, Tone, Word
from catena_acp.changes.changed_file import FileState, UnreadFile
from catena_acp.changes.hunks import FileDiff

FILE_COLUMNS = Columns(time=11)  # wide enough before sizes are known, so that nothing moves sideways
_STATE = 24  # characters
_MARGINS = 6  # cells before the name, and around the sizes
_GAP = 2
_LEAST_NAME = 16  # cells


def file_row(file: UnreadFile, diff: FileDiff | None, directory: str, *, seen: bool, width: int) -> Row:
    """The row of a file in a list of so many cells: its name, what became of it, and how much of it changed."""
    sizes = size_words(diff.added, diff.removed) if diff is not None else ""
    words = state_words(diff.file, directory) if diff is not None else _early_words(file)
    words = words if len(words) <= _STATE else f"{words[: _STATE - 1]}…"
    taken = _MARGINS + FILE_COLUMNS.time + (width_of(words) + _GAP if words else 0)
    return Row(
        file.path,
        shorten(shown_path(file.path, directory), max(_LEAST_NAME, width - taken)),
        note=words,
        dim=seen,
        mark=Word("✓", Tone.FAINT) if seen else None,
        time=sizes,
    )


def _early_words(file: UnreadFile) -> str:
    """What is known of a file before it is read."""
    return "" if file.state is FileState.CHANGED else file.state.value

"""The page of files that the agents of a branch read and changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from catena.cells import cell_len
from catena.text.changes_text import shown_path, size_words
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.file_changes import FileTouched

_APART = 3  # cells between a path and what is said of it


def files_page(files: Sequence[FileTouched], cwd: str) -> Callable[[int], Content]:
    """The files, latest first, laid out for a width."""
    if not files:
        return lambda width: Content("No files read or changed on this branch.")
    told = "As reported by the agents; not read from disk. /changes shows what changed."
    rows = [(shown_path(each.path, cwd), summary_of(each)) for each in files]

    def laid_out(width: int) -> Content:
        lines = [*Content.styled(told, "$muted").wrap(max(1, width)), Content("")]
        for path, words in rows:
            gap = width - cell_len(path) - cell_len(words)
            if gap >= _APART:
                lines.append(Content.assemble(path, " " * gap, (words, "$muted")))
            else:
                lines += Content(path).wrap(max(1, width))
                lines += (
                    Content.assemble("  ", line)
                    for line in Content.styled(words, "$muted").wrap(max(1, width - 2))
                )
        return Content("\n").join(lines)

    return laid_out


def summary_of(file: FileTouched) -> str:
    """How often a file was read and changed, and by how many lines, in words."""
    parts = []
    if file.changed:
        sizes = size_words(file.added, file.removed)
        parts.append(f"changed {counted(file.changed, 'time')}{f', {sizes}' if sizes else ''}")
    if file.unsure:
        parts.append(f"possibly changed {counted(file.unsure, 'time')}: the result is unknown")
    if file.read:
        parts.append(f"read {counted(file.read, 'time')}")
    return " · ".join(parts)

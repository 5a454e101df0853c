"""The page of files that were read and changed on a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from catena.cells import cell_len
from catena.text.changes_text import shown_path, touched_words
from catena_acp.conversation.inspection.file_changes import FileTouched

_APART = 3  # cells between a path and what is said of it


def files_page(files: Sequence[FileTouched], cwd: str) -> Callable[[int], Content]:
    """The files, latest first, laid out for a width."""
    if not files:
        return lambda width: Content("No files read or changed on this branch.")
    told = "As reported by the agents; not read from disk. /changes shows what changed."
    if any(each.unreported is not None for each in files):
        told = "Counts as reported by the agents; the others by snapshots. /changes shows what changed."
    rows = [(shown_path(each.path, cwd), " · ".join(touched_words(each))) for each in files]

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

"""The sheet of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from catena.acts.surface import Report, Voice
from catena.cells import cell_len
from catena.screens.common.page import PageScreen, facts_page
from catena.text.changes_text import size_words
from catena.text.safe_text import safe

EYE = Voice(" · ", size_words)
_APART = 3  # cells between a name and what is said of it


def report_page(report: Report) -> PageScreen:
    """Make the sheet of a report; a text is read from its end on."""
    if report.text:
        return PageScreen(report.title, Content(safe(report.text)), at_end=True)
    rows = [(row.name, row.said(EYE)) for row in report.rows]
    return PageScreen(report.title, noted_page(report.note, rows) if report.note else facts_page(rows))


def noted_page(note: str, rows: Sequence[tuple[str, str]]) -> Callable[[int], Content]:
    """Lay out rows below a note: what is said of each ends at the right edge, or stands below its name."""

    def laid_out(width: int) -> Content:
        lines = [*Content.styled(note, "$muted").wrap(max(1, width)), Content("")]
        for name, words in rows:
            gap = width - cell_len(name) - cell_len(words)
            if gap >= _APART:
                lines.append(Content.assemble(name, " " * gap, (words, "$muted")))
            else:
                lines += Content(name).wrap(max(1, width))
                lines += (
                    Content.assemble("  ", line)
                    for line in Content.styled(words, "$muted").wrap(max(1, width - 2))
                )
        return Content("\n").join(lines)

    return laid_out

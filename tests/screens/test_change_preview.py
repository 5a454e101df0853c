"""A file's change in every place that shows it: the question, the review, the transcript, a copy of it."""

from __future__ import annotations

from catena.text.call_text import change_of
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.messages.tool_rows import draw_changes
from catena_acp.changes.changed_file import ChangedFile, TextChange, diff_of_file, hunk_text
from catena_acp.diff import line_diff
from catena_acp.port.session_events import ToolDiff

OLD = "select 1\n-- a comment\nselect 2\n" + "x\n" * 300
NEW = "select 1\n++ no comment\nselect 2\n" + "x\n" * 299 + "y\n"


def drawn(diff: ToolDiff) -> list[str]:
    """The changed lines of a request, with their signs and without their numbers."""
    rows = [line.shown[6:] for line in draw_changes([diff], RenderOptions(90, Palette.plain()))]
    return [row[0].replace("−", "-") + row[2:] for row in rows if row[:1] in ("+", "−")]


def changed_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line[:1] in ("+", "-")]


def test_a_line_of_dashes_or_plusses_is_part_of_a_change_and_not_its_head() -> None:
    assert drawn(ToolDiff("a.sql", OLD, NEW)) == ["--- a comment", "+++ no comment", "-x", "+y"]


def test_a_change_has_the_same_lines_wherever_it_is_shown() -> None:
    diff = ToolDiff("/p/a.sql", OLD, NEW)
    hunks = change_of(OLD, NEW).hunks
    in_transcript = [line.sign + line.text for hunk in hunks for line in hunk.lines if line.sign != " "]
    reviewed = diff_of_file(ChangedFile(diff.path, changes=(TextChange(OLD, NEW, whole=True),)))
    assert drawn(diff) == in_transcript
    assert changed_lines("".join(map(hunk_text, reviewed.hunks))) == in_transcript
    assert list(line_diff(OLD, NEW).unified("a"))[:3] == ["--- a", "+++ a", "@@ -1,5 +1,5 @@"]

"""A file's change in every place that shows it: the question, the files, the transcript, a copy of it."""

from __future__ import annotations

from catena.screens.files import files_page
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.messages.diff import change_of
from catena.transcript.messages.subject import draw_changes
from catena_acp.conversation.inspection.file_changes import FileTouched
from catena_acp.diff import line_diff
from catena_acp.session_events import ToolDiff

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
    page = files_page([FileTouched(diff.path, changed=1, diffs=(diff,))], "/p").plain
    hunks = change_of(OLD, NEW).hunks
    assert drawn(diff) == changed_lines(page)
    assert changed_lines(page) == [
        line.sign + line.text for hunk in hunks for line in hunk.lines if line.sign != " "
    ]
    assert list(line_diff(OLD, NEW).unified("a"))[:3] == ["--- a", "+++ a", "@@ -1,5 +1,5 @@"]

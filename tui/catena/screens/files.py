"""The page of files that the agents of a branch read and changed, with the changes they reported."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from itertools import islice

from textual.content import Content

from catena.text.safe_text import safe, safe_line
from catena.widgets.change_preview import styled_diff
from catena_acp.continuity.counts import counted
from catena_acp.conversation.inspection.file_changes import FileTouched
from catena_acp.diff import line_diff
from catena_acp.session_events import ToolDiff

_MOST_LINES = 400  # of the changes of one file
_COMPARED = 5_000  # lines of either version, beyond which no change is shown


def files_page(files: Sequence[FileTouched], cwd: str) -> Content:
    """The files, latest first; below each its changes, oldest first."""
    if not files:
        return Content("No files read or changed on this branch.")
    lines: list[Content] = [
        Content.styled("As reported by the agents; not read from disk.", "$faint"),
        Content(""),
    ]
    for each in files:
        lines.append(
            Content.assemble((display_path(each.path, cwd), "bold"), "  ", (summary_of(each), "$muted"))
        )
        if each.diffs:
            shown = list(islice(_diff_lines(each.diffs), _MOST_LINES + 1))
            text = "\n".join(shown[:_MOST_LINES] + ["…"] * (len(shown) > _MOST_LINES))
            lines += [styled_diff(text), Content("")]
    return Content("\n").join(lines)


def summary_of(file: FileTouched) -> str:
    """How often a file was read and changed, and by how many lines, in words."""
    parts = []
    if file.changed:
        parts.append(f"changed {counted(file.changed, 'time')} +{file.added} −{file.removed}")
    if file.unsure:
        parts.append(f"possibly changed {counted(file.unsure, 'time')}: the result is unknown")
    if file.read:
        parts.append(f"read {counted(file.read, 'time')}")
    return " · ".join(parts)


def display_path(path: str, cwd: str) -> str:
    """A path, relative where it lies below the directory of the conversation."""
    inside = path.startswith(cwd.rstrip("/") + "/")
    return safe_line(os.path.relpath(path, cwd) if inside else path)


def _diff_lines(diffs: Sequence[ToolDiff]) -> Iterator[str]:
    for diff in diffs:
        if diff.old is None:
            yield "(new file)"
        change = line_diff(safe(diff.old or ""), safe(diff.new))
        before, after = len(change.before), len(change.after)
        if max(before, after) > _COMPARED:
            yield f"({before:,} lines before, {after:,} after: too many to compare here)"
        else:
            yield from change.unified()

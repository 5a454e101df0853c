"""The page of files that the agents of a branch read and changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from catena.text.changes_text import shown_path
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.file_changes import FileTouched


def files_page(files: Sequence[FileTouched], cwd: str) -> Content:
    """The files, latest first."""
    if not files:
        return Content("No files read or changed on this branch.")
    lines = [
        Content.styled(
            "As reported by the agents; not read from disk. /changes shows what changed.", "$faint"
        ),
        Content(""),
        *(
            Content.assemble((shown_path(each.path, cwd), "bold"), "  ", (summary_of(each), "$muted"))
            for each in files
        ),
    ]
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

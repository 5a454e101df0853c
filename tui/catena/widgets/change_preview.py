"""The file changes of a tool call, and a diff as text in colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from catena.text.safe_text import safe

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.session_events import ToolCallChanged, ToolDiff


def diffs_of(call: ToolCallChanged) -> list[ToolDiff]:
    """The file changes of a tool call."""
    from catena_acp.session_events import ToolDiff

    return [content for content in call.content or () if isinstance(content, ToolDiff)]


def styled_diff(text: str) -> Content:
    """A diff with its added and removed lines in colour; their first character says the same."""
    pieces = []
    for line in safe(text).splitlines():
        style = {"+": "$added", "-": "$failure", "@": "$faint"}.get(line[:1], "")
        pieces.append(Content.styled(line, style) if style else Content(line))
    return Content("\n").join(pieces)

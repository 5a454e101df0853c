"""Preview of a tool call: its command, its change or its locations, in a few lines or whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from catena.text.safe_text import safe
from catena_acp.diff import line_diff

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.session_events import ToolCallChanged, ToolDiff


_PREVIEW_LINES = 6


def change_in_words(call: ToolCallChanged) -> str:
    """Every change of a tool call as a unified diff."""
    parts = []
    for diff in diffs_of(call):
        parts.append(f"{diff.path}" + (" (new file)" if diff.old is None else ""))
        parts += line_diff(safe(diff.old or ""), safe(diff.new)).unified()
        parts.append("")
    return "\n".join(parts)


def diffs_of(call: ToolCallChanged) -> list[ToolDiff]:
    """The file changes of a tool call."""
    from catena_acp.session_events import ToolDiff

    return [content for content in call.content or () if isinstance(content, ToolDiff)]


def preview(call: ToolCallChanged) -> Content:
    """Preview a tool call in a few lines: its command, its change or its locations."""
    from catena_acp.session_events import ToolText

    if diffs_of(call):
        return styled_diff(change_in_words(call), _PREVIEW_LINES)
    lines: list[str] = []
    if isinstance(call.raw_input, dict):
        for key, value in call.raw_input.items():
            shown = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            if shown != call.title:
                lines.append(f"{key}: {shown}")
    lines += [content.text for content in call.content or () if isinstance(content, ToolText)]
    lines += [f"{place.path}:{place.line}" if place.line else place.path for place in call.locations or ()]
    text = safe("\n".join(lines)).splitlines()
    cut = text[:_PREVIEW_LINES] + (["…"] if len(text) > _PREVIEW_LINES else [])
    return Content("\n".join(cut))


def styled_diff(text: str, limit: int | None = None) -> Content:
    """A diff with its added and removed lines in colour; their first character says the same."""
    lines = safe(text).splitlines()
    cut = limit is not None and len(lines) > limit
    pieces = []
    for line in lines[:limit]:
        style = {"+": "$added", "-": "$failure", "@": "$faint"}.get(line[:1], "")
        pieces.append(Content.styled(line, style) if style else Content(line))
    if cut:
        pieces.append(Content(f"… {len(lines) - (limit or 0)} more lines: d"))
    return Content("\n").join(pieces)

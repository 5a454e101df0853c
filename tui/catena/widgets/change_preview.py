"""The file changes of a tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.port.session_events import ToolCallChanged, ToolDiff


def diffs_of(call: ToolCallChanged) -> list[ToolDiff]:
    """The file changes of a tool call."""
    from catena_acp.port.session_events import ToolDiff

    return [content for content in call.content or () if isinstance(content, ToolDiff)]

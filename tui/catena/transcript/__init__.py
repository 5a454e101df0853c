"""The transcript of a branch: one virtualised widget on Textual's line API."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catena.transcript.widget.transcript import Transcript
    from catena.transcript.widget.view import FRAME

__all__ = ["FRAME", "Transcript"]


def __getattr__(name: str) -> object:
    """The widget, imported when it is first asked for: an export draws messages without Textual."""
    if name == "Transcript":
        from catena.transcript.widget.transcript import Transcript

        return Transcript
    if name == "FRAME":
        from catena.transcript.widget.view import FRAME

        return FRAME
    raise AttributeError(name)

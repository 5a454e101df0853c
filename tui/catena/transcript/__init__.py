"""The transcript of a branch: one virtualised widget, drawn row by row."""

from catena.transcript.widget.transcript import Transcript

__all__ = ["Transcript"]

"""The transcript of a branch: one virtualised widget, drawn row by row."""

from catena.widgets.transcript.finding import Hit
from catena.widgets.transcript.view import Transcript

__all__ = ["Hit", "Transcript"]

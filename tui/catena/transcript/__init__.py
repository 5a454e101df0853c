"""The transcript of a branch: one virtualised widget on Textual's line API."""

from catena.transcript.widget.transcript import Transcript
from catena.transcript.widget.view import FRAME

__all__ = ["FRAME", "Transcript"]

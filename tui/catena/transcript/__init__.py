"""The transcript of a branch: one virtualised widget on Textual's line API."""

from catena.transcript.widget.transcript import Transcript

__all__ = ["Transcript"]

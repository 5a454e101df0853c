"""How long an agent may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds until an answer is given up. A prompt may take for ever."""

    opening: float = 120  # a session; agents start servers and read long transcripts meanwhile
    setting: float = 60
    closing: float = 5
    login: float = 600  # a person may be in a browser

"""The sessions that this process has open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catena_acp.rehearsal.settings import Settings
from catena_acp.rehearsal.transcripts import Transcript

if TYPE_CHECKING:
    from catena_acp.rehearsal.turn import Turn


@dataclass(slots=True)
class Session:
    """One open session: its transcript, what was chosen in it, and the turn that runs."""

    transcript: Transcript
    settings: Settings = field(default_factory=Settings)
    turn: Turn | None = None

    @property
    def id(self) -> str:
        """What the client calls it."""
        return self.transcript.id

    @property
    def tokens(self) -> int:
        """What its context would weigh at four characters a token, over a system prompt that there is not."""
        return 1_200 + sum(len(text) for _, text in self.transcript.context()) // 4

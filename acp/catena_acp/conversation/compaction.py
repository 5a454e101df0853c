"""One shortening of a session's context by its agent: a single divider, however many updates tell of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_OVER = frozenset({"completed", "failed", "cancelled"})
_NOT_DONE = frozenset({"in_progress", "pending", "failed", "cancelled"})

WORDS = "the agent shortened its own context · all of it stays here"


@dataclass(slots=True)
class Compaction:
    """What is known of it: its row, how far it has come, and the agent's summary, chunk by chunk or whole."""

    row_id: str = ""
    status: str = "completed"  # as of agents that tell of it only once, when it is done
    over: bool = False
    _chunks: list[str] = field(default_factory=list)

    def take(self, text: str | None, status: str | None) -> None:
        """Take in an update; one without a status has the next part of the summary."""
        if status is None:
            self._chunks.append(text or "")
            return
        self.status, self.over = status, status in _OVER
        if text:
            self._chunks = [text]

    @property
    def done(self) -> bool:
        """True where the session may hold less than before."""
        return self.status not in _NOT_DONE or bool(self._chunks and self.status == "in_progress")

    @property
    def data(self) -> dict[str, Any]:
        """What the divider's row keeps."""
        return {"compacted": self.status, "detail": "".join(self._chunks).strip().splitlines()}

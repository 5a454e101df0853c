"""What an agent says in a turn, as long as it is so little that it may be nothing but an error."""

from __future__ import annotations

from collections.abc import Iterable

from catena_acp.events import Event, OtherContent, PermissionAsked, TextChunk, ToolCallChanged

_LONGEST = 600  # characters; nobody writes an essay for an error


class OnlyWords:
    """Collects a turn's last message; ``text`` is None once there is more in the turn than an error would be."""

    def __init__(self) -> None:
        self._message_id: str | None = None
        self._text = ""
        self._length = 0
        self._more = False

    def take(self, events: Iterable[Event]) -> None:
        """Take in what came, in order."""
        for event in events:
            match event:
                case _ if self._more:
                    return
                case TextChunk(role="agent", text=text, message_id=message_id):
                    # Warnings come as messages of their own, before the error.
                    self._text = (self._text if message_id == self._message_id else "") + text
                    self._message_id = message_id
                    self._length += len(text)
                    self._more = self._length > _LONGEST
                case ToolCallChanged() | PermissionAsked() | OtherContent():
                    self._more = True
                case _:
                    pass

    @property
    def text(self) -> str | None:
        """The words; None where something else was said or done, or nothing at all."""
        return None if self._more or not self._text.strip() else self._text

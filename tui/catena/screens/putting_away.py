"""Deleting and archiving in the history, and taking that back there."""

from __future__ import annotations

from catena.safe_text import safe_line
from catena.undo_words import undone
from catena.undoing import Undoing
from catena_acp.continuity.errors import ReadOnly
from catena_acp.errors import AgentError
from catena_store.errors import StoreError
from catena_store.windows.journal import Act


class PuttingAway:
    """What the history does with the conversation under its cursor; each gives what is to be said."""

    def __init__(self, undoing: Undoing) -> None:
        self._undoing = undoing
        self._done = 0

    @property
    def opened(self) -> frozenset[str]:
        """The conversations that have a tab now."""
        return self._undoing.opened

    async def put_away(self, conversation_id: str, name: str, act: Act, *, archived: bool) -> str:
        """Delete it, or archive it; one of the archive is taken out of it."""
        try:
            if act is Act.ARCHIVE and archived:
                await self._undoing.take_out(conversation_id)
                said = "out of the archive again"
            else:
                await self._undoing.put_away(conversation_id, act)
                said = "deleted from every list" if act is Act.DELETE else "archived, at the end of this list"
        except (AgentError, StoreError, ReadOnly) as error:
            return str(error)
        self._done += 1
        return f"“{safe_line(name)}” is {said} · ctrl+z undo"

    async def undo(self) -> str:
        """Take back what was put away last, as far as it was done here."""
        if not self._done:
            return "Nothing was put away here · esc leave, and /undo takes back what was done before"
        try:
            taken = await self._undoing.undo(None)
        except (AgentError, StoreError, ReadOnly) as error:
            return str(error)
        self._done -= 1
        return undone(taken) if taken else "There is nothing to undo."

"""Sessions of other tools in the history: listed once they are wanted, and the question whether to keep copies."""

from __future__ import annotations

from collections.abc import Callable

from catena.errors import InvalidSettings, SettingsNotWritten
from catena.history.listing import HistoryListing
from catena.history.other_tools import OtherTools
from catena.keys.keymap import KeyMap

_KEEP_COPIES = "Keep copies of other tools' sessions? {keep_copies} yes · {no_copies} no"


class OtherSessions:
    """Reads sessions of other tools into the listing, once; ``save_copies`` writes the answer as a setting."""

    def __init__(
        self, listing: HistoryListing, tools: OtherTools, save_copies: Callable[[bool], None]
    ) -> None:
        self._listing = listing
        self._tools = tools
        self._save_copies = save_copies
        self._begun = False
        self.question = ""  # that stands above the keys until it is answered

    def begin(self) -> bool:
        """True the first time: then the sessions are to be read."""
        begun, self._begun = self._begun, True
        return not begun

    async def read(self, listed: Callable[[], None], keys: KeyMap) -> None:
        """Read the sessions, and ask what is not answered yet. Raises StoreError."""
        any_known = False
        try:
            async for count in self._tools.read_into(self._listing):
                any_known = any_known or count > 0
                listed()
        finally:
            if any_known and self._tools.copied is None:
                self.question = keys.said(_KEEP_COPIES)

    async def answer(self, keep: bool, say: Callable[[str], None]) -> None:
        """Answer whether sessions are copied before their tools remove them, and say what became of that."""
        self.question = ""
        try:
            self._save_copies(keep)
        except (SettingsNotWritten, InvalidSettings) as error:
            say(f"The answer could not be saved: {error}")
        else:
            say("Copied from now on." if keep else "Nothing is copied. `[history] copies` changes that.")
        await self._tools.keep_copies(keep)

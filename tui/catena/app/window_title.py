"""The title of the terminal's window: the conversation and its state, so that windows can be told apart."""

from __future__ import annotations

from collections.abc import Callable

from catena.text.safe_text import safe_line

_KEEP, _RESTORE = "\x1b[22;2t", "\x1b[23;2t"  # the terminal's own stack of titles (XTWINOPS)
_LONGEST = 80  # characters of a conversation's title
_PROGRAM = "Catena"


class WindowTitle:
    """The window's title, for as long as the terminal is ours; the one before comes back behind it."""

    def __init__(self, send: Callable[[str], None], *, spelled: Callable[[str], str] = str) -> None:
        """``send`` writes to the terminal past the screen; ``spelled``: a text in the characters that it has."""
        self._send = send
        self._spelled = spelled
        self._wanted = ""
        self._sent: str | None = None  # None: the title is not ours

    def name(self, conversation: str, mark: str) -> None:
        """Name the conversation that has the keys; ``mark`` is its state, and empty while nothing happens."""
        title = safe_line(conversation)[:_LONGEST].strip()
        words = " ".join(filter(None, (mark, title, "–" if title else "", _PROGRAM)))
        self._wanted = self._spelled(words)

    def show(self) -> None:
        """Send what is wanted, if the terminal does not have it."""
        if self._wanted and self._wanted != self._sent:
            self._send(f"{_KEEP if self._sent is None else ''}\x1b]2;{self._wanted}\x1b\\")
            self._sent = self._wanted

    def parting(self) -> str:
        """What gives the terminal its title back; terminals that keep none are left without one."""
        if self._sent is None:
            return ""
        self._sent = None
        return f"\x1b]2;\x1b\\{_RESTORE}"

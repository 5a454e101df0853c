"""Walking through what was typed before, without losing what is being typed now."""

from __future__ import annotations

from collections.abc import Sequence


class InputHistory:
    """A walk over earlier inputs; its starting point, the draft, is given back at the end of the way."""

    def __init__(self) -> None:
        self._older: list[str] = []  # newest first
        self._at = -1  # -1: at the draft
        self._draft = ""
        self.loaded = False

    @property
    def walking(self) -> bool:
        """True while an earlier input is shown instead of the draft."""
        return self._at >= 0

    def load(self, newest_first: Sequence[str]) -> None:
        """Take the stored inputs over."""
        self._older = list(newest_first)
        self.loaded = True

    def add(self, text: str) -> None:
        """A new input; the walk begins anew."""
        if not self._older or self._older[0] != text:
            self._older.insert(0, text)
        self.stop()

    def stop(self) -> None:
        """What is shown has become the draft."""
        self._at = -1

    def leave(self) -> tuple[str, str]:
        """The walk is broken off: the draft that it began at, and the earlier input that is shown instead."""
        shown, self._at = self._older[self._at], -1
        return self._draft, shown

    def older(self, shown: str) -> str | None:
        """The next older input, or None at the end; ``shown`` is kept as the draft where the walk begins."""
        if self._at == -1:
            self._draft = shown
        at = self._at + 1
        while at < len(self._older) and self._older[at] == shown:
            at += 1
        if at >= len(self._older):
            return None
        self._at = at
        return self._older[at]

    def newer(self) -> str | None:
        """The next newer input, in the end the draft; None where the draft is shown already."""
        if self._at == -1:
            return None
        self._at -= 1
        return self._draft if self._at == -1 else self._older[self._at]

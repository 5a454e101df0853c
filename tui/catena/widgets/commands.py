"""Commands as the person reads and types them: the words of one, and a text that begins with a slash."""

from __future__ import annotations

from typing import Protocol


class CommandWords(Protocol):
    """The words of one of Catena's own commands, for completion, palette and help."""

    @property
    def name(self) -> str:
        """The name that is typed behind the slash."""

    @property
    def summary(self) -> str:
        """A description of the command, on one line."""

    @property
    def argument(self) -> str:
        """A hint of what may follow the name, "" for nothing."""

    @property
    def key(self) -> str:
        """The key that does the same, as the person presses it."""

    @property
    def words(self) -> str:
        """Its name, or a command and a verb of that, by which it is listed; "" if it stands in no list."""

    @property
    def discards(self) -> bool:
        """True if it takes away what is here."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the command."""

    @property
    def meant(self) -> tuple[str, ...]:
        """Words of other clients that lead to it; an agent's command may have one of them as its name."""

    @property
    def names_of(self) -> str:
        """The kind of names that complete behind it: "agent", "agents" for several, "checkpoint"; "" for none."""


def split_slash(text: str) -> tuple[str, str] | None:
    """Name and argument of a text that begins with a slash; None for any other text."""
    if not text.startswith("/") or len(text) < 2 or text[1].isspace():
        return None
    name, _, argument = text[1:].partition(" ")
    return (name.strip(), argument.strip()) if "\n" not in name else None

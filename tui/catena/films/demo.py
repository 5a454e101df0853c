"""Demo mode: a screen that can be shown to anybody, with a store, a clock and names of its own.

The key strip shows in the last row of every screen which keys were pressed.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget

from catena.cells import cell_len
from catena.keys.spelling import shown_key
from catena.text.strips.filters import RedactedWords

FOLDER = "demo"  # below the data directory
TIME = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
_SHORTEST_NAME = 3  # characters of a user's name that is hidden
_COMMON_NAMES = frozenset({"root", "user", "admin", "home", "demo", "guest", "test", "dev"})

_MOST = 8  # keys
_APART = "  "


@dataclass(frozen=True, slots=True)
class Demo:
    """A demonstration: what is hidden in it, and the one time that all its clocks show."""

    words: RedactedWords
    time: datetime = TIME
    folder: str = FOLDER  # of its store, below the data directory

    @classmethod
    def here(cls) -> Demo:
        """The demonstration by the user of this process, at their home."""
        return cls(RedactedWords.of(home=str(Path.home()), names=_user_names()))

    def clock(self) -> datetime:
        """The time, which stands still."""
        return self.time


def _user_names() -> list[str]:
    """The login and the full name of this process's user, as far as they say who that is."""
    names = [os.environ.get("USER", ""), os.environ.get("LOGNAME", "")]
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        pass
    else:
        names += [entry.pw_name, entry.pw_gecos.partition(",")[0].strip()]
    return [name for name in names if len(name) >= _SHORTEST_NAME and name.lower() not in _COMMON_NAMES]


@dataclass
class PressedKeys:
    """The keys that were pressed since a text was typed, oldest first; a text is not among them, nor a password."""

    keys: list[tuple[str, int]] = field(default_factory=list)  # each with how often it was pressed in a row

    def press(self, key: str, *, types: bool) -> None:
        """Note a key; ``types``: it is a character that goes into a text field."""
        if types:
            self.keys.clear()
            return
        name = shown_key(key)
        if self.keys and self.keys[-1][0] == name:
            self.keys[-1] = (name, self.keys[-1][1] + 1)
        else:
            self.keys.append((name, 1))
        del self.keys[:-_MOST]

    @property
    def words(self) -> list[str]:
        """Each key, as it is written on screens."""
        return [name if times == 1 else f"{name} ×{times}" for name, times in self.keys]


class KeyStrip(Widget):
    """One row at the foot of a screen, in which the newest key is marked; the oldest keys go if there is no room."""

    DEFAULT_CLASSES: ClassVar[str] = "-key-strip"
    DEFAULT_CSS = """
    KeyStrip {
        dock: bottom;
        width: 100%;
        max-width: 100% !important;
        height: 1;
        background: $background;
    }
    """

    def __init__(self, pressed: PressedKeys) -> None:
        super().__init__()
        self._pressed = pressed

    def render(self) -> Content:
        """The keys, in the middle."""
        words = [f" {word} " for word in self._pressed.words]
        while words and cell_len(_APART.join(words)) > self.size.width:
            words.pop(0)
        old = [(word, "$muted on $code-ground") for word in words[:-1]]
        new = [(word, "bold $selection-text on $selection") for word in words[-1:]]
        parts: list[tuple[str, str]] = []
        for each in (*old, *new):
            parts += [(_APART, ""), each] if parts else [each]
        left = max(0, self.size.width - sum(cell_len(text) for text, _ in parts)) // 2
        return Content.assemble(" " * left, *parts)

"""Demo mode: a screen that can be shown to anybody, with a store, a clock and names of its own."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from catena.text.strips.redaction import RedactedWords

FOLDER = "demo"  # below the data directory
TIME = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
_SHORTEST_NAME = 3  # characters of a user's name that is hidden
_COMMON_NAMES = frozenset({"root", "user", "admin", "home", "demo", "guest", "test", "dev"})


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

"""The exit statuses of the command line, and the one exception that carries one with its line."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What a script learns from a command without reading a word of it."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2  # arguments, settings, an unknown id, a store that cannot be used
    NO_AGENT = 3  # missing or gone
    PERMISSION_REFUSED = 4
    HELD_ELSEWHERE = 5  # another client has the conversation
    LOGIN_NEEDED = 6
    STOPPED = 130


class Refused(Exception):
    """A command cannot be carried out; ``str()`` of it is the one line for the person."""

    def __init__(self, text: str, status: ExitStatus = ExitStatus.USAGE) -> None:
        super().__init__(text)
        self.status = status

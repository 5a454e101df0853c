"""Errors that end a command, with their exit status and their line for the person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path


class ExitStatus(IntEnum):
    """Exit status of a command."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2  # arguments, settings, an unknown id, a store that cannot be used
    NO_AGENT = 3  # missing or gone
    PERMISSION_REFUSED = 4
    HELD_ELSEWHERE = 5  # another client has the conversation
    LOGIN_NEEDED = 6
    HUNG_UP = 129
    STOPPED = 130


class CommandRefused(Exception):
    """A command that cannot be carried out; ``str()`` of it is one line for the person."""

    def __init__(self, text: str, status: ExitStatus = ExitStatus.USAGE) -> None:
        super().__init__(text)
        self.status = status


class InvalidSettings(Exception):
    """An invalid settings file; ``str()`` of it names the file and, if known, the line."""

    def __init__(self, path: Path, line: int | None, why: str) -> None:
        super().__init__(f"{path}:{line}: {why}" if line else f"{path}: {why}")
        self.path = path
        self.line = line
        self.why = why


class SettingsNotWritten(Exception):
    """A change of the settings that was not written; ``str()`` of it is one line for the person."""


@contextmanager
def refusing_path(named: str) -> Iterator[None]:
    """Refuse, in words, a path that cannot be what was typed: a home of nobody, a name that is too long.

    Raises CommandRefused.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: `~nobody`, or links in a circle
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandRefused(f"{named}: {why}") from error


def explain(error: Exception) -> tuple[str, ExitStatus]:
    """One line for the person on an error, and its exit status."""
    # The first frame needs the classes above, and none of these.
    from catena.text.safe_text import safe_line
    from catena_acp.errors import AgentError, AgentMissing, FilesHalfMoved, ReadOnly
    from catena_store.errors import Ambiguous, NotFound, StoreBusy, StoreError, StoreUnusable

    match error:
        case CommandRefused():
            status = error.status
        case (
            InvalidSettings()
            | StoreUnusable()
            | StoreBusy()
            | NotFound()
            | Ambiguous()
            | AgentMissing()
            | FilesHalfMoved()
        ):
            status = ExitStatus.USAGE
        case ReadOnly():
            status = ExitStatus.HELD_ELSEWHERE
        case StoreError() | AgentError():
            status = ExitStatus.FAILED
        case _:
            return _unexpected(error), ExitStatus.FAILED
    return safe_line(str(error)), status


def _unexpected(error: Exception) -> str:
    import traceback

    from catena.log import append_to_log
    from catena.text.safe_text import safe_line
    from catena_store.database.location import data_directory

    kept = append_to_log(data_directory(), "".join(traceback.format_exception(error)))
    where = f"Details: {kept}" if kept else "The details could not be saved."
    return f"internal error ({safe_line(f'{type(error).__name__}: {error}')}). {where}"

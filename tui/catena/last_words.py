"""What a person is told when a command ends in an error; the traceback goes to the log file."""

from __future__ import annotations

import traceback

from catena.config import SettingsInvalid
from catena.exit_status import ExitStatus, Refused
from catena.log_file import append_to_log
from catena.safe_text import safe_line
from catena_acp.errors import AgentError, AgentMissing
from catena_store.database.location import data_directory
from catena_store.errors import Ambiguous, NotFound, StoreError, StoreUnusable


def explain(error: Exception) -> tuple[str, ExitStatus]:
    """One line for the person, and the exit status."""
    match error:
        case Refused():
            status = error.status
        case SettingsInvalid() | StoreUnusable() | NotFound() | Ambiguous() | AgentMissing():
            status = ExitStatus.USAGE
        case StoreError() | AgentError():
            status = ExitStatus.FAILED
        case _:
            return _ours(error), ExitStatus.FAILED
    return safe_line(str(error)), status


def _ours(error: Exception) -> str:
    kept = append_to_log(data_directory(), "".join(traceback.format_exception(error)))
    where = f"The details are in {kept}." if kept else "The details could not be written down."
    return f"stopped at an error of its own ({safe_line(f'{type(error).__name__}: {error}')}). {where}"

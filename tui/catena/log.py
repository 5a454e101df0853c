"""The log file for tracebacks, warnings and the SDK's log, which must not appear on the screen."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

LOG_NAME = "catena.log"
_KEPT_BYTES = 1_000_000


def append_to_log(directory: Path, text: str) -> Path | None:
    """Append to the log file; return its path, or None if it cannot be written."""
    path = directory / LOG_NAME
    try:
        _make_private(path)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {text.rstrip()}\n")
    except OSError:
        return None
    return path


def log_to_file(directory: Path) -> None:
    """Send the logging and warnings of this process to the log file, or nowhere if it cannot be written.

    Call it before the SDK is imported: it logs tracebacks through the root logger.
    """
    path = directory / LOG_NAME
    try:
        _make_private(path)
        handler: logging.Handler = logging.FileHandler(path, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # errors of logging must not appear on the screen


def _make_private(path: Path) -> None:
    """Create the log file, readable only by its owner, and rotate a file of more than 1 MB. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _KEPT_BYTES:
        path.replace(path.with_suffix(".log.1"))
    path.touch(mode=0o600)

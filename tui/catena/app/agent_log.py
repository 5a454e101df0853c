"""What a process of an agent does wrong, or lets Catena do unasked, in the log file."""

from __future__ import annotations

import logging
from collections.abc import Callable

from catena.text.safe_text import safe_line

_KEPT_LINES = 300  # of one process
_LONGEST_LINE = 2_000  # characters


def agent_log(title: str) -> Callable[[str], None]:
    """A writer of lines about one process of an agent; of a flood it writes the first."""
    logger, lines = logging.getLogger("catena.agents"), 0

    def write(line: str) -> None:
        nonlocal lines
        lines += 1
        if lines <= _KEPT_LINES:
            logger.warning("%s: %s", safe_line(title), safe_line(line[:_LONGEST_LINE]))
        elif lines == _KEPT_LINES + 1:
            logger.warning("%s: more is not logged", safe_line(title))

    return write

"""``catena doctor reset``: a terminal that a killed program left behind."""

from __future__ import annotations

import os
import subprocess

from catena.errors import CommandRefused, ExitStatus

_SEQUENCES = (
    # Off the alternate screen, and longer key codes: kitty keeps those of each screen apart.
    "\x1b[<u\x1b[?1049l\x1b[<u\x1b[>4;0m",
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l",  # mouse reports
    "\x1b[?1004l",  # focus reports
    "\x1b[?2004l\x1b[?5522l",  # bracketed paste, and pastes by types
    "\x1b[?2026l",  # synchronized output
    "\x1b[?2048l",  # resize reports
    "\x1b[?1l\x1b>",  # cursor keys and keypad as usual
    "\x1b[?7h",  # wrap at the right edge
    "\x1b[r",  # scroll the whole screen
    "\x1b(B\x0f",  # ASCII, not line drawing
    "\x1b[0m\x1b]104\x07\x1b]110\x07\x1b]111\x07",  # colours
    "\x1b[0 q\x1b[?12l\x1b[?25h",  # the cursor's shape, and the cursor
)


def reset_terminal() -> int:
    """Reset this process's terminal to its usual modes. Raises CommandRefused if there is none."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise CommandRefused("no terminal to reset") from error
    try:
        # The line discipline first: in raw mode, line ends do not return to the first column.
        subprocess.run(["stty", "sane"], stdin=terminal, check=False)
        os.write(terminal, "".join(_SEQUENCES).encode("ascii") + b"\r\x1b[J")  # and erase below
    except FileNotFoundError as error:
        raise CommandRefused("cannot reset the terminal: `stty` is not installed") from error
    finally:
        os.close(terminal)
    return ExitStatus.ANSWERED

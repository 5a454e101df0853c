"""``catena doctor --reset``: a terminal that a killed program left behind, made usable again."""

from __future__ import annotations

import os
import subprocess

from catena.exit_status import ExitStatus, Refused

_SEQUENCES = (
    "\x1b[?1049l",  # off the alternate screen
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l",  # mouse reports
    "\x1b[?1004l",  # focus reports
    "\x1b[?2004l",  # bracketed paste
    "\x1b[?2026l",  # synchronized output
    "\x1b[?2048l",  # resize reports
    "\x1b[<u\x1b[>4;0m",  # kitty's and xterm's longer key codes
    "\x1b[?1l\x1b>",  # cursor keys and keypad as usual
    "\x1b[?7h",  # wrap at the right edge
    "\x1b[r",  # scroll the whole screen
    "\x1b(B\x0f",  # ASCII, not line drawing
    "\x1b[0m\x1b]104\x07\x1b]110\x07\x1b]111\x07",  # colours
    "\x1b[0 q\x1b[?12l\x1b[?25h",  # the cursor's shape, and the cursor
)


def reset_terminal() -> int:
    """Restore the terminal that this process runs in. Raises Refused where there is none."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise Refused("there is no terminal here to restore") from error
    try:
        # First the line discipline: a raw terminal would show the sequences' line ends as stairs.
        subprocess.run(["stty", "sane"], stdin=terminal, check=False)
        os.write(terminal, "".join(_SEQUENCES).encode("ascii") + b"\r")
    except FileNotFoundError as error:
        raise Refused("`stty` is not installed, and the terminal cannot be restored without it") from error
    finally:
        os.close(terminal)
    return ExitStatus.ANSWERED

"""Linear mode with a clock that stands still, so that what it says is the same on every machine.

    python linear_client.py LEVEL [SPEED]

It works in the current directory, with the rehearsal agent. With SPEED its clock goes so many times as fast as others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from catena.linear.start import run_linear
from catena.settings.agents import find_agent
from catena.settings.linear import LinearSetting
from catena.settings.settings import Start, load_settings


def main(arguments: Sequence[str]) -> int:
    level, speed = (*arguments, "0")[:2]
    settings = load_settings()
    start = Start(str(Path.cwd()), agent=find_agent("rehearsal", settings), settings=settings)
    return run_linear(start, LinearSetting(level), clock=lambda: time.monotonic() * int(speed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Linear mode with a clock that stands still, so that what it says is the same on every machine.

    python linear_client.py LEVEL

It works in the current directory, with the rehearsal agent.
"""

from __future__ import annotations

import sys
from pathlib import Path

from catena.linear.start import run_linear
from catena.settings.agents import find_agent
from catena.settings.linear import LinearSetting
from catena.settings.settings import Start, load_settings


def main(level: str) -> int:
    settings = load_settings()
    start = Start(str(Path.cwd()), agent=find_agent("rehearsal", settings), settings=settings)
    return run_linear(start, LinearSetting(level), clock=lambda: 0.0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""What linear mode says to the lines of a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.clients.command_line import Catena

CLIENT = Path(__file__).with_name("linear_client.py")


def told(catena: Catena, *lines: str, level: str = "normal", **environment: str) -> bytes:
    """All that a client says, whose clock stands still, with the rehearsal agent; it ended well."""
    finished = subprocess.run(
        [sys.executable, CLIENT, level],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        cwd=catena.project,
        env=catena.environment | {"TZ": "UTC", "XDG_STATE_HOME": str(catena.home / "state")} | environment,
        timeout=150,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return finished.stdout


def lines_told(catena: Catena, *lines: str, level: str = "normal", **environment: str) -> list[str]:
    """The same, as lines."""
    return told(catena, *lines, level=level, **environment).decode().replace("\a", "").splitlines()

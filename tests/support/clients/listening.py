"""What linear mode says to the lines of a file."""

from __future__ import annotations

from pathlib import Path

from support.clients.command_line import Catena
from support.clients.forked import run_forked

CLIENT = Path(__file__).with_name("linear_client.py")


def told(catena: Catena, *lines: str, level: str = "normal", **environment: str) -> bytes:
    """All that a client says, whose clock stands still, with the rehearsal agent; it ended well."""
    status, out, err = run_forked(
        [level],
        catena.project,
        catena.environment | {"TZ": "UTC", "XDG_STATE_HOME": str(catena.home / "state")} | environment,
        "".join(f"{line}\n" for line in lines).encode(),
        program="support.clients.linear_client",
    )
    assert status == 0, err.decode()
    return out


def lines_told(catena: Catena, *lines: str, level: str = "normal", **environment: str) -> list[str]:
    """The same, as lines."""
    return told(catena, *lines, level=level, **environment).decode().replace("\a", "").splitlines()

"""A finding of `catena doctor`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One subject in words, and as values; ``ok`` is False for what keeps Catena from working."""

    about: str
    text: str
    ok: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)


def first_line_of(argv: Sequence[str]) -> str | None:
    """The first line that a quick program prints; None if it is missing, fails or prints nothing."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if lines and not done.returncode else None

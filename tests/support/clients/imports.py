"""What a command imports."""

from __future__ import annotations

import subprocess
import sys

from support.clients.command_line import Catena

FORBIDDEN = {"textual", "rich", "acp", "pydantic", "pydantic_core", "markdown_it"}


def imported(catena: Catena, *arguments: str) -> set[str]:
    """The top-level names that a command imported."""
    return {module.partition(".")[0] for module in imported_modules(catena, *arguments)}


def imported_modules(catena: Catena, *arguments: str) -> set[str]:
    """The modules that a command imported, as the interpreter tells them."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "catena", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=catena.project,
        env=catena.environment,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}

"""``catena`` alone, or with a directory: the screen, or linear mode."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from catena.app.startup import DEMO_VARIABLE, read_start, show_screen
from catena.errors import CommandRefused
from catena.settings.linear import linear_setting


def open_client(
    directory: str | None = None,
    *,
    agent: str | None = None,
    agent_command: str | None = None,
    go_on: bool = False,
    resume: str | None = None,
    add_dirs: Sequence[str] = (),
    linear: str | None = None,
    demo: bool = False,
) -> int:
    """Run the client until exit; an empty ``resume`` lets the person choose. Returns the exit status.

    ``linear`` is the value of the flag, None without it; ``demo`` is demo mode, which is of the screen. Raises
    CommandRefused, InvalidSettings.
    """
    demo = demo or os.environ.get(DEMO_VARIABLE, "") not in ("", "0")
    if demo and (go_on or resume):
        raise CommandRefused("demo mode has conversations of its own: Ctrl+O opens them")
    start = read_start(
        directory, agent=agent, agent_command=agent_command, go_on=go_on, resume=resume, add_dirs=add_dirs
    )
    level = linear_setting(
        linear,
        os.environ,
        start.settings.linear,
        reads_terminal=sys.stdin.isatty(),
        writes_terminal=sys.stdout.isatty(),
    )
    if level is None or (demo and linear is None):
        return show_screen(start, demo=demo)
    if demo:
        raise CommandRefused("--demo and --linear cannot be combined")
    from catena.linear.start import run_linear

    return run_linear(start, level, flag=f"--linear={linear} " if linear else "")

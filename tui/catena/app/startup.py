"""Start of the screen from the command line, with few imports before the first frame."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from catena.errors import CommandRefused
from catena.settings.settings import Start, load_settings
from catena.workspace.directories import existing_directory

_FRAMES_A_SECOND = "144"  # at most; a key during a stream waits for up to two frames
DEMO_VARIABLE = "CATENA_DEMO"  # of the environment: any text but "0" is demo mode


def show_screen(start: Start, *, demo: bool = False) -> int:
    """Run the screen until exit; ``demo`` is demo mode. Returns the exit status.

    Raises CommandRefused if there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):  # closed, they are the null device by now
        raise CommandRefused(
            'the screen needs a terminal; use `catena run "PROMPT"` instead, or `catena --linear`'
        )
    if demo:
        start = _of_demo(start)
    gc.disable()  # until all is imported (`app._import_parts`): what is imported stays
    os.environ.setdefault("TEXTUAL_FPS", _FRAMES_A_SECOND)  # read when Textual is imported
    from catena.app.app import run

    return run(start, demo=demo)


def _of_demo(start: Start) -> Start:
    """The start with what is noted of the directory in demo mode."""
    from catena.films.demo import FOLDER
    from catena.settings.start_notes import StartNotes
    from catena_store.database.location import data_directory

    note = StartNotes(data_directory() / FOLDER).of(start.directory)
    return replace(start, note=note)


def import_asyncio() -> None:
    """Import asyncio as where Python was built without TLS, which nobody here speaks.

    OpenSSL would be 4 MiB of our memory and part of the wait for the first frame. Whoever imports ``ssl`` later
    gets it, but no connection of asyncio can use it.
    """
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # how Python notes that there is no such module
    try:
        importlib.import_module("asyncio")
    finally:
        del sys.modules["ssl"]


def read_start(
    directory: str | None,
    *,
    agent: str | None,
    agent_command: str | None,
    go_on: bool,
    resume: str | None,
    add_dirs: Sequence[str],
) -> Start:
    """What to open first, from the arguments of the command line. Raises CommandRefused, InvalidSettings."""
    import_asyncio()
    settings = load_settings()
    where = existing_directory(directory)
    further = tuple(existing_directory(named) for named in add_dirs)
    spec = None
    if agent is not None or agent_command is not None:
        from catena.settings.agents import requested_agent

        spec = requested_agent(agent, agent_command, settings)
    conversation_id = None
    if go_on or resume:
        from catena.workspace.lookup import conversation_id_of

        conversation_id = conversation_id_of(directory=where, named=resume)
    from catena.settings.start_notes import StartNotes
    from catena_store.database.location import data_directory

    return Start(
        where,
        agent=spec,
        conversation_id=conversation_id,
        picker=resume == "",
        further_directories=further,
        settings=settings,
        note=StartNotes(data_directory()).of(where),
    )

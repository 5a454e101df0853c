"""The command line: what was asked for, and the one place where an error becomes a line and an exit status.

``catena`` alone opens the screen, and does next to nothing before that. Everything else is imported where it is needed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from catena.errors import ExitStatus


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out what the command line says; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _make_streams_usable()
    try:
        if not arguments:
            from catena.app.startup import open_screen

            return open_screen()
        from catena.cli.arguments import carry_out

        status = carry_out(arguments)
        print(end="", flush=True)
        return status
    except BrokenPipeError:
        # The reader has what it wanted. What is still buffered must not be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.ANSWERED
    except KeyboardInterrupt:
        return ExitStatus.STOPPED
    except Exception as error:  # noqa: BLE001 - the edge: nobody is shown a traceback
        from catena.errors import explain

        text, status = explain(error)
        print(f"catena: {text}", file=sys.stderr)
        return status


def _make_streams_usable() -> None:
    """A stream that is closed swallows what is written; one that cannot show a character shows another instead."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - open as long as we run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

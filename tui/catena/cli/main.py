"""Entry point of the command line, and the one place where an error becomes a line and an exit status.

``catena`` alone opens the screen at once; modules of other commands are imported only if needed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from catena.errors import ExitStatus


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    try:
        if not arguments:
            from catena.app.startup import open_screen

            return open_screen()
        from catena.cli.arguments import run_command

        status = run_command(arguments)
        print(end="", flush=True)
        return status
    except BrokenPipeError:
        # The reader has closed the pipe; buffered output must not be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.ANSWERED
    except KeyboardInterrupt:
        return ExitStatus.STOPPED
    except Exception as error:  # noqa: BLE001 - the edge: a person is never shown a traceback
        from catena.errors import explain

        text, status = explain(error)
        print(f"catena: {text}", file=sys.stderr)
        return status


def _prepare_streams() -> None:
    """Replace closed streams by the null device, and characters outside of a stream's encoding by `?`."""
    for name, mode in (
        ("stdin", "r"),
        ("stdout", "w"),
        ("stderr", "w"),
    ):  # in this order, each gets its number
        stream = getattr(sys, name)
        if stream is None:
            null = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - open until exit
            setattr(sys, name, null)
            setattr(sys, f"__{name}__", null)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

"""The command line as a process, and the one place where an error becomes a line and an exit status.

``catena`` alone opens the screen at once; modules of other commands are imported only if needed.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Sequence
from typing import Final, TypeGuard

from catena.app.dataclass_methods import without_compiler
from catena.errors import ExitStatus

_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    without_compiler()
    try:
        if not arguments:
            from catena.cli.start import open_client

            status = open_client()
        else:
            from catena.cli.arguments import run_command

            status = run_command(arguments)
        return _flushed(status)
    except BrokenPipeError:  # the reader has closed the pipe
        _discard_output()
        return ExitStatus.ANSWERED
    except Exception as error:  # noqa: BLE001 - the edge: a person is never shown a traceback
        if _terminal_is_gone(error):
            _discard_output()
            return ExitStatus.HUNG_UP
        if _disk_is_full(error):
            _discard_output()
            print(f"catena: the output cannot be written: {error.strerror}", file=sys.stderr)
            return ExitStatus.FAILED
        from catena.errors import explain

        text, status = explain(error)
        print(f"catena: {text}", file=sys.stderr)
        return status


def _flushed(status: int) -> int:
    """The status, once all output is written; a terminal that is gone changes nothing about it."""
    try:
        print(end="", flush=True)
    except OSError as error:
        if not _terminal_is_gone(error):
            raise
        _discard_output()
    return status


def _terminal_is_gone(error: Exception) -> bool:
    """True for what a write to a terminal ends with that was closed, or whose connection was lost."""
    if not isinstance(error, OSError) or error.errno != errno.EIO:
        return False
    try:  # a terminal that is gone is still a device, and no terminal
        return stat.S_ISCHR(os.fstat(sys.stdout.fileno()).st_mode) and not sys.stdout.isatty()
    except (OSError, ValueError):
        return True


def _disk_is_full(error: Exception) -> TypeGuard[OSError]:
    """True for what a write to standard output ends with where a disk takes no more; a file of ours has a name."""
    return isinstance(error, OSError) and error.errno in _FULL and error.filename is None


def _discard_output() -> None:
    """Send buffered output nowhere: Python would try to write it at exit, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepare_streams() -> None:
    """Replace closed streams by the null device, and characters outside of a stream's encoding by `?`."""
    # In this order, each gets its number.
    for name, mode in (
        ("stdin", "r"),
        ("stdout", "w"),
        ("stderr", "w"),
    ):
        stream = getattr(sys, name)
        if stream is None:
            null = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - open until exit
            setattr(sys, name, null)
            setattr(sys, f"__{name}__", null)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

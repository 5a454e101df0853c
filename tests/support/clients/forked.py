"""`catena` forked from a process that has imported it: a whole run but for the imports, which most of its time goes to.

What runs is a process like any other, with a session, a directory, an environment and standard streams of its own. Only
what Python does at its start has been done before.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TextIO

_SECONDS = 150
_IMPORTED = {
    "commands": (
        "catena.cli.command_line",
        "catena.cli.run.run",
        "catena.cli.conversations.list",
        "catena.cli.conversations.show",
    ),
    "linear": (
        "support.clients.linear_client",
        "catena.linear.client",
        "catena.linear.context",
        "catena.linear.input",
        "catena.app.services",
        "catena.app.suspension",
        "catena.log",
    ),
    "screen": ("catena.cli.command_line", "catena.cli.start"),
}


class Forked:
    """A run of ``catena`` that was forked: its process id, and its exit status, negative for a signal."""

    def __init__(self, pid: int, told: TextIO) -> None:
        self.pid = pid
        self._told = told

    def wait(self) -> int:
        """Wait for its end; returns the exit status. To be asked once."""
        with self._told:
            return int(self._told.readline())


def is_forkable(environment: Iterable[str]) -> bool:
    """True if no variable of these is one that Python or Textual reads when it starts."""
    return not any(name.startswith(("LANG", "LC_", "PYTHON", "TEXTUAL")) for name in environment)


def run_forked(
    arguments: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    stdin: bytes,
    *,
    program: str = "catena.cli.main",
) -> tuple[int, bytes, bytes]:
    """Run it to its end: the exit status, negative for a signal, and what it wrote to both outputs.

    ``program``: the module whose ``main`` is run, the command line or ``support.clients.linear_client``.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = [each.fileno() for each in (given, out, err)]
        imported = "commands" if program == "catena.cli.main" else "linear"
        forked = _fork(imported, program, arguments, directory, environment, streams, _SECONDS)
        try:
            status = forked.wait()
        except BaseException:
            os.killpg(forked.pid, signal.SIGKILL)
            raise
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


def fork_on_terminal(
    terminal: int, arguments: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Forked:
    """Start the screen with a terminal as its controlling one."""
    return _fork("screen", "catena.cli.main", arguments, directory, environment, [terminal] * 3, None)


def _fork(
    imported: str,
    program: str,
    arguments: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    streams: Sequence[int],
    seconds: float | None,
) -> Forked:
    """Fork it from the process that has imported what it needs; ``seconds`` is how long its status is waited for."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(_origin(os.geteuid(), imported), [b"."], [theirs.fileno(), *streams])
        theirs.close()
        ours.settimeout(seconds)
        line = ours.makefile("rw")
        print(json.dumps([program, arguments, str(directory), dict(environment)]), file=line, flush=True)
        return Forked(int(line.readline()), line)


@functools.cache
def _origin(_user: int, imported: str) -> socket.socket:
    """The way to the process that all of a user are forked from, which ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        origin = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno()), imported],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        origin.wait()

    atexit.register(end)
    return ours


def _serve(asked: socket.socket, imported: str) -> None:
    """Fork for every request, until nobody is there any more."""
    from catena.app.dataclass_methods import without_compiler

    without_compiler()
    sys.path.append(str(Path(__file__).resolve().parents[2]))  # of `support`
    if imported == "screen":
        _import_screen()
    for module in _IMPORTED[imported]:
        importlib.import_module(module)
    from catena_acp.protocol.sdk_import import import_sdk

    import_sdk()
    gc.collect()
    gc.freeze()
    started = 0
    while True:
        byte, descriptors, _, _ = socket.recv_fds(asked, 1, 4)
        if not byte:
            break
        while started and os.waitpid(-1, os.WNOHANG)[0]:
            started -= 1
        if os.fork() == 0:
            asked.close()
            _run(*descriptors)
        started += 1
        for descriptor in descriptors:
            os.close(descriptor)


def _import_screen() -> None:
    """Import as its start does, and then what it imports after the first frame."""
    from catena.app import startup

    os.environ["TEXTUAL_FPS"] = startup._FRAMES_A_SECOND
    startup.import_asyncio()
    from catena.app import app

    for module in app._PARTS:
        importlib.import_module(module)


def _run(line: int, *streams: int) -> NoReturn:
    """Be the process that waits for it and tells how it ended; and, forked from that, be `catena`."""
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)  # a terminal is closed when the last one that holds it has ended
        os.write(line, f"{pid}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # nobody asks any more
            os.write(line, f"{status}\n".encode())
        os._exit(0)
    os.setsid()
    with socket.socket(fileno=line).makefile() as request:
        program, arguments, directory, environment = json.loads(request.readline())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _open_streams()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv[:] = ["catena", *arguments]

    sys.exit(importlib.import_module(program).main(arguments))


def _open_streams() -> None:
    """Open Python's streams again, which buffer otherwise if they are on a terminal."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
        for each in (name, f"__{name}__"):
            setattr(sys, each, stream)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])

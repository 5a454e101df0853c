"""`catena` forked from a process that has imported it: a whole run but for the imports, which most of its time goes to.

What runs is a process like any other, with a session, a directory, an environment and standard streams of its own. Only
what Python does at its start has been done before.
"""

from __future__ import annotations

import atexit
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
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

_SECONDS = 60
_IMPORTED = (
    "catena.cli.run.run",
    "catena.cli.conversations.list",
    "catena.cli.conversations.show",
)


def run_forked(
    arguments: Sequence[str], directory: Path, environment: Mapping[str, str], stdin: str
) -> tuple[int, str, str]:
    """Run it to its end: the exit status, negative for a signal, and what it wrote to both outputs."""
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(stdin)
        given.seek(0)
        socket.send_fds(_origin(os.geteuid()), [b"."], [each.fileno() for each in (theirs, given, out, err)])
        theirs.close()
        ours.settimeout(_SECONDS)
        with ours.makefile("rw") as line:
            print(json.dumps([arguments, str(directory), dict(environment)]), file=line, flush=True)
            pid = int(line.readline())
            try:
                status = int(line.readline())
            except BaseException:
                os.killpg(pid, signal.SIGKILL)
                raise
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


@functools.cache
def _origin(_user: int) -> socket.socket:
    """The way to the process that all of a user are forked from, which ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        origin = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
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


def _serve(asked: socket.socket) -> None:
    """Fork for every request, until nobody is there any more."""
    from catena.app.dataclass_methods import without_compiler
    from catena_acp.protocol.sdk_import import import_sdk

    without_compiler()
    for module in _IMPORTED:
        importlib.import_module(module)
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


def _run(line: int, *streams: int) -> NoReturn:
    """Be the process that waits for it and tells how it ended; and, forked from that, be `catena`."""
    pid = os.fork()
    if pid:
        os.write(line, f"{pid}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(line, f"{status}\n".encode())
        os._exit(0)
    os.setsid()
    with socket.socket(fileno=line).makefile() as request:
        arguments, directory, environment = json.loads(request.readline())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()

    from catena.cli.main import main

    sys.exit(main(arguments))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

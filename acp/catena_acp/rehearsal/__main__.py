"""Entry point of ``python -m catena_acp.rehearsal``."""

from __future__ import annotations

import os
import signal
import sys

from catena_acp.rehearsal.agent import serve
from catena_acp.rehearsal.rpc import MessageLog
from catena_acp.rehearsal.scenes.failures import start_child
from catena_acp.rehearsal.settings import Login, Options, read_options


def main() -> None:
    """Serve the agent, or with ``--login`` run its terminal login."""
    options = read_options(sys.argv[1:], os.environ)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if options.login:
        _log_in(options)
        return
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if options.child:
        start_child(600)
    log = MessageLog(options.log)
    log.started(sys.argv[1:])
    serve(options, log, _new_id)


def _new_id() -> str:
    """A random UUID; the standard library's module for them is slow to import."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _log_in(options: Options) -> None:
    print("This is the rehearsal agent: no account, no model. This login is only pretended.")
    if sys.stdin.isatty():
        input("Press Enter to log in. ")
    Login(options).complete()
    print("You are logged in.")


if __name__ == "__main__":
    main()

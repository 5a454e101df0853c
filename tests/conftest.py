"""What the tests start heeds Ctrl+C and hangups, however the tests were started themselves."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A script that works in the background ignores Ctrl+C, `nohup` hangups; what they start inherits that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

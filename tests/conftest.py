"""What the tests start heeds Ctrl+C and hangups, and has the time of one zone, wherever the tests are started."""

from __future__ import annotations

import os
import signal
import time

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("support")


# What stands in the way of nobody's change is found where walks are long, and elsewhere each run is as the one before.
settings.register_profile("catena", deadline=None, derandomize="CATENA_WALKS" not in os.environ)
settings.load_profile("catena")


def pytest_configure() -> None:
    """A script that works in the background ignores Ctrl+C, `nohup` hangups; what they start inherits that."""
    os.environ["TZ"] = "UTC"  # prompts show the time of day
    time.tzset()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

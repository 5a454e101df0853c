"""What the tests start heeds Ctrl+C and hangups, has the time of one zone and all colours, and leaves the person's own
data alone, wherever the tests are started.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import settings

from catena.history import entries, other_tools, preview
from catena.settings import agent_choices
from catena_acp.continuity.sessions import environment

pytest.register_assert_rewrite("support")


# What stands in the way of nobody's change is found where walks are long, and elsewhere each run is as the one before.
settings.register_profile("catena", deadline=None, derandomize="CATENA_WALKS" not in os.environ)
settings.load_profile("catena")

_LIMITS = (
    (other_tools, "_AGENTS_SECONDS"),
    (preview, "_LOOK_SECONDS"),
    (entries, "_SECONDS"),
    (agent_choices, "_VERSION_SECONDS"),
    (environment, "_READING_SECONDS"),
)

# Where Catena keeps its data and its settings, and the rehearsal agent its sessions.
_PLACES = {"CATENA_DATA_DIR": "data", "CATENA_CONFIG_DIR": "config", "XDG_STATE_HOME": "state"}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is a directory on a network, or an agent, that hangs: never a machine that does other things."""
    for module, limit in _LIMITS:
        monkeypatch.setattr(module, limit, 60.0)


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in them, and they are not there before something is written."""
    for variable, name in _PLACES.items():
        monkeypatch.setenv(variable, str(tmp_path / name))


def pytest_configure() -> None:
    """A script that works in the background ignores Ctrl+C, `nohup` hangups; what they start inherits that.

    What is not in a test, as a fixture that several share, has no places at all.
    """
    for variable, name in _PLACES.items():
        os.environ[variable] = f"{os.devnull}/{name}"
    os.environ["TZ"] = "UTC"  # prompts show the time of day
    time.tzset()
    # A style keeps the sequence that it was first drawn with, so all that one process draws needs the same colours.
    os.environ["COLORTERM"] = "truecolor"
    # Little of what tests make is garbage in circles; to look for it as often as by default takes 3 % of their time.
    gc.set_threshold(7_000)
    # As CI does: without bytecode each run rewrites all modules of tests anew, and that in each worker.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

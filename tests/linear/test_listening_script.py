"""The whole story of a client in linear mode, line by line, as it would be read aloud.

`listening_script.txt` is what it says to the lines of `story.txt`. To change it, let the test write it, and read all of
it: CATENA_LISTENING_SCRIPT=write pytest tests/linear/test_listening_script.py -n 0
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from catena import __version__
from support.clients.command_line import Catena

HERE = Path(__file__).parent
CLIENT = HERE.parent / "support/clients/linear_client.py"
# What another run, machine or directory has otherwise: times, ids, the sizes of texts that have paths in them.
MASKS = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "2026-11-24 14:09 UTC"),
    (r"\b\d\d:\d\d\b|\byesterday\b", "14:09"),
    (r"\b\d+ (?:min|h)\b(?=\n)", "now"),
    (r"about [\d,]+ tokens", "about 200 tokens"),
    (r"--resume \w{16}", "--resume ID"),
    (re.escape(__version__), "VERSION"),
)


def masked(text: str, home: Path) -> str:
    text = text.replace(str(home), "~")
    for pattern, shown in MASKS:
        text = re.sub(pattern, shown, text)
    return text


def told(tmp_path: Path, story: str, level: str = "normal", *flags: str) -> str:
    """What a client says to the lines of a story; its clock stands still."""
    catena = Catena(tmp_path)
    catena.settings('park = "off"\n')  # whether a fork is parked depends on how long that takes
    project = catena.home / "project"
    project.mkdir()
    finished = subprocess.run(
        [sys.executable, CLIENT, level, *flags],
        input=story.encode(),
        capture_output=True,
        cwd=project,
        env=catena.environment | {"TZ": "UTC", "XDG_STATE_HOME": str(tmp_path / "state")},
        timeout=150,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return masked(finished.stdout.decode(), catena.home)


def test_s04_the_whole_story_can_be_listened_to(tmp_path: Path) -> None:
    said = told(tmp_path, (HERE / "story.txt").read_text())
    script = HERE / "listening_script.txt"
    if os.environ.get("CATENA_LISTENING_SCRIPT") == "write":
        script.write_text(said)
    assert said == script.read_text()

"""The whole story of a client in linear mode, line by line, as it is read aloud.

`listening_script.txt` is what it says to the lines of `story.txt`. To change it, let the test write it, and read all of
it: CATENA_LISTENING_SCRIPT=write pytest tests/linear/test_listening_script.py -n 0
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from catena import __version__
from support.clients.command_line import Catena
from support.clients.listening import told

HERE = Path(__file__).parent
# What another run, machine or directory has otherwise: times, ids, the sizes of texts that have paths in them.
MASKS = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "2026-11-24 14:09 UTC"),
    (r"(?:\b\d{4}-\d\d-\d\d )?\b\d\d:\d\d\b(?! UTC)|\byesterday\b", "14:09"),
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


def test_s04_the_whole_story_can_be_listened_to(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('park = "off"\n')  # whether a fork is parked depends on how long that takes
    catena.project = catena.home / "project"
    catena.project.mkdir()
    said = masked(told(catena, *(HERE / "story.txt").read_text().splitlines()).decode(), catena.home)
    script = HERE / "listening_script.txt"
    if os.environ.get("CATENA_LISTENING_SCRIPT") == "write":
        script.write_text(said)
    assert said == script.read_text()

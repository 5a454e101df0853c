"""The whole story of a client in linear mode, line by line, as it is read aloud.

`listening_script.txt` is what it says to the lines of `story.txt`. To change it, let the test write it, and read all of
it: CATENA_GOLDENS=write pytest tests/linear/test_listening_script.py -n 0
"""

from __future__ import annotations

from pathlib import Path

from support.clients.command_line import Catena
from support.clients.listening import told
from support.goldens import is_golden, masked

HERE = Path(__file__).parent


def test_s04_the_whole_story_can_be_listened_to(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('park = "off"\n')  # whether a fork is parked depends on how long that takes
    catena.project = catena.home / "project"
    catena.project.mkdir()
    said = masked(told(catena, *(HERE / "story.txt").read_text().splitlines()).decode(), catena.home)
    assert is_golden(said, HERE / "listening_script.txt")

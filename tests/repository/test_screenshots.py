"""The pictures in the documents show what the application looks like now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.places import ROOT

PICTURES = ROOT / "screenshots"
NAMES = sorted(picture.stem for picture in PICTURES.glob("*.svg"))


@pytest.mark.parametrize("name", NAMES)
def test_d01_a_picture_is_drawn_again_byte_for_byte(name: str, tmp_path: Path) -> None:
    _make(name, "--into", str(tmp_path))

    drawn = (tmp_path / f"{name}.svg").read_text()
    kept = (PICTURES / f"{name}.svg").read_text()
    assert drawn == kept, "stale: run `make screenshots` and look at the difference"


def test_d01_every_scene_has_its_picture() -> None:
    assert sorted(_make("--list").split()) == NAMES
    assert NAMES


def _make(*arguments: str) -> str:
    command = [sys.executable, "-m", "screenshots", *arguments]
    return subprocess.run(
        command, cwd=PICTURES.parent, capture_output=True, text=True, check=True, timeout=50
    ).stdout

"""The pictures in the documents show what the application looks like now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from screenshots.scenes import SCENES

from support.places import ROOT

PICTURES = ROOT / "screenshots"


@pytest.mark.parametrize("scene", SCENES)
def test_d01_a_picture_is_drawn_again_byte_for_byte(scene: str, tmp_path: Path) -> None:
    _make(scene, "--into", str(tmp_path))

    for drawn in sorted(tmp_path.glob("*.svg")):
        kept = (PICTURES / drawn.name).read_text()
        assert drawn.read_text() == kept, (
            f"{drawn.name} is stale: run `make screenshots` and look at the difference"
        )


def test_d01_every_scene_has_its_pictures() -> None:
    assert sorted(_make("--list").split()) == sorted(picture.stem for picture in PICTURES.glob("*.svg"))


def _make(*arguments: str) -> str:
    command = [sys.executable, "-m", "screenshots", *arguments]
    return subprocess.run(
        command, cwd=PICTURES.parent, capture_output=True, text=True, check=True, timeout=170
    ).stdout

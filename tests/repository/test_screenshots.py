"""The pictures in the documents show what the application looks like now."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from screenshots.scenes import SCENES

from support.places import ROOT

PICTURES = ROOT / "screenshots"
_SCENES = tuple(SCENES)
_CLASS = re.compile(r"\.(c\d+)\{([^}]*)\}\n?")
_COLOUR = re.compile("#[0-9a-fA-F]{6}")


# To start is as dear as to draw a scene, so that one process draws eight.
@pytest.mark.timeout(540)
@pytest.mark.parametrize("scenes", [_SCENES[at : at + 8] for at in range(0, len(_SCENES), 8)], ids="-".join)
def test_d01_a_picture_is_drawn_again_byte_for_byte(scenes: tuple[str, ...], tmp_path: Path) -> None:
    _make(*scenes, "--into", str(tmp_path), patience=510)

    for drawn in sorted(tmp_path.glob("*.svg")):
        kept = (PICTURES / drawn.name).read_text()
        assert drawn.read_text() == kept, (
            f"{drawn.name} is stale: run `make screenshots` and look at the difference"
        )


@pytest.mark.timeout(900)
def test_d02_the_film_is_recorded_again_byte_for_byte(tmp_path: Path) -> None:
    _make("demo-dark", "--into", str(tmp_path), patience=870)

    for made in ("demo.cast", "demo-dark.svg"):
        assert (tmp_path / made).read_text() == (PICTURES / made).read_text(), (
            f"{made} is stale: run `make screenshots` and look at the film"
        )


def test_d02_the_light_film_differs_from_the_dark_one_in_nothing_but_colours() -> None:
    dark, light = ((PICTURES / f"demo-{theme}.svg").read_text() for theme in ("dark", "light"))

    assert dark != light
    assert _without_colours(dark) == _without_colours(light)


def _without_colours(film: str) -> str:
    """A film whose classes are what they say besides colours: two that are one in the dark may differ in the light."""
    film = _COLOUR.sub("#", film)
    said = dict(_CLASS.findall(film))
    return re.sub(r'class="(c\d+)"', lambda found: f'class="{said[found[1]]}"', _CLASS.sub("", film))


def test_d02_the_film_is_small_and_short_and_its_text_is_text_that_can_stand_still() -> None:
    text = (PICTURES / "demo-dark.svg").read_text()
    header, *events = map(json.loads, (PICTURES / "demo.cast").read_text().splitlines())

    assert len(text) < 500_000
    assert sum(interval for interval, _, _ in events) <= 45
    assert (header["version"], header["term"]["cols"]) == (3, 100)
    assert next(named for _, code, named in events if code == "m") == "Ask"
    assert "prefers-reduced-motion" in text
    assert "same context, nothing replayed" in text and "replayed that it may have lost" in text


def test_d01_every_scene_has_its_pictures() -> None:
    assert sorted(_make("--list").split()) == sorted(picture.stem for picture in PICTURES.glob("*.svg"))


def _make(*arguments: str, patience: float = 170) -> str:
    command = [sys.executable, "-m", "screenshots", *arguments]
    made = subprocess.run(command, cwd=PICTURES.parent, capture_output=True, text=True, timeout=patience)
    assert made.returncode == 0, made.stderr
    return made.stdout

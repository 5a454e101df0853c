"""Draw the pictures and the film: ``python -m screenshots [SCENE ...] [--into FOLDER]``; all, in place, by default."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from screenshots import film
from screenshots.scenes import SCENES
from screenshots.stage import THEMES, pictures

HERE = Path(__file__).resolve().parent
FILMS = {f"{film.NAME}-{theme}": theme for theme in THEMES}  # each is a play of its own


def main() -> None:
    """Play each scene in a folder that is thrown away, and write its pictures."""
    parser = argparse.ArgumentParser(
        prog="python -m screenshots", description="Draw the pictures of the documents."
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join([*SCENES, *FILMS]))
    parser.add_argument("--into", type=Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--list", action="store_true", help="only name the pictures")
    options = parser.parse_args()
    if options.list:
        print(*(name for scene in SCENES for name in names(scene)), *FILMS, sep="\n")
        return
    for scene in options.scenes or [*SCENES, *FILMS]:
        if scene in FILMS:
            film.make_film(FILMS[scene], options.into)
            continue
        with tempfile.TemporaryDirectory() as folder:
            drawn = asyncio.run(pictures(SCENES[scene], Path(folder)))
        for name, picture in zip(names(scene), drawn, strict=True):
            (options.into / f"{name}.svg").write_text(picture)


def names(scene: str) -> list[str]:
    """The names of a scene's pictures, by size and theme."""
    return [f"{scene}-{columns}x{rows}-{theme}" for columns, rows in SCENES[scene].sizes for theme in THEMES]


if __name__ == "__main__":
    main()

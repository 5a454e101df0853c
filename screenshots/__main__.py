"""Draw the pictures: ``python -m screenshots [SCENE ...] [--into FOLDER]``; all of them, in place, by default."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from screenshots.scenes import SCENES

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Play each scene in a folder that is thrown away, and write its picture."""
    parser = argparse.ArgumentParser(
        prog="python -m screenshots", description="Draw the pictures of the documents."
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join(SCENES))
    parser.add_argument("--into", type=Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--list", action="store_true", help="only name the scenes")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SCENES))
        return
    for name in options.scenes or SCENES:
        with tempfile.TemporaryDirectory() as folder:
            picture = asyncio.run(SCENES[name](Path(folder)))
        (options.into / f"{name}.svg").write_text(picture)


if __name__ == "__main__":
    main()

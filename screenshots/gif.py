"""A GIF of the film, for places that show no SVG: ``python -m screenshots.gif [FILE]``.

Another program, agg, draws it, and its bytes depend on that and on the fonts of the machine. So it carries the hash of
the cast that it was made from, as a comment: a GIF of an older film is found by it (``--check``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
CAST: Final = HERE / "demo.cast"
GIF: Final = HERE / "demo.gif"
_LABEL: Final = b"catena: sha256 of the cast "
_COMMENT: Final = b"!\xfe"  # begins a comment in a GIF
_END: Final = b";"  # of a GIF


def main() -> int:
    """Make the GIF, or check one; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m screenshots.gif", description="Make a GIF of the film by agg, or check one."
    )
    parser.add_argument("file", nargs="?", type=Path, default=GIF, metavar="FILE")
    parser.add_argument(
        "--check", action="store_true", help="only say whether it is of the film as it is now"
    )
    options = parser.parse_args()
    cast = CAST.read_text()
    if options.check:
        if not options.file.exists():
            print(f"{options.file} does not exist: `make gif` makes it", file=sys.stderr)
            return 1
        current = made_from(options.file.read_bytes()) == hash_of(cast)
        print(f"{options.file.name} is {'' if current else 'not '}made from {CAST.name} as it is now")
        return 0 if current else 1
    agg = shutil.which("agg")
    if agg is None:
        print("agg is not installed: see https://docs.asciinema.org/manual/agg/", file=sys.stderr)
        return 1
    options.file.write_bytes(marked(drawn_by(agg, cast), hash_of(cast)))
    return 0


def hash_of(cast: str) -> str:
    """The hash of a cast."""
    return hashlib.sha256(cast.encode()).hexdigest()


def marked(gif: bytes, hash_of_cast: str) -> bytes:
    """A GIF with the hash of its cast in a comment."""
    said = _LABEL + hash_of_cast.encode()
    return gif.removesuffix(_END) + _COMMENT + bytes([len(said)]) + said + b"\0" + _END


def made_from(gif: bytes) -> str:
    """The hash of the cast that a GIF was made from; "" where it does not say so."""
    _, label, behind = gif.rpartition(_LABEL)
    return behind[: hashlib.sha256().digest_size * 2].decode("ascii", "replace") if label else ""


def of_version_2(cast: str) -> str:
    """A cast of version 3 as one of version 2, which older programs read: times from its beginning, no chapters."""
    header, *events = map(json.loads, cast.splitlines())
    term = header["term"]
    first = {"version": 2, "width": term["cols"], "height": term["rows"], "theme": term["theme"]}
    now, lines = 0.0, [json.dumps(first)]
    for interval, code, text in events:
        now += interval
        if code == "o":
            lines.append(json.dumps([round(now, 3), code, text], ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def drawn_by(agg: str, cast: str) -> bytes:
    """The GIF that agg draws of a cast."""
    with tempfile.TemporaryDirectory() as folder:
        source, drawn = Path(folder, "film.cast"), Path(folder, "film.gif")
        source.write_text(of_version_2(cast))
        subprocess.run(
            [agg, "--fps-cap", "15", "--last-frame-duration", "2", str(source), str(drawn)], check=True
        )
        return drawn.read_bytes()


if __name__ == "__main__":
    sys.exit(main())

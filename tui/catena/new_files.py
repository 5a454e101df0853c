"""Writing a text into a file that was not there before."""

from __future__ import annotations

from pathlib import Path

_MOST = 1_000  # names that are tried


def write_new(directory: str, stem: str, text: str) -> Path:
    """Write `STEM.md` into the directory, or `STEM-2.md`, `STEM-3.md` …: the first that is free.

    Nothing is ever written over, and no link is followed. Blocks; raises OSError.
    """
    for number in range(1, _MOST + 1):
        path = Path(directory) / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text if text.endswith("\n") else f"{text}\n")
        except FileExistsError:
            continue
        return path
    raise FileExistsError(17, f"{stem}-{_MOST}.md and all before it are there already")

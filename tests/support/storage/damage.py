"""Ways in which a file comes to harm; each in a process of its own, for a handle closed in ours would drop locks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

PAGE = 4096

_WRITE = """
import sys
path, filling = sys.argv[1], bytes.fromhex(sys.argv[2])
with open(path, "r+b") as file:
    for place in sys.argv[3:]:
        start, length = map(int, place.split(":"))
        file.seek(start)
        file.write((filling * length)[:length])
"""
_COPY = """
import sys
with open(sys.argv[1], "r+b") as file:
    source, target, length = map(int, sys.argv[2:])
    file.seek(source)
    page = file.read(length)
    file.seek(target)
    file.write(page)
"""
_CUT = "import os, sys; os.truncate(sys.argv[1], int(sys.argv[2]))"


def overwrite(path: Path, *places: tuple[int, int], filling: bytes = b"\xa5") -> None:
    """Write over so many bytes at each place."""
    run(_WRITE, str(path), filling.hex(), *(f"{start}:{length}" for start, length in places))


def overwrite_pages(path: Path, pages: Sequence[int], filling: bytes = b"\xa5") -> None:
    """Write over whole pages, counted from 1."""
    overwrite(path, *(((page - 1) * PAGE, PAGE) for page in pages), filling=filling)


def cut_off(path: Path, size: int) -> None:
    """Keep only the beginning."""
    run(_CUT, str(path), str(size))


def copy_page(path: Path, source: int, target: int) -> None:
    """A write that went to the wrong place."""
    run(_COPY, str(path), str((source - 1) * PAGE), str((target - 1) * PAGE), str(PAGE))


def run(program: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", program, *arguments], check=True)


def roots(path: Path) -> dict[str, int]:
    """The first page of every table and index by its name, `sqlite_schema` not among them."""
    with closing(sqlite3.connect(path)) as file:
        return dict(file.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))


def leaves(path: Path, name: str) -> list[int]:
    """The pages that hold the rows of a table or index, in their order."""
    with closing(sqlite3.connect(path)) as file:
        found = file.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (name,)
        )
        return [page for (page,) in found]


def overflows(path: Path, name: str) -> list[int]:
    """The pages that hold the rest of long rows."""
    with closing(sqlite3.connect(path)) as file:
        found = file.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'overflow' ORDER BY path", (name,)
        )
        return [page for (page,) in found]

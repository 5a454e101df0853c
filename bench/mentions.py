"""A scenario of files that are mentioned: the first rows of very many on the screen, and the work of one key."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from pathlib import Path

from bench.streaming import Figures
from bench.subject import Subject
from bench.terminal import percentile
from bench.words import WORDS
from catena.mentions.index import FileIndex

FOLDERS, FILES_OF_EACH = 500, 100
TRACKED = 0.6  # of the folders; git has to look for the files of the others
TYPED = 60  # words, letter by letter


def fifty_thousand_files(subject: Subject, folder: Path) -> Figures:
    """A mention in a work tree of 50,000 files: from its `@` to the first rows, and what fits after each letter."""
    project = folder / "project"
    _make_work_tree(project)
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        terminal.settle(1.0)
        seen = len(terminal.outputs)
        pressed = terminal.write("@")
        shown = running.expect("_handler.py", since=seen)
    times = asyncio.run(_times_of_keys(project))
    return {
        "first_rows_ms": (shown - pressed) * 1e3,
        "key_cpu_p50_ms": percentile(times, 0.5),
        "key_cpu_p95_ms": percentile(times, 0.95),
    }


def _make_work_tree(project: Path) -> None:
    tracked = []
    chance = random.Random(7)
    for at in range(FOLDERS):
        place = project / f"{chance.choice(WORDS)}_{at % 50:02d}" / f"{chance.choice(WORDS)}_{at:03d}"
        place.mkdir(parents=True)
        for number in range(FILES_OF_EACH):
            (place / f"{chance.choice(WORDS)}_{number:02d}_handler.py").touch()
        if at < FOLDERS * TRACKED:
            tracked.append(str(place))
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", *tracked], cwd=project, check=True)


async def _times_of_keys(project: Path) -> list[float]:
    """Milliseconds of CPU for each letter of words that are typed one after the other."""
    index = FileIndex([str(project)])
    await index.refresh()
    chance = random.Random(11)
    times = []
    for _ in range(TYPED):
        word = chance.choice(WORDS) + str(chance.randrange(100))
        for end in range(1, len(word) + 1):
            began = time.thread_time()
            index.best(word[:end])
            times.append((time.thread_time() - began) * 1e3)
    return times

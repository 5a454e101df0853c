"""Measure two revisions in one run, in turn: ``python -m bench.ab REVISION SCENARIO ...``.

Each repetition runs every scenario with the one and then with the other, so that a busy minute of the machine hits
both. Believe CPU seconds and ratios; of times only large differences.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.subject import HERE

ROOT = HERE.parent
_SOURCES = ("tui", "store", "acp")  # what is imported of a revision; the benches are those of this work tree
_EXAMPLE = "example: python -m bench.ab main~3 start two_thousand_words --repeat 5"

# Of the other revision, and of this work tree.
Figures = dict[tuple[str, str], tuple[list[float], list[float]]]


def main() -> int:
    """Print the median of each figure of both revisions, and their ratio."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.ab",
        description="Measure this work tree and another revision in one run, alternating.",
        epilog=_EXAMPLE,
    )
    parser.add_argument(
        "revision", metavar="REVISION", help="what to compare with: a commit, a branch, a tag"
    )
    parser.add_argument(
        "scenarios", nargs="+", metavar="SCENARIO", help="names of benches; `python -m bench --help` has them"
    )
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="how often each is run with each (default 3)"
    )
    options = parser.parse_args()
    figures: Figures = {}
    with _checked_out(options.revision) as other:
        for repetition in range(options.repeat):
            trees = (other, ROOT) if repetition % 2 else (ROOT, other)  # neither always runs first
            for scenario in options.scenarios:
                for tree in trees:
                    for name, value in _measured(tree, scenario).items():
                        pair = figures.setdefault((scenario, name), ([], []))
                        pair[tree is ROOT].append(value)
    print("\n".join(_lines(options.revision, figures)))
    return 0


@contextmanager
def _checked_out(revision: str) -> Iterator[Path]:
    """A work tree of a revision, which is gone at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="catena-ab-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, revision], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def _measured(tree: Path, scenario: str) -> dict[str, float]:
    """The figures of one run with the sources of a tree, and the CPU seconds of all processes that were in it."""
    sources = os.pathsep.join(str(tree / source) for source in _SOURCES)
    command = [sys.executable, "-m", "bench", scenario, "--no-baseline", "--repeat", "1"]
    before = _cpu_of_children()
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": sources}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{scenario} with {tree}: {done.stderr or done.stdout}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    found = {name: value for name, value in json.loads(line).items() if not isinstance(value, str)}
    return {**found, "cpu_s_of_all": _cpu_of_children() - before}


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(revision: str, figures: Figures) -> Iterator[str]:
    yield f"| scenario | figure | {revision} | this work tree | ratio |"
    yield "|---|---|---|---|---|"
    for (scenario, name), (other, ours) in figures.items():
        before, now = median(other), median(ours)
        ratio = f"{now / before:.2f}" if before else "–"
        yield f"| {scenario} | {name} | {before:,.3g} | {now:,.3g} | {ratio} |"


if __name__ == "__main__":
    sys.exit(main())

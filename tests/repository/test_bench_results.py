"""The benchmark's results say what was measured, for everything that has a goal; measuring itself is no test."""

from __future__ import annotations

import subprocess
import sys

from support.places import ROOT


def test_q01_every_goal_has_a_figure_and_a_machine_in_the_results() -> None:
    command = [sys.executable, "-m", "bench", "--goals"]
    goals = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    results = (ROOT / "bench" / "RESULTS.md").read_text()

    assert "cores" in results
    assert _first_cells(results) == _first_cells(goals)
    assert "not measured" in goals
    assert "not measured" not in results


def _first_cells(text: str) -> list[str]:
    return [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]

"""A directory with files, and the repository of ours that keeps its snapshots."""

from __future__ import annotations

import shutil
from pathlib import Path

from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import RestoreStep, TurnSnapshots, plan, restore

GIT = shutil.which("git") or "git"


class WorkTree:
    """Files below a root, and turns that change them."""

    def __init__(self, place: Path) -> None:
        self.root = place / "tree"
        self.root.mkdir()
        self.repository = SnapshotRepository(GIT, place / "snapshots", self.root)
        self.turns: list[TurnSnapshots] = []
        self.lacking: set[str] = set()  # what one of the snapshots lacks
        self._before = ""

    def __truediv__(self, name: str) -> Path:
        return self.root / name

    def capture(self) -> str:
        """The tree of now."""
        taken = self.repository.capture(day=1)
        self.lacking |= {each.path for each in taken.left_out}
        return taken.tree

    def begin(self) -> None:
        """A turn begins."""
        self._before = self.capture()

    def end(self) -> None:
        """It ends."""
        self.turns.append(TurnSnapshots(self._before, self.capture()))

    def plan(self) -> list[RestoreStep]:
        """What going back before all turns would change."""
        now = self.capture()
        return plan(self.repository, self.turns, now, unkept=self.lacking)

    def go_back(self) -> list[RestoreStep]:
        """Go back before all turns, leaving what others changed; what was refused."""
        return restore(self.repository, [step for step in self.plan() if step.conflict is None])

    def files(self) -> dict[str, str]:
        """Every file and link, by path: its content, and a mark of what it is."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}"
            elif path.is_file():
                found[name] = path.read_text("utf-8", "surrogateescape") + (
                    "*" if path.stat().st_mode & 0o100 else ""
                )
            elif not any(path.iterdir()):
                found[name] = "(empty)"
        return found

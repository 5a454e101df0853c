"""Random walks through turns, someone else's changes, and the way back: nobody's bytes are lost, undo is exact."""

from __future__ import annotations

import os
import random
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from catena_store.snapshots import repository as repository_module
from catena_store.snapshots import restoring as restoring_module
from catena_store.snapshots.restoring import RestoreStep, plan, restore
from support.storage.work_trees import WorkTree
from support.walks.length import walks

NAMES = ("a", "b", "d/a", "d/b", "d", "d/a/deep", "secret", "e/file")
RULES = ("", "secret\n", "d/\n", "*\n!.gitignore\n", "/e/\n")
SMALL = 40  # bytes of the largest file that is kept
PERSON, AGENT = "P", "A"
CHANGES = ("write", "write", "write", "delete", "link", "run")
ODD = ("rules", "large", "nest", "lead_outside")

State = dict[str, tuple[str, bytes]]


class Killed(BaseException):
    """The process ended there."""


class Walk:
    """One walk; ``odd`` ones also change what is ignored, too large, or a repository of its own."""

    def __init__(self, place: Path, seed: int, *, odd: bool) -> None:
        self.chance = random.Random(seed)
        self.tree = WorkTree(place)
        self.outside = place / "outside"
        self.outside.mkdir()
        (self.outside / "a").write_text("outside")
        self.odd = odd
        self.number = 0
        self.started: list[State] = []  # what was there when each turn began
        self.alone = True  # nobody but the agent changed anything

    def go(self) -> None:
        """Go as far as the chances lead."""
        self.change(PERSON, 4)
        for _ in range(self.chance.randint(1, 3)):
            for _ in range(self.chance.randint(1, 3)):
                self.started.append(self.state())
                self.tree.begin()
                self.change(AGENT, self.chance.randint(1, 4))
                self.tree.end()
                if self.chance.random() < 0.5:
                    self.alone = False
                    self.change(PERSON, self.chance.randint(1, 3))
            self.go_back()

    def go_back(self) -> None:
        """Go back across some turns, killed or not, and undo it or not."""
        tree, chance = self.tree, self.chance
        first = chance.randrange(len(tree.turns))
        now = tree.capture()
        steps = plan(tree.repository, tree.turns[first:], now, unkept=tree.lacking)
        chosen = [step for step in steps if step.conflict is None or chance.random() < 0.2]
        before = self.state()
        if chance.random() < 0.4 and self.is_killed(chosen, chance.randint(1, 60)):
            assert self.outside_is_untouched()
            if chance.random() < 0.5:
                restore(tree.repository, [step.reversed for step in chosen])
                assert self.state() == before
                return
        refused = restore(tree.repository, chosen)
        after = self.state()
        named = {step.path for step in chosen if step.conflict is not None}
        for path, (kind, content) in before.items():
            if content.startswith(PERSON.encode()) and path not in named:
                assert after.get(path, ("", b""))[1] == content, f"{path} of the person is lost"
                assert after[path][0].strip("*") == kind.strip("*")
        if self.alone and not self.odd:
            assert not refused and after == self.started[first]
        assert self.outside_is_untouched()
        if chance.random() < 0.5:
            assert restore(tree.repository, [step.reversed for step in chosen if step not in refused]) == []
            assert self.state() == before
        else:
            del tree.turns[first:], self.started[first:]
            if not tree.turns:
                self.started.append(self.state())
                tree.begin()
                tree.end()

    def is_killed(self, steps: list[RestoreStep], call: int) -> bool:
        """Take steps, and end at a call of the system; whether it came so far."""
        try:
            with killed_at(call):
                restore(self.tree.repository, steps)
        except Killed:
            return True
        return False

    def change(self, who: str, times: int) -> None:
        """Change some files."""
        for _ in range(times):
            self.number += 1
            how = self.chance.choice(CHANGES + (ODD if self.odd else ()))
            path = self.tree.root / self.chance.choice(NAMES)
            getattr(self, how)(path, f"{who}{self.number}")

    def write(self, path: Path, content: str) -> None:
        self.delete(path, content)
        for above in reversed(path.relative_to(self.tree.root).parents):
            place = self.tree.root / above
            if place.is_symlink() or place.is_file():
                place.unlink()
            place.mkdir(exist_ok=True)
        path.write_text(content)

    def delete(self, path: Path, content: str) -> None:
        if any(above.is_symlink() for above in path.parents):
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.is_symlink() or path.is_file():
            path.unlink()

    def link(self, path: Path, content: str) -> None:
        self.write(path, content)
        path.unlink()
        path.symlink_to(content)

    def lead_outside(self, path: Path, content: str) -> None:
        self.write(path, content)
        path.unlink()
        path.symlink_to(self.outside)

    def run(self, path: Path, content: str) -> None:
        if path.is_file() and not path.is_symlink() and not any(above.is_symlink() for above in path.parents):
            path.chmod(path.stat().st_mode ^ 0o111)

    def rules(self, path: Path, content: str) -> None:
        (self.tree.root / ".gitignore").write_text(self.chance.choice(RULES))

    def large(self, path: Path, content: str) -> None:
        self.write(path, content + "x" * SMALL)

    def nest(self, path: Path, content: str) -> None:
        self.write(self.tree.root / "e/.git/HEAD", "ref: refs/heads/main\n")
        for name in ("objects", "refs"):
            (self.tree.root / "e/.git" / name).mkdir(exist_ok=True)

    def outside_is_untouched(self) -> bool:
        """Whether nothing outside of the root has changed."""
        return [path.read_text() for path in self.outside.iterdir()] == ["outside"]

    def state(self) -> State:
        """All files and links, whatever is kept of them."""
        found: State = {}
        for folder, folders, files in os.walk(self.tree.root):
            for name in (*folders, *files):
                path = Path(folder, name)
                mode = path.lstat().st_mode
                key = path.relative_to(self.tree.root).as_posix()
                if stat.S_ISLNK(mode):
                    found[key] = ("link", os.fsencode(path.readlink()))
                elif stat.S_ISREG(mode):
                    found[key] = ("file*" if mode & stat.S_IXUSR else "file", path.read_bytes())
        return found


@contextmanager
def killed_at(call: int) -> Iterator[None]:
    """The process ends at one of its calls of the system."""
    left = call

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def called(*given: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            return real(*given, **named)

        return called

    with ExitStack() as patches:
        for name in ("rename", "unlink", "symlink", "mkdir", "rmdir", "fsync", "open"):
            patches.enter_context(patch.object(os, name, counted(getattr(os, name))))
        yield


@settings(max_examples=walks(8), deadline=None)
@given(seed=st.integers(0, 10**9), odd=st.booleans())
def test_g04_nobodys_bytes_are_lost_undo_is_exact_and_nothing_outside_changes(seed: int, odd: bool) -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        patch.object(repository_module, "LARGEST", SMALL),
        patch.object(restoring_module, "LARGEST", SMALL),
    ):
        Walk(Path(place), seed, odd=odd).go()

"""The patch of changes, as git itself takes it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from catena_acp.changes.changed_file import (
    ChangedFile,
    FileState,
    TextChange,
    diff_of_file,
    hunk_patch,
    patch_of,
)

LONG = "".join(f"line {number}\n" for number in range(60))
BEFORE: dict[str, str] = {
    "long.txt": LONG,
    "no end": "a\nb",
    "crlf.txt": "a\r\nb\r\nform\x0cfeed\u2028x\n",
    "dir/with \"quotes\" and\ttab ü.txt": "a\n",
    "gone.txt": "a\nb\n",
    "empty then.txt": "",
    "old name.txt": "1\n2\n3\n",
    "as it is.txt": "1\n",
    "-- dashes": "-- a\n++ b\n",
}  # fmt: skip
AFTER: dict[str, str] = {
    "long.txt": "first\n" + LONG.replace("line 30\n", "").replace("line 59\n", "last"),
    "no end": "a\nc",
    "crlf.txt": "a\r\nB\r\nform\x0cfeed\u2028y\n",
    "dir/with \"quotes\" and\ttab ü.txt": "a\nb\n",
    "empty then.txt": "1",
    "new.txt": "new\n",
    "new and empty": "",
    "new name.txt": "1\n2\nthree\n",
    "as it was.txt": "1\n",
    "-- dashes": "++ b\n",
}  # fmt: skip
RENAMED = {"new name.txt": "old name.txt", "as it was.txt": "as it is.txt"}


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return root


def read(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()
    }


def changed(root: str) -> list[ChangedFile]:
    files = []
    for name in sorted({*BEFORE, *AFTER} - {*RENAMED.values()}):
        source = RENAMED.get(name, name)
        old, new = BEFORE.get(source), AFTER.get(name)
        state = (
            FileState.RENAMED
            if name in RENAMED
            else FileState.NEW
            if old is None
            else FileState.DELETED
            if new is None
            else FileState.CHANGED
        )
        change = TextChange(old, new, whole=True)
        files.append(
            ChangedFile(
                f"{root}/{name}",
                state,
                (change,),
                renamed_from=f"{root}/{source}" if name in RENAMED else "",
            )
        )
    return files


def git(directory: Path, *arguments: str, text: str) -> None:
    environment = os.environ | {
        "GIT_CEILING_DIRECTORIES": str(directory.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    command = ["git", *arguments]
    subprocess.run(
        command, cwd=directory, input=text.encode(), check=True, capture_output=True, env=environment
    )


def test_w29_git_applies_the_patch_and_takes_it_back(tmp_path: Path) -> None:
    patch = patch_of([diff_of_file(file) for file in changed("/p")], "/p")
    assert not patch.left_out
    root = written(tmp_path / "r", BEFORE)

    git(root, "apply", "-", text=patch.content.decode())
    assert read(root) == AFTER
    git(root, "apply", "-R", "-", text=patch.content.decode())
    assert read(root) == BEFORE


def test_w29_git_takes_one_hunk_back(tmp_path: Path) -> None:
    diff = diff_of_file(
        ChangedFile("/p/long.txt", changes=(TextChange(LONG, AFTER["long.txt"], whole=True),))
    )
    assert len(diff.hunks) == 3
    root = written(tmp_path / "r", AFTER)

    git(root, "apply", "-R", "-", text=hunk_patch(diff, diff.hunks[1], "/p"))

    assert (root / "long.txt").read_text() == AFTER["long.txt"].replace("line 31\n", "line 30\nline 31\n")


@pytest.mark.parametrize(
    "file",
    [
        ChangedFile("/elsewhere/a", changes=(TextChange("a", "b", whole=True),)),
        ChangedFile("/p/part", changes=(TextChange("a", "b"),)),
        ChangedFile("/p/twice", changes=(TextChange("a", "b"), TextChange("c", "d")), successive=True),
        ChangedFile("/p/gone", FileState.DELETED),
        ChangedFile("/pp/a", changes=(TextChange("a", "b", whole=True),)),
    ],
)
def test_w29_what_has_no_exact_place_is_left_out_of_the_patch_and_named(file: ChangedFile) -> None:
    patch = patch_of([diff_of_file(file)], "/p")
    assert patch.content == b"" and [path for path, _ in patch.left_out] == [file.path]

"""`catena changes`: what agents changed in files, read from the store and from the files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import Kind, NewMessage
from support.clients.command_line import Catena, run_between_snapshots
from support.clients.imports import FORBIDDEN, imported

BEFORE = "".join(f"{number}\n" for number in range(1, 21))


def edited(catena: Catena, *turns: tuple[str, str | None, str]) -> None:
    """A conversation of one edit in each turn: path, old text, new text."""

    async def work(tx: Writer) -> None:
        await conversations.create(
            tx, id="edits001", agent="rehearsal", cwd=str(catena.project), title="edits"
        )
        last: str | None = None
        for number, (path, old, new) in enumerate(turns, 1):
            data = {
                "kind": "edit",
                "status": "completed",
                "content": [{"type": "diff", "path": path, "old": old, "new": new}],
            }
            rows = [
                NewMessage(
                    id=f"u{number}", conversation_id="edits001", parent_id=last, kind=Kind.USER, text="go"
                ),
                NewMessage(
                    id=f"x{number}",
                    conversation_id="edits001",
                    parent_id=f"u{number}",
                    kind=Kind.TOOL,
                    text="",
                    data=data,
                ),
            ]
            await messages.insert_many(tx, rows)
            last = f"x{number}"
        await conversations.touch(tx, "edits001")

    catena.write(work)


def test_w29_changes_are_printed_as_one_difference_for_each_file(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    edited(
        catena,
        ("a.txt", "3\n", "three\n"),
        ("b\x1b[31m.txt", None, "hello\x07\n"),
        ("a.txt", "three", "drei"),
    )
    (catena.project / "a.txt").write_text(BEFORE.replace("3\n", "drei\n", 1))

    told = catena("changes", "edits")

    assert told.status == 0 and "\x1b" not in told.out and "\x07" not in told.out
    assert told.out.startswith("2 files +2 −1\nAs the agent reported; changes by shell commands")
    assert "a.txt  +1 −1\n@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+drei\n 4\n" in told.out
    assert "+1  new · gone since\n@@ -0,0 +1 @@\n+hello␇" in told.out

    first = catena("changes", "edits", "--turn", "1", "--json").json
    (file,) = first["files"]
    assert (first["format"], first["turn"], file["exact"], file["on_disk"]) == (1, 1, True, "changed since")
    assert file["hunks"] == [
        {"text": "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n", "seen": False, "by": "agent"}
    ]

    assert catena("changes", "edits", "--turn", "x1", "--json").json == first
    assert catena("changes", "edits", "--turn", "u1", "--json").json == first
    assert catena("changes", "edits", "--turn", "nothing").status == 2

    refused = catena("changes", "edits", "--turn", "4")
    assert refused.status == 2 and "turn 4 does not exist: the branch has 3 turns" in refused.err


def test_w29_git_takes_back_what_the_patch_of_the_command_says(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    edited(catena, ("a.txt", "3\n", "three\n"), ("new.txt", None, "1"), ("elsewhere.txt", "1", "2"))
    (catena.project / "a.txt").write_text(BEFORE.replace("3\n", "three\n", 1))
    (catena.project / "new.txt").write_text("1")

    told = catena("changes", "edits", "--branch", "--patch")

    assert "elsewhere.txt: not in the patch" in told.err
    subprocess.run(
        ["git", "apply", "-R", "-"],
        input=told.out.encode(),
        cwd=catena.project,
        check=True,
        env=catena.environment | {"GIT_CEILING_DIRECTORIES": str(tmp_path)},
    )
    assert (catena.project / "a.txt").read_text() == BEFORE
    assert not (catena.project / "new.txt").exists()


@pytest.fixture
def kept(tmp_path: Path) -> Catena:
    """A conversation of two turns whose files were kept, and lines of the person's behind and between them."""
    catena = Catena(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=catena.project, check=True)
    (catena.project / "sub").mkdir()
    (catena.project / "sub/mine.txt").write_text(BEFORE)
    run_between_snapshots(
        catena,
        "cue one; write notes.txt agent; terminal sed -i s/^3$/three/ sub/mine.txt",
        "--agent",
        "rehearsal",
    )
    (catena.project / "notes.txt").write_text("agent\nperson\n")
    (catena.project / "sub/mine.txt").write_text(
        BEFORE.replace("3\n", "three\n", 1).replace("9\n", "nine\n", 1)
    )
    run_between_snapshots(
        catena, "cue two; terminal install -m 755 /dev/null tool; terminal ln -s tool ln", "--continue"
    )
    return catena


def newest(catena: Catena) -> str:
    (listed,) = catena("list", "--json").json
    return str(listed["id"])


def apply_back(catena: Catena, patch: str, directory: Path) -> None:
    subprocess.run(
        ["git", "apply", "-R", "-"], input=patch.encode(), cwd=directory, check=True, capture_output=True
    )


def test_g03_the_patch_takes_back_what_the_agent_did_and_no_line_of_the_persons(kept: Catena) -> None:
    told = kept("changes", newest(kept), "--patch")
    assert (told.status, told.err) == (1, "notes.txt: not in the patch: changed since in the same lines\n")
    assert "new file mode 100755" in told.out and "new file mode 120000" in told.out
    apply_back(kept, told.out, kept.project)
    assert (kept.project / "notes.txt").read_text() == "agent\nperson\n"
    assert (kept.project / "sub/mine.txt").read_text() == BEFORE.replace("9\n", "nine\n", 1)
    assert not (kept.project / "tool").exists() and not (kept.project / "ln").is_symlink()

    shown = kept("changes", newest(kept)).out
    assert "+nine" not in shown and "+three" in shown
    (file,) = (
        each for each in kept("changes", newest(kept), "--json").json["files"] if "notes" in each["path"]
    )
    assert [(hunk["by"], hunk["text"].splitlines()[1:]) for hunk in file["hunks"]] == [
        ("agent", ["+agent"]),
        ("others", [" agent", "+person"]),
    ]
    assert "  by the agent:\n@@ -0,0 +1 @@\n+agent\n  by others:\n@@ -1 +1,2 @@\n agent\n+person\n" in shown


def test_g03_in_a_subdirectory_it_is_said_where_git_takes_the_patch(kept: Catena) -> None:
    (kept.project / "notes.txt").write_text("agent\n")
    kept.project = kept.project / "sub"
    told = kept("changes", newest(kept), "--patch")
    top = kept.project.parent
    assert (told.status, told.err) == (
        0,
        f"the paths are those of {top}; to undo it: git -C {top} apply -R -\n",
    )
    apply_back(kept, told.out, top)
    assert not (top / "notes.txt").exists() and not (top / "tool").exists()


def test_g03_the_name_of_a_file_that_is_too_large_to_keep_neither_steers_the_terminal_nor_adds_a_line(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=catena.project, check=True)
    (catena.project / "make.sh").write_text("""
        head -c 6000000 /dev/urandom > "$(printf 'big-\\033]0;owned\\a\\033[2J\\nNo changes.bin')"
    """)
    run_between_snapshots(catena, "cue one; terminal sh make.sh; write notes.txt a", "--agent", "rehearsal")

    told = catena("changes", newest(catena))
    linear = catena("--linear", "--continue", stdin="/files changes\n/quit\n")

    assert "Not included: big-␛]0;owned␇␛[2J No changes.bin (too large)." in told.out
    for out in (told.out, linear.out):
        assert "(too large)." in out and "\x1b" not in out and "\x07" not in out
        assert not any(line.startswith("No changes.bin") for line in out.splitlines())
    assert "\n" in catena("changes", newest(catena), "--json").json["caveat"], "JSON has the exact name"


def test_w29_the_command_loads_neither_the_screen_nor_the_sdk(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    edited(catena, ("a.txt", "1", "2"))
    loaded = imported(catena, "changes", "edits")
    assert "catena_acp" in loaded and not loaded & FORBIDDEN

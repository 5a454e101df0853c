"""Edits of one file become one change where their texts prove it, and none is made up where they do not."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from catena_acp.changes.changed_file import (
    ChangedFile,
    FileContents,
    FileState,
    OnDisk,
    TextChange,
    diff_of_file,
)
from catena_acp.changes.reported import Edit, before_edits, composed, reported_files
from catena_store.records import Kind, Message, MessageState

_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def call(depth: int, *contents: dict[str, Any], status: str = "completed", **data: Any) -> Message:
    return Message(
        id=f"m{depth}", conversation_id="c", parent_id=None, turn_id="t", kind=Kind.TOOL, state=MessageState.FINAL,
        text="", data={"status": status, "kind": "edit", "content": list(contents), **data}, link_id=None,
        agent_message_id=None, barrier=False, depth=depth, created_at=_BEGUN,
    )  # fmt: skip


def diff(path: str, old: str | None, new: str | None) -> dict[str, Any]:
    return {"type": "diff", "path": path, "old": old, "new": new}


def told(rows: list[Message], root: Path, until: int | None = None) -> list[ChangedFile]:
    files = (file.read() for file in reported_files(rows, until, [str(root)]))
    return [file for file in files if file is not None]


def only(files: list[ChangedFile]) -> ChangedFile:
    (file,) = files
    return file


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([Edit("a\n", "b\n"), Edit("b\n", "c\n")], (TextChange("a\n", "c\n"),)),
        ([Edit("a\nb\n", "a\nc\n"), Edit("c", "d")], (TextChange("a\nb\n", "a\nd\n"),)),
        ([Edit("b", "c"), Edit("a\nc\nz", "A\nc\nz")], (TextChange("a\nb\nz", "A\nc\nz"),)),
        ([Edit(None, "a\nb\n"), Edit("b", "c")], (TextChange(None, "a\nc\n", whole=True),)),
        ([Edit(None, "a"), Edit(None, "b")], (TextChange(None, "b", whole=True),)),
        ([Edit("a", "b"), Edit("b", "a")], ()),
        ([Edit("x\n", "y\n", 3), Edit("p\n", "q\n", 9)],
         (TextChange("x\n", "y\n", line=3), TextChange("p\n", "q\n", line=9))),
        # in two places, in none that is known, over the end of another, of a file that was written by someone else
        ([Edit("a", "b b"), Edit("b", "c")], None),
        ([Edit("a", "b"), Edit(None, "c")], None),
        ([Edit("1\n2\n3", "1\ntwo\n3"), Edit("3\n4", "3\nfour")], None),
        ([Edit("2\n3\n", "2\nthree\n"), Edit("three\n4\n", "THREE\n4\n")], None),
        ([Edit(None, "a\n"), Edit("b", "c")], None),
        ([Edit("a", "b"), Edit("", "c")], None),
    ],
)  # fmt: skip
def test_w29_edits_are_composed_exactly_or_not_at_all(
    edits: list[Edit], expected: tuple[TextChange, ...] | None
) -> None:
    assert composed(edits) == expected


def test_w29_edits_of_many_lines_are_told_apart_in_as_many_steps() -> None:
    blank, count = "\n" * 200_000, 200_000
    assert composed([Edit("x\n", f"y\n{blank}z"), Edit(f"{blank}q\n", "r\n")]) is not None
    same = "a\n" * count
    assert composed([Edit("x\n", f"y\n{same}"), Edit(f"{same}q\n", "r\n")]) is None


@pytest.mark.parametrize("seed", range(50))
def test_w29_edits_touch_where_the_end_of_one_is_the_beginning_of_the_other(seed: int) -> None:
    chance = random.Random(seed)
    upper, lower = ([chance.choice(("", "a", "b")) for _ in range(chance.randint(2, 6))] for _ in range(2))
    left, right = "\n".join(["first", *upper, ""]), "\n".join([*lower, "last"])
    touch = any(
        upper[-count:] == lower[:count] and any(lower[:count])
        for count in range(1, min(len(upper), len(lower)) + 1)
    )
    assert (composed([Edit("x", left), Edit(right, "y")]) is None) == touch


def test_w29_edits_are_taken_back_only_from_where_they_certainly_are() -> None:
    text = "one\nTWO\nthree\nFOUR\n"
    assert before_edits(text, [Edit("two", "TWO"), Edit("four", "FOUR")]) == (
        True,
        "one\ntwo\nthree\nfour\n",
    )
    assert before_edits(text, [Edit("x", "y")]) == (False, None)
    assert before_edits("a a", [Edit("b", "a")]) == (False, None), "there are two"
    assert before_edits(text, [Edit("gone\n", "")]) == (False, None), "nothing is everywhere"
    assert before_edits("new", [Edit(None, "new")]) == (True, None)


def test_w29_parts_become_a_change_of_the_file_with_its_own_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("".join(f"{n}\n" for n in range(1, 41)).replace("30\n", "thirty\n"))
    rows = [call(1, diff("a.py", "30", "dreißig")), call(2, diff(str(file), "dreißig", "thirty"))]

    changed = only(told(rows, tmp_path))

    assert changed.on_disk is OnDisk.SAME and changed.net is not None
    (hunk,) = diff_of_file(changed).hunks
    assert (hunk.head, hunk.first_line, hunk.last_line) == ("@@ -27,7 +27,7 @@", 30, 30)
    assert diff_of_file(changed).added == diff_of_file(changed).removed == 1


def test_w29_a_turn_in_the_middle_is_proved_by_what_came_later(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n2\n3\nfour\n")
    rows = [call(1, diff("a", "1", "one")), call(5, diff("a", "4", "four"))]

    changed = only(told(rows, tmp_path, 3))

    assert changed.net == TextChange("1\n2\n3\n4\n", "one\n2\n3\n4\n", whole=True)
    assert changed.on_disk is OnDisk.CHANGED, "something came later"


def test_w29_a_file_that_changed_since_is_marked_and_shown_as_it_was_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("someone else\n")
    (tmp_path / "outside").symlink_to("/etc/hosts")
    rows = [
        call(1, diff("a", "1", "2")),
        call(2, diff("gone", "1", "2")),
        call(3, diff("outside", "localhost", "x")),
        call(4, diff("../../etc/hosts", "localhost", "x")),
    ]

    by_name = {Path(file.path).name: file for file in told(rows, tmp_path)}

    assert by_name["a"].on_disk is OnDisk.CHANGED
    assert by_name["a"].changes == (TextChange("1", "2"),) and by_name["a"].net is None
    assert by_name["gone"].on_disk is OnDisk.GONE
    assert by_name["outside"].on_disk is by_name["hosts"].on_disk is OnDisk.UNKNOWN, "it was never read"


def test_w29_edits_that_do_not_add_up_follow_one_another(tmp_path: Path) -> None:
    rows = [call(1, diff("a", "x", "b b")), call(2, diff("a", "b", "c"))]
    changed = only(told(rows, tmp_path))
    assert changed.successive and [each.new for each in changed.changes] == ["b b", "c"]
    assert [hunk.step for hunk in diff_of_file(changed).hunks] == [1, 2]


def test_w29_new_deleted_renamed_and_unknown_files_say_so(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("1\n")
    (tmp_path / "to").write_text("2\n")
    places = [{"path": str(tmp_path / "from")}, {"path": str(tmp_path / "to")}]
    rows = [
        call(1, diff("new", None, "1\n")),
        call(2, diff("brief", None, "1\n")),
        call(3, kind="delete", locations=[{"path": "brief"}, {"path": "old"}]),
        call(4, diff("from", "1\n", "2\n")),
        call(5, kind="move", locations=places),
        call(6, diff("picture", None, None)),
        call(7, diff("zero", "a\0", "b")),
        call(8, diff("failed", "a", "b"), status="failed"),
        call(9, diff("undone", "a", "b")),
        call(10, diff("undone", "b", "a")),
        call(11, diff("who knows", "a", "b"), status="unknown"),
        call(12, locations=[{"path": "silent"}]),
    ]

    found = {Path(file.path).name: file for file in told(rows, tmp_path)}

    assert list(found) == ["new", "old", "picture", "silent", "to", "who knows", "zero"]
    assert found["new"].state is FileState.NEW and found["new"].on_disk is OnDisk.SAME
    assert found["old"].state is FileState.DELETED and found["old"].contents is FileContents.UNREPORTED
    assert found["to"].state is FileState.RENAMED and found["to"].renamed_from == str(tmp_path / "from")
    assert found["to"].net == TextChange("1\n", "2\n", whole=True)
    assert found["picture"].contents is found["zero"].contents is FileContents.BINARY
    assert found["silent"].contents is FileContents.UNREPORTED
    assert found["who knows"].unsure

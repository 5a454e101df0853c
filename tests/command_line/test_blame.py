"""`catena blame`: who wrote the lines of a file, without a screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.clients.command_line import Catena
from support.storage.written_files import written_files


@pytest.fixture
async def catena(tmp_path: Path) -> Catena:
    """A file that two conversations and somebody wrote; one of the conversations has left the branch of a line."""
    made = Catena(tmp_path)
    async with written_files(made.data) as files:
        await files.conversation("garden")
        (files / "a").write_text("old\n")
        for conversation, prompt, text in (
            ("shop", "Write \x1b[2Jone", "old\none\n"),
            ("garden", "Write two", "old\none\n\ttwo \x1b[2J\n"),
        ):
            turn = await files.begin(conversation, prompt)
            (files / "a").write_text(text)
            await files.end(turn)
        files.restart("garden")
        await files.turn("garden")
        (files / "a").write_text("old\none\n\ttwo \x1b[2J\nmine\n")
    return made


def test_g08_lines_stand_behind_the_prompts_that_wrote_them(catena: Catena) -> None:
    path = str(catena.data / "tree/a")
    done = catena("blame", path)
    assert (done.status, done.err) == (0, "")
    # The date is that of the machine's time zone.
    lines = [re.sub(r" +", " ", re.sub(r"2026-0\d-\d\d", "DATE", line)) for line in done.out.splitlines()]
    assert lines == [
        "unknown 1 old",
        "prompt1 ● DATE rehearsal 2 one",
        "prompt2 ○ DATE rehearsal 3 two ␛[2J",
        "after turn 1 4 mine",
        "",
        "prompt1 Write ␛[2Jone",
        " catena show shop --turn prompt1",
        "prompt2 Write two",
        " catena show garden --turn prompt2",
    ]
    numbers = [line.index(f"{at}  ") for at, line in enumerate(done.out.splitlines()[:4], start=1)]
    assert len(set(numbers)) == 1, "the lines stand below each other"
    assert "Write two" in catena("show", "garden", "--at", "prompt2").out

    found = catena("blame", f"{path}:2-3", "--json").json
    assert [line["text"] for line in found["lines"]] == ["one", "\ttwo \x1b[2J"]
    assert [line["turn_id"] for line in found["lines"]] == ["turn1", "turn2"]
    assert found["turns"]["turn2"]["conversation_id"] == "garden" and not found["turns"]["turn2"]["on_branch"]


def test_g08_what_cannot_be_told_is_one_line_and_a_status(catena: Catena) -> None:
    path = str(catena.data / "tree/a")
    for argument, status, words in (
        ("missing", 1, "No such file or directory"),
        (f"{path}:9", 2, "has no line 9: it ends with line 4"),
    ):
        refused = catena("blame", argument)
        assert (refused.status, refused.out) == (status, "") and words in refused.err
        assert len(refused.err.splitlines()) == 1

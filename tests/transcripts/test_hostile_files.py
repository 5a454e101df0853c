"""Whatever lies where a transcript should: nothing in it makes a reader raise, and no file is waited for."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from catena_acp.transcripts import claude, codex, gemini, lines, opencode, qwen
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.sources import read_file, tool_of_file
from support.transcripts.homes import CLAUDE, SAMPLES, Home, said

READERS = {"claude": claude, "codex": codex, "gemini": gemini, "qwen": qwen}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def read_all(tool: str, path: Path) -> None:
    """Read a file as one of a tool's; only ``UnreadableTranscript`` may be raised."""
    reader = READERS[tool]

    def read(path: Path) -> None:
        if head := reader.head(path):
            reader.read(path, head)

    for reading in (read, read_file, tool_of_file):
        try:
            reading(path)
        except UnreadableTranscript as error:
            assert str(error)


@pytest.mark.parametrize("tool", READERS)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400), cut=st.integers(0, 40_000), at=st.integers(0, 40_000))
def test_no_bytes_make_a_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, tool: str, data: bytes, cut: int, at: int
) -> None:
    sample = (SAMPLES / f"{tool}.jsonl").read_bytes()
    path = tmp_path_factory.mktemp("files") / f"{CLAUDE}.jsonl"
    for content in (data, sample[:cut], sample[:at] + data + sample[at:]):
        path.write_bytes(content)
        read_all(tool, path)


@pytest.mark.parametrize("tool", READERS)
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_no_record_makes_a_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, tool: str, data: st.DataObject
) -> None:
    """One value somewhere in a real transcript is something else."""
    records = [json.loads(line) for line in (SAMPLES / f"{tool}.jsonl").read_text().splitlines()]
    within: Any = data.draw(st.sampled_from(records))
    while True:
        keys = list(within) if isinstance(within, dict) else list(range(len(within)))
        key = data.draw(st.sampled_from(keys))
        inner = within[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            within[key] = data.draw(ANYTHING)
            break
        within = inner
    path = tmp_path_factory.mktemp("files") / f"{CLAUDE}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    read_all(tool, path)


def read_database(path: Path) -> None:
    """List and read all sessions of a database; only ``UnreadableTranscript`` may be raised."""
    try:
        for head in opencode.heads(path):
            opencode.read(path, head.session_id)
    except UnreadableTranscript as error:
        assert str(error)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound database."""
    home = Home(tmp_path_factory.mktemp("home")).with_all()
    return opencode.root(home.environment)


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 40_000), data=st.binary(min_size=1, max_size=60))
@example(at=2905, data=b"\x80")  # within the name of a table
def test_no_bytes_in_a_database_make_its_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, database: Path, at: int, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("files") / "opencode.db"
    whole = database.read_bytes()
    path.write_bytes(whole[:at] + data + whole[at + len(data) :])
    read_database(path)


CELL = (
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=20) | st.text(max_size=20)
)


@settings(max_examples=100, deadline=None)
@given(
    place=st.sampled_from(
        [
            "session.title",
            "session.time_created",
            "session.time_updated",
            "session.revert",
            "session.directory",
            "message.data",
            "part.data",
            "message.time_created",
        ]
    ),
    cell=CELL | ANYTHING.map(json.dumps),
)
def test_no_cell_of_a_database_makes_its_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, database: Path, place: str, cell: object
) -> None:
    path = tmp_path_factory.mktemp("files") / "opencode.db"
    path.write_bytes(database.read_bytes())
    table, column = place.split(".")
    with closing(sqlite3.connect(path)) as owner, owner, suppress(sqlite3.IntegrityError):
        owner.execute(f"UPDATE {table} SET {column} = ?", (cell,))
    read_database(path)


def test_what_is_no_file_is_passed_over_and_said(tmp_path: Path) -> None:
    home = Home(tmp_path)
    real = home.write_claude(CLAUDE, [said(1, "user", "hello"), said(2, "assistant", "yes")])
    folder = real.parent
    os.mkfifo(folder / "00000000-0000-0000-0000-000000000001.jsonl")
    (folder / "00000000-0000-0000-0000-000000000002.jsonl").mkdir()
    (folder / "00000000-0000-0000-0000-000000000003.jsonl").symlink_to(folder / "nowhere")
    (folder / "00000000-0000-0000-0000-000000000004.jsonl").symlink_to(real)
    (folder / "00000000-0000-0000-0000-000000000005.jsonl").write_text('{"type":"custom-title"}\n')
    unread = [each.reason for batch in home.scanner().batches() for each in batch.unread]
    assert list(home.sessions()) == [CLAUDE]
    assert unread == ["is not a file", "is not a file"]


def test_a_file_that_grows_while_it_is_read_counts_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    path.write_text('{"n": 1}\n' * 3)
    with path.open("a") as file:
        seen = []
        for record in lines.records(path):
            seen.append(record)
            file.write('{"n": 2}\n' * 1000)
            file.flush()
    assert seen == [{"n": 1}] * 3


def test_depth_and_digits_beyond_all_measure_are_lines_that_cannot_be_read(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.write_claude(CLAUDE, [said(1, "user", "hello"), said(2, "assistant", "yes")])
    with path.open("a") as file:
        file.write("[" * 200_000 + "\n")
        file.write('{"uuid":' + "9" * 10_000 + "}\n")
        file.write(json.dumps(said(3, "assistant", "\ud800 half")) + "\n")
    transcript = read_file(path)
    assert transcript.left_out[0].count == 2
    assert not transcript.complete

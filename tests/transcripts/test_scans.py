"""Lists of other tools' sessions: no more is read than a list needs; copies are there when originals are not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, text

from catena.settings.settings import Settings
from catena.settings.sources import known_places
from catena.settings.tables import AgentSetting
from catena_acp.transcripts import lines
from catena_acp.transcripts.copies import Copies
from catena_acp.transcripts.sources import KeptHeads, Scanner, places, read_file, read_session
from support.clients.command_line import Catena
from support.clients.imports import FORBIDDEN, imported
from support.clients.listed import said as said_in
from support.transcripts.homes import CLAUDE, CODEX, PROJECT, Home, said


@contextmanager
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How much is read, in how many pieces."""
    taken: list[int] = []

    def pread(number: int, length: int, at: int) -> bytes:
        data = os.pread(number, length, at)
        taken.append(len(data))
        return data

    with monkeypatch.context() as patched:
        patched.setattr(lines, "_pread", pread)
        yield taken


def session_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def many(home: Home, count: int, size: int) -> None:
    """Sessions that are prompts at both ends, and a long answer between."""
    for number in range(count):
        records = [
            said(1, "user", f"first {number}"),
            said(2, "assistant", "x" * size),
            said(3, "user", f"last {number}"),
        ]
        path = home.write_claude(session_id(number), records)
        os.utime(path, (number, number))


async def test_h06_only_the_ends_of_files_are_read_and_a_file_that_did_not_change_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    many(home, 30, 1_000_000)
    scanner = home.scanner()
    with bytes_read(monkeypatch) as taken:
        found = await scanner.sessions()
    assert sum(taken) < 30 * 150_000
    assert [each.first_prompt for each in found] == [f"first {number}" for number in range(29, -1, -1)]
    assert {each.last_prompt for each in found} == {f"last {number}" for number in range(30)}
    path = home.claude_file(session_id(7))
    with path.open("a") as file:
        file.write('{"type":"custom-title","customTitle":"named"}\n')
    with bytes_read(monkeypatch) as taken:
        again = await scanner.sessions()
    assert len(taken) <= 3
    assert [each.title for each in again if each.title] == ["named"]


async def test_h06_a_list_comes_in_batches_and_the_loop_goes_on_between_and_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    many(home, 100, 10)
    turns_of_loop = 0
    in_loop = asyncio.get_running_loop()

    def pread(number: int, length: int, at: int) -> bytes:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()  # nothing is read on it
        in_loop.call_soon_threadsafe(counted)
        return os.pread(number, length, at)

    def counted() -> None:
        nonlocal turns_of_loop
        turns_of_loop += 1

    monkeypatch.setattr(lines, "_pread", pread)
    sizes = [len(batch.sessions) async for batch in home.scanner().scan()]
    assert [size for size in sizes if size] == [40, 40, 20]
    assert turns_of_loop >= 100


async def test_a_session_that_lies_in_two_places_is_listed_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.write_claude(CLAUDE, [said(1, "user", "hello"), said(2, "assistant", "yes")])
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "home" / ".claude")
    both = (*places(home.environment), *places({"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(link)}))
    assert [each.session_id for each in await Scanner(both).sessions()] == [CLAUDE]


def test_m14_each_account_s_sessions_are_known_as_its_own() -> None:
    accounts = {
        "claude-work": AgentSetting(
            "claude-work", env=(("CLAUDE_CONFIG_DIR", "/work"),), agent="claude", profile="work"
        ),
        "mine": AgentSetting("mine", command=("mine",), env=(("CODEX_HOME", "/mine"),)),
    }
    found = [
        (str(place.root), place.profile) for place in known_places(Settings(agents=accounts), {"HOME": "/h"})
    ]
    assert found[:2] == [("/work", "work"), ("/h/.claude", "")]
    assert "/mine" not in str(found)


def test_h21_copies_outlive_their_originals_and_are_made_again_only_where_something_changed(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home").with_all()
    copies = Copies(tmp_path / "kept")
    scanner = Scanner(places(home.environment), also=copies.files)

    def listed() -> dict[str, str]:
        return {each.session_id: each.label for batch in scanner.batches() for each in batch.sessions}

    def keep() -> int:
        return copies.keep([each for batch in scanner.batches() for each in batch.sessions])

    before = listed()
    assert keep() == len(before) - 2  # OpenCode's database is not copied
    assert keep() == 0
    assert listed() == before
    path = home.claude_file(CLAUDE)
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"grown"}\n')
    assert keep() == 1
    kept = list((tmp_path / "kept/claude").glob(f"{CLAUDE}.*"))
    assert [each.read_bytes() for each in kept] == [path.read_bytes()]
    path.write_bytes(whole[:200])  # a stub, as some tools leave
    copies.keep([each for each in home.sessions().values() if each.session_id == CLAUDE])
    for each in ("claude", "codex"):
        for original in (tmp_path / "home").rglob("*.jsonl"):
            if f".{each}" in str(original):
                original.unlink()
    left = listed()
    assert {id: label for id, label in left.items() if "copy" in label} == {
        id: f"{label} (copy)" for id, label in before.items() if label in ("claude", "codex")
    }
    again = next(each for batch in scanner.batches() for each in batch.sessions if each.session_id == CLAUDE)
    assert (again.title, len(read_session(again).turns)) == ("grown", 7)
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "kept").rglob("*")}
    assert modes == {0}


_COPYING = """
import os, sys
from pathlib import Path
from catena_acp.transcripts.copies import Copies
from catena_acp.transcripts.sources import KeptHeads
from catena_acp.transcripts.sources import Scanner, places

at = int(sys.argv[3])
def counted(name, real=None):
    real = getattr(os, name) if real is None else real
    def step(*given, **named):
        global at
        at -= 1
        if at < 0:
            os.kill(os.getpid(), 9)
        return real(*given, **named)
    return step
os.fsync = counted("fsync")
os.utime = counted("utime")
Path.replace = counted("replace", Path.replace)
Path.unlink = counted("unlink", Path.unlink)
scanner = Scanner(places({"HOME": sys.argv[1]}))
Copies(Path(sys.argv[2])).keep([each for batch in scanner.batches() for each in batch.sessions])
"""


def test_h21_a_copy_is_there_whole_or_not_at_all_wherever_its_maker_is_killed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    path = home.write_claude(CLAUDE, [said(1, "user", "hello"), said(2, "assistant", "x" * 100_000)])
    kept = tmp_path / "kept"
    short = path.read_bytes()

    def copied(stop_at: int) -> int:
        command = [sys.executable, "-c", _COPYING, str(home.path), str(kept), str(stop_at)]
        return subprocess.run(command, check=False).returncode

    assert copied(100) == 0
    with path.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"grown"}\n')
    grown = path.read_bytes()
    for stop_at in range(100):
        status = copied(stop_at)
        contents = [each.read_bytes() for each in kept.rglob("*.jsonl")]
        assert contents
        assert set(contents) <= {short, grown}
        if status == 0:
            break
        assert status == -9
    assert grown in [each.read_bytes() for each in kept.rglob("*.jsonl")]
    (head,) = (each for batch in Scanner((), also=Copies(kept).files).batches() for each in batch.sessions)
    assert (head.title, head.copied) == ("grown", True)
    assert not list(kept.rglob("*.partial"))


def test_h04_catena_list_all_sources_has_each_conversation_once_with_its_source(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    Home(catena.home).with_all()
    said_in(catena, "ours", "a prompt of ours")
    rows = catena("list", "--all-sources", "--json").json
    assert {each["source"] for each in rows} == {"catena", "claude", "codex", "gemini", "qwen", "opencode"}
    assert rows[0]["id"] == "ours"
    codex = next(each for each in rows if each["id"] == CODEX)
    assert (codex["cwd"], codex["preview"], codex["messages"]) == (PROJECT, "hello one", None)
    assert codex["path"].endswith(f"{CODEX}.jsonl")
    assert [each["id"] for each in catena("list", "--json").json] == ["ours"]
    assert "source" not in catena("list", "--json").json[0]
    plain = catena("list", "--all-sources", "--limit", "3").out.splitlines()
    assert len(plain) == 3
    assert any(
        "(opencode)" in line and "12" in line for line in catena("list", "--all-sources").out.splitlines()
    )
    for number in range(5):
        (catena.home / f".codex/sessions/2026/11/23/rollout-{number}.jsonl").write_text("[]\n")
    told = catena("list", "--all-sources", "--json")
    assert (told.status, told.json) == (0, rows)
    assert [line.rpartition(": ")[2] for line in told.err.splitlines()] == [
        *3 * ["does not begin as Codex writes it"],
        "2 more files cannot be read",
    ]
    catena.settings("[history]\ncopies = true\n")
    catena("list", "--all-sources")
    assert len(list((catena.data / "transcripts").rglob("*.jsonl"))) == len(rows) - 3  # ours, and a database
    assert FORBIDDEN.isdisjoint(imported(catena, "list", "--all-sources"))


_LARGE = 600_000  # bytes: more than was ever read of a head


@pytest.mark.parametrize(
    "first",
    [
        said(1, "user", "a long paste: " + "word " * (_LARGE // 5)),
        said(
            1,
            "user",
            [
                {"type": "image", "source": {"data": "A" * _LARGE}},
                {"type": "text", "text": "a long paste: see"},
            ],
        ),
        said(1, "user", 'a long paste: \\" \u00e9\u20ac\U0001f600' + '\\"\u00e9\U0001f600' * (_LARGE // 8)),
    ],
    ids=["paste", "screenshot", "escapes"],
)
async def test_h06_a_session_whose_first_record_is_large_is_listed_and_read(
    tmp_path: Path, first: dict[str, Any]
) -> None:
    home = Home(tmp_path / "home")
    snapshot = {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": "x" * _LARGE}}
    home.write_claude(CLAUDE, [snapshot, first, said(2, "assistant", "x" * _LARGE)])
    (session,) = await home.scanner().sessions()
    assert session.first_prompt.startswith("a long paste: ")
    assert session.cwd == PROJECT
    (turn,) = read_session(session).turns
    assert turn.prompt is not None and "a long paste: " in turn.prompt.text
    assert read_file(session.path or tmp_path).session.session_id == CLAUDE


async def test_h06_a_session_in_which_something_is_said_late_is_listed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    snapshots = [{"type": "file-history-snapshot", "snapshot": {"files": ["x" * 90] * 1000}}] * 8
    behind = [{"type": "attachment", "attachment": "x" * _LARGE}]
    home.write_claude(CLAUDE, [*snapshots, said(1, "user", "late"), *behind, *behind])
    (session,) = await home.scanner().sessions()
    assert (session.first_prompt, session.last_prompt) == ("late", "late")


@given(
    texts=lists(text(max_size=60), max_size=8),
    repeated=integers(1, 40),
    block=integers(1, 64),
    large=integers(8, 50),
)
def test_h06_of_a_long_line_only_the_ends_of_its_large_texts_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], repeated: int, block: int, large: int
) -> None:
    record = {"type": "user", "texts": [each * repeated for each in texts], "end": {"is": [1, None, "there"]}}
    path = tmp_path_factory.mktemp("lines") / "lines.jsonl"
    ascii = repeated % 2 == 0
    path.write_text(f"{json.dumps(record, ensure_ascii=ascii)}\n{{}}", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched, lines.opened(path) as (file, _):
        for name, value in (
            ("_BLOCK", block),
            ("_LARGE_BLOCK", block),
            ("_LONG_LINE", 0),
            ("_LARGE_TEXT", large),
        ):
            patched.setattr(lines, name, value)
        first, second = lines.head_lines(file, None)
    read = json.loads(first)
    assert json.loads(second) == {}
    assert (read["type"][:1], read["end"]["is"][:2]) == ("u", [1, None])
    for whole, kept in zip(record["texts"], read["texts"], strict=True):
        # Half of a pair of escapes may stand at the end.
        assert whole.encode("utf-16-le", "surrogatepass").startswith(
            kept.encode("utf-16-le", "surrogatepass")
        )
        assert len(json.dumps(kept, ensure_ascii=ascii).encode("utf-8", "surrogatepass")) <= large + 2


async def test_h25_another_process_reads_only_the_heads_of_files_that_have_changed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home").with_all()
    many(home, 5, 10)
    file = tmp_path / "data" / "heads.json"

    def scanner() -> Scanner:
        return Scanner(places(home.environment), kept=KeptHeads(file))

    found = await scanner().sessions()
    assert file.stat().st_mode & 0o777 == 0o600
    with bytes_read(monkeypatch) as taken:
        assert await scanner().sessions() == found == await home.scanner().sessions()
    assert taken  # by the scanner without a file
    with bytes_read(monkeypatch) as taken:
        assert await scanner().sessions() == found
    assert not taken
    path = home.claude_file(session_id(3))
    with path.open("a") as transcript:
        transcript.write('{"type":"custom-title","customTitle":"named"}\n')
    with bytes_read(monkeypatch) as taken:
        again = await scanner().sessions()
    assert 0 < len(taken) <= 3 and [each.title for each in again].count("named") == 1
    path.unlink()
    assert len(await scanner().sessions()) == len(found) - 1
    assert session_id(3) not in file.read_text()


@pytest.mark.parametrize("damage", ["", "null", "[]", '{"readers": 1}', "other readers", "other fields"])
async def test_h25_heads_that_cannot_be_believed_are_read_again(tmp_path: Path, damage: str) -> None:
    home = Home(tmp_path / "home").with_all()
    file = tmp_path / "heads.json"
    found = await Scanner(places(home.environment), kept=KeptHeads(file)).sessions()
    kept = json.loads(file.read_text())
    for path in kept["files"]:
        kept["files"][path][2] = [{"title": "invented"}]
    if damage == "other readers":
        kept["readers"] = []
    file.write_text(json.dumps(kept) if damage.startswith("other") else damage)
    assert await Scanner(places(home.environment), kept=KeptHeads(file)).sessions() == found


async def test_h25_a_name_that_codex_gave_a_session_comes_in_although_its_file_did_not_change(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home").with_all()
    scanner = Scanner(places(home.environment), kept=KeptHeads(tmp_path / "heads.json"))
    assert CODEX in {each.session_id for each in await scanner.sessions()}
    index = tmp_path / "home" / ".codex" / "session_index.jsonl"
    index.write_text(json.dumps({"id": CODEX, "thread_name": "renamed"}) + "\n")
    assert [each.title for each in await scanner.sessions() if each.session_id == CODEX] == ["renamed"]

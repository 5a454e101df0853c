"""The files that an agent may read and write through us."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from catena_acp.errors import FileRefused
from catena_acp.protocol.files import MAX_READ, FileAccess
from support.clients.protocol import HELLO, answer_to, heard, place, scripted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "secret").write_text("secret")
    return root


@pytest.fixture
def files(root: Path) -> FileAccess:
    return FileAccess((root,))


async def answered(tmp_path: Path, files: FileAccess | None, method: str, **params: Any) -> dict[str, Any]:
    """Our answer to a request that an agent makes in the middle of a prompt."""
    script = f"""
    def session_prompt(agent, request):
        agent.ask("f", {method!r}, sessionId="s1", **{params!r})
        while agent.read().get("id") != "f":
            pass
        agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
    """
    async with scripted(tmp_path, script, files=files) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        await agent.prompt(session_id, HELLO)
    answer = answer_to(tmp_path, "f")
    assert answer is not None
    return answer


async def test_w10_an_agent_reads_a_file_of_the_conversation(
    tmp_path: Path, root: Path, files: FileAccess
) -> None:
    path = str(root / "a.txt")
    answer = await answered(tmp_path, files, "fs/read_text_file", path=path, line=2, limit=1)
    assert answer["result"] == {"content": "two\n"}
    assert heard(tmp_path, "initialize")[0]["params"]["clientCapabilities"]["fs"] == {
        "readTextFile": True,
        "writeTextFile": True,
    }


async def test_w10_an_agent_writes_a_file_of_the_conversation(
    tmp_path: Path, root: Path, files: FileAccess
) -> None:
    path = root / "new" / "b.txt"
    answer = await answered(tmp_path, files, "fs/write_text_file", path=str(path), content="ü")
    assert "error" not in answer
    assert path.read_text() == "ü"


async def test_w10_a_refusal_reaches_the_agent_in_words(
    tmp_path: Path, root: Path, files: FileAccess
) -> None:
    path = f"{root}/../secret"
    answer = await answered(tmp_path, files, "fs/read_text_file", path=path)
    assert answer["error"]["code"] == -32602
    assert "outside" in answer["error"]["message"]


async def test_w10_a_file_that_is_not_there_is_told_as_such(
    tmp_path: Path, root: Path, files: FileAccess
) -> None:
    answer = await answered(tmp_path, files, "fs/read_text_file", path=str(root / "gone"))
    assert answer["error"]["code"] == -32002


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file"])
async def test_w10_files_that_are_switched_off_are_not_offered(
    tmp_path: Path, root: Path, method: str
) -> None:
    answer = await answered(tmp_path, None, method, path=str(root / "a.txt"), content="x")
    assert answer["error"]["code"] == -32601
    assert (root / "a.txt").read_text().startswith("one")


async def test_w10_writing_alone_can_be_switched_off(tmp_path: Path, root: Path) -> None:
    files = FileAccess((root,), writable=False)
    answer = await answered(tmp_path, files, "fs/write_text_file", path=str(root / "a.txt"), content="x")
    assert answer["error"]["code"] == -32601
    offered = heard(tmp_path, "initialize")[0]["params"]["clientCapabilities"]["fs"]
    assert offered == {"readTextFile": True}
    with pytest.raises(FileRefused):
        files.write(str(root / "a.txt"), "x")


async def test_an_agent_that_must_read_a_file_before_it_makes_one_reads_an_empty_one(
    tmp_path: Path, root: Path, files: FileAccess
) -> None:
    script = f"""
    def initialize(agent, request):
        agent.send(agent.result(request, {{"protocolVersion": 1, "agentInfo": {{"name": "gemini-cli"}}}}))
    def session_prompt(agent, request):
        agent.ask("f", "fs/read_text_file", sessionId="s1", path={str(root / "gone")!r})
        while agent.read().get("id") != "f":
            pass
        agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
    """
    async with scripted(tmp_path, script, files=files) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        await agent.prompt(session_id, HELLO)
    answer = answer_to(tmp_path, "f")
    assert answer is not None
    assert answer["result"] == {"content": ""}


# Confinement.


def test_w10_links_and_dots_lead_nowhere_outside(tmp_path: Path, root: Path, files: FileAccess) -> None:
    (root / "file-link").symlink_to(tmp_path / "secret")
    (root / "dir-link").symlink_to(tmp_path)
    (root / "dangling").symlink_to(tmp_path / "made-by-us")
    (root / "loop").symlink_to(root / "loop")
    for path in (
        "../secret",
        "file-link",
        "dir-link/secret",
        "missing/../../secret",
        "dangling",
        "dir-link/new/file",
        "loop",
        "loop/x",
    ):
        with pytest.raises(FileRefused):
            files.read(f"{root}/{path}")
        with pytest.raises(FileRefused):
            files.write(f"{root}/{path}", "x")
    assert (tmp_path / "secret").read_text() == "secret"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["project", "secret"]


def test_w10_a_neighbour_with_the_same_beginning_is_outside(root: Path, files: FileAccess) -> None:
    neighbour = root.with_name("project-2")
    neighbour.mkdir()
    with pytest.raises(FileRefused, match="outside"):
        files.write(str(neighbour / "x"), "x")


@pytest.mark.parametrize("path", ["a.txt", "", "~/x", "/x\0y"])
def test_a_path_that_is_not_absolute_is_refused(files: FileAccess, path: str) -> None:
    with pytest.raises(FileRefused, match="absolute"):
        files.read(path)


def test_w10_links_within_the_directories_are_followed_and_stay_links(root: Path) -> None:
    other = root.with_name("other")
    other.mkdir()
    (root / "link").symlink_to(other)
    files = FileAccess((root, other))
    files.write(str(root / "link" / "f"), "x")
    assert (other / "f").read_text() == "x"
    (root / "file-link").symlink_to(other / "f")
    files.write(str(root / "file-link"), "y")
    assert (other / "f").read_text() == "y"
    assert (root / "file-link").is_symlink()


def test_what_is_no_regular_file_is_refused_at_once(root: Path, files: FileAccess) -> None:
    os.mkfifo(root / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(FileRefused, match="cannot be read"):
            files.read(str(root / name))
    with pytest.raises(FileRefused, match="cannot be written"):
        files.write(str(root), "x")


# Reading and writing.


def test_lines_are_counted_from_one(root: Path, files: FileAccess) -> None:
    path = str(root / "a.txt")
    assert files.read(path) == "one\ntwo\nthree\n"
    assert files.read(path, limit=2) == "one\ntwo\n"
    assert files.read(path, line=3) == "three\n"
    assert files.read(path, line=0, limit=1) == "one\n"
    assert files.read(path, line=9) == ""
    assert files.read(path, line=1, limit=0) == ""


def test_a_file_that_is_too_large_is_refused_but_some_of_its_lines_are_not(
    root: Path, files: FileAccess
) -> None:
    line = "x" * 999 + "\n"
    (root / "big").write_text(line * (MAX_READ // 1000 + 10))
    with pytest.raises(FileRefused, match="ask for some of its lines"):
        files.read(str(root / "big"))
    assert files.read(str(root / "big"), line=MAX_READ // 1000, limit=2) == line * 2


def test_a_file_that_is_no_text_is_refused(root: Path, files: FileAccess) -> None:
    (root / "binary").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(FileRefused, match="not a text file"):
        files.read(str(root / "binary"))


def test_a_file_that_is_replaced_keeps_its_permissions_and_leaves_nothing_beside_it(
    root: Path, files: FileAccess
) -> None:
    path = root / "a.txt"
    path.chmod(0o750)
    files.write(str(path), "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o750
    assert [entry.name for entry in root.iterdir()] == ["a.txt"]

"""The files that an agent may read and write through us."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catena_acp.errors import FileRefused
from catena_acp.port.session_events import Event, TextChunk, ToolCallChanged
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


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file"])
async def test_w10_a_session_that_is_not_open_is_served_no_file(
    tmp_path: Path, root: Path, files: FileAccess, method: str
) -> None:
    path = root / "a.txt"
    script = f"""
    def session_prompt(agent, request):
        for session in ("other", "s1"):
            agent.ask(session, {method!r}, sessionId=session, path={str(path)!r}, content="new")
            while agent.read().get("id") != session:
                pass
        agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
    """
    async with scripted(tmp_path, script, files=files) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        assert session_id == "s1"
        await agent.prompt(session_id, HELLO)
    refused, served = answer_to(tmp_path, "other"), answer_to(tmp_path, "s1")
    assert refused is not None
    assert refused["error"]["message"] == "no such session is open"
    assert served is not None
    assert "error" not in served


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


def at_a_call(monkeypatch: pytest.MonkeyPatch, name: str, event: Callable[[], None]) -> None:
    """Let something happen once, as another process would do it, right after a call of ``os`` or ``os.path``."""
    module = os.path if hasattr(os.path, name) else os
    real = getattr(module, name)
    events = [event]

    def call(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        if events:
            events.pop()()
        return result

    monkeypatch.setattr(module, name, call)


def swapped(directory: Path, outside: Path) -> Callable[[], None]:
    """The act of swapping a directory for a link to another one."""

    def swap() -> None:
        directory.rename(directory.with_name("aside"))
        directory.symlink_to(outside)

    return swap


def test_w10_a_directory_that_is_swapped_for_a_link_after_it_was_looked_at_leads_nowhere(
    tmp_path: Path, root: Path, files: FileAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret")
    for name in ("read", "written"):
        (root / name).mkdir()
        (root / name / "f").write_text("ours")
    at_a_call(monkeypatch, "realpath", swapped(root / "read", outside))
    with pytest.raises(FileRefused):
        files.read(str(root / "read" / "f"))
    (root / "aside").rename(root / "before")
    at_a_call(monkeypatch, "realpath", swapped(root / "written", outside))
    with pytest.raises(FileRefused):
        files.write(str(root / "written" / "new" / "f"), "planted")
    assert [entry.name for entry in outside.iterdir()] == ["f"]


def test_w10_a_directory_that_is_swapped_for_a_link_as_it_is_made_leads_nowhere(
    tmp_path: Path, root: Path, files: FileAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    at_a_call(monkeypatch, "mkdir", swapped(root / "new", outside))
    with pytest.raises(FileRefused):
        files.write(str(root / "new" / "f"), "planted")
    assert not list(outside.iterdir())


def test_w10_a_directory_that_is_moved_away_during_a_write_takes_the_file_with_it(
    tmp_path: Path, root: Path, files: FileAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "sub").mkdir()
    at_a_call(monkeypatch, "fsync", swapped(root / "sub", outside))
    files.write(str(root / "sub" / "f"), "ours")
    assert not list(outside.iterdir())
    assert [entry.read_text() for entry in (root / "aside").iterdir()] == ["ours"]


def test_w10_a_root_that_is_swapped_for_a_link_is_no_root_any_more(tmp_path: Path, root: Path) -> None:
    (root / "lib").mkdir()
    files = FileAccess((root,)).with_roots((root / "lib",))
    swapped(root / "lib", tmp_path)()
    with pytest.raises(FileRefused, match="outside"):
        files.read(str(root / "lib" / "secret"))


def test_w10_a_root_under_another_name_is_the_same_directory(tmp_path: Path, root: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    files = FileAccess((tmp_path / "alias",))
    for name in ("alias", "project"):
        files.write(str(tmp_path / name / "f"), name)
        assert files.read(str(tmp_path / "alias" / "f")) == name


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


def test_w10_a_file_that_is_replaced_loses_the_right_to_run_as_its_owner(
    root: Path, files: FileAccess
) -> None:
    path = root / "a.txt"
    path.chmod(0o6755)
    files.write(str(path), "#!/bin/sh")
    assert path.stat().st_mode & 0o7777 == 0o755


def test_a_file_whose_name_is_as_long_as_names_may_be_is_written(root: Path, files: FileAccess) -> None:
    path = root / ("ü" * 127)
    files.write(str(path), "x")
    assert path.read_text() == "x"


def test_a_file_that_is_replaced_keeps_its_permissions_and_leaves_nothing_beside_it(
    root: Path, files: FileAccess
) -> None:
    path = root / "a.txt"
    path.chmod(0o750)
    files.write(str(path), "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o750
    assert [entry.name for entry in root.iterdir()] == ["a.txt"]


async def test_w10_a_write_is_brought_to_its_end_though_the_agent_takes_its_request_back(
    tmp_path: Path, root: Path, files: FileAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"""
    import time

    def session_prompt(agent, request):
        agent.ask("f", "fs/write_text_file", sessionId="s1", path={str(root / "new.txt")!r}, content="new")
        while not os.path.exists("writing"):
            time.sleep(0.005)
        agent.send({{"method": "$/cancel_request", "params": {{"requestId": "f"}}}})
        agent.send(agent.text(request["params"]["sessionId"], "taken back"))
        while agent.read().get("id") != "f":
            pass
        agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
    """
    heard_of, true = threading.Event(), FileAccess.write

    def slow(self: FileAccess, path: str, content: str) -> Any:
        (tmp_path / "writing").touch()
        assert heard_of.wait(60)
        return true(self, path, content)

    monkeypatch.setattr(FileAccess, "write", slow)
    async with scripted(tmp_path, script, files=files) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []

        def listen(event: Event) -> None:
            events.append(event)
            if isinstance(event, TextChunk):
                heard_of.set()

        agent.listen(session_id, listen)
        await agent.prompt(session_id, HELLO)
    assert (root / "new.txt").read_text() == "new"
    (told,) = [event for event in events if isinstance(event, ToolCallChanged)]
    assert told.status == "completed"
    assert (answer_to(tmp_path, "f") or {}).get("error") is None

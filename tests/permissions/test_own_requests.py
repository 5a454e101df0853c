"""What Catena itself does for an agent leaves a trace: what ran or was written, and whether anybody was asked."""

from __future__ import annotations

import os
import shlex
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from catena_acp.errors import FileRefused
from catena_acp.permissions.own_request_policy import OwnRequests
from catena_acp.permissions.own_requests import Unshown
from catena_acp.protocol.files import FileAccess
from catena_acp.spoken.call import Call
from catena_store.records import Kind
from support.clients.command_line import Catena
from support.clients.on_terminal import on_terminal
from support.clients.protocol import AGENT, answer_to, spec
from support.conversations.rehearsed import Desk, World

# The word says what the agent does: `bare` runs and writes without a word, `other` tells of another command and shows
# the terminal below it, `told` tells of just that, `asked` asks first.
ACTS = """
import os

def call(agent, s, **fields):
    agent.send(agent.update(s, "tool_call", **fields))

def request(agent, number, method, **params):
    agent.ask(number, method, **params)
    while (answer := agent.read()).get("id") != number:
        pass
    return answer.get("result") or {}

def session_prompt(agent, prompt):
    s, word = prompt["params"]["sessionId"], prompt["params"]["prompt"][-1]["text"].split()[-1]
    told = {"told": "echo hi", "asked": "echo hi", "other": "git status", "behind": "echo hi"}.get(word)
    at = os.getcwd() + "/made.txt"
    if told and word != "behind":
        call(agent, s, toolCallId="r", title="Run it", kind="execute", rawInput={"command": told})
    if word == "asked":
        options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
        request(agent, 7, "session/request_permission", sessionId=s, toolCall={"toolCallId": "r"}, options=options)
    run = request(agent, 8, "terminal/create", sessionId=s, command="echo", args=["hi"])
    if told and run:
        shown = [{"type": "terminal", "terminalId": run["terminalId"]}]
        if word == "behind":
            call(agent, s, toolCallId="r", title="Run it", kind="execute", rawInput={"command": told}, content=shown)
        agent.send(agent.update(s, "tool_call_update", toolCallId="r", content=shown))
    if run:
        request(agent, 9, "terminal/wait_for_exit", sessionId=s, terminalId=run["terminalId"])
    if told and run:
        agent.send(agent.update(s, "tool_call_update", toolCallId="r", status="completed"))
    if word == "told":
        call(agent, s, toolCallId="w", title="Write it", kind="edit", locations=[{"path": at}])
    request(agent, 10, "fs/write_text_file", sessionId=s, path=at, content="new\\n")
    agent.send(agent.text(s, "done"), agent.result(prompt, {"stopReason": "end_turn"}))
"""


def client(place: Path) -> AbstractAsyncContextManager[Desk]:
    world = World(place)
    (world.project / "made.txt").write_text("old\n")
    return world.client(specs={"scripted": spec(place, ACTS)}, agent="scripted", rules=())


async def calls(desk: Desk) -> list[tuple[str, list[str], bool]]:
    rows = [row for row in await desk.branch() if row.kind is Kind.TOOL]
    calls = [(row.text, Call(row.data)) for row in rows]
    return [(text, list(call.notes), call.unlike) for text, call in calls]


UNASKED = "this for the agent · not asked"


@pytest.mark.parametrize(
    ("word", "found"),
    [
        (
            "bare",
            [
                ("echo hi", [f"Catena ran {UNASKED}"], False),
                ("Write {at}", [f"Catena wrote {UNASKED}"], False),
            ],
        ),
        (
            "other",
            [
                ("Run it", ["Catena ran echo hi · not asked"], True),
                ("echo hi", [f"Catena ran {UNASKED}"], False),
                ("Write {at}", [f"Catena wrote {UNASKED}"], False),
            ],
        ),
        (
            "told",
            [
                ("Run it", [f"Catena ran {UNASKED}"], False),
                ("Write it", [f"Catena wrote {UNASKED}"], False),
            ],
        ),
        (
            "behind",
            [
                ("echo hi", [f"Catena ran {UNASKED}"], False),
                ("Write {at}", [f"Catena wrote {UNASKED}"], False),
            ],
        ),
        ("asked", [("Run it", [], False), ("Write {at}", [f"Catena wrote {UNASKED}"], False)]),
    ],
)
async def test_v05_what_catena_ran_or_wrote_is_a_row_or_a_line_of_its_calls_row(
    tmp_path: Path, word: str, found: list[tuple[str, list[str], bool]]
) -> None:
    async with client(tmp_path) as desk:
        await desk.say(word, answer="yes")
        at = tmp_path / "project" / "made.txt"
        assert await calls(desk) == [(text.format(at=at), notes, unlike) for text, notes, unlike in found]
        rows = {row.text: row.data for row in await desk.branch() if row.kind is Kind.TOOL}
        assert at.read_text() == "new\n"
        if word != "told":
            assert rows[f"Write {at}"]["content"] == [
                {"type": "diff", "path": str(at), "old": "old\n", "new": "new\n"}
            ]
        if word in ("bare", "other"):
            ran = rows["echo hi"]
            assert (ran["status"], ran["content"][0]["output"], ran["content"][0]["exit_code"]) == (
                "completed",
                "hi",
                0,
            )


def program(place: Path, policy: str) -> tuple[Catena, list[str]]:
    catena = Catena(place)
    catena.environment |= {"SCRIPT": ACTS, "HEARD": str(place / "heard")}
    catena.environment["XDG_STATE_HOME"] = str(place / "state")
    (catena.config / "config.toml").write_text(f'[permissions]\nown_requests = "{policy}"\n')
    return catena, ["run", "--agent-command", shlex.join(AGENT), "--permissions", "allow"]


def refused(place: Path, number: int) -> str:
    answer = answer_to(place, number)
    return str(answer["error"]["message"]) if answer and "error" in answer else ""


def test_v05_refused_is_what_no_question_covered_and_what_one_covered_is_done(tmp_path: Path) -> None:
    catena, run = program(tmp_path, "refuse")
    why = "the settings refuse what no permission request covered: ask for it first"
    assert catena(*run, "bare").status == 0
    assert (refused(tmp_path, 8), refused(tmp_path, 10)) == (why, why)
    (tmp_path / "heard").unlink()
    assert catena(*run, "asked").status == 0
    assert (refused(tmp_path, 8), refused(tmp_path, 10)) == ("", why)


def test_v05_asked_is_what_no_question_covered(tmp_path: Path) -> None:
    catena, run = program(tmp_path, "ask")
    with on_terminal(catena, *run[:3], "bare") as terminal:
        terminal.wait_for("1-2? ")
        assert (
            "? Allow running this command?\r\n  $ echo hi\r\n  Catena would do it for the agent"
            in terminal.seen
        )
        terminal.type("2\n")
        terminal.wait_for("1-2? ", 2)
        assert "+new" in terminal.seen and not (catena.project / "made.txt").exists()
        terminal.type("1\n")
        assert terminal.status() == 4
    assert refused(tmp_path, 8) == "it was rejected"
    assert (catena.project / "made.txt").read_text() == "new\n"
    shown = catena("show", catena("list", "--json").json[0]["id"]).out
    assert "not asked" not in shown and "✓ Run echo hi" not in shown
    assert "✓ Edit made.txt\n  Catena wrote this for the agent\n" in shown


@pytest.mark.parametrize(
    ("before", "shown", "hidden"),
    [
        ("old\n", "-old\r\n  +new", "it replaces"),
        ("x" * 300_000, "it replaces a file that is too large to be shown", "xxx"),
        ("\0secret", "it replaces a file that is not text", "secret"),
    ],
)
def test_w07_a_question_shows_what_an_overwrite_changes(
    tmp_path: Path, before: str, shown: str, hidden: str
) -> None:
    catena, run = program(tmp_path, "ask")
    (catena.project / "made.txt").write_text(before)
    with on_terminal(catena, *run[:3], "bare") as terminal:
        terminal.wait_for("1-2? ")
        terminal.type("2\n")
        terminal.wait_for("1-2? ", 2)
        assert shown in terminal.seen and "+new" in terminal.seen and hidden not in terminal.seen
        terminal.type("1\n")
        assert terminal.status() == 4
    assert (catena.project / "made.txt").read_text() == "new\n"
    told = catena("show", catena("list", "--json").json[0]["id"]).out
    assert "✓ Edit made.txt\n  Catena wrote this for the agent\n" in told


def test_w07_what_a_question_shows_of_a_file_never_leaves_the_directories(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside.txt", tmp_path / "in"
    outside.write_text("secret\n")
    inside.mkdir()
    (inside / "link.txt").symlink_to(outside)
    (inside / "away").symlink_to(tmp_path)
    files = FileAccess((inside,))
    for path in (
        outside,
        inside / "link.txt",
        inside / "away" / "outside.txt",
        inside / ".." / "outside.txt",
    ):
        with pytest.raises(FileRefused, match="outside"):
            files.before(str(path))
    os.mkfifo(inside / "pipe")
    assert files.before(str(inside / "pipe")) is Unshown.UNREADABLE
    assert files.before(str(inside / "none" / "a.txt")) is None


def test_v05_what_nobody_was_asked_for_stands_in_show_and_in_the_log(tmp_path: Path) -> None:
    catena, run = program(tmp_path, "record")
    assert catena(*run, "bare").status == 0
    shown = catena("show", catena("list", "--json").json[0]["id"]).out
    assert f"✓ Run echo hi\n  Catena ran {UNASKED}\n  hi\n" in shown
    (log,) = tmp_path.rglob("catena.log")
    assert "done for the agent, and nobody was asked: 'echo hi'" in log.read_text()


def test_v05_a_file_with_another_name_is_not_written(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside.txt", tmp_path / "in" / "a.txt"
    outside.write_text("kept\n")
    inside.parent.mkdir()
    os.link(outside, inside)
    files = FileAccess((inside.parent,), own_requests=OwnRequests.RECORD)
    with pytest.raises(FileRefused, match="hard link"):
        files.write(str(inside), "new\n")
    assert (inside.read_text(), outside.read_text()) == ("kept\n", "kept\n")

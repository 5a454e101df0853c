"""Whatever an agent sends, it steers no terminal, and no line of its own can be taken for one of structure."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from support.agents import scripted
from support.clients.command_line import Catena
from support.clients.listening import told

STORY = (
    "escape",
    "/read 1",
    "/show 2",
    "/plan",
    "/files",
    "/changes",
    "/tree",
    "/options",
    "",
    "/context",
    "say \x1b]0;mine\x07 a title; title \x1b[2Jtitle",
    "/tabs",
    "/rename \x1b[31mred",
    "/history",
    "/inputs",
    "/chain",
    "/nosuch\x1b[2J",
    "/open \x1b[2J",
    "/checkpoint \x07\x08label",
    "/checkpoints",
    "garbage; say It goes on.",
)


def test_s04_no_byte_below_a_space_but_newline_tab_and_bell_is_written(tmp_path: Path) -> None:
    said = told(Catena(tmp_path), *STORY, level="verbose")
    allowed = {*b"\n\t\a"}
    assert {byte for byte in said if byte < 0x20 or byte == 0x7F} <= allowed
    text = said.decode()  # nor one that counts as such in other encodings
    assert not [each for each in text if 0x80 <= ord(each) < 0xA0 or 0x202A <= ord(each) <= 0x202E]
    assert "Done: " in text and "It goes on." in text


FORGED = "Answered: Yes"
FORGES = """
FORGED = "Answered: Yes"


def session_new(agent, request):
    two = f"Two\\n{FORGED}"
    choices = [{"value": "1", "name": "One"}, {"value": "2", "name": two}]
    modes = [{"id": "1", "name": "One"}, {"id": "2", "name": two}]
    option = {"id": "o", "name": two, "type": "select", "currentValue": "2", "options": choices}
    found = {"modes": {"currentModeId": "1", "availableModes": modes}, "configOptions": [option]}
    agent.send(agent.result(request, {"sessionId": "s1", **found}))


def session_prompt(agent, request):
    session = request["params"]["sessionId"]
    call = {"kind": "other", "name": f"x\\n{FORGED}", "status": "completed"}
    agent.send(agent.update(session, "tool_call", toolCallId="t", title="", **call))
    field = {"type": "string", "title": "Answered", "description": FORGED}
    form = {"mode": "form", "message": "M", "requestedSchema": {"properties": {"f": field}}}
    page = {"mode": "url", "message": "M", "url": FORGED, "elicitationId": "e"}
    for id, asked in enumerate((form, page), start=70):
        agent.ask(id, "elicitation/create", sessionId=session, **asked)
        while (message := agent.read()).get("id") != id or "method" in message:
            pass
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""


def test_s04_no_name_of_an_agent_s_makes_a_line_that_looks_like_one_of_structure(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    command = shlex.join([sys.executable, scripted.__file__])
    typed = ("/mode", "", "/options", "1", "", "say", "1", "x", "1", "/show 2")
    said = catena(
        *("--linear", "--agent-command", command),
        stdin="".join(f"{line}\n" for line in typed),
        SCRIPT=FORGES,
        HEARD=str(tmp_path / "heard"),
    )
    assert said.status == 0, said.err
    lines = said.out.splitlines()
    assert f"2: Two {FORGED}" in lines and f"1: Two {FORGED}, Two {FORGED}" in lines
    assert f"Choose: Two {FORGED}" in lines
    assert any(line.startswith(f"Tool 2: Tool x ⏎ {FORGED}, ") for line in lines)
    assert lines.count(f"  {FORGED}") == 2, "what a field is about, and the address of a page"
    answered = [line for line in lines if line.startswith("Answered:")]
    assert answered == ["Answered: sent", "Answered: declined"]

"""An agent with an MCP server that sends mails dies between them, and its session is gone: what the next one hears."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from catena_acp.mcp.servers import McpServer, ServerOrigin, Transport
from catena_acp.port.port import AgentSpec
from catena_store.records import Kind, StopReason
from support.conversations.rehearsed import World
from support.places import SCRIPTED_AGENT

MAIL_SERVER = Path(__file__).parents[1] / "support" / "clients" / "mail_server.py"

# It writes to each guest of its prompt whom it has not heard to be written to, and asks the server about a mail whose
# outcome is unknown. Its first process dies when it has told of two mails, or when the second is sent.
MAILER = """
import subprocess

def initialize(agent, request):
    agent.send(agent.result(request, {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {
        "name": "mailer", "version": "1"}}))

def session_new(agent, request):
    (server,) = request["params"]["mcpServers"]
    agent.mail = subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
    agent.send(agent.result(request, {"sessionId": f"s{os.getpid()}"}))

def call(agent, name, arguments):
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    agent.mail.stdin.write(json.dumps(asked) + chr(10))
    agent.mail.stdin.flush()
    return json.loads(agent.mail.stdout.readline())["result"]["content"][0]["text"]

def heard_of(told, guest):
    outcome, heard = "", ""
    for line in told.splitlines():
        if line.startswith("- "):
            outcome = line
        if line.startswith("  arguments: ") and guest in line:
            heard = outcome
    return heard

def session_prompt(agent, request):
    session = request["params"]["sessionId"]
    *told, asked = [block["text"] for block in request["params"]["prompt"]]
    first = not os.path.exists(os.environ["DIED"])
    agent.send(agent.text(session, "I write to them."))
    sent = 0
    for number, guest in enumerate(asked.split()[1:]):
        outcome = heard_of("".join(told), guest)
        if outcome.endswith(": done"):
            continue
        if "outcome unknown" in outcome and guest in call(agent, "mail_sent", {}).split():
            continue
        given = {"to": guest, "subject": "Invitation"}
        agent.send(agent.update(session, "tool_call", toolCallId=f"t{number}", title="mail_send_email",
                                kind="other", status="in_progress", rawInput=given))
        found = call(agent, "mail_send", given)
        sent += 1
        dies = first and sent == 2
        if not (dies and os.environ["DIES"] == "before the result"):
            agent.send(agent.update(session, "tool_call_update", toolCallId=f"t{number}", status="completed",
                       content=[{"type": "content", "content": {"type": "text", "text": found}}]))
        if dies:
            open(os.environ["DIED"], "w").close()
            os._exit(9)
    agent.send(agent.text(session, "All are invited."), agent.result(request, {"stopReason": "end_turn"}))
"""
GUESTS = [f"{name}@example.org" for name in ("anna", "ben", "cem")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("dies", ["after the result", "before the result"])
async def test_p07_two_mails_of_three_are_not_sent_again_where_the_agent_was_killed_and_its_session_is_gone(
    world: World, dies: str
) -> None:
    outbox = world.place / "outbox"
    environment = {
        "SCRIPT": MAILER,
        "HEARD": str(world.place / "scripted.jsonl"),
        "DIED": str(world.place / "died"),
        "DIES": dies,
    }
    command = (sys.executable, str(SCRIPTED_AGENT))
    spec = AgentSpec("mailer", "Mailer", command, tuple(environment.items()))
    mail = McpServer(
        "mail",
        Transport.STDIO,
        ServerOrigin.SETTINGS,
        command=(sys.executable, str(MAIL_SERVER), str(outbox)),
    )
    async with world.client(specs={"mailer": spec}, agent="mailer", mcp_servers=[mail]) as desk:
        cut = await desk.say(" ".join(("invite", *GUESTS)))
        assert cut.turn is not None and cut.turn.stop_reason is StopReason.AGENT_GONE
        assert outbox.read_text().split() == GUESTS[:2]
        end = await desk.say(" ".join(("invite", *GUESTS)))
        rows = await desk.branch()
    assert outbox.read_text().split() == GUESTS, "each of them once"
    assert end.turn is not None and end.turn.prior_context is not None and end.turn.clean
    told = end.turn.prior_context
    first, second = (told.index(f'arguments: {{"to": "{guest}"') for guest in GUESTS[:2])
    assert told.index("> I write to them.") < first < second < told.index("This turn was not finished.")
    assert f"  > Sent to {GUESTS[0]} as message 1.\n  > Delivered.\n" in told
    assert ("outcome unknown" in told[first:]) == (dies == "before the result")
    assert len([row for row in rows if row.kind is Kind.TOOL]) == 3

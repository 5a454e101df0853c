"""Everything that we send is what the protocol's JSON schema says; the schema comes with Claude's adapter.

``tests/rig/rig install claude`` installs it. Messages are those that an agent process read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from catena_acp.agents.running_agent import Agent
from catena_acp.port.session_events import (
    AudioBlock,
    Event,
    FileBlock,
    ImageBlock,
    LinkBlock,
    PermissionRequested,
    TextBlock,
)
from catena_acp.protocol.files import FileAccess
from support.agents.real import RIGS
from support.clients.protocol import heard, place, scripted, until

pytestmark = pytest.mark.real

Message = dict[str, Any]
KINDS = ("Request", "Response", "Notification")
SCHEMAS = RIGS / "node/claude/node_modules/@agentclientprotocol/sdk/schema/v1"
OFFERS_ALL = """
def initialize(agent, request):
    able = dict(CAPABILITIES, promptCapabilities={"image": True, "embeddedContext": True},
                mcpCapabilities={"http": True, "sse": True})
    able["sessionCapabilities"]["additionalDirectories"] = {}
    agent.send(agent.result(request, {"protocolVersion": 1, "agentCapabilities": able,
                                      "authMethods": [{"id": "key", "name": "Key"}]}))

def session_new(agent, request):
    agent.send(agent.result(request, {
        "sessionId": "s",
        "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]},
        "configOptions": [
            {"id": "effort", "name": "Effort", "type": "select", "currentValue": "low",
             "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]},
            {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False},
        ],
    }))

def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    if request["params"]["prompt"][0]["text"] == "stop":
        while agent.read().get("method") != "session/cancel":
            pass
        agent.send(agent.result(request, {"stopReason": "cancelled"}))
        return
    agent.ask("read", "fs/read_text_file", sessionId=s, path=PATH, line=1, limit=1)
    agent.ask("write", "fs/write_text_file", sessionId=s, path=PATH, content="b")
    agent.ask("ask", "session/request_permission", sessionId=s, toolCall={"toolCallId": "t"},
              options=[{"optionId": "y", "name": "Y", "kind": "allow_once"}])
    agent.ask("odd", "session/unheard_of", sessionId=s)
    left = {"read", "write", "ask", "odd"}
    while left:
        left.discard(agent.read().get("id"))
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""
ANSWERED = {
    "read": "fs/read_text_file",
    "write": "fs/write_text_file",
    "ask": "session/request_permission",
}


async def everything(agent: Agent, directory: Path) -> None:
    """Send every request that there is, and answer every one that an agent may make."""
    setup = place(
        directory,
        additional_directories=("/more",),
        mcp_servers=(
            {"name": "local", "command": "srv", "args": ["-v"], "env": [{"name": "A", "value": "b"}]},
            {"type": "http", "name": "far", "url": "http://h", "headers": [{"name": "a", "value": "b"}]},
        ),
    )
    await agent.authenticate("key")
    await agent.new_session(setup)
    events: list[Event] = []
    agent.listen("s", events.append)
    await agent.set_mode("s", "b")
    await agent.set_option("s", "effort", "high")
    await agent.set_option("s", "fast", True)
    turn = asyncio.create_task(
        agent.prompt(
            "s",
            (
                TextBlock("a text, and \ud800 half a character"),
                LinkBlock("file:///a/b.txt", "b.txt"),
                ImageBlock(b"\x89PNG", "image/png"),
                AudioBlock(b"RIFF", "audio/wav"),
                FileBlock("file:///a/b.txt", "text/plain", "text"),
                FileBlock("file:///a/b.bin", "application/octet-stream", b"\x00"),
            ),
        )
    )
    await until(lambda: any(isinstance(event, PermissionRequested) for event in events))
    (asked,) = (event for event in events if isinstance(event, PermissionRequested))
    agent.answer_permission(asked.ask_id, "y")
    await turn
    stopped = asyncio.create_task(agent.prompt("s", (TextBlock("stop"),)))
    await until(lambda: len(heard(directory, "session/prompt")) == 2)
    await agent.cancel("s")
    await stopped
    await agent.load_session("s", setup)
    await agent.resume_session("s", setup)
    await agent.fork_session("s", setup, at="m1")
    await agent.list_sessions(str(directory))
    await agent.list_sessions(cursor="next")
    await agent.close_session("s")
    await agent.delete_session("s")
    await agent.logout()


def definitions(schema: Message) -> Iterator[tuple[str, str, str]]:
    """The method, the kind of message and the name of each definition."""
    for name, definition in schema["$defs"].items():
        if method := definition.get("x-method"):
            yield method, next(kind for kind in KINDS if name.endswith(kind)), name


async def test_every_message_of_ours_is_valid_by_the_schema_of_the_protocol(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    async with scripted(
        tmp_path, f"PATH = {str(path)!r}\n{OFFERS_ALL}", files=FileAccess(roots=(tmp_path,))
    ) as agent:
        await everything(agent, tmp_path)
    schema = json.loads((SCHEMAS / "schema.unstable.json").read_text())  # forks are not in the other one
    named = {(method, kind): name for method, kind, name in definitions(schema)}
    checked = set()
    for message in heard(tmp_path):
        method = message.get("method") or ANSWERED.get(message["id"])
        if method is None:
            assert message["error"]["code"] == -32601
            continue
        kind = "Response" if "method" not in message else "Request" if "id" in message else "Notification"
        name = named[method, kind]
        content = message["result"] if kind == "Response" else message.get("params", {})
        Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"}).validate(content)
        checked.add(name)
    stable = json.loads((SCHEMAS / "schema.json").read_text())
    of_clients = {
        name
        for _, kind, name in definitions(stable)
        if kind != "Response" and stable["$defs"][name]["x-side"] == "agent"
    }
    assert not of_clients - checked
    assert {"RequestPermissionResponse", "ReadTextFileResponse", "ForkSessionRequest"} < checked

"""The record of what goes over the wire: both ways, bounded, without secrets, and in nobody's way."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from catena_acp.agents.agent import start_agent
from catena_acp.agents.running_agent import Agent
from catena_acp.port.port import SessionSetup
from catena_acp.port.session_events import TextBlock
from catena_acp.protocol import wire_record
from support.clients.protocol import spec
from support.json_lines import json_lines

OURS, GIVEN, HEADER, SERVER = (
    "key-of-our-shell",
    "value-of-a-setting",
    "Bearer abc-def-ghi",
    "password-of-a-server",
)
SECRETS = (OURS, GIVEN, HEADER, SERVER)
ECHO = """
def session_prompt(agent, request):
    agent.raw("a banner with " + os.environ["GIVEN"])
    for block in request["params"]["prompt"]:
        agent.send(agent.text(request["params"]["sessionId"], "you said " + block["text"]))
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""


async def started(tmp_path: Path, log: list[str], script: str = ECHO) -> Agent:
    own = {**os.environ, "CATENA_WIRE": str(tmp_path / "wire"), "SOME_API_KEY": OURS}
    given = spec(tmp_path, script, {"GIVEN": GIVEN})
    return await start_agent(given, cwd=str(tmp_path), client_version="0", environment=own, log=log.append)


def setup(tmp_path: Path) -> SessionSetup:
    servers: list[dict[str, Any]] = [
        {"name": "s", "command": "c", "args": [], "env": [{"name": "PLAIN", "value": SERVER}]},
        {"type": "http", "name": "h", "url": "http://h", "headers": [{"name": "X", "value": HEADER}]},
    ]
    return SessionSetup(str(tmp_path), mcp_servers=tuple(servers))


def recorded(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "wire").iterdir()
    return file


async def test_both_ways_of_an_agents_wire_are_recorded_without_secrets(tmp_path: Path) -> None:
    script = (
        ECHO
        + """
def initialize(agent, request):
    agent.send(agent.result(request, {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}}))
"""
    )
    agent = await started(tmp_path, [], script)
    session_id = (await agent.new_session(setup(tmp_path))).session_id
    await agent.prompt(session_id, [TextBlock(f"hello {' '.join(SECRETS)}")])
    await agent.stop()
    file = recorded(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    assert [secret for secret in SECRETS if secret in text] == []
    sent = [line["sent"]["method"] for line in json_lines(file) if "sent" in line]
    assert sent == ["initialize", "session/new", "session/prompt"]
    received = [line["received"] for line in json_lines(file) if "received" in line]
    assert "a banner with •••" in received
    said = [each["params"]["update"]["content"]["text"] for each in received if "params" in each]
    assert said == ["you said hello ••• ••• ••• •••"]
    assert received[-1]["result"] == {"stopReason": "end_turn"}


async def test_what_is_filled_in_in_a_form_is_not_recorded(tmp_path: Path) -> None:
    record = wire_record.WireRecord(tmp_path / "r", "a", (), print)
    record.sent(
        {"id": 1, "result": {"action": "accept", "content": {"pin": "12345678", "all": ["abcdefgh"]}}}
    )
    record.received({"method": "x", "params": {"text": "12345678 abcdefgh", "accessToken": "t", "tokens": 5}})
    record.close()
    _, sent, received = json_lines(tmp_path / "r")
    assert sent["sent"]["result"]["content"] == {"pin": "•••", "all": "•••"}
    assert received["received"]["params"] == {"text": "••• •••", "accessToken": "•••", "tokens": 5}


async def test_a_record_keeps_the_newest_messages_within_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_record, "MAX_BYTES", 20_000)
    record = wire_record.WireRecord(tmp_path / "r", "a", (), print)
    for number in range(500):
        record.received({"method": "x", "params": {"number": number, "text": "t" * 100}})
        assert (tmp_path / "r").stat().st_size <= 20_000
    record.received({"method": "x", "params": {"many": ["t" * 100] * 500}})
    record.close()
    first, *between, last = json_lines(tmp_path / "r")
    assert "older" in first["left out"]
    numbers = [line["received"]["params"]["number"] for line in between]
    assert numbers == list(range(numbers[0], 500))
    assert "message" in last["left out"]


async def test_a_full_disk_ends_the_record_and_disturbs_no_turn(tmp_path: Path) -> None:
    log: list[str] = []
    agent = await started(tmp_path, log)
    session_id = (await agent.new_session(setup(tmp_path))).session_id
    size, limits = recorded(tmp_path).stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
    try:
        ended = await agent.prompt(session_id, [TextBlock("hello")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert ended.stop_reason == "end_turn"
    assert (await agent.prompt(session_id, [TextBlock("again")])).stop_reason == "end_turn"
    await agent.stop()
    assert len([line for line in log if "not recorded any more" in line]) == 1


async def test_a_record_that_cannot_be_made_keeps_no_agent_from_starting(tmp_path: Path) -> None:
    (tmp_path / "wire").write_text("a file")
    log: list[str] = []
    agent = await started(tmp_path, log)
    await agent.stop()
    assert [line for line in log if "cannot be recorded" in line]


async def test_nothing_is_recorded_unless_it_is_asked_for(tmp_path: Path) -> None:
    agent = await start_agent(spec(tmp_path, ECHO, {"GIVEN": GIVEN}), cwd=str(tmp_path), client_version="0")
    await agent.stop()
    assert os.listdir(tmp_path) == ["heard"]  # noqa: PTH208

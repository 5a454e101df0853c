"""What an agent prints around its messages: the message within is heard, or what was printed is said."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from catena_acp.port.port import Limits
from catena_acp.port.session_events import NoticeReported
from catena_acp.protocol.framing import decode
from support.clients.protocol import HELLO, place, scripted, text_of, until

NOISY = """
import sys
BEFORE, BEHIND, END = %r, %r, %r
def raw(self, line):
    for each in line.split("\\n"):
        sys.stdout.buffer.write(BEFORE + each.encode() + BEHIND + END)
    sys.stdout.buffer.flush()
Agent.raw = raw
"""
KINDS = {
    "a byte order mark": (b"\xef\xbb\xbf", b""),
    "a title": (b"\x1b]0;claude {busy}\x07", b""),
    "a title with ST": (b"\x1b]2;x\x1b\\", b""),
    "a colour": (b"\x1b[32m", b""),
    "colours around": (b"\x1b[1;32m", b"\x1b[0m"),
    "a cleared screen": (b"\x1b[2J\x1b[H\x1b[?25l", b""),
    "a half log line": (b"2026-11-28 INFO starting [worker {1}]: ", b""),
    "a login prompt": (b"Password: ", b""),
    "a shell prompt": (b"\x1b[01;32mme@here\x1b[00m:~$ ", b""),
    "progress": (b"10%\r20%\r100%\r", b""),
    "NUL bytes": (b"\0\0", b"\0"),
    "backspaces": (b"\x08\x08 ", b""),
    "words behind": (b"", b" done."),
    "a semicolon": (b"", b";"),
    "an event stream": (b"data: ", b""),
    "an object of a log": (b'{"level": "info", "msg": "ready"} ', b""),
    "invalid UTF-8": (b"\xff\xfe\xc3", b"\xe2\x82"),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_r10_the_message_within_what_is_printed_around_it_is_heard(tmp_path: Path, kind: str) -> None:
    before, behind = KINDS[kind]
    async with scripted(tmp_path, NOISY % (before, behind, b"\n")) as agent:
        assert agent.abilities.name == "scripted"
        heard: list[Any] = []
        session_id = (await agent.new_session(place(tmp_path))).session_id
        agent.listen(session_id, heard.append)
        await agent.prompt(session_id, HELLO)
    assert text_of(heard) == "you said hello"


@pytest.mark.parametrize("end", [b"", b"\r"])
async def test_r10_a_message_without_the_end_of_its_line_is_heard_once_it_is_quiet(
    tmp_path: Path, end: bytes
) -> None:
    async with scripted(tmp_path, NOISY % (b"", b"", end), limits=Limits(quiet=0.02)) as agent:
        assert (await agent.new_session(place(tmp_path))).session_id == "s1"


@pytest.mark.parametrize("printed", [b"Password: ", b"Please log in first.\n"])
async def test_r10_what_is_printed_instead_of_an_answer_is_said(tmp_path: Path, printed: bytes) -> None:
    script = f"""
    import sys
    def initialize(agent, request):
        sys.stdout.buffer.write({printed!r})
        sys.stdout.buffer.flush()
    """
    said: list[str] = []

    async def opened() -> None:
        async with scripted(tmp_path, script, limits=Limits(quiet=0.02), printed=said.append):
            raise AssertionError("it never answered")

    opening = asyncio.create_task(opened())
    await until(lambda: said or opening.done())
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert said == [f"Scripted printed: “{printed.decode().strip()}”"]


async def test_r10_what_is_printed_in_a_turn_is_a_notice_of_it_and_the_turn_goes_on(tmp_path: Path) -> None:
    script = """
    import sys
    def session_prompt(agent, request):
        sys.stdout.write("Continue? [y/N] ")
        sys.stdout.flush()
        cancel = agent.read()
        agent.send(agent.result(request, {"stopReason": "cancelled"}))
    """
    async with scripted(tmp_path, script, limits=Limits(quiet=0.02)) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        said: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def listen(event: object) -> None:
            if isinstance(event, NoticeReported) and not said.done():
                said.set_result(event.text)

        agent.listen(session_id, listen)
        prompt = asyncio.ensure_future(agent.prompt(session_id, HELLO))
        assert await said == "Scripted printed: “Continue? [y/N]”"
        await agent.cancel(session_id)
        assert (await prompt).stop_reason == "cancelled"


UPDATE = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"a": "{\n"}}}
OURS = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}


def found(line: bytes) -> list[Any]:
    return list(decode(line, lambda _reason: None))


def test_r10_what_a_log_repeats_of_ours_is_no_message_and_neither_is_one_within_another_object() -> None:
    assert found(b"DEBUG received " + json.dumps(OURS).encode()) == []
    assert found(b'x {"level": "debug", "message": ' + json.dumps(UPDATE).encode() + b"}") == []
    assert found(json.dumps(UPDATE).encode() * 3) == [UPDATE] * 3


def test_r10_any_noise_around_a_message_leaves_it_whole() -> None:
    chance = random.Random(23)
    pieces = [b"{", b"}", b"[", b'"', b'{"', b"\\", b"\x1b[31m", b"\xff", b"\0", b"x", b"\xe2\x80"]
    for _ in range(3_000):
        before, behind = (b"".join(chance.choices(pieces, k=chance.randrange(12))) for _ in range(2))
        message = json.dumps(UPDATE).encode()
        assert UPDATE in found(before + message + behind), (before, behind)


def test_r10_a_hostile_line_costs_no_more_than_its_length() -> None:
    for line in (b'{"a":' * 100_000, b'{"' * 100_000, b'x{"a":[' * 50_000, b'{"jsonrpc":"2.0"}' * 20_000):
        assert found(b"x" + line) == []

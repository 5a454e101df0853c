"""What an agent wrote before it exited, read by a client that is late or busy."""

from __future__ import annotations

import asyncio
import json
import os
import time

from catena_acp.protocol.transport import StdioTransport
from support.counted_work import waits_counted

_CHUNKS = 400


async def test_what_an_agent_wrote_before_it_exited_is_read_however_late_we_are() -> None:
    from_us, to_us = os.pipe()[1], os.pipe()
    transport = StdioTransport(allowed_methods=frozenset(), log=lambda line: None)
    held = os.dup(to_us[1])  # by a child that it left behind, so that its pipe does not end
    try:
        os.set_blocking(to_us[1], False)
        transport.connect(os.fdopen(from_us, "wb", 0), os.fdopen(to_us[0], "rb", 0))
        words = [{"jsonrpc": "2.0", "method": "_said", "params": {"at": at}} for at in range(_CHUNKS)]
        with os.fdopen(to_us[1], "wb", 0) as agent:
            agent.write("".join(json.dumps(each) + "\n" for each in words).encode())

        await transport.drain(quiet=0, limit=0)

        heard = []
        while (message := await transport.receive()) is not None:
            heard.append(message)
        assert transport.received_messages + transport.dropped.total() == _CHUNKS
        assert transport.drained.is_set()
    finally:
        os.close(held)
        await transport.close()


async def test_on_a_busy_machine_nothing_holds_back_the_last_messages_of_an_agent() -> None:
    from_us, to_us = os.pipe()[1], os.pipe()
    transport = StdioTransport(allowed_methods=frozenset(), log=lambda line: None, quiet=60)
    transport.connect(os.fdopen(from_us, "wb", 0), os.fdopen(to_us[0], "rb", 0))
    words = json.dumps({"jsonrpc": "2.0", "method": "_session/retrying", "params": {}}) + "\n"
    with os.fdopen(to_us[1], "wb", 0) as agent:
        agent.write(words.encode() * _CHUNKS)
        heard: list[object] = []
        begun = asyncio.Event()

        async def hear() -> None:
            while (message := await transport.receive()) is not None:
                if not begun.is_set():
                    asyncio.get_running_loop().call_soon(time.sleep, 0.2)  # it pauses for as long, soon
                    begun.set()
                heard.append(message)

        hearing = asyncio.create_task(hear())
        await begun.wait()
        with waits_counted() as waits:
            await asyncio.sleep(0)
            await transport.drain(quiet=0, limit=0)
            await hearing
    assert len(heard) == _CHUNKS
    assert not waits
    await transport.close()

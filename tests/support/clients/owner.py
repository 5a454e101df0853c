"""A client that has a conversation until it is killed: says what it was given, and the last of that again and again.

    python owner.py STORE REHEARSAL_HOME [PROMPT ...]

Its first line of output is the conversation's id.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import chain, repeat
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentSpec
from catena_store.database.database import Database
from support.conversations.rehearsed import open_window

PROMPT = "think first; stream 60 rate 120; tool run make; say done"


async def main(store: str, home: str, *prompts: str) -> None:
    command = (sys.executable, "-m", "catena_acp.rehearsal")
    spec = AgentSpec("rehearsal", "Rehearsal", command, (("CATENA_REHEARSAL_HOME", home),))
    async with (
        Database.open(Path(store)) as db,
        Conversations.serve(db, specs={"rehearsal": spec}) as served,
    ):
        conversation = await served.create(agent=spec, cwd=str(Path(store).parent))
        window_id = await open_window(db, conversation.id)
        print(conversation.id, flush=True)
        for prompt in chain(prompts, repeat(prompts[-1] if prompts else PROMPT)):
            await conversation.window(window_id).say(prompt)
            await conversation.window(window_id).wait_idle()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

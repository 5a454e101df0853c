"""A client to be killed while its agent waits for a permission.

    python asking.py STORE DIRECTORY COMMAND PROMPT

Its one line of output is the conversation's id and the window's, once the question is open.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import ConversationEvent, PermissionOpened
from catena_acp.conversation.conversations.conversations import Conversations
from catena_store.database.database import Database
from support.conversations.rehearsed import open_window


async def main(store: str, directory: str, command: str, prompt: str) -> None:
    spec = command_spec(command)
    asked = asyncio.Event()

    def hear(news: ConversationEvent) -> None:
        if isinstance(news, PermissionOpened):
            asked.set()

    async with (
        Database.open(Path(store)) as db,
        Conversations.serve(db, specs={spec.name: spec}) as served,
    ):
        conversation = await served.create(agent=spec, cwd=directory)
        window_id = await open_window(db, conversation.id)
        conversation.subscribe(hear)
        await conversation.window(window_id).say(prompt)
        await asked.wait()
        print(conversation.id, window_id, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""A client to be killed: says one prompt after the other and notes what it was told, as it is told.

    python crash_client.py STORE REHEARSAL_HOME NOTES [CONVERSATION WINDOW]

Each line of NOTES is a JSON object; times are ``time.monotonic()``, which every process of a machine shares.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from catena_acp.conversation.conversations import Conversations
from catena_acp.conversation.news import MessageAdded, MessageGrew, News, TurnEnded
from catena_acp.port import AgentSpec
from catena_store.database import Database
from conversation_world import open_window


async def main(store: str, home: str, notes: str, *known: str) -> None:
    out = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(**what: Any) -> None:
        os.write(out, json.dumps({"at": time.monotonic(), **what}).encode() + b"\n")

    def hear(news: News) -> None:
        match news:
            case MessageAdded(_, message):
                note(news="added", id=message.id, text=message.text)
            case MessageGrew(_, message_id, text):
                note(news="grew", id=message_id, text=text)
            case TurnEnded(_, turn, _):
                note(news="ended", turn=turn.id if turn else None)
            case _:
                pass

    command = (sys.executable, "-m", "catena_acp.rehearsal")
    spec = AgentSpec("rehearsal", "Rehearsal", command, (("CATENA_REHEARSAL_HOME", home),))
    async with (
        Database.open(Path(store)) as db,
        Conversations.serve(db, specs={"rehearsal": spec}) as served,
    ):
        if known:
            conversation, window_id = await served.open(known[0]), known[1]
        else:
            conversation = await served.create(agent=spec, cwd=str(Path(store).parent))
            window_id = await open_window(db, conversation.id)
        note(news="open", conversation=conversation.id, window=window_id, pid=os.getpid())
        conversation.subscribe(hear)
        while True:
            await conversation.say(
                window_id, "think first; tool read a.txt; stream 60 rate 300; tool run make; say done"
            )
            await conversation.wait_idle(window_id)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

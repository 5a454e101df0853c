"""A client to be killed, under load: two windows prompt, one of them queues, drafts are saved; it notes what is told.

    python crash.py STORE REHEARSAL_HOME NOTES [CONVERSATION WINDOW WINDOW]
    python crash.py STORE        reads along until its standard input ends

Each line of NOTES is a JSON object; times are ``time.monotonic()``, which every process of a machine shares. What is
noted as said, queued or drafted was acknowledged before: it must be there after any death.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from catena_acp.continuity.conversation_events import ConversationEvent, MessageAdded, MessageGrew, TurnEnded
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentSpec
from catena_store import places
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.windows import windows
from support.conversations.rehearsed import open_window

PROMPT = os.environ.get(
    "CRASH_PROMPT", "think first; tool read a.txt; stream 60 rate 300; tool run make; say done"
)
Note = Callable[..., None]


async def main(store: str, home: str, notes: str, *known: str) -> None:
    out = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(**what: Any) -> None:
        os.write(out, json.dumps({"at": time.monotonic(), **what}).encode() + b"\n")

    def hear(news: ConversationEvent) -> None:
        match news:
            case MessageAdded(_, message):
                note(news="added", id=message.id, text=message.text)
            case MessageGrew(window_id, message_id, text):
                note(news="grew", id=message_id, text=text, window=window_id)
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
            conversation, tabs = await served.open(known[0]), known[1:]
        else:
            conversation = await served.create(agent=spec, cwd=str(Path(store).parent))
            tabs = (await open_window(db, conversation.id), await open_window(db, conversation.id))
        note(news="open", conversation=conversation.id, windows=tabs, pid=os.getpid())
        conversation.subscribe(hear)
        for tab in tabs:
            await conversation.window(tab).send_queued()  # what an earlier life left waiting
        async with asyncio.TaskGroup() as group:
            group.create_task(_talk(conversation, tabs[0], note, queue=True))
            group.create_task(_talk(conversation, tabs[1], note, queue=False))
            group.create_task(_draft(db, tabs[1], note))


async def _talk(conversation: Conversation, tab: str, note: Note, *, queue: bool) -> None:
    for number in count():
        for which in ("said", "queued") if queue else ("said",):
            text = f"{PROMPT} {os.getpid()}-{tab[:8]}-{number}-{which}"
            await conversation.window(tab).say(text)
            note(news="said", text=text)
        await conversation.window(tab).wait_idle()


async def _draft(db: Database, tab: str, note: Note) -> None:
    """As fast as somebody types who never sends it; the number only grows."""
    async with db.read() as reader:
        window = await windows.get(reader, tab)
    # A prompt that an earlier life had not sent yet stands before it.
    before = window.draft.rpartition("\n")[2] if window else ""
    for number in count(int(before) + 1 if before.isdecimal() else 1):
        async with db.write() as tx:
            await windows.set_draft(tx, tab, str(number))
        note(news="draft", number=number)
        await asyncio.sleep(0.03)


async def follow(store: str) -> None:
    """Read what the other writes, all the time."""
    loop = asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.read)
    async with Database.open(Path(store)) as db:
        while not ended.done():
            async with db.read() as reader:
                newest = await conversations.latest(reader)
                leaf = await places.of(reader, newest.id) if newest else None
                await messages.page(reader, leaf, 100)
            await asyncio.wait((ended,), timeout=0.02)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]) if len(sys.argv) > 2 else follow(*sys.argv[1:]))

"""A client that kills itself while an edit waits for a turn to stop, which its agent does not heed.

    python editor.py STORE REHEARSAL_HOME

Prints the conversation and the window first.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    Doing,
    DoingChanged,
    MessageAdded,
    MessageGrew,
)
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentSpec
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.records import Attachment, Kind, Message
from catena_store.windows import windows
from support.conversations.rehearsed import open_window

FILE = Attachment("0" * 64, "text/plain", "notes.txt", None, b"notes")


async def main(store: str, home: str) -> None:
    command = (sys.executable, "-m", "catena_acp.rehearsal")
    spec = AgentSpec("rehearsal", "Rehearsal", command, (("CATENA_REHEARSAL_HOME", home),))
    answered = asyncio.Event()

    def hear(news: ConversationEvent) -> None:
        match news:
            case MessageAdded(_, Message(kind=Kind.AGENT, text="busy")) | MessageGrew(_, _, "busy"):
                answered.set()
            case DoingChanged(_, Doing.STOPPING, _):
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                pass

    async with (
        Database.open(Path(store)) as db,
        Conversations.serve(db, specs={"rehearsal": spec}) as served,
    ):
        conversation = await served.create(agent=spec, cwd=str(Path(store).parent))
        window = conversation.window(await open_window(db, conversation.id))
        print(conversation.id, window.id, flush=True)
        conversation.subscribe(hear)
        await window.say("say one")
        await window.wait_idle()
        await window.say("say busy; hang hard")
        await answered.wait()
        async with db.write() as tx:
            await windows.set_draft(tx, window.id, "a draft")
            stored = await windows.get(tx, window.id)
            assert stored is not None
            rows = await messages.page(tx, stored.leaf_id, 100)
        first = next(row for row in rows if row.kind is Kind.USER)
        await window.edit(first.id, "say it better", [FILE])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

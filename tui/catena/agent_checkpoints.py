"""What an agent may do about the checkpoints of the conversation that it works in, in a process of its own.

It holds no lease, so it writes no message and moves no window: it adds checkpoints, and asks the person for a rewind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime

from catena_acp.continuity.sessions.fork_points import settled_point
from catena_acp.conversation.checkpoints.checkpoints import NoCheckpoint, drawn, found, label_of
from catena_acp.errors import AgentError
from catena_store.chains import turns
from catena_store.conversations import conversations, rewind_requests
from catena_store.conversations.checkpoint_stores import SqliteCheckpoints
from catena_store.conversations.checkpoints import Checkpoint, Frequency, frequency_of
from catena_store.database.database import Database, Reader, data_directory
from catena_store.records import ConversationRecord, Turn, WindowRecord
from catena_store.windows import windows

ASKED = (
    "The person was asked whether to go back {where}. Nothing has happened yet: if they agree, it is done after this "
    "turn has ended. Files are not changed by it. End your turn now; do not wait for the answer."
)
_SAVED = "Saved as checkpoint {id}{label}: the conversation as it is now. Files are not part of it."


class NotHere(AgentError):
    """The conversation that the tools were handed out for is gone."""


class AgentCheckpoints:
    """The tools of one window's agent; each answers in words for the agent."""

    def __init__(
        self,
        db: Database,
        *,
        conversation_id: str,
        window_id: str,
        usually: Frequency,
        new_id: Callable[[], str],
        clock: Callable[[], datetime],
    ) -> None:
        """``usually`` is when checkpoints are made where the conversation has no setting of its own."""
        self._db = db
        self._conversation_id = conversation_id
        self._window_id = window_id
        self._usually = usually
        self._new_id = new_id
        self._clock = clock
        self._store = SqliteCheckpoints(db.read, db.write)

    async def save(self, label: str | None, note: str | None) -> str:
        """Save one of where the window stands. Raises AgentError, StoreError."""
        name = label_of(label)
        async with self._db.read() as reader:
            record, window, open_turn = await self._place(reader)
            if (await frequency_of(reader, record.id) or self._usually) is Frequency.OFF:
                raise NoCheckpoint("The person has turned checkpoints off in this conversation.")
            new = await drawn(
                reader,
                record,
                await settled_point(reader, window.leaf_id),
                id=self._new_id(),
                now=self._clock(),
                label=name,
                automatic=True,
                turn=open_turn,
                note=note,
                by="agent",
            )
        saved = await self._store.save(new)
        return _SAVED.format(id=saved.id, label=f" “{saved.label}”" if saved.label else "")

    async def list(self) -> str:
        """All of them, newest first, a line each. Raises AgentError, StoreError."""
        async with self._db.read() as reader:
            await self._place(reader)
        kept = await self._store.list(self._conversation_id)
        return "\n".join(map(_line, kept)) or "There is no checkpoint yet."

    async def rewind_to(self, key: str) -> str:
        """Ask the person to go back to one; says that they were asked. Raises AgentError, StoreError."""
        async with self._db.read() as reader:
            record, window, _ = await self._place(reader)
        checkpoint = found(await self._store.list(record.id), key)
        async with self._db.write() as tx:
            await rewind_requests.ask(
                tx,
                id=self._new_id(),
                conversation_id=record.id,
                window_id=window.id,
                checkpoint_id=checkpoint.id,
            )
        named = f"“{checkpoint.label}”" if checkpoint.label else checkpoint.id
        return ASKED.format(where=f"to checkpoint {named}")

    async def _place(self, reader: Reader) -> tuple[ConversationRecord, WindowRecord, Turn | None]:
        """The conversation, the window that the agent works for, and its turn.

        A session may have come to carry another window since it was given these tools: then it is the one at work.
        """
        record = await conversations.get(reader, self._conversation_id)
        at_work = {turn.window_id: turn for turn in await turns.open_in(reader, self._conversation_id)}
        window_id: str | None = self._window_id
        if window_id not in at_work and len(at_work) == 1:
            window_id = next(iter(at_work))
        window = await windows.get(reader, window_id) if window_id else None
        if record is None or window is None or window.conversation_id != record.id:
            raise NotHere("The person's window no longer shows the conversation that these tools are for.")
        return record, window, at_work.get(window.id)


def tool_server(conversation_id: str, window_id: str) -> dict[str, object]:
    """How an agent starts the tools of a window, as a session is given it."""
    where = {"CATENA_DATA_DIR": str(data_directory())}
    if settings := os.environ.get("CATENA_CONFIG_DIR"):
        where["CATENA_CONFIG_DIR"] = settings
    # -P: a directory of our name in the project must not be run in our place.
    started = ["-P", "-m", "catena", "mcp", "--conversation", conversation_id, "--window", window_id]
    env = [{"name": name, "value": value} for name, value in where.items()]
    return {"name": "catena-checkpoints", "command": sys.executable, "args": started, "env": env}


def _line(checkpoint: Checkpoint) -> str:
    facts = [f"{checkpoint.created_at:%Y-%m-%d %H:%M} UTC", f"{checkpoint.data.get('messages')} messages"]
    if note := checkpoint.data.get("note"):
        facts.append(str(note))
    label = f" “{checkpoint.label}”" if checkpoint.label else ""
    return f"{checkpoint.id}{label}: {', '.join(facts)}"

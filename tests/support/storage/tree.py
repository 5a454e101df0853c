"""A conversation with two branches, a prompt that no agent took, a label, and a fork of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.conversations.checkpoints import Checkpoint, SqliteCheckpoints
from catena_store.database.database import Database, Writer
from catena_store.records import Cause, ContextSource, Kind, MessageState, NewMessage, StopReason
from support.storage.rows import a_turn, new_conversation, new_link, say

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


async def shop(db: Database, directory: Path) -> None:
    """``c1``: p1, then p2 and p3, or, where it stands, p2b and below it the refused p4. ``c2`` forks c1 below p2."""
    async with db.write() as tx:
        await new_conversation(tx, "c1", cwd=str(directory), title="the shop")
        await new_link(tx, "l1", "c1")
        await new_link(tx, "l2", "c1", agent="command:other", cause=Cause.NEW)
        await turn(tx, "p1", None, "fix the login", "it was the form", "l1", ContextSource.FRESH)
        await turn(tx, "p2", "a1", "use a table", "a table it is", "l1", files=[edited("a.py", 1)])
        await turn(tx, "p3", "a2", "add a test", "it passes", "l1", stop=StopReason.CANCELLED)
        files = [edited("a.py", 2), edited("b.py", 1)]
        await turn(tx, "p2b", "a1", "use a list", "a list it is", "l2", ContextSource.TOLD, files=files)
        await say(tx, "p4", "a2b", "lost on the way", state=MessageState.REFUSED)
        await new_conversation(
            tx, "c2", cwd=str(directory), title="elsewhere", family="c1", fork_point_id="a2"
        )
        await new_link(tx, "l3", "c2", cause=Cause.FORK)
        await turn(
            tx, "f1", "a2", "try without", "without, then", "l3", ContextSource.FORKED, conversation="c2"
        )
        await turn(tx, "f2", "af1", "and again", "again", "l3", conversation="c2")
    await label(db, "k1", "a1", "before-list")


async def label(db: Database, id: str, message_id: str, name: str) -> None:
    """Keep a checkpoint of that label in ``c1``."""
    await SqliteCheckpoints(db.read, db.write).save(
        Checkpoint(id, "c1", message_id, None, name, automatic=False, created_at=NOW)
    )


def edited(path: str, lines: int) -> dict[str, object]:
    """The data of a tool call that writes a new file."""
    diff = {"type": "diff", "path": path, "old": None, "new": "line\n" * lines}
    return {"kind": "edit", "status": "completed", "title": f"Edit {path}", "content": [diff]}


async def turn(
    tx: Writer,
    id: str,
    parent: str | None,
    text: str,
    answer: str,
    link: str,
    how: ContextSource = ContextSource.CONTINUED,
    *,
    conversation: str = "c1",
    stop: StopReason = StopReason.END_TURN,
    files: Sequence[dict[str, object]] = (),
) -> None:
    """A prompt pX with its tool calls and its answer aX, on a link."""
    await say(tx, id, parent, text, conversation=conversation)
    above, new = id, []
    for number, data in enumerate(files):
        row = NewMessage(f"t{number}{id}", conversation, above, Kind.TOOL, text=str(data["title"]), data=data)
        new.append(row)
        above = row.id
    last = "a" + id.removeprefix("p")
    new.append(NewMessage(last, conversation, above, Kind.AGENT, text=answer))
    await messages.insert_many(tx, new)
    kept = a_turn(f"turn-{id}", id, link, conversation_id=conversation, last_id=last, how=how)
    await turns.insert(tx, kept)
    await turns.end(tx, kept.id, stop_reason=stop)
    await messages.set_turn(tx, id, kept.id, link)


async def broad(db: Database, directory: Path, prompts: int) -> str:
    """A conversation ``c1`` of so many prompts, in which every tenth begins another branch; its leaf."""
    async with db.write() as tx:
        await new_conversation(tx, "c1", cwd=str(directory))
        new = []
        for at in range(prompts):
            parent = f"a{at - 1}" if at else None
            if at % 10 == 0 and at:
                parent = f"a{at - 6}"
            new.append(NewMessage(f"p{at}", "c1", parent, Kind.USER, text=f"prompt number {at} of many"))
            new.append(NewMessage(f"a{at}", "c1", f"p{at}", Kind.AGENT, text="so be it"))
        await messages.insert_many(tx, new)
    return f"a{prompts - 1}"

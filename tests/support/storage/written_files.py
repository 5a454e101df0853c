"""Turns that write files: rows of a real store, with real snapshots around them."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from catena_acp.blame.authorship import Author, BlamedFile
from catena_acp.blame.reading import blame
from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.ids import to_milliseconds
from catena_store.records import Kind, NewMessage, StopReason
from catena_store.snapshots import turns as kept_turns
from catena_store.snapshots.repository import SnapshotRepository, snapshots_beside
from support.storage.rows import Clock, a_turn, new_conversation, new_link
from support.storage.work_trees import GIT


class WrittenFiles:
    """A work tree, and conversations in it; each step takes a second."""

    def __init__(self, db: Database, root: Path, clock: Clock) -> None:
        self.db = db
        self.root = root
        self.clock = clock
        self.repository = SnapshotRepository(GIT, snapshots_beside(db.path), root)
        self._leaves: dict[str, str | None] = {}
        self._numbers = itertools.count(1)

    def __truediv__(self, name: str) -> Path:
        return self.root / name

    async def conversation(self, id: str, cwd: Path | None = None) -> None:
        """A new conversation, with a session."""
        place = str(cwd or self.root)
        async with self.db.write() as tx:
            await new_conversation(tx, id, cwd=place, title=f"The {id}")
            await new_link(tx, f"link-{id}", id, cwd=place)
        self._leaves[id] = None

    async def begin(self, conversation: str, prompt: str = "", *, kept: bool = True) -> str:
        """A turn begins; its id."""
        number = next(self._numbers)
        self.clock.forward()
        turn, row = f"turn{number}", f"prompt{number}"
        new = NewMessage(
            row, conversation, self._leaves[conversation], Kind.USER, text=prompt or f"do {number}"
        )
        async with self.db.write() as tx:
            await messages.insert_many(tx, [new])
            began = a_turn(
                turn, row, f"link-{conversation}", conversation_id=conversation, started_at=self.clock()
            )
            await turns.insert(tx, began)
            await messages.set_turn(tx, row, turn, f"link-{conversation}")
            if kept:
                taken = self.repository.capture(day=1)
                await kept_turns.begin(tx, turn, str(self.root), taken.tree, taken.left_out)
        self._leaves[conversation] = row
        return turn

    async def end(self, turn: str, *, kept: bool = True, killed: bool = False) -> None:
        """It ends, or its client is killed."""
        self.clock.forward()
        if killed:
            return
        async with self.db.write() as tx:
            await turns.end(tx, turn, stop_reason=StopReason.END_TURN)
        if kept:
            await self.keep_end(turn)

    async def keep_end(self, turn: str) -> None:
        """The files of its end are kept."""
        taken = self.repository.capture(day=1)
        async with self.db.write() as tx:
            await kept_turns.end(tx, turn, taken.tree, taken.left_out)

    async def turn(self, conversation: str, *writes: tuple[str, str], kept: bool = True) -> str:
        """A turn that writes files as a whole; its id."""
        turn = await self.begin(conversation, kept=kept)
        for name, text in writes:
            (self / name).parent.mkdir(parents=True, exist_ok=True)
            (self / name).write_text(text)
        await self.end(turn, kept=kept)
        return turn

    async def report(
        self, turn: str, name: str, old: str | None, new: str, status: str = "completed"
    ) -> None:
        """The agent reports an edit."""
        number = next(self._numbers)
        async with self.db.write() as tx:
            found = await turns.get(tx, turn)
            assert found is not None
            content = {"type": "diff", "path": str(self / name), "old": old, "new": new}
            data = {"kind": "edit", "status": status, "title": "Edit", "content": [content]}
            above = self._leaves[found.conversation_id]
            row = NewMessage(
                f"tool{number}", found.conversation_id, above, Kind.TOOL, data=data, turn_id=turn
            )
            await messages.insert_many(tx, [row])
            self._leaves[found.conversation_id] = row.id

    def go_to(self, conversation: str, message: str) -> None:
        """The next prompt of a conversation follows this message."""
        self._leaves[conversation] = message

    def restart(self, conversation: str) -> None:
        """The next prompt of a conversation is another first one."""
        self._leaves[conversation] = None

    async def heartbeat(self, conversation: str) -> None:
        """The client of a conversation lives."""
        async with self.db.write() as tx:
            await tx.run(
                "INSERT OR REPLACE INTO lease (conversation_id, owner, host, pid, started, epoch, heartbeat_at)"
                " VALUES (?, 'somebody', 'desk', 1, '', 1, ?)",
                (conversation, to_milliseconds(self.clock())),
            )

    async def blame(self, name: str) -> BlamedFile:
        """Who wrote the lines of a file."""
        return await blame(self.db, self / name, self.clock())

    async def authors(self, name: str) -> list[tuple[str, Author]]:
        """The lines of a file, each with who wrote it."""
        file = await self.blame(name)
        return [
            (file.lines[at], block.author) for block in file.blocks for at in range(block.first, block.end)
        ]

    async def turns(self, name: str) -> dict[str, str]:
        """The turn that wrote each line, or how it is known that none did."""
        return {line: each.turn_id or each.proof.value for line, each in await self.authors(name)}


@asynccontextmanager
async def written_files(place: Path) -> AsyncIterator[WrittenFiles]:
    """A work tree with one conversation, ``shop``."""
    root = place / "tree"
    (root / ".git").mkdir(parents=True)
    clock = Clock()
    clock.time = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=1)
    async with Database.open(place / "catena.db", clock=clock) as db:
        files = WrittenFiles(db, root, clock)
        await files.conversation("shop")
        yield files

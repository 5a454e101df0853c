"""Which changes a scope means: of a turn, of a branch, since a checkpoint or the last look; and what was seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.changes.changed_file import ChangeSpan
from catena_acp.changes.reading import ChangeScope, Since, read_changes, span_of
from catena_store.conversations import conversations, messages, seen_changes
from catena_store.database.database import Database, Writer
from catena_store.ids import utc_now
from catena_store.records import Kind, NewMessage


async def a_branch(tx: Writer) -> None:
    """Two turns, u0 x1 a2 and u3 x4, and another version of the second, other5 x6."""
    await conversations.create(tx, id="c", agent="rehearsal", cwd="/p")

    def row(id: str, parent: str | None) -> NewMessage:
        kind = {"u": Kind.USER, "o": Kind.USER, "x": Kind.TOOL, "a": Kind.AGENT}[id[0]]
        diff = {"type": "diff", "path": f"/p/{id}", "old": "1", "new": "2"}
        data = {"kind": "edit", "status": "completed", "content": [diff]} if kind is Kind.TOOL else {}
        return NewMessage(id=id, conversation_id="c", parent_id=parent, kind=kind, text=id, data=data)

    main = ["u0", "x1", "a2", "u3", "x4"]
    rows = [row(id, parent) for id, parent in zip(main, [None, *main], strict=False)]
    await messages.insert_many(tx, [*rows, row("other5", "a2"), row("x6", "other5")])


@pytest.mark.parametrize(
    ("leaf", "scope", "span", "paths"),
    [
        ("x4", ChangeScope(), ChangeSpan("x4"), ["/p/x1", "/p/x4"]),
        ("x4", ChangeScope(Since.TURN), ChangeSpan("x4", 3), ["/p/x4"]),
        ("x4", ChangeScope(Since.TURN, "a2"), ChangeSpan("x4", 0, 2), ["/p/x1"]),
        ("x4", ChangeScope(Since.TURN, "u0"), ChangeSpan("x4", 0, 2), ["/p/x1"]),
        ("x4", ChangeScope(Since.CHECKPOINT, "a2"), ChangeSpan("x4", 2), ["/p/x4"]),
        ("x4", ChangeScope(Since.CHECKPOINT, None), ChangeSpan("x4"), ["/p/x1", "/p/x4"]),
        ("x4", ChangeScope(Since.CHECKPOINT, "gone"), ChangeSpan("x4"), ["/p/x1", "/p/x4"]),
        # another version was looked at
        ("x4", ChangeScope(Since.LOOK, "x6"), ChangeSpan("x4", 2), ["/p/x4"]),
        ("x6", ChangeScope(Since.LOOK, "x6"), ChangeSpan("x6", 4), []),
    ],
)
async def test_w29_a_scope_is_a_part_of_the_branch(
    tmp_path: Path, leaf: str, scope: ChangeScope, span: ChangeSpan, paths: list[str]
) -> None:
    async with Database.open(tmp_path / "catena.db") as db:
        async with db.write() as tx:
            await a_branch(tx)
            await seen_changes.note_look(tx, "c", "x6")
        changes = await read_changes(db.read, "c", leaf, scope, ("/p",), now=utc_now())
        assert [file.path for file in changes.files] == paths
        async with db.read() as reader:
            assert changes.scope == scope and await span_of(reader, leaf, scope) == span


async def test_w29_what_was_seen_is_kept_until_it_is_taken_back(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "catena.db") as db:
        async with db.write() as tx:
            await a_branch(tx)
            await seen_changes.mark_seen(tx, "c", ["1", "2"], seen=True)
            await seen_changes.mark_seen(tx, "c", ["1"], seen=True)
        async with db.write() as tx:
            await seen_changes.mark_seen(tx, "c", ["2", "3"], seen=False)
            assert await seen_changes.seen_hunks(tx, "c") == {"1"}
            assert await seen_changes.last_look(tx, "c") is None

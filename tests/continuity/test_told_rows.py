"""What is read of a branch to tell of it: in two queries, with the ends of its turns, and its last plan."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from catena.text.secrets import SecretMask
from catena_acp.continuity.routing.prior_context import Budget, read_prior_context
from catena_acp.continuity.tool_calls import Mask, NoMask, told_call
from catena_acp.spoken.call import Call
from catena_store import ancestry
from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.records import Kind, MessageState, StopReason
from support.counted_work import calls_counted, queries_counted
from support.storage.rows import a_turn, new_conversation, new_link, say, store


async def test_p04_a_prior_context_is_read_in_two_queries_whatever_there_is(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            leaf: str | None = None
            for number in range(60):
                await say(tx, f"u{number}", leaf, f"question {number}")
                for at in range(4):
                    data = {
                        "title": f"run {number}",
                        "kind": "execute" if at else "read",
                        "status": "completed",
                    }
                    above = f"x{number}-{at - 1}" if at else f"u{number}"
                    await say(
                        tx, f"x{number}-{at}", above, kind=Kind.TOOL, data=data, state=MessageState.FINAL
                    )
                await say(tx, f"a{number}", f"x{number}-3", f"answer {number}", kind=Kind.AGENT)
                leaf = f"a{number}"
        async with db.read() as reader:
            path = await ancestry.path(reader, leaf, ["u3"])
            async with queries_counted(db) as queries:
                told = await read_prior_context(reader, path, "u3", leaf, Budget())
            asked = len(queries.asked)
    assert told is not None and (told.told, told.tools_listed, told.cut) == (113, 228, False)
    assert asked == 2


async def test_p04_what_is_told_is_asked_of_the_store_in_one_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await say(tx, "u1", None, "question")
            await say(tx, "u2", "u1", "another")
        async with db.read() as reader:
            path = await ancestry.path(reader, "u2", [])
            # After each answer of the connection's thread: how many were there already.
            answered: list[int] = []
            connection = db._connection
            fetch = connection.execute_fetchall
            asked = 0

            async def counted(sql: str, parameters: Iterable[Any] | None = None) -> Iterable[sqlite3.Row]:
                nonlocal asked
                asked += 1
                found = await fetch(sql, parameters)
                answered.append(asked)
                return found

            monkeypatch.setattr(connection, "execute_fetchall", counted)
            told = await read_prior_context(reader, path, None, "u2", Budget())
    assert told is not None and told.told == 2
    assert answered == [2, 2], "both were asked before any was answered"


def test_p04_calls_without_a_secret_are_masked_by_one_look_at_each() -> None:
    result = "\n".join(f"line {number} of what was said by somebody" for number in range(20))
    data = {
        "title": "Write a mail",
        "kind": "other",
        "status": "completed",
        "locations": [{"path": "/home/ada/mails"}],
        "raw_input": {"to": "ben", "text": "come at nine", "more": ["a", "b", "c", {"d": "e"}]},
        "content": [{"type": "text", "text": result}],
    }
    record = Call(data)

    def work(mask: Mask) -> int:
        told_call(record, mask)
        with calls_counted() as calls:
            told_call(record, mask)
        return calls.made

    assert work(SecretMask()) - work(NoMask()) < 70


async def test_p06_the_end_of_a_turn_and_its_open_tasks_are_read_with_it(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "link")
        await say(tx, "u1", None, "invite three")
        await turns.insert(tx, a_turn("t1", "u1", "link"))
        await messages.set_turn(tx, "u1", "t1", "link")
        entries = [{"text": "write to Ben", "status": "in_progress"}]
        await say(tx, "p1", "u1", kind=Kind.PLAN, data={"entries": entries}, turn_id="t1")
        data = {"title": "mail", "kind": "other", "status": "completed"}
        await say(tx, "x1", "p1", kind=Kind.TOOL, data=data, state=MessageState.FINAL, turn_id="t1")
        await turns.end(tx, "t1", stop_reason=StopReason.AGENT_GONE, error="was killed")
        await say(tx, "u2", "x1", "and on")
        path = await ancestry.path(tx, "u2", [])
        told = await read_prior_context(tx, path, None, "u2", Budget())
        assert told is not None
        cut = told.text.index("(The assistant's session broke off here. This turn was not finished.)")
        assert told.text.index("tool call mail: done") < cut < told.text.index("> and on")
        assert "[begun] write to Ben" in told.text

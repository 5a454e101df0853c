"""Usage: tokens and cost of a turn, a branch or a conversation, and of a conversation's asides.

A turn that branches share counts once. Asides belong to a conversation and to none of its branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.records import Expense

# Of every attempt at each prompt, also of those that no row of the tree refers to any more.
_BRANCH = """
    WITH RECURSIVE branch (id, parent_id, kind) AS (
        SELECT id, parent_id, kind FROM message WHERE uid = ?1
        UNION ALL
        SELECT m.id, m.parent_id, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
    )
"""


_TOKENS = ", ".join(
    f"coalesce(sum(CASE WHEN json_valid(t.usage) AND json_type(t.usage, '$.{name}') IN ('integer', 'real')"
    f" THEN CAST(json_extract(t.usage, '$.{name}') AS INTEGER) END), 0)"
    for name in ("inputTokens", "outputTokens", "totalTokens")
)
_MONEY = "CASE WHEN t.cost IS NULL THEN NULL ELSE t.currency END"


def _expenses_query(source: str, where: str) -> str:
    return (
        f"SELECT l.agent, l.profile, t.model, {_MONEY} AS money, count(*), sum(t.cost), {_TOKENS}"
        f" FROM {source} CROSS JOIN link l ON l.id = t.link_id WHERE {where}"
        " GROUP BY l.agent, l.profile, t.model, money ORDER BY min(t.started_at), min(t.rowid)"
    )


async def of_turn(r: Reader, turn_id: str) -> list[Expense]:
    """The expense of one turn; none where there is no such turn."""
    return _records(await r.all(_expenses_query("turn t", "t.id = ?"), (turn_id,)))


async def of_branch(r: Reader, leaf: str | None) -> list[Expense]:
    """The expenses of a branch, every attempt at every prompt."""
    source = "branch b CROSS JOIN turn t ON t.prompt_id = b.id"
    return _records(await r.all(_BRANCH + _expenses_query(source, "b.kind = 'user'"), (leaf,)))


async def of_conversation(r: Reader, id: str) -> list[Expense]:
    """The expenses of all branches of a conversation, inherited turns included."""
    sql = f"""
        WITH RECURSIVE branch (id, parent_id, kind) AS (
            SELECT m.id, m.parent_id, m.kind FROM conversation c CROSS JOIN message m ON m.id = c.fork_point_id
             WHERE c.id = ?1
            UNION ALL
            SELECT m.id, m.parent_id, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
        ),
        counted (id) AS (
            SELECT id FROM turn WHERE conversation_id = ?1
            UNION
            SELECT t.id FROM branch b CROSS JOIN turn t ON t.prompt_id = b.id WHERE b.kind = 'user'
        )
        {_expenses_query("counted CROSS JOIN turn t ON t.id = counted.id", "true")}
    """
    return _records(await r.all(sql, (id,)))


async def of_asides(r: Reader, conversation_id: str) -> list[Expense]:
    """The expenses of a conversation's asides, ended ones too; each question counts as a turn."""
    sql = (
        f"SELECT t.agent, t.profile, t.model, {_MONEY} AS money, count(*), sum(t.cost), {_TOKENS}"
        " FROM aside_question t WHERE t.conversation_id = ?"
        " GROUP BY t.agent, t.profile, t.model, money ORDER BY min(t.asked_at), min(t.id)"
    )
    return _records(await r.all(sql, (conversation_id,)))


async def add_aside(
    tx: Writer,
    conversation_id: str,
    *,
    agent: str,
    profile: str,
    model: str | None,
    usage: Mapping[str, Any] | None,
    cost: float | None,
    currency: str | None,
) -> None:
    """Add the expense of a question in an aside; nothing else of the question is stored."""
    await tx.run(
        "INSERT INTO aside_question (conversation_id, agent, profile, model, usage, cost, currency, asked_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation_id,
            agent,
            profile,
            model,
            None if usage is None else rows.as_json(usage),
            cost,
            currency,
            tx.now(),
        ),
    )


async def last_turn(r: Reader, leaf: str | None) -> str | None:
    """The id of the newest turn on the branch."""
    row = await r.one(
        """
        WITH RECURSIVE branch (id, parent_id, prompted) AS (
            SELECT m.id, m.parent_id, EXISTS (SELECT 1 FROM turn WHERE prompt_id = m.id)
              FROM message m WHERE m.uid = ?1
            UNION ALL
            SELECT m.id, m.parent_id, EXISTS (SELECT 1 FROM turn WHERE prompt_id = m.id)
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id WHERE NOT b.prompted
        )
        SELECT t.id FROM branch b CROSS JOIN turn t ON t.prompt_id = b.id
         WHERE b.prompted ORDER BY t.started_at DESC, t.rowid DESC LIMIT 1
        """,
        (leaf,),
    )
    return None if row is None else str(row[0])


def _records(found: list[tuple[Any, ...]]) -> list[Expense]:
    return [Expense(*row) for row in found]

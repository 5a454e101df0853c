"""Usage: tokens and cost of a turn, a branch or a conversation, and of a conversation's asides.

A turn that branches share counts once. Asides belong to a conversation and to none of its branches. Agents report the
tokens of a turn, or those of the session so far; both are read as those of a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.records import Expense

OF_TURN = "usage_of_turn"  # "yes" for an agent, of no version, that reports the tokens of a turn

_FIGURES = {"input": "inputTokens", "output": "outputTokens", "total": "totalTokens"}
_MONEY = "CASE WHEN t.cost IS NULL THEN NULL ELSE t.currency END"


def _figure(turn: str, told: str) -> str:
    return (
        f"CASE WHEN json_valid({turn}.usage) AND json_type({turn}.usage, '$.{told}') IN ('integer', 'real')"
        f" THEN CAST(json_extract({turn}.usage, '$.{told}') AS INTEGER) END"
    )


def _each(expression: str) -> str:
    """An expression for each figure, whose name stands for ``{figure}`` in it."""
    return ", ".join(expression.format(figure=figure) for figure in _FIGURES)


_OF_T = ", ".join(f"{_figure('t', told)} AS {figure}" for figure, told in _FIGURES.items())
_OF_B = ", ".join(_figure("b", told) for told in _FIGURES.values())
_TOKENS = ", ".join(f"coalesce(sum({_figure('t', told)}), 0)" for told in _FIGURES.values())

# Of every attempt at each prompt, also of those that no row of the tree refers to any more.
_BRANCH = """
    branch (id, parent_id, kind) AS (
        SELECT id, parent_id, kind FROM message WHERE uid = ?1
        UNION ALL
        SELECT m.id, m.parent_id, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
    )
"""
_INHERITED = """
    branch (id, parent_id, kind) AS (
        SELECT m.id, m.parent_id, m.kind FROM conversation c CROSS JOIN message m ON m.id = c.fork_point_id
         WHERE c.id = ?1
        UNION ALL
        SELECT m.id, m.parent_id, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
    )
"""
_COUNTED = """
    counted (id) AS (
        SELECT id FROM turn WHERE conversation_id = ?1
        UNION
        SELECT t.id FROM branch b CROSS JOIN turn t ON t.prompt_id = b.id WHERE b.kind = 'user'
    )
"""

# An agent that reports the tokens of its session so far, as the protocol says, is known by figures that never fall
# within a session. A turn took what it added to them; a fork starts from those of the turn that it begins after.
_SHARES = f"""
    used AS MATERIALIZED (
        SELECT t.rowid AS at, t.link_id, {_OF_T}
          FROM (SELECT DISTINCT link_id FROM picked) p CROSS JOIN turn t ON t.link_id = p.link_id
         WHERE t.usage IS NOT NULL
    ),
    follows AS MATERIALIZED (
        SELECT u.*, {_each("lag(u.{figure}) OVER earlier AS before_{figure}")},
               row_number() OVER earlier AS place
          FROM used u WINDOW earlier AS (PARTITION BY u.link_id ORDER BY u.at)
    ),
    by_turn (agent) AS MATERIALIZED (
        SELECT l.agent FROM follows f CROSS JOIN link l ON l.id = f.link_id
         WHERE f.input < f.before_input OR f.output < f.before_output OR f.total <= f.before_total
        UNION
        SELECT agent_name FROM ability WHERE agent_version = '' AND name = '{OF_TURN}' AND value = 'yes'
    ),
    source (at, {_each("{figure}")}) AS MATERIALIZED (
        SELECT f.at, {_OF_B}
          FROM follows f CROSS JOIN link l ON l.id = f.link_id CROSS JOIN message m ON m.id = l.base
         CROSS JOIN turn b ON b.id = m.turn_id
         WHERE f.place = 1 AND l.source_id IS NOT NULL
    ),
    share AS MATERIALIZED (
        SELECT f.at, {
    _each(
        "f.{figure} - CASE WHEN l.agent IN (SELECT agent FROM by_turn) THEN 0"
        " ELSE coalesce(f.before_{figure}, CASE WHEN b.total < f.total THEN b.{figure} END, 0) END"
        " AS {figure}"
    )
}
          FROM follows f CROSS JOIN link l ON l.id = f.link_id LEFT JOIN source b ON b.at = f.at
    )
"""


def _expenses_query(source: str, where: str, *tables: str) -> str:
    """The query for the expenses of the turns ``t`` of a source, which may be made of tables of its own."""
    own = "".join(f"{table}, " for table in tables)
    return f"""
        WITH RECURSIVE {own}
        picked (at, link_id) AS MATERIALIZED (SELECT t.rowid, t.link_id FROM {source} WHERE {where}),
        {_SHARES}
        SELECT l.agent, l.profile, t.model, {_MONEY} AS money, count(*), sum(t.cost),
               {_each("coalesce(sum(s.{figure}), 0)")}
          FROM picked p CROSS JOIN turn t ON t.rowid = p.at CROSS JOIN link l ON l.id = t.link_id
          LEFT JOIN share s ON s.at = p.at
         GROUP BY l.agent, l.profile, t.model, money ORDER BY min(t.started_at), min(t.rowid)
    """


async def of_turn(r: Reader, turn_id: str) -> list[Expense]:
    """The expense of one turn; none where there is no such turn."""
    return _records(await r.all(_expenses_query("turn t", "t.id = ?1"), (turn_id,)))


async def of_branch(r: Reader, leaf: str | None) -> list[Expense]:
    """The expenses of a branch, every attempt at every prompt."""
    source = "branch b CROSS JOIN turn t ON t.prompt_id = b.id"
    return _records(await r.all(_expenses_query(source, "b.kind = 'user'", _BRANCH), (leaf,)))


async def of_conversation(r: Reader, id: str) -> list[Expense]:
    """The expenses of all branches of a conversation, inherited turns included."""
    source = "counted CROSS JOIN turn t ON t.id = counted.id"
    return _records(await r.all(_expenses_query(source, "true", _INHERITED, _COUNTED), (id,)))


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


def _records(found: list[tuple[Any, ...]]) -> list[Expense]:
    return [Expense(*row) for row in found]

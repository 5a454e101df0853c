"""Usage: tokens and cost of a turn, a branch or a conversation, and of a conversation's asides.

A turn that branches share counts once. Asides belong to a conversation and to none of its branches. Agents report the
tokens of a turn, or those of the session so far. They are stored as reported, and read as those of a turn by what is
known of the agent at the time: what is learnt of it holds for the past, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.records import Expense, Link

REPORTED_OF = "usage_of"  # an ability of an agent, of no version: whose tokens it reports
OF_TURN, OF_SESSION = "turn", "session"

_FIGURES = {"input": "inputTokens", "output": "outputTokens", "total": "totalTokens"}
_MONEY = "CASE WHEN t.cost IS NULL THEN NULL ELSE t.currency END"


def _figure(usage: str, told: str) -> str:
    return (
        f"CASE WHEN json_valid({usage}) AND json_type({usage}, '$.{told}') IN ('integer', 'real')"
        f" THEN CAST(json_extract({usage}, '$.{told}') AS INTEGER) END"
    )


def _figures(usage: str, prefix: str = "") -> str:
    return ", ".join(f"{_figure(usage, told)} AS {prefix}{figure}" for figure, told in _FIGURES.items())


def _each(expression: str, between: str = ", ") -> str:
    """An expression for each figure, whose name stands for ``{figure}`` in it."""
    return between.join(expression.format(figure=figure) for figure in _FIGURES)


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


def _newest_turn(link_id: str, prompts: str) -> str:
    return (
        f"(SELECT e.id FROM turn e WHERE e.link_id = {link_id} AND e.prompt_id {prompts}"
        " AND e.usage IS NOT NULL ORDER BY e.prompt_id DESC LIMIT 1)"
    )


_SUMS = _each("coalesce(sum(s.{figure}), 0)") + ", coalesce(max(s.unsure), false)"

# The tokens of a session so far, which are what the protocol says, never fall while it goes on: an agent whose figures
# did reports those of a turn.
_FELL = _each("coalesce(f.{figure} < f.before_{figure}, false)", " OR ")
_BY_TURN = f"""
    used AS MATERIALIZED (
        SELECT t.rowid AS at, t.link_id, t.how, {_figures("t.usage")}
          FROM (SELECT DISTINCT link_id FROM picked) p CROSS JOIN turn t ON t.link_id = p.link_id
         WHERE t.usage IS NOT NULL
    ),
    follows AS MATERIALIZED (
        SELECT u.*, {_each("lag(u.{figure}) OVER earlier AS before_{figure}")},
               row_number() OVER earlier AS place
          FROM used u WINDOW earlier AS (PARTITION BY u.link_id ORDER BY u.at)
    ),
    known (agent, reported_of) AS MATERIALIZED (
        SELECT agent_name, value FROM ability WHERE agent_version = '' AND name = '{REPORTED_OF}'
    ),
    by_turn (agent) AS MATERIALIZED (
        SELECT agent FROM known WHERE reported_of = '{OF_TURN}'
        UNION
        SELECT l.agent FROM follows f CROSS JOIN link l ON l.id = f.link_id
         WHERE f.how = 'continued' AND ({_FELL}) AND l.agent NOT IN (SELECT agent FROM known)
    )
"""


def _share(agent: str) -> str:
    """What a turn took of figures ``f``, by those before them, and whether that is only the least it can be.

    A sum that is smaller than the one before it began again.
    """
    began = f"{agent} IN (SELECT agent FROM by_turn) OR {_FELL}"
    took = _each(f"f.{{figure}} - iif({began}, 0, coalesce(f.before_{{figure}}, 0)) AS {{figure}}")
    differs = _each("coalesce(f.{figure} >= f.before_{figure} AND f.before_{figure} > 0, false)", " OR ")
    return f"{took}, NOT ({began}) AND ({differs}) AND {agent} NOT IN (SELECT agent FROM known) AS unsure"


# A fork starts from the figures of the newest turn that its source had by then, or of the turn that it begins after.
_SHARES = f"""
    {_BY_TURN},
    source AS MATERIALIZED (
        SELECT f.at, {_figures("b.usage", "before_")}
          FROM follows f CROSS JOIN link l ON l.id = f.link_id CROSS JOIN message m ON m.id = l.base
         CROSS JOIN turn b ON b.id = coalesce({_newest_turn("l.source_id", "<= l.base")}, m.turn_id)
         WHERE f.place = 1 AND l.source_id IS NOT NULL
    ),
    compared AS MATERIALIZED (
        SELECT f.at, f.link_id, {_each("f.{figure}")},
               {_each("coalesce(f.before_{figure}, b.before_{figure}) AS before_{figure}")}
          FROM follows f LEFT JOIN source b ON b.at = f.at
    ),
    share AS MATERIALIZED (
        SELECT f.at, {_share("l.agent")} FROM compared f CROSS JOIN link l ON l.id = f.link_id
    )
"""


def _expenses_query(source: str, where: str, *tables: str) -> str:
    """The query for the expenses of the turns ``t`` of a source, which may be made of tables of its own."""
    own = "".join(f"{table}, " for table in tables)
    return f"""
        WITH RECURSIVE {own}
        picked (at, link_id) AS MATERIALIZED (SELECT t.rowid, t.link_id FROM {source} WHERE {where}),
        {_SHARES}
        SELECT l.agent, l.profile, t.model, {_MONEY} AS money, count(*), sum(t.cost), {_SUMS}
          FROM picked p CROSS JOIN turn t ON t.rowid = p.at CROSS JOIN link l ON l.id = t.link_id
          LEFT JOIN share s ON s.at = p.at
         GROUP BY l.agent, l.profile, t.model, money ORDER BY min(t.started_at), min(t.rowid)
    """


async def of_turn(r: Reader, turn_id: str) -> list[Expense]:
    """The expense of one turn; empty if there is no such turn."""
    return _records(await r.all(_expenses_query("turn t", "t.id = ?1"), (turn_id,)))


async def of_turns(r: Reader, turn_ids: Collection[str]) -> list[Expense]:
    """The expenses of some turns."""
    query = _expenses_query("json_each(?1) e CROSS JOIN turn t ON t.id = e.value", "true")
    return _records(await r.all(query, (rows.as_list(list(turn_ids)),)))


async def of_branch(r: Reader, leaf: str | None) -> list[Expense]:
    """The expenses of a branch, every attempt at every prompt."""
    source = "branch b CROSS JOIN turn t ON t.prompt_id = b.id"
    return _records(await r.all(_expenses_query(source, "b.kind = 'user'", _BRANCH), (leaf,)))


async def of_conversation(r: Reader, id: str) -> list[Expense]:
    """The expenses of all branches of a conversation, inherited turns included."""
    source = "counted CROSS JOIN turn t ON t.id = counted.id"
    return _records(await r.all(_expenses_query(source, "true", _INHERITED, _COUNTED), (id,)))


async def costs_of_turns(r: Reader, conversation_id: str) -> dict[str, float]:
    """The cost of all turns of a conversation by currency, "" if the agent names none; inherited ones apart."""
    found = await r.all(
        "SELECT coalesce(currency, ''), sum(cost) FROM turn WHERE conversation_id = ? AND cost IS NOT NULL GROUP BY 1",
        (conversation_id,),
    )
    return {str(currency): float(cost) for currency, cost in found}


async def of_asides(r: Reader, conversation_id: str) -> list[Expense]:
    """The expenses of a conversation's asides, ended ones too; each question counts as a turn."""
    sql = f"""
        WITH picked (at, link_id) AS MATERIALIZED (SELECT rowid, link_id FROM turn WHERE conversation_id = ?1),
        {_BY_TURN},
        asked AS MATERIALIZED (
            SELECT t.id, t.agent, {_figures("t.usage")}, {_figures("t.usage_before", "before_")}
              FROM aside_question t WHERE t.conversation_id = ?1
        ),
        share AS MATERIALIZED (SELECT f.id AS at, {_share("f.agent")} FROM asked f)
        SELECT t.agent, t.profile, t.model, {_MONEY} AS money, count(*), sum(t.cost), {_SUMS}
          FROM aside_question t JOIN share s ON s.at = t.id
         GROUP BY t.agent, t.profile, t.model, money ORDER BY min(t.asked_at), min(t.id)
    """
    return _records(await r.all(sql, (conversation_id,)))


async def add_aside(
    tx: Writer,
    conversation_id: str,
    *,
    agent: str,
    profile: str,
    model: str | None,
    usage: Mapping[str, Any] | None,
    usage_before: Mapping[str, Any] | None,
    cost: float | None,
    currency: str | None,
) -> None:
    """Add the expense of a question in an aside; nothing else of the question is stored.

    ``usage_before`` is what its session had reported last, or that session's source.
    """
    await tx.run(
        "INSERT INTO aside_question"
        " (conversation_id, agent, profile, model, usage, usage_before, cost, currency, asked_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation_id,
            agent,
            profile,
            model,
            None if usage is None else rows.as_json(usage),
            None if usage_before is None else rows.as_json(usage_before),
            cost,
            currency,
            tx.now(),
        ),
    )


async def of_source(r: Reader, source_link_id: str, base_id: str) -> Mapping[str, Any] | None:
    """The usage that a fork begins with: what its source, or the turn it begins after, reported last."""
    found = await r.one(
        f"""
        SELECT b.usage
          FROM message m CROSS JOIN turn b ON b.id = coalesce({_newest_turn("?1", "<= m.id")}, m.turn_id)
         WHERE m.uid = ?2
        """,
        (source_link_id, base_id),
    )
    return None if found is None or found[0] is None else json.loads(found[0])


async def paid_turns(r: Reader, link: Link) -> int:
    """How many turns made up the total of a link's session: its own, else those of the link that it comes from."""
    found = await r.one(
        """
        SELECT count(*) FROM turn WHERE cost > 0 AND link_id = CASE
            WHEN EXISTS (SELECT 1 FROM turn WHERE link_id = ?1 AND cost > 0) THEN ?1 ELSE ?2 END
        """,
        (link.id, link.source_id),
    )
    return found[0] if found else 0


async def learn(tx: Writer, turn_id: str) -> None:
    """Note for all conversations that an agent reports the tokens of a turn, where those of this turn fell."""
    await tx.run(
        f"""
        INSERT INTO ability (agent_name, agent_version, name, value, learnt_at)
        SELECT f.agent, '', '{REPORTED_OF}', '{OF_TURN}', ?2
          FROM (SELECT l.agent, {_figures("t.usage")}, {_figures("b.usage", "before_")}
                  FROM turn t CROSS JOIN link l ON l.id = t.link_id
                 CROSS JOIN turn b ON b.id = {_newest_turn("t.link_id", "< t.prompt_id")}
                 WHERE t.id = ?1 AND t.how = 'continued') f
         WHERE {_FELL}
            ON CONFLICT (agent_name, agent_version, name) DO NOTHING
        """,
        (turn_id, tx.now()),
    )


def _records(found: list[tuple[Any, ...]]) -> list[Expense]:
    return [Expense(*(*row[:-1], bool(row[-1]))) for row in found]

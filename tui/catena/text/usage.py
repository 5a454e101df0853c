"""Usage of a conversation as text and JSON: last turn, branch, all branches and asides."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from catena.text.safe_text import safe_line
from catena_store.chains import environments, turns, usage
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import Expense, TurnEnvironment

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
_SMALL = 0.1  # of any currency; smaller amounts have four decimals


@dataclass(frozen=True, slots=True)
class Spending:
    """Usage of a turn, its branch and its conversation; each turn is counted once in each."""

    turn: Sequence[Expense]
    branch: Sequence[Expense]
    conversation: Sequence[Expense]
    asides: Sequence[Expense] = ()  # questions of asides, counted as turns; part of no branch
    context: tuple[int, int] | None = None  # tokens in the last turn's session at its end, and its limit


async def spending(reader: Reader, conversation_id: str, leaf_id: str | None) -> Spending:
    """Read the usage of the branch's last turn, the branch and the conversation."""
    turn_id = await turns.newest_on(reader, leaf_id)
    around: TurnEnvironment | None = None
    asides: Sequence[Expense] = ()
    with contextlib.suppress(StoreError):
        asides = await usage.of_asides(reader, conversation_id)
    with contextlib.suppress(StoreError):  # that table may be damaged; it holds no costs
        around = await environments.of_turn(reader, turn_id) if turn_id else None
    return Spending(
        turn=await usage.of_turn(reader, turn_id) if turn_id else [],
        branch=await usage.of_branch(reader, leaf_id),
        conversation=await usage.of_conversation(reader, conversation_id),
        asides=asides,
        context=(around.context_used or 0, around.context_size) if around and around.context_size else None,
    )


def costs(spent: Sequence[Expense]) -> dict[str, float]:
    """The cost by currency, "" if the agent names none; currencies are never added up."""
    total: dict[str, float] = {}
    for each in spent:
        if each.cost is not None:
            currency = each.currency or ""
            total[currency] = total.get(currency, 0.0) + each.cost
    return {currency: round(cost, 6) for currency, cost in total.items()}


def money(cost: float, currency: str) -> str:
    """An amount with its currency, for a person."""
    sign = _SIGNS.get(currency) or (f"{safe_line(currency)} " if currency else "")
    return f"{sign}{cost:,.4f}" if 0 < cost < _SMALL else f"{sign}{cost:,.2f}"


def usage_text(spent: Sequence[Expense], what: str = "turn") -> str:
    """One line with turns, cost and tokens, as far as agents report them."""
    return " · ".join(usage_values(spent, what))


def usage_values(spent: Sequence[Expense], what: str = "turn") -> list[str]:
    """Turns, cost and tokens, as far as agents report them."""
    turns = sum(each.turns for each in spent)
    values = [f"{turns:,} {what}{'' if turns == 1 else 's'}"]
    amounts = costs(spent)
    if amounts:
        values.append(_amounts(amounts))
    values += _tokens(spent)
    if not amounts and len(values) == 1:
        values.append("cost and tokens not reported")
    return values


def usage_rows(spending: Spending) -> Iterator[tuple[str, list[str]]]:
    """Yield title and values of each part; an empty title continues the previous part."""
    if not spending.conversation and not spending.asides:
        yield "", ["No usage yet."]
        return
    yield "last turn", usage_values(spending.turn)
    if spending.context:
        yield "context", ["{:,} of {:,} tokens in its session".format(*spending.context)]
    yield "this branch", usage_values(spending.branch)
    yield "all branches", usage_values(spending.conversation)
    if spending.asides:
        yield "side questions", usage_values(spending.asides, "question")
        if amounts := costs([*spending.conversation, *spending.asides]):
            yield "total", [_amounts(amounts)]
    if len(costs([*spending.conversation, *spending.asides])) > 1:
        yield "", ["Several currencies: listed separately, not added up."]
    for index, (who, spent) in enumerate(_by_agent(spending.conversation).items()):
        *before, last = who
        first, *values = usage_values(spent)
        yield "per model" if index == 0 else "", [*before, f"{last}: {first}", *values]


def spending_shape(spent: Sequence[Expense]) -> dict[str, Any]:
    """One part as JSON, with ``cost`` by currency."""
    return {
        "turns": sum(each.turns for each in spent),
        "cost": costs(spent),
        "input_tokens": sum(each.input_tokens for each in spent),
        "output_tokens": sum(each.output_tokens for each in spent),
        "total_tokens": sum(each.total_tokens for each in spent),
        "tokens_at_least": any(each.tokens_at_least for each in spent),
        "by_model": [
            {
                "agent": each.agent,
                "profile": each.profile,
                "model": each.model,
                "currency": each.currency,
                "turns": each.turns,
                "cost": each.cost,
                "input_tokens": each.input_tokens,
                "output_tokens": each.output_tokens,
                "total_tokens": each.total_tokens,
                "tokens_at_least": each.tokens_at_least,
            }
            for each in spent
        ],
    }


def _amounts(amounts: dict[str, float]) -> str:
    return " and ".join(money(cost, currency) for currency, cost in amounts.items())


def _tokens(spent: Sequence[Expense]) -> Iterator[str]:
    told_in, told_out = sum(each.input_tokens for each in spent), sum(each.output_tokens for each in spent)
    total = sum(each.total_tokens for each in spent)
    least = "at least " if any(each.tokens_at_least for each in spent) else ""
    if told_in or told_out:
        yield f"{least}{told_in:,} tokens in, {told_out:,} out"
    elif total:
        yield f"{least}{total:,} tokens"


def _by_agent(spent: Sequence[Expense]) -> dict[tuple[str, ...], list[Expense]]:
    """Expenses by agent, profile and model."""
    groups: dict[tuple[str, ...], list[Expense]] = {}
    for each in spent:
        who = f"{each.agent} ({each.profile})" if each.profile else each.agent
        named = tuple(safe_line(part) for part in (who, each.model) if part)
        groups.setdefault(named, []).append(each)
    return groups

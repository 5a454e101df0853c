"""The tokens of a turn, where agents report them in `_meta` and not as `usage` of the prompt's answer. Pure.

Gemini's answer has `quota.token_count`; Qwen tells of each call of its model in an empty chunk (`usage`); fast-agent's
answer has a line of words ("1,234 in, 56 out, 2 tools").
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from catena_acp.protocol.json_reading import Json, object_of, text_of

Tokens = dict[str, int]

_FIGURES = ("inputTokens", "outputTokens", "totalTokens", "thoughtTokens", "cachedReadTokens")
_STATUS_LINE = re.compile(r"([\d,]{1,20}) in, ([\d,]{1,20}) out\b")


def tokens_of_answer(answer: Json) -> Tokens | None:
    """The tokens in the `_meta` of a prompt's answer."""
    meta = object_of(answer, "_meta")
    if meta is None:
        return None
    counted = _within(meta, "quota", "token_count")
    if counted is not None:
        return _tokens(counted.get("input_tokens"), counted.get("output_tokens"))
    for each in (meta, object_of(meta, "field_meta") or {}):
        line = text_of(object_of(each, "openhands.dev/metrics") or {}, "status_line")
        if line and (match := _STATUS_LINE.match(line)):
            return _tokens(*(int(number.replace(",", "") or 0) for number in match.groups()))
    return None


def tokens_of_call(update: Json) -> Tokens | None:
    """The tokens of one call of the model, in the `_meta` of a chunk."""
    used = _within(update, "_meta", "usage")
    figures = {name: number for name in _FIGURES if (number := _count((used or {}).get(name)))}
    return figures or None


def added(before: Mapping[str, int], more: Mapping[str, int]) -> Tokens:
    """The tokens of both."""
    return {name: before.get(name, 0) + more.get(name, 0) for name in (*before, *more)}


def _within(found: Json | None, *names: str) -> Json | None:
    for name in names:
        found = object_of(found, name) if found is not None else None
    return found


def _tokens(taken: object, given: object) -> Tokens | None:
    read, written = _count(taken), _count(given)
    if not read and not written:
        return None
    return {"inputTokens": read, "outputTokens": written, "totalTokens": read + written}


def _count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return int(value) if whole else 0  # type: ignore[call-overload]

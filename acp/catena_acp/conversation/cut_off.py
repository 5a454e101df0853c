"""A turn that our own end cut off: what is said of it, and what can be done about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catena_acp.conversation.news import Problem
from catena_acp.conversation.problems import problem_about
from catena_acp.conversation.words import ending_words
from catena_acp.troubles import Trouble
from catena_store.records import StopReason

_NAMED = 3  # tool calls; the others are counted
_LONGEST_NAME = 40  # characters


def cut_off(title: str, under_way: Sequence[Mapping[str, Any]]) -> Problem:
    """The problem of such a turn; ``under_way`` are its tool calls that had not come to their end, as they are kept."""
    words = ending_words(title, StopReason.INTERRUPTED) or ""
    if under_way:
        words += f" Outcome unknown: {_named(under_way)}; look before you send it again."
    return problem_about(Trouble.INTERRUPTED, words)


def _named(calls: Sequence[Mapping[str, Any]]) -> str:
    names = [_name(call) for call in calls[:_NAMED]]
    if more := len(calls) - len(names):
        return f"{', '.join(names)} and {more:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _name(call: Mapping[str, Any]) -> str:
    words = " ".join(str(call.get("title") or call.get("kind") or "a tool call").split())
    return words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1].rstrip()}…"

"""What a tool call did beside what the person was asked for, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def is_unlike(data: Mapping[str, Any]) -> bool:
    """True if a call did something else than what was allowed, or went on though it was rejected."""
    other = any(entry.get("other") for entry in _done(data))
    return isinstance(data.get("became"), Mapping) or bool(data.get("done_anyway")) or other


def call_notes(data: Mapping[str, Any]) -> Iterator[str]:
    """The lines below a tool call's own; they hold texts of the agent as they were sent."""
    if isinstance(became := data.get("became"), Mapping):
        asked, did = became.get("asked", ""), became.get("did", "")
        rule = data.get("rule")
        by = f" ({rule.get('text')})" if isinstance(rule, Mapping) else ""
        yield f"asked for {asked}{by}; {'ran' if data.get('kind') == 'execute' else 'did'} {did}"
    if data.get("done_anyway"):
        yield "rejected, and the agent reports it as done"
    for entry in _done(data):
        did, other = entry.get("did", "ran"), entry.get("other", "")
        unasked = "" if entry.get("asked") else " · not asked"
        if other or unasked or entry.get("own"):
            yield f"Catena {did} {other or 'this for the agent'}{unasked}"


def _done(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = data.get("done_by_client")
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []

"""A chain in words, for the screen and for ``catena show --chain``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from catena.safe_text import safe_line
from catena_acp.agents.catalog import spec_named
from catena_acp.conversation.inspection.chain import Chain, ChainEntry, Loads, shortened
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec
from catena_store.chains.link_history import Glimpse

_LOADS = {Loads.YES: "yes", Loads.NO: "no", Loads.UNKNOWN: "not known"}


def one_line(text: str) -> str:
    """Text of an agent or a person, fit to be printed on one line."""
    return safe_line(text)


def facts_of(entry: ChainEntry) -> Iterator[tuple[str, str]]:
    """Everything about one link, as names and values."""
    link, probe = entry.link, entry.probe
    yield "session", link.session_id
    yield "agent", f"{link.agent} · {link.profile}" if link.profile else link.agent
    yield "directory", link.cwd
    yield "why", entry.cause
    if entry.ended:
        yield "ended", entry.ended
    yield "state", f"{entry.state} · {'on this branch' if entry.here else 'not on this branch'}"
    yield "turns", f"{entry.turns:,}"
    if entry.first:
        yield "first", _message(entry.first)
    if entry.last:
        yield "last", _message(entry.last)
    yield "knows", f"{entry.knows}; {entry.reach}"
    looked = f", {_when(probe.at)}" if probe.at else ""
    yield "loads", f"{_LOADS[probe.loads]}: {probe.words}{looked}"
    for number, event in enumerate(entry.events):
        detail = f" · {event.detail}" if event.detail else ""
        yield "" if number else "record", f"{_when(event.at)}  {event.event}{detail}"


def title_of_agent(
    name: str, profile: str, title_of: Callable[[AgentSpec], str] = lambda spec: spec.title
) -> str:
    """What a person reads for the agent of a link."""
    try:
        title = title_of(spec_named(name))
    except AgentMissing:
        title = name
    return f"{title} ({profile})" if profile else title


def chain_as_text(chain: Chain) -> Iterator[str]:
    """A chain as a person reads it, oldest link first, a block of lines each."""
    if chain.older:
        yield f"… {chain.older:,} older"
    for number, entry in enumerate(chain.entries, chain.older + 1):
        if number > 1:
            yield ""
        yield f"{number}. {safe_line(entry.agent_title)}"
        for name, value in facts_of(entry):
            yield f"   {name:<10}{safe_line(value)}".rstrip()
    if not chain.entries:
        yield "no session has carried this conversation yet"
    if chain.folded:
        yield f"\n{chain.folded:,} more, set apart: parked forks, asides, probes, and sessions that carried nothing"


def _message(glimpse: Glimpse) -> str:
    return f"{_when(glimpse.created_at)}  {shortened(glimpse.text)}"


def _when(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")

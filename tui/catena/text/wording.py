"""Wording for a person: chains and their links, lineage, checkpoints and logins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from catena.text.formats import title_of
from catena.text.safe_text import safe_line
from catena_acp.abilities import AuthMethod
from catena_acp.agents.catalog import find_spec
from catena_acp.agents.login_methods import ENVIRONMENT, TERMINAL, Variable
from catena_acp.conversation.checkpoints.checkpoints import Listed
from catena_acp.conversation.inspection.chain import Chain, ChainEntry, Loads, shortened
from catena_acp.conversation.inspection.price import Price
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec
from catena_store.chains.link_history import MessagePreview
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.conversations.lineage import Kin, Lineage
from catena_store.records import ContextSource

_LOADS = {Loads.YES: "yes", Loads.NO: "no", Loads.UNKNOWN: "not known"}


def link_facts(entry: ChainEntry) -> Iterator[tuple[str, str]]:
    """Yield the facts about one link as names and values; an empty name continues the previous fact."""
    link, probe = entry.link, entry.check
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
    yield "next", entry.next
    looked = f", {_when(probe.at)}" if probe.at else ""
    yield "loads", f"{_LOADS[probe.loads]}: {probe.words}{looked}"
    for number, event in enumerate(entry.events):
        detail = f" · {event.detail}" if event.detail else ""
        yield "" if number else "record", f"{_when(event.at)}  {event.event}{detail}"


def agent_title(
    name: str, profile: str, title_of: Callable[[AgentSpec], str] = lambda spec: spec.title
) -> str:
    """The title of a link's agent, with its profile."""
    try:
        title = title_of(find_spec(name))
    except AgentMissing:
        title = name
    return f"{title} ({profile})" if profile else title


def chain_lines(chain: Chain) -> Iterator[str]:
    """Yield a chain as text, oldest link first, a block of lines each."""
    if chain.older:
        yield f"… {chain.older:,} older"
    for number, entry in enumerate(chain.entries, chain.older + 1):
        if number > 1:
            yield ""
        yield f"{number}. {safe_line(entry.agent_title)}"
        for name, value in link_facts(entry):
            yield f"   {name:<10}{safe_line(value)}".rstrip()
    if not chain.entries:
        yield "no session has carried this conversation yet"
    if chain.folded:
        yield f"\n{chain.folded:,} more, set apart: parked forks, asides, probes, and sessions that carried nothing"
    if chain.entries:
        yield f"\n{next_line(chain)}"


def next_line(chain: Chain) -> str:
    """Where the next prompt of the chain's branch would go."""
    return f"The next prompt would go to {safe_line(chain.next)}."


def _message(glimpse: MessagePreview) -> str:
    return f"{_when(glimpse.created_at)}  {shortened(glimpse.text)}"


def _when(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


_HOW = "/lineage goes there"


def kin_name(kin: Kin) -> str:
    """The title of a source or fork."""
    return safe_line(kin.title or title_of(kin.preview) or "untitled")


def lineage_line(lineage: Lineage, forked_at: datetime) -> str:
    """One line on the source and forks of a conversation; "" without any."""
    parts = []
    if lineage.source:
        parts.append(f"forked from “{kin_name(lineage.source)}” at {forked_at.astimezone():%H:%M}")
    if len(lineage.forks) == 1:
        parts.append(f"forked: “{kin_name(lineage.forks[0])}”")
    elif lineage.forks:
        parts.append(f"{len(lineage.forks)} forks")
    return f"↳ {' · '.join(parts)} · {_HOW}" if parts else ""


FREQUENCY_SENTENCES = {
    Frequency.TURN: "Checkpoints are made at the start of every turn here.",
    Frequency.TOOL: "Checkpoints are made at the start of every turn and after every tool call here.",
    Frequency.MANUAL: "Checkpoints are made here only when you ask for one.",
    Frequency.OFF: "No checkpoints are made here; those that there are stay.",
}
FREQUENCY_CHOICES = "turn (at the start of each), tool (after each call, too), manual, off"


def checkpoint_name(checkpoint: Checkpoint) -> str:
    """A checkpoint in the middle of a sentence: its label, or its time."""
    if checkpoint.label:
        return f"“{safe_line(checkpoint.label)}”"
    return f"the checkpoint of {format_clock(checkpoint.created_at)}"


def checkpoint_place(listed: Listed) -> str:
    """The place of a checkpoint, named by its prompt."""
    if not listed.prompt:
        return "the beginning" if listed.checkpoint.message_id is None else ""
    return f"{'before' if listed.before else 'in the turn of'} {shortened(safe_line(listed.prompt), 40)}"


def context_text(price: Price) -> str:
    """The source of the context for a prompt there: `native`, `new session` or `told` and the number of messages."""
    if not price.native:
        return f"told {price.told:,}"
    return "new session" if price.how is ContextSource.FRESH else "native"


def format_clock(at: datetime) -> str:
    """A time of day, with its date unless that is today."""
    there = at.astimezone()
    today = there.date() == datetime.now().astimezone().date()
    return there.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")


def no_login_text(title: str, own_way: str | None) -> str:
    """Text for an agent that offers no login method."""
    way = f" Its own way: {own_way}." if own_way else ""
    return f"{safe_line(title)} names no way to log in from here.{way}"


def login_refused_text(title: str, why: str, own_way: str | None) -> str:
    """Text for a failed login by the agent itself."""
    way = f" Another way: {own_way}." if own_way else ""
    return f"{safe_line(title)} did not log you in: {safe_line(why)}. Everything is as it was.{way}"


def login_failed_text(program: str, status: int) -> str:
    """Text for a failed login in the terminal."""
    how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    return f"The login did not succeed: {safe_line(program)} {how}. Everything is as it was."


def login_not_started_text(program: str, why: str | None) -> str:
    """Text for a login program that cannot be started."""
    return (
        f"The login cannot be started: {safe_line(program)}: {why or 'not found'}. Everything is as it was."
    )


def method_kind_text(method: AuthMethod) -> str:
    """The kind of a login method, for a list to choose from."""
    match method.kind:
        case "terminal":
            return "in the terminal"
        case "env_var":
            return "by environment variables"
        case _:
            return "by the agent"


def variable_lines(
    title: str, name: str, method: AuthMethod, variables: Sequence[Variable], settings_path: str
) -> list[str]:
    """Lines on a login by environment variables, without their values; ``name`` is the agent's in the settings."""
    lines = [f"{safe_line(title)} reads this login from its environment when it starts."]
    if method.description:
        lines += ["", safe_line(method.description)]
    lines += [
        "",
        *(f"  {safe_line(each.name)}: {'is set' if each.is_set else 'is not set'}" for each in variables),
    ]
    if not variables:
        lines.append("  It does not name the variables.")
    lines += [
        "",
        f"Set them under [agents.{name}.env] in {settings_path}",
        "or in the shell before Catena starts; then start Catena again. Your tabs come back.",
    ]
    return lines


def is_agent_method(method: AuthMethod) -> bool:
    """True for a login method that the running agent carries out itself."""
    return method.kind not in (TERMINAL, ENVIRONMENT)

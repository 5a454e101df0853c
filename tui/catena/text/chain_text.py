"""Text about chains, their links, checkpoints, compared branches, and the lineage of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from string import ascii_uppercase

from catena.text.names import conversation_name, names_apart
from catena.text.safe_text import safe_line
from catena_acp.agents.catalog import find_spec
from catena_acp.continuity.wording.context_summary import SHORTENED
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.checkpoints.checkpoints import Listed
from catena_acp.conversation.inspection.chain import (
    Chain,
    ChainEntry,
    Loads,
    OtherSession,
    TurnContext,
    shortened,
)
from catena_acp.conversation.inspection.price import Price
from catena_acp.conversation.inspection.tree import BranchTail, Comparison
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec
from catena_store.chains.links import MessagePreview
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.conversations.tree import Kin, Lineage
from catena_store.records import ContextSource, Kind, LinkState

_STATES = {LinkState.PARKED: "saved fork", LinkState.SUSPECT: "uncertain"}
_EVENTS = {
    "born": "created",
    "carried": "used",
    "looked": "checked",
    "agent_gone": "agent exited",
    "suspect": "uncertain",
    "parked": "saved a fork",
}
_LOADS = {Loads.YES: "yes", Loads.NO: "no", Loads.UNKNOWN: "unknown"}


def link_facts(entry: ChainEntry) -> Iterator[tuple[str, str]]:
    """Yield the facts about one link as names and values; an empty name continues the previous fact."""
    link, probe = entry.link, entry.check
    yield "session", link.session_id
    yield "agent", f"{link.agent} · {link.profile}" if link.profile else link.agent
    yield "directory", link.cwd
    yield "created", entry.cause
    if entry.ended:
        yield "ended", entry.ended
    where = "on this branch" if entry.here else "not on this branch"
    yield "state", f"{_STATES.get(entry.state, entry.state)} · {where}"
    yield "turns", f"{entry.turns:,}"
    if entry.first:
        yield "first", _message(entry.first)
    if entry.last:
        yield "last", _message(entry.last)
    yield "knows", f"{entry.knows}; {entry.reach}"
    yield "next", entry.next
    looked = f", {_when(probe.at)}" if probe.at else ""
    yield "loadable", f"{_LOADS[probe.loads]}: {probe.words}{looked}"
    for number, event in enumerate(entry.events):
        detail = f" · {event.detail}" if event.detail else ""
        yield "" if number else "log", f"{_when(event.at)}  {_EVENTS.get(event.event, event.event)}{detail}"


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
        yield "no sessions yet"
    if chain.folded:
        yield f"\n{chain.folded:,} more, internal: saved forks, side questions, tests, and unused sessions"
    if chain.entries:
        yield f"\n{next_line(chain)}"


def next_line(chain: Chain) -> str:
    """Where the next prompt of the chain's branch would go."""
    return f"The next prompt would go to {safe_line(chain.next)}."


def context_facts(context: TurnContext) -> Iterator[str]:
    """Yield the facts of a turn's context, a line each; what stands apart begins with an empty one."""
    turn = context.turn
    yield f"Your prompt: {safe_line(shortened(context.prompt.text, 200))}"
    yield f"Source: {context.how}" + (f" ({safe_line(turn.cause)})" if turn.cause else "")
    yield f"Session: {safe_line(context.agent_title)}"
    knew = f"{context.knew:,}" if context.knew else "none of this conversation"
    yield f"Messages in session: {knew}" + (
        f"; {SHORTENED}" if context.abridged and turn.how is not ContextSource.TOLD else ""
    )
    if turn.left_out:
        yield ""
        yield f"Left out for length: {counted(turn.left_out, 'message')}"
        if (hidden := turn.left_out - len(context.left_out)) > 0:
            yield f"  … {hidden:,} older"
        for glimpse in context.left_out:
            yield f"  – {safe_line(shortened(glimpse.text, 100))}"
    if turn.shortened:
        yield f"Shortened: {counted(turn.shortened, 'message')}"
    if turn.masked:
        yield f"Masked in what is said of tool calls: {counted(turn.masked, 'secret')}"
    if context.tools or turn.tools_left_out:
        yield ""
        more = f", {turn.tools_left_out:,} left out" if turn.tools_left_out else ""
        yield f"{counted(turn.tools_listed, 'tool call')} listed{more}:"
        for line in context.tools:
            yield f"  – {safe_line(line)}"
    if context.others:
        yield ""
        yield "Other sessions, when it was sent:"
        for name, other in zip(_names(context.others), context.others, strict=True):
            yield f"  – {safe_line(f'{name}: {other.words}')}"
    yield ""
    yield f"Session id: {safe_line(context.link.session_id)}"
    told = context.prior_context
    if told is None:
        yield "Only your prompt was sent."
    else:
        yield f"Sent before your prompt, exactly as follows ({len(told):,} characters):"


def next_lines(chain: Chain) -> Iterator[str]:
    """Yield where the next prompt would go and, of several sessions, what it makes of each."""
    yield next_line(chain)
    for name, entry in zip(_names(chain.entries), chain.entries, strict=True):
        if len(chain.entries) > 1:
            yield f"  – {safe_line(f'{name}: {entry.next}')}"


def _names(sessions: Sequence[ChainEntry] | Sequence[OtherSession]) -> list[str]:
    """What sessions are called beside each other; their ids are in the details."""
    return names_apart([(each.agent_title, "") for each in sessions])


def context_place(context: TurnContext) -> str:
    """The place of a turn on its branch."""
    return f"turn {context.number:,} of {context.total:,}" if context.number else "an earlier attempt"


def _message(glimpse: MessagePreview) -> str:
    return f"{_when(glimpse.created_at)}  {shortened(glimpse.text)}"


def _when(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


_HOW = "/context forks goes there"


def kin_name(kin: Kin) -> str:
    """The title of a source or fork."""
    return safe_line(conversation_name(kin.title, kin.preview))


def lineage_line(lineage: Lineage, forked_at: datetime) -> str:
    """One line on the source and forks of a conversation; "" without any."""
    parts = []
    if lineage.source:
        parts.append(f"forked from “{kin_name(lineage.source)}” at {forked_at.astimezone():%H:%M}")
    if len(lineage.forks) == 1:
        parts.append(f"forked: “{kin_name(lineage.forks[0])}”")
    elif lineage.forks:
        parts.append(f"{len(lineage.forks)} forks")
    return " · ".join((*parts, _HOW)) if parts else ""


FREQUENCY_SENTENCES = {
    Frequency.TURN: "A checkpoint is saved at the start of every turn.",
    Frequency.TOOL: "A checkpoint is saved at the start of every turn and after every tool call.",
    Frequency.MANUAL: "Checkpoints are saved only when you ask.",
    Frequency.OFF: "Checkpoints are off; existing ones are kept.",
}
FREQUENCY_CHOICES = "turn (each turn), tool (also after each tool call), manual, off"


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


def place_gone_to(listed: Listed) -> str:
    """A checkpoint behind "to", as the person knows it: its label, or the prompt that it stands before, or its time."""
    checkpoint = listed.checkpoint
    between_turns = not checkpoint.label and (listed.before or checkpoint.message_id is None)
    return (checkpoint_place(listed) if between_turns else "") or checkpoint_name(checkpoint)


def checkpoint_facts(checkpoint: Checkpoint) -> list[str]:
    """How much a checkpoint holds, and the model of its turn, as far as they are known."""
    count, model = checkpoint.data.get("messages"), checkpoint.data.get("model")
    messages = counted(count, "message") if isinstance(count, int) else ""
    return [fact for fact in (messages, safe_line(str(model)) if model else "") if fact]


def price_text(price: Price) -> str:
    """How a prompt there gets its context: `same context`, `new session`, or `14 replayed`."""
    if not price.native:
        return f"{price.told:,} replayed"
    return "new session" if price.how is ContextSource.FRESH else "same context"


def format_clock(at: datetime) -> str:
    """A time of day, with its date unless that is today."""
    there = at.astimezone()
    today = there.date() == datetime.now().astimezone().date()
    return there.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")


def branch_letter(at: int) -> str:
    """The letter of a branch by its place from the left; a number behind Z."""
    return ascii_uppercase[at] if at < len(ascii_uppercase) else f"{at + 1}"


def shared_words(comparison: Comparison) -> str:
    """Where branches split, in words."""
    tails = comparison.tails
    every = "Both" if len(tails) == 2 else f"All {len(tails)}"
    if prompts := comparison.shared_prompts:
        return f"{every} start with the same {'prompt' if prompts == 1 else counted(prompts, 'prompt')}."
    first = [_first_prompt(tail) for tail in tails]
    if first[0] is not None and len({*first}) == 1:
        return f"{every} answer the same first prompt."
    return "They split at the first prompt."


def shown_words(first: int, shown: int, of: int) -> str:
    """Which of the compared answers stand on the screen: `Answers 1–2 of 3`."""
    if shown == 1:
        return f"Answer {first + 1} of {of}"
    return f"Answers {first + 1}–{first + shown} of {of}"


def _first_prompt(tail: BranchTail) -> str | None:
    """The text of a branch's first prompt; None where it is not known."""
    return None if tail.left_out else next((row.text for row in tail.rows if row.kind is Kind.USER), None)

"""The chain as a person looks at it: every session that carried the conversation, and the context of a turn of one.

Also where the next prompt would go, and of each link why it would or would not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.explanation import explanation_words
from catena_acp.continuity.routing.prior_context import listed_calls
from catena_acp.continuity.sending.context import read_situation
from catena_acp.continuity.sessions.agent_pool import kept_powers
from catena_acp.continuity.wording.context_summary import SHORTENED, ContextSummary, how_words
from catena_acp.spoken.spoken import Seam, spoken_of
from catena_store.chains import links, turns
from catena_store.chains.links import LinkExtent, MessagePreview
from catena_store.conversations import conversations, messages
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.records import (
    Cause,
    ContextSource,
    ConversationRecord,
    Link,
    LinkEvent,
    LinkState,
    StopReason,
    Turn,
)

SHOWN = 16  # links, where not all are wanted

_SET_APART = frozenset({Cause.PARK, Cause.ASIDE, Cause.PROBE})


class Loads(StrEnum):
    """Whether a session can still be opened, as far as was seen."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SessionCheck:
    """Result of a check whether a session loads; ``at`` is None if it was never checked."""

    loads: Loads
    words: str
    at: datetime | None

    @property
    def detail(self) -> str:
        """As the chain's record keeps it."""
        return f"{self.loads}: {self.words}"


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """One link of a chain, with what a person wants to know of it."""

    link: Link
    agent_title: str
    cause: str  # in words, why it came to be
    first: MessagePreview | None  # the first and the last message that it carried
    last: MessagePreview | None
    turns: int
    ended: str | None  # in words, why it is no longer used or how its last turn went wrong
    here: bool  # it carried a part of this branch
    check: SessionCheck  # whether it still loads
    knows: str  # in words, what its session holds at least,
    reach: str  # … and what it may hold beyond that
    events: tuple[LinkEvent, ...]
    next: str  # in words, whether the next prompt would go to it, and why not

    @property
    def state(self) -> LinkState:
        return self.link.state


@dataclass(frozen=True, slots=True)
class Chain:
    """The links that carried prompts, by when they last did, newest last."""

    entries: tuple[ChainEntry, ...]
    older: int  # links before these
    folded: int  # parked forks, asides, probes, and sessions that never carried anything
    next: str = ""  # in words, the session that the next prompt would go to


async def read_chain(
    r: Reader,
    conversation_id: str,
    leaf: str | None,
    *,
    title_of: Callable[[str, str], str],
    warm: Collection[str] = (),
    cap: int | None = SHOWN,
    window_id: str = "",
    open_windows: Collection[str] = (),
) -> Chain:
    """A conversation's chain, and the links of others that the branch travelled on; ``cap`` None for all of it.

    ``title_of`` gives the name of an agent; ``warm`` are the links whose session is open here, ``open_windows`` the
    windows that are. Raises NotFound.
    """
    travelled = await turns.links_on(r, leaf)
    own = await links.of_conversation(r, conversation_id)
    known = {link.id: link for link in own}
    for link_id in travelled - known.keys():
        if link := await links.get(r, link_id):
            known[link_id] = link
    loads = await links.turns_by_link(r, known)
    shown = [link for link in known.values() if _shows(link, link.id in loads)]
    shown.sort(key=lambda link: loads[link.id].newest if link.id in loads else 0)
    newest = shown if cap is None else shown[-cap:]
    record = await conversations.get(r, conversation_id)
    if record is None:
        raise NotFound("conversation", conversation_id)
    next_prompt = await _read_next_prompt(
        r, record, leaf, newest, window_id=window_id, open_windows=open_windows, warm=warm
    )
    entries = []
    for link in newest:
        load = loads.get(link.id)
        ends = await links.extent(r, link.id, load) if load else LinkExtent(None, None, None, None, None)
        events = tuple(await links.events_of_link(r, link.id))
        marks = await links.previews(r, {row for row in (link.knows, link.reach) if row})
        entries.append(
            ChainEntry(
                link=link,
                agent_title=title_of(link.agent, link.profile),
                cause=_cause(link, ends),
                first=ends.first,
                last=ends.last,
                turns=load.count if load else 0,
                ended=_ended(link, ends),
                here=link.id in travelled,
                check=_session_check(link, events, warm=link.id in warm),
                knows=_knows(link, marks),
                reach=_reach(link, marks),
                events=events,
                next=next_prompt.links[link.id],
            )
        )
    return Chain(tuple(entries), len(shown) - len(newest), len(known) - len(shown), next_prompt.goes_to)


def shortened(text: str, length: int = 60) -> str:
    """The beginning of a text, as one line in quotation marks."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= length else f"“{line[: length - 1].rstrip()}…”"


def _shows(link: Link, carried: bool) -> bool:
    return carried or (link.cause is Cause.IMPORT and link.state is not LinkState.PARKED)


def _cause(link: Link, ends: LinkExtent) -> str:
    match link.cause:
        case Cause.NEW:
            born = "new session"
        case Cause.FORK | Cause.PARK | Cause.ASIDE:
            born = "fork of another session"
        case Cause.FORK_AT:
            born = "fork at an earlier message"
        case Cause.PROBE:
            born = "created to test what the agent can do"
        case Cause.IMPORT:
            born = "imported from the agent's session list"
        case Cause.COPY:
            born = "copy of another session's transcript"
    return f"{born}: {ends.cause}" if ends.cause else born


def _ended(link: Link, ends: LinkExtent) -> str | None:
    match link.state:
        case LinkState.LOST:
            return f"lost: {link.ended or 'the agent no longer has it'}"
        case LinkState.SUSPECT:
            return f"unused: {link.ended or 'its content is uncertain'}"
        case LinkState.PARKED:
            return "saved fork"
        case LinkState.OPEN:
            return link.ended or _last_trouble(ends)


def _last_trouble(ends: LinkExtent) -> str | None:
    """How the newest turn went wrong, if it did."""
    match ends.stop_reason:
        case StopReason.AGENT_GONE:
            return f"its agent {ends.error or 'ended'}"
        case StopReason.INTERRUPTED:
            return "its last turn was interrupted"
        case StopReason.ERROR | StopReason.REFUSAL:
            return f"its last turn failed: {ends.error}" if ends.error else "its last turn failed"
        case _:
            return None


def _session_check(link: Link, events: tuple[LinkEvent, ...], *, warm: bool) -> SessionCheck:
    if link.state is LinkState.LOST:
        lost = next((event.at for event in reversed(events) if event.event == "lost"), None)
        return SessionCheck(Loads.NO, link.ended or "it is lost", lost)
    if warm:
        return SessionCheck(Loads.YES, "open now", None)
    looked = next((event for event in reversed(events) if event.event == links.LOOKED), None)
    if looked is None:
        return SessionCheck(Loads.UNKNOWN, "not checked", None)
    loads, _, words = (looked.detail or "").partition(": ")
    return SessionCheck(Loads(loads) if loads in set(Loads) else Loads.UNKNOWN, words, looked.at)


def _knows(link: Link, marks: dict[str, MessagePreview]) -> str:
    if link.knows is None:
        return "nothing for certain"
    at = f"everything up to {_named(marks.get(link.knows))}"
    return f"{at}; {SHORTENED}" if link.unabridged_from else at


def _reach(link: Link, marks: dict[str, MessagePreview]) -> str:
    if link.reach == link.knows:
        return "nothing beyond that"
    return f"possibly more, up to {_named(marks.get(link.reach or ''))}"


def _named(preview: MessagePreview | None) -> str:
    if preview is None:
        return "a deleted message"
    return shortened(preview.text) if preview.text.strip() else f"an empty {preview.kind} message"


@dataclass(frozen=True, slots=True)
class _NextPrompt:
    """The session that the next prompt of a branch would go to, in words."""

    goes_to: str
    links: Mapping[str, str]  # by id: whether the prompt would go to the link, and why not


async def _read_next_prompt(
    reader: Reader,
    record: ConversationRecord,
    leaf_id: str | None,
    shown: Sequence[Link],
    *,
    window_id: str = "",
    open_windows: Collection[str] = (),
    warm: Collection[str] = (),
) -> _NextPrompt:
    """Ask the route about a prompt below the leaf; ``shown`` are explained beside the links that the route looks at.

    ``warm`` are the links whose session is open here. Starts nothing: what the agent can do is what it last could.
    """
    situation = await read_situation(
        reader,
        record,
        route.Target(record.agent, record.profile, record.cwd),
        window_id,
        leaf_id,
        frozenset(open_windows),
        await kept_powers(reader, record.agent),
        others=shown,
    )
    situation = replace(situation, warm=frozenset(warm))
    explained = route.explain(situation)
    taken = next((each.step for each in explained if each.taken), None)
    return _NextPrompt(_goes_to(taken), {each.link.id: explanation_words(each) for each in explained})


def _goes_to(step: route.Step | None) -> str:
    match step:
        case route.Use(link):
            return f"the session {link.session_id}"
        case route.Fork(link):
            return f"a fork of the session {link.session_id}"
        case route.ForkAt(link):
            return f"a fork, at an earlier turn, of the session {link.session_id}"
        case route.Copy(link):
            return f"a copy of the session {link.session_id}"
        case _:
            return "a new session"


LEFT_OUT_SHOWN = 50  # messages of those that were left out, the newest


@dataclass(frozen=True, slots=True)
class OtherSession:
    """A session that did not carry a turn, and in words what the route made of it when the prompt was sent."""

    agent_title: str
    session_id: str
    words: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """How one turn's context got to its session."""

    turn: Turn
    link: Link
    agent_title: str
    prompt: MessagePreview
    number: int  # of the branch's turns, from 1; 0 for an attempt that is not on it any more
    total: int
    how: str  # in words
    knew: int  # user and agent rows that the session held before
    abridged: bool  # … of which it was told some only in part
    left_out: tuple[MessagePreview, ...]  # the newest of what was left out, oldest first
    tools: tuple[str, ...]  # the tool calls that were listed, in words
    # Those that the route chose from; nothing is known of them without a seam.
    others: tuple[OtherSession, ...]
    before: str | None  # the turn before on the branch, and the next one
    after: str | None
    # With what the next prompt makes of each link; of the branch's newest turn only.
    next: Chain | None = None

    @property
    def prior_context(self) -> str | None:
        """The exact text that was sent before the prompt."""
        return self.turn.prior_context


async def read_context(
    r: Reader,
    leaf: str | None,
    *,
    title_of: Callable[[str, str], str],
    message_id: str | None = None,
    turn_id: str | None = None,
) -> TurnContext | None:
    """The context of a turn: of this id, else the message's, else the branch's newest; None before the first turn."""
    turn_id = turn_id or await _turn_of(r, message_id)
    place = await turns.place_on(r, leaf, turn_id)
    turn_id = turn_id or (place.turn_id if place else None)
    turn = await turns.get(r, turn_id) if turn_id else None
    link = await links.get(r, turn.link_id) if turn else None
    prompt = await messages.get(r, turn.prompt_id) if turn else None
    if turn is None or link is None or prompt is None:
        return None
    above = prompt.parent_id
    spoken, _ = await messages.count_between(r, None, above)
    # What the session did not know is the end of the branch above the prompt, and what it was told the end of that.
    unknown = await messages.spoken_between(r, None, above, turn.told + min(turn.left_out, LEFT_OUT_SHOWN))
    left_out = [row.id for row in unknown[: len(unknown) - turn.told]] if turn.left_out else []
    row = await messages.seam_of(r, turn.id)
    said = spoken_of(row) if row else None
    seam = said if isinstance(said, Seam) else None
    seen = await links.previews(r, [*left_out, prompt.id])
    return TurnContext(
        turn=turn,
        link=link,
        agent_title=title_of(link.agent, link.profile),
        prompt=seen[prompt.id],
        number=place.number if place else 0,
        total=place.total if place else 0,
        how=how_words(ContextSummary.of_turn(turn), opened=_opened(seam)),
        knew=spoken - turn.told_total,
        abridged=turn.unabridged_from is not None,
        left_out=tuple(seen[id] for id in left_out),
        tools=tuple(listed_calls(turn.prior_context or "")),
        others=await _others(r, seam, title_of),
        before=place.before if place else None,
        after=place.after if place else None,
    )


async def _turn_of(r: Reader, message_id: str | None) -> str | None:
    """The turn that a message belongs to: its own, else that of the nearest message above it."""
    row = await messages.get(r, message_id) if message_id else None
    while row is not None and row.turn_id is None:
        row = await messages.get(r, row.parent_id) if row.parent_id else None
    return row.turn_id if row else None


def _opened(seam: Seam | None) -> ContextSource | None:
    """How the session came to what it held before it was told the rest; a turn of an earlier version does not say."""
    said = seam.opened if seam else None
    return ContextSource(said) if said in tuple(ContextSource) else None


async def _others(
    r: Reader, seam: Seam | None, title_of: Callable[[str, str], str]
) -> tuple[OtherSession, ...]:
    """The other sessions, as the turn's seam has them; turns of an earlier version name none."""
    others = []
    for link_id, words in (seam.others or {}).items() if seam else ():
        if link := await links.get(r, link_id):
            others.append(OtherSession(title_of(link.agent, link.profile), link.session_id, str(words)))
    return tuple(others)

"""The chain, as a person looks at it: every session that carried the conversation, and what became of it.

Also where the next prompt would go, and of each link why it would or would not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.explanation import explanation_words
from catena_acp.continuity.sending.context import read_situation
from catena_acp.continuity.sessions.agent_pool import kept_powers
from catena_acp.continuity.wording.context_summary import SHORTENED
from catena_store.chains import link_history, links, turns
from catena_store.chains.link_history import LinkExtent, MessagePreview
from catena_store.conversations import conversations
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.records import Cause, ConversationRecord, Link, LinkEvent, LinkState, StopReason

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
    loads = await link_history.turns_by_link(r, known)
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
        ends = (
            await link_history.extent(r, link.id, load) if load else LinkExtent(None, None, None, None, None)
        )
        events = tuple(await link_history.events(r, link.id))
        marks = await link_history.previews(r, {row for row in (link.knows, link.reach) if row})
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

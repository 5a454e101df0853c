"""The chain, as a person looks at it: every session that carried the conversation, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from catena_acp.continuity.wording import ABRIDGED
from catena_acp.conversation.inspection.context import TurnContext, read_context
from catena_acp.conversation.inspection.next_prompt import read_next_prompt
from catena_acp.conversation.inspection.price import Price, prices
from catena_acp.conversation.prompts.window import Window
from catena_acp.conversation.runtime import ConversationRuntime
from catena_acp.errors import AgentError, AgentMissing, NotToBePicked, SessionGone, StillAtWork
from catena_acp.port import AgentSpec
from catena_store.chains import link_history, links, turns
from catena_store.chains.link_history import LinkExtent, MessagePreview
from catena_store.chains.links import UNSET, Unset
from catena_store.conversations import conversations, messages
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.records import Cause, Link, LinkEvent, LinkState, MessageState, StopReason
from catena_store.windows import windows
from catena_store.windows.journal import Act

SHOWN = 16  # links, where not all are wanted

_SET_APART = frozenset({Cause.PARK, Cause.ASIDE, Cause.PROBE})


class Loads(StrEnum):
    """Whether a session can still be opened, as far as was seen."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Probe:
    """What a look at a session said; ``at`` None where nobody has looked."""

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
    probe: Probe  # whether it still loads
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
    travelled = {link_id for _, link_id in await link_history.turns_of_branch(r, leaf)}
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
    next_prompt = await read_next_prompt(
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
                probe=_probe(link, events, warm=link.id in warm),
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
            born = "fork of another"
        case Cause.FORK_AT:
            born = "fork at an earlier message"
        case Cause.PROBE:
            born = "made to learn what the agent can do"
        case Cause.IMPORT:
            born = "brought in from the agent's own list"
    return f"{born}: {ends.cause}" if ends.cause else born


def _ended(link: Link, ends: LinkExtent) -> str | None:
    match link.state:
        case LinkState.LOST:
            return f"lost: {link.ended or 'the agent does not know it any more'}"
        case LinkState.SUSPECT:
            return f"not prompted any more: {link.ended or 'what it holds is not certain'}"
        case LinkState.PARKED:
            return "parked: to be forked, never prompted"
        case LinkState.OPEN:
            return link.ended or _last_trouble(ends)


def _last_trouble(ends: LinkExtent) -> str | None:
    """How the newest turn went wrong, if it did."""
    match ends.stop_reason:
        case StopReason.AGENT_GONE:
            return f"its agent {ends.error or 'ended'}"
        case StopReason.INTERRUPTED:
            return "Catena ended in the middle of its last turn"
        case StopReason.ERROR | StopReason.REFUSAL:
            return f"its last turn failed: {ends.error}" if ends.error else "its last turn failed"
        case _:
            return None


def _probe(link: Link, events: tuple[LinkEvent, ...], *, warm: bool) -> Probe:
    if link.state is LinkState.LOST:
        lost = next((event.at for event in reversed(events) if event.event == "lost"), None)
        return Probe(Loads.NO, link.ended or "it is lost", lost)
    if warm:
        return Probe(Loads.YES, "it is open here", None)
    looked = next((event for event in reversed(events) if event.event == links.LOOKED), None)
    if looked is None:
        return Probe(Loads.UNKNOWN, "nobody has looked", None)
    loads, _, words = (looked.detail or "").partition(": ")
    return Probe(Loads(loads) if loads in set(Loads) else Loads.UNKNOWN, words, looked.at)


def _knows(link: Link, marks: dict[str, MessagePreview]) -> str:
    if link.knows is None:
        return "nothing for certain"
    at = f"everything up to {_named(marks.get(link.knows))}"
    return f"{at}; {ABRIDGED}" if link.unabridged_from else at


def _reach(link: Link, marks: dict[str, MessagePreview]) -> str:
    if link.reach == link.knows:
        return "nothing beyond that"
    return f"perhaps more, up to {_named(marks.get(link.reach or ''))}"


def _named(glimpse: MessagePreview | None) -> str:
    if glimpse is None:
        return "a message that is gone"
    return shortened(glimpse.text) if glimpse.text.strip() else f"a {glimpse.kind} without words"


class ConversationChain:
    """The sessions of a conversation: what each knows, what the next prompt would need, and going on from an older one.

    Where a window is given, it is as seen from where that stands.
    """

    def __init__(self, runtime: ConversationRuntime) -> None:
        self._runtime = runtime

    async def price(
        self,
        window: Window,
        *,
        spec: AgentSpec | None = None,
        leaf_id: str | Unset | None = UNSET,
        apart: bool = False,
    ) -> Price:
        """What the window's next prompt would need; with another agent, from another row on, or in a fork.

        Starts nothing and writes nothing. Raises ReadOnly, AgentMissing.
        """
        spec = spec or self._runtime.spec_of(self._runtime.record.agent, self._runtime.record.profile)
        return (await prices(self._runtime, window.id, [spec], leaf_id=leaf_id, apart=apart))[0]

    async def prices(self, window: Window, specs: Sequence[AgentSpec]) -> list[Price]:
        """The price with each of the agents; the branch is read once."""
        return await prices(self._runtime, window.id, specs, leaf_id=UNSET)

    async def read(self, window: Window, *, cap: int | None = SHOWN) -> Chain:
        """The chain, newest link last; ``cap`` None for all of it."""
        runtime = self._runtime
        async with runtime.services.db.read() as reader:
            stored = await windows.get(reader, window.id)
            return await read_chain(
                reader,
                runtime.record.id,
                stored.leaf_id if stored else None,
                title_of=runtime.title_of,
                warm={live.link_id for live in runtime.sessions if live.agent.alive},
                cap=cap,
                window_id=window.id,
                open_windows=runtime.windows,
            )

    async def context(
        self, window: Window, message_id: str | None = None, *, turn_id: str | None = None
    ) -> TurnContext | None:
        """What the session of a turn knew and was told: of this turn, of the message's, or the newest."""
        async with self._runtime.services.db.read() as reader:
            stored = await windows.get(reader, window.id)
            context = await read_context(
                reader,
                stored.leaf_id if stored else None,
                title_of=self._runtime.title_of,
                message_id=message_id,
                turn_id=turn_id,
            )
        if context is None or not context.number or context.after is not None:
            return context
        return replace(context, next=await self.read(window))

    async def probe(self, link_id: str) -> Probe:
        """Look whether a link's session still loads: nothing is prompted, and what was cold is cold again after it.

        Proof of loss loses the link; the outcome is a line of the chain's record. Raises ReadOnly, StoreError.
        """
        tenure = self._runtime.writable()
        link = await self._existing(link_id)
        async with self._runtime.services.db.read() as reader:
            busy = bool(await turns.busy_links(reader, [link_id]))
        if link.state is LinkState.LOST:
            return Probe(Loads.NO, link.ended or "it is lost", None)
        if busy:
            return Probe(Loads.YES, "its turn is under way", self._runtime.services.clock())
        loads, words = await self._look(link)
        probe = Probe(loads, words, self._runtime.services.clock())
        async with tenure.write() as tx:
            await links.record(tx, link_id, links.LOOKED, probe.detail, again=True)
        return probe

    async def price_of(self, window: Window, link_id: str) -> Price:
        """What the next prompt would need from an older link on. Raises NotToBePicked, ReadOnly, AgentMissing."""
        spec, leaf_id = await self._pickable(link_id)
        return (await prices(self._runtime, window.id, [spec], leaf_id=leaf_id))[0]

    async def pick(self, window: Window, link_id: str) -> Price:
        """Go on from where an older link's session stands, with its agent; what came later can still be reached.

        Raises NotToBePicked, ReadOnly, AgentMissing.
        """
        try:
            return await window.apart(lambda: self._pick(window, link_id))
        except StillAtWork as error:
            raise NotToBePicked("A turn is under way here; stop it first.") from error

    async def _pick(self, window: Window, link_id: str) -> Price:
        spec, leaf_id = await self._pickable(link_id)
        async with self._runtime.writable().write() as tx:
            await window.leaf.move(tx, leaf_id, Act.PICK, spec)
        window.leaf.moved(leaf_id, spec)
        return (await prices(self._runtime, window.id, [spec], leaf_id=leaf_id))[0]

    async def _look(self, link: Link) -> tuple[Loads, str]:
        try:
            spec = self._runtime.spec_of(link.agent, link.profile)
            context = self._runtime.send_context(spec=spec)
            agent = await context.agents.running(
                spec, self._runtime.record.family, self._runtime.record.cwd, context.host.agent_started
            )
        except AgentError as error:
            return Loads.UNKNOWN, f"{link.agent} could not be asked: {error}"
        abilities = agent.abilities
        if context.sessions.of(link):
            return Loads.YES, "it is open here"
        if abilities.quirks.load_destroys:
            return Loads.UNKNOWN, f"looking could harm it: {spec.title} may lose a session by opening it"
        if not abilities.reopens:
            return Loads.NO, f"{spec.title} cannot open a session again"
        release = context.agents.hold(agent)
        try:
            await context.sessions.look(link, agent, replace(context.place, cwd=link.cwd), context.host)
        except SessionGone as error:
            await context.lose(link, str(error))
            return Loads.NO, str(error)
        except AgentError as error:
            return Loads.UNKNOWN, f"{spec.title} could not be asked: {error}"
        finally:
            release()
        return Loads.YES, f"{spec.title} opened it"

    async def _pickable(self, link_id: str) -> tuple[AgentSpec, str]:
        """The agent of a link that can be gone on from, and where its session stands."""
        self._runtime.writable()
        link = await self._existing(link_id)
        async with self._runtime.services.db.read() as reader:
            busy = bool(await turns.busy_links(reader, [link_id]))
            reach = await messages.get(reader, link.reach) if link.reach else None
        match link.state:
            case LinkState.LOST:
                raise NotToBePicked(
                    f"This session is lost ({link.ended or 'the agent does not know it any more'})."
                )
            case LinkState.SUSPECT:
                raise NotToBePicked("What this session holds is not certain, so nothing more is said to it.")
            case LinkState.PARKED:
                raise NotToBePicked(
                    "This session is parked: it is forked where it is needed, never prompted."
                )
            case LinkState.OPEN:
                pass
        if link.conversation_id != self._runtime.record.id:
            raise NotToBePicked("This session belongs to the conversation that this one was forked from.")
        if busy:
            raise NotToBePicked("A turn is under way in this session; stop it first.")
        if reach is None:
            raise NotToBePicked("This session holds nothing yet.")
        try:
            spec = self._runtime.spec_of(link.agent, link.profile)
        except AgentMissing as error:
            raise NotToBePicked(f"The agent of this session cannot be started: {error}") from error
        # A prompt that no agent accepted is not gone on from.
        refused = reach.state is MessageState.REFUSED
        leaf_id = reach.parent_id if refused else reach.id
        if leaf_id is None:
            raise NotToBePicked("This session holds nothing yet.")
        return spec, leaf_id

    async def _existing(self, link_id: str) -> Link:
        async with self._runtime.services.db.read() as reader:
            link = await links.get(reader, link_id)
        if link is None:
            raise NotFound("link", link_id)
        return link

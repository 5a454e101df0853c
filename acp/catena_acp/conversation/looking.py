"""Looking at a window's chain and context, at a link's session, and going on from an older link."""

from __future__ import annotations

from dataclasses import replace

from catena_acp.conversation.chain import Chain, Loads, Probe, read_chain
from catena_acp.conversation.context import TurnContext, read_context
from catena_acp.conversation.core import Core
from catena_acp.conversation.moves import move_window
from catena_acp.conversation.news import LeafMoved
from catena_acp.conversation.price import Price, prices
from catena_acp.errors import AgentError, AgentMissing, SessionGone
from catena_acp.port import AgentSpec
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.errors import NotFound
from catena_store.records import Link, LinkState, MessageState
from catena_store.windows import windows
from catena_store.windows.journal import Act


class NotToBePicked(AgentError):
    """The conversation cannot go on from this link; ``str()`` says why."""


async def chain_of(core: Core, window_id: str, cap: int | None) -> Chain:
    """The chain as it is seen from a window's branch."""
    async with core.services.db.read() as reader:
        window = await windows.get(reader, window_id)
        return await read_chain(
            reader,
            core.record.id,
            window.leaf_id if window else None,
            title_of=core.title_of,
            warm={live.link_id for live in core.sessions if live.agent.alive},
            cap=cap,
        )


async def context_of(
    core: Core, window_id: str, message_id: str | None, turn_id: str | None
) -> TurnContext | None:
    """The context of a turn on a window's branch."""
    async with core.services.db.read() as reader:
        window = await windows.get(reader, window_id)
        return await read_context(
            reader,
            window.leaf_id if window else None,
            title_of=core.title_of,
            message_id=message_id,
            turn_id=turn_id,
        )


async def probe_link(core: Core, link_id: str) -> Probe:
    """Look whether a link's session still loads: nothing is prompted, and what was cold is cold again after it.

    Proof of loss loses the link; the outcome is a line of the chain's record. Raises ReadOnly, StoreError.
    """
    tenure = core.writable()
    link = await _existing(core, link_id)
    async with core.services.db.read() as reader:
        busy = bool(await turns.open_on(reader, [link_id]))
    if link.state is LinkState.LOST:
        return Probe(Loads.NO, link.ended or "it is lost", None)
    if busy:
        return Probe(Loads.YES, "its turn is under way", core.services.clock())
    loads, words = await _look(core, link)
    probe = Probe(loads, words, core.services.clock())
    async with tenure.write() as tx:
        await links.record(tx, link_id, links.LOOKED, probe.detail, again=True)
    return probe


async def _look(core: Core, link: Link) -> tuple[Loads, str]:
    try:
        spec = core.spec_of(link.agent, link.profile)
        ground = core.ground(spec=spec)
        agent = await ground.agents.running(spec, core.record.family, core.record.cwd, ground.agent_started)
    except AgentError as error:
        return Loads.UNKNOWN, f"{link.agent} could not be asked: {error}"
    abilities = agent.abilities
    if ground.sessions.of(link):
        return Loads.YES, "it is open here"
    if abilities.quirks.load_destroys:
        return Loads.UNKNOWN, f"looking could harm it: {spec.title} may lose a session by opening it"
    if not abilities.reopens:
        return Loads.NO, f"{spec.title} cannot open a session again"
    release = ground.agents.hold(agent)
    try:
        await ground.sessions.look(link, agent, replace(ground.place, cwd=link.cwd), ground.ear)
    except SessionGone as error:
        await ground.lose(link, str(error))
        return Loads.NO, str(error)
    except AgentError as error:
        return Loads.UNKNOWN, f"{spec.title} could not be asked: {error}"
    finally:
        release()
    return Loads.YES, f"{spec.title} opened it"


async def price_of_link(core: Core, window_id: str, link_id: str) -> Price:
    """What the next prompt would need from an older link on. Raises NotToBePicked, ReadOnly, AgentMissing."""
    _, spec, leaf_id = await _pickable(core, link_id)
    return (await prices(core, window_id, [spec], leaf_id=leaf_id))[0]


async def pick_link(core: Core, window_id: str, link_id: str) -> Price:
    """Go on from an older link: the window stands where that session stands, with its agent.

    Nothing is deleted; what came later can still be reached. Raises as ``price_of_link``.
    """
    link, spec, leaf_id = await _pickable(core, link_id)
    async with core.writable().write() as tx:
        await move_window(
            tx,
            window_id=window_id,
            conversation_id=core.record.id,
            leaf_id=leaf_id,
            act=Act.PICK,
            agent=(link.agent, link.profile),
        )
    core.record = replace(core.record, agent=link.agent, profile=link.profile)
    core.tell(LeafMoved(window_id, leaf_id))
    core.carried_by_none(window_id)
    return (await prices(core, window_id, [spec], leaf_id=leaf_id))[0]


async def _pickable(core: Core, link_id: str) -> tuple[Link, AgentSpec, str]:
    """The link, its agent and where its session stands."""
    core.writable()
    link = await _existing(core, link_id)
    async with core.services.db.read() as reader:
        busy = bool(await turns.open_on(reader, [link_id]))
        reach = await messages.get(reader, link.reach) if link.reach else None
    match link.state:
        case LinkState.LOST:
            raise NotToBePicked(
                f"This session is lost ({link.ended or 'the agent does not know it any more'})."
            )
        case LinkState.SUSPECT:
            raise NotToBePicked("What this session holds is not certain, so nothing more is said to it.")
        case LinkState.PARKED:
            raise NotToBePicked("This session is parked: it is forked where it is needed, never prompted.")
        case LinkState.OPEN:
            pass
    if link.conversation_id != core.record.id:
        raise NotToBePicked("This session belongs to the conversation that this one was forked from.")
    if busy:
        raise NotToBePicked("A turn is under way in this session; stop it first.")
    if reach is None:
        raise NotToBePicked("This session holds nothing yet.")
    try:
        spec = core.spec_of(link.agent, link.profile)
    except AgentMissing as error:
        raise NotToBePicked(f"The agent of this session cannot be started: {error}") from error
    # A prompt that no agent accepted is not gone on from.
    refused = reach.state is MessageState.REFUSED
    leaf_id = reach.parent_id if refused else reach.id
    if leaf_id is None:
        raise NotToBePicked("This session holds nothing yet.")
    return link, spec, leaf_id


async def _existing(core: Core, link_id: str) -> Link:
    async with core.services.db.read() as reader:
        link = await links.get(reader, link_id)
    if link is None:
        raise NotFound("link", link_id)
    return link

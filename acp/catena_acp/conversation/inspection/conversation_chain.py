"""Operations on a chain: read it, price the next prompt, check a session, go on from an older one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catena_acp.continuity.services import agent_title
from catena_acp.conversation.inspection.chain import (
    SHOWN,
    Chain,
    Loads,
    SessionCheck,
    TurnContext,
    read_chain,
    read_context,
)
from catena_acp.conversation.inspection.price import Price, prices
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, AgentMissing, NotToBePicked, SessionGone, StillAtWork
from catena_acp.port.port import AgentSpec
from catena_store.chains import links, turns
from catena_store.chains.links import UNSET, Unset
from catena_store.conversations import messages
from catena_store.errors import NotFound
from catena_store.records import Link, LinkState, MessageState
from catena_store.windows import windows
from catena_store.windows.journal import Act


class ConversationChain:
    """The sessions of a conversation: what each knows, what the next prompt would need, and going on from an older one.

    Where a window is given, it is as seen from where that stands.
    """

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def price(
        self,
        window: Window,
        *,
        spec: AgentSpec | None = None,
        leaf_id: str | Unset | None = UNSET,
        apart: bool = False,
        refused: str = "",
    ) -> Price:
        """The price of the window's next prompt; with another agent, from another row on, or in a fork.

        ``refused``: why the agent forks no session here, if it has just said so. Starts nothing and writes nothing.
        Raises ReadOnly, AgentMissing.
        """
        spec = spec or self._conversation.spec_of(
            self._conversation.record.agent, self._conversation.record.profile
        )
        (price,) = await prices(
            self._conversation, window.id, [spec], leaf_id=leaf_id, apart=apart, forks=not refused
        )
        return replace(price, reason=refused)

    async def prices(
        self, window: Window, specs: Sequence[AgentSpec], *, leaf_id: str | Unset | None = UNSET
    ) -> list[Price]:
        """The price with each of the agents, from another row on where one is given; the branch is read once."""
        return await prices(self._conversation, window.id, specs, leaf_id=leaf_id)

    async def read(self, window: Window, *, cap: int | None = SHOWN) -> Chain:
        """The chain, newest link last; ``cap`` None for all of it."""
        conversation = self._conversation
        async with conversation.services.db.read() as reader:
            stored = await windows.get(reader, window.id)
            return await read_chain(
                reader,
                conversation.id,
                stored.leaf_id if stored else None,
                title_of=conversation.title_of,
                warm={live.link_id for live in conversation.sessions if live.agent.alive},
                cap=cap,
                window_id=window.id,
                open_windows=conversation.windows,
            )

    async def context(
        self, window: Window, message_id: str | None = None, *, turn_id: str | None = None
    ) -> TurnContext | None:
        """The context of a turn's session, known and told: of this turn, else of the message's, else of the newest."""
        async with self._conversation.services.db.read() as reader:
            stored = await windows.get(reader, window.id)
            context = await read_context(
                reader,
                stored.leaf_id if stored else None,
                title_of=self._conversation.title_of,
                message_id=message_id,
                turn_id=turn_id,
            )
        if context is None or not context.number or context.after is not None:
            return context
        return replace(context, next=await self.read(window))

    async def check_session(self, link_id: str) -> SessionCheck:
        """Check whether a link's session still loads: nothing is prompted, and what was cold is cold again after it.

        Proof of loss loses the link; the outcome is a line of the chain's record. Raises ReadOnly, StoreError.
        """
        tenure = self._conversation.writable()
        link = await self._existing(link_id)
        async with self._conversation.services.db.read() as reader:
            busy = bool(await turns.busy_links(reader, [link_id]))
        if link.state is LinkState.LOST:
            return SessionCheck(Loads.NO, link.ended or "it is lost", None)
        if busy:
            return SessionCheck(Loads.YES, "its turn is under way", self._conversation.services.clock())
        loads, words = await self._look(link)
        check = SessionCheck(loads, words, self._conversation.services.clock())
        async with tenure.write() as tx:
            await links.record(tx, link_id, links.LOOKED, check.detail, again=True)
        return check

    async def price_of(self, window: Window, link_id: str) -> Price:
        """The price of the next prompt from an older link on. Raises NotToBePicked, ReadOnly, AgentMissing."""
        spec, leaf_id = await self._pickable(link_id)
        return (await prices(self._conversation, window.id, [spec], leaf_id=leaf_id))[0]

    async def pick(self, window: Window, link_id: str) -> Price:
        """Go on from where an older link's session stands, with its agent; what came later can still be reached.

        Raises NotToBePicked, ReadOnly, AgentMissing.
        """
        try:
            return await window.run_exclusively(lambda: self._pick(window, link_id))
        except StillAtWork as error:
            raise NotToBePicked("A turn is running here; stop it first.") from error

    async def _pick(self, window: Window, link_id: str) -> Price:
        spec, leaf_id = await self._pickable(link_id)
        async with self._conversation.write() as tx:
            await window.leaf.move(tx, leaf_id, Act.PICK, spec)
        window.leaf.moved(leaf_id, spec)
        return (await prices(self._conversation, window.id, [spec], leaf_id=leaf_id))[0]

    async def _look(self, link: Link) -> tuple[Loads, str]:
        try:
            spec = self._conversation.spec_of(link.agent, link.profile)
            context = self._conversation.send_context(spec=spec)
            agent = await context.agents.running(
                spec,
                self._conversation.record.family,
                self._conversation.record.cwd,
                context.host.agent_started,
            )
        except AgentError as error:
            return Loads.UNKNOWN, f"{link.agent} could not be asked: {error}"
        abilities = agent.abilities
        if context.sessions.of(link) or context.sessions.is_ending(link.id):
            return Loads.YES, "open now"
        if abilities.quirks.load_destroys:
            return Loads.UNKNOWN, f"not checked: {agent_title(agent)} may lose a session by opening it"
        if not abilities.reopens:
            return Loads.NO, f"{agent_title(agent)} cannot reopen a session"
        release = context.agents.hold(agent)
        try:
            await context.sessions.look(link, agent, replace(context.place, cwd=link.cwd), context.host)
        except SessionGone as error:
            await context.lose(link, str(error))
            return Loads.NO, str(error)
        except AgentError as error:
            return Loads.UNKNOWN, f"{agent_title(agent)} could not be asked: {error}"
        finally:
            release()
        return Loads.YES, f"{agent_title(agent)} opened it"

    async def _pickable(self, link_id: str) -> tuple[AgentSpec, str]:
        """The agent of a link that can be gone on from, and where its session stands."""
        self._conversation.writable()
        link = await self._existing(link_id)
        async with self._conversation.services.db.read() as reader:
            busy = bool(await turns.busy_links(reader, [link_id]))
            reach = await messages.get(reader, link.reach) if link.reach else None
        match link.state:
            case LinkState.LOST:
                raise NotToBePicked(f"This session is lost ({link.ended or 'the agent no longer has it'}).")
            case LinkState.SUSPECT:
                raise NotToBePicked("This session's content is uncertain, so it is not used.")
            case LinkState.PARKED:
                raise NotToBePicked("This session is a saved fork: forked when needed, never used directly.")
            case LinkState.OPEN:
                pass
        if link.conversation_id != self._conversation.id:
            raise NotToBePicked("This session belongs to the parent conversation.")
        if busy:
            raise NotToBePicked("A turn is running in this session; stop it first.")
        if reach is None:
            raise NotToBePicked("This session is empty.")
        try:
            spec = self._conversation.spec_of(link.agent, link.profile)
        except AgentMissing as error:
            raise NotToBePicked(f"The agent of this session cannot be started: {error}") from error
        # A prompt that no agent accepted is not gone on from.
        refused = reach.state is MessageState.REFUSED
        leaf_id = reach.parent_id if refused else reach.id
        if leaf_id is None:
            raise NotToBePicked("This session is empty.")
        return spec, leaf_id

    async def _existing(self, link_id: str) -> Link:
        async with self._conversation.services.db.read() as reader:
            link = await links.get(reader, link_id)
        if link is None:
            raise NotFound("link", link_id)
        return link

"""The branches of a conversation: where a window stands among them, how that moves, and the barrier of a logout.

Nothing is copied, changed or removed by any of it. A window's pointer moves, and what is said next hangs from there. A
conversation may begin in its agent's own fork, if the agent offers one that holds a part of the branch.

Messages from before a logout are sent to a later login only if the person returns to that branch, and a notice says so.
The barrier is at the end of the branch: a row above it, or a prompt edited there, is on a branch without the barrier.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from catena_acp.continuity.conversation_events import LeafMoved, Remarked
from catena_acp.continuity.parking import ColdSource, ForkSource, probe
from catena_acp.continuity.routing import route
from catena_acp.continuity.sending.context import SendContext, fork_at_of
from catena_acp.continuity.services import Tenure
from catena_acp.continuity.sessions.opening import anchor_of, is_part_of, point_at, settled_point
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.wording.problems import short
from catena_acp.conversation.branches.files import BranchFiles
from catena_acp.conversation.journal import move_window
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import (
    AgentError,
    AgentMissing,
    AgentRefused,
    ForkWrong,
    LoginNeeded,
    NotOfThisBranch,
    SessionGone,
)
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.snapshots.restoring import FileChoice, FilesMoved
from catena_store import ancestry, places
from catena_store.conversations import logouts, messages, tree
from catena_store.conversations.branches import last_leaf, siblings
from catena_store.conversations.logouts import said_before_logout
from catena_store.conversations.tree import Lineage
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound, SessionHeld, StoreError
from catena_store.records import ConversationRecord, Kind, Link, LinkState, Message, NewMessage
from catena_store.windows import windows
from catena_store.windows.journal import Act

_TRIES = 4  # steps of the route, and forks whose source moved meanwhile


class Branches:
    """What a conversation shares with others: the beginning of a fork, and the lineage."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def lineage(self) -> Lineage:
        """The source that the conversation was forked from, and the forks of it."""
        async with self._conversation.services.db.read() as reader:
            return await tree.lineage(reader, self._conversation.id)

    async def learn_fork_at(self, window_id: str, leaf_id: str | None, spec: AgentSpec | None = None) -> None:
        """Find out whether the agent forks at a message, if a prompt below a row depends on it. Raises StoreError."""
        await _learn_fork_at(self._conversation, window_id, leaf_id, spec)

    async def begin_in_fork(self, window_id: str, leaf_id: str | None, source_cwd: str) -> _ForkedSession:
        """Fork the session that the first prompt of a conversation goes to that has just been made.

        Without one, that prompt will be told. Raises AgentError.
        """
        forked = await _forked_session(self._conversation, window_id, leaf_id, source_cwd)
        if forked.live:
            self._conversation.set_carrier(window_id, forked.live)
        return forked


class WindowLeaf:
    """The row that a window stands on, from which its next prompt hangs."""

    def __init__(self, conversation: LiveConversation, window_id: str, files: BranchFiles) -> None:
        self._conversation = conversation
        self.window_id = window_id
        self.files = files

    async def move(
        self,
        tx: Writer,
        leaf_id: str | None,
        act: Act,
        agent: AgentSpec | None = None,
        moved: FilesMoved | None = None,
    ) -> None:
        """Move the window in the caller's transaction; ``agent`` answers from there on, ``moved`` files came along."""
        window = await windows.get(tx, self.window_id)
        if window and window.conversation_id != self._conversation.id:
            raise StoreError("this tab now shows another conversation")
        await move_window(
            tx,
            window_id=self.window_id,
            conversation_id=self._conversation.id,
            leaf_id=leaf_id,
            act=act,
            agent=(agent.name, agent.profile) if agent else None,
            files=moved,
        )

    def moved(self, leaf_id: str | None, agent: AgentSpec | None = None) -> None:
        """Publish the window's leaf, once that is committed."""
        self.switch_agent(agent)
        self._conversation.publish(LeafMoved(self.window_id, leaf_id))
        if agent is None:
            self._conversation.clear_carrier(self.window_id)

    def switch_agent(self, agent: AgentSpec | None) -> None:
        """Take over the agent that was committed with a move, if there was one."""
        if agent is not None:
            record = self._conversation.record
            self._conversation.record = replace(record, agent=agent.name, profile=agent.profile)
            self._conversation.clear_carrier(self.window_id)

    async def move_leaf(
        self, leaf_id: str | None, act: Act, choice: FileChoice | None = None
    ) -> FilesMoved | None:
        """Move the window's leaf to a row, with the files by ``choice``; the caller keeps prompts away meanwhile."""
        await self._conversation.settle()
        async with self._conversation.services.db.read() as reader:
            if leaf_id is not None and not await is_part_of(reader, self._conversation.record, leaf_id):
                raise NotOfThisBranch
            leaf_id = await point_at(reader, leaf_id)
        # Where another client holds the conversation, a window of ours may still look around in it.
        tenure = self._conversation.tenure
        async with (
            self.files.along(self.window_id, leaf_id, act, choice) as moved,
            tenure.write() if tenure else self._conversation.services.db.write() as tx,
        ):
            await self.move(tx, leaf_id, act, moved=moved)
        self.moved(leaf_id)
        await remark_on_logout(self._conversation, self.window_id, leaf_id)
        return moved

    async def sibling_leaf(self, prompt_id: str, step: int) -> str | None:
        """The leaf of the sibling that is ``step`` further: where the window last stood in it, else its newest.

        None if there is no such sibling.
        """
        record = self._conversation.record
        async with self._conversation.services.db.read() as reader:
            prompts = await siblings(reader, prompt_id, record.id)
            at = prompts.index(prompt_id) + step if prompt_id in prompts else -1
            if not 0 <= at < len(prompts):
                return None
            leaf = await last_leaf(reader, self.window_id, record.id, prompts[at])
            return leaf or await ancestry.newest_below(reader, prompts[at], record.id)

    async def fork_point(self, message_id: str | None = None) -> str | None:
        """The row that a fork at this message, or where the window stands, begins below: its price is asked for it."""
        async with self._conversation.services.db.read() as reader:
            if message_id is not None:
                return await point_at(reader, message_id)
            window = await windows.get(reader, self.window_id)
            return await settled_point(reader, window.leaf_id if window else None)


async def prompt_of(reader: Reader, record: ConversationRecord, prompt_id: str) -> Message:
    """A prompt that can be said anew in this conversation. Raises NotFound, NotOfThisBranch."""
    prompt = await messages.get(reader, prompt_id)
    if prompt is None:
        raise NotFound("message", prompt_id)
    if prompt.kind is not Kind.USER:
        raise NotOfThisBranch("That is not a prompt; only prompts can be edited.")
    if prompt.steered:
        raise NotOfThisBranch("That was sent into a running turn; edit the prompt that started the turn.")
    if not await is_part_of(reader, record, prompt_id):
        raise NotOfThisBranch
    return prompt


async def _learn_fork_at(
    conversation: LiveConversation, window_id: str, leaf_id: str | None, spec: AgentSpec | None = None
) -> None:
    """Probe the agent, by default the conversation's, if a prompt below a row would go out another way then.

    The agent is started for it, and its answer is waited for. An agent in trouble teaches nothing: the prompt says it.
    Raises StoreError.
    """
    context = conversation.send_context(spec=spec)
    with contextlib.suppress(AgentError):
        agent = await context.agent(window_id)
        release = context.agents.hold(agent)
        try:
            link = await _forked_if_honoured(context, agent, window_id, leaf_id)
            if link:
                await probe(context, await _source(context, agent, link, window_id), conversation.spawn)
        finally:
            release()


async def _forked_if_honoured(
    context: SendContext, agent: AgentPort, window_id: str, leaf_id: str | None
) -> Link | None:
    """The link that would be forked at a message, if nothing is known of that yet; None if that makes no difference."""
    async with context.services.db.read() as reader:
        if not agent.abilities.fork or await fork_at_of(reader, agent.abilities) is not None:
            return None
        situation = await context.situation_with(reader, agent.abilities, window_id, leaf_id, forks_at=True)
    match route.candidates(situation)[0]:
        case route.ForkAt(link) if link.id not in situation.busy:
            return link
        case _:
            return None


async def _source(context: SendContext, agent: AgentPort, link: Link, window_id: str) -> ForkSource:
    if live := context.sessions.of(link):
        return live
    if agent.abilities.quirks.fork_cold:
        return ColdSource(agent, link.id, link.session_id, link.version)
    return await context.sessions.open_cold(link, agent, context.place_for(window_id), context.host)


@dataclass(frozen=True, slots=True)
class _ForkedSession:
    """What came of forking the agent's session for a conversation that has just been made."""

    live: LiveSession | None  # the fork; None if all of the branch has to go as prior context
    refused: str = ""  # why the agent did not fork, in its own words, if it was asked to


async def _forked_session(
    conversation: LiveConversation, window_id: str, leaf_id: str | None, source_cwd: str
) -> _ForkedSession:
    """Fork the agent's session that holds most of the branch, if it offers that; what it refuses is told instead.

    Of an agent whose program is missing nothing is forked: another one may go on. Raises LoginNeeded and any other
    AgentError that is no refusal: then telling would not do either.
    """
    context = conversation.send_context()
    steps = _Steps(conversation, context, window_id, leaf_id, source_cwd)
    if not await steps.possible():
        return _ForkedSession(None)
    try:
        agent = await context.agent(window_id)
    except AgentMissing as error:
        return _ForkedSession(None, f"{conversation.agent_title} cannot be started ({short(str(error))})")
    refused = ""
    for _ in range(_TRIES):
        step = await steps.next(agent)
        if step is None:
            break
        try:
            live = await _done(context, agent, step, window_id)
        except LoginNeeded:
            raise
        except (AgentRefused, ForkWrong) as error:
            refused = f"{conversation.agent_title} did not fork the session ({short(str(error))})"
            continue
        if live is not None:
            return _ForkedSession(live)
        steps.again(step)  # its source moved meanwhile
    return _ForkedSession(None, refused)


async def _done(
    context: SendContext, agent: AgentPort, step: route.Fork | route.ForkAt, window_id: str
) -> LiveSession | None:
    release = context.agents.hold(agent)
    try:
        at = None
        if isinstance(step, route.ForkAt):
            async with context.services.db.read() as reader:
                at = (step.turn, await anchor_of(reader, step.turn, agent.abilities.quirks))
        return await context.fork(agent, step.link, window_id, at)
    except SessionHeld as held:
        await context.distrust(held, window_id)
        raise ForkWrong(f"{context.title} gave its fork the id of another session") from held
    except SessionGone as error:
        await context.lose(step.link, str(error), window_id)
        raise
    finally:
        release()


class _Steps:
    """The steps by which the fork's first prompt could come to its context, each but once."""

    def __init__(
        self,
        conversation: LiveConversation,
        context: SendContext,
        window_id: str,
        leaf_id: str | None,
        source_cwd: str,
    ) -> None:
        self._conversation = conversation
        self._context = context
        self._window_id = window_id
        self._leaf_id = leaf_id
        # The sessions that can be forked work where the source does, wherever the fork is to work.
        self._target = replace(context.target, cwd=source_cwd)
        self._tried: set[route.StepKey] = set()

    async def possible(self) -> bool:
        """False if a fork is known to be of no use, without asking anybody."""
        agent = self._context.agents.live(self._context.spec, self._context.record.family)
        async with self._conversation.services.db.read() as reader:
            situation = await self._situation(reader, agent)
        if not situation.powers.forks or not situation.path.content_after(None):
            return False
        return any(_can_be_forked(link) for link in situation.links)

    async def next(self, agent: AgentPort) -> route.Fork | route.ForkAt | None:
        """The next fork to try; None if forking would save no prior context."""
        async with self._conversation.services.db.read() as reader:
            situation = await self._situation(reader, agent)
        for step in route.candidates(situation):
            if route.key_of(step) not in self._tried:
                if not isinstance(step, route.Fork | route.ForkAt):
                    return None
                self._tried.add(route.key_of(step))
                return step
        return None

    def again(self, step: route.Step) -> None:
        """It may be tried once more."""
        self._tried.discard(route.key_of(step))

    async def _situation(self, reader: Reader, agent: AgentPort | None) -> route.Situation:
        abilities = agent.abilities if agent else None
        situation = await self._context.situation_with(reader, abilities, self._window_id, self._leaf_id)
        return replace(situation, target=self._target)


def _can_be_forked(link: Link) -> bool:
    return link.state is not LinkState.LOST and link.knows is not None


LOGGED_OUT = "logged out"
SAID_BEFORE = "including messages from before you logged out"
_REMARK = "From before you logged out of {title}: your next prompt includes it. /clear starts afresh."


async def begin_anew_after_logout(tenure: Tenure, record: ConversationRecord) -> dict[str, Message]:
    """Add the barrier of a logout that came while we did not have the conversation, wherever it would be gone on with.

    Returns the barriers by the windows that now stand on them.
    """
    agent, profile = record.agent, record.profile
    moved: dict[str, Message] = {}
    async with tenure.write() as tx:
        tenure.logouts.last = await logouts.last_logouts(tx)
        if not await logouts.untouched_since_logout(tx, record.id, agent=agent, profile=profile):
            return moved
        shown = [window.leaf_id for window in await windows.open_in(tx, record.id)]
        every = await windows.of_conversation(tx, record.id)
        for leaf_id in dict.fromkeys([*shown, await places.of(tx, record.id)]):
            leaf = await messages.get(tx, leaf_id) if leaf_id else None
            if leaf is None or leaf.barrier:
                continue
            barrier = await messages.insert(
                tx,
                NewMessage(
                    id=tenure.services.new_id(),
                    conversation_id=record.id,
                    parent_id=leaf.id,
                    kind=Kind.SEAM,
                    text=LOGGED_OUT,
                    data={"cleared": True, **logouts.logout_data(agent, profile)},
                    barrier=True,
                ),
            )
            await places.grow(tx, record.id, leaf.id, barrier.id)
            for window in every:
                if window.leaf_id == leaf.id:
                    await windows.advance(tx, window.id, barrier.id)
                    moved[window.id] = barrier
    return moved


async def remark_on_logout(conversation: LiveConversation, window_id: str, leaf_id: str | None) -> None:
    """Publish a remark in the moved window if its branch now has messages from before a logout."""
    record, before = conversation.record, False
    # Where this cannot be read the window is moved all the same, and no prompt can go out.
    with contextlib.suppress(StoreError):
        async with conversation.services.db.read() as reader:
            before = await said_before_logout(
                reader, leaf_id, record.family, agent=record.agent, profile=record.profile
            )
    if before:
        if tenure := conversation.tenure:
            tenure.logouts.went_back(window_id)
        conversation.publish(Remarked(window_id, _REMARK.format(title=conversation.agent_title)))

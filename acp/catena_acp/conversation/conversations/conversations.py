"""Every conversation that is live in this client process, the leases it holds, and the agents that run for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from weakref import WeakValueDictionary

from catena_acp.continuity.conversation_events import MessageAdded
from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.continuity.services import (
    Checkpointing,
    Observer,
    OpeningWait,
    Printed,
    ReplayWait,
    Services,
    SpecOf,
    StartAgent,
    Tenure,
    WhileIdle,
    keep_title,
)
from catena_acp.continuity.sessions.agent_pool import Agents, keep_powers
from catena_acp.continuity.sessions.sessions import Sessions
from catena_acp.continuity.wording.problems import CutBy, hold_words
from catena_acp.conversation.adoption.sessions import ForeignSessions
from catena_acp.conversation.branches.branches import begin_anew_after_logout
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.forks import ConversationFork, ForkOperation, ForkRequest
from catena_acp.conversation.conversations.upstream import UpstreamDeletion, delete_sessions
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.recovery.foreign_conversations import Following
from catena_acp.conversation.recovery.recovery import EndGroup, recover, tell_restored, where_ours_stand
from catena_acp.errors import AgentMissing, ReadOnly
from catena_acp.mcp.servers import McpServer
from catena_acp.permissions.rule import Rule
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.tasks import TaskSet
from catena_acp.transcripts.moving import TranscriptFiles
from catena_store.clients import leases
from catena_store.conversations import conversations
from catena_store.conversations.logouts import Account
from catena_store.database.database import Database, Writer
from catena_store.errors import Fenced, NotFound, StoreError
from catena_store.ids import new_id as random_id
from catena_store.ids import utc_now
from catena_store.records import AgentGroup, ConversationRecord, Lease, Owner


@dataclass(frozen=True, slots=True)
class Machine:
    """How agents are found, started and ended, and processes told apart."""

    start_agent: StartAgent
    spec_of: SpecOf
    end_group: EndGroup
    start_time_of: Callable[[int], str | None]


def this_machine(client_version: str, specs: Mapping[str, AgentSpec]) -> Machine:
    """The real one; ``specs`` are agents beside those of the catalogue, by name."""
    from catena_acp import process_group

    async def start(spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
        from catena_acp.agents.agent import start_agent
        from catena_acp.protocol.files import FileAccess

        files = FileAccess(roots=(Path(cwd),), follows_sessions=True)
        return await start_agent(
            spec, cwd=cwd, client_version=client_version, files=files, terminals=True, printed=printed
        )

    def spec_of(name: str, profile: str) -> AgentSpec:
        from catena_acp.agents.catalog import find_spec

        for spec in specs.values():
            if (spec.name, spec.profile) == (name, profile):
                return spec
        if profile:
            raise AgentMissing(f"{name} ({profile})", "unknown profile")
        return find_spec(name)

    async def end_group(group: AgentGroup) -> bool:
        return await process_group.end_group(group.pid, group.started)

    return Machine(start, spec_of, end_group, process_group.process_start_time)


HEARTBEAT_SECONDS = 5.0
_KEEPING_SECONDS = 30.0  # that quitting waits for the snapshots of files
_FOREIGN_HOST_SILENCE = timedelta(seconds=60)


class Conversations:
    """Opens conversations, each once, and keeps what they share."""

    def __init__(
        self,
        services: Services,
        spec_of: SpecOf,
        end_group: EndGroup,
        start_time_of: Callable[[int], str | None],
        *,
        idle_agents: float = 0,
    ) -> None:
        self._services = services
        self._spec_of = spec_of
        self._end_group = end_group
        self._start_time_of = start_time_of
        self._agents = Agents(services.start_agent, idle_seconds=idle_agents, is_of_use=self._is_of_use)
        self.cut_by = CutBy.EXIT  # what cuts off the turns that still run at the end
        self.in_sight: Callable[[], Collection[str]] = frozenset  # the windows that a person has before them
        self.foreign = ForeignSessions(services, spec_of, self._agents.all_live)
        self._live: dict[str, Conversation] = {}
        # By family, and by conversation: there for as long as any conversation, or any opening, has them.
        self._sessions: WeakValueDictionary[str, Sessions] = WeakValueDictionary()
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks = TaskSet()
        self._left_by: dict[str, Lease] = {}  # clients whose leftovers are not closed yet
        self._following = Following(services, self._is_dead, self._live.values, self._hear_logouts)

    @classmethod
    @asynccontextmanager
    async def serve(
        cls,
        db: Database,
        *,
        client_version: str = "",
        specs: Mapping[str, AgentSpec] | None = None,
        start_agent: StartAgent | None = None,
        spec_of: SpecOf | None = None,
        end_group: EndGroup | None = None,
        start_time_of: Callable[[int], str | None] | None = None,
        new_id: Callable[[], str] = random_id,
        clock: Callable[[], datetime] = utc_now,
        budget: Budget | None = None,
        while_idle: WhileIdle | None = None,
        replay_wait: ReplayWait | None = None,
        opening_wait: OpeningWait | None = None,
        checkpointing: Checkpointing | None = None,
        is_directory: Callable[[str], bool] | None = None,
        snapshots: FileSnapshots | None = None,
        asks_first: bool = False,
        rules: Sequence[Rule] | None = None,
        mcp_servers: Sequence[McpServer] = (),
        directories_of: Callable[[str], Sequence[str]] | None = None,
        idle_agents: float = 0,
        observe: Observer = lambda conversation_id, event: None,
    ) -> AsyncIterator[Conversations]:
        """Serve conversations until the end of the block; then end turns and agents, and give the leases back.

        ``specs`` are agents beside those of the catalogue, by name. Agents, their directories and processes are this
        machine's, where the caller brings no others. ``snapshots`` keeps the files around turns. With
        ``asks_first``, agents get a mode in which they ask before they act. ``rules`` are the settings file's
        permission rules; with None, no rule answers a request. ``mcp_servers`` are those of the settings;
        ``directories_of`` gives the additional directories of new conversations in a directory, and may block.
        An agent that nobody prompted for ``idle_agents`` seconds is ended if it is of no use meanwhile, with 0 never.
        ``observe`` is called with each event of the conversations that are ours, as a listener is. Nothing is
        done ``while_idle`` if the caller does not want it.
        """
        machine = this_machine(client_version, specs or {})
        start_time_of = start_time_of or machine.start_time_of
        owner = Owner(
            id=new_id(),
            host=socket.gethostname(),
            pid=os.getpid(),
            started=start_time_of(os.getpid()) or "",
        )
        if is_directory is None:
            is_directory = (lambda _: True) if start_agent else (lambda path: Path(path).is_dir())
        start_agent = start_agent or machine.start_agent
        services = Services(
            db,
            owner,
            new_id,
            clock,
            start_agent,
            budget=budget or Budget(),
            while_idle=while_idle or WhileIdle(),
            replay_wait=replay_wait or ReplayWait(),
            opening_wait=opening_wait or OpeningWait(),
            checkpointing=checkpointing or Checkpointing(),
            session_files=TranscriptFiles(),
            is_directory=is_directory,
            snapshots=snapshots,
            asks_first=asks_first,
            rules=rules,
            mcp_servers=mcp_servers,
            directories_of=directories_of,
            observe=observe,
        )
        served = cls(
            services,
            spec_of or machine.spec_of,
            end_group or machine.end_group,
            start_time_of,
            idle_agents=idle_agents,
        )
        standing = [asyncio.ensure_future(work) for work in (served._beat(), served._following.run())]
        try:
            yield served
        finally:
            for task in standing:
                task.cancel()
            await asyncio.gather(*standing, return_exceptions=True)
            await served._end()
            if snapshots:
                await snapshots.settled(_KEEPING_SECONDS)

    @property
    def owner(self) -> Owner:
        """This client process, as leases name it."""
        return self._services.owner

    @property
    def live(self) -> tuple[Conversation, ...]:
        """Those that are open in this client."""
        return tuple(self._live.values())

    @property
    def unsaved_answers(self) -> list[tuple[str, StoreError]]:
        """What agents said in turns whose ends the store did not take, and why; also when this is over."""
        return [unsaved for conversation in self._live.values() for unsaved in conversation.unsaved_answers]

    @property
    def busy(self) -> bool:
        """True while a turn of any conversation is under way."""
        return any(conversation.busy for conversation in self._live.values())

    async def create(self, *, agent: AgentSpec, cwd: str) -> Conversation:
        """A conversation of its own; no agent is started for it yet."""
        conversation_id, directories_of = self._services.new_id(), self._services.directories_of
        further = await asyncio.to_thread(directories_of, cwd) if directories_of else ()
        async with self._services.db.write() as tx:
            await conversations.create(
                tx, id=conversation_id, agent=agent.name, profile=agent.profile, cwd=cwd
            )
            for path in further:
                await conversations.add_further_directory(tx, conversation_id, path)
        return await self.open(conversation_id)

    async def open(self, conversation_id: str) -> Conversation:
        """The live conversation of this id: the same object every time.

        Taken over where its owner is dead, read-only where another client holds it. Raises NotFound, StoreError.
        """
        # Opened twice at once, the second would recover turns that the first has begun.
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            if conversation_id not in self._live:
                opened = self._live[conversation_id] = await self._opened(conversation_id)
                self._note_later(opened.record.family)
            return self._live[conversation_id]

    async def refuse_held(self, tx: Writer, ids: Iterable[str]) -> None:
        """Raise ReadOnly, in words on who it is, where another client that lives holds one of the conversations.

        Within the transaction nobody can take one of them, so that what is free may be changed without being opened.
        """
        for conversation_id in ids:
            lease = await leases.get(tx, conversation_id)
            if lease and lease.owner.id != self.owner.id and not self._is_dead(lease):
                raise ReadOnly(hold_words(lease.owner, self.owner.host))

    async def delete_upstream(self, ids: Iterable[str]) -> UpstreamDeletion:
        """Delete the sessions of conversations at their agents, which are started for it; it cannot be undone.

        Raises ReadOnly where another client holds one of the conversations, StoreError.
        """
        done = UpstreamDeletion()
        for conversation_id in ids:
            async with self._services.db.write() as tx:
                await self.refuse_held(tx, [conversation_id])
                record = await conversations.get(tx, conversation_id)
            if record is None:
                continue
            family = record.family

            async def start(name: str, profile: str, cwd: str, family: str = family) -> AgentPort:
                def started(agent: AgentPort) -> None:
                    self._agent_started(family, agent)

                return await self._agents.running(self._spec_of(name, profile), family, cwd, started)

            sessions = self._sessions.get(family)
            try:
                await delete_sessions(self._services, record, sessions, start, done)
            finally:
                if not any(live.record.family == family for live in self._live.values()):
                    await self._agents.end_family(family)
        return done

    async def reload(self, ids: Iterable[str]) -> None:
        """Read what was changed in the store of those that are live, and publish what is new."""
        for conversation_id in ids:
            if conversation := self._live.get(conversation_id):
                await conversation.reload()

    async def fork(
        self,
        source: Conversation | ConversationRecord,
        *,
        window_id: str | None,
        at: str | None = None,
        side_by_side: bool = True,
        agent: AgentSpec | None = None,
        cwd: str | None = None,
        directories: Sequence[str] = (),
        mcp_servers: Sequence[dict[str, object]] = (),
    ) -> ConversationFork:
        """A conversation of its own that begins as the source does, up to a message or to where the window stands.

        Shown in a new window beside ``window_id``, or in that one, which then has left its source; without one, the
        fork goes on from the source's newest branch. The source need not be live, nor be ours. Committed with the
        agent's own fork, if it offers that, when this returns. Raises AgentError in the agent's words, StillAtWork
        in place while the window's turn runs, NotFound, StoreError: then nothing is left of it.
        """
        record = source.record if isinstance(source, Conversation) else source
        wanted = ForkRequest(record, window_id, at, side_by_side, agent, cwd, directories, mcp_servers)
        return await ForkOperation(
            self._services, self.open, self.close, self._live.get(record.id), wanted
        ).make()

    async def _opened(self, conversation_id: str) -> Conversation:
        db = self._services.db
        taken: leases.OwnLease | leases.ForeignLease | None = None
        # The record as it is once the lease is ours: whoever had it before may have changed it until then.
        async with db.read() if db.read_only else db.write() as tx:
            record = await conversations.get(tx, conversation_id)
            if record is None:
                raise NotFound("conversation", conversation_id)
            if isinstance(tx, Writer):
                taken = await self._acquire(tx, conversation_id)
        await self._services.titles.load(db)
        tenure = await self._begin_tenure(record, taken) if isinstance(taken, leases.OwnLease) else None
        if tenure:
            await begin_anew_after_logout(tenure, record)
            self._agents.hear_logouts(tenure.logouts.last)
        sessions = self._sessions.setdefault(record.family, Sessions(self._services, self._agents.serves))
        conversation = Conversation(
            self._services,
            record,
            tenure,
            self._agents,
            sessions,
            self._spec_of,
            self._agent_started,
            self._take_over,
            self._live.values,
        )
        await conversation.environment.load()
        conversation.lost = lambda: self._following.follow(conversation, lost=True)
        if isinstance(taken, leases.ForeignLease):
            conversation.held_by(taken.lease.owner, free=False)
            self._following.follow(conversation)
        return conversation

    async def _acquire(self, tx: Writer, conversation_id: str) -> leases.OwnLease | leases.ForeignLease:
        taken = await leases.acquire(tx, conversation_id, self.owner, is_dead=self._is_dead)
        if isinstance(taken, leases.OwnLease) and taken.taken_from:
            self._left_by[conversation_id] = taken.taken_from
        return taken

    async def _begin_tenure(self, record: ConversationRecord, taken: leases.OwnLease) -> Tenure:
        """End what the client before left running, close what it left open; again where that failed before."""
        tenure = Tenure(self._services, record.id, taken.lease.epoch)
        left_by, title = self._left_by.get(record.id), self._title_of(record.agent, record.profile)
        await recover(tenure, left_by, self._end_group, title, lambda: self._agents.groups(record.family))
        self._left_by.pop(record.id, None)
        if snapshots := self._services.snapshots:
            snapshots.close(record.id)
        return tenure

    async def _take_over(self, conversation: LiveConversation) -> None:
        """Make a conversation ours that we only followed. Raises ReadOnly if a client that lives has it."""
        conversation_id = conversation.id
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            if conversation.tenure is not None:
                return
            if conversation.closing:  # nobody would give the lease back
                raise ReadOnly(hold_words(conversation.holder, self.owner.host, free=conversation.free))
            async with self._services.db.read() as reader:
                lease = await leases.get(reader, conversation_id)
            if lease is None or lease.owner.id == self.owner.id or self._is_dead(lease):
                async with self._services.db.write() as tx:
                    taken = await self._acquire(tx, conversation_id)
                if isinstance(taken, leases.OwnLease):
                    stood = await where_ours_stand(conversation)
                    tenure = await self._begin_tenure(conversation.record, taken)
                    await self._following.detach(conversation)
                    moved = await begin_anew_after_logout(tenure, conversation.record)
                    self._agents.hear_logouts(tenure.logouts.last)
                    await conversation.environment.load()
                    conversation.take(tenure)
                    for window_id in moved.keys() & conversation.windows:
                        conversation.publish(MessageAdded(window_id, moved[window_id]))
                        conversation.clear_carrier(window_id)
                    await tell_restored(conversation, stood)
                    self._note_later(conversation.record.family)
                    return
                lease = taken.lease
            conversation.held_by(lease.owner, free=False)
            raise ReadOnly(hold_words(lease.owner, self.owner.host))

    async def close(self, conversation_id: str) -> None:
        """No window shows it any more: end its turns, its agents and its lease; an empty one leaves no trace."""
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            conversation = self._live.get(conversation_id)
            if conversation is None:
                return
            await self._following.drop(conversation_id)
            await conversation.close(CutBy.CLOSED)
            del self._live[conversation_id]
            family = conversation.record.family
            if not any(other.record.family == family for other in self._live.values()):
                await self._agents.end_family(family)
            await self._release(conversation_id)

    async def _end(self) -> None:
        await asyncio.gather(*(conversation.close(self.cut_by) for conversation in self._live.values()))
        await self._agents.end_all()
        for conversation_id in list(self._live):
            with contextlib.suppress(StoreError):
                await self._release(conversation_id)
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _release(self, conversation_id: str) -> None:
        # What was not put in order is left as the dead leave it: the lease names the agents that may still run.
        if self._services.db.read_only or conversation_id in self._left_by:
            return
        async with self._services.db.write() as tx:
            lease = await leases.get(tx, conversation_id)
            if lease and lease.owner.id == self.owner.id:
                await leases.release(tx, conversation_id, self.owner.id)
                await conversations.delete_if_empty(tx, conversation_id)

    async def _is_of_use(self, agent: AgentPort, family: str) -> bool:
        """True if an idle agent of a family must not be ended: it is looked at, does something, or would cost more."""
        if agent.runs_commands:
            return True
        in_sight = self.in_sight()
        for conversation in [each for each in self._live.values() if each.record.family == family]:
            if await conversation.keeps(agent, in_sight):
                return True
        return False

    def _agent_started(self, family: str, agent: AgentPort) -> None:
        """Note the process in the lease, so that a client that takes over can end it; and notice its death."""
        self._services.titles.heard(agent)
        self._tasks.begin(self._note_groups(family, agent))

        def died() -> None:
            for live in self._live.values():
                live.agent_died(agent)
            for sessions in list(self._sessions.values()):
                sessions.forget_agent(agent)

        agent.on_exit(died)

    def _note_later(self, family: str) -> None:
        """An agent that was started for another conversation of the family, while this one was opened, is noted too."""
        if self._agents.groups(family):
            self._tasks.begin(self._note_groups_again(family))

    async def _note_groups_again(self, family: str) -> None:
        with contextlib.suppress(StoreError):
            async with self._services.db.write() as tx:
                await self._set_groups(tx, family)

    async def _set_groups(self, tx: Writer, family: str) -> None:
        groups: list[AgentGroup] = self._agents.groups(family)
        for conversation in list(self._live.values()):
            if conversation.record.family == family and not conversation.read_only:
                with contextlib.suppress(Fenced):  # lost, unnoticed: the others' leases still need it
                    await leases.set_agents(tx, conversation.id, self.owner.id, groups)

    async def _note_groups(self, family: str, agent: AgentPort) -> None:
        with contextlib.suppress(StoreError):
            async with self._services.db.write() as tx:
                await self._set_groups(tx, family)
                await keep_powers(tx, agent)
                await keep_title(tx, agent)
        for conversation in list(self._live.values()):
            if conversation.record.family == family and not conversation.read_only:
                await conversation.asides.sweep(agent)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if any(not conversation.read_only for conversation in self._live.values()):
                with contextlib.suppress(StoreError):
                    async with self._services.db.write() as tx:
                        await leases.heartbeat(tx, self.owner.id)
                        held = await leases.held_by(tx, self.owner.id)
                    for conversation in list(self._live.values()):
                        if conversation.id not in held:
                            conversation.lose()

    def _hear_logouts(self, last: Mapping[Account, int]) -> None:
        for conversation in self._live.values():
            conversation.logins.hear(last)

    def _is_dead(self, lease: Lease) -> bool:
        """A process of this machine is known to be dead; one of another is taken to be after a long silence."""
        if lease.owner.host == self.owner.host:
            return self._start_time_of(lease.owner.pid) != lease.owner.started
        return self._services.clock() - lease.heartbeat_at > _FOREIGN_HOST_SILENCE

    def _title_of(self, agent: str, profile: str) -> str:
        try:
            return self._services.titles.of(self._spec_of(agent, profile))
        except AgentMissing:
            return agent

"""The services that all conversations of a client process share."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from catena_acp.agents.catalog import is_untitled, short_title
from catena_acp.continuity.conversation_events import ConversationEvent
from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.errors import AgentSilent, NotCopied
from catena_acp.mcp.servers import McpServer
from catena_acp.permissions.rule import Rule
from catena_acp.port.abilities import Abilities
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.snapshots.keeping import FileSnapshots
from catena_store.chains import agents
from catena_store.clients import leases
from catena_store.conversations.checkpoints import Frequency
from catena_store.conversations.logouts import Account
from catena_store.database.database import Database, Writer
from catena_store.errors import StoreError
from catena_store.records import Owner

KEPT = 20
# Of a conversation and a window, as a session is given it.
ToolServer = Callable[[str, str], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """When checkpoints are made, and how many of the automatic ones are kept."""

    frequency: Frequency = Frequency.MANUAL
    keep: int = KEPT  # automatic ones of a conversation; those with a label do not count
    tools: ToolServer | None = None  # what an agent is handed to make them itself; None for nothing


_MOST = 3


class Tries:
    """Counter of failed background tries; one try of the same thing at a time."""

    def __init__(self) -> None:
        self._failed: Counter[Hashable] = Counter()
        self._under_way: set[Hashable] = set()

    def may(self, what: Hashable) -> bool:
        """True if ``what`` is not being tried now and has not failed three times."""
        return what not in self._under_way and self._failed[what] < _MOST

    @contextmanager
    def trying(self, what: Hashable) -> Iterator[None]:
        """Mark ``what`` as being tried within the block."""
        self._under_way.add(what)
        try:
            yield
        finally:
            self._under_way.discard(what)

    def failed(self, what: Hashable) -> None:
        """Count a failed try of ``what``; one that was cancelled does not count."""
        self._failed[what] += 1


_LONGEST = 40  # characters
_WHEN_LAST_RUN = ""  # in the place of a version: whichever that was
_TITLE = "title"


def title_of(spec: AgentSpec, abilities: Abilities | None) -> str:
    """What a person reads for an agent: its title here, or what a command without one calls itself once it runs."""
    if abilities is None or not is_untitled(spec):
        return spec.title
    return short_title(_readable(abilities.title) or _readable(abilities.name)) or spec.title


def agent_title(agent: AgentPort) -> str:
    """What a person reads for an agent that runs."""
    return title_of(agent.spec, agent.abilities)


class AgentTitles:
    """The titles that agents started by a command gave themselves last."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}  # by the name that links are stamped with
        self._loaded = False

    async def load(self, db: Database) -> None:
        """Read the stored titles, once; if they cannot be read, a command's words are its title."""
        if not self._loaded:
            with contextlib.suppress(StoreError):
                async with db.read() as reader:
                    kept = await agents.ability_by_agent(reader, _WHEN_LAST_RUN, _TITLE)
                self._told = {name: _readable(title) for name, title in kept.items()} | self._told
                self._loaded = True

    def heard(self, agent: AgentPort) -> None:
        """Note the title of an agent that was just started."""
        self._told[agent.spec.name] = title_of(agent.spec, agent.abilities)

    def of(self, spec: AgentSpec) -> str:
        """What a person reads for an agent that may not run."""
        return (is_untitled(spec) and self._told.get(spec.name)) or spec.title


async def keep_title(tx: Writer, agent: AgentPort) -> None:
    """Keep what a command calls itself, for the next time that nothing of it runs."""
    if is_untitled(agent.spec):
        title = title_of(agent.spec, agent.abilities)
        await agents.set_ability(tx, agent.spec.name, _WHEN_LAST_RUN, _TITLE, title)


def _readable(title: str) -> str:
    """A name as one short line of what can be printed; an agent may call itself anything."""
    line = " ".join("".join(each if each.isprintable() else " " for each in title).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"


Observer = Callable[[str, ConversationEvent], None]  # told of each event of a conversation that is ours
SpecOf = Callable[[str, str], AgentSpec]  # by the name and the profile that links are stamped with
Printed = Callable[[str], None]  # told what an agent prints instead of a message that is waited for
StartAgent = Callable[[AgentSpec, str, Printed], Awaitable[AgentPort]]


@dataclass(frozen=True, slots=True)
class WhileIdle:
    """Background work on a session after a clean turn."""

    probe: bool = False  # learn whether the agent honours a fork at a message
    park: bool = False  # keep a native fork of where the turn ended, where it does not
    kept: int = 20  # parked forks of a conversation, besides those of labelled checkpoints
    longest: float = 0.3  # seconds that the last parked fork of the session may have taken
    share: float = 0.05  # and of the time of the turn that has just ended, as a fraction
    # Whether parked forks are announced, at an agent's first edit.
    tells: Callable[[AgentSpec], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class ReplayWait:
    """How long a history is waited for that did not come before the answer, in seconds."""

    silence: float = 2.0  # without an update of the session, and it is taken to be over
    most: float = 10.0  # in all


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpeningWait:
    """How long an agent may take to load, resume or fork a session, in seconds; for a new one there is no limit."""

    long: float = 120.0  # before the person may go on without it, if there is another step
    most: float | None = None  # before a client without a person does

    @property
    def until_left(self) -> float | None:
        """How long is waited for the person; None without a limit."""
        return None if self.most is None else max(0.0, self.most - self.long)

    async def bound(self, opening: Awaitable[T]) -> T:
        """Wait for an opening that nobody waits to leave. Raises AgentSilent, or what the opening raises."""
        try:
            async with asyncio.timeout(self.long):
                return await opening
        except TimeoutError as error:
            raise AgentSilent(f"no answer within {self.long:g} seconds") from error


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """Where an agent keeps a session: its profile, the environment by which it finds its files, and a directory."""

    profile: str
    environment: Mapping[str, str]
    cwd: str


class SessionFiles(Protocol):
    """The sessions of agents as files, as far as they can be copied. Every function blocks.

    ``agents`` are the names that an agent is known by.
    """

    def knows(self, agents: Iterable[str]) -> bool:
        """True for an agent that keeps its sessions in files which can be copied."""
        ...

    def path_of(self, agents: Iterable[str], session_id: str, home: SessionPlace) -> Path | None:
        """The transcript of a session; None if there is none."""
        ...

    def can_copy(
        self, agents: Iterable[str], session_id: str, here: SessionPlace, there: SessionPlace
    ) -> bool:
        """True if the files of a session are here, and have a place there."""
        ...

    def copy(self, agents: Iterable[str], session_id: str, here: SessionPlace, there: SessionPlace) -> None:
        """Copy the files of a session. Raises NotCopied."""
        ...


class NoSessionFiles:
    """No agent's files are known."""

    def knows(self, agents: Iterable[str]) -> bool:
        return False

    def path_of(self, agents: Iterable[str], session_id: str, home: SessionPlace) -> Path | None:
        return None

    def can_copy(
        self, agents: Iterable[str], session_id: str, here: SessionPlace, there: SessionPlace
    ) -> bool:
        return False

    def copy(self, agents: Iterable[str], session_id: str, here: SessionPlace, there: SessionPlace) -> None:
        raise NotCopied("its files are not known")


@dataclass(frozen=True, slots=True)
class Services:
    """The store, and where ids, times and agents come from."""

    db: Database
    owner: Owner
    new_id: Callable[[], str]
    clock: Callable[[], datetime]
    start_agent: StartAgent  # of a spec, in a directory
    monotonic: Callable[[], float] = time.monotonic
    budget: Budget = field(default_factory=Budget)
    while_idle: WhileIdle = field(default_factory=WhileIdle)
    replay_wait: ReplayWait = field(default_factory=ReplayWait)
    opening_wait: OpeningWait = field(default_factory=OpeningWait)
    tries: Tries = field(default_factory=Tries)
    titles: AgentTitles = field(default_factory=AgentTitles)
    checkpointing: Checkpointing = field(default_factory=Checkpointing)
    session_files: SessionFiles = field(default_factory=NoSessionFiles)
    is_directory: Callable[[str], bool] = lambda _: True  # blocks
    snapshots: FileSnapshots | None = None  # None where the files around turns are not kept
    asks_first: bool = False  # sessions get a mode in which the agent asks before it acts, if there is one
    rules: Sequence[Rule] | None = None  # the settings file's; None where no permission rule of ours answers
    mcp_servers: Sequence[McpServer] = ()  # the settings file's
    directories_of: Callable[[str], Sequence[str]] | None = None  # additional ones in a directory; blocks
    observe: Observer = lambda conversation_id, event: None


@dataclass(slots=True)
class HeardLogouts:
    """The logouts that a conversation of ours has heard of, and which of them its windows have begun anew after."""

    last: Mapping[Account, int] = field(default_factory=dict)
    number: int = 0  # of those from the account of the conversation
    # By window: the number of the one that it began anew after.
    begun: dict[str, int] = field(default_factory=dict)

    def known_in(self, window_id: str) -> int:
        """The number of the logout that the window began anew after."""
        return self.begun.get(window_id, 0)

    def owes(self, window_id: str) -> bool:
        """True if the window has yet to begin anew, be it since it was closed meanwhile."""
        return self.known_in(window_id) < self.number

    def went_back(self, window_id: str) -> None:
        """The person took the window to where it stands, and is told that the next prompt includes it."""
        self.begun[window_id] = self.number

    def is_news(self, account: Account, last: Mapping[Account, int]) -> bool:
        """True if somebody logged out of the account since, as the ``last`` logouts are stored now."""
        return last.get(account) not in (None, self.last.get(account))


@dataclass(slots=True)
class Tenure:
    """Our tenure of a conversation's lease: every write of its tree goes through it.

    A client that slept while another took over must not put rows under a turn that the other has closed.
    """

    services: Services
    conversation_id: str
    epoch: int
    logouts: HeardLogouts = field(default_factory=HeardLogouts)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Writer]:
        """A transaction that fails with ``Fenced`` if the lease is no longer ours."""
        async with self.services.db.write() as tx:
            await leases.guard(tx, self.conversation_id, self.services.owner.id, self.epoch)
            yield tx

"""Logging in to a conversation's agent and out of it.

A login changes nothing of the chain: the next prompt finds the sessions that it would have found before. Logging out
makes a barrier in every window of this client that talks to the account, so that whoever logs in next is told nothing
of what stands above it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from catena_acp.abilities import AuthMethod
from catena_acp.agents.catalog import own_login, own_logout
from catena_acp.agents.login_methods import TerminalLogin, Variable, methods_in, terminal_login, variables_of
from catena_acp.continuity.atomic import shielded, with_retries
from catena_acp.continuity.errors import ReadOnly
from catena_acp.continuity.events import (
    ConversationEvent,
    Doing,
    LeafMoved,
    MessageAdded,
    Problem,
    PromptReturned,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.problems import problem_of_notice
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.turns.endings import brought_something
from catena_acp.conversation.prompts.prepare import GivenUp, StillAtWork
from catena_acp.conversation.prompts.rows import PromptRows
from catena_acp.conversation.prompts.window import Window
from catena_acp.conversation.runtime import ConversationRuntime
from catena_acp.errors import AgentError, AgentMissing, LoginNeeded, NotOffered
from catena_acp.port import AgentPort
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations import branches, messages
from catena_store.errors import Fenced, StoreError
from catena_store.records import Kind, Message
from catena_store.windows import windows

T = TypeVar("T")

LOGGED_OUT = "logged out by you"


class NoSuchLogin(AgentError):
    """The agent offers no login of this id, or none at all."""


class LogoutNotOffered(AgentError):
    """The agent cannot be logged out of from here; ``str()`` of it says how else."""


@dataclass(frozen=True, slots=True)
class Owed:
    """A prompt that got no answer since a login was needed."""

    returned: str | None  # its text, where that is back in the composer: to be said again as it was
    begun: bool  # part of an answer came, so that sending it again is the person's to decide


class Logins:
    """The logins of one conversation; each is named by the window that it is done in.

    What asks the agent runs ahead of the window's next prompt, and a stop gives it up (GivenUp). Everything raises
    ReadOnly where another client holds the conversation, and AgentError.
    """

    def __init__(
        self,
        core: ConversationRuntime,
        seat_of: Callable[[str], Window],
        all_live: Callable[[], Iterable[Logins]],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """``all_live`` gives the logins of every conversation that is live in this client, this one among them."""
        self._core = core
        self._seat_of = seat_of
        self._all_live = all_live
        self._environment = environment
        self._known: dict[tuple[str, str], tuple[AuthMethod, ...]] = {}  # by agent and profile
        self._returned: dict[str, str] = {}
        self._owed: dict[str, str | None] = {}  # by window: the text that was returned
        core.subscribe(self._handle)

    async def methods(self, window_id: str) -> tuple[AuthMethod, ...]:
        """The ways to log in that the agent offers; it is started where it does not run."""
        try:
            return await self._ahead(window_id, self._methods)
        except LoginNeeded as error:
            # It wants the login before it shakes hands, and its refusal is where the methods are, if anywhere.
            offered = self._known[self._agent] = methods_in(error)
            return offered

    def variables(self, method: AuthMethod) -> tuple[Variable, ...]:
        """What an environment method is made of, and which of it the agent gets now."""
        return variables_of(self._core.send_context().spec, method, self._environment)

    async def terminal(self, window_id: str, method_id: str) -> TerminalLogin:
        """What to run in a terminal for a terminal method. Raises NoSuchLogin."""
        context = self._core.send_context()
        offered = self._known.get(self._agent) or await self.methods(window_id)
        method = next((each for each in offered if each.id == method_id), None)
        if method is None:
            raise NoSuchLogin(f"{self._core.agent_title} offers no login named {method_id}.")
        return terminal_login(context.spec, method, context.record.cwd, self._environment)

    async def log_in(self, window_id: str, method_id: str) -> None:
        """Log in by one of the agent's own methods; a person may act in a browser meanwhile, for ten minutes."""
        await self._ahead(
            window_id, lambda context, agent: self._log_in(window_id, method_id, context, agent)
        )

    async def logged_in(self, window_id: str) -> None:
        """Somebody logged in outside of the agent's process: the next prompt starts it anew, with the same chain."""
        context = self._core.send_context()

        async def end() -> None:
            self._core.set_doing(window_id, Doing.STARTING)
            await context.agents.end(context.spec, context.record.family)

        await self._seat_of(window_id).ahead(end)

    async def log_out(self, window_id: str) -> None:
        """Log out, and let nothing above be told again, here and wherever this client talks to the same account.

        Raises LogoutNotOffered, StillAtWork.
        """
        context = self._core.send_context()
        if context.agents.in_use(context.spec):
            raise StillAtWork
        await self._ahead(
            window_id, lambda context, agent: self._log_out(window_id, context, agent), apart=True
        )

    def account_left(self, agent: tuple[str, str], asked_in: str) -> None:
        """Somebody logged out of the agent in a window: what goes to it from any other begins anew as well.

        A window in mid-turn does so when that is over. Each is told; nothing is done where another client holds it.
        """
        if self._core.tenure is None or self._agent != agent:
            return
        for window_id in self._core.windows - {asked_in}:
            self._core.spawn(self._leave_account(window_id, self._seat_of(window_id)))

    async def _leave_account(self, window_id: str, seat: Window) -> None:
        try:
            while not await self._begins_anew(window_id):
                await seat.wait_idle()
                with contextlib.suppress(StillAtWork, GivenUp):
                    await seat.ahead(lambda: shielded(self._begin_anew(window_id)), apart=True)
            context = self._core.send_context()
            await context.agents.end(context.spec, context.record.family)
        except (Fenced, ReadOnly, AgentMissing):
            pass  # whoever has the conversation now says what its next session is told
        except StoreError as error:
            self._core.publish(Troubled(window_id, Problem(Trouble.STORE, str(error))))

    async def _begins_anew(self, window_id: str) -> bool:
        """True where nothing stands above that could be told."""
        async with self._core.services.db.read() as reader:
            window = await windows.get(reader, window_id)
            leaf = await messages.get(reader, window.leaf_id) if window and window.leaf_id else None
        return leaf is None or leaf.barrier

    async def _begin_anew(self, window_id: str) -> None:
        row = await with_retries(lambda: self._barrier(window_id))
        self._owed.pop(window_id, None)
        self._core.publish(MessageAdded(window_id, row))
        self._core.carried_by_none(window_id)

    async def owed(self, window_id: str) -> Owed | None:
        """The window's last prompt, where it got no answer since a login was needed."""
        returned = self._owed.get(window_id)
        if returned is not None:
            return Owed(returned, begun=False)
        async with self._core.services.db.read() as reader:
            window = await windows.get(reader, window_id)
            leaf = window.leaf_id if window else None
            last = await messages.get(reader, leaf) if leaf else None
            path = await messages.path(reader, leaf)
            prompt = max((at for at, row in enumerate(path) if row.kind is Kind.USER), default=-1)
            begun = await brought_something(reader, path[prompt + 1 :])
        if window_id not in self._owed and not _wants_login(last):
            return None
        return Owed(None, begun)

    @property
    def own_way_in(self) -> str | None:
        """How else to log in to the agent: what to run or to set, by the catalogue."""
        return own_login(self._core.record.agent)

    @property
    def _agent(self) -> tuple[str, str]:
        return self._core.record.agent, self._core.record.profile

    async def _ahead(
        self, window_id: str, work: Callable[[SendContext, AgentPort], Awaitable[T]], *, apart: bool = False
    ) -> T:
        context = self._core.send_context()

        async def started() -> T:
            return await work(context, await context.agent(window_id))

        return await self._seat_of(window_id).ahead(started, apart=apart)

    async def _methods(self, context: SendContext, agent: AgentPort) -> tuple[AuthMethod, ...]:
        offered = self._known[self._agent] = agent.abilities.auth_methods
        return offered

    async def _log_in(self, window_id: str, method_id: str, context: SendContext, agent: AgentPort) -> None:
        self._core.begin_turn(window_id)
        self._core.set_doing(window_id, Doing.LOGGING_IN)
        release = context.agents.hold(agent)
        try:
            try:
                await agent.authenticate(method_id)
            finally:
                release()
        except asyncio.CancelledError:
            # It may wait for the browser for ever, and not be able to begin again meanwhile.
            context.agents.drop(agent)
            raise

    async def _log_out(self, window_id: str, context: SendContext, agent: AgentPort) -> None:
        title = self._core.agent_title
        if not agent.abilities.logout:
            raise LogoutNotOffered(no_logout(title, context.spec.name))
        try:
            await shielded(agent.logout())
        except NotOffered as error:
            raise LogoutNotOffered(no_logout(title, context.spec.name)) from error
        for logins in self._all_live():
            logins.account_left(self._agent, window_id)
        await shielded(self._begin_anew(window_id))
        await context.agents.end(context.spec, context.record.family)

    async def _barrier(self, window_id: str) -> Message:
        async with self._core.writable().write() as tx:
            return await PromptRows(self._core, window_id).add_barrier(
                tx, LOGGED_OUT, branches.logout_data(*self._agent)
            )

    def _handle(self, event: ConversationEvent) -> None:
        match event:
            case PromptReturned(window_id=window_id, text=text):
                self._returned[window_id] = text
            case TurnEnded(window_id=window_id, problem=problem):
                returned = self._returned.pop(window_id, None)
                if problem and problem.trouble is Trouble.LOGIN_NEEDED:
                    self._owed[window_id] = returned
                else:
                    self._owed.pop(window_id, None)
            case LeafMoved(window_id=window_id):
                self._owed.pop(window_id, None)
            case MessageAdded(window_id=window_id, message=message) if message.kind is Kind.USER:
                self._owed.pop(window_id, None)
            case _:
                pass


def _wants_login(row: Message | None) -> bool:
    """True of the row that a turn ended with, maybe in an earlier life of ours, since a login was needed."""
    kept = problem_of_notice(row) if row else None
    return kept is not None and kept.trouble is Trouble.LOGIN_NEEDED


def no_logout(title: str, agent: str) -> str:
    """Why an agent is not logged out of from here, and how it is."""
    return f"{title} offers no logout to its clients. {own_logout(agent)}; then /new or /clear begins anew."

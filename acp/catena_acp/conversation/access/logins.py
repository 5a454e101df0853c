"""Logging in to a conversation's agent and out of it.

A login changes nothing of the chain: the next prompt finds the sessions that it would have found before. Logging out,
here or in another process, makes a barrier in every window of this client that talks to the account, so that whoever
logs in next is told nothing of what stands above it. Until such a window has it, no prompt goes out there, and none
goes to a process from before the logout.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from catena_acp.agents.agent import (
    TerminalLogin,
    Variable,
    offered_methods,
    terminal_login,
    variables_of,
)
from catena_acp.agents.catalog import login_hint, logout_hint
from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    Doing,
    LeafMoved,
    MessageAdded,
    Problem,
    PromptReturned,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.wording.problems import problem_of_notice
from catena_acp.conversation.branches.branches import LOGGED_OUT
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.rows import brought_something
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import (
    LoginNeeded,
    LogoutNotOffered,
    NoSuchLogin,
    NotOffered,
    ReadOnly,
    StillAtWork,
)
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentPort
from catena_acp.tasks import shielded, with_retries
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations import logouts, messages
from catena_store.conversations.logouts import Account
from catena_store.errors import Fenced, StoreError
from catena_store.records import Kind, Message
from catena_store.windows import windows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UnansweredPrompt:
    """A prompt that got no answer since a login was needed."""

    returned: str | None  # its text, if that is back in the composer: to be said again as it was
    begun: bool  # part of an answer came, so that sending it again is the person's to decide


class Logins:
    """The logins of one conversation; each is done in a window.

    What asks the agent runs ahead of the window's next prompt, and a stop gives it up (GivenUp). Everything raises
    ReadOnly where another client holds the conversation, and AgentError.
    """

    def __init__(
        self,
        conversation: LiveConversation,
        windows: Mapping[str, Window],
        all_live: Callable[[], Iterable[Logins]],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """``windows`` are the conversation's, also those that were closed.

        ``all_live`` gives the logins of every conversation that is live in this client, this one among them.
        """
        self._conversation = conversation
        self._windows = windows
        self._all_live = all_live
        self._environment = environment
        self._known: dict[tuple[str, str], tuple[AuthMethod, ...]] = {}  # by agent and profile
        self._returned: dict[str, str] = {}
        self._owed: dict[str, str | None] = {}  # by window: the text that was returned
        conversation.subscribe(self._handle)

    async def methods(self, window: Window) -> tuple[AuthMethod, ...]:
        """The ways to log in that the agent offers, in its order; it is started where it does not run.

        Raises AgentError; GivenUp where it was stopped meanwhile.
        """
        try:
            return await self._ahead(window, self._methods)
        except LoginNeeded as error:
            # It wants the login before it shakes hands, and its refusal is where the methods are, if anywhere.
            offered = self._known[self._agent] = offered_methods(error)
            return offered

    def variables(self, method: AuthMethod) -> tuple[Variable, ...]:
        """What a method of kind `env_var` is made of, and which of it the agent gets now."""
        return variables_of(self._conversation.send_context().spec, method, self._environment)

    async def terminal(self, window: Window, method_id: str) -> TerminalLogin:
        """What to run in a terminal for a method of kind `terminal`; then comes ``logged_in``. Raises NoSuchLogin."""
        context = self._conversation.send_context()
        offered = self._known.get(self._agent) or await self.methods(window)
        method = next((each for each in offered if each.id == method_id), None)
        if method is None:
            raise NoSuchLogin(f"{self._conversation.agent_title} has no login method named {method_id}.")
        return terminal_login(context.spec, method, context.record.cwd, self._environment)

    async def log_in(self, window: Window, method_id: str) -> None:
        """Log in by one of the agent's own methods; a person may act in a browser meanwhile, for ten minutes.

        ``Window.stop`` gives it up. Raises AgentError: GivenUp, StillAtWork while a turn runs, or what the agent says.
        """
        await self._ahead(window, lambda context, agent: self._log_in(window.id, method_id, context, agent))

    async def logged_in(self, window: Window) -> None:
        """Somebody logged in outside of the agent's process: the next prompt starts it anew, with the same chain."""
        context = self._conversation.send_context()

        async def retire() -> None:
            context.agents.retire(self._agent, context.record.family)

        await window.run_before_next_prompt(retire)

    async def log_out(self, window: Window) -> None:
        """Log out of the agent; nothing above is told to the next session, all of it stays on the screen.

        So it is in every open window whose next prompt would go to that account; other clients ``hear`` of it.
        Raises AgentError: LogoutNotOffered with the agent's own way, StillAtWork while a turn runs.
        """
        context = self._conversation.send_context()
        if context.agents.in_use(context.spec):
            raise StillAtWork
        await self._ahead(window, lambda context, agent: self._log_out(window, context, agent), apart=True)

    def hear_everywhere(self, last: Mapping[Account, int], asked_in: str | None = None) -> None:
        """Let every conversation that is live in this client hear which logouts were the last."""
        for logins in self._all_live():
            logins.hear(last, asked_in)

    def hear(self, last: Mapping[Account, int], asked_in: str | None = None) -> None:
        """Hear which logouts were the last: nothing new goes to a process of an account from before one.

        After one from our account what goes to it begins anew in every window: in mid-turn when that is over, in the
        one that it was ``asked_in`` by itself, in a closed one when it is opened. Each is told; nothing is done where
        another client holds the conversation.
        """
        self._conversation.agents.hear_logouts(last)
        if (tenure := self._conversation.tenure) is None:
            return
        heard = tenure.logouts
        news, heard.last = heard.is_news(self._agent, last), last
        if news:
            heard.number += 1
            for window in self._windows.values():
                if window.id != asked_in and (window.busy or window.id in self._conversation.windows):
                    self._conversation.spawn(self.begin_anew(window))

    async def begin_anew(self, window: Window) -> None:
        """Let a window begin anew that has yet to do so after a logout, when its turn is over: that is waited for.

        Trouble is published, not raised; until it is done no prompt goes out there.
        """
        if not self._owes(window.id):
            return
        try:
            await window.run_exclusively(lambda: self._begin_anew(window), wait=True)
        except (Fenced, ReadOnly):
            pass  # whoever has the conversation now says what its next session is told
        except StoreError as error:
            self._conversation.publish(Troubled(window.id, Problem(Trouble.STORE, str(error))))

    async def _begin_anew(self, window: Window) -> None:
        """Add the barrier that a window owes, if it owes one and that keeps anything back."""
        heard = self._conversation.writable().logouts
        if not heard.owes(window.id):
            return
        number = heard.number
        row = await with_retries(lambda: self._barrier(window))
        heard.begun[window.id] = number
        self._owed.pop(window.id, None)
        if row is not None:
            self._conversation.publish(MessageAdded(window.id, row))
        self._conversation.clear_carrier(window.id)

    def _owes(self, window_id: str) -> bool:
        tenure = self._conversation.tenure
        return tenure is not None and tenure.logouts.owes(window_id) and window_id in self._windows

    async def owed(self, window: Window) -> UnansweredPrompt | None:
        """The window's last prompt, where it got no answer since a login was needed."""
        returned = self._owed.get(window.id)
        if returned is not None:
            return UnansweredPrompt(returned, begun=False)
        async with self._conversation.services.db.read() as reader:
            stored = await windows.get(reader, window.id)
            leaf = stored.leaf_id if stored else None
            last = await messages.get(reader, leaf) if leaf else None
            rows = await messages.last_turn(reader, leaf)
        prompt = max((at for at, row in enumerate(rows) if row.kind is Kind.USER), default=-1)
        begun = brought_something(rows[prompt + 1 :])
        if window.id not in self._owed and not _wants_login(last):
            return None
        return UnansweredPrompt(None, begun)

    @property
    def own_way_in(self) -> str | None:
        """How else to log in to the agent: what to run or to set, by the catalogue."""
        return login_hint(self._conversation.record.agent)

    @property
    def _agent(self) -> tuple[str, str]:
        return self._conversation.record.agent, self._conversation.record.profile

    async def _ahead(
        self, window: Window, work: Callable[[SendContext, AgentPort], Awaitable[T]], *, apart: bool = False
    ) -> T:
        context = self._conversation.send_context()

        async def started() -> T:
            return await work(context, await context.agent(window.id))

        return await window.run_before_next_prompt(started, apart=apart)

    async def _methods(self, context: SendContext, agent: AgentPort) -> tuple[AuthMethod, ...]:
        offered = self._known[self._agent] = agent.abilities.auth_methods
        return offered

    async def _log_in(self, window_id: str, method_id: str, context: SendContext, agent: AgentPort) -> None:
        self._conversation.begin_turn(window_id)
        self._conversation.set_doing(window_id, Doing.LOGGING_IN)
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

    async def _log_out(self, window: Window, context: SendContext, agent: AgentPort) -> None:
        title = self._conversation.agent_title
        if not agent.abilities.logout:
            raise LogoutNotOffered(no_logout(title, context.spec.name))
        try:
            await shielded(agent.logout())
        except NotOffered as error:
            raise LogoutNotOffered(no_logout(title, context.spec.name)) from error
        # Conversations that are closed now have their barrier when they are opened.
        await shielded(with_retries(lambda: self._note_logout(window.id)))
        await shielded(self._begin_anew(window))

    async def _barrier(self, window: Window) -> Message | None:
        async with self._conversation.write() as tx:
            agent, profile = self._agent
            stored = await windows.get(tx, window.id)
            leaf, family = stored.leaf_id if stored else None, self._conversation.record.family
            if not await logouts.said_before_logout(tx, leaf, family, agent=agent, profile=profile):
                return None
            return await window.rows.add_barrier(tx, LOGGED_OUT, logouts.logout_data(agent, profile))

    async def _note_logout(self, asked_in: str) -> None:
        agent, profile = self._agent
        async with self._conversation.services.db.write() as tx:
            await logouts.note_logout(tx, agent=agent, profile=profile)
            last = await logouts.last_logouts(tx)
        self.hear_everywhere(last, asked_in)

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
                if self._owes(window_id):  # again, where the store did not take it
                    self._conversation.spawn(self.begin_anew(self._windows[window_id]))
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
    return f"{title} cannot be logged out from here. {logout_hint(agent)}, then /new or /clear here."

"""One live conversation: it owns its turns, whatever becomes of the windows that show it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, TypeVar

from catena_acp.abilities import AuthMethod
from catena_acp.agents.login_methods import TerminalLogin, Variable
from catena_acp.continuity.events import Asked, ConversationEvent, Doing, LeafMoved, Renamed, SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.continuity.sessions.settings import MODE, set_mode, set_option
from catena_acp.conversation import journal
from catena_acp.conversation.asides.asides import AsideFace, Asides
from catena_acp.conversation.branches.branching import BranchFace
from catena_acp.conversation.checkpoints.checkpoints import CheckpointFace, Checkpoints
from catena_acp.conversation.inspection.chain import ChainFace
from catena_acp.conversation.inspection.tree import TreeFace
from catena_acp.conversation.logins import Logins, Owed
from catena_acp.conversation.prompts.prepare import StillAtWork
from catena_acp.conversation.prompts.window import Window
from catena_acp.conversation.runtime import ConversationRuntime, change_directories
from catena_acp.port import AgentPort, AgentSpec
from catena_store.conversations import conversations
from catena_store.database.database import Writer
from catena_store.records import Attachment, Owner
from catena_store.records import ConversationRecord as Record
from catena_store.windows.journal import Act

T = TypeVar("T")


class UndoFace:
    """What undoing needs of a conversation."""

    _core: ConversationRuntime
    _windows: dict[str, Window]

    def _window(self, window_id: str) -> Window:
        """The window's place in the conversation."""
        raise NotImplementedError

    @property
    def windows(self) -> frozenset[str]:
        """Those that are open in this client."""
        return self._core.windows

    def in_turn(self, window_id: str) -> bool:
        """True while the window's turn is under way, or somebody logs in there."""
        seat = self._windows.get(window_id)
        return (seat is not None and seat.busy) or self._core.doing(window_id) is Doing.LOGGING_IN

    def writing(self) -> AbstractAsyncContextManager[Writer]:
        """A transaction of whoever holds the conversation. Raises ReadOnly, StoreReadOnly."""
        return self._core.writable().write()

    async def undisturbed(self, window_id: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something between two turns of a window, to its end; a prompt waits for it. Raises StillAtWork."""
        if self.in_turn(window_id):
            raise StillAtWork
        return await self._window(window_id).apart(work)

    async def read_anew(self) -> None:
        """Title and agent were changed in the store: take them from there, and tell."""
        core = self._core
        async with core.services.db.read() as reader:
            record = await conversations.get(reader, core.record.id)
        if record is None:
            return
        before, core.record = core.record, record
        for window_id in core.windows:
            if before.title != record.title:
                core.publish(Renamed(window_id, record.title))
            if (before.agent, before.profile) != (record.agent, record.profile):
                core.carried_by_none(window_id)

    def moved(self, window_id: str, leaf_id: str | None) -> None:
        """The window was moved in the store: tell where it stands now."""
        self._core.publish(LeafMoved(window_id, leaf_id))
        if window_id in self._core.windows:
            self._core.carried_by_none(window_id)

    async def put_away(
        self, act: Act, *, window_id: str | None, workspace_id: str | None, closing: Sequence[str]
    ) -> None:
        """Delete or archive it, by a line of the journal; ``closing`` are the windows that go with it.

        Raises StillAtWork while a turn runs, ReadOnly.
        """
        self._refuse_in_turn(closing)
        async with self.writing() as tx:
            # A prompt that was said while this waited for the store has its turn here.
            self._refuse_in_turn(closing)
            await journal.put_away(
                tx,
                conversation_id=self._core.record.id,
                act=act,
                window_id=window_id,
                workspace_id=workspace_id,
                closing=closing,
            )

    def _refuse_in_turn(self, closing: Sequence[str]) -> None:
        if any(self.in_turn(window) for window in {*self._core.windows, *closing}):
            raise StillAtWork

    async def take_out(self, *, workspace_id: str | None) -> None:
        """Take it out of the archive. Raises ReadOnly."""
        async with self.writing() as tx:
            await journal.take_out(tx, conversation_id=self._core.record.id, workspace_id=workspace_id)


class IdleFace:
    """What is done with a session after a turn, while nobody waits for it."""

    def _window(self, window_id: str) -> Window:
        """The window's place in the conversation."""
        raise NotImplementedError

    async def settled(self, window_id: str) -> None:
        """Wait until the window is idle and what is done after its turn is done: a probe, a parked fork."""
        seat = self._window(window_id)
        await seat.wait_idle()
        await seat.idle_work.settled()


class Conversation(ChainFace, CheckpointFace, BranchFace, UndoFace, IdleFace, AsideFace, TreeFace):
    """A conversation that can be talked to; made by ``Conversations``.

    What a person does is named by the window it is done in. Anything that writes raises StoreError, and ReadOnly where
    another client holds the lease.
    """

    def __init__(
        self,
        core: ConversationRuntime,
        take_over: Callable[[], Awaitable[None]],
        all_live: Callable[[], Iterable[Conversation]],
    ) -> None:
        super().__init__(core)
        self._take_over = take_over
        self._windows: dict[str, Window] = {}
        self._left: dict[str, Window] = {}  # of windows that were closed in the middle of something
        self._logins = Logins(core, self._window, lambda: [each._logins for each in all_live()])
        self._checkpoints = Checkpoints(core, self._window)
        self._asides = Asides(core)

    @property
    def id(self) -> str:
        return self._core.record.id

    @property
    def record(self) -> Record:
        return self._core.record

    @property
    def read_only(self) -> bool:
        """True where another client holds the conversation."""
        return self._core.tenure is None

    @property
    def holder(self) -> Owner | None:
        """The other client that has it, or had it last; None where it is ours."""
        return self._core.holder

    @property
    def free(self) -> bool:
        """True where the client that had it is gone: it can be taken over."""
        return self._core.free

    @property
    def busy(self) -> bool:
        """True while any window's turn is under way."""
        return any(seat.busy for seat in (*self._windows.values(), *self._left.values()))

    def subscribe(self, listener: Callable[[ConversationEvent], None]) -> Callable[[], None]:
        """Tell ``listener`` everything from now on; returns the end of it."""
        return self._core.subscribe(listener)

    def session(self, window_id: str) -> SessionState:
        """What is known of the session that carries a window."""
        return self._core.session(window_id)

    def doing(self, window_id: str) -> Doing:
        """What a window's turn does now."""
        return self._core.doing(window_id)

    def asked(self, window_id: str) -> list[Asked]:
        """The permissions that a window's turn waits for, oldest first."""
        return self._core.permissions.of_window(window_id)

    def last_lines(self, window_id: str) -> tuple[str, ...]:
        """What the agent wrote last to its standard error, oldest first; nothing where it does not run."""
        return self._core.last_lines()

    # --- prompts

    async def say(self, window_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Send a prompt, or queue it while a turn runs; returns when the row or the queue item is committed.

        Where another client had the conversation and is gone, it is taken over first.
        """
        if self.read_only:
            await self.take_over(window_id)
        await self._window(window_id).say(text, attachments)

    async def stop(self, window_id: str) -> None:
        """Stop the turn: the agent is asked to, its open questions are answered `cancelled`."""
        await self._window(window_id).stop()

    async def kill_agent(self, window_id: str) -> None:
        """End the agent's process, for a stop that is not heeded; what it said is kept."""
        await self._window(window_id).kill_agent()

    async def prepare(self, window_id: str) -> None:
        """Open a session for what comes next, where that needs no telling, so that its commands and modes can be shown.

        Trouble is told, not raised; the next prompt tries again.
        """
        await self._window(window_id).prepare()

    async def answer(self, ask_id: str, option_id: str | None) -> None:
        """Answer a permission with one of the agent's options; None is `cancelled`."""
        window_id = self._core.permissions.answer(ask_id, option_id)
        if window_id and self.doing(window_id) is Doing.ASKING and not self.asked(window_id):
            self._core.set_doing(window_id, Doing.WORKING)

    async def unqueue(self, window_id: str, item_id: str) -> None:
        """Take a waiting prompt out of the queue for good. Raises NotFound."""
        await self._window(window_id).queue.remove(item_id)

    async def take_back(self, window_id: str, item_id: str) -> None:
        """Give a waiting prompt back to be changed: it is the draft again. Raises NotFound."""
        await self._window(window_id).queue.take_back(item_id)

    async def requeue(self, window_id: str, item_id: str, position: int) -> None:
        """Give a waiting prompt another place in the queue, counted from 0. Raises NotFound."""
        await self._window(window_id).queue.move(item_id, position)

    async def send_now(self, window_id: str, item_id: str) -> bool:
        """Send a waiting prompt before all others: into the running turn where the agent offers that (True).

        Else the turn is stopped and the prompt goes next. Raises NotFound.
        """
        return await self._window(window_id).send_now(item_id)

    async def send_queued(self, window_id: str) -> None:
        """Let the queue go on after an error held it."""
        await self._window(window_id).send_queued()

    async def wait_idle(self, window_id: str) -> None:
        """Wait until no turn of the window is under way and its queue has come to rest."""
        await self._window(window_id).wait_idle()

    # --- what the next prompt meets

    async def set_mode(self, window_id: str, mode_id: str) -> None:
        """Switch the session's mode. Raises AgentError."""
        self._core.writable()
        live = self._core.live(window_id)
        await set_mode(live, mode_id)
        option = option_of_category(live.state, "mode")
        await self._core.environment.note_choice(window_id, live, option.id if option else MODE, mode_id)

    async def set_option(self, window_id: str, option_id: str, value: str | bool) -> None:
        """Set one of the session's options. Raises AgentError."""
        self._core.writable()
        live = self._core.live(window_id)
        await set_option(live, option_id, value)
        await self._core.environment.note_choice(window_id, live, option_id, value)

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that it was given beside the one it works in."""
        return self._core.environment.directories

    async def add_directory(self, path: str) -> bool:
        """Give it a directory, which the caller has seen to exist, by its absolute path; False where it has it.

        Files below it can be asked for at once; an agent that takes further directories gets it with the next prompt.
        """
        return await change_directories(self._core, add=path)

    async def remove_directory(self, path: str) -> bool:
        """Take a further directory away again; False where it has none of that path."""
        return await change_directories(self._core, remove=path)

    async def set_agent(self, window_id: str, spec: AgentSpec) -> None:
        """Go on with another agent from the next prompt on."""
        async with self._core.writable().write() as tx:
            await journal.change_agent(
                tx, window_id=window_id, conversation_id=self.id, agent=spec.name, profile=spec.profile
            )
        self._core.record = replace(self.record, agent=spec.name, profile=spec.profile)
        self._core.carried_by_none(window_id)

    async def clear(self, window_id: str) -> None:
        """`/clear`: nothing above is told again, all of it stays on the screen, nothing is sent.

        Raises StillAtWork while a prompt is on its way: what comes of that would not stand below it.
        """
        seat = self._window(window_id)
        await seat.apart(seat.clear)

    async def rename(self, title: str | None, *, by: str | None = None) -> None:
        """Give the conversation a title; what was done ``by`` a person in a window can be undone there."""
        await self._core.rename(title, by=by)

    # --- logins

    async def login_methods(self, window_id: str) -> tuple[AuthMethod, ...]:
        """The ways to log in that the agent offers, in its order; it is started where it does not run.

        Raises AgentError; GivenUp where it was stopped meanwhile.
        """
        return await self._logins.methods(window_id)

    @property
    def own_way_in(self) -> str | None:
        """How else to log in to the agent: what to run or to set, where the catalogue knows it."""
        return self._logins.own_way_in

    def login_variables(self, method: AuthMethod) -> tuple[Variable, ...]:
        """What a method of kind `env_var` is made of, and which of it the agent gets now."""
        return self._logins.variables(method)

    async def terminal_login(self, window_id: str, method_id: str) -> TerminalLogin:
        """What to run in a terminal for a method of kind `terminal`; then comes ``logged_in``."""
        return await self._logins.terminal(window_id, method_id)

    async def login(self, window_id: str, method_id: str) -> None:
        """Log in by one of the agent's own methods; a person may act in a browser meanwhile.

        ``stop`` gives it up. Raises AgentError: GivenUp, StillAtWork while a turn runs, or what the agent says.
        """
        await self._logins.log_in(window_id, method_id)

    async def logged_in(self, window_id: str) -> None:
        """Somebody logged in outside of the agent's process: the next prompt starts it anew, with the same chain."""
        await self._logins.logged_in(window_id)

    async def owed(self, window_id: str) -> Owed | None:
        """The window's last prompt, where it got no answer since a login was needed."""
        return await self._logins.owed(window_id)

    async def logout(self, window_id: str) -> None:
        """Log out of the agent; nothing above is told to the next session, all of it stays on the screen.

        So it is in every open window of this client whose next prompt would go to that account.
        Raises AgentError: LogoutNotOffered with the agent's own way, StillAtWork while a turn runs.
        """
        await self._logins.log_out(window_id)

    # --- its life

    async def take_over(self, window_id: str) -> None:
        """Go on here with what a client left that is gone. Raises ReadOnly, which names one that lives; StoreError."""
        self._core.enter(window_id)
        if self.read_only:
            await self._take_over()

    def enter(self, window_id: str) -> None:
        """The window is open in this client: the session that carries it is its own."""
        self._core.enter(window_id)
        if (left := self._left.pop(window_id, None)) is not None:  # opened again: its turn went on
            self._windows[window_id] = left
            if left.busy:
                self._core.set_doing(window_id, Doing.ASKING if self.asked(window_id) else Doing.WORKING)

    def leave(self, window_id: str) -> None:
        """The window was closed for good: what it owned is anybody's. Its turn goes on."""
        seat = self._windows.pop(window_id, None)
        self._left = {id: left for id, left in self._left.items() if left.at_work}
        if seat and seat.at_work:
            self._left[window_id] = seat
        self._core.leave(window_id)

    async def aclose(self) -> None:
        """End every turn as interrupted, and record it; the agents are ended by whoever owns them."""
        self._core.closing = True
        seats = (*self._windows.values(), *self._left.values())
        await asyncio.gather(self._asides.close(), *(seat.close() for seat in seats))
        await self._core.close()

    def taken_away(self) -> None:
        """Another client has it: what it does is told from now on. Does nothing where that is known."""
        self._core.lose()

    def agent_died(self, agent: AgentPort) -> None:
        """A process of ours ended; its sessions are cold from now on."""
        self._core.agent_died(agent)

    async def _apart(self, window_id: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await self._window(window_id).apart(work)

    def _window(self, window_id: str) -> Window:
        if window_id in self._left:
            self.enter(window_id)
        seat = self._windows.get(window_id)
        if seat is None:
            seat = self._windows[window_id] = Window(self._core, window_id)
        return seat

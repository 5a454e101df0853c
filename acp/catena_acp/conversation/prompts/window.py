"""One window of a live conversation: what is said in it, and where it stands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from catena_acp.continuity.conversation_events import (
    Doing,
    MessageAdded,
    Problem,
    Question,
    SessionState,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.parking import announce
from catena_acp.continuity.routing import route
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.sessions.settings import MODE, set_mode, set_option
from catena_acp.continuity.turns.background import BackgroundTask
from catena_acp.continuity.wording.problems import problem_of
from catena_acp.conversation import journal
from catena_acp.conversation.branches.branches import WindowLeaf, prompt_of
from catena_acp.conversation.branches.files import BranchFiles, CutRestore
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.consumer import PromptConsumer
from catena_acp.conversation.prompts.queue import PromptQueue, can_be_steered, may_stop_for
from catena_acp.conversation.prompts.rows import Birth, PromptRows, clears
from catena_acp.errors import AgentError, AgentGone, GivenUp, SessionGone, StillAtWork
from catena_acp.port.port import AgentSpec
from catena_acp.port.session_events import ModelRetried
from catena_acp.snapshots.restoring import FileChoice, FilesMoved, RestorePlan
from catena_acp.tasks import shielded
from catena_acp.trouble.troubles import Trouble
from catena_store import places
from catena_store.errors import StoreError
from catena_store.places import LaterTurns
from catena_store.records import Attachment, ContextSource, Message
from catena_store.snapshots.restoring import RestoreStep
from catena_store.windows import attachments, windows
from catena_store.windows.journal import Act

T = TypeVar("T")


class Window:
    """A window of a live conversation; made by ``Conversation.window``.

    Anything that writes raises StoreError, and ReadOnly where another client holds the lease.
    """

    def __init__(
        self,
        conversation: LiveConversation,
        window_id: str,
        files: BranchFiles,
    ) -> None:
        self._conversation = conversation
        self.id = window_id
        self.files = files
        self.leaf = WindowLeaf(conversation, window_id, files)
        self.rows = PromptRows(conversation, self.leaf)
        self.queue = PromptQueue(conversation, window_id, self.rows)
        self._prompts = PromptConsumer(conversation, window_id, files, self.rows, self.queue)
        self._schedule = self._prompts.schedule
        self.idle_work = self._prompts.idle_work
        conversation.enter(window_id)

    @property
    def busy(self) -> bool:
        """True while a prompt is on its way or its turn runs."""
        return self._schedule.sending

    @property
    def unsaved_answer(self) -> tuple[str, StoreError] | None:
        """The agent's text in a turn whose end the store did not take, and the error; None if nothing is missing."""
        return self._prompts.overdue.unsaved

    @property
    def at_rest(self) -> bool:
        """True if a prompt can be sent at once."""
        return self._schedule.at_rest

    @property
    def turns(self) -> int:
        """How many turns have begun in it, here."""
        return self._schedule.begun

    @property
    def in_turn(self) -> bool:
        """True while its turn is under way, or a login; not if the window was closed meanwhile."""
        return self._is_open and (self.busy or self.doing is Doing.LOGGING_IN)

    @property
    def at_work(self) -> bool:
        """True while its turn, or a login, would be stopped with it: as ``in_turn``, but over when its end is told."""
        return self._is_open and (self._schedule.carrying or self.doing is Doing.LOGGING_IN)

    @property
    def doing(self) -> Doing:
        """What its turn does now."""
        return self._conversation.doing(self.id)

    @property
    def retried(self) -> ModelRetried | None:
        """The failed call of the model that the agent just tries again."""
        return self._conversation.retried(self.id)

    @property
    def session(self) -> SessionState:
        """The known state of the session that carries the window."""
        return self._conversation.session(self.id)

    @property
    def background(self) -> tuple[BackgroundTask, ...]:
        """Work begun in it that outlives its turn and goes on, oldest first; not all of it where some has ended."""
        return self._conversation.background_of(self.id)

    @property
    def background_count(self) -> int:
        """How much of that goes on: agents may say that some has ended, and not which."""
        ended = self._conversation.background.ended_unnamed(self.id)
        return max(0, len(self.background) - ended)

    @property
    def asked(self) -> list[Question]:
        """The questions that are open in it, oldest first."""
        return self._conversation.questions.of_window(self.id)

    @property
    def _is_open(self) -> bool:
        return self.id in self._conversation.windows

    # --- its life

    def enter(self) -> None:
        """Open it in this client: what owns its session is its own; a turn that went on without it is shown again."""
        if not self._is_open:
            self._conversation.enter(self.id)
            if self.busy:
                waits = self._conversation.questions.waits(self.id)
                self._conversation.set_doing(self.id, Doing.ASKING if waits else Doing.WORKING)

    async def take_over(self) -> None:
        """Go on here with what a client left that is gone. Raises ReadOnly, which names one that lives; StoreError."""
        self._conversation.enter(self.id)
        await self._conversation.take_over()

    async def follow_place(self) -> LaterTurns | None:
        """Go where the conversation went on elsewhere, if that was from here and no prompt waits; what it lacked.

        None for a window that is gone. Raises StoreError.
        """
        db = self._conversation.services.db
        if not db.read_only:
            async with db.write() as tx:
                return await places.follow(tx, self.id)
        async with db.read() as reader:
            window = await windows.get(reader, self.id)
            return await places.later_than(reader, window.conversation_id, window.leaf_id) if window else None

    # --- prompts

    async def say(self, text: str, files: Sequence[Attachment] = ()) -> None:
        """Send a prompt, or queue it while a turn runs; returns when the row or the queue item is committed.

        Where another client had the conversation and is gone, it is taken over first.
        """
        if self._conversation.tenure is None:
            await self.take_over()
        self._conversation.writable()
        if not self.at_rest:
            await self.queue.add(text, files)
            self._prompts.serve()
        elif clears(text):
            await self.clear()
            self._conversation.publish(TurnEnded(self.id, None, None))
        else:
            # What waits for the store is a turn already.
            await self._prompts.say(lambda: self.rows.add_prompt(text, files), text, files)

    async def edit(
        self,
        prompt_id: str,
        text: str,
        files: Sequence[Attachment] = (),
        *,
        choice: FileChoice | None = None,
    ) -> None:
        """Say a prompt in other words, as a sibling of it; returns when its row is committed.

        A running turn is stopped first and seen to its end. By ``choice`` the files of the directory go back before the
        prompt goes out; if they cannot, it does not go out. Raises AgentError if it is no prompt of this conversation.
        """
        if self._conversation.tenure is None:
            await self.take_over()
        self._conversation.writable()
        prompt = await self._prompt_of(prompt_id)
        # The turn may take its time to stop, and the files to go back, and our own end may come first.
        at_once = self.at_rest and choice is None
        kept_as = None if at_once else await self.queue.keep_edit(prompt_id, text, files)
        try:
            await self._say_instead(prompt, text, files, None, kept_as, choice)
        finally:
            if kept_as is not None:
                await shielded(self.queue.forget_edit(kept_as))
        # The edit is on its way, whatever comes of the remark.
        with contextlib.suppress(StoreError, AgentError):
            await announce(self._conversation.send_context(), self.id, self._conversation.agent_title)

    async def retry(
        self,
        *,
        agent: AgentSpec | None = None,
        prompt_id: str | None = None,
        choice: FileChoice | None = None,
    ) -> None:
        """Send the last prompt again, or another one: the same row where its turn brought nothing, else as a sibling.

        ``agent`` answers it and what comes after it. A prompt that is named is always said as a sibling, and a
        running turn is stopped for it; by ``choice`` the files go back before it.
        """
        self._conversation.writable()
        if prompt_id is None:
            self._prompts.repeat(lambda: self.rows.repeat_last(agent))
            return
        prompt = await self._prompt_of(prompt_id)
        async with self._conversation.services.db.read() as reader:
            files = await attachments.of_message(reader, prompt.id)
        await self._say_instead(prompt, prompt.text, files, agent, choice=choice)

    async def clear(self) -> None:
        """`/clear`: add a barrier, so that nothing above goes into prior context; send nothing.

        Raises StillAtWork while a prompt is on its way: what comes of that would not stand below it.
        """
        await self.run_exclusively(self._clear)

    async def _clear(self) -> None:
        async with self._conversation.write() as tx:
            row = await self.rows.add_clear(tx)
        self._conversation.publish(MessageAdded(self.id, row))
        self._conversation.clear_carrier(self.id)

    async def stop(self) -> None:
        """Stop the turn: the agent is asked to, its open questions are answered `cancelled`.

        A prompt that is not out yet is restored to the draft. What waits now then waits for the person; what is said
        from now on does not.
        """
        # Asks for the store before the end of the turn does.
        holding = asyncio.ensure_future(self.queue.hold())
        await self._prompts.stop()
        await holding

    def leave_opening(self) -> bool:
        """Go on in another session than the one whose opening takes long; False if none does."""
        return self._conversation.leave_opening(self.id)

    async def kill_agent(self) -> None:
        """End the agent's process, for a stop that is not heeded; what it said is kept."""
        if claimed := self._prompts.delivery.claimed:
            await claimed.live.agent.stop()

    async def prepare(self) -> None:
        """Open the session of the next prompt if that needs no prior context, to show its commands and modes.

        Trouble is published, not raised; the next prompt tries again.
        """
        if self._conversation.tenure is None or self.busy or self._prompts.preparation.under_way:
            return
        with contextlib.suppress(GivenUp):
            await self.run_before_next_prompt(lambda: _prepare(self._conversation, self.id))

    async def make_ready(self) -> Problem | None:
        """Start the agent of the next prompt and open its session, so far as that needs no fork; nothing is sent.

        Trouble is published, and returned. Raises ReadOnly, StillAtWork, and GivenUp after a stop.
        """
        self._conversation.writable()
        return await self.run_before_next_prompt(lambda: _prepare(self._conversation, self.id, new=True))

    async def run_before_next_prompt(self, work: Callable[[], Awaitable[T]], *, apart: bool = False) -> T:
        """Run work that must finish before the next prompt is sent. With ``apart``, prompts are queued meanwhile.

        Raises StillAtWork, and GivenUp after a stop.
        """
        await self._prompts.preparation.done()
        if self.busy:
            raise StillAtWork
        if apart:
            return await self.run_exclusively(lambda: self._prompts.preparation.run(work))
        return await self._prompts.preparation.run(work)

    async def run_exclusively(
        self, work: Callable[[], Coroutine[Any, Any, T]], *, stop: bool = False, wait: bool = False
    ) -> T:
        """Run work that moves the leaf, to its end; prompts are queued meanwhile.

        A running turn is stopped first (``stop``) or waited for (``wait``); else raises StillAtWork.
        """

        async def moved() -> T:
            await self._prompts.overdue.write()
            return await work()

        return await self._schedule.move(moved, stop=stop, wait=wait)

    async def run_between_turns(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run work between two turns, and not during a login; prompts are queued meanwhile. Raises StillAtWork."""
        if self.in_turn:
            raise StillAtWork
        return await self.run_exclusively(work)

    async def wait_idle(self) -> None:
        """Wait until no prompt is on its way and the queue has come to rest."""
        await self._schedule.sent()

    async def settled(self) -> None:
        """Wait until it is idle and what is done after its turn is done: a probe, a parked fork."""
        await self.wait_idle()
        await self.idle_work.settled()

    async def close(self) -> None:
        """End the turn as interrupted, and record it."""
        await self._prompts.close()

    # --- what the next prompt meets

    async def session_opened(self) -> SessionState:
        """The state of the window's session, once it is open where one is being opened now."""
        await self._prompts.preparation.done()
        await self._conversation.opened(self.id)
        return self.session

    async def set_mode(self, mode: str | Callable[[SessionState], str]) -> None:
        """Switch the session's mode to an id, or to the one that is chosen once no other switch is under way.

        Raises AgentError.
        """
        self._conversation.writable()
        await self.session_opened()
        live = self._conversation.live(self.id)
        async with live.setting:
            mode_id = mode if isinstance(mode, str) else mode(live.state)
            await set_mode(live, mode_id)
            option = option_of_category(live.state, "mode")
            await self._conversation.environment.note_choice(
                self.id, live, option.id if option else MODE, mode_id
            )

    async def set_option(self, option_id: str, value: str | bool) -> None:
        """Set one of the session's options. Raises AgentError."""
        self._conversation.writable()
        await self.session_opened()
        live = self._conversation.live(self.id)
        async with live.setting:
            await set_option(live, option_id, value)
            await self._conversation.environment.note_choice(self.id, live, option_id, value)

    async def set_agent(self, spec: AgentSpec) -> None:
        """Go on with another agent from the next prompt on."""
        async with self._conversation.write() as tx:
            await journal.change_agent(
                tx,
                window_id=self.id,
                conversation_id=self._conversation.id,
                agent=spec.name,
                profile=spec.profile,
            )
        self.leaf.switch_agent(spec)

    # --- switching branches

    async def go_to(
        self, leaf_id: str | None, act: Act = Act.GO_TO, *, choice: FileChoice | None = None
    ) -> FilesMoved | None:
        """Move the leaf to another row, None for the beginning; also in a conversation that can only be read.

        By ``choice`` the files come along, and those are returned. Raises StillAtWork while the turn runs, AgentError
        for a row of another conversation.
        """
        return await self.run_exclusively(lambda: self.leaf.move_leaf(leaf_id, act, choice))

    async def bring_files(self, choice: FileChoice) -> FilesMoved | None:
        """Bring the files to the row of the window, as a part of the act that took it there without them.

        None if there is nothing to bring. Raises StillAtWork while the turn runs, FilesNotKept, StoreError.
        """
        return await self.run_exclusively(lambda: self.files.follow(self.id, choice))

    async def restore_files(self, plan: RestorePlan) -> FilesMoved:
        """Restore the files of a plan that is about them alone. Raises StillAtWork while the turn runs, StoreError."""
        return await self.run_exclusively(lambda: self.files.restore(self.id, plan))

    async def end_cut(self, cut: CutRestore, *, finished: bool) -> list[RestoreStep] | None:
        """Finish a change of files that was cut off, or take it back; the steps that somebody is in the way of.

        None where another process ended it. Raises StillAtWork while the turn runs, StoreError.
        """
        return await self.run_exclusively(lambda: self.files.end_cut(cut, finished=finished))

    async def to_sibling(self, prompt_id: str, step: int) -> bool:
        """Go to the sibling of a prompt that is ``step`` further, where the window last stood in it.

        Else to where it was written last. False if there is no such sibling. Raises StillAtWork.
        """
        leaf_id = await self.leaf.sibling_leaf(prompt_id, step)
        if leaf_id is None:
            return False
        await self.go_to(leaf_id, Act.SIBLING)
        return True

    async def rewind(self, message_id: str | None, *, choice: FileChoice | None = None) -> FilesMoved | None:
        """Go back to a row; a running turn is stopped first, and queued prompts are then held for the person.

        Later messages can still be reached. By ``choice`` the files go back, too, and are returned.
        """
        ran = self.busy

        async def back() -> FilesMoved | None:
            moved = await self.leaf.move_leaf(message_id, Act.REWIND, choice)
            if ran:
                await self.queue.hold()
            return moved

        return await self.run_exclusively(back, stop=True)

    # --- the queue

    async def send_queued(self) -> None:
        """Let the queue go on after an error or a stop held it."""
        await self.queue.release()
        self._prompts.serve()

    async def send_now(self, item_id: str) -> bool:
        """Send a waiting prompt before all others: into the running turn where the agent offers that (True).

        Else the turn is stopped and the prompt goes next. Raises NotFound.
        """
        item = await self.queue.get(item_id)
        running, agents = self._prompts.delivery.running, self._conversation.agents
        if running and agents.serves(running.live.agent) and can_be_steered(running, item.text):
            if await self._prompts.delivery.steering.say_into(running, item_id):
                return True
        else:
            await self.queue.put_first(item_id)
            # Its turn may have ended meanwhile, and this one be on its way.
            if running and running is self._prompts.delivery.running and may_stop_for(running, item.text):
                await self._prompts.stop()
        self._prompts.serve()
        return False

    async def _say_instead(
        self,
        prompt: Message,
        text: str,
        files: Sequence[Attachment],
        agent: AgentSpec | None,
        kept_as: str | None = None,
        choice: FileChoice | None = None,
    ) -> None:
        async def birth() -> Birth:
            # What the turn before still tells belongs to the branch that is left.
            await self._conversation.settle()
            return await self.rows.add_sibling(prompt, text, files, agent, kept_as, choice)

        if not clears(text):
            await self._prompts.say(birth, text, files, stop=True)
            return
        _, event = await self.run_exclusively(birth, stop=True)
        self._conversation.publish(event)
        self._conversation.clear_carrier(self.id)
        self._conversation.publish(TurnEnded(self.id, None, None))

    async def _prompt_of(self, prompt_id: str) -> Message:
        async with self._conversation.services.db.read() as reader:
            return await prompt_of(reader, self._conversation.record, prompt_id)


async def _prepare(conversation: LiveConversation, window_id: str, *, new: bool = False) -> Problem | None:
    """Open a window's next session and show what it offers. Trouble is published and returned, not raised.

    ``new``: open a new session also where the next prompt will have to bring prior context along.
    """
    agent = None
    problem: Problem | None = None
    # Another one may be chosen meanwhile.
    while agent != (
        conversation.record.agent,
        conversation.record.profile,
    ):
        agent = conversation.record.agent, conversation.record.profile
        problem = await _prepared(conversation, window_id, agent, new=new)
    if problem is not None:
        conversation.publish(Troubled(window_id, problem))
    return problem


async def _prepared(
    conversation: LiveConversation, window_id: str, agent: tuple[str, str], *, new: bool
) -> Problem | None:
    """The trouble there was, if any; nothing comes of it where another agent was chosen meanwhile."""
    try:
        preparing = _SessionPreparation(conversation.send_context(), window_id, new=new)
        live = await preparing.open()
        stands = await preparing.still_stands()
        if live and stands and agent == (conversation.record.agent, conversation.record.profile):
            conversation.set_carrier(window_id, live)
    except AgentError as error:
        if isinstance(error, AgentGone) and error.ended_here and not conversation.closing:
            # Somebody logged in or out of its account meanwhile, or the directory changed: another one takes its place.
            return await _prepared(conversation, window_id, agent, new=new)
        now = conversation.services.clock()
        return problem_of(conversation.agent_title, error, now=now, prompt=False)
    except StoreError as error:
        return Problem(Trouble.STORE, str(error))
    return None


class _SessionPreparation:
    """Gets a window's next session ready: its commands, modes and models can then be shown."""

    def __init__(self, context: SendContext, window_id: str, *, new: bool = False) -> None:
        """``new``: open a new session also where it needs prior context."""
        self._context = context
        self._new = new
        self._window_id = window_id
        self._leaf_id: str | None = None

    async def still_stands(self) -> bool:
        """True if the window was not moved since the session was looked for."""
        async with self._context.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
        return window is not None and window.leaf_id == self._leaf_id

    async def open(self) -> LiveSession | None:
        """The session that the next prompt would go to, opened; None if that would need a fork, or else prior context.

        Raises AgentError.
        """
        context = self._context
        async with context.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
        self._leaf_id = leaf_id = window.leaf_id if window else None
        await context.host.environment.remark_changes(self._window_id, leaf_id, context.record.cwd)
        live = await self._opened(leaf_id)
        if live and live.opened is not ContextSource.CONTINUED:
            await context.host.environment.apply_settings(live, leaf_id, self._window_id)
        return live

    async def _opened(self, leaf_id: str | None) -> LiveSession | None:
        context = self._context
        agent = await context.agent(self._window_id)
        await context.sessions.settle_unattended(agent)
        async with context.services.db.read() as reader:
            situation = await context.situation(reader, agent, self._window_id, leaf_id)
        match route.candidates(situation)[0]:
            case route.Use(link):
                if live := await context.open_session_of(link):
                    return live
                if agent.abilities.quirks.load_destroys:
                    return None
                context.host.set_doing(self._window_id, Doing.OPENING)
                try:
                    place = context.place_for(self._window_id)
                    opening = context.sessions.open_cold(link, agent, place, context.host)
                    return await context.services.opening_wait.bound(opening)
                except SessionGone as error:
                    await context.lose(link, str(error), self._window_id)
                    return None
            case route.New() if self._new or situation.path.content_after(None) == 0:
                context.host.set_doing(self._window_id, Doing.OPENING)
                return await context.open_new(agent, self._window_id)
            case _:
                return None

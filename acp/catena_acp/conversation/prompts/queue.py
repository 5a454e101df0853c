"""The prompts of one window that wait, each with what was in force when it was typed, and how one steers a turn.

What may have been heard is never said again, and what was not heard is never lost. So a prompt that steers is marked
before it goes out; it leaves the queue only with the row that it becomes; and where nobody can tell whether the agent
heard it, it counts as heard and says so. A crash in between is put right when the conversation is taken up
(`steered_rows`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from catena_acp.continuity.conversation_events import (
    Problem,
    PromptReturned,
    QueueChanged,
    SessionState,
    Troubled,
)
from catena_acp.continuity.sending.prompt_blocks import prompt_blocks
from catena_acp.continuity.services import Tenure
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.sessions.settings import set_mode_and_model
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.rows import PromptRows, clears
from catena_acp.conversation.recovery.recovery import row_data, settle
from catena_acp.errors import AgentError, AgentRefused, ReadOnly
from catena_acp.tasks import TaskSet, outlived, shielded, with_retries
from catena_acp.trouble.troubles import Trouble
from catena_store.database.database import Writer
from catena_store.errors import NotFound, StoreError
from catena_store.records import Attachment, Message, QueueItem
from catena_store.windows import attachments, inputs, queue, windows


@dataclass(frozen=True, slots=True)
class TakenPrompt:
    """A prompt whose turn it is: the row that it became, and what it was as it waited."""

    row: Message
    item: QueueItem


class PromptQueue:
    """The waiting prompts of a window, in order; publishes every change."""

    def __init__(self, conversation: LiveConversation, window_id: str, rows: PromptRows) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._rows = rows
        self.unserved = False  # something came since it was last looked at

    async def add(self, text: str, files: Sequence[Attachment]) -> None:
        """Put a prompt at the end, as it was typed."""
        session = self._conversation.session(self._window_id)
        typed_in = {"cwd": self._conversation.record.cwd, "model": session.model, "mode": session.mode}
        data: dict[str, object] = {name: value for name, value in typed_in.items() if value}
        if files:
            data["attachments"] = [each.described() for each in files]
        item_id = self._conversation.services.new_id()
        try:
            async with self._conversation.write() as tx:
                await inputs.add(tx, text, self._conversation.record.cwd)
                await windows.set_draft(tx, self._window_id, "")
                await attachments.set_draft(tx, self._window_id, ())
                await queue.add(tx, id=item_id, window_id=self._window_id, text=text, data=data)
                await attachments.add_to_queue_item(tx, item_id, files)
        except asyncio.CancelledError:
            # Cancelled during its commit, it waits all the same: whoever restored it now would have it twice.
            if not await shielded(self._is_stored(item_id)):
                raise
        self.unserved = True
        await self.publish()

    async def _is_stored(self, item_id: str) -> bool:
        async with self._conversation.services.db.read() as reader:
            return await queue.get(reader, item_id) is not None

    async def keep_edit(self, prompt_id: str, text: str, files: Sequence[Attachment]) -> str:
        """Keep an edited prompt while a turn is stopped for it; a client that comes after us restores it."""
        item_id = self._conversation.services.new_id()
        async with self._conversation.write() as tx:
            data = {"edits": prompt_id}
            await queue.add(tx, id=item_id, window_id=self._window_id, text=text, data=data)
            await attachments.add_to_queue_item(tx, item_id, files)
        return item_id

    async def forget_edit(self, item_id: str) -> None:
        """Forget an edited prompt that has a row now, or is its editor's again."""
        # Not forgotten now, it is restored to the draft by the next client.
        with contextlib.suppress(StoreError, ReadOnly, NotFound):
            async with self._conversation.write() as tx:
                await queue.remove(tx, item_id)

    async def take_next(self, tenure: Tenure, make_way: Callable[[], Awaitable[None]]) -> TakenPrompt | None:
        """Make a row of the first one; None if there is none, or it waits for the person.

        ``make_way`` is called before that where one may go out, and raises what keeps it back.
        """
        self.unserved = False
        async with self._conversation.services.db.read() as reader:
            if await queue.first(reader, self._window_id) is None:
                return None
        await make_way()
        async with tenure.write() as tx:
            item = await queue.first(tx, self._window_id)
            if item is None:
                return None
            files = await attachments.of_queue_item(tx, item.id)
            await queue.remove(tx, item.id)
            row = await self._rows.add(tx, item.text, files)
        await self.publish()
        return TakenPrompt(row, item)

    async def remove(self, item_id: str) -> None:
        """Take one out for good; its text stays among what was typed. Raises NotFound."""
        async with self._conversation.write() as tx:
            await self._own(tx, item_id)
            await queue.remove(tx, item_id)
        await self.publish()

    async def restore(self, item_id: str) -> None:
        """Restore one to the draft, to be changed: text and files stand before what is there. Raises NotFound."""
        async with self._conversation.write() as tx:
            item = await self._own(tx, item_id)
            files = await attachments.of_queue_item(tx, item_id)
            window = await windows.get(tx, self._window_id)
            draft = window.draft if window else ""
            kept = await attachments.of_draft(tx, self._window_id)
            await windows.set_draft(
                tx, self._window_id, f"{item.text}\n{draft}" if draft.strip() else item.text
            )
            await attachments.set_draft(tx, self._window_id, [*files, *kept])
            await queue.remove(tx, item_id)
        # Before anything else is waited for: whoever listens must not save a draft without it.
        self._conversation.publish(PromptReturned(self._window_id, item.text, tuple(files)))
        await self.publish()

    async def move(self, item_id: str, position: int) -> None:
        """Give one another place, counted from 0. Raises NotFound."""
        async with self._conversation.write() as tx:
            await self._own(tx, item_id)
            await queue.reorder(tx, item_id, position)
        await self.publish()

    async def move_by(self, item_id: str, step: int) -> None:
        """Move one by some places from where it stands by then: keys come faster than news. Raises NotFound."""
        async with self._conversation.write() as tx:
            await self._own(tx, item_id)
            order = [item.id for item in await queue.items(tx, self._window_id)]
            await queue.reorder(tx, item_id, order.index(item_id) + step)
        await self.publish()

    async def put_first(self, item_id: str) -> QueueItem:
        """Let one go next, whether it waited for the person or not. Raises NotFound."""
        async with self._conversation.write() as tx:
            item = await self._own(tx, item_id)
            await queue.move_to_front(tx, item_id)
        self.unserved = True
        await self.publish()
        return item

    async def get(self, item_id: str) -> QueueItem:
        """One that waits. Raises NotFound."""
        async with self._conversation.services.db.read() as reader:
            item = await queue.get(reader, item_id)
        if item is None or item.window_id != self._window_id or not item.waits:
            raise NotFound("queued prompt", item_id)
        return item

    async def release(self) -> None:
        """Let all go on that an error or a stop held."""
        async with self._conversation.write() as tx:
            await queue.release(tx, self._window_id)
        self.unserved = True
        await self.publish()

    async def hold(self) -> None:
        """Let all wait for the person; what does not work is not told: a stop, or something that went wrong, is."""
        if self._conversation.closing or self._conversation.tenure is None:
            return
        unserved, self.unserved = self.unserved, False  # what is held needs no look
        try:
            async with self._conversation.tenure.write() as tx:
                await queue.hold(tx, self._window_id)
        except StoreError:
            self.unserved = unserved
        else:
            await self.publish()

    async def publish(self) -> None:
        """Publish the prompts that wait; one on its way into the running turn or to another branch does not count.

        If they cannot be read, they are published with the next change: the change itself is in the store, and stays.
        """
        try:
            async with self._conversation.services.db.read() as reader:
                items = await queue.items(reader, self._window_id)
        except StoreError:
            return
        self._conversation.publish(QueueChanged(self._window_id, tuple(each for each in items if each.waits)))

    async def _own(self, tx: Writer, item_id: str) -> QueueItem:
        item = await queue.get(tx, item_id)
        if item is None or item.window_id != self._window_id or not item.waits:
            raise NotFound("queued prompt", item_id)
        return item


class QueuedSettings:
    """Puts a window's session into the mode and model of waiting prompts, and back when none waits any more.

    Whatever the person or the agent switches meanwhile is theirs and is left alone: mode and model are two requests,
    and what the person chooses between them comes behind both.
    """

    def __init__(self, conversation: LiveConversation, window_id: str) -> None:
        self._conversation = conversation
        self._window_id = window_id
        # Link, mode, model that the person chose.
        self._before: tuple[str, str | None, str | None] | None = None
        self._ours: tuple[str | None, str | None] | None = None  # what we put in force instead

    async def apply(self, live: LiveSession, item: QueueItem) -> None:
        """Put the session into what the prompt was typed in; a failure is published, and the prompt goes out."""
        async with live.setting:
            await self._apply(live, item)

    async def _apply(self, live: LiveSession, item: QueueItem) -> None:
        state = live.state
        if (
            self._ours is None
            or self._before is None
            or self._before[0] != live.link_id
            or (_in_force(state) != self._ours)
        ):
            self._before = (live.link_id, state.mode, state.model)
        why = await self._set(live, item.mode, item.model)
        self._ours = _in_force(live.state)
        missing = _not_in_force(live.state, item.mode, item.model)
        if missing:
            because = f": {why}" if why else " no longer offers that"
            self._conversation.publish(
                Troubled(
                    self._window_id,
                    Problem(
                        Trouble.REFUSED,
                        f"A queued prompt was written for {' and '.join(missing)}, but {state.agent_title}"
                        f"{' did not accept that' if why else ''}{because}. It is sent with the current settings.",
                    ),
                )
            )

    async def switch_back(self) -> None:
        """Switch back to what the person chose, unless that was switched since: the queue has come to rest."""
        before, ours, self._before, self._ours = self._before, self._ours, None, None
        live = self._conversation.sessions.by_link(before[0]) if before else None
        if before is None or live is None:
            return
        async with live.setting:
            if not live.agent.alive or _in_force(live.state) != ours:
                return
            why = await self._set(live, before[1], before[2])
            # The turn before tells what the waiting prompt was typed in; this is what comes back after a restart.
            await self._conversation.environment.note_in_force(self._window_id, live)
        if why:
            text = f"{live.state.agent_title} did not switch back to the earlier mode and model: {why}."
            self._conversation.publish(Troubled(self._window_id, Problem(Trouble.REFUSED, text)))

    async def _set(self, live: LiveSession, mode: str | None, model: str | None) -> str | None:
        try:
            await set_mode_and_model(live, mode, model)
        except AgentError as error:
            return str(error)
        return None


def _in_force(state: SessionState) -> tuple[str | None, str | None]:
    return state.mode, state.model


def _not_in_force(state: SessionState, mode: str | None, model: str | None) -> list[str]:
    names = []
    if mode and mode != state.mode:
        known = next((choice.name for choice in state.modes if choice.id == mode), mode)
        names.append(f"the mode “{known}”")
    if model and model != state.model:
        names.append(f"the model “{model}”")
    return names


_PATIENCE_SECONDS = 10.0  # that an agent may take to say what came of it


def can_be_steered(running: RunningTurn, text: str) -> bool:
    """True if the agent takes this text into this turn: no command, of ours or its own, is one within a turn."""
    if running.stopping or not running.live.agent.abilities.steering or clears(text):
        return False
    return not _is_command(running, text)


def may_stop_for(running: RunningTurn, text: str) -> bool:
    """Whether the turn may be stopped to send this text.

    Not for a slash command of an agent that cannot take one together with prior context.
    """
    keeps = running.live.agent.abilities.quirks.command_keeps_with_prior_context
    return keeps or not _is_command(running, text)


def _is_command(running: RunningTurn, text: str) -> bool:
    commands = {command.name for command in running.live.state.commands or ()}
    return text.startswith("/") and text[1:].partition(" ")[0] in commands


class Steering:
    """The prompts of one window that are on their way into its running turn."""

    def __init__(self, conversation: LiveConversation, window_id: str, queue: PromptQueue) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._queue = queue
        self._under_way = TaskSet()
        self.elsewhere = False  # the agent answers one of them in a turn that we do not run

    async def say_into(self, running: RunningTurn, item_id: str) -> bool:
        """Say a waiting prompt into the turn; False if it was not taken and goes next instead. Raises NotFound."""
        item = await self._queue.get(item_id)
        if running.over:
            return await self._not_taken(item, None)
        running.spoken_into = True
        task = self._under_way.begin(self._say_into(running, item))
        task.add_done_callback(lambda _: running.go_on())
        return await outlived(task)

    async def settled(self) -> None:
        """Wait until it is known what came of each; a turn does not end before."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    async def give_up(self) -> None:
        """Wait no longer: what is under way counts as received."""
        for task in list(self._under_way):
            task.cancel()
        await self.settled()

    async def _say_into(self, running: RunningTurn, item: QueueItem) -> bool:
        live = running.live
        mark = {"turn": running.turn.id, "link": live.link_id, "row": self._conversation.services.new_id()}
        async with self._conversation.write() as tx:
            await queue.set_data(tx, item.id, {**item.data, "steering": mark})
            files = await attachments.of_queue_item(tx, item.id)
        await self._queue.publish()
        blocks = prompt_blocks(item.text, files, live.agent.abilities)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                outcome = await live.agent.steer(live.session_id, blocks)
                running.hold_place()
        except AgentRefused as refused:
            return await self._not_taken(item, str(refused))
        except (AgentError, TimeoutError):
            return await self._heard(running, item, mark["row"], doubtful=True)
        except asyncio.CancelledError:
            return await shielded(self._heard(running, item, mark["row"], doubtful=True))
        match outcome:
            case "injected":
                return await self._heard(running, item, mark["row"])
            case "startedNewTurn":
                self.elsewhere = True
                self._say("answers it in a separate turn. The other queued prompts wait until you send them.")
                return await self._heard(running, item, mark["row"])
            case "promptRequired":
                return await self._not_taken(item, None)
            case "failed":
                return await self._not_taken(item, "it reported a failure")
            case _:
                return await self._heard(running, item, mark["row"], doubtful=True)

    async def _heard(
        self, running: RunningTurn, item: QueueItem, row_id: str, *, doubtful: bool = False
    ) -> bool:
        """It is a row of the turn from now on, at the place where it was said."""
        # Told by the turn's end; the mark puts it right at the next start.
        with contextlib.suppress(StoreError):
            await shielded(running.interject(row_id, item.text, row_data(item, doubtful=doubtful)))
            await shielded(with_retries(lambda: self._leaves_the_queue(item, row_id)))
            await self._queue.publish()
        return True

    async def _leaves_the_queue(self, item: QueueItem, row_id: str) -> None:
        async with self._conversation.write() as tx:
            await settle(tx, item, row_id)

    async def _not_taken(self, item: QueueItem, why: str | None) -> bool:
        """It goes out as the next prompt; where the turn is over already, at once."""
        async with self._conversation.write() as tx:
            await queue.set_data(tx, item.id, item.data)
            await queue.move_to_front(tx, item.id)
        self._queue.unserved = True
        await self._queue.publish()
        if why:
            self._say(f"did not accept it during the turn ({why}); it is sent when the turn ends.")
        return False

    def _say(self, text: str) -> None:
        problem = Problem(
            Trouble.REFUSED, f"{self._conversation.session(self._window_id).agent_title} {text}"
        )
        self._conversation.publish(Troubled(self._window_id, problem))

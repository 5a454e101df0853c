"""Steering: a waiting prompt is sent to the running turn, if the agent offers that.

What may have been heard is never said again, and what was not heard is never lost. So the prompt is marked before it
goes out; it leaves the queue only with the row that it becomes; and where nobody can tell whether the agent heard it,
it counts as heard and says so. A crash in between is put right when the conversation is taken up (`steered_rows`).
"""

from __future__ import annotations

import asyncio
import contextlib

from catena_acp.continuity.cancellation import outlived, shielded, with_retries
from catena_acp.continuity.conversation_events import Problem, Troubled
from catena_acp.continuity.sending.prompt_blocks import prompt_blocks
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.queue import PromptQueue
from catena_acp.conversation.prompts.rows import clears
from catena_acp.conversation.recovery.recovery import row_data, settle
from catena_acp.errors import AgentError, AgentRefused
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import StoreError
from catena_store.records import QueueItem
from catena_store.windows import attachments, queue

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
        self._under_way: set[asyncio.Task[bool]] = set()
        self.elsewhere = False  # the agent answers one of them in a turn that we do not run

    async def say_into(self, running: RunningTurn, item_id: str) -> bool:
        """Say a waiting prompt into the turn; False if it was not taken and goes next instead. Raises NotFound."""
        item = await self._queue.get(item_id)
        if running.over:
            return await self._not_taken(item, None)
        running.spoken_into = True
        task = asyncio.ensure_future(self._say_into(running, item))
        task.add_done_callback(lambda _: running.go_on())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
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

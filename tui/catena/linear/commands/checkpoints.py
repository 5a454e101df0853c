"""Checkpoints: saved, named, listed, and the way back to one."""

from __future__ import annotations

from functools import partial

from catena.acts.surface import Refused
from catena.linear.commands.branches import BranchCommands
from catena.linear.commands.files import UNCHANGED, choose_files
from catena.linear.commands.prompts import numbered_message
from catena.linear.context import LinearContext, ListRow
from catena.text.checkpoint_text import (
    FREQUENCY_CHOICES,
    FREQUENCY_SENTENCES,
    checkpoint_facts,
    checkpoint_name,
    checkpoint_place,
)
from catena.text.formats import time_or_day
from catena.workspace.files_along import moved_words
from catena_acp.snapshots.restoring import FilesMoved
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.ids import utc_now

_STAYED = "Later messages are kept; /undo goes back."


class CheckpointCommands:
    """Actions on the checkpoints of the tab that is read."""

    def __init__(self, context: LinearContext, branches: BranchCommands) -> None:
        self._context = context
        self._branches = branches

    async def list(self, argument: str) -> None:
        """List the checkpoints, of which `/open` goes back to one; with an argument, set how often they are saved."""
        context, checkpoints = self._context, self._context.here.conversation.checkpoints
        if argument:
            try:
                frequency = Frequency(argument.strip().lower())
            except ValueError as error:
                raise Refused(f"How often: {FREQUENCY_CHOICES}.") from error
            await checkpoints.set_frequency(frequency)
            context.say(FREQUENCY_SENTENCES[frequency])
            return
        listed = await checkpoints.listed()
        if not listed:
            raise Refused("No checkpoints yet; /checkpoint LABEL saves one.")
        context.show(
            "Checkpoints, newest first: /open and a number goes back there.",
            [
                ListRow(
                    ", ".join(
                        filter(
                            None,
                            (
                                checkpoint_name(each.checkpoint),
                                checkpoint_place(each),
                                time_or_day(each.checkpoint.created_at, utc_now())
                                if each.checkpoint.label
                                else "",  # it is called by its time
                                *checkpoint_facts(each.checkpoint),
                            ),
                        )
                    ),
                    partial(self._rewind, each.checkpoint),
                )
                for each in listed
            ],
        )

    async def rewind(self, argument: str) -> None:
        """Go back to a message by its number, or to a checkpoint: the newest, or by its label or id."""
        context, tab = self._context, self._context.here
        if argument.isdecimal() and context.numbers.id_of(int(argument)):
            message = await numbered_message(context, argument)

            await self._back_to(message.id, argument, point=await tab.window.leaf.fork_point(message.id))
            return
        await self._rewind(await tab.conversation.checkpoints.find(argument or None))

    async def _rewind(self, checkpoint: Checkpoint) -> None:
        message_id = checkpoint.message_id
        if message_id == self._context.here.leaf_id:
            self._context.say(f"You are already at {checkpoint_name(checkpoint)}.")
        else:
            await self._back_to(message_id, checkpoint_name(checkpoint), point=message_id)

    async def _back_to(self, message_id: str | None, named: str, *, point: str | None) -> None:
        """Go back to a message, with the files of its ``point`` if the person wants that."""
        context, tab = self._context, self._context.here
        choice = await choose_files(context, tab, point)
        moved: FilesMoved | None = None

        async def go() -> bool:
            nonlocal moved
            moved = await tab.window.rewind(message_id, choice=choice)
            return True

        await self._branches.move(tab, go)
        price = (await tab.conversation.chain.price(tab.window)).words
        context.say(
            f"Back at {named}. Your next prompt: {price}. {moved_words(moved) or UNCHANGED} {_STAYED}"
        )

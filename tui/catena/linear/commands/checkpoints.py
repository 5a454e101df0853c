"""Checkpoints: saved, named, listed, and the way back to one."""

from __future__ import annotations

from functools import partial

from catena.linear.commands.branches import BranchCommands
from catena.linear.commands.files import choose_files
from catena.linear.commands.prompts import numbered_message
from catena.linear.context import LinearContext, ListRow, Refused
from catena.text.checkpoint_text import (
    FREQUENCY_CHOICES,
    FREQUENCY_SENTENCES,
    checkpoint_facts,
    checkpoint_name,
    checkpoint_place,
)
from catena.text.formats import time_or_day
from catena_acp.snapshots.restoring import FileChoice
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.ids import utc_now

_STAYED = "Later messages are kept; /undo goes back."


class CheckpointCommands:
    """Actions on the checkpoints of the tab that is read."""

    def __init__(self, context: LinearContext, branches: BranchCommands) -> None:
        self._context = context
        self._branches = branches

    async def make(self, argument: str) -> None:
        """Save a checkpoint here, with a label or without."""
        tab = self._context.here
        made = await tab.conversation.checkpoints.make(tab.window, argument or None)
        known = f"“{made.label}”" if made.label else "without a label"
        self._context.say(f"Saved checkpoint {known}: /rewind {made.label or made.id[:6]} returns here.")

    async def label(self, argument: str) -> None:
        """Name the newest checkpoint."""
        kept = await self._context.here.conversation.checkpoints.name(argument or None)
        self._context.say(f"Newest checkpoint renamed to {checkpoint_name(kept)}.")

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
                                checkpoint_facts(each.checkpoint).replace(" · ", ", "),
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

            choice = await choose_files(context, tab, await tab.window.leaf.fork_point(message.id))

            async def go() -> bool:
                await tab.window.rewind(message.id, choice=choice)
                return True

            await self._branches.move(tab, go)
            price = (await tab.conversation.chain.price(tab.window)).words
            context.say(f"Back at {argument}. Your next prompt: {price}. {_files(choice)}{_STAYED}")
            return
        await self._rewind(await tab.conversation.checkpoints.find(argument or None))

    async def _rewind(self, checkpoint: Checkpoint) -> None:
        context, tab = self._context, self._context.here
        if checkpoint.message_id == tab.leaf_id:
            context.say(f"You are already at {checkpoint_name(checkpoint)}.")
            return

        choice = await choose_files(context, tab, checkpoint.message_id)

        async def go() -> bool:
            await tab.conversation.checkpoints.rewind(tab.window, checkpoint.id, choice=choice)
            return True

        await self._branches.move(tab, go)
        price = (await tab.conversation.chain.price(tab.window)).words
        context.say(
            f"Back at {checkpoint_name(checkpoint)}. Your next prompt: {price}. {_files(choice)}{_STAYED}"
        )


def _files(choice: FileChoice | None) -> str:
    return "Files are unchanged. " if choice is None else ""

"""Checkpoints: make, label, list and rewind to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catena.screens.chat.actions.branching.branches import BranchActions
from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.context import ChatContext
from catena.text.checkpoint_text import FREQUENCY_CHOICES, FREQUENCY_SENTENCES, checkpoint_name
from catena.workspace.files_along import moved_words
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.tab import Tab
from catena_acp.snapshots.restoring import FileChoice, FilesMoved, RestorePlan
from catena_store.conversations.checkpoints import Checkpoint, Frequency

_STAYED = "Later messages are kept; /undo goes back."
_FILES_UNCHANGED = "Files are unchanged. "
_NOTHING_BEFORE = "Nothing to fork before that checkpoint."


class CheckpointActions:
    """Actions on the checkpoints of the active tab."""

    def __init__(
        self,
        context: ChatContext,
        branches: BranchActions,
        along: AlongActions,
        act: Callable[..., Awaitable[None]],
    ) -> None:
        self._act = act
        self._context = context
        self._along = along
        self._branches = branches

    async def checkpoints(self, argument: str = "") -> None:
        """List the checkpoints; with an argument, set how often they are made here."""
        tab = self._context.tab
        if tab is None:
            return
        if argument:
            await self._set_frequency(tab, argument)
            return
        from catena.screens.checkpoints.screen import CheckpointAct, CheckpointsScreen

        async def show(plan: RestorePlan) -> None:
            await self._along.show_plan(tab, plan)

        screen = CheckpointsScreen(
            tab.conversation,
            tab.window,
            along=self._along.along,
            show_files=lambda plan: self._context.run(show(plan)),
            subject=self._context.subject,
        )
        choice = await self._context.app.push_screen_wait(screen)
        if choice is None:
            return
        match choice.act:
            case CheckpointAct.REWIND:
                way = self._context.drafts.set_out(tab)
                await self._rewind(tab, choice.checkpoint, way, choice.files)
            case CheckpointAct.FORK | CheckpointAct.FORK_BESIDE:
                beside = choice.act is CheckpointAct.FORK_BESIDE
                await self._fork(tab, choice.checkpoint, beside=beside)

    def rewind(self, argument: str = "") -> Awaitable[None]:
        """Rewind to the checkpoint of this label or id; without one, to the newest."""
        return self._rewind_named(argument, self._context.drafts.set_out(self._context.tab))

    async def _rewind_named(self, argument: str, way: UnplacedDraft) -> None:
        with self._context.drafts.under_way(way):
            if tab := self._context.tab:
                checkpoint = await tab.conversation.checkpoints.find(argument or None)
                await self._rewind(tab, checkpoint, way, self._along.along().choice)

    async def _rewind(
        self, tab: Tab, checkpoint: Checkpoint, way: UnplacedDraft, files: FileChoice | None = None
    ) -> None:
        if checkpoint.message_id == tab.leaf_id:
            with self._context.drafts.under_way(way):
                self._context.say(f"You are already at {checkpoint_name(checkpoint)}.")
            return

        moved: FilesMoved | None = None

        async def go() -> bool:
            nonlocal moved
            moved = await tab.window.rewind(checkpoint.message_id, choice=files)
            return True

        await self._branches.elsewhere(tab, go, way)
        price = await tab.conversation.chain.price(tab.window)
        self._context.say(
            f"Back at {checkpoint_name(checkpoint)}. Your next prompt: {price.words}."
            f" {f'{words} ' if (words := moved_words(moved)) else _FILES_UNCHANGED}{_STAYED}"
        )

    async def _fork(self, tab: Tab, checkpoint: Checkpoint, *, beside: bool) -> None:
        if checkpoint.message_id is None:
            self._context.say(_NOTHING_BEFORE)
        else:  # a turn that runs goes on in its tab
            at, beside = checkpoint.message_id, beside or tab.at_work
            await self._act("catena.acts.branches:fork_at", message_id=at, beside=beside)

    async def _set_frequency(self, tab: Tab, argument: str) -> None:
        try:
            frequency = Frequency(argument.strip().lower())
        except ValueError:
            self._context.say(f"How often: {FREQUENCY_CHOICES}.", wrong=True)
            return
        await tab.conversation.checkpoints.set_frequency(frequency)
        self._context.say(FREQUENCY_SENTENCES[frequency])

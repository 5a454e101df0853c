"""Checkpoints: make, label, list and rewind to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.context import ChatContext
from catena.workspace.tab import Tab
from catena_acp.snapshots.restoring import RestorePlan
from catena_store.conversations.checkpoints import Checkpoint

_NOTHING_BEFORE = "Nothing to fork before that checkpoint."


class CheckpointActions:
    """Actions on the checkpoints of the active tab."""

    def __init__(
        self,
        context: ChatContext,
        along: AlongActions,
        act: Callable[..., Awaitable[None]],
    ) -> None:
        self._act = act
        self._context = context
        self._along = along

    async def show(self) -> None:
        """Show the checkpoints, and do what is chosen there."""
        tab = self._context.tab
        if tab is None:
            return
        from catena.screens.checkpoints.screen import CheckpointAct, CheckpointsScreen

        async def show_files(plan: RestorePlan) -> None:
            await self._along.show_plan(tab, plan)

        screen = CheckpointsScreen(
            tab.conversation,
            tab.window,
            along=self._along.along,
            show_files=lambda plan: self._context.run(show_files(plan)),
            subject=self._context.subject,
        )
        choice = await self._context.app.push_screen_wait(screen)
        if choice is None:
            return
        match choice.act:
            case CheckpointAct.REWIND:
                made, files = choice.checkpoint, choice.files
                await self._act("catena.acts.branches:rewind_to", checkpoint=made, files=files, chosen=True)
            case CheckpointAct.FORK | CheckpointAct.FORK_BESIDE:
                beside = choice.act is CheckpointAct.FORK_BESIDE
                await self._fork(tab, choice.checkpoint, beside=beside)

    async def _fork(self, tab: Tab, checkpoint: Checkpoint, *, beside: bool) -> None:
        if checkpoint.message_id is None:
            self._context.say(_NOTHING_BEFORE)
        else:  # a turn that runs goes on in its tab
            at, beside = checkpoint.message_id, beside or tab.at_work
            await self._act("catena.acts.branches:fork_at", message_id=at, beside=beside)

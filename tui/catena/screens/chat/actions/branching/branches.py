"""Branches: forks, the siblings of a prompt, the way between a fork and its source; and checkpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catena.screens.chat.actions.branching.editing import EditActions
from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.context import ChatContext
from catena.workspace.tab import Tab
from catena_acp.snapshots.restoring import RestorePlan
from catena_store.conversations.checkpoints import Checkpoint
from catena_store.records import Message

RETRY = "catena.acts.prompts:retry"
FORK = "catena.acts.branches:fork"


class BranchActions:
    """Actions on the branch of the active tab."""

    def __init__(
        self,
        context: ChatContext,
        edits: EditActions,
        act: Callable[..., Awaitable[None]],
    ) -> None:
        self._context = context
        self._edits = edits
        self._act = act

    def clicked(self, message_id: str, act: str) -> None:
        """Do what a button of a prompt says."""
        tab, prompt = self._context.seen, self._context.parts.transcript.record(message_id)
        if tab is None or prompt is None:
            return
        match act:
            case "edit":
                self._context.run(self._edits.edit_prompt(tab, prompt))
            case "retry":
                self._context.run(self._context.gate.led(self._act(RETRY, at=message_id, agent="")))
            case "fork":
                self._context.run(self._context.gate.led(self._act(FORK, at=message_id, wish="")))

    # --- from branch to branch

    async def sibling_before(self) -> None:
        """Go to the sibling before the browsed prompt."""
        await self._step_aside(-1)

    async def sibling_after(self) -> None:
        """Go to the sibling after the browsed prompt."""
        await self._step_aside(1)

    async def _step_aside(self, step: int) -> None:
        tab = self._context.seen
        transcript, here = self._context.parts.transcript, self._edits.here()
        prompt = transcript.prompt_above(here, with_siblings=True)
        if tab is not None and prompt is None:  # else what is typed meanwhile goes along at once
            at = transcript.record(here)
            prompt = await self._context.tabs.branches.branch_point(tab, at.depth if at else None, -1)
        if tab is None or prompt is None:
            self._context.say("No edited prompts above.")
        else:
            await self.to_sibling(tab, prompt, step)

    def sibling_clicked(self, message_id: str, step: int) -> None:
        """Go to the sibling whose arrow was clicked."""
        tab, prompt = self._context.seen, self._context.parts.transcript.record(message_id)
        if tab and prompt:
            self._context.run(self.to_sibling(tab, prompt, step))

    async def to_sibling(self, tab: Tab, prompt: Message, step: int) -> None:
        """Go to a sibling of a prompt, with the branch, the scroll position and the draft that were left there."""
        context, transcript = self._context, self._context.parts.transcript
        browsed = self._edits.here() is not None
        await self._act("catena.acts.branches:to_sibling", prompt_id=prompt.id, step=step)
        if browsed and tab is context.seen and (beside := transcript.prompt_below(prompt.parent_id)):
            transcript.focus_message(beside.id)

    async def to_end(self) -> None:
        """Go to the end of the transcript, and follow it; where the conversation went on elsewhere, to there."""
        context, tab = self._context, self._context.seen
        if tab is None or tab.elsewhere is None:
            context.parts.conversation.action_go_end()
            return
        await self._act("catena.acts.branches:follow")

    async def branch_point_before(self) -> None:
        """Go to the next prompt above that has siblings."""
        if not await self._to_branch_point(-1):
            self._context.say("No branch point above.")

    async def branch_point_after(self) -> None:
        """Go to the next prompt below that has siblings."""
        if not await self._to_branch_point(1):
            self._context.say("No branch point below.")

    async def _to_branch_point(self, step: int) -> bool:
        context, transcript = self._context, self._context.parts.transcript
        tab, here = context.seen, transcript.record(transcript.current)
        if tab is None or here is None:
            return False
        point = await context.tabs.branches.branch_point(tab, here.depth, step)
        if point is None:
            return False
        if await context.presenter.load(point.id, tab):
            transcript.move_to(point.id)
        return True


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

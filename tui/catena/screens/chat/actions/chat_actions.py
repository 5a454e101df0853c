"""All actions of one chat, by subject: what the table of commands chooses from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from catena.acts.perform import body_of, carry_out
from catena.acts.surface import Here
from catena.acts.table import FrontCommand
from catena.screens.chat.actions.agent import SettingsActions, TroubleActions
from catena.screens.chat.actions.branching.branches import BranchActions, CheckpointActions
from catena.screens.chat.actions.branching.editing import EditActions
from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.actions.conversations.changes import ChangesActions
from catena.screens.chat.actions.finding import FindActions
from catena.screens.chat.actions.prompting.attachments import AttachmentActions, ShellActions
from catena.screens.chat.actions.prompting.prompts import NextPriceActions, PromptActions
from catena.screens.chat.actions.start import StartActions
from catena.screens.chat.actions.surface import ScreenSurface
from catena.screens.chat.actions.tabs import PaneActions, TabActions
from catena.screens.chat.actions.view import QuitActions, ViewActions
from catena.screens.chat.context import ChatContext

if TYPE_CHECKING:
    from catena.screens.chat.actions.conversations.history import HistoryActions
    from catena.screens.chat.actions.conversations.images import ImageActions
    from catena.workspace.outgoing import UnplacedDraft


class ChatActions:
    """The actions of one chat, and what they work with."""

    def __init__(
        self,
        context: ChatContext,
        *,
        commands: Sequence[FrontCommand],
        do: Callable[[str], Awaitable[None]],
    ) -> None:
        """``commands`` are those that are listed; ``do`` does the command of a name."""
        self.context = context
        self.do = do
        self.tabs = TabActions(context, do)
        self.prompts = PromptActions(context, self.act)
        self.shell = ShellActions(context, self.prompts)
        self.attachments = AttachmentActions(context)
        self.settings = SettingsActions(context)
        self.trouble = TroubleActions(
            context,
            self.act,
            do=lambda name: context.run(do(name)),
            choose_agent=lambda: do("agent"),
        )
        self.next_price = NextPriceActions(context)
        self.changes = ChangesActions(context, self._open_prompt, self._here)
        self.along = AlongActions(context, self.changes)
        self.tabs.shown_first = self.along.look_for_cut
        self.edits = EditActions(context, self.along)
        self.branches = BranchActions(context, self.edits, self.act)
        self.start = StartActions(context, self.tabs, history=self.choose_from_history)
        self.panes = PaneActions(
            context,
            self.tabs,
            fork=partial(self.act, "catena.acts.branches:fork_beside"),
            history=self.choose_beside,
        )
        self.checkpoints = CheckpointActions(context, self.along, self.act)
        self.finding = FindActions(context)
        self.view = ViewActions(context, commands=commands, do=do)
        self.quitting = QuitActions(context)

    def act(
        self,
        does: str,
        *,
        at: str | None = None,
        way: UnplacedDraft | None = None,
        typed: str = "",
        **given: object,
    ) -> Awaitable[None]:
        """Do an act of a name, ``given`` its arguments, in the active tab: at a message, or at the browsed one.

        ``way`` is what is written meanwhile, if it leads elsewhere; ``typed`` what returns if it is not done.
        """
        surface = ScreenSurface(self, way, typed)
        on = self._here(surface, self.edits.here() if at is None else at or None)
        return surface.done(carry_out(body_of(does)(on, **given), surface))

    def _here(self, surface: ScreenSurface | None = None, message_id: str | None = None) -> Here:
        """Return where an act is done: in the active tab."""
        context = self.context
        return Here(
            context.tabs, context.tab, surface or ScreenSurface(self, None), context.settings, message_id
        )

    @cached_property
    def images(self) -> ImageActions:
        """Actions on images, which few conversations have."""
        from catena.screens.chat.actions.conversations.images import ImageActions

        return ImageActions(self.context)

    @cached_property
    def history(self) -> HistoryActions:
        """Actions on the history: 2 MiB that nobody needs before it is opened."""
        from catena.screens.chat.actions.conversations.history import HistoryActions

        return HistoryActions(self.context, self.tabs, self.act, self.edits)

    async def _open_prompt(self, conversation_id: str, prompt_id: str) -> None:
        """Open a conversation at a prompt."""
        await self.history.open_prompt(conversation_id, prompt_id)

    async def choose_beside(self) -> None:
        """Let the person choose a conversation, and show it side by side."""
        await self.history.choose(beside=True)

    async def choose_from_history(self) -> None:
        """Let the person choose a conversation."""
        await self.history.choose()

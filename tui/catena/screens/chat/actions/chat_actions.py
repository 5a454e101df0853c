"""All actions of one chat, by subject: what the table of commands chooses from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from catena.screens.chat.actions.asides import AsideActions
from catena.screens.chat.actions.attachments import AttachmentActions
from catena.screens.chat.actions.branches import BranchActions
from catena.screens.chat.actions.checkpoints import CheckpointActions
from catena.screens.chat.actions.editing import EditActions
from catena.screens.chat.actions.inspection import ChainActions, TreeActions, UsageActions
from catena.screens.chat.actions.logins import LoginActions
from catena.screens.chat.actions.prompts import PromptActions, QueueActions
from catena.screens.chat.actions.quitting import QuitActions
from catena.screens.chat.actions.settings import SettingsActions
from catena.screens.chat.actions.start import StartActions
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.actions.trouble import TroubleActions
from catena.screens.chat.actions.undo import UndoActions
from catena.screens.chat.actions.view import ViewActions
from catena.screens.chat.context import ChatContext
from catena.widgets.commands import CommandWords


class ChatActions:
    """The actions of one chat."""

    def __init__(
        self,
        context: ChatContext,
        *,
        commands: Sequence[CommandWords],
        do: Callable[[str], Awaitable[None]],
    ) -> None:
        """``commands`` are those that are listed; ``do`` does the command of a name."""
        self.tabs = TabActions(context)
        self.start = StartActions(context, self.tabs)
        self.prompts = PromptActions(context)
        self.queue = QueueActions(context)
        self.attachments = AttachmentActions(context)
        self.chains = ChainActions(context)
        self.settings = SettingsActions(context, prices=self.chains.prices, open_with=self.tabs.open_with)
        self.logins = LoginActions(context, self.prompts)
        self.trouble = TroubleActions(
            context,
            self.prompts,
            do=lambda name: context.run(do(name)),
            choose_agent=self.settings.agent,
        )
        self.usage = UsageActions(context)
        self.undo = UndoActions(context, self.tabs)
        self.asides = AsideActions(context, self.tabs)
        self.edits = EditActions(context)
        self.branches = BranchActions(context, self.tabs, self.edits)
        self.trees = TreeActions(context, self.tabs, self.branches)
        self.checkpoints = CheckpointActions(context, self.branches)
        self.view = ViewActions(context, commands=commands, do=do)
        self.quitting = QuitActions(context)

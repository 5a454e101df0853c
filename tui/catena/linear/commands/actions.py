"""The actions of linear mode, by subject; the table of commands names each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.linear.commands.agents import AgentActions
from catena.linear.commands.asides import AsideActions
from catena.linear.commands.branches import BranchActions
from catena.linear.commands.checkpoints import CheckpointActions
from catena.linear.commands.history import HistoryActions
from catena.linear.commands.prompts import PromptActions
from catena.linear.commands.reading import ReadingActions
from catena.linear.commands.rules import RuleActions
from catena.linear.commands.tabs import TabActions
from catena.linear.context import LinearContext

if TYPE_CHECKING:
    from catena.linear.narrator import Narrator
    from catena.linear.questions import Questions


class LinearActions:
    """Everything that a command can do."""

    def __init__(self, context: LinearContext, narrator: Narrator, questions: Questions) -> None:
        self.context = context
        self.questions = questions
        self.tabs: TabActions = TabActions(context, narrator, questions)
        self.prompts: PromptActions = PromptActions(context)
        self.branches: BranchActions = BranchActions(context, self.tabs)
        self.checkpoints: CheckpointActions = CheckpointActions(context, self.branches)
        self.history: HistoryActions = HistoryActions(context, self.tabs, self.branches)
        self.reading: ReadingActions = ReadingActions(context, questions)
        self.agents: AgentActions = AgentActions(context, self.tabs, self.prompts)
        self.rules: RuleActions = RuleActions(context)
        self.asides: AsideActions = AsideActions(context, self.tabs)

"""The commands of linear mode, by subject; the table of commands names each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.linear.commands.agents import AgentCommands
from catena.linear.commands.asides import AsideCommands
from catena.linear.commands.branches import BranchCommands
from catena.linear.commands.checkpoints import CheckpointCommands
from catena.linear.commands.history import HistoryCommands
from catena.linear.commands.prompts import PromptCommands
from catena.linear.commands.reading import ReadingCommands
from catena.linear.commands.rules import RuleCommands
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext

if TYPE_CHECKING:
    from catena.linear.narrator import Narrator
    from catena.linear.questions import Questions


class LinearCommands:
    """Everything that a command can do."""

    def __init__(self, context: LinearContext, narrator: Narrator, questions: Questions) -> None:
        self.context = context
        self.questions = questions
        self.tabs: TabCommands = TabCommands(context, narrator, questions)
        self.prompts: PromptCommands = PromptCommands(context)
        self.branches: BranchCommands = BranchCommands(context, self.tabs, self.prompts)
        self.checkpoints: CheckpointCommands = CheckpointCommands(context, self.branches)
        self.history: HistoryCommands = HistoryCommands(context, self.tabs, self.branches)
        self.reading: ReadingCommands = ReadingCommands(context, questions)
        self.agents: AgentCommands = AgentCommands(context, self.tabs, self.prompts)
        self.rules: RuleCommands = RuleCommands(context)
        self.asides: AsideCommands = AsideCommands(context, self.tabs)

"""The sheets of reports that go on being read while they are shown; each is imported when it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from catena.acts.asking import AskedBranch, AskedBranches
from catena.acts.branches import TreeView
from catena.acts.settings import SettingsView
from catena.acts.table import commands_of
from catena.settings.templates import KnownTemplates
from catena.text.blame_text import FileLines
from catena.workspace.tab import Tab
from catena_acp.changes.reading import ChangeScope
from catena_acp.conversation.access.allowances import ConversationRules, ConversationServers
from catena_acp.conversation.checkpoints.checkpoints import Checkpoints
from catena_acp.conversation.inspection.chain import TurnContext
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.prompts.queue import PromptQueue
from catena_acp.conversation.prompts.window import Window

if TYPE_CHECKING:
    from catena.screens.chat.actions.branching.branches import CheckpointActions
    from catena.screens.chat.actions.branching.editing import EditActions
    from catena.screens.chat.actions.branching.files import AlongActions
    from catena.screens.chat.actions.conversations.changes import ChangesActions
    from catena.screens.chat.actions.conversations.history import HistoryActions
    from catena.screens.chat.actions.prompting.prompts import PromptActions
    from catena.screens.chat.actions.tabs import TabActions
    from catena.screens.chat.context import ChatContext
    from catena.screens.common.dialog import Dialog


class SurfaceActions(Protocol):
    """The actions of a chat as far as its surface needs them, which they make."""

    context: ChatContext
    edits: EditActions
    prompts: PromptActions
    changes: ChangesActions
    checkpoints: CheckpointActions
    tabs: TabActions
    along: AlongActions

    @property
    def history(self) -> HistoryActions:
        """Actions on the history."""


async def choose_on_sheet(value: object, tab: Tab | None, actions: SurfaceActions) -> object:
    """Show the sheet of a value until it is closed; return what was chosen there."""
    match value:
        case ChangeScope() if tab is not None:
            return await _review(value, tab, actions)
        case FileLines() if tab is not None:
            return await actions.changes.blame(tab, value.path, value.first)
        case AskedBranches():
            return await _compare(value, actions.context)
        case PromptQueue() if actions.context.parts.queue.has_focus:
            actions.context.write_here()
            return None
        case PromptQueue():
            actions.context.parts.queue.enter()
            return None
        case Checkpoints():
            await actions.checkpoints.show()
            return None
        case _:
            return await actions.context.app.push_screen_wait(_sheet(value, tab, actions))


async def _review(value: ChangeScope, tab: Tab, actions: SurfaceActions) -> object:
    from catena.screens.changes.screen import ReviewEnd

    chosen = await actions.changes.review(tab, value)
    if chosen is ReviewEnd.REWIND:
        await actions.checkpoints.show()
        return None
    return chosen


async def _compare(value: AskedBranches, context: ChatContext) -> AskedBranch | None:
    from catena.screens.comparison.screen import ComparedBranch, ComparisonScreen

    kept: list[AskedBranch] = []
    branches = [ComparedBranch(each.title, each.leaf_id, each.works) for each in value.branches]
    screen = ComparisonScreen(
        value.of.conversation.tree,
        value.of.conversation.changes,
        branches,
        keep=(lambda at: kept.append(value.branches[at])) if value.branches[0].tab else None,
        subject=context.subject,
    )
    await context.app.push_screen_wait(screen)
    return kept[0] if kept else None


def _sheet(value: object, tab: Tab | None, actions: SurfaceActions) -> Dialog[Any]:
    context, subject = actions.context, actions.context.subject
    match value:
        case KnownTemplates():
            from catena.screens.settings.templates import TemplatesScreen

            taken = {name for each in commands_of("screen") if each.by_name for name in each.names}
            return TemplatesScreen(
                value, taken=taken, environment=context.screen.environment, subject=subject
            )
        case ConversationRules():
            from catena.screens.settings.permissions import PermissionsScreen

            return PermissionsScreen(value, apply=actions.prompts.apply_rules, subject=subject)
        case SettingsView(settings, advanced):
            from catena.screens.settings.screen import SettingsScreen

            return SettingsScreen(
                settings,
                environment=context.screen.environment,
                pace=context.gate.pace,
                subject=subject,
                advanced=advanced,
            )
        case Window():
            from catena.screens.background.screen import BackgroundScreen

            return BackgroundScreen(value, clock=context.clock, subject=subject)
    assert tab is not None, f"{type(value).__name__} has no sheet without a tab"
    match value:
        case ConversationServers():
            from catena.screens.settings.servers import ServersScreen

            return ServersScreen(value, tab.window_id, subject=subject, pace=context.gate.pace)
        case ConversationChain():
            from catena.screens.chain.screen import ChainScreen

            return ChainScreen(value, tab.window, clock=context.clock, subject=subject)
        case TreeView():
            from catena.screens.tree.screen import TreeScreen

            return TreeScreen(
                tab,
                context.tabs.kin(tab),
                clock=context.clock,
                files_follow=context.settings.files_follow,
                show_plan=lambda plan: context.run(actions.along.show_plan(tab, plan)),
                subject=subject,
                at=value.prompt_id,
                words=value.words,
            )
        case TurnContext():
            from catena.screens.context.screen import ContextScreen

            return ContextScreen(value, tab.conversation.chain, tab.window, subject=subject)
    raise AssertionError(f"{type(value).__name__} has no sheet")

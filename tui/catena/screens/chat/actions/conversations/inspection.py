"""The chain, the context, the tree, and what a conversation touched and cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext
from catena.text.formats import title_of
from catena.workspace.files_along import FilesAlong
from catena.workspace.tab import Tab
from catena_acp.conversation.conversation import Conversation
from catena_acp.snapshots.restoring import FileChoice, RestorePlan
from catena_store.conversations.tree import TreeNode


class TreeActions:
    """Actions on the tree of the active tab."""

    def __init__(
        self,
        context: ChatContext,
        tabs: TabActions,
        along: AlongActions,
        act: Callable[..., Awaitable[None]],
    ) -> None:
        self._act = act
        self._context = context
        self._along = along
        self._tabs = tabs

    async def tree(self, at: str | None = None) -> None:
        """Show the tree, from a prompt on where one is given, and go to, fork at or quote what the person chooses."""
        from catena.screens.tree.rows import quote
        from catena.screens.tree.screen import TreeScreen
        from catena.screens.tree.updates import TreeUpdates

        context = self._context
        if (tab := context.tab) is None:
            return
        chain, window = tab.conversation.chain, tab.window

        async def price(leaf_id: str) -> str:
            return (await chain.price(window, leaf_id=leaf_id)).words

        await tab.conversation.settle()
        choice = await context.app.push_screen_wait(
            TreeScreen(
                tab.conversation.tree,
                tab.window,
                changes=tab.conversation.changes,
                clock=context.clock,
                updates=TreeUpdates(self._kin(tab)),
                price=price,
                files=_TreeFiles(context, self._along, tab),
                subject=context.subject,
                at=at,
            )
        )
        if choice is None or tab is not context.tab:
            return
        node = choice.nodes[0]
        match choice.act:
            case "go" if choice.tree.foreign(node.id):
                opened = await self._tabs.open_conversation(node.conversation_id)
                if opened is context.tab:
                    await self._go(opened, node)
            case "go":
                await self._go(tab, node, choice.files)
            case "fork":
                await self._act("catena.acts.branches:fork", at=node.end_id, wish="")
            case "quote":
                quotes = [
                    quote(choice.tree, each, await tab.conversation.tree.turn_messages(each))
                    for each in choice.nodes
                ]
                self._quote(tab, "\n\n".join(quotes))

    def _quote(self, tab: Tab, text: str) -> None:
        """Quote into the draft of a tab, which the person may have left while the text was read."""
        context = self._context
        if tab is context.drafts.tab:
            context.screen.quote(text)
        elif tab in context.tabs.tabs:
            context.drafts.append(tab, text)

    def _kin(self, tab: Tab) -> list[Conversation]:
        """The open conversations of a tab's family, each once."""
        family = tab.conversation.record.family
        every = {each.conversation.id: each.conversation for each in self._context.tabs.tabs}
        return [each for each in every.values() if each.record.family == family]

    async def _go(self, tab: Tab, node: TreeNode, files: FileChoice | None = None) -> None:
        context = self._context
        context.write_here()
        title = title_of(node.preview)
        await self._act(
            "catena.acts.branches:go_to", leaf_id=node.end_id, title=title, files=files, chosen=True
        )


class _TreeFiles:
    """The files that may go along from a tab to a prompt of its tree."""

    def __init__(self, context: ChatContext, actions: AlongActions, tab: Tab) -> None:
        self._context = context
        self._actions = actions
        self._tab = tab

    def along(self) -> FilesAlong:
        """Those of a way that nothing is known of yet."""
        return self._actions.along()

    async def look(self, along: FilesAlong, leaf_id: str) -> None:
        """Find out what going to a row would change."""
        await along.look(self._tab.conversation.files, self._tab.window_id, leaf_id)

    def show(self, plan: RestorePlan) -> None:
        """Show what would become of files."""
        self._context.run(self._actions.show_plan(self._tab, plan))

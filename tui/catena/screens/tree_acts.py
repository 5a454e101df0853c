"""Looking at every branch at once: going to one, forking from it, quoting it."""

from __future__ import annotations

from catena.screens.branch_acts import BranchActs
from catena.screens.desk import Desk
from catena.screens.handover import hands_over
from catena.screens.tab_acts import TabActs
from catena.tab import Tab, title_of
from catena_acp.continuity.errors import ReadOnly
from catena_acp.conversation.conversation import Conversation
from catena_store.conversations.tree import TreeNode
from catena_store.ids import utc_now

_BACK = "What came later stays in the tree; /undo goes back."


class TreeActs:
    """Acts on the tree of the tab that is looked at; each takes the text behind its command."""

    def __init__(self, desk: Desk, tabs: TabActs, branches: BranchActs) -> None:
        self._desk = desk
        self._tabs = tabs
        self._branches = branches

    @hands_over
    async def tree(self, argument: str = "") -> None:
        """Look at the tree, and do with a prompt of it what the person chooses."""
        from catena.quotes import quote
        from catena.screens.tree import TreeScreen
        from catena.tree_news import TreeNews

        desk = self._desk
        if (tab := desk.tab) is None:
            return
        await tab.conversation.settle()
        choice = await desk.app.push_screen_wait(
            TreeScreen(
                tab.conversation,
                tab.window_id,
                cwd=tab.conversation.record.cwd,
                clock=utc_now,
                news=TreeNews(self._kin(tab)),
            )
        )
        if choice is None or tab is not desk.tab:
            return
        node = choice.nodes[0]
        match choice.act:
            case "go" if choice.tree.foreign(node.id):
                opened = await desk.tabs.open_conversation(node.conversation_id)
                await self._tabs.show(opened)
                if opened is desk.tab:
                    await self._go(opened, node)
            case "go":
                await self._go(tab, node)
            case "fork":
                await self._branches.ask_fork_at(node.end_id)
            case "quote":
                quotes = [
                    quote(choice.tree, each, await tab.conversation.said_at(each)) for each in choice.nodes
                ]
                desk.screen.quote("\n\n".join(quotes))

    def _kin(self, tab: Tab) -> list[Conversation]:
        """The conversations of its family that are open, each once."""
        family = tab.conversation.record.family
        every = {each.conversation.id: each.conversation for each in self._desk.tabs.tabs}
        return [each for each in every.values() if each.record.family == family]

    async def _go(self, tab: Tab, node: TreeNode) -> None:
        desk = self._desk
        if tab.leaf_id == node.end_id:
            desk.say("You are there.")
            return

        async def go() -> bool:
            await tab.conversation.go_to(tab.window_id, node.end_id)
            return True

        desk.write_here()
        await self._branches.elsewhere(tab, go)
        where = f"You are at “{title_of(node.preview)}”."
        try:
            price = await tab.conversation.price(tab.window_id)
        except ReadOnly:
            desk.say(f"{where} {_BACK}")
        else:
            desk.say(f"{where} Your next prompt: {price.words}. {_BACK}")

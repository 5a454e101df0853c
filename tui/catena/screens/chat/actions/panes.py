"""Two panes side by side: what is shown in the other one, and going there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catena.acts import agents
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row
from catena.workspace.tab import Tab

_ONE = "There is one pane. /side opens another one."
_FORK, _NEW, _HISTORY = "fork", "new", "history"


class PaneActions:
    """Actions on the panes of the screen."""

    def __init__(
        self,
        context: ChatContext,
        tabs: TabActions,
        *,
        fork: Callable[[], Awaitable[None]],
        history: Callable[[], Awaitable[None]],
    ) -> None:
        """``fork`` and ``history`` show a fork, or a conversation that is chosen there, side by side."""
        self._context = context
        self._tabs = tabs
        self._fork = fork
        self._history = history

    async def side(self, wanted: str = "") -> None:
        """Show a tab side by side, by its number or title; without either, let the person choose what."""
        context = self._context
        if why := context.panes.why_no_room:
            context.say(why)
        elif not wanted:
            await self._choose()
        elif (tab := self._named(wanted)) is None:
            context.say(f"No tab “{safe_line(wanted)}”.", wrong=True)
        elif tab is context.tab:
            context.say("This tab is on the screen already.")
        else:
            await self._tabs.show_beside(tab)

    def _named(self, wanted: str) -> Tab | None:
        tabs = self._context.tabs.tabs
        if wanted.isdecimal():
            return tabs[int(wanted) - 1] if 0 < int(wanted) <= len(tabs) else None
        others = (tab for tab in tabs if tab is not self._context.tab)
        return next((tab for tab in others if wanted.casefold() in tab.name().casefold()), None)

    async def _choose(self) -> None:
        context = self._context
        tabs, panes = context.tabs.tabs, context.tabs.panes
        away = {tab.window_id: (at, tab) for at, tab in enumerate(tabs, 1) if panes.of(tab) is None}
        rows = [Row(id, f"{at} {tab.name()}", detail="tab") for id, (at, tab) in away.items()]
        if context.tab is not None and not context.tab.untouched:
            rows.append(Row(_FORK, "A fork of this conversation"))
        rows += [Row(_NEW, "A new conversation"), Row(_HISTORY, "One from the history …")]
        chosen = await context.app.push_screen_wait(
            Picker("Side by side", rows, enter="show it side by side", subject=context.subject)
        )
        match chosen:
            case None:
                pass
            case "fork":
                await self._fork()
            case "new":
                await self._new()
            case "history":
                await self._history()
            case id if (tab := away[id][1]) in tabs:
                await self._tabs.show_beside(tab)

    async def _new(self) -> None:
        context = self._context
        spec = agents.kept_agent(context.tab, context.settings) if context.tab else context.start.agent
        if spec is not None:
            await self._tabs.show_beside(await context.tabs.open_new(spec))

    async def other(self) -> None:
        """Give the keys to the other pane."""
        context = self._context
        if (other := context.tabs.panes.other(context.pane)) is None:
            context.say(_ONE)
        else:
            context.panes.give_keys(other)

    async def swap(self) -> None:
        """Let the panes change places."""
        if self._context.panes.several:
            self._context.panes.swap()
        else:
            self._context.say(_ONE)

    async def close(self) -> None:
        """Close this pane; its tab stays open."""
        if self._context.panes.several:
            self._context.panes.close(self._context.pane)
        else:
            self._context.say("This is the only pane; /close closes the tab.")

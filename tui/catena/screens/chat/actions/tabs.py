"""Opening, closing and going through tabs, and what is shown in the other one of two panes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager

from catena.acts import agents
from catena.acts.conversations import gone_words
from catena.screens.chat.actions.start import open_start
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker
from catena.settings.agents import default_agent, find_agent
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row
from catena.workspace.directories import is_directory
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.panes import Pane
from catena.workspace.tab import Tab
from catena.workspace.tabs import READ_ONLY
from catena_acp.errors import AgentError, AgentMissing
from catena_acp.port.port import AgentSpec
from catena_store.errors import StoreError

_LONGEST_STILL = 0.15  # seconds


class TabActions:
    """Actions on tabs."""

    def __init__(self, context: ChatContext, do: Callable[[str], Awaitable[None]]) -> None:
        """``do`` does the command of a name."""
        self._context = context
        self._do = do
        # The active tab, where it could not be shown, and no other one is.
        self._unreadable: Tab | None = None
        # Called once a tab is on the screen for the first time.
        self.shown_first: Callable[[Tab], Awaitable[None]]
        self.beginning = True  # until the first tab is there, or its choice is the person's

    @property
    def on_the_way(self) -> bool:
        """True until the transcript of the active tab is on the screen, unless that cannot be read."""
        return self._context.seen is not self._context.tab is not self._unreadable

    async def begin(self, way: UnplacedDraft, *, history: Callable[[], Awaitable[None]]) -> None:
        """Restore the tabs, or open the first one, by the ``history`` where that is asked for.

        ``way`` is what is written meanwhile.
        """
        try:
            await self._begin(way, history)
        finally:
            self.beginning = False

    async def _begin(self, way: UnplacedDraft, history: Callable[[], Awaitable[None]]) -> None:
        context, start = self._context, self._context.start
        await context.tabs.restore(waits=True)
        if context.tabs.read_only:
            await self._begin_to_read(way, history)
            return
        if start.conversation_id is not None:
            await self.show(await context.tabs.open_conversation(start.conversation_id), way)
        elif start.agent is not None:
            await self.show(self._empty_tab(start.agent) or await context.tabs.open_new(start.agent), way)
        elif context.tab is not None:
            await self.show(context.tab, way)
        elif not start.picker:
            await self.first_tab(way)
        if start.picker:
            await history()
        if not context.tabs.workspace_is_ours:
            context.say(
                context.keys.said("Another Catena is open here. {History} opens its conversations read-only.")
            )

    async def _begin_to_read(self, way: UnplacedDraft, history: Callable[[], Awaitable[None]]) -> None:
        """Begin with a store that may only be read: nothing can be sent."""
        context, start = self._context, self._context.start
        context.say(READ_ONLY, wrong=True)
        if start.conversation_id is not None:
            await self.show(await context.tabs.open_conversation(start.conversation_id), way)
        elif context.tab is not None:
            await self.show(context.tab, way)
        else:
            await history()

    def _empty_tab(self, agent: AgentSpec) -> Tab | None:
        """An untouched tab of that agent, so that repeated starts leave no empty tabs."""
        return next(
            (tab for tab in self._context.tabs.tabs if tab.untouched and tab.answered_by(agent)), None
        )

    async def first_tab(self, way: UnplacedDraft) -> None:
        """Open the first tab if it is known with which agent; else show the start, where the person chooses.

        ``way`` is what is written until it is there.
        """
        context = self._context
        try:
            spec = await self._first_agent()
        except AgentMissing as error:
            context.say(str(error), wrong=True)
            spec = None
        if spec is not None:
            await self.show(await context.tabs.open_new(spec), way)
        elif context.tab is None:
            await open_start(context)
            if (taken := self._taken()) is not None:  # meanwhile
                await self.show(await context.tabs.open_new(find_agent(taken, context.settings)), way)

    async def _first_agent(self) -> AgentSpec | None:
        """The agent of the settings, or that was chosen already; beside another Catena the last used one.

        Raises AgentMissing for that of the settings.
        """
        context, taken = self._context, self._taken()
        try:
            if context.settings.agent is not None:
                return find_agent(context.settings.agent, context.settings)
            if taken is not None:
                return find_agent(taken, context.settings)
            if not context.tabs.workspace_is_ours:
                return default_agent(context.settings, await context.tabs.last_used_agent())
        except AgentMissing:
            if context.settings.agent is not None:
                raise
        return None

    def _taken(self) -> str | None:
        """The name of the agent that was chosen before the tabs were known, once."""
        start = self._context.parts.conversation.start
        taken, start.taken = start.taken, None
        return taken.choice.name if taken is not None else None

    async def show(self, tab: Tab, way: UnplacedDraft | None = None) -> None:
        """Show a tab; the one before keeps its draft and scroll position.

        The composer is this tab's at once, with what was written on the ``way`` to it; the transcript follows when
        it is read. Where that fails, the tab that is on the screen stays, and so does another one that the person went
        to since the ``way`` began. A tab that stands in another pane is gone to there.
        """
        context = self._context
        other = context.tabs.panes.of(tab)
        if other is not None and other is not context.pane:
            self._arrive(way, tab)
            self._go_to_pane(other)
        elif context.pane not in context.tabs.panes.open:  # it was closed meanwhile
            self._arrive(way, tab)
            context.say(f"“{tab.name()}” is open in a tab.")
        else:
            await self._read(tab, self._turn_to(tab, way))

    async def show_beside(self, tab: Tab, way: UnplacedDraft | None = None) -> None:
        """Show a tab in the other pane if there is room for two, else in this one.

        The draft written on the ``way`` goes along. If the person has gone to the other pane meanwhile, its tab stays.
        """
        context = self._context
        if not context.panes.room or context.tabs.panes.of(tab) is not None:
            await self.show(tab, way)
        elif context.panes.has_keys(context.pane):
            await context.panes.show_beside(context.pane, tab, lambda: self._arrive(way, tab))
        else:
            self._arrive(way, tab)
            context.say(f"“{tab.name()}” is open in a tab.")

    async def take(self, tab: Tab, arrived: Callable[[], None]) -> None:
        """Show a tab that another pane sent to this one, with the keys; ``arrived``: the composer is the tab's."""
        context = self._context
        before = self._turn_to(tab)
        context.panes.give_keys(context.pane)
        arrived()
        await self._read(tab, before)

    def put_away(self) -> None:
        """Leave the tab of this pane to itself."""
        context = self._context
        if (shown := context.presenter.shown) is not None and shown in context.tabs.tabs:
            self._leave(shown)
        context.drafts.put_away()
        context.presenter.clear()

    def _arrive(self, way: UnplacedDraft | None, tab: Tab) -> None:
        if way is not None:
            self._context.drafts.arrive(way, tab)

    def _go_to_pane(self, pane: Pane) -> None:
        """Give the keys to another pane, unless the person has gone there already."""
        if self._context.panes.has_keys(self._context.pane):
            self._context.panes.give_keys(pane)

    def _turn_to(self, tab: Tab, way: UnplacedDraft | None = None) -> Tab | None:
        """Give the composer and the keys to a tab; return the one whose transcript is on the screen."""
        context = self._context
        before = context.presenter.shown
        if way is not None and context.drafts.stays_elsewhere(tab):
            context.drafts.arrive(way, tab)
            return before
        if before is not None and before in context.tabs.tabs:  # a closed one keeps what it had
            self._leave(before)
        context.presenter.want(tab)
        if way is None:
            context.drafts.show(tab)
        else:
            context.drafts.arrive(way, tab)
        context.write_here()
        return before

    async def _read(self, tab: Tab, before: Tab | None) -> None:
        """Put the transcript of a tab on the screen, and send what waits for that."""
        context = self._context
        self._unreadable = None
        try:
            await context.screen.ready_to_show()
            if context.tab is tab:
                await context.presenter.show(tab)
        except (AgentError, StoreError):
            self._stay_at(before, instead_of=tab)
            raise
        if not self._is_there(tab):  # another one was wanted meanwhile
            return
        context.screen.tab_shown()
        context.drafts.release()
        if added := tab.added_words():
            context.say(added)
        if not tab.prepared and not tab.conversation.read_only:
            tab.prepared = True
            if tab.untouched or (before is None and not context.panes.several):
                for directory in context.start.further_directories:
                    await tab.conversation.add_directory(directory)
            # To start a process holds everything up; what is to be read is drawn before.
            context.parts.transcript.call_after_refresh(self._prepare, tab)

    def _prepare(self, tab: Tab) -> None:
        if tab in self._context.tabs.tabs:
            self._context.run(self._prepared(tab))
            self._context.run(self.shown_first(tab))

    async def _prepared(self, tab: Tab) -> None:
        if await asyncio.to_thread(is_directory, tab.conversation.record.cwd):
            await tab.window.prepare()
        elif self._context.tab is tab and not self._context.writing:
            await self._do("cd")
        else:  # the person went elsewhere or writes, and is asked when they come back
            tab.prepared = False
            if self._context.tab is tab:
                self._context.say(gone_words(tab))

    def _leave(self, tab: Tab) -> None:
        """Save the draft and the scroll position of the tab that is on the screen."""
        self._context.drafts.write()
        if tab is not self._context.presenter.moving:  # else this place may be of another leaf
            tab.scroll = self._context.parts.transcript.position()
        self._context.run(self._context.tabs.keep(tab))

    def _stay_at(self, tab: Tab | None, *, instead_of: Tab) -> None:
        context = self._context
        context.drafts.restore_waiting(instead_of)
        if context.tab is not instead_of:
            return
        if tab is None or tab not in context.tabs.tabs:
            self._unreadable = instead_of
            return
        context.presenter.want(tab)
        if context.drafts.tab is instead_of:  # else the person is on the way to another one
            context.drafts.show(tab)
        context.drafts.release()

    def try_again(self, tab: Tab) -> None:
        """Show the active tab if it could not be read before."""
        if tab is self._unreadable:
            self._context.run(self.show(tab))

    @contextmanager
    def one_frame(self) -> Iterator[None]:
        """Draw nothing of what comes in between, unless it takes long: the next frame is the end of it."""
        with ExitStack() as drawn_at_once:
            drawn_at_once.enter_context(self._context.app.batch_update())
            late = asyncio.get_running_loop().call_later(_LONGEST_STILL, drawn_at_once.close)
            drawn_at_once.callback(late.cancel)
            yield

    async def show_what_is_left(self, gone: Tab | None, way: UnplacedDraft) -> None:
        """Show another tab after one is gone; after the last one, a new tab with its agent.

        One of two panes goes with its tab, and the other one gets the keys.
        """
        context = self._context
        if context.pane not in context.tabs.panes.open:
            return
        context.panes.close_empty(but=context.pane)
        other = context.tabs.panes.other(context.pane)
        if context.tab is None and other is not None and other.tab is not None:
            context.drafts.arrive(way, other.tab)
            context.panes.close(context.pane)
            return
        spec = agents.kept_agent(gone, context.settings) if gone else None
        if context.tab is not None:
            await self.show(context.tab, way)
        elif spec is not None:
            await self.show(await context.tabs.open_new(spec), way)
        else:
            await self.first_tab(way)

    def step(self, step: int) -> None:
        """Go to the next tab, around the ends."""
        tab, panes = self._context.tab, self._context.tabs.panes.open
        beside = [pane.tab for pane in panes if pane.in_sight and pane is not self._context.pane]
        tabs = [each for each in self._context.tabs.tabs if each not in beside]
        if tab in tabs and len(tabs) > 1:
            self._go_to(tabs[(tabs.index(tab) + step) % len(tabs)])

    def go_to(self, index: int) -> None:
        """Go to a tab, counted from 0."""
        tabs = self._context.tabs.tabs
        if index < len(tabs) and not self._is_there(tabs[index]):
            self._go_to(tabs[index])

    def _go_to(self, tab: Tab) -> None:
        other = self._context.tabs.panes.of(tab)
        if other is not None and other is not self._context.pane:
            self._go_to_pane(other)
        else:
            self._context.run(self._read(tab, self._turn_to(tab)))

    def _is_there(self, tab: Tab) -> bool:
        return tab is self._context.presenter.shown and tab is self._context.tab

    async def suspend(self) -> None:
        """Stop the program as a shell's Ctrl+Z does."""
        self._context.app.action_suspend_process()


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

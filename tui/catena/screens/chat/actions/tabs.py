"""Opening, closing and going through tabs."""

from __future__ import annotations

from collections.abc import Awaitable

from catena.screens.chat.actions import settings as choices
from catena.screens.chat.actions.start import open_start
from catena.screens.chat.context import ChatContext
from catena.screens.history.picker import HistoryActs, HistoryScreen
from catena.settings.agents import default_agent, find_agent, titles_of
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.tab import Tab
from catena_acp.errors import AgentError, AgentMissing
from catena_acp.port import AgentSpec
from catena_store.errors import StoreError
from catena_store.ids import utc_now


class TabActions:
    """Actions on tabs."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._unreadable: Tab | None = (
            None  # the active tab, where it could not be shown, and no other one is
        )

    @property
    def on_the_way(self) -> bool:
        """True until the transcript of the active tab is on the screen, unless that cannot be read."""
        return self._context.seen is not self._context.tab is not self._unreadable

    async def begin(self, way: UnplacedDraft) -> None:
        """Restore the tabs, or open the first one; ``way`` is what is written meanwhile."""
        context, start = self._context, self._context.start
        await context.tabs.restore()
        if context.tabs.read_only:
            await self._begin_to_read(way)
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
            await self.history()
        if not context.tabs.workspace_is_ours:
            context.say("Another Catena is open here. Ctrl+O opens its conversations read-only.")

    async def _begin_to_read(self, way: UnplacedDraft) -> None:
        """Begin with a store that may only be read: nothing can be sent."""
        context, start = self._context, self._context.start
        context.say("The database is read-only: you can read but not send.", wrong=True)
        if start.conversation_id is not None:
            await self.show(await context.tabs.open_conversation(start.conversation_id), way)
        elif context.tab is not None:
            await self.show(context.tab, way)
        else:
            await self.history()

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

    async def _first_agent(self) -> AgentSpec | None:
        """The agent of the settings, or that was chosen already; beside another Catena the last used one.

        Raises AgentMissing for that of the settings.
        """
        context, start = self._context, self._context.parts.conversation.start
        taken, start.taken = start.taken, None
        try:
            if context.settings.agent is not None:
                return find_agent(context.settings.agent, context.settings)
            if taken is not None:
                return find_agent(taken.choice.name, context.settings)
            if not context.tabs.workspace_is_ours:
                return default_agent(context.settings, await context.tabs.last_used_agent())
        except AgentMissing:
            if context.settings.agent is not None:
                raise
        return None

    async def show(self, tab: Tab, way: UnplacedDraft | None = None) -> None:
        """Show a tab; the one before keeps its draft and scroll position.

        The composer is this tab's at once, with what was written on the ``way`` to it; the transcript follows when
        it is read. Where that fails, the tab that is on the screen stays, and so does another one that the person went
        to since the ``way`` began.
        """
        await self._read(tab, self._turn_to(tab, way))

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
        if not tab.prepared and not tab.conversation.read_only:
            tab.prepared = True
            if before is None or tab.untouched:
                for directory in context.start.further_directories:
                    await tab.conversation.add_directory(directory)
            # To start a process holds everything up; what is to be read is drawn before.
            context.parts.transcript.call_after_refresh(self._prepare, tab)

    def _prepare(self, tab: Tab) -> None:
        if tab in self._context.tabs.tabs:
            self._context.run(tab.window.prepare())

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

    def new(self) -> Awaitable[None]:
        """Open a new conversation with the agent of this tab in a new tab."""
        return self._new(self._context.drafts.set_out())

    async def _new(self, way: UnplacedDraft) -> None:
        context = self._context
        spec = choices.kept_agent(context.tab, context.settings) if context.tab else context.start.agent
        with context.drafts.under_way(way):
            if spec is None:
                last_used = await context.tabs.last_used_agent()
                spec = await choices.choose_agent(
                    context.app, choices.WHICH_AGENT, context.settings, last_used
                )
            if spec is not None:
                await self.show(await context.tabs.open_new(spec), way)

    async def history(self) -> None:
        """Let the person choose a conversation, and show it in its tab or in a new one."""
        context = self._context
        opened = frozenset(tab.conversation.id for tab in context.tabs.tabs)
        chosen = await context.app.push_screen_wait(
            HistoryScreen(
                context.tabs.summaries,
                agent_title=titles_of(context.settings),
                now=utc_now(),
                opened=opened,
                acts=HistoryActs(context.tabs.undoing),
            )
        )
        gone = context.presenter.shown is not None and context.presenter.shown not in context.tabs.tabs
        way = context.drafts.set_out()
        with context.drafts.under_way(way):
            if chosen is not None:
                await self.show(await context.tabs.open_conversation(chosen), way)
            elif gone:
                await self.show_what_is_left(context.presenter.shown, way)
            elif context.tab is None:
                await self.first_tab(way)

    def close(self) -> Awaitable[None]:
        """Close the active tab; a new one takes the place of the last."""
        context = self._context
        if (tab := context.tab) is None or context.drafts.leaves(tab):
            return _nothing()
        if tab is context.presenter.shown:
            tab.scroll = context.parts.transcript.position()
        way = context.drafts.set_out(tab)
        if (beside := context.tabs.beside(tab)) is not None:
            self._turn_to(beside)
        return self._close(tab, way)

    async def _close(self, tab: Tab, way: UnplacedDraft) -> None:
        context = self._context
        elsewhere = any(
            each is not tab and each.conversation is tab.conversation for each in context.tabs.tabs
        )
        stopped = tab.window.in_turn and not elsewhere and not tab.conversation.read_only
        with context.drafts.under_way(way):
            try:
                await self._keep_and_close(tab)
            except StoreError:
                if tab in context.tabs.tabs:
                    context.drafts.arrive(way, tab)
                    await self.show(tab)
                raise
            await self.show_what_is_left(tab, way)
        if stopped:
            agent = (tab.session or tab.window.session).agent_title
            context.say(f"Closed “{tab.name()}”: {agent} was working and is stopped. /undo opens it again.")

    async def _keep_and_close(self, tab: Tab) -> None:
        if not self._context.tabs.read_only:  # /undo brings it back as it is
            await self._context.tabs.keep(tab)
        await self._context.tabs.close(tab)

    async def show_what_is_left(self, gone: Tab | None, way: UnplacedDraft) -> None:
        """Show another tab after one is gone; after the last one, a new tab with its agent."""
        context = self._context
        spec = choices.kept_agent(gone, context.settings) if gone else None
        if context.tab is not None:
            await self.show(context.tab, way)
        elif spec is not None:
            await self.show(await context.tabs.open_new(spec), way)
        else:
            await self.first_tab(way)

    def step(self, step: int) -> None:
        """Go to the next tab, around the ends."""
        tabs, tab = self._context.tabs.tabs, self._context.tab
        if tab in tabs and len(tabs) > 1:
            self._go_to(tabs[(tabs.index(tab) + step) % len(tabs)])

    def go_to(self, index: int) -> None:
        """Go to a tab, counted from 0."""
        tabs = self._context.tabs.tabs
        if index < len(tabs) and not self._is_there(tabs[index]):
            self._go_to(tabs[index])

    def _go_to(self, tab: Tab) -> None:
        self._context.run(self._read(tab, self._turn_to(tab)))

    def _is_there(self, tab: Tab) -> bool:
        return tab is self._context.presenter.shown and tab is self._context.tab

    async def open_with(self, spec: AgentSpec, *, cwd: str | None = None, draft: str = "") -> None:
        """Open a new conversation with an agent in a new tab, with a text to begin with."""
        context = self._context
        way = context.drafts.set_out()
        with context.drafts.under_way(way):
            tab = await context.tabs.open_new(spec, cwd=cwd)
            tab.write(draft)
            await self.show(tab, way)

    async def open_conversation(self, conversation_id: str) -> Tab:
        """Show a conversation in its tab, or in a new one."""
        context = self._context
        way = context.drafts.set_out()
        with context.drafts.under_way(way):
            tab = await context.tabs.open_conversation(conversation_id)
            await self.show(tab, way)
        return tab

    async def take_over(self) -> None:
        """Take over a conversation whose Catena is gone; one that lives is named."""
        if (tab := self._context.tab) is None:
            return
        if not tab.conversation.read_only:
            self._context.say("This conversation is already yours.")
            return
        await tab.window.take_over()
        self._context.say("Taken over. Unfinished turns of the other Catena were closed.")
        await tab.window.prepare()

    async def suspend(self) -> None:
        """Stop the program as a shell's Ctrl+Z does."""
        self._context.app.action_suspend_process()


async def _nothing() -> None:
    """Do nothing."""

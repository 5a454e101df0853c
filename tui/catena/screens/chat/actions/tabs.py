"""Opening, closing and going through tabs."""

from __future__ import annotations

import os
from contextlib import suppress

from catena.screens.chat.actions import settings as choices
from catena.screens.chat.context import ChatContext
from catena.screens.chat.drafts import hands_over
from catena.screens.history.picker import HistoryActs, HistoryScreen
from catena.settings.agents import default_agent, find_agent
from catena.workspace.tab import Tab
from catena_acp.errors import AgentError, AgentMissing
from catena_acp.port import AgentSpec
from catena_store.errors import StoreError
from catena_store.ids import utc_now


class TabActions:
    """Acts on tabs; each takes the text behind its command."""

    def __init__(self, desk: ChatContext) -> None:
        self._desk = desk

    async def begin(self, argument: str = "") -> None:
        """Bring the tabs back, or begin the first one."""
        desk, start = self._desk, self._desk.start
        await desk.tabs.restore()
        if desk.tabs.read_only:
            await self._begin_to_read()
            return
        if start.conversation_id is not None:
            await self.show(await desk.tabs.open_conversation(start.conversation_id))
        elif start.agent is not None:
            await self.show(self._empty_tab(start.agent) or await desk.tabs.open_new(start.agent))
        elif desk.tab is not None:
            await self.show(desk.tab)
        elif not start.picker:
            await self.first_tab()
        if start.picker:
            await self.history()
        if not desk.tabs.workspace_is_ours:
            desk.say("Another Catena has this directory's tabs; ctrl+o opens their conversations, read only.")

    async def _begin_to_read(self) -> None:
        """Begin where nothing can be kept, and so nothing be said."""
        desk, start = self._desk, self._desk.start
        desk.say("The store may not be written: what was said can be read, and nothing be sent.", wrong=True)
        if start.conversation_id is not None:
            await self.show(await desk.tabs.open_conversation(start.conversation_id))
        elif desk.tab is not None:
            await self.show(desk.tab)
        else:
            await self.history()

    def _empty_tab(self, agent: AgentSpec) -> Tab | None:
        """An untouched tab of that agent, so that starting again and again leaves no trail of empty ones."""
        return next((tab for tab in self._desk.tabs.tabs if tab.untouched and tab.answered_by(agent)), None)

    async def first_tab(self) -> None:
        """A tab where there is none: with the agent of the settings, else with one that the person chooses."""
        desk = self._desk
        if desk.settings.agent is not None:
            spec: AgentSpec | None = find_agent(desk.settings.agent, desk.settings)
        else:
            spec = await self._first_agent()
        if spec is not None:
            await self.show(await desk.tabs.open_new(spec))
        elif desk.tab is None:
            desk.say("No agent is chosen: /agent lists them. Ctrl+O opens the history without one.")

    async def _first_agent(self) -> AgentSpec | None:
        """The one that the person chooses; beside another Catena the one that was used last, where it is here."""
        desk = self._desk
        last_used = await desk.tabs.last_used_agent()
        if not desk.tabs.workspace_is_ours:
            with suppress(AgentMissing):
                return default_agent(desk.settings, last_used)
        return await choices.choose_agent(
            desk.app, "which agent?", desk.settings, choices.row_of(last_used, desk.settings)
        )

    async def show(self, tab: Tab) -> None:
        """Look at a tab, and leave the other one as it is.

        The composer is this tab's at once; the transcript follows when it is read. Where that fails, the tab that is
        on the screen stays.
        """
        desk = self._desk
        before = desk.view.shown
        if before is not None and before in desk.tabs.tabs:  # a closed one keeps what it had
            self._leave(before)
        desk.view.want(tab)
        desk.handover.to(tab)
        desk.write_here()
        try:
            await desk.screen.ready_to_show()
            if desk.tab is tab:
                await desk.view.show(tab)
        except (AgentError, StoreError):
            self._stay_at(before, instead_of=tab)
            raise
        if not self._is_there(tab):  # another one was wanted meanwhile
            return
        desk.screen.tab_shown()
        desk.handover.release()
        if not tab.prepared and not tab.conversation.read_only:
            tab.prepared = True
            if before is None or tab.untouched:
                for directory in desk.start.further_directories:
                    await tab.conversation.add_directory(directory)
            # To start a process holds everything up; what is to be read is drawn before.
            desk.parts.transcript.call_after_refresh(self._prepare, tab)

    def _prepare(self, tab: Tab) -> None:
        if tab in self._desk.tabs.tabs:
            self._desk.run(tab.window.prepare())

    def _leave(self, tab: Tab) -> None:
        """Take the draft and the place of the tab that is shown from the screen."""
        self._desk.handover.write()
        if tab is not self._desk.view.moving:  # else this place may be of another leaf
            tab.scroll = self._desk.parts.transcript.position()
        self._desk.run(self._desk.tabs.keep(tab))

    def _stay_at(self, tab: Tab | None, *, instead_of: Tab) -> None:
        desk = self._desk
        desk.handover.give_up(instead_of)
        if desk.tab is instead_of and tab is not None and tab in desk.tabs.tabs:
            desk.view.want(tab)
            desk.handover.to(tab)
            desk.handover.release()

    @hands_over
    async def new(self, argument: str = "") -> None:
        """A new conversation with the agent of this tab, in a new tab."""
        desk = self._desk
        spec = choices.kept_agent(desk.tab, desk.settings) if desk.tab else desk.start.agent
        if spec is None:
            await self.first_tab()
        else:
            await self.show(await desk.tabs.open_new(spec))

    @hands_over
    async def history(self, argument: str = "") -> None:
        """Choose a conversation; it opens in its tab or in a new one."""
        desk = self._desk
        opened = frozenset(tab.conversation.id for tab in desk.tabs.tabs)
        chosen = await desk.app.push_screen_wait(
            HistoryScreen(
                desk.tabs.summaries, now=utc_now(), opened=opened, acts=HistoryActs(desk.tabs.undoing)
            )
        )
        gone = desk.view.shown is not None and desk.view.shown not in desk.tabs.tabs
        if gone and chosen is None:
            await self.show_what_is_left(desk.view.shown)
            return
        if chosen is not None:
            await self.show(await desk.tabs.open_conversation(chosen))
        elif desk.tab is None:
            await self.first_tab()

    @hands_over
    async def close(self, argument: str = "") -> None:
        """Close this tab; the last one makes room for a new one."""
        desk = self._desk
        if (tab := desk.tab) is None:
            return
        if not desk.tabs.read_only:  # /undo brings it back as it is
            if tab is desk.view.shown:
                tab.scroll = desk.parts.transcript.position()
            await desk.tabs.keep(tab)
        await desk.tabs.close(tab)
        await self.show_what_is_left(tab)

    async def show_what_is_left(self, gone: Tab | None) -> None:
        """Look at another tab after one is gone; where it was the last, a new one with its agent."""
        desk = self._desk
        spec = choices.kept_agent(gone, desk.settings) if gone else None
        if desk.tab is not None:
            await self.show(desk.tab)
        elif spec is not None:
            await self.show(await desk.tabs.open_new(spec))
        else:
            desk.handover.to(None)
            await self.first_tab()

    def step(self, step: int) -> None:
        """To the next tab, around the ends."""
        if len(self._desk.tabs.tabs) > 1:
            self._desk.write_here()
            self._desk.run(self._step(step))

    def go_to(self, index: int) -> None:
        """To a tab, counted from 0."""
        tabs = self._desk.tabs.tabs
        if index < len(tabs) and not self._is_there(tabs[index]):
            self._desk.write_here()
            self._desk.run(self._go_to(tabs[index]))

    def _is_there(self, tab: Tab) -> bool:
        return tab is self._desk.view.shown and tab is self._desk.tab

    @hands_over
    async def _step(self, step: int) -> None:
        tabs, tab = self._desk.tabs.tabs, self._desk.tab
        if tab in tabs:  # as it is by now: the keys before this one have had their effect
            await self.show(tabs[(tabs.index(tab) + step) % len(tabs)])

    @hands_over
    async def _go_to(self, tab: Tab) -> None:
        if tab in self._desk.tabs.tabs and not self._is_there(tab):
            await self.show(tab)


class TakeoverActions:
    """Acts on who holds the conversation of the tab that is looked at."""

    def __init__(self, desk: ChatContext) -> None:
        self._desk = desk

    async def take_over(self, argument: str = "") -> None:
        """Go on here with a conversation whose Catena is gone; one that lives is named."""
        if (tab := self._desk.tab) is None:
            return
        if not tab.conversation.read_only:
            self._desk.say("This conversation is yours already.")
            return
        await tab.window.take_over()
        self._desk.say("This conversation is yours now; what its Catena left open is closed.")
        await tab.window.prepare()


class SuspendAction:
    """Stops the program as a shell's Ctrl+Z does."""

    def __init__(self, desk: ChatContext) -> None:
        self._desk = desk

    async def suspend(self, argument: str = "") -> None:
        """To the shell, where there is one that can bring us back."""
        if os.getsid(0) == os.getpid():
            self._desk.say("No shell started this Catena, and nobody could bring it back.")
        else:
            self._desk.app.action_suspend_process()

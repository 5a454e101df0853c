"""The start of a directory without tabs: what stands there, and taking a row of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from catena.screens.chat.actions.agent import install_in_terminal
from catena.screens.chat.context import ChatContext
from catena.screens.chat.panels.start import (
    AgentRow,
    ConversationRow,
    FoldRow,
    OthersRow,
    RecentRow,
    StartPanel,
)
from catena.settings.agent_choices import (
    AgentChoice,
    agent_choices,
    agent_versions,
    offered_agents,
    with_versions,
)
from catena.settings.agents import find_agent, titles_of
from catena.text.formats import time_or_day
from catena.text.names import conversation_name
from catena.workspace.outgoing import UnplacedDraft
from catena_acp.agents.catalog import catalog
from catena_acp.continuity.wording.problems import problem_of_notice
from catena_store.errors import StoreError
from catena_store.records import Message, Summary

if TYPE_CHECKING:
    from catena.workspace.tab import Tab

_LISTED = 3  # conversations


async def open_start(context: ChatContext) -> None:
    """Show the start; versions are read in the background, since they take time."""
    conversation = context.parts.conversation
    last_used = await context.tabs.last_used_agent()
    newest, count = await context.tabs.newest_here(_LISTED)
    offered = await offered_agents()
    if context.tab is not None:
        return
    conversation.show_start()
    conversation.start.show_agents(agent_choices(context.settings, last_used, offered))
    title_of_agent = titles_of(context.settings)
    in_catalogue = {entry.name: entry.short_title for entry in catalog()}

    def row(summary: Summary, last: Message | None) -> ConversationRow:
        agent = title_of_agent(summary.agent, summary.profile) or in_catalogue.get(summary.agent)
        return ConversationRow(
            summary.id,
            conversation_name(summary.title, summary.preview),
            agent or summary.agent,
            summary.messages,
            time_or_day(summary.updated_at, context.clock()),
            failed=last is not None and problem_of_notice(last) is not None,
        )

    conversation.start.show_conversations([row(*each) for each in newest], more=count - len(newest))
    context.run(_show_versions(context))
    context.run(_show_others(context))


async def _show_others(context: ChatContext) -> None:
    from catena.history.sessions_here import sessions_here  # behind the first frame

    with suppress(StoreError):
        here = await sessions_here(context.tabs.store, context.settings, context.tabs.directory)
        if here:
            context.parts.conversation.start.show_others(
                f"{here}: {context.keys.shown('history')} shows them"
            )


async def _show_versions(context: ChatContext) -> None:
    start = context.parts.conversation.start
    versions = await agent_versions(context.settings)
    start.show_agents(with_versions(start.agents, versions))


class ShowsTabs(Protocol):
    """What leads from the start to a tab."""

    beginning: bool  # the first tab is being looked for, and is the one of the agent that is chosen meanwhile

    async def show(self, tab: Tab, way: UnplacedDraft | None = None) -> None:
        """Show a tab, with what was written on the ``way`` to it."""

    async def first_tab(self, way: UnplacedDraft) -> None:
        """Open the first tab if it is known with which agent."""


class StartActions:
    """Actions on the start."""

    def __init__(
        self, context: ChatContext, tabs: ShowsTabs, *, history: Callable[[], Awaitable[None]]
    ) -> None:
        """``history`` lets the person choose a conversation, and shows it."""
        self._context = context
        self._tabs = tabs
        self._history = history

    @property
    def _panel(self) -> StartPanel:
        return self._context.parts.conversation.start

    @property
    def open(self) -> bool:
        """True while the start is on the screen, and no tab is on its way."""
        return self._panel.display and self._context.drafts.nowhere

    @property
    def heeds_keys(self) -> bool:
        """True while its rows can be chosen: it is open, or on the screen while the first tab is looked for."""
        return self.open or (self._panel.display and self._tabs.beginning)

    @property
    def keeps_text(self) -> bool:
        """True where Enter leads to no chat, so that what is written stays in the composer."""
        selected = self._panel.selected
        return self.open and selected is not None and not selected.starts

    def move(self, step: int) -> None:
        """Select another row."""
        self._panel.move(step)

    def take(self) -> Awaitable[None]:
        """Do what the selected row stands for; what is written goes along to a chat."""
        match self._panel.selected:
            case AgentRow() as row if row.starts and self._tabs.beginning:
                self._panel.taken = row
                return _noted()
            case AgentRow(choice=choice) if choice.found and self.open:
                return self._start_agent(choice.name, self._context.drafts.set_out())
            case ConversationRow(id=id) if self.open:
                return self._continue(id, self._context.drafts.set_out())
            case None if self._context.drafts.nowhere:
                return self._choose(self._context.drafts.set_out())
            case _:
                return self._act()

    async def _start_agent(self, name: str, way: UnplacedDraft) -> None:
        context = self._context
        with context.drafts.under_way(way):
            spec = find_agent(name, context.settings)
            await self._tabs.show(await context.tabs.open_new(spec), way)

    async def _continue(self, conversation_id: str, way: UnplacedDraft) -> None:
        with self._context.drafts.under_way(way):
            await self._tabs.show(await self._context.tabs.open_conversation(conversation_id), way)

    async def _choose(self, way: UnplacedDraft) -> None:
        with self._context.drafts.under_way(way):
            await self._tabs.first_tab(way)

    async def _act(self) -> None:
        if not self.heeds_keys:
            return
        match self._panel.selected:
            case FoldRow():
                self._panel.toggle()
            case RecentRow() | OthersRow():
                await self._history()
            case AgentRow(choice=choice) if choice.installable:
                await self._install(choice)
            case AgentRow(choice=choice):
                self._context.say(f"{choice.title} is not installed: {choice.how}")
            case _:
                pass

    async def _install(self, choice: AgentChoice) -> None:
        context = self._context
        done, words = await install_in_terminal(context.app, choice)
        if done:
            last_used = await context.tabs.last_used_agent()
            known = agent_choices(context.settings, last_used, await offered_agents())
            self._panel.show_agents(with_versions(known, await agent_versions(context.settings)))
        context.say(f"{words} Enter starts it." if done else words)


async def _noted() -> None:
    """Do nothing: whoever looks for the first tab comes to what was chosen."""

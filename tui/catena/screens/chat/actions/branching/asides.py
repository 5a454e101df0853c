"""Questions beside the conversation: any question, a summary, the text of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from catena.acts import agents
from catena.mentions.prompt_files import with_mentions_of
from catena.screens.chat.context import ChatContext
from catena.text.aside_text import PULL_REQUEST, SUMMARY, with_wish
from catena.text.safe_text import safe
from catena.workspace.outgoing import Stage
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:  # the screen of an aside is not needed before there is one
    from catena.screens.aside.screen import AsideResult
    from catena.screens.chat.actions.tabs import TabActions
    from catena.workspace.tab import Tab


class AsideActions:
    """Actions beside the conversation of the active tab."""

    def __init__(self, context: ChatContext, tabs: TabActions) -> None:
        self._context = context
        self._tabs = tabs

    async def btw(self, argument: str = "") -> None:
        """Ask a question that leaves no trace in the conversation."""
        await self._ask(argument, f"/btw {argument}", "aside")

    async def summary(self, argument: str = "") -> None:
        """Ask the agent for a summary of the conversation; ``argument`` is what the person wishes of it."""
        await self._ask(with_wish(SUMMARY, argument), f"/summary {argument}".strip(), "summary")

    async def pull_request(self, argument: str = "") -> None:
        """Ask the agent for the text of a pull request; ``argument`` is what the person wishes of it."""
        await self._ask(with_wish(PULL_REQUEST, argument), f"/pr {argument}".strip(), "pull-request")

    async def _ask(self, question: str, typed: str, stem: str) -> None:
        from catena.screens.aside.screen import AsideScreen

        context = self._context
        if (tab := context.tab) is None:
            context.say("No conversation to ask about yet.")
            context.drafts.prefix(f"{typed}\n")
            return
        asked = context.tabs.outgoing.add(typed, tab, stage=Stage.HELD)
        try:
            aside = await tab.conversation.asides.begin(tab.window)
        except (AgentError, StoreError, ReadOnly):
            context.drafts.restore_outgoing(asked)
            raise
        screen = AsideScreen(
            aside,
            question=question,
            typed=typed,
            directory=tab.conversation.record.cwd,
            stem=stem,
            open_link=context.screen.open_link,
            mentioned=lambda text: with_mentions_of(tab, text, ()),
            still=context.screen.still,
            vim=context.settings.vim,
        )
        asked.back = lambda: screen.restore(tab)
        try:
            left = await context.app.push_screen_wait(screen)
        finally:
            # It is closed beside what the person does next.
            context.run(aside.close())
        context.tabs.outgoing.remove(asked)
        await self._go_on(tab, left)

    async def _go_on(self, tab: Tab, left: AsideResult) -> None:
        from catena.screens.aside.screen import Destination

        context = self._context
        context.write_here()
        if left.unasked:
            context.drafts.restore(tab, f"/btw {left.unasked}")
        match left.destination:
            case Destination.NOWHERE:
                pass
            case Destination.COMPOSER:
                context.parts.composer.quote(safe(left.answer))
            case Destination.NEW_CONVERSATION:
                spec = agents.kept_agent(tab, context.settings)
                if spec is None:
                    context.say(
                        "This conversation's agent is no longer installed; "
                        + context.keys.said("press {aside_insert} to put the text into the composer.")
                    )
                    return
                cwd = tab.conversation.record.cwd
                await self._tabs.open_with(spec, cwd=cwd, draft=f"{safe(left.answer)}\n\n")
                context.say("Add your request and send it; nothing has been sent yet.")
            case _:
                assert_never(left.destination)

"""The same prompt for several agents at once, and the comparison of what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.mentions.prompt_files import with_mentions_of
from catena.screens.chat.actions.agent import settings as choices
from catena.screens.chat.actions.branching.editing import EditActions
from catena.screens.chat.actions.prompting.prompts import BUSY, PromptActions
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import WENT_ON, ChatContext
from catena.screens.chat.panels.fork import ENTER, ForkQuestion
from catena.screens.common.picker import Picker
from catena.settings.agents import leading_agents
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row
from catena.workspace.asking import NO_OTHER, make_all_ready, refusal_to_ask
from catena.workspace.outgoing import Stage
from catena.workspace.tab import Tab
from catena_acp.errors import AgentError, AgentMissing
from catena_acp.port.port import AgentSpec
from catena_store.errors import StoreError
from catena_store.records import Attachment, Message

_WHICH = "Ask which agent the same prompt?"
_EDITED = "Send the edited prompt first, or leave the edit with {stop}."
_KEPT = "The prompt waits in each composer."


class AskActions:
    """Actions that ask several agents the same, each in a conversation that goes on from the same message."""

    def __init__(
        self, context: ChatContext, tabs: TabActions, edits: EditActions, prompts: PromptActions
    ) -> None:
        self._context = context
        self._tabs = tabs
        self._edits = edits
        self._prompts = prompts
        self._panel = context.parts.fork

    async def ask(self, argument: str = "") -> None:
        """Send the prompt behind the agents' names, else the draft, to the tab's agent and to these at once.

        Without either, send the last prompt to these.
        """
        context = self._context
        if (tab := context.seen) is None:
            return
        if tab.editing is not None:
            context.say(context.keys.said(_EDITED))
            return
        try:
            specs, text = leading_agents(argument, context.settings)
        except AgentMissing:
            context.drafts.rewrite(tab, lambda: tab.restore(f"/ask {argument}"))
            raise
        if text:
            context.drafts.rewrite(tab, lambda: tab.restore(text))
        prompt = None if tab.draft.strip() else context.presenter.last_prompt
        if why := _refusal(tab, prompt):
            context.say(context.keys.said(why))
            return
        point = prompt.parent_id if prompt else await tab.window.leaf.fork_point()
        if not specs:
            chosen = await choices.choose_agent(
                context.app,
                _WHICH,
                context.settings,
                None,
                prices=lambda offered: self._prices(tab, offered, point),
            )
            if chosen is None:
                return
            specs = [chosen]
        await self._ask(tab, specs, prompt, point)

    async def _prices(self, tab: Tab, specs: Sequence[AgentSpec], point: str | None) -> list[str]:
        """What each of the agents would need, in words."""
        price = tab.conversation.chain.price
        return [(await price(tab.window, spec=spec, leaf_id=point, apart=True)).words for spec in specs]

    async def _ask(
        self, tab: Tab, specs: Sequence[AgentSpec], prompt: Message | None, point: str | None
    ) -> None:
        context, place = self._context, self._context.place()
        titles = [safe_line(tab.title_of(spec)) for spec in specs]
        prices = await self._prices(tab, specs, point)
        if prompt is None:
            titles.insert(0, safe_line(tab.window.session.agent_title))
            prices.insert(0, (await tab.conversation.chain.price(tab.window)).words)
        if tab is not context.tab or place != context.place():  # its keys would take what is typed
            context.say(WENT_ON)
            return
        what = "this prompt at once" if prompt is None else "the last prompt, too"
        priced = [f"{title}: {price}" for title, price in zip(titles, prices, strict=True)]
        question = ForkQuestion(
            f"Ask {_listed(titles)} {what}?",
            " · ".join(priced),
            "Ask",
            note=f"All of them work in {safe_line(from_home(tab.conversation.record.cwd))},"
            " and may change the same files.",
        )
        if await self._panel.ask(question) != ENTER or tab is not context.tab:
            self._edits.back_to(None)
            return
        context.write_here()
        context.run(self._begin(tab, specs, prompt))

    async def _begin(self, tab: Tab, specs: Sequence[AgentSpec], prompt: Message | None) -> None:
        """Fork for each of the agents, and send the prompt to all of them as soon as all are ready."""
        context = self._context
        context.say("Starting …")
        others = await self._forks(tab, specs, prompt)
        if context.panes.room and context.tab is tab:
            await context.panes.stand_beside(context.pane, others[0])
        if prompt is not None:
            text = others[0].draft
            await make_all_ready(others, kept=_KEPT)
        else:
            text, files = tab.draft, tab.draft_files
            await self._say(tab, others, text, files)
        for other in others:
            if other.written == text:  # else the person has changed it there
                context.drafts.rewrite(other, lambda other=other: other.write(""))  # type: ignore[misc]
                await self._prompts.send(other, text)
        context.say("Asked. /compare shows the answers side by side.")

    async def _forks(self, tab: Tab, specs: Sequence[AgentSpec], prompt: Message | None) -> list[Tab]:
        """A tab for each of the agents, which goes on from the same message and has the prompt as its draft.

        Raises AgentError, StoreError: then there are none.
        """
        context, others = self._context, list[Tab]()
        text, files = tab.draft, tab.draft_files
        try:
            for spec in specs:
                at = prompt.id if prompt else None
                other, _ = await context.tabs.fork(tab, at=at, beside=True, agent=spec)
                others.append(other)
                if prompt is None:
                    other.draft, other.draft_files = text, files
                    await self._edits.keep(other)
        except (AgentError, StoreError):
            for other in others:
                await context.tabs.close(other)
            raise
        return others

    async def _say(self, tab: Tab, others: Sequence[Tab], text: str, files: tuple[Attachment, ...]) -> None:
        """Send the draft of a tab once all agents are ready; else it is the draft again."""
        context = self._context

        async def say() -> None:
            await make_all_ready((tab, *others), kept=_KEPT)
            await tab.window.say(text, await with_mentions_of(tab, text, files))

        outgoing = context.tabs.outgoing.add(
            text, tab, stage=Stage.STORING, back=lambda: tab.restore(text, files)
        )
        context.drafts.rewrite(tab, lambda: tab.write(""))
        tab.draft_files = ()
        if tab is context.presenter.shown:
            context.parts.transcript.follow()
        await context.drafts.store(outgoing, say())
        if tab.draft.strip():  # typed meanwhile, and taken out of the store with what was sent
            await context.tabs.keep(tab)

    # --- what they answer

    async def compare(self) -> None:
        """Compare the branch of the tab with that of another tab, and keep one of them if the person wants that."""
        context = self._context
        if (tab := context.seen) is None:
            return
        if not any(each.leaf_id is not None for each in context.tabs.kin(tab)):
            await self._compare_versions(tab)
            return
        other = await self._other(tab)
        if other is None or tab.leaf_id is None or other.leaf_id is None:
            return
        from catena.screens.comparison.screen import ComparedBranch, ComparisonScreen

        pair = sorted((tab, other), key=context.tabs.tabs.index)  # from the left
        branches = [
            ComparedBranch(each.window.session.agent_title, each.leaf_id or "", works=each.window.busy)
            for each in pair
        ]
        await asyncio.gather(*(each.conversation.settle() for each in pair))
        kept: list[int] = []
        screen = ComparisonScreen(
            tab.conversation.tree,
            tab.conversation.changes,
            branches[0],
            branches[1],
            keep=kept.append,
            subject=context.subject,
        )
        await context.app.push_screen_wait(screen)
        if kept and tab in context.tabs.tabs and other in context.tabs.tabs:
            await self._keep(pair[kept[0]], gone=pair[1 - kept[0]])

    async def _compare_versions(self, tab: Tab) -> None:
        """Compare the branch of a tab with another version of its last prompt that has several."""
        from catena.screens.comparison.screen import ComparedBranch, ComparisonScreen

        context = self._context
        await tab.conversation.settle()
        found = await context.tabs.branches.versions(tab)
        versions = {f"{number}": version for number, version in enumerate(found, start=1)}
        others = [number for number, version in versions.items() if not version.here]
        if not others or len(others) == len(versions):
            context.say(NO_OTHER)
            return
        chosen: str | None = others[0]
        if len(others) > 1:
            rows = [
                Row(
                    number,
                    safe_line(versions[number].agent) or f"Version {number}",
                    detail=safe_line(versions[number].text),
                )
                for number in others
            ]
            chosen = await context.app.push_screen_wait(
                Picker("Compare with", rows, enter="compare", subject=context.subject)
            )
        pair = [
            ComparedBranch(
                version.agent or f"Version {number}",
                version.leaf_id,
                works=version.here and tab.window.busy,
            )
            for number, version in versions.items()
            if version.here or number == chosen
        ]
        if len(pair) == 2:
            changes, tree = tab.conversation.changes, tab.conversation.tree
            screen = ComparisonScreen(tree, changes, *pair, subject=context.subject)
            await context.app.push_screen_wait(screen)

    async def _other(self, tab: Tab) -> Tab | None:
        """The tab to compare with: the one side by side, the only one, or the one that the person chooses."""
        context = self._context
        kin = [each for each in context.tabs.kin(tab) if each.leaf_id is not None]
        other = context.tabs.panes.other(context.pane)
        if other is not None and other.tab in kin:
            return other.tab
        if len(kin) == 1:
            return kin[0]
        rows = [
            Row(each.window_id, each.name(), detail=safe_line(each.window.session.agent_title))
            for each in kin
        ]
        chosen = await context.app.push_screen_wait(
            Picker("Compare with", rows, enter="compare", subject=context.subject)
        )
        return next((each for each in kin if each.window_id == chosen), None)

    async def _keep(self, tab: Tab, *, gone: Tab) -> None:
        """Go on in one of two tabs, and close the other one; its branch stays in the tree."""
        title, stopped = safe_line(gone.window.session.agent_title), gone.window.at_work
        await self._tabs.keep_only(tab, gone)
        ended = f" {title} was working and is stopped." if stopped else ""
        self._context.panes.say(
            f"Kept.{ended} The branch of {title} stays in /tree; /undo opens its tab again."
        )


def _refusal(tab: Tab, prompt: Message | None) -> str:
    """Why nobody can be asked now, in words; "" if they can."""
    why = refusal_to_ask(tab.draft, prompt)
    return why or (BUSY if tab.draft.strip() and tab.at_work else "")


def _listed(titles: Sequence[str]) -> str:
    *most, last = titles
    return f"{', '.join(most)} and {last}" if most else last

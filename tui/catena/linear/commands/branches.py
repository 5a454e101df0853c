"""Branches: forks, versions of a prompt, the tree, other agents on the same prompt, and undo."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from catena.acts.conversations import next_price
from catena.acts.surface import Refused
from catena.linear import rows
from catena.linear.commands.files import offer_files
from catena.linear.commands.prompts import BUSY, PromptCommands, prompt_of
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext, ListRow
from catena.settings.agents import leading_agents
from catena.text.changes_text import shown_path
from catena.text.safe_text import safe_line
from catena.workspace.asking import NO_OTHER, make_all_ready, refusal_to_ask
from catena.workspace.tab import Tab
from catena_acp.changes.hunks import diffs_of_files
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.errors import AgentError
from catena_acp.port.port import AgentSpec
from catena_store.conversations import branches, messages
from catena_store.errors import StoreError
from catena_store.records import Kind, Message

_KEPT = "The prompt is the draft of each tab: /send sends it, /draft reads it."
_LATER = "Later messages stay in the tree"
_MOST_FILES = 20  # of a branch whose changes are read out
_PREVIEW = 80  # characters of a prompt


class BranchCommands:
    """Actions on the branch of the tab that is read."""

    def __init__(
        self,
        context: LinearContext,
        tabs: TabCommands,
        prompts: PromptCommands,
        act: Callable[..., Awaitable[None]],
    ) -> None:
        self._context = context
        self._tabs = tabs
        self._prompts = prompts
        self._act = act

    async def ask(self, argument: str) -> None:
        """Send a prompt, else the draft, to this agent and to others at once, each in a tab of its own.

        Without either, send the last prompt to the others.
        """
        context, tab = self._context, self._context.here
        specs, text = leading_agents(argument, context.settings)
        text = text or tab.draft
        last = await context.tabs.branches.prompt_of(tab.leaf_id) if tab.leaf_id else None
        if why := refusal_to_ask(text, last):
            raise Refused(why)
        prompt = None if text.strip() else last
        if prompt is None and tab.at_work:
            raise Refused(BUSY)
        point = prompt.parent_id if prompt else await tab.window.leaf.fork_point()
        price = tab.conversation.chain.price

        async def prices(offered: Sequence[AgentSpec]) -> list[str]:
            return [(await price(tab.window, spec=spec, leaf_id=point, apart=True)).words for spec in offered]

        if not specs:
            chosen = await self._tabs.choose_agent(
                "Choose: ask which agent the same prompt?", (tab.agent, tab.profile), prices
            )
            if chosen is None:
                return
            specs = [chosen]
        if prompt is None:
            context.out.line(f"{context.title}: {(await price(tab.window)).words}")
        for spec in specs:
            words = (await price(tab.window, spec=spec, leaf_id=point, apart=True)).words
            context.out.line(f"{safe_line(tab.title_of(spec))}: {words}")
        if not await context.confirm(
            "All of them work in the same directory, and may change the same files.", "ask them"
        ):
            return
        if text == tab.draft:
            tab.draft = ""
        others = await self._forks_of(tab, specs, text, prompt)
        try:
            await make_all_ready(others if prompt else (tab, *others), kept=_KEPT)
        except (AgentError, StoreError):
            if prompt is None:
                tab.restore(text)
                await context.tabs.keep(tab)
            raise
        for other in others:
            asked, other.draft = other.draft, ""
            await self._prompts.say(asked, tab=other)
            await context.tabs.keep(other)
        if prompt is None:
            await self._prompts.say(text)
            await context.tabs.keep(tab)

    async def _forks_of(
        self, tab: Tab, specs: Sequence[AgentSpec], text: str, prompt: Message | None
    ) -> list[Tab]:
        """A tab for each of the agents, with the text, else the ``prompt``, as its draft.

        Raises AgentError, StoreError: then there are none.
        """
        tabs, others = self._context.tabs, list[Tab]()
        try:
            for spec in specs:
                at = prompt.id if prompt else None
                other, _ = await tabs.fork(tab, at=at, beside=True, agent=spec)
                others.append(other)
                if prompt is None:
                    other.draft, other.draft_files = text, tab.draft_files
                    await tabs.keep(other)
        except (AgentError, StoreError):
            for other in others:
                await tabs.close(other)
            if prompt is None:
                tab.restore(text)
                await tabs.keep(tab)
            raise
        return others

    # --- versions

    async def versions(self, argument: str) -> None:
        """List the versions of a prompt; `/open` goes to one, with all that came after it."""
        context, tab = self._context, self._context.here
        prompt = await prompt_of(context, argument)
        number = context.numbers.of(prompt.id)
        async with context.tabs.store.read() as reader:
            ids = await branches.siblings(reader, prompt.id, tab.conversation.id)
            found = [await messages.get(reader, id) for id in ids]
        here = ids.index(prompt.id) if prompt.id in ids else 0
        if len(ids) < 2:
            raise Refused(f"You {number} has one version; /edit {number} makes another.")

        async def go(step: int) -> None:
            if step and not await context.tabs.move(tab, tab.window.to_sibling(prompt.id, step)):
                context.say("That version is gone.")
            elif step:
                await self._tabs.arrive(tab)
                context.say(f"{_LATER}.{await next_price(tab)}")
                await offer_files(context, tab)
            else:
                context.say("You are already there.")

        context.show(
            f"You {number} has {counted(len(ids), 'version')}. /open and a number goes there.",
            [
                ListRow(
                    f"{_shortened(row.text) if row else 'gone'}{', here' if at == here else ''}",
                    partial(go, at - here),
                )
                for at, row in enumerate(found)
            ],
        )

    async def compare(self, argument: str) -> None:
        """Compare the branch that is read with that of a tab, by its number, or with another version of a prompt."""
        tab = self._context.here
        compared = self._tab_of(tab, argument) if argument else await self._compared_with(tab)
        if compared is None or tab.leaf_id is None:
            return
        await self._say_comparison(tab, tab.leaf_id, *compared)

    def _tab_of(self, tab: Tab, argument: str) -> tuple[str, str]:
        """The leaf of a tab by its number, and what it is called. Raises Refused."""
        context = self._context
        tabs = context.tabs.tabs
        if not (argument.isdecimal() and 1 <= int(argument) <= len(tabs)) or tabs[int(argument) - 1] is tab:
            raise Refused("/compare N compares this branch with that of another tab; /tabs lists them.")
        other = tabs[int(argument) - 1]
        if tab.leaf_id is None or other.leaf_id is None:
            raise Refused("There is nothing to compare yet.")
        if other not in context.tabs.kin(tab):
            raise Refused("These two share no beginning.")
        return other.leaf_id, f"Tab {argument}"

    async def _compared_with(self, tab: Tab) -> tuple[str, str] | None:
        """The leaf and the name of what there is to compare with: other tabs, else other versions of a prompt.

        Where there are several, the person chooses. Raises Refused.
        """
        context, tabs = self._context, self._context.tabs
        offered = [
            (each.leaf_id, f"Tab {tabs.tabs.index(each) + 1}", safe_line(each.name()))
            for each in tabs.kin(tab)
            if each.leaf_id is not None
        ]
        if not offered:
            await tab.conversation.settle()
            offered = [
                (each.leaf_id, f"Version {number}", _shortened(f"{each.agent} {each.text}".strip()))
                for number, each in enumerate(await tabs.branches.versions(tab), start=1)
                if not each.here
            ]
        if not offered:
            raise Refused(NO_OTHER)
        at: int | None = 0
        if len(offered) > 1:
            at = await context.choose(
                "Choose: compare with which?", [f"{name}, {words}" for _, name, words in offered]
            )
        return None if at is None else offered[at][:2]

    async def _say_comparison(self, tab: Tab, leaf_id: str, other_id: str, other_name: str) -> None:
        context = self._context
        await tab.conversation.settle()
        found = await tab.conversation.tree.compare(leaf_id, other_id)
        scope = ChangeScope(Since.CHECKPOINT, found.shared)
        read = [await tab.conversation.changes.read(leaf, scope) for leaf in (leaf_id, other_id)]
        context.say(f"Both share {counted(found.shared_prompts, 'prompt')}.")
        tails = ((found.left, "Here"), (found.right, other_name))
        for (tail, name), changes in zip(tails, read, strict=True):
            spoken = [row for row in tail.rows if row.kind in (Kind.USER, Kind.AGENT)]
            context.out.line(
                f"{name}: {counted(len(spoken), 'message')}, {counted(len(changes.files), 'file')} changed"
            )
            for row in spoken:
                word = "You" if row.kind is Kind.USER else context.agent
                context.out.line(f"{name}, {word}: {_shortened(row.text)}")
            for diff in await asyncio.to_thread(diffs_of_files, changes.files[:_MOST_FILES]):
                path = shown_path(diff.file.path, changes.directory)
                context.out.line(f"{name}, file: {path}, {rows.size_words(diff.added, diff.removed)}")
            if (more := len(changes.files) - _MOST_FILES) > 0:
                context.out.line(f"{name}: {counted(more, 'more file')}")
            if tail.rows and changes.caveat:
                context.out.line(f"{name}: {changes.caveat}")


def _shortened(text: str) -> str:
    line = safe_line(text)
    return line if len(line) <= _PREVIEW else f"{line[: _PREVIEW - 3].rstrip()}..."

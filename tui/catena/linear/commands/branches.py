"""The versions of a prompt."""

from __future__ import annotations

from functools import partial

from catena.acts.conversations import next_price
from catena.acts.surface import ALREADY_THERE, Refused
from catena.linear.commands.prompts import offer_files, prompt_of
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext, ListRow
from catena.text.formats import shortened
from catena_acp.continuity.wording.counts import counted
from catena_store.conversations import branches, messages

_LATER = "Later messages stay in the tree"


class BranchCommands:
    """Actions on the branch of the tab that is read."""

    def __init__(self, context: LinearContext, tabs: TabCommands) -> None:
        self._context = context
        self._tabs = tabs

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
                context.say(ALREADY_THERE)

        context.show(
            f"You {number} has {counted(len(ids), 'version')}. /open and a number goes there.",
            [
                ListRow(
                    f"{shortened(row.text) if row else 'gone'}{', here' if at == here else ''}",
                    partial(go, at - here),
                )
                for at, row in enumerate(found)
            ],
        )

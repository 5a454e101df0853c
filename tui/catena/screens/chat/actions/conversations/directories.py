"""The directory of a conversation: working in another one, and what to do where it is gone."""

from __future__ import annotations

import asyncio
from functools import partial

from catena.errors import CommandRefused
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row
from catena.widgets.sheet_head import Subject
from catena.workspace.directories import existing_directory, is_directory
from catena.workspace.tab import Tab
from catena_acp.errors import AgentMissing, ReadOnly

_ENDING = 40  # characters of a path that stand for it
_OTHER, _READ = "other", "read"
_COMMAND = "/cd "


class DirectoryActions:
    """Actions on the directory of the active tab's conversation."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def change(self, argument: str = "") -> None:
        """Continue in the named directory, relative to the present one; without one, say where that is."""
        context = self._context
        if (tab := context.tab) is None:
            return
        cwd = tab.conversation.record.cwd
        if not argument:
            if await self.is_gone(tab):
                await self.ask(tab)
            else:
                context.say(f"This conversation works in {safe_line(from_home(cwd))}. /cd DIR changes that.")
            return
        try:
            base = cwd if await asyncio.to_thread(is_directory, cwd) else context.tabs.directory
            path = await asyncio.to_thread(partial(existing_directory, argument, base=base))
        except CommandRefused as refused:
            context.say(str(refused), wrong=True)
            return
        await self._move(tab, path)

    async def is_gone(self, tab: Tab) -> bool:
        """True if the conversation's directory is not there."""
        return not await asyncio.to_thread(is_directory, tab.conversation.record.cwd)

    async def ask(self, tab: Tab) -> None:
        """Ask where to continue a conversation whose directory is gone; it can be read in any case."""
        context = self._context
        gone = safe_line(from_home(tab.conversation.record.cwd))
        offered = await context.tabs.moved_directories(tab)
        if context.tab is not tab:  # the person went elsewhere, and is asked when they come back
            tab.prepared = False
            return
        rows = [
            *(Row(each.path, _ending(safe_line(from_home(each.path))), note=each.why) for each in offered),
            Row(_OTHER, "another directory", note="type it behind /cd"),
            Row(_READ, "only read", note="nothing can be sent"),
        ]
        where = Picker(
            "Where to continue?", rows, enter="continue there", subject=Subject(f"{_ending(gone)} is gone")
        )
        chosen = await context.app.push_screen_wait(where)
        if context.tab is not tab:
            return
        if chosen == _OTHER:
            context.drafts.prefix(_COMMAND)
        elif chosen in (None, _READ):
            context.say(f"{gone} is gone: you can read, and /cd DIR continues elsewhere.")
        else:
            await self._move(tab, chosen)

    async def _move(self, tab: Tab, path: str) -> None:
        context, shown = self._context, safe_line(from_home(path))
        if path == tab.conversation.record.cwd:
            context.say(f"This conversation already works in {shown}.")
            return
        await tab.conversation.change_directory(path, by=tab.window_id)
        price = ""
        try:
            if not tab.untouched:
                price = f" Your next prompt: {(await tab.conversation.chain.price(tab.window)).words}."
        except (AgentMissing, ReadOnly):
            pass
        context.say(f"Continues in {shown}.{price}")
        context.presenter.refresh()
        tab.prepared = True
        await tab.window.prepare()


def _ending(path: str) -> str:
    """The end of a long path, for paths differ at their ends."""
    return path if len(path) <= _ENDING else f"…{path[1 - _ENDING :]}"

"""What a conversation has beside its messages: files touched, what it cost, further directories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from textual.content import Content

from catena.directories import existing_directory
from catena.exit_status import Refused
from catena.files_page import files_page
from catena.safe_text import safe_line
from catena.screens.desk import Desk
from catena.screens.page import PageScreen
from catena.screens.picker import Picker
from catena.spending import as_lines, spending
from catena.tab import Tab
from catena.widgets.row_list import Row
from catena_acp.conversation.inspection.files_touched import files_touched
from catena_store.conversations import branches
from catena_store.database.database import Reader
from catena_store.records import Kind

_TOOL_CALLS = 2_000  # the newest of a branch that are looked through
_WIDTH = 14  # of the names before what was spent


@dataclass(frozen=True, slots=True)
class DomainActs:
    """Acts on the tab that is looked at; each takes the text behind its command."""

    desk: Desk

    async def files(self, argument: str = "") -> None:
        """The files that were read and changed on this branch, with the changes that the agent reported."""
        desk = self.desk
        if (tab := desk.tab) is None:
            return
        rows = await desk.tabs.of_branch(
            tab, lambda reader, leaf: branches.newest_of(reader, leaf, Kind.TOOL, limit=_TOOL_CALLS)
        )
        page = await asyncio.to_thread(lambda: files_page(files_touched(rows), tab.conversation.record.cwd))
        await desk.app.push_screen_wait(PageScreen("files on this branch", page))

    async def usage(self, argument: str = "") -> None:
        """What the last turn, this branch and all branches cost."""
        desk = self.desk
        if (tab := desk.tab) is None:
            return

        async def read(reader: Reader, leaf: str | None) -> Content:
            spent = await spending(reader, tab.conversation.id, leaf)
            pairs = (
                Content.assemble(f"  {title:<{_WIDTH}}", (words, "$text-muted"))
                for title, words in as_lines(spent)
            )
            return Content("\n").join(pairs)

        page = await desk.tabs.of_branch(tab, read)
        await desk.app.push_screen_wait(PageScreen("what this conversation cost", page))

    async def add_directory(self, argument: str = "") -> None:
        """Give the conversation a directory; without one, list those that it has, and remove what is chosen."""
        if (tab := self.desk.tab) is None:
            return
        if argument:
            await self.give(tab, argument)
        else:
            await self._list(tab)

    async def give(self, tab: Tab, named: str) -> None:
        """Give a conversation the directory that was named, relative to its own."""
        desk = self.desk
        try:
            path = await asyncio.to_thread(
                partial(existing_directory, named, base=tab.conversation.record.cwd)
            )
        except Refused as refused:
            desk.say(str(refused), wrong=True)
            return
        shown = safe_line(path)
        if await tab.conversation.add_directory(path):
            desk.say(f"From the next prompt on this conversation also works in {shown}")
        else:
            desk.say(f"This conversation works already in {shown}")

    async def _list(self, tab: Tab) -> None:
        desk = self.desk
        paths = tab.conversation.directories
        if not paths:
            desk.say("This conversation has no further directory; /add-dir DIR gives it one.")
            return
        rows = [Row(path, safe_line(path)) for path in paths]
        chosen = await desk.app.push_screen_wait(
            Picker("further directories", rows, hint="enter take it away · esc leave")
        )
        if chosen is not None and await tab.conversation.remove_directory(chosen):
            desk.say(f"From the next prompt on this conversation works no more in {safe_line(chosen)}")

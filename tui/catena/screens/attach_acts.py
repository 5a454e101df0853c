"""Attaching files to the prompt that is being written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.screens.desk import Desk
from catena.tab import Tab
from catena_store.attachments import MOST_FILES, NotAttachable, read_file


class AttachActs:
    """Acts on the draft of the tab that is looked at; each takes the text behind its command."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def attach(self, argument: str = "") -> None:
        """Attach the file of this path; without one, let it be typed."""
        if not argument:
            self._desk.parts.composer.put("/attach ")
            return
        await self.attach_all([_unquoted(argument)])

    async def attach_all(self, paths: Sequence[str]) -> None:
        """Attach files."""
        if (tab := self._desk.tab) is None:
            return
        for path in paths:
            if len(tab.attachments) >= MOST_FILES:
                self._desk.say(f"A prompt takes {MOST_FILES} files; {path} is one too many.", wrong=True)
                break
            try:
                file = await asyncio.to_thread(read_file, path, directory=tab.conversation.record.cwd)
            except NotAttachable as error:
                self._desk.say(str(error), wrong=True)
                continue
            if all(file.sha256 != other.sha256 or file.name != other.name for other in tab.attachments):
                tab.attachments = (*tab.attachments, file)
        await self._keep(tab)

    async def detach(self, argument: str = "") -> None:
        """Take one off, by its name; without one, the newest."""
        if (tab := self._desk.tab) is None:
            return
        names = [file.name for file in tab.attachments]
        if argument and argument not in names:
            self._desk.say(f"No {argument} is attached.")
        elif names:
            await self.remove(tab, names.index(argument) if argument else len(names) - 1)

    async def remove(self, tab: Tab, index: int) -> None:
        """Take one off, by its place."""
        if index < len(tab.attachments):
            tab.attachments = (*tab.attachments[:index], *tab.attachments[index + 1 :])
            await self._keep(tab)

    async def _keep(self, tab: Tab) -> None:
        self._desk.view.refresh()
        await self._desk.tabs.keep_attachments(tab)


def _unquoted(path: str) -> str:
    if len(path) > 1 and path[0] == path[-1] and path[0] in "'\"":
        return path[1:-1]
    return path

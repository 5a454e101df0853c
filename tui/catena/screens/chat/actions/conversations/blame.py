"""Who wrote the lines of a file, and the way to the prompt that did."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from catena.screens.chat.context import ChatContext
from catena.text.changes_text import shown_path
from catena.workspace.tab import Tab

if TYPE_CHECKING:
    from catena.screens.blame.screen import BlamePlace
    from catena_acp.blame.authorship import BlamedFile


class BlameActions:
    """Actions on who wrote the lines of files."""

    def __init__(self, context: ChatContext, open_prompt: Callable[[str, str], Awaitable[None]]) -> None:
        """``open_prompt`` opens a conversation at a prompt."""
        self._context = context
        self._open_prompt = open_prompt

    async def blame(self, argument: str = "") -> None:
        """Show who wrote the lines of a file, from one of them on; a relative path counts from the directory."""
        if (tab := self._context.tab) is None:
            return
        from catena.text.blame_text import FileLines

        asked = await asyncio.to_thread(FileLines.read, argument, Path(tab.conversation.record.cwd))
        place = await self.show(tab, asked.path, asked.first)
        if place is not None:
            await self.open(place)

    async def show(self, tab: Tab, path: Path, line: int) -> BlamePlace | None:
        """Show a file with the cursor on a line; the prompt that the person wants to go to."""
        from catena.screens.blame.screen import BlameScreen

        context = self._context
        await tab.conversation.settle()
        screen = BlameScreen(
            path,
            line,
            shown=shown_path(str(path), tab.conversation.record.cwd),
            read=self._read,
            quote=lambda text: context.quote_into(tab, text),
            clock=context.clock,
            subject=context.subject,
        )
        return await context.app.push_screen_wait(screen)

    async def open(self, place: BlamePlace) -> None:
        """Open a conversation at a prompt, on the branch of it."""
        await self._open_prompt(place.conversation_id, place.prompt_id)

    async def _read(self, path: Path) -> BlamedFile:
        from catena_acp.blame.reading import blame

        return await blame(self._context.tabs.store, path, self._context.clock())

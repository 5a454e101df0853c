"""Attaching files to the draft."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from catena.screens.chat.context import ChatContext
from catena.workspace.outgoing import OutgoingText, Stage
from catena.workspace.tab import Tab
from catena_store.errors import NotAttachable, StoreError
from catena_store.windows.attachments import MOST_FILES, read_file


class AttachmentActions:
    """Actions on the attachments of the active tab's draft."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def attach(self, argument: str) -> None:
        """Attach the file of this path."""
        if tab := self._context.tab:
            await self._attach_all(tab, [_unquoted(argument)])

    def attach_pasted(self, paths: Sequence[str]) -> None:
        """Attach files whose paths were pasted; the path of a file that cannot be attached is restored.

        What is sent next in the draft waits for them: they go along with it.
        """
        drafts = self._context.drafts
        send = partial(self._attach_pasted, paths)
        self._context.tabs.outgoing.add("\n".join(paths), drafts.place, send=send)
        drafts.release()

    async def _attach_pasted(self, paths: Sequence[str], tab: Tab, outgoing: OutgoingText) -> None:
        drafts = self._context.drafts
        left: list[str] = []

        async def attach() -> None:
            left.extend(await self._attach_all(tab, paths))

        outgoing.stage, texts = Stage.READING, self._context.tabs.outgoing
        try:
            await texts.finish(attach(), lambda: texts.remove(outgoing))
        except StoreError:  # they are attached; only that is not kept yet
            texts.remove(outgoing)
            drafts.release()
            raise
        if left:
            drafts.restore(tab, "\n".join(left))
        drafts.release()

    async def _attach_all(self, tab: Tab, paths: Sequence[str]) -> list[str]:
        """Attach files, and return the paths of those that cannot be attached."""
        left: list[str] = []
        for path in paths:
            if len(tab.attachments) >= MOST_FILES:
                self._context.say(
                    f"At most {MOST_FILES} files per prompt; {path} was not attached.", wrong=True
                )
                left.append(path)
                continue
            try:
                file = await asyncio.to_thread(read_file, path, directory=tab.conversation.record.cwd)
            except NotAttachable as error:
                self._context.say(str(error), wrong=True)
                left.append(path)
                continue
            if all(file.sha256 != other.sha256 or file.name != other.name for other in tab.attachments):
                tab.attachments = (*tab.attachments, file)
        await self._keep(tab)
        return left

    async def detach(self, argument: str = "") -> None:
        """Detach the file of this name; without a name, the newest."""
        if (tab := self._context.tab) is None:
            return
        names = [file.name for file in tab.attachments]
        if argument and argument not in names:
            self._context.say(f"No {argument} is attached.")
        elif names:
            await self.remove(tab, names.index(argument) if argument else len(names) - 1)

    async def remove(self, tab: Tab, index: int) -> None:
        """Detach the file at this place."""
        if index < len(tab.attachments):
            tab.attachments = (*tab.attachments[:index], *tab.attachments[index + 1 :])
            await self._keep(tab)

    async def _keep(self, tab: Tab) -> None:
        self._context.presenter.refresh()
        await self._context.tabs.keep_attachments(tab)


def _unquoted(path: str) -> str:
    if len(path) > 1 and path[0] == path[-1] and path[0] in "'\"":
        return path[1:-1]
    return path

"""Exporting the conversation of the active tab into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.errors import CommandRefused
from catena.screens.chat.context import ChatContext
from catena_store.database.database import Reader

if TYPE_CHECKING:  # the first frame exports nothing
    from catena.workspace.tab import Tab


class ExportActions:
    """Actions that write the conversation of the active tab into a file."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def export(self, argument: str = "") -> None:
        """Write the tab's branch, or all branches, and say where and what was masked."""
        if (tab := self._context.tab) is None:
            self._context.say("No conversation to export yet.")
            return
        try:
            await self._export(tab, argument)
        except CommandRefused as error:
            self._context.say(str(error), wrong=True)

    async def _export(self, tab: Tab, argument: str) -> None:
        from catena.export.branch_export import export_branch, wanted_export

        async def write(reader: Reader, leaf: str | None) -> str:
            return await export_branch(
                reader,
                wanted_export(argument),
                conversation_id=tab.conversation.id,
                leaf_id=leaf,
                directory=tab.conversation.record.cwd,
                name=tab.name(),
                agent_title=(tab.session or tab.window.session).agent_title,
                rules=self._context.settings.export.mask,
            )

        self._context.say(await self._context.tabs.branches.of_branch_at_length(tab, write))

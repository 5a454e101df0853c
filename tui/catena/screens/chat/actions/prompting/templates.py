"""The prompt templates of the active tab: listed, read, and those of its project allowed or not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.screens.chat.context import ChatContext
from catena.settings.file.location import config_directory
from catena.settings.templates import Template, known_templates
from catena.widgets.commands import CommandWords

_PATIENCE = (
    0.8  # seconds, less than the keys wait; a list is shown without templates that take longer to be read
)


class TemplateActions:
    """Actions on prompt templates."""

    def __init__(self, context: ChatContext, commands: Sequence[CommandWords]) -> None:
        """``commands`` are ours, which come before a template of the same name."""
        self._context = context
        self._commands = commands

    @property
    def _directory(self) -> str:
        tab = self._context.tab
        return tab.conversation.record.cwd if tab is not None else self._context.tabs.directory

    async def known(self) -> Sequence[Template]:
        """The templates that hold here; none where they take long to be read."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return await known_templates(config_directory(), self._directory, self._context.tabs.store)
        except TimeoutError:
            return ()

    async def templates(self) -> None:
        """Show the templates; those of the project are allowed there for `catena run`, or not used."""
        from catena.screens.settings.templates import TemplatesScreen

        context = self._context
        screen = TemplatesScreen(
            config_directory(),
            self._directory,
            context.tabs.store,
            taken={name for each in self._commands for name in (each.name, *each.aliases)},
            subject=context.subject,
        )
        await context.app.push_screen_wait(screen)

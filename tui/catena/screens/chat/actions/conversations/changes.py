"""The review of what agents changed in files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from catena.mentions.roots import leads_inside, resolved_roots
from catena.screens.chat.actions.conversations.blame import BlameActions
from catena.screens.chat.context import ChatContext
from catena.terminal.programs import EditorFailed, edit_file
from catena.text.safe_text import safe_line
from catena.workspace.tab import Tab
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.snapshots.restoring import RestorePlan
from catena_store.errors import StoreError

if TYPE_CHECKING:  # neither screen is needed before there is one
    from catena.screens.blame.screen import BlamePlace
    from catena.screens.changes.screen import ChangesReader, ChangesScreen

_SCOPES = {"": Since.BRANCH, "branch": Since.BRANCH, "turn": Since.TURN, "look": Since.LOOK}


class ChangesActions:
    """Actions on the changes of the active tab's conversation."""

    def __init__(self, context: ChatContext, blaming: BlameActions) -> None:
        self._context = context
        self._blaming = blaming

    async def changes(self, argument: str = "") -> None:
        """Review the changes of the branch, of its newest turn, since the last look, or since a checkpoint."""
        if (tab := self._context.tab) is None:
            return
        named = argument.strip()
        since = _SCOPES.get(named.casefold())
        if since is not None:
            await self._review(tab, ChangeScope(since))
            return
        checkpoint = await tab.conversation.checkpoints.find(named)
        name = checkpoint.label or named
        await self._review(tab, ChangeScope(Since.CHECKPOINT, checkpoint.message_id, name))

    async def of_browsed(self) -> None:
        """Review the changes of the turn of the browsed message."""
        context = self._context
        if (tab := context.tab) is not None:
            await self._review(tab, ChangeScope(Since.TURN, context.parts.conversation.browsed))

    async def planned(self, tab: Tab, plan: RestorePlan) -> None:
        """Review what files would become by a plan."""
        from catena.screens.changes.review import PlannedChanges

        reader = PlannedChanges(plan, tab.conversation.record.cwd)
        chosen: list[BlamePlace] = []
        review = self._screen(tab, reader, ChangeScope(Since.PLANNED), chosen)
        await self._context.app.push_screen_wait(review)
        for place in chosen:
            await self._blaming.open(place)

    async def _review(self, tab: Tab, scope: ChangeScope) -> None:
        context = self._context
        await tab.conversation.settle()
        chosen: list[BlamePlace] = []
        review = self._screen(tab, tab.conversation.changes, scope, chosen)
        await context.app.push_screen_wait(review)
        if review.looked_at is not None:
            with contextlib.suppress(StoreError):  # the next look begins where the last one did
                await tab.conversation.changes.note_look(review.looked_at)
        for place in chosen:
            await self._blaming.open(place)

    def _screen(
        self, tab: Tab, reader: ChangesReader, scope: ChangeScope, chosen: list[BlamePlace]
    ) -> ChangesScreen:
        """The review of what a reader tells; the place that was chosen by its blame is put into ``chosen``."""
        from catena.screens.changes.screen import ChangesScreen, ReviewActs

        async def edit(path: str, line: int) -> None:
            await self._edit(tab, path, line)

        async def blame(path: str, line: int) -> None:
            place = await self._blame(tab, path, line)
            if place is not None:
                chosen.append(place)
                review.dismiss(None)

        review = ChangesScreen(
            reader,
            scope,
            leaf=lambda: tab.leaf_id,
            directory=tab.conversation.record.cwd,
            acts=ReviewActs(lambda text: self._context.quote_into(tab, text), edit, blame),
            subject=self._context.subject,
        )
        return review

    async def _blame(self, tab: Tab, path: str, line: int) -> BlamePlace | None:
        """Show who wrote a file of the conversation's directories; where to go then. Raises EditRefused."""
        self._check(tab, path)
        return await self._blaming.show(tab, Path(path), line)

    async def _edit(self, tab: Tab, path: str, line: int) -> None:
        """Open a file of the conversation's directories in the person's editor. Raises EditRefused."""
        from catena.screens.changes.screen import EditRefused

        self._check(tab, path)
        try:
            await edit_file(self._context.app, path, line, self._context.screen.environment)
        except EditorFailed as failed:
            raise EditRefused(str(failed)) from failed

    def _check(self, tab: Tab, path: str) -> None:
        """Raise EditRefused for a file outside of the conversation's directories: an agent may have named it."""
        from catena.screens.changes.screen import EditRefused

        roots = resolved_roots((tab.conversation.record.cwd, *tab.conversation.directories))
        if not leads_inside(path, roots):
            raise EditRefused(f"{safe_line(path)} is not in a directory of this conversation.")

"""The review of what agents changed in files."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from catena.acts.surface import Cancelled, Here
from catena.mentions.index import leads_inside, resolved_roots
from catena.screens.chat.context import ChatContext
from catena.terminal.programs import EditorFailed, edit_file
from catena.text.changes_text import shown_path
from catena.text.safe_text import safe_line
from catena.workspace.tab import Tab
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.snapshots.restoring import RestorePlan
from catena_store.chains.turns import TurnPrompt
from catena_store.errors import StoreError

if TYPE_CHECKING:  # neither screen is needed before there is one
    from catena.screens.changes.screen import ChangesReader, ChangesScreen, ReviewEnd


class ChangesActions:
    """Sheets on what agents changed in files, and on who wrote them."""

    def __init__(
        self,
        context: ChatContext,
        open_prompt: Callable[[str, str], Awaitable[None]],
        here: Callable[[], Here],
    ) -> None:
        """``open_prompt`` opens a conversation at a prompt; ``here`` is where acts are done."""
        self._context = context
        self._here = here
        self._open_prompt = open_prompt

    async def blame(self, tab: Tab, path: Path, line: int) -> TurnPrompt | None:
        """Show who wrote a file, with the cursor on a line; the prompt that the person wants to go to."""
        from catena.screens.blame.screen import BlameScreen
        from catena_acp.blame.reading import blame

        context, place = self._context, self._context.place()
        await tab.conversation.settle()
        if context.went_on(place):
            return None
        screen = BlameScreen(
            path,
            line,
            shown=shown_path(str(path), tab.conversation.record.cwd),
            read=lambda path: blame(context.tabs.store, path, context.clock()),
            quote=lambda text: context.quote_into(tab, text),
            clock=context.clock,
            subject=context.subject,
        )
        return await context.app.push_screen_wait(screen)

    async def planned(self, tab: Tab, plan: RestorePlan) -> None:
        """Review what files would become by a plan."""
        from catena.screens.changes.review import PlannedChanges

        reader = PlannedChanges(plan, tab.conversation.record.cwd)
        review = self._screen(tab, reader, ChangeScope(Since.PLANNED))
        prompt = await self._context.app.push_screen_wait(review)
        if isinstance(prompt, TurnPrompt):
            await self._open_prompt(prompt.conversation_id, prompt.prompt_id)

    async def review(self, tab: Tab, scope: ChangeScope) -> TurnPrompt | ReviewEnd | None:
        """Review the changes of a scope; the prompt that the person wants to go to, or what they go on to."""
        review = self._screen(tab, tab.conversation.changes, scope)
        chosen = await self._context.app.push_screen_wait(review)
        if review.looked_at is not None:
            with contextlib.suppress(StoreError):  # the next look begins where the last one did
                await tab.conversation.changes.note_look(review.looked_at)
        return chosen

    def _screen(self, tab: Tab, reader: ChangesReader, scope: ChangeScope) -> ChangesScreen:
        """The review of what a reader tells; its result is the prompt that was chosen by its blame."""
        from catena.acts.files import restored_file
        from catena.screens.changes.screen import ChangesScreen, ReviewActs

        async def edit(path: str, line: int) -> None:
            await self._edit(tab, path, line)

        async def blame(path: str, line: int) -> None:
            if (prompt := await self._blame(tab, path, line)) is not None:
                review.dismiss(prompt)

        async def restore(path: str, scope: ChangeScope) -> str:
            try:
                return await restored_file(replace(self._here(), at=tab), path, scope)
            except Cancelled:
                return ""

        review = ChangesScreen(
            reader,
            scope,
            leaf=lambda: tab.leaf_id,
            directory=tab.conversation.record.cwd,
            acts=ReviewActs(lambda text: self._context.quote_into(tab, text), edit, restore, blame),
            subject=self._context.subject,
        )
        return review

    async def _blame(self, tab: Tab, path: str, line: int) -> TurnPrompt | None:
        """Show who wrote a file of the conversation's directories; where to go then. Raises EditRefused."""
        self._check(tab, path)
        return await self.blame(tab, Path(path), line)

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

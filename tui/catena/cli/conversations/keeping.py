"""``catena rename``, ``pin``, ``archive`` and ``delete``: acts on a conversation that is named, without tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from catena.acts.surface import Cancelled, Done, Here, Question
from catena.acts.text_surface import TextSurface
from catena.app.services import serve_conversations
from catena.cli.run.permissions import agreed
from catena.errors import ExitStatus
from catena.settings.settings import load_settings
from catena.text.safe_text import safe_line
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.tabs import OpenTabs
from catena_store.conversations import conversations
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id
from catena_store.windows import windows


class _ShellSurface(TextSurface):
    """Lines on standard output; what cannot be undone is asked on the terminal."""

    def __init__(self, command: str | None) -> None:
        """``command`` is named to who cannot be asked; None: nothing is asked."""
        super().__init__(lambda line: print(safe_line(line)))
        self._command = command

    async def ask(self, question: Question) -> str:
        """Ask, unless it can be undone. Raises Cancelled, CommandRefused if there is no terminal."""
        if question.free or question.seen or self._command is None:
            return "yes"
        if await agreed(question.title, self._command):
            return "yes"
        raise Cancelled


def keep_house(act: Callable[[Here], Awaitable[Done]], named: str, *, command: str | None = None) -> int:
    """Do an act on a conversation by its id, the start of one, or its title; returns the exit status.

    ``command`` as it is written, if it may ask. Raises NotFound, Ambiguous, Refused, ReadOnly, StoreError.
    """
    return asyncio.run(_keep_house(act, named, command))


async def _keep_house(act: Callable[[Here], Awaitable[Done]], named: str, command: str | None) -> int:
    settings, surface = load_settings(), _ShellSurface(command)
    async with (
        Database.open(default_path()) as db,
        serve_conversations(db, settings, probe=False, read=False) as live,
    ):
        async with db.write() as tx:
            found = await conversations.find(tx, named)
            workspace = await windows.ensure_workspace(tx, found.cwd, new_id=new_id)
        tabs = OpenTabs(
            db,
            live,
            outgoing=OutgoingTexts(),
            directory=found.cwd,
            new_id=new_id,
            workspace_id=workspace.id,
        )
        try:
            done = await act(Here(tabs, None, surface, settings, named=found))
        except Cancelled:
            surface.say("Nothing was changed.")
            return ExitStatus.STOPPED
        surface.say(done.words)
    return ExitStatus.ANSWERED

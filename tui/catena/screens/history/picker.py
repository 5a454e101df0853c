"""All conversations, newest first; Enter opens one."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from datetime import datetime
from typing import ClassVar, Protocol

from rich.cells import cell_len, set_cell_size
from textual import events, on
from textual.binding import Binding, BindingType
from textual.widgets import Static

from catena.screens.common.picker import Picker
from catena.text.formats import age, title_of
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row
from catena.workspace.undo import Undoing, undone
from catena_acp.errors import AgentError, ReadOnly
from catena_store.conversations.conversations import page_key
from catena_store.errors import StoreError
from catena_store.records import Summary
from catena_store.windows.journal import Act


class PuttingAway:
    """What the history does with the conversation under its cursor; each gives what is to be said."""

    def __init__(self, undoing: Undoing) -> None:
        self._undoing = undoing
        self._done = 0

    @property
    def opened(self) -> frozenset[str]:
        """The conversations that have a tab now."""
        return self._undoing.opened

    async def put_away(self, conversation_id: str, name: str, act: Act, *, archived: bool) -> str:
        """Delete it, or archive it; one of the archive is taken out of it."""
        try:
            if act is Act.ARCHIVE and archived:
                await self._undoing.take_out(conversation_id)
                said = "out of the archive again"
            else:
                await self._undoing.put_away(conversation_id, act)
                said = "deleted from every list" if act is Act.DELETE else "archived, at the end of this list"
        except (AgentError, StoreError, ReadOnly) as error:
            return str(error)
        self._done += 1
        return f"“{safe_line(name)}” is {said} · ctrl+z undo"

    async def undo(self) -> str:
        """Take back what was put away last, as far as it was done here."""
        if not self._done:
            return "Nothing was put away here · esc leave, and /undo takes back what was done before"
        try:
            taken = await self._undoing.undo(None)
        except (AgentError, StoreError, ReadOnly) as error:
            return str(error)
        self._done -= 1
        return undone(taken) if taken else "There is nothing to undo."


_FIRST = 100
_MORE = 1_000
_COLUMNS_FROM = 100  # cells of a screen on which agent and directory have columns

_HINT = "enter open · ctrl+x delete · ctrl+e archive · ctrl+z undo that · esc leave"


class HistoryPages(Protocol):
    """Reads a page of the conversations, or of those in the archive."""

    def __call__(
        self, before: tuple[int, str] | None, limit: int, /, *, archived: bool = False
    ) -> Awaitable[list[Summary]]: ...


class HistoryScreen(Picker):
    """Gives the id of the chosen conversation. The first page is there at once; the others follow."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+x", "put_away('delete')", "delete", priority=True, id="history.delete"),
        Binding("ctrl+e", "put_away('archive')", "archive", priority=True, id="history.archive"),
        Binding("ctrl+z", "undo", "undo that", priority=True, id="history.undo"),
    ]

    def __init__(
        self, pages: HistoryPages, *, now: datetime, opened: frozenset[str], away: PuttingAway
    ) -> None:
        """``opened``: the conversations that have a tab."""
        super().__init__(
            "history",
            hint=_HINT,
            empty="no conversation yet",
        )
        self.add_class("-whole")
        self._pages = pages
        self._now = now
        self._opened = opened
        self._away = away
        self._archived: set[str] = set()
        self._home = os.path.expanduser("~")  # noqa: PTH111 - a text to compare with
        self._columns: dict[tuple[str, int], str] = {}  # few agents and directories stand in many rows

    @on(events.Mount)
    async def read(self) -> None:
        """Read the first page before the picker shows its rows, and the others once these are drawn."""
        first = await self._pages(None, _FIRST)
        self._all = [self._row(summary) for summary in first]
        last = first[-1] if len(first) == _FIRST else None
        self.call_after_refresh(lambda: self.run_worker(self._read_on(last), group="pages", exclusive=True))

    async def _read_on(self, last: Summary | None) -> None:
        while last is not None:
            page = await self._pages(page_key(last), _MORE)
            self.show_rows([*self._all, *(self._row(summary) for summary in page)])
            last = page[-1] if len(page) == _MORE else None
        await self._read_archive()

    async def _read_archive(self) -> None:
        """What is in the archive stands behind all others."""
        last: tuple[int, str] | None = None
        while True:
            page = await self._pages(last, _MORE, archived=True)
            self._archived |= {summary.id for summary in page}
            if page:
                self.show_rows([*self._all, *(self._row(summary, archived=True) for summary in page)])
            if len(page) < _MORE:
                return
            last = page_key(page[-1])

    async def action_put_away(self, act: str) -> None:
        """Delete the conversation under the cursor, or put it into the archive and take it out again."""
        if (row := self.list.chosen) is not None:
            said = await self._away.put_away(row.key, row.label, Act(act), archived=row.key in self._archived)
            await self._read_again(said)

    async def action_undo(self) -> None:
        """Take back what was put away last."""
        await self._read_again(await self._away.undo())

    async def _read_again(self, said: str) -> None:
        at = self.list.cursor
        self._archived.clear()
        self._opened = self._away.opened
        await self.read()
        self.show_rows(self._all)
        self.list.cursor = min(at, max(0, len(self.list.rows) - 1))
        self.query_one("#hint", Static).update(said)

    def _row(self, summary: Summary, *, archived: bool = False) -> Row:
        title = summary.title or title_of(summary.preview) or "untitled"
        where = summary.cwd
        if where == self._home or where.startswith(self._home + os.sep):
            where = "~" + where[len(self._home) :]
        when = age(summary.updated_at, self._now)
        mark = "archived" if archived else "open" if summary.id in self._opened else ""
        if self.app.size.width < _COLUMNS_FROM:
            return Row(
                summary.id, title, note=f"{summary.agent} · {where}", detail=f"{mark} {when}", dim=archived
            )
        detail = f"{mark:<10}{self._column(summary.agent, 12)}{self._column(where, 26)}{when:>10}"
        return Row(summary.id, title, detail=detail, dim=archived)

    def _column(self, text: str, width: int) -> str:
        column = self._columns.get((text, width))
        if column is None:
            column = self._columns[text, width] = _column(text, width)
        return column


def _column(text: str, width: int) -> str:
    """The end of a text, which is what tells paths apart, in so many cells and two to the next column."""
    line = safe_line(text)
    while cell_len(line) > width:
        line = "…" + line[2:]
    return set_cell_size(line, width) + "  "

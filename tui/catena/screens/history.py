"""All conversations, newest first; Enter opens one."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from textual import events, on

from catena.ages import age
from catena.safe_text import safe_line
from catena.screens.picker import Picker
from catena.tab import title_of
from catena.widgets.row_list import Row
from catena_store.conversations import page_key
from catena_store.records import Summary

_FIRST = 100
_MORE = 1_000
_COLUMNS_FROM = 100  # cells of a screen on which agent and directory have columns

Pages = Callable[[tuple[int, str] | None, int], Awaitable[list[Summary]]]


class HistoryScreen(Picker):
    """Gives the id of the chosen conversation. The first page is there at once; the others follow."""

    def __init__(self, pages: Pages, *, now: datetime, opened: frozenset[str]) -> None:
        """``opened``: the conversations that have a tab."""
        super().__init__(
            "history",
            hint="type to filter · enter open, in its tab or a new one · esc leave",
            empty="no conversation yet",
        )
        self.add_class("-whole")
        self._pages = pages
        self._now = now
        self._opened = opened
        self._home = os.path.expanduser("~")  # noqa: PTH111 - a text to compare with
        self._columns: dict[tuple[str, int], str] = {}  # few agents and directories stand in many rows

    @on(events.Mount)
    async def read(self) -> None:
        """Read the first page before the picker shows its rows, and the others once these are drawn."""
        first = await self._pages(None, _FIRST)
        self._all = [self._row(summary) for summary in first]
        if len(first) == _FIRST:
            self.call_after_refresh(lambda: self.run_worker(self._read_on(first[-1])))

    async def _read_on(self, last: Summary) -> None:
        while True:
            page = await self._pages(page_key(last), _MORE)
            self.show_rows([*self._all, *(self._row(summary) for summary in page)])
            if len(page) < _MORE:
                return
            last = page[-1]

    def _row(self, summary: Summary) -> Row:
        title = summary.title or title_of(summary.preview) or "untitled"
        where = summary.cwd
        if where == self._home or where.startswith(self._home + os.sep):
            where = "~" + where[len(self._home) :]
        when = age(summary.updated_at, self._now)
        mark = "open" if summary.id in self._opened else ""
        if self.app.size.width < _COLUMNS_FROM:
            return Row(summary.id, title, note=f"{summary.agent} · {where}", detail=f"{mark} {when}")
        detail = f"{mark:<6}{self._column(summary.agent, 12)}{self._column(where, 26)}{when:>10}"
        return Row(summary.id, title, detail=detail)

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

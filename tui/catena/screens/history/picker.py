"""The history: a picker of all conversations, newest first, archived ones last."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Protocol

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding, BindingType

from catena.screens.common.picker import Picker
from catena.text.formats import age, title_of, truncate
from catena.text.safe_text import safe_line
from catena.widgets.foot import SheetKey
from catena.widgets.row_list import Row, Tone, Word
from catena.widgets.sheet_head import Subject
from catena.workspace.undo import TabUndo, undone
from catena_store.conversations.conversations import page_key
from catena_store.records import Summary
from catena_store.windows.journal import Act


class HistoryActs:
    """Acts on a conversation of the history; each returns the message about it."""

    def __init__(self, undoing: TabUndo) -> None:
        self._undoing = undoing
        self._count = 0  # acts that can be undone here

    @property
    def opened(self) -> frozenset[str]:
        """The ids of the conversations that have a tab now."""
        return self._undoing.opened

    async def remove(self, conversation_id: str, name: str, act: Act, *, archived: bool) -> str:
        """Delete or archive a conversation; restore one that is archived. Raises what `TabUndo` does."""
        if act is Act.ARCHIVE and archived:
            await self._undoing.unarchive(conversation_id)
            place = "no longer archived"
        else:
            await self._undoing.archive(conversation_id, act)
            place = "deleted" if act is Act.DELETE else "archived, at the end of this list"
        self._count += 1
        return f"“{safe_line(name)}” is {place} · ctrl+_ undo"

    async def undo(self) -> str:
        """Undo the newest act of this history. Raises what `TabUndo` does."""
        if not self._count:
            return "Nothing to undo here · esc cancel, then /undo for earlier changes"
        step = await self._undoing.undo(None)
        self._count -= 1
        return undone(step) if step else "Nothing to undo."


_FIRST = 100
_MORE = 1_000
_COLUMNS_FROM = 100  # cells of a screen on which the directory has a column
_AGENT, _DIRECTORY = 14, 26  # cells of the columns, at most
_SCOPE = Subject("everywhere", "newest first")
_OPEN = Word("open", Tone.ACCENT)

_KEYS = (
    SheetKey("ctrl+x", "delete", "remove('delete')"),
    SheetKey("ctrl+e", "archive", "remove('archive')"),
    SheetKey("ctrl+_", "undo", "undo"),
)


class HistoryPages(Protocol):
    """Reads a page of the conversations, or of those in the archive."""

    def __call__(
        self, before: tuple[int, str] | None, limit: int, /, *, archived: bool = False
    ) -> Awaitable[list[Summary]]: ...


class HistoryScreen(Picker):
    """A picker of conversations, read page by page; its result is the id of the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+x", "remove('delete')", "delete", priority=True, id="history.delete"),
        Binding("ctrl+e", "remove('archive')", "archive", priority=True, id="history.archive"),
        Binding(
            "ctrl+underscore,ctrl+shift+minus,ctrl+slash",
            "undo",
            "undo",
            priority=True,
            id="history.undo",
        ),
    ]

    def __init__(
        self,
        pages: HistoryPages,
        *,
        agent_title: Callable[[str, str], str | None],
        now: datetime,
        opened: frozenset[str],
        acts: HistoryActs,
    ) -> None:
        """``agent_title`` gives the settings' title of a stored agent and profile, if they have one.

        ``opened``: ids of the conversations that have a tab.
        """
        super().__init__("History", keys=_KEYS, enter="open", empty="no conversations yet", subject=_SCOPE)
        self._pages = pages
        self._agent_title = agent_title
        self._now = now
        self._opened = opened
        self._acts = acts
        self._archived: set[str] = set()
        self._home = os.path.expanduser("~")  # noqa: PTH111 - a text to compare with
        self._endings: dict[str, str] = {}  # few directories stand in many rows

    @on(events.Mount)
    async def read(self) -> None:
        """Read the first page before the picker shows its rows, and the others once these are drawn."""
        first = await self._pages(None, _FIRST)
        self.set_rows([self._row(summary) for summary in first])
        last = first[-1] if len(first) == _FIRST else None
        self.call_after_refresh(
            lambda: self.run_worker(self._read_pages(last), group="pages", exclusive=True)
        )

    async def _read_pages(self, last: Summary | None) -> None:
        while last is not None:
            page = await self._pages(page_key(last), _MORE)
            self.show_rows([*self._all, *(self._row(summary) for summary in page)])
            last = page[-1] if len(page) == _MORE else None
        await self._read_archive()

    async def _read_archive(self) -> None:
        """Append the archived conversations."""
        last: tuple[int, str] | None = None
        while True:
            page = await self._pages(last, _MORE, archived=True)
            self._archived |= {summary.id for summary in page}
            if page:
                self.show_rows([*self._all, *(self._row(summary, archived=True) for summary in page)])
            if len(page) < _MORE:
                return
            last = page_key(page[-1])

    async def action_remove(self, act: str) -> None:
        """Delete or archive the conversation under the cursor, or restore it from the archive."""
        if (row := self.row_list.chosen) is not None:
            archived = row.key in self._archived
            removal = self._acts.remove(row.key, row.label, Act(act), archived=archived)
            await self.attempt(self._act(removal))

    async def action_undo(self) -> None:
        """Undo the newest act of this history."""
        await self.attempt(self._act(self._acts.undo()))

    async def _act(self, act: Awaitable[str]) -> None:
        """Await an act, reload the rows whether or not it succeeded, and show its message."""
        try:
            words = await act
        finally:
            await self._reload()
        self.say(words)

    async def _reload(self) -> None:
        at = self.row_list.cursor
        self._archived.clear()
        self._opened = self._acts.opened
        await self.read()
        self.show_rows(self._all)
        self.row_list.cursor = min(at, max(0, len(self.row_list.rows) - 1))

    def _row(self, summary: Summary, *, archived: bool = False) -> Row:
        title = summary.title or title_of(summary.preview) or "untitled"
        agent = self._agent_title(summary.agent, summary.profile) or summary.agent
        where = summary.cwd
        if where == self._home or where.startswith(self._home + os.sep):
            where = "~" + where[len(self._home) :]
        state = Word("archived", Tone.FAINT) if archived else _OPEN if summary.id in self._opened else Word()
        row = Row(
            summary.id,
            title,
            columns=(state, Word(truncate(safe_line(agent), _AGENT))),
            time=age(summary.updated_at, self._now),
            dim=archived,
            hidden=where,
        )
        return replace(row, detail=self._ending(where)) if self.app.size.width >= _COLUMNS_FROM else row

    def _ending(self, path: str) -> str:
        ending = self._endings.get(path)
        if ending is None:
            ending = self._endings[path] = _ending(path)
        return ending


def _ending(path: str) -> str:
    """The end of a path that is too long, for paths differ at their ends."""
    line = safe_line(path)
    while cell_len(line) > _DIRECTORY:
        line = "…" + line[2:]
    return line

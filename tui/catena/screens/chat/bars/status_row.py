"""The row below the composer that a command of the person's own writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.widgets import Static

from catena import __version__
from catena.themes.colours import ColourDepth, colour_depth

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.programs.status_line import StatusLine
    from catena.settings.tables import Program
    from catena.workspace.panes import Pane
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs


class StatusRow(Static):
    """One row, blank until the command has answered; not there without a command."""

    DEFAULT_CSS = """
    StatusRow { height: 1; padding: 0 2; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    StatusRow.-on { display: block; }
    """

    def __init__(self, program: Program | None, *, environment: Mapping[str, str]) -> None:
        super().__init__(markup=False, id="status")
        self._program = program
        self._coloured = colour_depth(environment) is not ColourDepth.NONE
        self._line: StatusLine | None = None
        self._tabs: OpenTabs | None = None
        self._pane: Pane | None = None
        self._seen: tuple[object, ...] = ()
        self._since: dict[str, float] = {}  # when a tab was shown first
        self.set_class(program is not None, "-on")

    def begin(self, tabs: OpenTabs, pane: Pane, failed: Callable[[str], None]) -> None:
        """Begin to run the command for the tab of a pane, if there is one; ``failed`` is told of its first failure."""
        if self._program is None:
            return
        from catena.programs.status_line import StatusLine

        self._tabs, self._pane = tabs, pane
        self._line = StatusLine(self._program, told=self._told, show=self._draw, failed=failed)
        self.run_worker(self._line.run(), group="status")

    def follow(self, tab: Tab | None) -> None:
        """Run the command anew where another tab is shown, or its model, mode, title or turn is different."""
        if self._line is None or tab is None:
            return
        session, record = tab.session or tab.window.session, tab.conversation.record
        usage = None if tab.busy else session.usage  # during a turn it grows with each step
        seen = (tab.window_id, session.model, session.mode, record.title, record.cwd, tab.busy, usage)
        if seen != self._seen:
            self._seen = seen
            self._line.refresh()

    async def _told(self) -> dict[str, Any] | None:
        from catena.programs import shapes
        from catena.programs.shapes import facts_of

        tabs, tab = self._tabs, self._pane.tab if self._pane is not None else None
        if tabs is None or tab is None:
            return None
        since = self._since.setdefault(tab.window_id, time.monotonic())
        return shapes.status(
            await facts_of(tabs.store, tab.conversation, tab.window_id),
            directories=tab.conversation.directories,
            project=tabs.directory,
            version=__version__,
            seconds=time.monotonic() - since,
        )

    def _draw(self, output: str) -> None:
        from catena.programs.status_line import coloured_line

        self.update(coloured_line(output, coloured=self._coloured) if output else Content(""))

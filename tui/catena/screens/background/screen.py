"""What goes on in the background: which call began it, since when, and what its agent last told of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from textual.binding import BindingType

from catena.screens.common.dialog import ListScreen, list_bindings
from catena.text.formats import duration_text
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row, Tone, Word
from catena.widgets.sheet_edges import SheetKey, Subject
from catena_acp.continuity.turns.background import BackgroundTask
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.prompts.window import Window

_EVERY = 1.0  # seconds between two drawings, for how long it goes on
_NO_WAY = "{agent} offers no way to stop it from here: ask for it, or close the tab, which ends the session."


class BackgroundScreen(ListScreen[str | None]):
    """The work that goes on; its result is the row of the call to go to."""

    HEADING = "In the background"
    EMPTY = "nothing is running in the background"
    KEYS = (
        SheetKey("{background_go}", "go to its call", "go"),
        SheetKey("{background_stop}", "how to stop it", "stop"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS)

    def __init__(self, window: Window, *, clock: Callable[[], datetime], subject: Subject) -> None:
        super().__init__(subject)
        self._of_window = window
        self._clock = clock

    def on_mount(self) -> None:
        """Show what goes on, and again each second."""
        self._show()
        self.set_interval(_EVERY, self._show)

    def _show(self) -> None:
        tasks = self._of_window.background
        count, most = self._of_window.background_count, len(tasks)
        agent = safe_line(self._of_window.session.agent_title)
        self.show_head(f"In the background ({count})")
        self.row_list.show([self._row(task) for task in tasks], keep=self.chosen_key)
        if not tasks:
            self.say("")
        elif count < most:
            ended = most - count
            has = "has" if ended == 1 else "have"
            self.say(f"{agent} says that {ended} of {counted(most, 'task')} {has} ended, but not which.")

    def _row(self, task: BackgroundTask) -> Row:
        seconds = max(0.0, (self._clock() - task.since).total_seconds())
        return Row(
            task.message_id,
            safe_line(task.title),
            note=safe_line(task.last_line),
            time=duration_text(seconds, precise=False),
            mark=Word("◐", Tone.TEXT),
        )

    def action_go(self) -> None:
        """Go to the call that began it."""
        if (key := self.chosen_key) is not None:
            self.dismiss(key)

    def action_stop(self) -> None:
        """Say how it can be stopped, as no agent can be asked to."""
        if self.chosen_key is not None:
            self.say(_NO_WAY.format(agent=safe_line(self._of_window.session.agent_title)))

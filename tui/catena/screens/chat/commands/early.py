"""What the widgets of a chat ask of its commands, and the commands that are possible before the store is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from catena.screens.chat.panels.attachments import AttachmentBar
    from catena.screens.chat.panels.edit import EditPanel
    from catena.screens.chat.panels.permission import PermissionPanel
    from catena.screens.chat.panels.queue import QueueList
    from catena.screens.chat.panels.trouble import TroublePanel
    from catena.transcript import Transcript
    from catena.widgets.composer import Composer
    from catena.workspace.tab import Tab

    ChatEvent: TypeAlias = (
        AttachmentBar.Removed
        | Composer.SentEmpty
        | Composer.Walked
        | EditPanel.Left
        | PermissionPanel.Answered
        | PermissionPanel.ReasonLeft
        | QueueList.Deleted
        | QueueList.Moved
        | QueueList.Removed
        | QueueList.SentNow
        | Transcript.BranchRequested
        | Transcript.OlderRequested
        | Transcript.SeamOpened
        | Transcript.SiblingRequested
        | TroublePanel.Taken
    )


class AreaCommands(Protocol):
    """The commands behind one chat area."""

    @property
    def tab(self) -> Tab | None:
        """The tab that is looked at."""

    @property
    def shown(self) -> Tab | None:
        """The tab whose transcript is on the screen; behind ``tab`` while a page is being read."""

    @property
    def text_waits(self) -> bool:
        """True while a text on which Enter was pressed waits to go out."""

    def do(self, name: str) -> None:
        """Do what the command of this name does."""

    def submit(self, text: str, tab: Tab | None = None) -> None:
        """Take a text on which Enter was pressed; ``tab`` is the one that it was written for."""

    def handle(self, event: ChatEvent) -> None:
        """Do what the person wants by a key or a click in a widget."""

    def attach(self, paths: Sequence[str]) -> None:
        """Attach files whose paths were pasted."""

    def escaped(self, *, idle: bool) -> None:
        """Note that Esc was pressed; ``idle``: there was nothing to close and nothing to stop."""

    def typed(self) -> None:
        """Note that another key was pressed."""

    def write(self) -> None:
        """Take the text of the composer over into its tab."""

    def save(self) -> None:
        """Save the draft and the scroll position."""

    def drawn(self) -> None:
        """Bring up to date what depends on the state that was just drawn."""

    def close_innermost(self) -> bool:
        """Close what is open beside the widgets; False where nothing is."""

    def leave_choosing(self) -> None:
        """Stop choosing a prompt in the transcript."""

    def step_tab(self, step: int) -> None:
        """Go through the tabs."""

    def go_to_tab(self, index: int) -> None:
        """Go to a tab, counted from 0."""

    def unkept(self, written: Sequence[str]) -> list[str]:
        """Return the texts that no store will keep; ``written`` stands in the composer or was just sent."""

    def detach(self) -> None:
        """Write everything on the screen back to its tab: the area is removed."""


class EarlyCommands:
    """The commands of a chat area before its tabs are there: leave, and keep what is sent."""

    tab: Tab | None = None
    shown: Tab | None = None
    text_waits = False

    def __init__(self, leave: Callable[[], None]) -> None:
        """``leave`` ends the program."""
        self._leave = leave
        self._texts: list[str] = []

    def take(self) -> list[str]:
        """Hand over what was sent, oldest first."""
        texts, self._texts = self._texts, []
        return texts

    def do(self, name: str) -> None:
        """Leave; no other command is possible yet."""
        if name == "quit":
            self._leave()

    def submit(self, text: str, tab: Tab | None = None) -> None:
        """Keep a text until the tabs are there."""
        self._texts.append(text)

    def handle(self, event: ChatEvent) -> None:
        """Do nothing: no widget shows anything of a tab yet."""

    def attach(self, paths: Sequence[str]) -> None:
        """Do nothing: there is no draft to attach to."""

    def escaped(self, *, idle: bool) -> None:
        """Do nothing: there is no prompt to be chosen."""

    def typed(self) -> None:
        """Do nothing."""

    def write(self) -> None:
        """Do nothing: the text has no tab yet."""

    def save(self) -> None:
        """Do nothing: there is nowhere to save to."""

    def drawn(self) -> None:
        """Do nothing."""

    def close_innermost(self) -> bool:
        """Nothing is open."""
        return False

    def leave_choosing(self) -> None:
        """Do nothing."""

    def step_tab(self, step: int) -> None:
        """Do nothing: there are no tabs yet."""

    def go_to_tab(self, index: int) -> None:
        """Do nothing: there are no tabs yet."""

    def unkept(self, written: Sequence[str]) -> list[str]:
        """Return everything that was sent and written."""
        return [*self._texts, *written]

    def detach(self) -> None:
        """Do nothing: nothing has a tab yet."""

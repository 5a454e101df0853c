"""The commands that the widgets of a chat area call."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from catena.screens.chat.bars.composer_edges import EditLeft
    from catena.screens.chat.bars.find import FindBar
    from catena.screens.chat.panels.attachments import AttachmentBar
    from catena.screens.chat.panels.elicitation import ElicitationPanel
    from catena.screens.chat.panels.permission import PermissionPanel
    from catena.screens.chat.panels.queue import QueueList
    from catena.screens.chat.panels.start import StartPanel
    from catena.screens.chat.panels.trouble import TroublePanel
    from catena.settings.templates import Template
    from catena.text.shell_text import ShellText
    from catena.transcript import Transcript
    from catena.widgets.composer import Composer
    from catena.workspace.tab import Tab

    ChatEvent: TypeAlias = (
        AttachmentBar.Removed
        | Composer.SentEmpty
        | Composer.Walked
        | ElicitationPanel.Answered
        | PermissionPanel.Answered
        | EditLeft
        | FindBar.Looked
        | FindBar.Stepped
        | PermissionPanel.ReasonLeft
        | QueueList.Deleted
        | QueueList.Moved
        | QueueList.Removed
        | QueueList.SentNow
        | StartPanel.Taken
        | Transcript.BranchRequested
        | Transcript.ImagesWanted
        | Transcript.NewerRequested
        | Transcript.OlderRequested
        | Transcript.PlaceRequested
        | Transcript.SeamOpened
        | Transcript.SiblingRequested
        | TroublePanel.Taken
    )


class AreaCommands(Protocol):
    """The commands behind one chat area."""

    @property
    def tab(self) -> Tab | None:
        """The active tab."""

    @property
    def shown(self) -> Tab | None:
        """The tab whose transcript is on the screen; behind ``tab`` while a page is being read."""

    @property
    def may_submit(self) -> bool:
        """False if Enter does nothing: the person has not seen yet what it would send."""

    @property
    def text_waits(self) -> bool:
        """True while a text on which Enter was pressed waits to go out."""

    def do(self, name: str) -> None:
        """Run the command of this name."""

    def refusal(self, text: str) -> str:
        """Why a text on which Enter was pressed is not taken; "" if it is."""

    def submit(self, text: str) -> None:
        """Submit a text that has left the composer."""

    def run_shell(self, shell: ShellText, typed: str) -> bool:
        """Run a shell command that has left the composer; False if that is not possible yet."""

    def stop_shell(self) -> bool:
        """Stop the shell command; False if none runs."""

    def handle(self, event: ChatEvent) -> None:
        """Handle a key or a click in a widget."""

    def led(self, act: Awaitable[None]) -> Awaitable[None]:
        """Wrap an action for which the keys wait."""

    async def templates(self, directory: str) -> Sequence[Template]:
        """The prompt templates of a directory and the person's own."""

    async def mentioned_paths(self) -> Sequence[str]:
        """The files that came with prompts of this conversation, the newest first."""

    def attach(self, paths: Sequence[str]) -> None:
        """Attach files whose paths were pasted."""

    def attach_image(self, content: bytes) -> None:
        """Attach an image that was pasted."""

    def detach_paths(self, paths: Sequence[str]) -> None:
        """Detach files whose paths stand in the text again."""

    def escaped(self, *, idle: bool) -> None:
        """Note that Esc was pressed; ``idle``: there was nothing to close and nothing to stop."""

    def typed(self) -> None:
        """Note that another key was pressed."""

    def cleared(self, text: str) -> None:
        """Remember a text that the person has cleared."""

    def begin_typing(self) -> None:
        """Get the composer ready for what is about to be typed."""

    def write(self) -> None:
        """Write the composer's text to its tab."""

    def save(self) -> None:
        """Save the draft and the scroll position."""

    def drawn(self) -> None:
        """Update what depends on the state that was just drawn."""

    def stay(self) -> bool:
        """Withdraw the question whether to quit; False if it was not asked."""

    def close_innermost(self) -> bool:
        """Close an edit, a wait or a trouble; False if none is open."""

    def leave_choosing(self) -> None:
        """Stop choosing a prompt in the transcript."""

    def step_tab(self, step: int) -> None:
        """Go to the next or previous tab."""

    def go_to_tab(self, index: int) -> None:
        """Go to a tab, counted from 0."""

    def detach(self, written: str) -> None:
        """Write everything on the screen back to its tab, before the area is removed.

        ``written`` is what the composer shows; without a tab it is an outgoing text.
        """

"""The base of every screen over the chat, and its key hints."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Static

from catena.terminal.compositor import SparingCompositor
from catena.text.safe_text import safe, safe_line
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from textual.types import CSSPathType

STYLES = Path(__file__).with_name("dialog.tcss")  # absolute: subclasses stand in other folders


class Dialog(ModalScreen[ScreenResultType]):
    """A screen with a title above its contents and key hints below; it fills the terminal."""

    CSS_PATH: ClassVar[CSSPathType | None] = STYLES
    DEFAULT_CLASSES = "-full"

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()

    def show_title(self, text: str) -> None:
        """Replace the title."""
        self._update("title", Content(safe(text)))

    def show_hints(self, *hints: tuple[str, str]) -> None:
        """Replace the key hints."""
        self._update("hint", key_hints(*hints))

    def say(self, text: str) -> None:
        """Show a message on the line above the key hints."""
        self._update("said", Content(safe_line(text)))

    def _update(self, id: str, text: Content) -> None:
        for part in self.query(f"#{id}").results(Static):  # none is left where work ends after the screen
            part.update(text)

    async def attempt(self, work: Awaitable[None]) -> None:
        """Await work on the store or an agent; an error becomes a message."""
        try:
            await work
        except (AgentError, StoreError, ReadOnly) as error:
            self.say(str(error))

    def action_leave(self) -> None:
        """Close the screen without a result."""
        self.dismiss(None)


def key_hints(*hints: tuple[str, str]) -> Content:
    """Words such as `p look`, each with the action of its screen that a click runs."""
    return Content.from_markup(" · ".join(f"[@click='screen.{action}']{words}[/]" for words, action in hints))

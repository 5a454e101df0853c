"""Find in the transcript: one line above the composer while it is open."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Label

from catena.widgets.text_fields import SafeInput


class FindBar(Horizontal):
    """The field with the text to be found, and which of how many places is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "previous", id="find.previous"),
        Binding("down", "step(1)", "next", id="find.next"),
    ]
    DEFAULT_CSS = """
    FindBar {
        height: 1;
        display: none;
        &.-open { display: block; }
        & > Label { width: auto; color: $muted; }
        & > Input { width: 1fr; border: none; height: 1; padding: 0; background: transparent; }
    }
    """

    class Looked(Message):
        """The person looks for another text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Stepped(Message):
        """The next place (1) or the one before (-1) is wanted."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def compose(self) -> ComposeResult:
        """A label, the field, the count."""
        yield Label("  find  ")
        field = SafeInput(compact=True)
        field.cursor_blink = False
        yield field
        yield Label("", id="found")

    @property
    def is_open(self) -> bool:
        """True while it is shown."""
        return self.has_class("-open")

    def open(self, text: str = "") -> None:
        """Show it and take the focus."""
        self.add_class("-open")
        field = self.query_one(SafeInput)
        if text:
            field.value = text
        self.screen.set_focus(field)

    def close(self) -> None:
        """Hide it; nothing is looked for any more."""
        self.remove_class("-open")
        self.post_message(self.Looked(""))

    def found(self, text: str) -> None:
        """Say which of how many."""
        self.query_one("#found", Label).update(f"{text}  ↑ ↓  esc  ")

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Look for the text while it is typed."""
        event.stop()
        self.post_message(self.Looked(event.value))

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Go on to the next place."""
        event.stop()
        self.post_message(self.Stepped(1))

    def action_step(self, step: int) -> None:
        """Go through the places."""
        self.post_message(self.Stepped(step))

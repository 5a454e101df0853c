"""Find in the transcript: its box stands in the place of the composer's while it is open."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from catena.keys.bindings import bindings, keys_of
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.hint_line import hint_words
from catena.widgets.typing_box import EdgeWord, TypingBox

_KEYS = (("{accept} {find_next}", "next"), ("{find_previous}", "previous"), ("{stop}", "close"))


class FindBar(Vertical):
    """The field with the text to be found, and which of how many places is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(find_previous="step(-1)", find_next="step(1)")]
    DEFAULT_CSS = """
    FindBar {
        height: auto;
        display: none;
        &.-open { display: block; }
        & Input { width: 1fr; border: none; height: 1; padding: 0; background: transparent; }
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

    class Toggled(Message):
        """It was opened or closed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._field = SafeInput(placeholder="Find in the conversation", compact=True)
        self._field.cursor_blink = False
        self._box = TypingBox(self._field)  # mounted when it is first opened

    def on_mount(self) -> None:
        """Say what is typed here, and what the keys do."""
        keys = [EdgeWord(hint_words(*key), at) for at, key in enumerate(keys_of(self).hints(_KEYS))]
        self._box.lower.show((), keys)
        self.found("")

    @property
    def is_open(self) -> bool:
        """True while it is shown."""
        return self.has_class("-open")

    async def open(self, text: str = "") -> None:
        """Show it and take the focus."""
        if not self._box.is_attached:
            await self.mount(self._box)
        self.set_class(True, "-open")
        if text:
            self._field.value = text
        self.screen.set_focus(self._field)
        self.post_message(self.Toggled())

    def close(self) -> None:
        """Hide it; nothing is looked for any more."""
        self.hide()
        self.post_message(self.Looked(""))

    def hide(self) -> None:
        """Hide it; what was found stays."""
        self.set_class(False, "-open")
        self.post_message(self.Toggled())

    def found(self, text: str) -> None:
        """Say which of how many is shown, or that nothing is found."""
        count = [EdgeWord(Content.styled(text, "$muted"), 1)] if text else []
        self._box.upper.show([EdgeWord(Content.styled("Find", "bold $foreground"), 2)], count)
        self._box.behind.show(count)

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

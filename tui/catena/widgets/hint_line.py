"""The line under the composer: what the keys do here, or what just happened."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from catena.text.safe_text import safe_line


class HintLine(Widget):
    """Hints of keys; a message takes their place until the next key."""

    DEFAULT_CSS = """
    HintLine {
        height: 1;
        color: $faint;
        &.-said { color: $muted; height: auto; max-height: 3; padding-left: 1; }
        &.-wrong { color: $asking; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints: tuple[str, ...] = ()
        self._said = ""

    @property
    def said(self) -> str:
        """The message that is shown, "" if there is none."""
        return self._said

    def hint(self, *hints: str) -> None:
        """Set the hints; if there is no room, the last ones go first."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Show a message; ``wrong`` if something did not work."""
        self._said = safe_line(text)
        self.set_class(bool(self._said), "-said")
        self.set_class(wrong and bool(self._said), "-wrong")
        self.refresh(layout=True)

    def hush(self) -> None:
        """Drop the message and show the hints."""
        if self._said:
            self.say("")

    def render(self) -> Content:
        """The message, else as many hints as there is room for."""
        if self._said:
            return Content(f"{'! ' if self.has_class('-wrong') else ''}{self._said}")
        line = Content(" ")
        for index, hint in enumerate(self._hints):
            piece = (" · " if index else "") + hint
            if line.cell_length + len(piece) > self.size.width:
                break
            line += Content(piece)
        return line

"""The composer: a text area that grows with its text and sends with Enter."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from catena.widgets.text_fields import SafeTextArea

_WRITES_NOTHING = ("send", "leave_or_delete")  # by itself
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Composer(SafeTextArea):
    """A text area for one message.

    ``enter`` is called at once with the text on which Enter was pressed, and empties the composer if it takes it: what
    is typed behind it finds its place changed already.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "send", id="composer.send"),
        Binding("ctrl+j", "newline", "new line", id="composer.newline"),
        Binding("tab", "complete", "complete", id="composer.complete"),
        Binding("ctrl+r", "search_inputs", "search prompt history", id="composer.search"),
        Binding(
            "end", "line_end_or_follow", "end of the line; of the transcript, when empty", id="composer.end"
        ),
        Binding("ctrl+g", "editor", "your editor", id="composer.editor"),
        # A terminal sends the same for Ctrl+_ and Ctrl+/; with the kitty protocol they differ.
        Binding("ctrl+underscore,ctrl+shift+minus,ctrl+slash", "undo", "undo typing", id="composer.undo"),
        Binding("ctrl+d", "leave_or_delete", "quit, when empty", id="composer.leave"),
    ]
    DEFAULT_CSS = """
    Composer {
        height: auto;
        max-height: 33vh;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        & .text-area--cursor-line { background: transparent; }
        &:focus { border: none; }
    }
    """

    class SentEmpty(Message):
        """Enter was pressed in an empty composer."""

    class Walked(Message):
        """↑ at the first line, ↓ at the last: an older input is wanted, or a newer one."""

        def __init__(self, *, older: bool) -> None:
            super().__init__()
            self.older = older

    class CompletionMoved(Message):
        """↑ or ↓ while completions are shown."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class CompletionTaken(Message):
        """Tab, or Enter on an unfinished command, while completions are shown."""

        def __init__(self, *, run: bool) -> None:
            super().__init__()
            self.run = run

    class Wanted(Message):
        """One of the keys that open something: inputs, editor, quit."""

        def __init__(self, command: str) -> None:
            super().__init__()
            self.command = command

    class Pasted(Message):
        """A text was pasted; ``before`` and ``after`` are the whole text without it and with it."""

        def __init__(self, pasted: str, before: str, after: str) -> None:
            super().__init__()
            self.pasted = pasted
            self.before = before
            self.after = after

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, highlight_cursor_line=False, compact=True)
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self.completing = False  # a list of completions is shown and takes ↑ ↓ Tab Enter
        self.enter: Callable[[str], None] = lambda text: None
        self.empty_row: Callable[[int], Content] = lambda width: Content("")  # drawn while nothing is written
        self.shortcut: Callable[[events.Key], bool] = lambda key: False  # True: the key meant something else
        self.before_typing: Callable[[], None] = lambda: (
            None
        )  # called before a key or a paste is handled here

    def render_line(self, y: int) -> Strip:
        """Draw a line; that of an empty composer says whom it writes to, and what the keys do."""
        if y or self.text:
            return super().render_line(y)
        row = self.empty_row(self.size.width).pad_right(1)
        theme = self._theme
        if self._draw_cursor and theme is not None and theme.cursor_style is not None:
            row = row.stylize(Style.from_rich_style(theme.cursor_style), 0, 1)
        return Strip(row.render_segments(self.visual_style)).adjust_cell_length(
            self.size.width, self.rich_style
        )

    @property
    def blank(self) -> bool:
        """True if there is only white space in it."""
        return not self.text.strip()

    def put(self, text: str) -> None:
        """Replace the text; the cursor goes behind it."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def restore(self, text: str) -> None:
        """Restore a text that was not sent, before what was typed meanwhile."""
        meanwhile = self.text
        self.put(f"{text}\n{meanwhile}" if meanwhile.strip() else text)

    def action_send(self) -> None:
        """Send the text, take a completion, or report that the composer is empty."""
        if self.completing:
            self.post_message(self.CompletionTaken(run=True))
        elif self.blank:
            self.post_message(self.SentEmpty())
        else:
            self.submit()

    def submit(self) -> None:
        """Send the text."""
        self.enter(self.text.strip("\n").rstrip())

    def quote(self, text: str) -> None:
        """Append a text, below what is written."""
        self.before_typing()
        before = self.text.rstrip()
        self.put(f"{before}\n\n{text}" if before else text)

    def action_newline(self) -> None:
        """Insert a line end."""
        self.insert("\n")

    def action_complete(self) -> None:
        """Take a completion, if there is one."""
        if self.completing:
            self.post_message(self.CompletionTaken(run=False))
        else:
            self.post_message(self.Wanted("tab"))

    def action_search_inputs(self) -> None:
        """Search what was typed before."""
        self.post_message(self.Wanted("inputs"))

    def action_editor(self) -> None:
        """Open the text in the person's editor."""
        self.post_message(self.Wanted("editor"))

    def action_line_end_or_follow(self) -> None:
        """Go to the end of the line; when empty, to the end of the transcript."""
        if self.text:
            self.action_cursor_line_end()
        else:
            self.post_message(self.Wanted("follow"))

    def action_leave_or_delete(self) -> None:
        """Leave when empty, else delete to the right as everywhere."""
        if self.text:
            self.before_typing()
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Wanted("quit"))

    def action_delete_left(self) -> None:
        """Delete to the left; with nothing there at all, take off what is attached."""
        if self.text:
            super().action_delete_left()
        else:
            self.post_message(self.Wanted("detach"))

    def action_cursor_up(self, select: bool = False) -> None:
        """Up a line; at the first one, to an older input."""
        if self.completing:
            self.post_message(self.CompletionMoved(-1))
        elif not select and self.navigator.is_first_wrapped_line(self.selection.end):
            self.post_message(self.Walked(older=True))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down a line; at the last one, to a newer input."""
        if self.completing:
            self.post_message(self.CompletionMoved(1))
        elif not select and self.navigator.is_last_wrapped_line(self.selection.end):
            self.post_message(self.Walked(older=False))
        else:
            super().action_cursor_down(select)

    async def _on_key(self, event: events.Key) -> None:
        """Type, or do what the key is bound to, here and now.

        Bindings would be looked up elsewhere, by which time the next keys are typed already: a fast Enter would send
        half of the text. The screen's keys come before those of a text area.
        """
        if not event.is_printable:
            for node, bindings in reversed(self.screen._binding_chain):
                for binding in (
                    bindings.key_to_bindings.get(event.key, ()) if node in (self, self.screen) else ()
                ):
                    event.stop()
                    event.prevent_default()
                    if node is self and binding.action not in _WRITES_NOTHING:
                        self.before_typing()
                    await self.app.run_action(binding.action, node)
                    return
        if self.shortcut(event):
            event.stop()
            event.prevent_default()
            return
        self.before_typing()
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert pasted text with plain line ends and without control characters."""
        event.prevent_default()
        event.stop()
        self.before_typing()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        kept = _CONTROLS.sub("", text)
        before = self.text
        self.insert(kept)
        self.post_message(self.Pasted(kept, before, self.text))

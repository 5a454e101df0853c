"""The composer: a text area that grows with its text and sends with Enter."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style as RichStyle
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from catena.keys.bindings import bindings
from catena.text.prompt_text import Pastes, is_long
from catena.widgets.fields.text_fields import SafeTextArea, pasted_text
from catena.widgets.pieces import ComposedText

if TYPE_CHECKING:  # few people use it
    from catena.widgets.fields.vim_keys import VimKeys

_WRITES_NOTHING = ("send", "leave_or_delete")  # by itself
_TOGETHER = 0.015  # seconds between two keys of which no person pressed the second
_NOTICED = 0.3  # seconds after which a person knows that a text came in by itself


@dataclass(frozen=True, slots=True)
class Pasted:
    """A paste, where it stands in the text, and the whole text without it and with it."""

    text: str
    start: Location
    end: Location
    before: str
    after: str

    @property
    def set_apart(self) -> bool:
        """True if a space was put before it, without which it would be a command."""
        from catena_acp.continuity.routing.slash_commands import command_name  # after the first frame

        would_be = self.text.startswith("!") or command_name(self.text) is not None
        return would_be and self.start == (0, 0) and self.after.startswith(f" {self.text}")


class Composer(SafeTextArea):
    """A text area for one message.

    ``enter`` is called at once with the text on which Enter was pressed, and empties the composer if it takes it: what
    is typed behind it finds its place changed already. A long paste stands as one mark, which is one unit for the
    cursor and for deleting; the text is always whole.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--piece"}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            send="send",
            new_line="newline",
            complete="complete",
            search_inputs="search_inputs",
            follow="line_end_or_follow",
            editor="editor",
            undo_typing="undo",
            quit="leave_or_delete",
        ),
    ]
    DEFAULT_CSS = """
    Composer {
        height: auto;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        & .text-area--cursor-line { background: transparent; }
        & .composer--piece { color: $text-accent; text-style: bold; }
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

    def __init__(
        self, *, id: str | None = None, vim: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``vim``: keys are those of vi, outside of its insert mode. ``clock`` is that of events."""
        self._vim: VimKeys | None = None  # load_text asks for it
        self.pastes = Pastes()
        self._pieces: list[str] = []  # of the text and of what undo brings back
        self.leaves_mode = False  # Backspace at the beginning deletes the sign there
        super().__init__(id=id, highlight_cursor_line=False, compact=True)
        self.cursor_blink = False
        self.match_cursor_bracket = False
        # When something was typed or pasted; the last key.
        self._written_at = self._pressed_at = float("-inf")
        self._clock = clock
        self._came_in_at = float("-inf")  # when a text came in that no key had asked for
        self._came_in = ""  # the whole text then
        self._typing = False  # a printable key is being inserted
        self.completing = False  # a list of completions is shown and takes ↑ ↓ Tab Enter
        self.enter: Callable[[str], None] = lambda text: None
        self.empty_row: Callable[[int], Content] = lambda width: Content("")  # drawn while nothing is written
        self.pasted: Callable[[Pasted], None] = lambda paste: None  # called at once with what was pasted
        self.pastes_own_copy: Callable[[], bool] = lambda: True  # nothing was copied elsewhere since
        self.undone: Callable[[], None] = lambda: None  # called when typing was undone
        self.mode_changed: Callable[[str], None] = lambda word: None  # called with the word of vi's mode
        self.shortcut: Callable[[events.Key], bool] = lambda key: False  # True: the key meant something else
        # Called before a key or a paste is handled here.
        self.before_typing: Callable[[], None] = lambda: None

        self.use_vim(vim)

    def use_vim(self, on: bool) -> None:
        """Let keys be those of vi, beginning in insert mode, or no longer."""
        if on is (self._vim is not None):
            return
        if not on:
            self._vim = None
        else:
            from catena.widgets.fields.vim_keys import VimKeys

            self._vim = VimKeys(
                self,
                copy=lambda text: self.app.copy_to_clipboard(self._composed.whole(text)),
                clipboard=lambda: self.app.clipboard,
                changed=self._tell_mode,
            )
            self._vim.restart()
        self._tell_mode()

    def _tell_mode(self) -> None:
        self.mode_changed(self.vim_mode)

    @property
    def vim_mode(self) -> str:
        """The word of vi's mode, "" without vi's keys."""
        return self._vim.word if self._vim is not None else ""

    @property
    def inserting(self) -> bool | None:
        """True in vi's insert mode, False in its others; None without vi's keys."""
        return self._vim.inserting if self._vim is not None else None

    def load_text(self, text: str) -> None:
        """Replace the text, which is no change that is undone."""
        self._pieces = []
        super().load_text(text)
        self._came_in_at = float("-inf")
        if self._vim is not None:
            self._vim.restart()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text, up to a third of the screen.

        Not a ``max-height`` of that share: Textual leaves those out where it asks how high the parents are to be.
        """
        return min(super().get_content_height(container, viewport, width), max(1, viewport.height // 3))

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

    @property
    def pressed_apart(self) -> bool:
        """True if the last key did not come with what was typed or pasted before it, as in a paste of raw keys."""
        return self._pressed_at - self._written_at >= _TOGETHER

    @property
    def pressed_unaware(self) -> bool:
        """True if the last key was pressed before a person could know of a text that came in by itself."""
        soon = self._pressed_at - self._came_in_at < _NOTICED
        return soon and self.text.startswith(self._came_in)

    def put(self, text: str) -> None:
        """Replace the text; the cursor goes behind it."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def restore(self, text: str) -> None:
        """Restore a text that was not sent, before what was typed meanwhile."""
        meanwhile = self.text
        self.put(f"{text}\n{meanwhile}" if meanwhile.strip() else text)
        self.came_in()

    def came_in(self) -> None:
        """Note that the text came in by itself: the next Enter may have been meant for something else."""
        self._came_in_at, self._came_in = self._clock(), self.text

    def action_send(self) -> None:
        """Send the text, take a completion, or report that the composer is empty."""
        if self.completing:
            self.post_message(self.CompletionTaken(run=True))
        elif self.piece is not None:
            self._unfold(*self.piece)
        elif self.blank:
            self.post_message(self.SentEmpty())
        else:
            self.submit()

    def submit(self) -> None:
        """Send the text."""
        self.enter(self.text.strip("\n").rstrip())

    def quote(self, text: str) -> None:
        """Append a text, below what is written."""
        from catena_acp.continuity.routing.slash_commands import as_prose  # after the first frame

        self.before_typing()
        before = self.text.rstrip()
        self.put(f"{before}\n\n{as_prose(text)}" if before else as_prose(text))

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit. Only a sign that is typed begins a command; any other gets a space in front."""
        if not self._typing and self._would_begin_command(edit):
            edit = replace(edit, text=f" {edit.text}")
        start, end = self._whole_marks(edit.top, edit.bottom)
        return super().edit(replace(edit, text=self._marked(edit.text), from_location=start, to_location=end))

    def _would_begin_command(self, edit: Edit) -> bool:
        from catena_acp.continuity.routing.slash_commands import as_prose  # after the first frame

        top, bottom = sorted((edit.from_location, edit.to_location))
        first = self.first_line
        if top != (0, 0) and first.strip() and not first.startswith("`"):
            return False
        head = self.document.get_text_range((0, 0), top)
        text = f"{head}{edit.text}{self.document.get_text_range(bottom, self.document.end)}"
        if as_prose(text) == text or as_prose(head) != head:
            return False
        return self.text != f" {text}"  # the person may take that space away

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

    def action_paste(self) -> None:
        """Paste what was copied or cut here, else the image on the clipboard; any other text the terminal pastes."""
        if self.app.clipboard and self.pastes_own_copy():
            self.before_typing()
            super().action_paste()
        else:
            self.post_message(self.Wanted("paste"))

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
        at_sign = self.first_line.startswith("!")  # and not at the output of another command
        if self.leaves_mode and at_sign and self.selection.is_empty and self.cursor_location == (0, 0):
            self.delete((0, 0), (0, 1))
        elif self.text:
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
        self._pressed_at = event.time
        if event.is_printable:
            self._written_at = event.time
        elif self._means_something_in_vi(event):
            return
        else:
            for node, bindings in reversed(self.screen._binding_chain):
                for binding in (
                    bindings.key_to_bindings.get(event.key, ()) if node in (self, self.screen) else ()
                ):
                    event.stop()
                    event.prevent_default()
                    if node is self and binding.action not in _WRITES_NOTHING:
                        self.before_typing()
                    await self.app.run_action(binding.action, node)
                    if self._vim is not None:
                        self._vim.settle()
                    return
        if self.shortcut(event):
            event.stop()
            event.prevent_default()
            return
        self.before_typing()
        if event.is_printable and self._means_something_in_vi(event):
            return
        self._typing = event.is_printable
        try:
            await super()._on_key(event)
        finally:
            self._typing = False

    def _means_something_in_vi(self, event: events.Key) -> bool:
        """True if vi's keys are on and have taken the key; a list of completions is closed first."""
        if self._vim is None or (event.key == "escape" and self.completing):
            return False
        if not self._vim.takes(event):
            return False
        event.stop()
        event.prevent_default()
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert pasted text as it is, a long one as a piece."""
        event.prevent_default()
        event.stop()
        self._written_at = event.time
        self.before_typing()
        text = pasted_text(event.text)
        before, start = self.text, min(self.selection.start, self.selection.end)
        if is_long(text):
            self.pastes.add(text)
        self.insert(text)
        self.pasted(Pasted(text, start, self.cursor_location, before, self.text))

    # --- pieces

    @property
    def _composed(self) -> ComposedText:
        assert isinstance(self.document, ComposedText)
        return self.document

    @property
    def first_line(self) -> str:
        """The first line of the whole text."""
        return self._composed.first_line

    def _made_document(self, text: str) -> ComposedText:
        document = ComposedText("", self._pieces)
        document.replace_range((0, 0), (0, 0), document.marked(text, self.pastes))
        return document

    def _marked(self, text: str) -> str:
        """A text with marks for its pieces; what a shell runs is seen whole."""
        if self.leaves_mode:
            return text
        return self._composed.marked(text, self.pastes, edited=self._vim is not None)

    def _delete_via_keyboard(self, start: Location, end: Location) -> EditResult | None:
        """Delete a text, with the whole of each mark that it begins or ends in."""
        return super()._delete_via_keyboard(*self._whole_marks(*sorted((start, end))))

    def _whole_marks(self, start: Location, end: Location) -> tuple[Location, Location]:
        """A range that takes in the whole of each mark that it begins or ends in."""
        first, last = self._composed.mark_around(start), self._composed.mark_around(end)
        return (start[0], first[0]) if first else start, (end[0], last[1]) if last else end

    @property
    def piece(self) -> tuple[Location, Location, str] | None:
        """Where the piece begins and ends that the cursor stands on, and its text."""
        row, column = self.cursor_location
        if not self.selection.is_empty:
            return None
        found = (each for each in self._composed.marks(row) if each[0] == column)
        return next((((row, start), (row, end), text) for start, end, text in found), None)

    def _unfold(self, start: Location, end: Location, text: str) -> None:
        """Put the text of a piece in its place; undo folds it again."""
        super().edit(Edit(text, start, end, maintain_selection_offset=False))
        self.move_cursor(start)

    def validate_selection(self, selection: Selection) -> Selection:
        """Let no end of the selection be inside of a mark: a step into it goes over it."""
        return Selection(*(self._outside_marks(end, self.selection.end) for end in selection))

    def _outside_marks(self, to: Location, origin: Location) -> Location:
        mark = self._composed.mark_around(to) if isinstance(self.document, ComposedText) else None
        if mark is None:
            return to
        start, end = mark
        return to[0], end if origin[0] == to[0] and origin[1] <= start else start

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn, its marks unlike text that was typed."""
        line = super().get_line(line_index)
        for start, end, _ in self._composed.marks(line_index):
            style = self.get_component_rich_style("composer--piece", partial=True)
            on_it = self.has_focus and self.selection.is_empty and self.cursor_location == (line_index, start)
            line.stylize(style + RichStyle(reverse=True) if on_it else style, start, end)
        return line

    def action_undo(self) -> None:
        """Undo typing."""
        super().action_undo()
        self.undone()

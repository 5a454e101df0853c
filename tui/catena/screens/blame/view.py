"""The widget that shows the lines of a file, each block beside who wrote it; only what is in sight is drawn."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from catena.text.blame_text import WAY, age_words, brief_words, mark_of
from catena.text.formats import cell_width, truncate
from catena.text.safe_text import safe
from catena.text.strips.safe_strips import safe_segments
from catena.transcript.drawing.lines import MARKS
from catena.transcript.drawing.render_options import NARROW, Palette
from catena.transcript.widget.subject_block import ROLE_CLASSES, role_styles
from catena.widgets.scroll_bar import thin_scroll_bar
from catena_acp.blame.authorship import BlamedFile, Block, Proof

_BAR = "▌"
_WIDE = 100  # cells, from which the gutter is wide
_WORDS_WIDE, _WORDS, _WORDS_NARROW = 30, 18, 11  # cells of the words in the gutter
_TAB = 4


class BlameView(ScrollView, can_focus=False):
    """The lines of a file, one of which has the cursor; the screen has the keys."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(ROLE_CLASSES)
    DEFAULT_CSS = (
        role_styles("BlameView")
        + """
    BlameView { height: 1fr; width: 1fr; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """
    )

    class Moved(Message):
        """The cursor is on another line."""

    class Opened(Message):
        """The line with the cursor was clicked."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._file: BlamedFile | None = None
        self._words = ""  # instead of lines
        self._starts: dict[int, int] = {}  # the block of each line that begins one
        self._age = 0  # cells of the longest age
        self._palette: Palette | None = None
        self.cursor = 0
        self.block = 0  # that the cursor is in

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)

    @property
    def current(self) -> Block | None:
        """The block that the cursor is in."""
        return self._file.blocks[self.block] if self._file is not None and self._file.blocks else None

    def say(self, words: str) -> None:
        """Show words instead of a file."""
        self._file, self._words = None, words
        self.virtual_size = Size(0, 1)
        self.refresh()

    def show(self, file: BlamedFile, line: int) -> None:
        """Show a file with the cursor on a line, counted from 0."""
        self._file = file
        self._words = "" if file.blocks else "The file is empty."
        self._starts = {block.first: at for at, block in enumerate(file.blocks)}
        now = self._clock()
        self._age = max((len(age_words(file, block.author, now)) for block in file.blocks), default=0)
        self.virtual_size = Size(0, max(1, len(file.lines)))
        self.go_to(line)

    def go_to(self, line: int) -> None:
        """Put the cursor on a line, or the nearest one that there is."""
        if self._file is None or not self._file.blocks:
            return
        self.cursor = max(0, min(line, len(self._file.lines) - 1))
        self.block = self._file.block_at(self.cursor)
        self._reveal()
        self.refresh()
        self.post_message(self.Moved())

    def go_to_turn(self, step: int) -> bool:
        """Go to the beginning of the next block of a turn, or of the one before; False where there is none."""
        file = self._file
        if file is None:
            return False
        at = self.block + step
        while 0 <= at < len(file.blocks):
            if file.blocks[at].author.turn_id is not None:
                self.go_to(file.blocks[at].first)
                return True
            at += step
        return False

    def _reveal(self) -> None:
        """Keep the cursor in sight, and where it has just come there the lines around it."""
        height, top = self.size.height, self.scroll_offset.y
        if not height:
            return
        if abs(self.cursor - top) > 2 * height:
            wanted = self.cursor - height // 3
        else:
            wanted = max(min(top, self.cursor), self.cursor - height + 1)
        if wanted != top:
            self.scroll_to(y=max(0, wanted), animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        """Keep the cursor in sight in another size."""
        self._reveal()

    def notify_style_update(self) -> None:
        """Draw anew in the styles of another theme."""
        super().notify_style_update()
        self._palette = None

    # Drawing

    def render_line(self, y: int) -> Strip:
        """A line: who wrote it, where its block or the screen begins, its number and its text."""
        width = self.scrollable_content_region.width
        if self._palette is None:
            self._palette = Palette.read(self.get_component_rich_style)
        palette, file = self._palette, self._file
        at = y + self.scroll_offset.y
        if file is None or at >= len(file.lines):
            words = self._words if at == 0 else ""
            return Strip([Segment(f"{'':{MARKS}}{words}", palette.faint)]).adjust_cell_length(
                width, self.rich_style
            )
        block = file.block_at(at)
        here = block == self.block
        ground = self._ground(at, here=here)
        first = at in self._starts or y == 0
        narrow = width < NARROW
        pieces = [
            ((_BAR if here else "").ljust(MARKS), palette.focus),
            *self._gutter(file.blocks[block], width, shown=first, here=here),
        ]
        if not narrow:
            number = len(str(len(file.lines)))
            pieces.append((f"{at + 1:>{number}}  ", palette.muted if here else palette.faint))
        room = width - sum(cell_width(text) for text, _ in pieces) - (0 if narrow else 1)
        text = safe(file.lines[at].expandtabs(_TAB)).replace("\n", " ")
        proved = file.blocks[block].author.proof is not Proof.UNKNOWN
        pieces.append((truncate(text, max(4, room)), palette.text if proved else palette.muted))
        segments = [Segment(text, _over(style, ground)) for text, style in pieces if text]
        return Strip(safe_segments(segments)).adjust_cell_length(width, ground or self.rich_style)

    def _ground(self, at: int, *, here: bool) -> Style | None:
        """The ground of the line with the cursor, and of its block."""
        assert self._palette is not None
        if at == self.cursor:
            return self._palette.selection
        return Style(bgcolor=self._palette.prompt.bgcolor) if here else None

    def _gutter(self, block: Block, width: int, *, shown: bool, here: bool) -> list[tuple[str, Style]]:
        """The mark, the words and the age of a block; as many blanks where they are not shown."""
        assert self._palette is not None and self._file is not None
        palette, file, author = self._palette, self._file, block.author
        room = _WORDS_WIDE if width >= _WIDE - MARKS else _WORDS if width >= NARROW else _WORDS_NARROW
        has_age = width >= NARROW
        total = MARKS + room + (self._age + 1 if has_age else 0) + 2
        if not shown:
            return [(" " * total, palette.faint)]
        mark = mark_of(file, author)
        known = author.turn_id is not None
        words = truncate(brief_words(file, author), room)
        age = age_words(file, author, self._clock()) if has_age else ""
        return [
            (
                mark.ljust(MARKS),
                palette.muted + Style(color=palette.prompt_bar.color) if mark == WAY else palette.muted,
            ),
            (f"{words}{'':{room - cell_width(words)}}", palette.muted if known or here else palette.faint),
            (f" {age:>{self._age}}" if has_age else "", palette.muted if here else palette.faint),
            ("  ", palette.faint),
        ]

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the clicked line; a click on it again opens its turn."""
        at = event.y + self.scroll_offset.y
        if self._file is None or at >= len(self._file.lines):
            return
        event.stop()
        if at == self.cursor:
            self.post_message(self.Opened())
        else:
            self.go_to(at)


def _over(style: Style, ground: Style | None) -> Style:
    """A style on a ground; where that is the text's colours changed places, all of it is."""
    if ground is None:
        return style
    return ground if ground.reverse else style + Style(bgcolor=ground.bgcolor)

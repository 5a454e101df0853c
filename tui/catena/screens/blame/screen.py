"""The lines of a file with the prompts that wrote them, each to be opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widgets import Static

from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.changes.review import fenced
from catena.screens.common.dialog import STYLES, Dialog
from catena.text.blame_text import WAY, age_words, brief_words, full_words, mark_of
from catena.text.formats import cell_width, truncate
from catena.text.safe_text import safe, safe_line
from catena.text.strips.safe_strips import safe_segments
from catena.transcript.drawing.lines import MARKS
from catena.transcript.drawing.render_options import NARROW, Palette
from catena.transcript.widget.blocks import ROLE_CLASSES, role_styles
from catena.widgets.scroll_bar import thin_scroll_bar
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject
from catena_acp.blame.authorship import BlamedFile, Block, Proof
from catena_acp.continuity.wording.counts import counted
from catena_store.chains.turns import TurnPrompt

_MOST_QUOTED = 200  # lines
_KEYS = (
    SheetKey("{blame_open}", "open", "open"),
    SheetKey("{next_turn previous_turn}", "next, previous turn"),
    SheetKey("{blame_quote}", "quote", "quote"),
    SheetKey("{blame_read}", "read again", "read"),
    SheetKey("{leave}", "close", "leave"),
)
_MORE_KEYS = (
    ("{line_down line_up}", "next, previous line"),
    ("{blame_top} {blame_end}", "first, last line"),
)

_BAR = "▌"
_WIDE = 100  # cells, from which the gutter is wide
_WORDS_WIDE, _WORDS, _WORDS_NARROW = 30, 18, 11  # cells of the words in the gutter
_TAB = 4


class BlameScreen(Dialog[TurnPrompt | None]):
    """A file, and who wrote it; the result is the prompt that the person opens."""

    CSS_PATH = [STYLES, "blame.tcss"]  # noqa: RUF012 - as Textual declares them
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(leave="leave", cancel="leave"),
        *bindings(
            row_down="move(1)",
            row_up="move(-1)",
            blame_down="move(1)",
            blame_up="move(-1)",
            page_down="page(1)",
            page_up="page(-1)",
            next_turn="turn(1)",
            previous_turn="turn(-1)",
            blame_top="to_end(-1)",
            blame_end="to_end(1)",
            blame_open="open",
            blame_quote="quote",
            blame_read="read",
        ),
    ]

    def __init__(
        self,
        path: Path,
        line: int,
        *,
        shown: str,
        read: Callable[[Path], Awaitable[BlamedFile]],
        quote: Callable[[str], None],
        clock: Callable[[], datetime],
        subject: Subject,
    ) -> None:
        """``line`` has the cursor, from 1; ``shown`` is the path as a person knows it."""
        super().__init__(SheetWords(f"Blame {safe_line(shown)}", subject=subject))
        self._path = path
        self._line = line
        self._shown = shown
        self._read_file = read
        self._quote = quote
        self._clock = clock
        self._file: BlamedFile | None = None

    def compose(self) -> ComposeResult:
        """Head, lines, who wrote the current ones, message, keys."""
        yield from self.compose_head()
        yield BlameView(self._clock, id="lines")
        yield Static("", id="author", markup=False)
        yield from self.compose_foot(*_KEYS)

    def on_mount(self) -> None:
        """Read the file; Esc ends that."""
        self.action_read()

    @property
    def _view(self) -> BlameView:
        return self.query_one(BlameView)

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from super().help_keys
        yield from keys_of(self).hints(_MORE_KEYS)

    def action_read(self) -> None:
        """Read the file, and look through its snapshots again."""
        self.say("")
        if self._file is None:
            self._view.say("Looking through the snapshots …")
        self.run_worker(self.attempt(self._read()), group="read", exclusive=True)

    async def _read(self) -> None:
        line = self._line - 1 if self._file is None else self._view.cursor
        try:
            self._file = file = await self._read_file(self._path)
        except Exception:  # whatever it was is said; not when cancelled: the next reading has begun
            self._view.say("")
            raise
        turns = {block.author.turn_id for block in file.blocks if block.author.turn_id is not None}
        lines = len(file.lines)
        self.show_head(count=f"{counted(lines, 'line')} · {counted(len(turns), 'turn')}")
        self._view.show(file, line)
        if not file.blocks:
            self._show_author()

    # Moving

    def on_blame_view_moved(self, event: BlameView.Moved) -> None:
        """Show who wrote the line."""
        event.stop()
        self.say("")
        self._show_author()

    def on_blame_view_opened(self, event: BlameView.Opened) -> None:
        """Open the turn of the line."""
        event.stop()
        self.action_open()

    def _show_author(self) -> None:
        block, file = self._view.current, self._file
        words = (
            full_words(file, block.author, self._clock()) if block is not None and file is not None else ""
        )
        self.query_one("#author", Static).update(Content.styled(words, "$muted"))

    def action_move(self, step: int) -> None:
        """Go to the next or previous line."""
        self._view.go_to(self._view.cursor + step)

    def action_page(self, step: int) -> None:
        """Go on by a screenful."""
        self.action_move(step * max(1, self._view.size.height - 1))

    def action_to_end(self, step: int) -> None:
        """Go to the first or last line."""
        if self._file is not None:
            self._view.go_to(0 if step < 0 else len(self._file.lines) - 1)

    def action_turn(self, step: int) -> None:
        """Go to the next or previous block of a turn."""
        if self._file is not None and not self._view.go_to_turn(step):
            self.say("No turn below wrote a line." if step > 0 else "No turn above wrote a line.")

    # What is done with it

    def action_open(self) -> None:
        """Open the conversation at the prompt that wrote the line."""
        block, file = self._view.current, self._file
        if block is None or file is None:
            return
        turn = file.blamed_turns.get(block.author.turn_id or "")
        if turn is None:
            outside = block.author.proof is Proof.BETWEEN
            self.say("No turn wrote these lines." if outside else "It is not known who wrote these lines.")
        elif turn.prompt.deleted:
            self.say("The conversation was deleted.")
        else:
            self.dismiss(turn.prompt)

    def action_quote(self) -> None:
        """Quote the block into the prompt."""
        block, file = self._view.current, self._file
        if block is None or file is None:
            return
        lines = [safe(line).replace("\n", " ") for line in file.lines[block.first : block.end]]
        place = f"line {block.end:,}" if block.count == 1 else f"lines {block.first + 1:,}–{block.end:,}"
        shown = lines[:_MOST_QUOTED]
        if len(lines) > len(shown):
            shown.append(f"… {counted(len(lines) - len(shown), 'more line')}")
        self._quote(fenced(f"{safe_line(self._shown)}, {place}:", "\n".join(shown)))
        self.say(f"Quoted {place} into your prompt.")


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
        """Go to the beginning of the next block of a turn, or of the previous one; False if there is none."""
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

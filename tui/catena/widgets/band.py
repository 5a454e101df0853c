"""A band: a question or a trouble on a ground of its own, with a bar on its left and its options one a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.style import Style
from textual.widget import Widget

from catena.text.safe_text import safe_line
from catena.transcript.drawing.wrapping import break_rows
from catena.widgets.scroll_bar import thin_scroll_bar
from catena_acp.continuity.wording.counts import counted

NARROW = 60  # cells of a screen below which words wrap under their key, and prices stand below
SHORT = 15  # rows of a screen below which the options share a row
_AXIS = 8  # cells from the text's edge to the words of an option
_NARROW_AXIS = 6
_APART = 3  # cells between the options of one row, and before what stands on the right
_FIRST_LINES = 3  # rows that the first sentence and what follows it may take
_SHORT_NOTE = 2  # rows of a short screen that what stands below the title may take
_LEAST = 8  # characters of an option that tell it from others
_LOWEST = 10  # rows of a screen below which options share two rows at most, else three
_SET_IN = 2  # cells before a row that a line goes on in
_TAKES = "takes"  # what a click on an option stands for


@dataclass(frozen=True, slots=True)
class Choice:
    """An option: the name that it is taken by, its key and letter as they are shown, its words and its price."""

    name: str
    key: str
    words: str
    letter: str = ""
    price: str = ""
    whole: bool = False  # its words are not cut where options share a row
    # The same in fewer cells, where options share rows and have no room for all of their words.
    short: str = ""


@dataclass(frozen=True, slots=True)
class BandWords:
    """The words of a band."""

    title: str  # bold
    more: str = ""  # behind it
    note: str = ""  # below it, muted
    choices: tuple[Choice, ...] = ()
    right: tuple[Choice, ...] = ()  # on the right of the first row; without a name it is no option
    about: tuple[str, ...] = ()  # lines below the title, as many as there is room for
    note_in_short: bool = False  # it stands on a short screen, too


class Band(Vertical):
    """A band of words, which names the option that is clicked."""

    DEFAULT_CSS = """
    Band {
        height: auto;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        padding: 0 2 0 1;
        border-top: $half-row $band;
        border-bottom: $half-row $band;
        border-left: outer $accent;
        background: $band;
        color: $foreground;
        &.-asking {
            border-top: $half-row $asking-ground;
            border-bottom: $half-row $asking-ground;
            border-left: outer $asking;
            background: $asking-ground;
        }
        &.-failure {
            border-top: $half-row $failure-ground;
            border-bottom: $half-row $failure-ground;
            border-left: outer $failure;
            background: $failure-ground;
        }
        &.-short { border-top: none; border-bottom: none; }
    }
    """

    share = 0.6  # of the screen's height that it takes at most

    class Chosen(Message):
        """The person clicked on an option; "" is beside all of them."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, tone: str, *below: Widget, id: str | None = None) -> None:
        """``tone`` is the colour of its bar and keys: accent, asking or failure; ``below`` the words stand these."""
        super().__init__(id=id, classes=f"-{tone}")
        self.text = BandText(tone)
        self.heeds_click: Callable[[], bool] = lambda: True
        # The rows that there are for it on a screen of a height.
        self.rows: Callable[[int], int] = lambda height: height
        self._below = below

    def on_mount(self) -> None:
        """Leave the half rows out of a short screen."""
        self.on_resize()

    def on_resize(self) -> None:
        """Leave the half rows out of a short screen."""
        self.set_class(self.screen.size.height < SHORT, "-short")

    def compose(self) -> ComposeResult:
        """Yield the words, and what stands below."""
        yield self.text
        yield from self._below

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as its words, up to its most; a ``max-height`` would not count for its parents' heights."""
        return min(super().get_content_height(container, viewport, width), self.most(viewport.height))

    def most(self, height: int) -> int:
        """The rows that its content takes at most on a screen of this height: a share, and no more than there are."""
        return max(1, min(int(height * self.share), self.rows(height) - self.gutter.height))

    def height_in(self, width: int) -> int:
        """The rows that its words take in a width, with what is around them."""
        rows = len(self.text.lines(width - self.gutter.width))
        return min(rows, self.most(self.screen.size.height)) + self.gutter.height

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)

    def on_click(self, event: events.Click) -> None:
        """Name the option that was clicked, unless the click meant something else."""
        if not self.heeds_click():
            return
        name = event.style.meta.get(_TAKES)
        self.post_message(self.Chosen(name if isinstance(name, str) else ""))


class BandText(Widget):
    """The words of a band, laid out for its width."""

    DEFAULT_CSS = """
    BandText { height: auto; }
    """

    def __init__(self, tone: str) -> None:
        super().__init__()
        self._tone = f"${tone}"
        self._words = BandWords("")

    def show(self, words: BandWords) -> None:
        """Show these words."""
        if words != self._words:
            self._words = words
            self.refresh(layout=True)

    @property
    def words(self) -> BandWords:
        """The words that are shown."""
        return self._words

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the words take."""
        return len(self.lines(width))

    def render(self) -> Content:
        """The words for the width."""
        return Content("\n").join(self.lines(self.content_size.width))

    def lines(self, width: int) -> list[Content]:
        """The rows in a width."""
        width = max(1, width)
        words = self._words
        first, below = self._around(words, width)
        about = _rows_of(words.about, width)
        room = self._room(len(first) + len(below))
        if len(about) > room == 1:
            about = _cut(about, 1, width)
        elif len(about) > room:
            more = Content.styled(f"… {counted(len(about) - room + 1, 'more row')}", "$muted")
            about = [*about[: room - 1], more.truncate(width, ellipsis=True)]
        return [*first, *about, *below]

    def _around(self, words: BandWords, width: int) -> tuple[list[Content], list[Content]]:
        """The rows above and below the lines that the title is about."""
        note = Content.styled(safe_line(words.note), "$muted").wrap(width) if words.note else []
        if self.screen.size.height < SHORT:
            noted = _cut(note, _SHORT_NOTE, width) if note and words.note_in_short else []
            shared = self._shared(words.choices, width) if words.choices else []
            return [self._one_row(words, width)], [*noted, *shared]
        narrow = self.screen.size.width < NARROW
        options = [row for choice in words.choices for row in self._row(choice, width, narrow=narrow)]
        return self._first(words, width), [*(_cut(note, _FIRST_LINES, width) if note else []), *options]

    def _room(self, taken: int) -> int:
        """The rows that are left in the band, of which ``taken`` have others."""
        height = self.screen.size.height
        share = int(height * Band.share)
        if isinstance(band := self.parent, Band):
            share = min(share - band.gutter.height, band.most(height))
        return max(1, share - taken)

    def _first(self, words: BandWords, width: int) -> list[Content]:
        """The title and what stands on the right of it, on a row of its own where there is no room beside."""
        right, room = self._right(words.right), self._room_of_title(words, width)
        lines = _cut(_said(words).wrap(room), _FIRST_LINES, room)
        if not right:
            return lines
        if room < width:
            return [_beside(lines[0], right, width), *lines[1:]]
        return [*lines, _beside(Content(""), right, width).truncate(width, ellipsis=True)]

    def _room_of_title(self, words: BandWords, width: int) -> int:
        """The cells of a row of the title; all of them where what belongs on its right has a row of its own."""
        right = self._right(words.right)
        room = width - right.cell_length - _APART
        beside = right and (room >= width // 2 or _said(words).cell_length <= room)
        return room if beside else width

    def _one_row(self, words: BandWords, width: int) -> Content:
        """The title, cut, and what stands on the right of it, where there is room for both."""
        right, room = self._right_of_one_row(words, width)
        title = _said(words).truncate(room, ellipsis=True)
        return _beside(title, right, width) if right else title

    def _right_of_one_row(self, words: BandWords, width: int) -> tuple[Content, int]:
        """What stands on the right of the title in a single row, and the cells that it leaves."""
        right = self._right(words.right)
        if _said(words).cell_length > width - right.cell_length - _APART:
            right = self._right(tuple(replace(each, words="") for each in words.right if each.key))
        room = width - right.cell_length - _APART
        return (right, room) if right and room >= width // 3 else (Content(""), width)

    def _shared(self, choices: tuple[Choice, ...], width: int) -> list[Content]:
        """All options in as few rows as have room for their words; a key is never left out."""
        keys_alone = [_taking(choice, self._key(choice)) for choice in choices]
        return self._sharing(choices, width) or _packed(keys_alone, width)

    def cuts(self, words: BandWords) -> bool:
        """True if these words would be shown without the end of their title, their note or what it is about."""
        width = max(1, self.content_size.width)
        first, below = self._around(words, width)
        if len(_rows_of(words.about, width)) > self._room(len(first) + len(below)):
            return True
        if self.screen.size.height < SHORT:
            return _said(words).cell_length > self._right_of_one_row(words, width)[1]
        note = Content(safe_line(words.note)).wrap(width)
        title = _said(words).wrap(self._room_of_title(words, width))
        return max(len(title), len(note)) > _FIRST_LINES

    def shares(self, choices: tuple[Choice, ...]) -> bool:
        """True where the options have room in the rows that they share, none of them without words."""
        return self.is_attached and self._sharing(choices, max(1, self.content_size.width)) is not None

    def _sharing(self, choices: tuple[Choice, ...], width: int) -> list[Content] | None:
        """The options in rows: with all of their words, else in brief, else cut; None where there is no room."""
        most = 2 if self.screen.size.height < _LOWEST else 3
        brief = [replace(choice, words=choice.short or choice.words) for choice in choices]
        for rows in range(1, most + 1):
            for said in (choices, brief):
                if (lines := self._in_rows(said, width, rows)) is not None:
                    return lines
        longest = max(len(safe_line(choice.words)) for choice in brief)
        for rows, least in ((2, _LEAST), (most, _LEAST), (most, 1)):
            for cells in range(longest, min(least, longest) - 1, -1):
                cut = [replace(choice, words=_shortened(choice, cells)) for choice in brief]
                if (lines := self._in_rows(cut, width, rows)) is not None:
                    return lines
        return None

    def _in_rows(self, choices: Sequence[Choice], width: int, most: int) -> list[Content] | None:
        """The options one after the other, None where that takes more rows or a row is wider."""
        lines = _packed(
            [
                _taking(choice, Content.assemble(self._key(choice), f" {safe_line(choice.words)}"))
                for choice in choices
            ],
            width,
        )
        return lines if len(lines) <= most and all(line.cell_length <= width for line in lines) else None

    def _row(self, choice: Choice, width: int, *, narrow: bool) -> list[Content]:
        """The rows of an option: key, words, and the price at the text's right edge."""
        axis = _NARROW_AXIS if narrow else _AXIS
        key = self._key(choice)
        words = Content(safe_line(choice.words)).wrap(max(4, width - axis)) or [Content("")]
        lines = [
            (_padded(key, axis) if number == 0 else Content(" " * axis)) + line
            for number, line in enumerate(words)
        ]
        if choice.price:
            price = Content.styled(safe_line(choice.price), "$muted")
            if narrow or lines[-1].cell_length + _APART + price.cell_length > width:
                lines += [Content(" " * axis) + line for line in price.wrap(max(4, width - axis))]
            else:
                lines[-1] = _beside(lines[-1], price, width)
        return [_taking(choice, _padded(line, width)) for line in lines]

    def _right(self, choices: tuple[Choice, ...]) -> Content:
        pieces = []
        for choice in choices:
            words = Content.styled(safe_line(choice.words), "$muted")
            key = Content.styled(choice.key, self._tone)
            said = Content(" ").join(each for each in (key, words) if each)
            pieces.append(_taking(choice, said))
        return Content(" " * _APART).join(pieces)

    def _key(self, choice: Choice) -> Content:
        key = Content.styled(choice.key, f"bold {self._tone}")
        return Content.assemble(key, (f" {choice.letter}", self._tone)) if choice.letter else key


def _said(words: BandWords) -> Content:
    title = Content.styled(safe_line(words.title), "bold")
    return Content.assemble(title, f" {safe_line(words.more)}") if words.more else title


def _rows_of(lines: Sequence[str], width: int) -> list[Content]:
    """Lines with all of their blanks; the rows that one goes on in are set in."""
    rows: list[Content] = []
    for line in lines:
        first, *more = break_rows(line, max(1, width - _SET_IN), width)
        rows.append(Content(line[first.start : first.end]))
        rows += [Content(" " * _SET_IN + line[row.start : row.end]) for row in more]
    return rows


def _taking(choice: Choice, content: Content) -> Content:
    return content.stylize(Style.from_meta({_TAKES: choice.name})) if choice.name else content


def _beside(left: Content, right: Content, width: int) -> Content:
    return Content.assemble(left, " " * max(1, width - left.cell_length - right.cell_length), right)


def _padded(content: Content, cells: int) -> Content:
    return content + Content(" " * max(0, cells - content.cell_length))


def _cut(lines: list[Content], most: int, width: int) -> list[Content]:
    if len(lines) <= most:
        return list(lines) or [Content("")]
    last = (lines[most - 1] + Content(" …")).truncate(width, ellipsis=True)
    return [*lines[: most - 1], last]


def _packed(pieces: Sequence[Content], width: int) -> list[Content]:
    """The pieces in as many rows as they need, each in one of them."""
    rows: list[Content] = []
    for piece in pieces:
        if rows and rows[-1].cell_length + _APART + piece.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], " " * _APART, piece)
        else:
            rows.append(piece)
    return rows


def _shortened(choice: Choice, longest: int) -> str:
    name = safe_line(choice.words)
    return name if choice.whole or len(name) <= longest else f"{name[: longest - 1].rstrip()}…"

"""The one box that text is typed into, with words on its edges: above, what it does; below, to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

_CLICKED = "clicked"  # what a click on a word stands for
_SEPARATOR = Content.styled(" · ", "$faint")
_BEFORE_SHORTENING = 1  # words of less weight go before one is said shortly
_SHARE = 2 / 3  # of a row that words behind a field take at most
_LEAST_RULE = 2  # cells of the edge between the words of both ends
_SIGN = "› "


@dataclass(frozen=True, slots=True)
class EdgeWord:
    """A word on an edge of the box.

    If there is no room, words with a ``short`` form are shortened, and then words of less weight are left out.
    """

    content: Content
    weight: int = 0
    clicked: str = ""  # what a click on it is reported as
    chip: bool = False  # on a ground of its own, and apart from the others
    short: Content | None = None  # the same in fewer cells


class EdgeWords(Widget):
    """Words in a row, some of which can be clicked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"edge--chip"}
    DEFAULT_CSS = """
    EdgeWords {
        height: 1;
        width: auto;
        & > .edge--chip { color: $accent; background: $selection; text-style: $selection-style; }
    }
    """

    class Clicked(Message):
        """A word that stands for something was clicked."""

        def __init__(self, clicked: str) -> None:
            super().__init__()
            self.clicked = clicked

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._words: tuple[EdgeWord, ...] = ()

    def show(self, words: Sequence[EdgeWord]) -> None:
        """Show these words."""
        if not _same(words, self._words):
            self._words = tuple(words)
            # Most of the time they are hidden, and they change with each step of a scrolled transcript.
            self.refresh(layout=self.display and self._width != self.size.width)

    @property
    def _width(self) -> int:
        return 2 + joined(self._words).cell_length if self._words else 0

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide as the words, two cells behind what is before them; most of the row at most."""
        return min(self._width, int(container.width * _SHARE))

    def render(self) -> Content:
        """The words that there is room for."""
        room = self.size.width - 2
        if not self._words or room < 1:
            return Content("")
        words = self._words
        if self._width > self.size.width:
            words = tuple(_fitting(words, (), room + 2)[0])
        return Content.assemble("  ", cut_content(self.drawn(words), room))

    def drawn(self, words: Sequence[EdgeWord]) -> Content:
        """Words in one line, as they look and are clicked at here."""
        chip = self.get_visual_style("edge--chip")
        return joined(
            [
                EdgeWord(
                    word.content.stylize(chip) if word.chip else word.content,
                    clicked=word.clicked,
                    chip=word.chip,
                )
                for word in words
            ]
        )

    def on_click(self, event: events.Click) -> None:
        """Report a click on a word that stands for something."""
        if clicked := event.style.meta.get(_CLICKED):
            event.stop()
            self.post_message(self.Clicked(str(clicked)))


class BoxEdge(EdgeWords):
    """The upper or lower edge of a box, with words at both ends."""

    DEFAULT_CSS = """
    BoxEdge { width: 1fr; color: $rule; &.-focused { color: $focus; } }
    """

    def __init__(self, corners: str) -> None:
        """``corners`` are the left one and the right one."""
        super().__init__()
        self._corners = corners
        self._right: tuple[EdgeWord, ...] = ()

    def show(self, words: Sequence[EdgeWord], right: Sequence[EdgeWord] = ()) -> None:
        """Show these words."""
        if not (_same(words, self._words) and _same(right, self._right)):
            self._words, self._right = tuple(words), tuple(right)
            self.refresh()

    def render(self) -> Content:
        """The edge with as many of its words as there is room for."""
        width = self.size.width - 2
        left, right = _fitting(self._words, self._right, width)
        start, end = self.drawn(left), self.drawn(right)
        if not right:
            start = cut_content(start, max(1, width - 2))
        words_left = Content.assemble(" ", start, " ") if left else Content("")
        words_right = Content.assemble(" ", end, " ") if right else Content("")
        rule = "─" * max(0, width - words_left.cell_length - words_right.cell_length)
        return Content.assemble(self._corners[0], words_left, rule, words_right, self._corners[1])


class TypingBox(Vertical):
    """A box around a field. On a short screen it is one row, with a sign before the field and words behind it.

    Its border has the colour of the focus while the field has it.
    """

    SCOPED_CSS = False  # how it looks depends on the screen
    DEFAULT_CSS = """
    TypingBox {
        height: auto;
        & > .box--inside { height: auto; border-left: round $rule; border-right: round $rule; padding: 0 1; }
        & > .box--inside.-focused { border-left: round $focus; border-right: round $focus; }
        & > .box--inside > Input, & > .box--inside > TextArea { width: 1fr; }
        & .box--sign { display: none; width: 2; color: $accent; text-style: bold; }
        & .box--behind { display: none; }
        &.-shell > BoxEdge.-focused { color: $sand; }
        &.-shell > .box--inside.-focused { border-left: round $sand; border-right: round $sand; }
        &.-shell .box--sign { color: $sand; }
    }
    .-short TypingBox {
        & > BoxEdge { display: none; }
        & > .box--inside { border: none; padding: 0; }
        & > .box--inside.-focused { border: none; }
        & .box--sign { display: block; }
        & .box--behind { display: block; }
    }
    """

    def __init__(self, *inside: Widget, id: str | None = None) -> None:
        """``inside`` are the field and what stands beside it."""
        super().__init__(id=id)
        self._inside = inside
        self._middle = Horizontal(classes="box--inside")
        self.upper = BoxEdge("╭╮")
        self.lower = BoxEdge("╰╯")
        self.behind = EdgeWords(classes="box--behind")

    def compose(self) -> ComposeResult:
        """The edges, and between them what is inside."""
        yield self.upper
        with self._middle:
            yield Static(_SIGN, classes="box--sign", markup=False)
            yield from self._inside
            yield self.behind
        yield self.lower

    def on_descendant_focus(self) -> None:
        """Give the border the colour of the focus."""
        self._light(True)

    def on_descendant_blur(self) -> None:
        """Take the colour of the focus from the border."""
        self._light(False)

    def _light(self, lit: bool) -> None:
        for part in (self.upper, self._middle, self.lower):
            if part.has_class("-focused") != lit:
                part.set_class(lit, "-focused", update=False)
                self.app.stylesheet.apply(part)  # what is inside of it has no rule about this


def cut_content(content: Content, width: int) -> Content:
    """Words in at most so many cells, with one `…` where they are cut, also behind one that stood there."""
    if content.cell_length <= width:
        return content
    cut = content.truncate(width, ellipsis=True)
    return cut[: len(cut.plain.rstrip("…")) + 1]


def joined(words: Sequence[EdgeWord]) -> Content:
    """Words in one line, with separators between them."""
    line = Content("")
    for index, word in enumerate(words):
        content = word.content
        if word.clicked:
            content = content.stylize(Style.from_meta({_CLICKED: word.clicked}))
        if index:
            line += Content(" ") if word.chip else _SEPARATOR
        line += content
    return line


def _same(words: Sequence[EdgeWord], others: Sequence[EdgeWord]) -> bool:
    """True if nothing looks different; contents are equal where their texts are."""
    return len(words) == len(others) and all(
        word == other and word.content.is_same(other.content)
        for word, other in zip(words, others, strict=True)
    )


def _fitting(
    left: Sequence[EdgeWord], right: Sequence[EdgeWord], width: int
) -> tuple[list[EdgeWord], list[EdgeWord]]:
    """The words that there is room for, without the lightest of them; one stays in any case."""
    left, right = list(left), list(right)

    def needed() -> int:
        ends = [2 + joined(words).cell_length for words in (left, right) if words]
        return sum(ends) + _LEAST_RULE * (len(ends) - 1)

    def lightest() -> EdgeWord:
        return min((*right, *left), key=lambda word: word.weight)

    while needed() > width:
        if lightest().weight < _BEFORE_SHORTENING and len(left) + len(right) > 1:
            word = lightest()
            (right if word in right else left).remove(word)
        elif long := [word for word in left if word.short is not None]:
            word = min(long, key=lambda each: each.weight)
            left[left.index(word)] = replace(word, content=word.short or word.content, short=None)
        elif len(left) + len(right) > 1:
            word = lightest()
            (right if word in right else left).remove(word)
        else:
            break
    return left, right

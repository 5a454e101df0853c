"""The head of a sheet: a box around its filter, or a row, with the title on the left and the count on the right."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from catena.text.safe_text import safe_line
from catena.widgets.typing_box import BoxEdge, EdgeWord, TypingBox

_FIRST, _LAST = 3, 0  # weights: what goes last and first where there is no room


@dataclass(frozen=True, slots=True)
class Subject:
    """What a sheet is about."""

    conversation: str = ""
    agent: str = ""  # and its model


@dataclass(frozen=True, slots=True)
class SheetWords:
    """What stands at the head of a sheet."""

    title: str
    count: str = ""
    subject: Subject = Subject()


class FilterHead(TypingBox):
    """The box around the filter of a sheet."""

    def show(self, words: SheetWords) -> None:
        """Show these words."""
        self.upper.show(_words(words.title, "bold $foreground", _FIRST), _words(words.count, "$muted", 2))
        self.lower.show(
            _words(words.subject.conversation, "$muted", 1), _words(words.subject.agent, "$muted", _LAST)
        )
        self.behind.show(
            [*_words(words.title, "bold $foreground", _FIRST), *_words(words.count, "$muted", 2)]
        )


class TitleRow(BoxEdge):
    """The head of a sheet in which nothing is filtered."""

    def __init__(self, *, id: str) -> None:
        super().__init__("  ")
        self.id = id

    def show_words(self, words: SheetWords) -> None:
        """Show these words."""
        left = [
            *_words(words.title, "bold $foreground", _FIRST),
            *_words(words.subject.conversation, "$muted", 1),
        ]
        self.show(left, [*_words(words.count, "$muted", 2), *_words(words.subject.agent, "$muted", _LAST)])


def _words(text: str, style: str, weight: int) -> list[EdgeWord]:
    return [EdgeWord(Content.styled(safe_line(text), style), weight)] if text else []

"""The edges of a sheet: its head, with title and count, around a filter or in a row; and its keys, at the foot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from catena.keys.bindings import keys_of
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
        self.upper.show(
            _edge_words(words.title, "bold $foreground", _FIRST), _edge_words(words.count, "$muted", 2)
        )
        self.lower.show(
            _edge_words(words.subject.conversation, "$muted", 1),
            _edge_words(words.subject.agent, "$muted", _LAST),
        )
        self.behind.show(
            [*_edge_words(words.title, "bold $foreground", _FIRST), *_edge_words(words.count, "$muted", 2)]
        )


class TitleRow(BoxEdge):
    """The head of a sheet in which nothing is filtered."""

    def __init__(self, *, id: str) -> None:
        super().__init__("  ")
        self.id = id

    def show_words(self, words: SheetWords) -> None:
        """Show these words."""
        left = [
            *_edge_words(words.title, "bold $foreground", _FIRST),
            *_edge_words(words.subject.conversation, "$muted", 1),
        ]
        self.show(
            left, [*_edge_words(words.count, "$muted", 2), *_edge_words(words.subject.agent, "$muted", _LAST)]
        )


def _edge_words(text: str, style: str, weight: int) -> list[EdgeWord]:
    return [EdgeWord(Content.styled(safe_line(text), style), weight)] if text else []


_WIDE, _TIGHT = "  ·  ", " · "
_NARROW = 56  # cells of a foot below which three keys are named
_FEW = 3
_CLICKED = "clicked"  # the action that a click on a key runs


@dataclass(frozen=True, slots=True)
class SheetKey:
    """A key, what it does, and the action of the screen that a click on it runs.

    ``key`` is a template for the keys in effect: `{tree_go}`.
    """

    key: str
    does: str
    action: str = ""


class Foot(Widget):
    """As many keys as there is room for, most important first; the last one, the way out, always stays."""

    DEFAULT_CSS = """
    Foot {
        height: 1;
        padding: 0 2;
        color: $faint;
    }
    """

    def __init__(self, *keys: SheetKey, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys = keys

    @property
    def keys(self) -> Sequence[SheetKey]:
        """All keys in effect, whether there is room for them or not."""
        filled = [replace(each, key=keys_of(self).fill(each.key)) for each in self._keys]
        return [each for each in filled if each.key]

    def show(self, *keys: SheetKey) -> None:
        """Show other keys."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """Do what the clicked key does."""
        if action := event.style.meta.get(_CLICKED):
            event.stop()
            await self.run_action(f"screen.{action}")

    def render(self) -> Content:
        """The keys that there is room for."""
        width = self.size.width
        keys = list(self.keys)
        if width < _NARROW and len(keys) > _FEW:
            keys = [*keys[: _FEW - 1], keys[-1]]
        while True:
            for separator in (_WIDE, _TIGHT):
                line = Content.styled(separator, "$rule").join(_key_words(key) for key in keys)
                if line.cell_length <= width or (len(keys) <= 1 and separator == _TIGHT):
                    return line
            keys = [*keys[:-2], keys[-1]]


def _key_words(key: SheetKey) -> Content:
    words = Content.assemble((key.key, "$muted"), (f" {key.does}", "$faint"))
    return words.stylize(Style.from_meta({_CLICKED: key.action})) if key.action else words

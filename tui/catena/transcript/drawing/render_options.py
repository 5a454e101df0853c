"""Render options of messages: palette, width and layout of the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

from rich.style import Style

from catena.transcript.drawing.highlight import HighlightCache

_MUTED = ("muted", "seam", "comment")
_FAINT = ("faint", "chain", "quote")
PREFIX = "transcript--"


@dataclass(frozen=True)
class Palette:
    """One complete style for each role, named like its component class with `_` for `-`."""

    text: Style
    muted: Style  # the first of the two dimmer steps
    faint: Style  # the second
    prompt_bar: Style
    prompt: Style
    focus: Style
    chain: Style
    seam: Style
    heading_1: Style
    heading_2: Style
    heading_3: Style
    code: Style
    code_block: Style
    keyword: Style
    string: Style
    number: Style
    comment: Style
    name: Style
    link: Style
    quote: Style
    running: Style
    failed: Style
    added: Style
    removed: Style
    trouble: Style
    hit: Style
    hit_current: Style
    selection: Style

    @classmethod
    def read(cls, style_of: Callable[[str], Style]) -> Palette:
        """Fill every role with the style of its component class."""
        styles = {name: style_of(component_class(name)) for name in role_names()}
        text = styles["text"].color
        for roles, step in ((_MUTED, Style(dim=True)), (_FAINT, Style(color="bright_black"))):
            # A theme of terminal colours may have no dimmer ones, since their percentages cannot be computed.
            for role in roles:
                if styles[role].color == text:
                    styles[role] += step
        return cls(**styles)

    @classmethod
    def plain(cls) -> Palette:
        """Return a palette of empty styles."""
        return cls(**{name: Style() for name in role_names()})

    @cached_property
    def code_roles(self) -> dict[str, Style]:
        """The styles of highlighted code by the role of a token."""
        return {
            "keyword": self.keyword,
            "string": self.string,
            "number": self.number,
            "comment": self.comment,
            "name": self.name,
        }


def role_names() -> tuple[str, ...]:
    """Return the names of all roles."""
    return tuple(entry.name for entry in fields(Palette))


def component_class(role: str) -> str:
    """Return the component class that gives ``role`` its style."""
    return PREFIX + role.replace("_", "-")


NARROW = 60
COLUMN = 100


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for drawing messages; widths are in cells."""

    width: int  # of a message's body, without gutter and margins
    palette: Palette
    narrow: bool = False
    directory: str = ""  # paths below it are shown relative to it
    highlights: HighlightCache | None = None  # None: code stays plain

    def within(self, cells: int) -> RenderOptions:
        """Return the options for a body that is ``cells`` narrower."""
        return replace(self, width=max(4, self.width - cells))


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Layout of the column in a widget: margin, gutter and body, in cells."""

    margin: int
    gutter: int
    body: int

    @classmethod
    def of(cls, width: int) -> ColumnLayout:
        """Fit a column of at most 100 cells with its gutter into ``width``; below 60 there is no gutter or margin."""
        if width < NARROW:
            return cls(0, 0, max(4, width))
        column = min(COLUMN, width - 2)
        return cls((width - column) // 2, 2, column - 2)

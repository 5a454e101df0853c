"""Render options of messages: palette, width and layout of the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from rich.style import Style

from catena.transcript.drawing.highlight import HighlightCache
from catena.transcript.drawing.lines import MARKS

if TYPE_CHECKING:  # exports read messages without the terminal
    from catena.transcript.drawing.images import DrawnImages

PREFIX = "transcript--"


@dataclass(frozen=True)
class Palette:
    """One complete style for each role, named like its component class with `_` for `-`."""

    text: Style
    muted: Style  # verbs, output, descriptions
    faint: Style  # durations, marks of folds
    rule: Style  # hairlines and seams
    running: Style
    failed: Style
    error: Style  # what a failed call said
    asking: Style
    trouble: Style

    prompt_bar: Style
    prompt: Style  # its first line
    prompt_text: Style  # its other lines
    prompt_note: Style  # time, attachments
    prompt_failed: Style
    prompt_siblings: Style
    focus: Style  # the bar along a browsed message

    heading_1: Style
    heading_2: Style
    heading_3: Style
    link: Style
    quote: Style

    output_red: Style  # what a command printed in a colour
    output_green: Style
    output_yellow: Style
    output_blue: Style
    output_magenta: Style
    output_cyan: Style

    table_head: Style

    code: Style  # inline
    code_block: Style
    code_note: Style  # its language
    keyword: Style
    string: Style
    number: Style
    comment: Style
    name: Style

    context: Style  # lines of a diff that are the same in both versions
    number_context: Style  # line numbers
    added: Style
    added_sign: Style
    added_number: Style
    added_word: Style
    added_count: Style
    removed: Style
    removed_sign: Style
    removed_number: Style
    removed_word: Style
    removed_count: Style

    scroll_thumb: Style
    scroll_track: Style

    hit: Style
    hit_current: Style
    selection: Style

    @classmethod
    def read(cls, style_of: Callable[[str], Style]) -> Palette:
        """Fill every role with the style of its component class."""
        return cls(**{name: style_of(component_class(name)) for name in role_names()})

    @classmethod
    def plain(cls) -> Palette:
        """Return a palette of empty styles."""
        return cls(**{name: Style() for name in role_names()})

    @cached_property
    def has_grounds(self) -> bool:
        """True where a prompt and code stand on grounds of their own; else weight and marks tell them."""
        return self.prompt.bgcolor != self.text.bgcolor

    @cached_property
    def tells_code(self) -> bool:
        """True where inline code looks different from text; else it keeps its backticks."""
        return self.code != self.text

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
SHORT = 15  # rows of a screen, below which tool calls show only their lines
COLUMN = 100
SECOND_AXIS = 8  # cells from the text's edge to files, code and output of tool calls
_NARROW_SECOND_AXIS = 6


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for drawing messages; widths are in cells."""

    width: int  # of a message's body, without margins
    palette: Palette
    narrow: bool = False
    directory: str = ""  # paths below it are shown relative to it
    highlights: HighlightCache | None = None  # None: code stays plain
    images: DrawnImages | None = None  # None: an image is a line
    half_rows: bool = False  # grounds reach half a row above and below
    short: bool = False  # the screen has few rows: tool calls show only their lines
    now: Callable[[], datetime] | None = None  # while the agent works: running calls show for how long

    @property
    def second_axis(self) -> int:
        """Where files, code and output of tool calls begin."""
        return _NARROW_SECOND_AXIS if self.narrow else SECOND_AXIS

    def within(self, cells: int) -> RenderOptions:
        """Return the options for a body that is ``cells`` narrower."""
        return replace(self, width=max(4, self.width - cells))


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Layout of the column in a widget, in cells: what is left of it, and its margins and body.

    Grounds span the column with both margins; marks stand in the left one.
    """

    before: int
    left: int
    body: int
    right: int

    @classmethod
    def of(cls, width: int, column: int = COLUMN) -> ColumnLayout:
        """Centre a column of at most ``column`` cells in ``width``; below 60 it has no right margin."""
        if width < NARROW:
            return cls(0, MARKS, max(4, width - MARKS), 0)
        column = min(column, width)
        return cls((width - column) // 2, MARKS, column - 2 * MARKS, MARKS)

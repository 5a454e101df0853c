"""Widgets that draw outside of a transcript what it draws: the change of a permission request, prompts and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import WorkType

from catena.text.call_text import AnyDiff
from catena.text.safe_text import safe_line
from catena.text.strips.safe_strips import safe_segments
from catena.transcript.drawing.highlight import HighlightCache
from catena.transcript.drawing.lines import MARKS, Line
from catena.transcript.drawing.render_options import (
    NARROW,
    SHORT,
    Palette,
    RenderOptions,
    component_class,
    role_names,
)
from catena.transcript.drawing.wrapping import wrap_text
from catena.transcript.messages.tool_rows import draw_changes, draw_texts, hides_changes
from catena.transcript.model.entry import Entry
from catena_acp.continuity.wording.counts import counted
from catena_store.records import Message

_ROLES = Path(__file__).with_name("transcript.tcss").read_text(encoding="utf-8")
ROLE_CLASSES = frozenset(component_class(role) for role in role_names())
_LEAST = 3  # rows; with less room there is nothing
_BELOW = 9  # rows of the options below, at least
_AROUND = 4  # for the call's line above, and the composer


def role_styles(widget: str) -> str:
    """The styles of the transcript's roles for a widget of this class name, which draws as the transcript does."""
    return _ROLES.replace("Transcript {", f"{widget} {{", 1)


class LineBlock(Widget):
    """Lines of the transcript in a widget of their own, on the grounds of the column."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(ROLE_CLASSES)
    DEFAULT_CSS = (
        role_styles("LineBlock")
        + """
    LineBlock { height: auto; overflow: hidden; }
    """
    )

    _palette: Palette | None = None  # in the theme that there is

    def notify_style_update(self) -> None:
        """Read the roles anew: they have the styles of another theme."""
        super().notify_style_update()
        self._palette = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are, or as there is room for."""
        return len(self._lines(width))

    def render_line(self, y: int) -> Strip:
        """A row on the grounds of the column."""
        lines = self._lines(self.size.width)
        if y >= len(lines):
            return Strip.blank(self.size.width, self.rich_style)
        return self._strip(lines[y])

    def _lines(self, width: int) -> list[Line]:
        raise NotImplementedError

    def _options(self, width: int, directory: str) -> RenderOptions:
        """The options for drawing in a width of the widget."""
        if self._palette is None:
            self._palette = Palette.read(self.get_component_rich_style)
        right = 0 if width < NARROW else MARKS
        return RenderOptions(
            max(4, width - MARKS - right), self._palette, narrow=width < NARROW, directory=directory
        )

    def _strip(self, line: Line) -> Strip:
        width = self.size.width
        ground = line.ground if line.ground is not None else self.rich_style
        mark = ground + line.mark_style if line.mark_style else ground
        segments = [
            Segment(line.mark.ljust(MARKS), mark),
            *(Segment(text, style or ground) for text, style, _ in line.segments),
            Segment(" " * max(0, width - MARKS - line.cells), ground),
        ]
        return Strip(safe_segments(segments)).adjust_cell_length(width, ground)


class SubjectBlock(LineBlock):
    """The change that a tool call is about, as tall as half of the screen allows unless it is ``whole``."""

    def __init__(
        self, diffs: Sequence[AnyDiff], directory: str, *, whole: bool = False, lines: Sequence[str] = ()
    ) -> None:
        """Paths below ``directory`` become relative; ``whole``: nothing is cut; ``lines`` stand above the change."""
        super().__init__()
        self._whole = whole
        self._diffs = diffs
        self._above = lines
        self._directory = directory
        self._drawn: list[Line] = []
        self._cut = False
        self._drawn_for: object = None
        self._most: int | None = None

    def leave_room(self, below: int, *, of: int) -> None:
        """Leave so many ``of`` these rows to what stands below."""
        most = of - max(_BELOW, below)
        if most != self._most:
            self._most = most
            self.refresh(layout=True)

    def show(self, diffs: Sequence[AnyDiff], directory: str) -> None:
        """Show another change."""
        self._diffs, self._directory = diffs, directory
        self._drawn_for = None
        self.refresh(layout=True)

    def notify_style_update(self) -> None:
        """Draw anew in the styles of another theme."""
        super().notify_style_update()
        self._drawn_for = None

    def _lines(self, width: int) -> list[Line]:
        screen = self.screen.size
        drawn_for = (width, screen, self.app.theme, self._most)
        if self._drawn_for != drawn_for:
            self._drawn_for = drawn_for
            self._drawn = self._draw(width)
        return self._drawn

    def _draw(self, width: int) -> list[Line]:
        options = self._options(width, self._directory)
        if self._whole:
            return [*draw_texts(self._above, options), *draw_changes(self._diffs, options)]
        most = self._room()
        self._cut = hides_changes(self._diffs, options, most)
        return draw_changes(self._diffs, options, most=most) if most and self._diffs else []

    def cuts(self, width: int) -> bool:
        """True if not all of the change has room in a width."""
        self._lines(width)
        return self._cut

    def _room(self) -> int:
        height = self.screen.size.height
        room = min(height // 2, height - _BELOW - _AROUND if self._most is None else self._most)
        return room if room >= _LEAST and height >= SHORT else 0


_MOST_LINES = 400  # of one message
# A layout may ask for the height with and without a scroll bar each time: with one alone, each would be drawn for ever.
_KEPT = 4
_Look: TypeAlias = tuple[int, Palette]


class MessagesBlock(LineBlock):
    """Messages one below the other, as tall as they are; they are drawn in a thread, once for each width and theme."""

    DEFAULT_CSS = """
    MessagesBlock { min-height: 1; }
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__()
        self._messages = messages
        self._drawn: dict[_Look, list[Line]] = {}  # the newest last
        self._drawing: _Look | None = None

    def _lines(self, width: int) -> list[Line]:
        options = replace(self._options(width, ""), highlights=HighlightCache(eager=True))
        wanted = (options.width, options.palette)
        if wanted not in self._drawn and wanted != self._drawing:
            self._draw(wanted, options)
        return self._drawn.get(wanted) or next(reversed(self._drawn.values()), [])

    def _draw(self, wanted: _Look, options: RenderOptions) -> None:
        async def draw() -> None:
            lines = await asyncio.to_thread(draw_messages, self._messages, options)
            self._drawing = None
            self._drawn[wanted] = lines
            if len(self._drawn) > _KEPT:
                del self._drawn[next(iter(self._drawn))]
            self.refresh(layout=True)

        self._drawing = wanted
        work: WorkType[None] = draw  # never begun where another width follows at once
        self.run_worker(work, exclusive=True)


def draw_messages(messages: Sequence[Message], options: RenderOptions) -> list[Line]:
    """Draw messages below each other, each behind a blank row; of a long one its beginning."""
    lines: list[Line] = []
    for at, message in enumerate(messages):
        text = message.text.split("\n")
        left = len(text) - _MOST_LINES
        shown = replace(message, text="\n".join(text[:_MOST_LINES])) if left > 0 else message
        entry = Entry(shown, at)
        if entry.empty:
            continue
        lines.append(_blank())
        for part in entry.open(options):
            drawn = part.measure(options)
            lines += [*(_blank() for _ in range(part.lead if drawn else 0)), *drawn]
        if left > 0:
            more = f"… {counted(left, 'more line')}"
            lines += wrap_text(safe_line(more), options.palette.faint, options.width)
    return lines


def _blank() -> Line:
    return Line([], 0)

"""The scrolling widget around a viewport: painting, and the frames in which growing text is drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from catena.keys.bindings import bindings
from catena.terminal.images import ImageSlot, TerminalImages
from catena.terminal.times import call_after
from catena.text.strips.safe_strips import SafeStrips
from catena.transcript.drawing.highlight import HighlightCache, lex_all
from catena.transcript.drawing.images import DrawnImages
from catena.transcript.drawing.render_options import COLUMN, SHORT, Palette, RenderOptions
from catena.transcript.markdown.markdown import parser
from catena.transcript.messages.notices import FRAMES_A_SECOND, draw_working
from catena.transcript.model.column import IN_GAP, Anchor, Column, ColumnRow
from catena.transcript.model.heights import BEGINNING
from catena.transcript.widget import selection as selecting
from catena.transcript.widget.row_renderer import Overlay
from catena.transcript.widget.viewport import TranscriptScrollBar, Viewport
from catena_acp.growing_text import GrowingText


class FrameClock:
    """Frames of drawing: at most one in ``frame`` seconds, and so that drawing takes at most half of the time.

    Of that half, each of several clocks has its share: ``among`` is how many there are.

    Each ends with a call of ``flush``, which draws growing text; one in which none was drawn takes half as long, since
    what a person did is in such frames. Whoever draws something else, too, begins a frame itself and rests after it;
    otherwise one is scheduled on request: ``schedule`` calls a function after a number of seconds.
    """

    def __init__(
        self,
        flush: Callable[[], bool],
        schedule: Callable[[float, Callable[[], None]], object],
        *,
        now: Callable[[], float],
        frame: float,
    ) -> None:
        self._flush = flush
        self._schedule = schedule
        self._now = now
        self._frame = frame
        self._due = 0.0  # the earliest time of the next frame
        self._began = 0.0  # when the last frame began
        self._cost = 0.0  # seconds that the last frame took, painting included
        self._drawing = False
        self.waiting = False
        self.among = 1

    def request(self) -> None:
        """Request a frame; within one there is no need of another."""
        if not self.waiting and not self._drawing:
            self.waiting = True
            self._schedule(max(0.001, self._due - self._now()), self._run)

    def add_cost(self, seconds: float) -> None:
        """Add the seconds that painting after the last frame took."""
        self._cost += seconds
        self._due = max(self._due, self._began + 2 * self.among * self._cost)

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Draw a frame now; ``flush`` is called at its end."""
        began = self._began = self._now()
        self._drawing = True
        try:
            yield
            grown = self._flush()
        finally:
            self._drawing = False
        ended = self._now()
        self._cost = ended - began
        least = self._frame if grown else self._frame / 2
        self._due = began + max(least, 2 * self.among * self._cost)

    async def rest(self) -> None:
        """Wait until the next frame may begin."""
        while True:
            left = self._due - self._now()
            if left <= 0:
                return
            await asyncio.sleep(left)

    def _run(self) -> None:
        self.waiting = False
        with self.frame():
            pass


def utc_now() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


FRAME = 0.04  # minimum seconds between two flushes
_HELD = 0.3  # seconds after which the held-back end of a growing answer is drawn


class TranscriptView(ScrollView, can_focus=True, inherit_bindings=False):
    """Scrolling view of a column of messages; a change of the column takes an anchor before and places it after."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(scroll_up="page_up", scroll_down="page_down", top="scroll_home", end="scroll_end")
    ]

    current: reactive[str | None] = reactive[str | None](None, repaint=False)
    """The message in focus while browsing."""
    rows_below: reactive[int] = reactive(0, repaint=False)
    """How many rows are below the screen; 0 while the end is followed."""

    content_rows: reactive[int] = reactive(0, repaint=False)
    """The rows of all messages that are loaded, as far as they are measured."""

    def __init__(
        self,
        *,
        directory: str = "",
        clock: Callable[[], float] = monotonic,
        wall_clock: Callable[[], datetime] = utc_now,
        frame: float = FRAME,
        column: int = COLUMN,
        half_rows: bool = False,
        still: bool = False,
        images: TerminalImages | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._highlights = HighlightCache()
        self._palette = Palette.plain()
        self._mixed_from: tuple[object, ...] = ()  # the palette
        self._terminal_images = images
        self._images = DrawnImages(images) if images is not None else None
        self._column = Column(
            RenderOptions(
                80,
                Palette.plain(),
                directory=directory,
                highlights=self._highlights,
                images=self._images,
            )
        )
        self._viewport = Viewport(self._column, widest=column, half_rows=half_rows)
        self._more_above = False
        self._older_requested = False
        self._below = 0  # messages of the branch below those of the column
        self._newer_requested = False
        self._strips: list[Strip] = []  # the rows on the screen
        self._thumb = (0, 0)  # the rows of the scroll bar's thumb
        self._resized_to: Size | None = None  # rows are wrapped for it before the event
        self._bar_shown = False
        self._working_since: float | None = None
        self._waits: Callable[[], str] = str
        self._worked_for: float | None = None  # seconds, where a film tells them
        self._followed = False  # something stands right below
        self._second = 0  # of the work, in which the running calls were drawn
        self._still = still
        self._ticks: Timer | None = None
        self._syncing_scroll = False  # the viewport sets the scroll position, not the person
        self._lex_running = False
        self._pending_text: dict[str, GrowingText] = {}
        self._now = clock
        self._wall_clock = wall_clock
        self.frames = FrameClock(self._flush, partial(call_after, self), now=clock, frame=frame)
        self._release_scheduled = False

    # Scrolling

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar, made when it is first asked for, as Textual does."""
        return self._bar

    @property
    def _bar(self) -> TranscriptScrollBar:
        bar = self._vertical_scrollbar
        if not isinstance(bar, TranscriptScrollBar):
            bar = self._vertical_scrollbar = TranscriptScrollBar(vertical=True, name="vertical", thickness=1)
            bar.display = False
            self.app._start_widget(self, bar)
        return bar

    def _arrange_scrollbars(self, region: Region) -> Iterable[tuple[Widget, Region]]:
        """Place the scroll bar over the last cells of the rows, while their end is out of sight."""
        if self._bar_shown and region.width:
            self._bar.window_size = region.height
            yield self._bar, Region(region.right - 1, region.y, 1, region.height)

    @property
    def following(self) -> bool:
        """True while the view follows the end."""
        return self._viewport.following

    @property
    def busy(self) -> bool:
        """True while drawing is scheduled."""
        return self.frames.waiting or self._lex_running or self._release_scheduled or bool(self._pending_text)

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.scroll_end()

    def position(self) -> int | None:
        """Return the reading position of the top row, for ``show``; None while following.

        It stays valid for the branch, whatever is added at its end or loaded above.
        """
        return self._viewport.position()

    def scroll_home(self, **options: Any) -> None:
        """Go to the beginning of the branch, which is loaded if need be."""
        if self._more_above:
            self._request_place(BEGINNING)
        else:
            self._scroll_to_top()

    def scroll_end(self, **options: Any) -> None:
        """Go to the end of the branch, which is loaded if need be, and stay there."""
        if self._below:
            self._request_place(None)
        else:
            self._scroll_to_anchor(None)

    def _scroll_to_top(self) -> None:
        """Go to the first message that is loaded."""
        if self._column.entries:
            self._scroll_to_anchor(Anchor(self._column.entries[0], IN_GAP, 0, 0))

    def action_page_up(self) -> None:
        """Scroll up by a page, without animation."""
        self.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        """Scroll down by a page, without animation."""
        self.scroll_page_down(animate=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Move the viewport after the person scrolled."""
        if self._viewport.ready and self.scrollable_content_region.height != self._viewport.height:
            return  # a resize, not the person; Textual scrolls before ``on_resize``
        if not self._syncing_scroll and self._viewport.ready and round(new_value) != self._viewport.top:
            self._viewport.scroll_to(round(new_value))
            self._sync()

    # Below the last message

    def working(self, since: float | None, waits: Callable[[], str] = str) -> None:
        """Show below the last message that the agent works since a time of the clock; None: it does not.

        ``waits`` says in words what may be going on, "" for nothing; it is asked at each drawing.
        """
        self._waits = waits
        if since == self._working_since:
            return
        self._working_since = since
        if self._ticks is not None:
            self._ticks.stop()
            self._ticks = None
        if since is not None:
            self._ticks = self.set_interval(1.0 if self._still else 1 / FRAMES_A_SECOND, self._draw_tail)
        anchor = self._viewport.anchor()
        self._column.set_now(None if since is None else self._wall_clock)
        self._set_tail()
        self._place(anchor)

    def tell_work(self, seconds: float) -> None:
        """Say below the last message that the agent has worked so long, instead of what the clock says; for films."""
        self._worked_for = seconds
        if self._working_since is not None:
            self._draw_tail()

    def be_followed(self, followed: bool) -> None:
        """End without a blank row while something stands right below."""
        if followed != self._followed:
            self._followed = followed
            anchor = self._viewport.anchor()
            self._set_tail()
            self._place(anchor)

    def _draw_tail(self) -> None:
        """Draw the next frame of what turns below the last message, and each second how long calls have run."""
        self._set_tail()
        second = int(self._elapsed())
        if second != self._second:
            self._second = second
            if self._column.redraw_running():
                self._place(self._viewport.anchor())
                return
        self._repaint()

    def _elapsed(self) -> float:
        """For how many seconds the agent has worked."""
        if self._worked_for is not None:
            return self._worked_for
        return max(0.0, self._now() - (self._working_since or 0.0))

    def _set_tail(self) -> None:
        """Set the rows below the last message: a blank one at the end, unless something stands right below."""
        line = None
        if self._working_since is not None and not self._below:
            line = draw_working(self._elapsed(), self._waits(), self._column.options, still=self._still)
        end = () if self._followed or self._below else (None,)
        self._viewport.tail = end if line is None else (None, line, *end)

    # Growing text

    def grow(self, message_id: str, text: str) -> None:
        """Append text to a message, to be drawn with the next frame; may be called at any rate."""
        if message_id not in self._pending_text:
            self._pending_text[message_id] = GrowingText()
        self._pending_text[message_id].add(text)
        if self.is_attached:
            self.frames.request()

    def _flush(self) -> bool:
        """Draw the pending text; False if there is none."""
        if not self._pending_text:
            return False
        grown, self._pending_text = self._pending_text, {}
        anchor = self._viewport.anchor()
        for message_id, pending in grown.items():
            self._column.grow(message_id, str(pending), draw=not self.following)
        self._place(anchor)
        if not self._release_scheduled and any(
            self._column.has_held_text(message_id) for message_id in grown
        ):
            self._release_scheduled = True
            call_after(self, _HELD, self._release)
        return True

    def _release(self) -> None:
        """Draw held-back text unless more has come since."""
        self._release_scheduled = False
        if not self._pending_text and self._column.release():
            self._place(self._viewport.anchor())

    # Images

    def seen_images(self) -> set[ImageSlot]:
        """The images on the screen."""
        return {row.line.image.slot for row in self._viewport.rows if row.line and row.line.image}

    def redraw_images(self) -> None:
        """Draw all images anew: the terminal has others than before."""
        if self._images is None or not self.is_attached:
            return
        self._images.forget()
        anchor = self._viewport.anchor()
        if self._column.redraw_images():
            self._place(anchor)

    def on_unmount(self) -> None:
        """Draw images no more."""
        if self._terminal_images is not None:
            self._terminal_images.unwatch(self)

    def _request_images(self, wanted: Mapping[ImageSlot, str]) -> None:
        """Request images that the terminal does not have, by the ids of their messages."""

    # Drawing

    def on_mount(self) -> None:
        """Import the Markdown parser in a thread, so that the first answer does not wait for it."""
        self.call_after_refresh(asyncio.to_thread, parser)
        if self._terminal_images is not None:
            self._terminal_images.watch(self)
        if self._pending_text:
            self.frames.request()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Wrap all rows for the new size before the frame that has it: an event would come behind that."""
        before = self._size
        resized = super()._size_updated(size, virtual_size, container_size, layout)
        if self.is_mounted and size != before:
            self._resize()
            self._resized_to = size
        return resized

    def on_resize(self, event: events.Resize) -> None:
        """Wrap all rows for the new size, unless that was done, keeping the top row."""
        if self._resized_to != event.size:
            self._resize()
        self._resized_to = None

    def widen(self, column: int, *, half_rows: bool) -> None:
        """Wrap all rows for a column of another width, with or without half rows, keeping the top row."""
        self._viewport.widen(column, half_rows=half_rows)
        if self._viewport.ready and self.is_attached:
            self._resize()

    def notify_style_update(self) -> None:
        """Draw all rows in the styles of the new theme."""
        super().notify_style_update()
        if self._viewport.ready and self.is_attached:
            self.call_next(self._restyle)  # Textual has the styles of the roles only after this

    def _restyle(self) -> None:
        super().notify_style_update()  # what was read meanwhile
        self._resize()

    def _resize(self) -> None:
        region = self.scrollable_content_region
        if region.width > 0 and region.height > 0:
            palette = self._read_palette()
            short = self.app.size.height < SHORT
            self._viewport.resize(region.width, region.height, palette, short=short)
            self._bar.set_palette(palette)
            self._set_tail()
            self._strips = []
            self._sync()

    def _read_palette(self) -> Palette:
        """The styles of all roles; they are mixed again only where one is another one, or stands on something else."""
        mixed_from = (self.rich_style, self.opacity, list(self._component_styles.values()))
        if self._mixed_from != mixed_from:
            self._mixed_from, self._palette = mixed_from, Palette.read(self.get_component_rich_style)
        return self._palette

    def _place(self, anchor: Anchor | None) -> None:
        self._viewport.place(anchor)
        self._sync()

    def _scroll_to_anchor(self, anchor: Anchor | None) -> None:
        self._viewport.go_to(anchor)
        self._sync()

    def _sync(self) -> None:
        """Set Textual's size and scroll position from the viewport and repaint."""
        viewport = self._viewport
        if not viewport.ready:
            return
        total = self.content_rows = self._column.total
        # The usual assignment would lay out the whole screen at every streamed row.
        self.set_reactive(Widget.virtual_size, Size(self.size.width, total))
        moved = round(self.scroll_y) != viewport.top
        if moved:
            self._syncing_scroll = True
            self.scroll_target_y = self.scroll_y = viewport.top
            self._syncing_scroll = False
        self._move_thumb(total)
        self._repaint()
        self.rows_below = 0 if viewport.following else self._count_below(total)
        self._check_top()
        self._check_bottom()
        if self._highlights.has_requests and not self._lex_running:
            self._lex_running = True
            self.call_later(self._lex)
        if self._images is not None and self._images.has_wanted:
            self._request_images(self._images.take_wanted())

    def _move_thumb(self, total: int) -> None:
        """Update the scroll bar, and redraw it only where the thumb moved."""
        bar, viewport = self._bar, self._viewport
        bar.set_reactive(ScrollBar.window_virtual_size, total)
        bar.set_reactive(ScrollBar.position, float(viewport.top))
        covers_text = viewport.ready and not viewport.renderer.layout.right
        shown = not viewport.following and total > viewport.height and not covers_text
        if shown != self._bar_shown:
            self._bar_shown = bar.display = shown
            self.refresh(layout=True)
        elif shown and (thumb := bar.thumb()) != self._thumb:
            self._thumb = thumb
            bar.refresh()

    def _repaint(self) -> None:
        """Repaint the rows that changed."""
        if not self._viewport.ready:
            return
        before = self._strips
        self._strips = strips = self._viewport.strips(self.current, self._overlays(), self._row_decorator())
        changed = [
            y
            for y, strip in enumerate(strips)
            if y >= len(before) or (strip is not before[y] and strip != before[y])
        ]
        width = self.size.width
        if len(changed) > len(strips) // 2:
            self.refresh(Region(0, 0, width, len(strips)))
            return
        for y in changed:
            self.refresh(Region(0, y, width, 1))

    def _overlays(self) -> Callable[[ColumnRow], Iterable[Overlay]] | None:
        """Return a function for the overlays of a row, such as the selection."""
        return None

    def _row_decorator(self) -> Callable[[ColumnRow, Strip], Strip] | None:
        """Return a function that changes rendered rows, such as by dimming."""
        return None

    def watch_current(self) -> None:
        """Repaint for another message in focus."""
        self._repaint()

    def _check_top(self) -> None:
        if self._more_above and not self._older_requested and self._viewport.top < 2 * self._viewport.height:
            self._older_requested = True
            self._request_older()

    def _check_bottom(self) -> None:
        viewport = self._viewport
        left = self._column.total - viewport.top - viewport.height
        if self._below and not self._newer_requested and left < 2 * viewport.height:
            self._newer_requested = True
            self._request_newer()

    def _count_below(self, total: int) -> int:
        """How many rows are below the screen; those of messages that are not loaded are an estimate."""
        loaded = max(0, total - self._viewport.top - self._viewport.height)
        return loaded + self._below * max(1, total // max(1, len(self._column.entries)))

    def _request_older(self) -> None:
        """Request older messages, near the top of the loaded ones."""

    def _request_newer(self) -> None:
        """Request newer messages, near the bottom of the loaded ones."""

    def _request_place(self, scroll: int | None) -> None:
        """Request the messages around a reading position, or at the end for None."""

    async def _lex(self) -> None:
        """Highlight the code that was drawn plain."""
        wanted = self._highlights.take_requests()
        try:
            self._highlights.add(await asyncio.to_thread(lex_all, wanted))
        finally:
            self._lex_running = False
        if self.is_attached and self._column.drop_uncoloured_rows():
            self._place(self._viewport.anchor())

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the app's filters without the safety filter, which rows pass when they are rendered."""
        return [each for each in super().get_line_filters() if not isinstance(each, SafeStrips)]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines, and count the time towards the frame's cost."""
        began = self._now()
        try:
            return self._rendered(crop)
        finally:
            self.frames.add_cost(self._now() - began)

    def _rendered(self, crop: Region) -> list[Strip]:
        """The rows as they are, since they have their background and fill the width.

        What Textual would do to each, and keep by the place on the screen, is for borders, paddings and opacities. Here
        a row that only moved is the strip that it was.
        """
        strips = self._strips[crop.y : crop.bottom]
        if missing := crop.height - len(strips):
            strips += [Strip.blank(self.size.width, self.rich_style)] * missing
        _, background = self.background_colors
        for each in self.get_line_filters():
            strips = [strip.apply_filter(each, background) for strip in strips]
        if crop.x > 0 or crop.right < self.size.width:
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """Return a row of the screen for the pointer, with the offsets of its text."""
        if not 0 <= y < len(self._strips):
            return Strip.blank(self.size.width, self.rich_style)
        strip = self._strips[y]
        rows = self._viewport.rows
        if not rows:
            return strip
        row = rows[min(y, len(rows) - 1)]
        if y >= len(rows):
            column = selecting.OUTSIDE
        elif row.line is None:
            column = -selecting.OUTSIDE
        else:
            column = -self._viewport.renderer.lead(row)
        return strip.apply_offsets(column, selecting.row_offset(row))

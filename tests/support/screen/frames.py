"""Every frame of an app in two terminals: drawn by Textual in one, and by our compositor and painter in the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bench.screen import Clusters, Look, Screen
from rich.console import RenderableType
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen as TextualScreen

from catena.app.app import CatenaApp
from catena.cells import clusters
from catena.terminal.painter.painter import Frame, Painter

_SEEN_ON_BLANKS = {"underline", "underline2", "reverse", "strike", "frame", "encircle", "overline"}


def joined(text: str) -> Iterable[tuple[str, int]]:
    """Characters as they are measured here: the terminal that agrees with it."""
    return ((text[start:end], width) for start, end, width in clusters(text))


class Frames:
    """What two terminals show after each frame of an app, and the bytes that each was sent."""

    def __init__(self, clusters: Clusters = joined) -> None:
        self._clusters = clusters
        self.painter = Painter(erases_with_background=True)
        self.count = 0
        self.plain_bytes = self.painted_bytes = 0
        self.plain = self.painted = Screen(1, 1)

    def watch(self, app: CatenaApp) -> None:
        """Take every frame from the next one that is all of the screen."""

        def display(screen: TextualScreen[Any], renderable: RenderableType | None) -> None:
            if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not app._batch_count:
                self.take(app, renderable)

        app._display = display  # type: ignore[method-assign]
        app.screen.refresh()

    def take(self, app: CatenaApp, update: LayoutUpdate | ChopsUpdate) -> None:
        """Draw a frame in both terminals, and compare them."""
        if isinstance(update, LayoutUpdate):
            size = (update.region.width, update.region.height)
            if size != (self.plain.columns, self.plain.rows):
                self.plain, self.painted = self._terminal(size), self._terminal(size)
        elif not self.count:
            return
        cursor = app.screen.outer_size.clamp_offset(app.cursor_position)
        move = Control.move_to(*cursor).segment.text
        plain = _by_textual(app.screen._compositor, update).render_segments(app.console) + move
        painted = (Frame(self.painter, update, cursor).render_segments(app.console) + move).encode()
        self.plain.feed(plain.replace("\n", "\r\n").encode())
        self.painted.feed(painted)
        self.count += 1
        self.plain_bytes += len(plain)
        self.painted_bytes += len(painted)
        assert_same(self.plain, self.painted, painted)

    def _terminal(self, size: tuple[int, int]) -> Screen:
        screen = Screen(*size, self._clusters)
        screen.feed(b"\x1b[?7l")
        return screen


def _by_textual(compositor: Compositor, update: LayoutUpdate | ChopsUpdate) -> LayoutUpdate | ChopsUpdate:
    """The update as Textual's compositor makes it, of all lines of all widgets between the first and last change."""
    if isinstance(update, LayoutUpdate):
        lines = Compositor._render_chops(compositor, update.region, lambda y: True)
        return LayoutUpdate([line.values() for line in lines], update.region)
    crop = Region.from_union([Region(x, y, end - x, 1) for y, x, end in update.spans])
    drawn = {y for y, _, _ in update.spans}
    lines = Compositor._render_chops(compositor, crop, drawn.__contains__)
    return ChopsUpdate(lines, update.spans, update.chop_ends)


def assert_same(wanted: Screen, shown: Screen, sent: bytes) -> None:
    """Two terminals show the same in every cell, after these bytes were sent to the second one."""
    for y in range(wanted.rows):
        rows = wanted.cells(y), shown.cells(y)
        if rows[0] == rows[1]:
            continue
        for x, (one, other) in enumerate(zip(*rows, strict=True)):
            assert _seen(*one) == _seen(*other), (
                f"row {y}, column {x}: {one} became {other}\n"
                f"{''.join(text for text, _ in rows[0])}\n{''.join(text for text, _ in rows[1])}\n{sent!r}"
            )


def _seen(text: str, look: Look) -> tuple[str, Look]:
    """A cell as far as it can be seen."""
    link = look.link.partition(";")[2]  # without the number that joins the cells of a link
    if text.isspace() and not look.attributes & _SEEN_ON_BLANKS:
        return " ", Look(background=look.background, link=link)
    return text, replace(look, link=link)

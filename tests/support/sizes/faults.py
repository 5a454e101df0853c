"""What is wrong with a screen as it is drawn: what is cut, what cannot be reached, and what only a colour tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, TextArea

from catena.app.app import CatenaApp
from catena.keys.actions import ACTIONS
from catena.widgets.band import BandText
from catena.widgets.foot import Foot
from catena.widgets.typing_box import TypingBox

Grid = list[tuple[str, bool, bool, bool, bool]]

_DRAWN = re.compile(r"[─-▟╌·\s]")  # lines and blocks, which are no text
_LEAST_CONTRAST = 2.4
_NAMES = {key for action in ACTIONS.values() for key in action.keys if len(key) > 2}
_CUT = re.compile(r"(?<![\w+])([\w+]{4,})…")


def drawn(app: CatenaApp) -> list[Strip]:
    """The rows of the screen."""
    return app.screen._compositor.render_strips()


def faults(app: CatenaApp, sees: Sequence[str]) -> list[str]:
    """What is wrong with the layout; ``sees``: texts that have to be on it."""
    screen, strips = app.screen, drawn(app)
    lines = [strip.text for strip in strips]
    text = " ".join(" ".join(lines).split())
    found = [f"{each!r} is not seen" for each in sees if each not in text]
    if len(lines) != app.size.height:
        found.append(f"{len(lines)} rows of {app.size.height}")
    found += [f"{cell_len(line)} cells: {line!r}" for line in lines if cell_len(line) != app.size.width]
    found += _cut_keys(lines)
    for widget in screen.walk_children():
        if isinstance(widget, Widget) and _displayed(widget):
            found += _hidden(screen, widget)
            found += _unsaid(widget)
    return found


def _displayed(widget: Widget) -> bool:
    return all(each.display for each in widget.ancestors_with_self if isinstance(each, Widget))


def _cut_keys(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        for cut in _CUT.findall(line):
            if any(name.startswith(cut) and name != cut for name in _NAMES):
                yield f"the name of a key is cut: {line!r}"


def _hidden(screen: Screen[object], widget: Widget) -> Iterator[str]:
    """What is interactive, and lies outside of the screen where nothing scrolls to it."""
    if not (widget.can_focus or isinstance(widget, Foot | BandText | TypingBox)):
        return
    place = screen.find_widget(widget)
    seen = place.region.intersection(place.clip)
    scrolls = any(each.max_scroll_y > 0 for each in widget.ancestors if isinstance(each, Widget))
    if not place.region.area:
        yield f"{widget} has no room"
    elif seen != place.region and not scrolls:
        yield f"{widget} is cut: {place.region} within {place.clip}"
    if widget.has_focus:
        if not seen.area:
            yield f"{widget} has the keys and is out of sight"
        if isinstance(widget, Input | TextArea) and not Region(*screen.region).contains_point(
            widget.cursor_screen_offset
        ):
            yield f"the cursor of {widget} is out of sight"


def _unsaid(widget: Widget) -> Iterator[str]:
    """Options and keys that are cut, or left out."""
    match widget:
        case BandText():
            width = widget.content_size.width
            lines = [line.plain for line in widget.lines(width)]
            words = " ".join(lines).split()
            for choice in widget.words.choices:
                if not all(word in words for word in choice.key.split()):
                    yield f"no key {choice.key!r} in {lines}"
            yield from (f"wider than the band: {line!r}" for line in lines if cell_len(line) > width)
        case Foot():
            said = widget.render().plain
            if widget.keys and not said.endswith(f"{widget.keys[-1].key} {widget.keys[-1].does}"):
                yield f"the way out is not said: {said!r}"
            if cell_len(said) > widget.size.width:
                yield f"the keys are cut: {said!r}"


def without_colours(app: CatenaApp) -> list[Grid]:
    """The rows of the screen as marks, and what text has beside its colour."""
    return [
        [
            (character if _is_mark(character) else "", *_attributes(segment.style))
            for segment in strip
            for character in segment.text
        ]
        for strip in drawn(app)
    ]


def _is_mark(character: str) -> bool:
    return character in "▌›●◉◇▸▾"


def _attributes(style: Style | None) -> tuple[bool, bool, bool, bool]:
    if style is None:
        return False, False, False, False
    return bool(style.bold), bool(style.reverse), bool(style.underline), bool(style.dim)


def faint_texts(app: CatenaApp) -> list[str]:
    """Texts that can hardly be told from their ground."""
    return [
        f"{segment.text!r}: {_contrast(segment):.1f}"
        for strip in drawn(app)
        for segment in strip
        if _DRAWN.sub("", segment.text) and _contrast(segment) < _LEAST_CONTRAST
    ]


def _contrast(segment: Segment) -> float:
    style = segment.style
    if style is None or style.color is None or style.bgcolor is None or style.reverse:
        return 21.0
    if not (style.color.triplet and style.bgcolor.triplet):  # the terminal's own
        return 21.0
    ends = sorted(_luminance(Color.from_rich_color(each)) for each in (style.color, style.bgcolor))
    return (ends[1] + 0.05) / (ends[0] + 0.05)


def _luminance(color: Color) -> float:
    parts = [each / 255 for each in (color.r, color.g, color.b)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""What is wrong with a screen as it is drawn: what is cut, what cannot be reached, and what only a colour tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.style import Style
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, TextArea

from catena.app.app import CatenaApp
from catena.keys.actions import ACTIONS
from catena.themes.colours import ColourDepth, contrast
from catena.widgets.band import BandText
from catena.widgets.sheet_edges import Foot
from catena.widgets.typing_box import TypingBox

Grid = list[tuple[str, bool, bool, bool, bool]]

_DRAWN = re.compile(r"[─-▟╌·\s]")  # lines and blocks, which are no text
_NEAREST = 0.05  # a minimum is met to one decimal
# What a name may look like, in the palettes of xterm and of the VGA.
_SIXTEEN = {5: ("#cd00cd", "#aa00aa"), 9: ("#ff0000", "#ff5555"), 12: ("#5c5cff", "#5555ff")}
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


def unreadable(app: CatenaApp, depth: ColourDepth) -> list[str]:
    """Words that can hardly be told from their ground in the theme that there is, on a terminal of a depth."""
    return [
        f"{segment.text!r} in {segment.style}: {least:.1f}"
        for strip in drawn(app)
        for segment in strip
        if _DRAWN.sub("", segment.text)
        and segment.style is not None
        and (least := _least_contrast(segment.style, depth))
        < (3 if depth is ColourDepth.SIXTEEN else 4.5) - _NEAREST
    ]


def _least_contrast(style: Style, depth: ColourDepth) -> float:
    """The contrast of a text with its ground; with 16 colours on black and on white, of two palettes."""
    ink, ground = style.color, style.bgcolor
    if depth is ColourDepth.SIXTEEN:
        named = [each for each in (ink, ground) if each is not None and not each.is_default]
        if len(named) > 1 or any(each.number not in _SIXTEEN for each in named):
            return 1.0  # a colour that nothing is known of
        looks = [look for each in named for look in _SIXTEEN[each.number or 0]]
        return min(
            (contrast(look, other) for look in looks for other in ("#000000", "#ffffff")), default=21.0
        )
    if ink is None or ground is None or ink.is_default or ground.is_default:
        return 21.0  # the terminal's own
    if depth is ColourDepth.INDEXED:
        ink, ground = (each.downgrade(ColorSystem.EIGHT_BIT) for each in (ink, ground))
    return contrast(_hex(ink), _hex(ground))


def _hex(color: Color | None) -> str:
    return color.get_truecolor().hex if color is not None else ""

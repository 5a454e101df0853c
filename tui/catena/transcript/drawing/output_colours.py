"""Colours of a command's output as styles: the 16 colours of terminals in those of the theme."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.style import Style

from catena.text.safe_text import safe
from catena.transcript.drawing.render_options import Palette
from catena.transcript.drawing.wrapping import Run, fit, width_of
from catena_acp.terminals.screen_text import PLAIN, OutputStyle, pieces_of


def runs_of(row: str, base: Style, palette: Palette) -> list[Run]:
    """Return a row of output as styled text, made safe; ``base`` is the style of what has no colour."""
    if "\x1b" not in row:
        return [(safe(row).replace("\n", " "), base)]
    return [
        (safe(text).replace("\n", " "), base if pen == PLAIN else _style_of(pen, base, palette))
        for pen, text in pieces_of(row)
    ]


def fit_runs(runs: Sequence[Run], room: int) -> Sequence[Run]:
    """Return the beginning of a row that ``room`` cells hold, with `…` where it is cut."""
    if sum(width_of(text) for text, _ in runs) <= room:
        return runs
    kept: list[Run] = []
    left = room - 1
    for text, style in runs:
        beginning = fit(text, left)
        kept.append((beginning, style))
        left -= width_of(beginning)
        if len(beginning) < len(text) or left <= 0:
            break
    return [*kept, ("…", runs[0][1])]


@lru_cache(maxsize=256)
def _style_of(pen: OutputStyle, base: Style, palette: Palette) -> Style:
    """The style of a pen: a background shows as the reverse of its colour, black and white as dim and plain text."""
    colour, reverse = pen.foreground, pen.reverse
    if pen.background is not None and pen.background % 8 not in (0, 7):
        colour, reverse = pen.background, True
    plain = palette.text if pen.bold else base
    style = plain if colour is None else _colours(palette, plain)[colour % 8 if colour != 8 else 0]
    if colour == 15:
        style = palette.text
    return style + Style(
        bold=pen.bold or None,
        dim=pen.dim or None,
        italic=pen.italic or None,
        underline=pen.underline or None,
        reverse=reverse or None,
        strike=pen.strike or None,
    )


def _colours(palette: Palette, plain: Style) -> tuple[Style, ...]:
    """The colours from black to white; black is never the colour of the ground."""
    return (
        palette.faint,
        palette.output_red,
        palette.output_green,
        palette.output_yellow,
        palette.output_blue,
        palette.output_magenta,
        palette.output_cyan,
        plain,
    )

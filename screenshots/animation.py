"""A recording as an animated SVG: text stays text, and a row that comes again is drawn once."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from catena.films.recording import Recording
from screenshots.vector import CELL, FONTS

LINE = 24.4  # units that a row is high
_BASE = 18.6  # of its letters' foot
_HEAD, _EDGE, _FOOT = 60.0, 12.0, 12.0  # above, beside and below the screen
# Blocks are drawn as shapes: letters of many fonts leave gaps. Each with its part of the cell: x, y, width, height.
_BLOCKS = {
    "▄": (0, 0.5, 1, 0.5),
    "▀": (0, 0, 1, 0.5),
    "█": (0, 0, 1, 1),
    "▌": (0, 0, 0.5, 1),
    "▐": (0.5, 0, 0.5, 1),
}
# So are lines, each by the sides of the cell that it goes to: left, right, up, down.
_LINES = {"─": "lr", "│": "ud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu", "├": "rud", "┤": "lud"}
_DRAWN = "".join((*_BLOCKS, *_LINES))
_PIECES = re.compile("|".join(f"{drawn}+" for drawn in _DRAWN) + f"|[^{_DRAWN}]+")

_Spans = tuple[tuple[int, int], ...]  # times at which something is seen, in milliseconds


@dataclass
class _Sheet:
    """The styles of one picture: a class for each look, and one for each set of times."""

    looks: dict[str, str] = field(default_factory=dict)
    times: dict[_Spans, str] = field(default_factory=dict)

    def look(self, rules: str) -> str:
        """The class of a look."""
        return self.looks.setdefault(rules, f"c{len(self.looks)}")

    def timed(self, spans: _Spans) -> str:
        """The class of what is seen at these times."""
        return self.times.setdefault(spans, f"t{len(self.times)}")


def animated(recording: Recording, *, still: int, ground: str, text: str, faint: str, accent: str) -> str:
    """The recording as an SVG that begins anew at its end; ``still`` is the time that stands where nothing may move."""
    sheet = _Sheet()
    drawn = [
        *_rows(recording, sheet, ground=ground, still=still, text=text),
        *_titles(recording, sheet, still=still),
    ]
    width = recording.columns * CELL + 2 * _EDGE
    height = recording.rows * LINE + _HEAD + _FOOT
    dots = "".join(
        f'<circle cx="{24 + 20 * number}" cy="30" r="6" fill="{faint}" opacity="0.5"/>' for number in range(3)
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width:g} {height:g}">',
            "<title>A conversation in Catena</title>",
            "<style>",
            f"text{{font:20px {FONTS};fill:{text};white-space:pre}}",
            ".h{font-size:25px;text-anchor:middle}",
            "rect{shape-rendering:crispEdges}",
            *(f".{name}{{{rules}}}" for rules, name in sheet.looks.items()),
            *_animations(sheet, recording.length),
            f".p{{animation:p {recording.length / 1000:g}s linear infinite;transform:scaleX(0)}}",
            "@keyframes p{to{transform:scaleX(1)}}",
            "@media(prefers-reduced-motion:reduce){*{animation:none!important}}",
            "</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="10" fill="{ground}" stroke="{faint}" '
            'stroke-opacity="0.4" style="shape-rendering:auto"/>',
            dots,
            f'<rect class="p" x="0" y="{_HEAD - 8:g}" width="{width:g}" height="1" fill="{accent}"/>',
            *drawn,
            "</svg>\n",
        )
    )


def _animations(sheet: _Sheet, length: int) -> Iterator[str]:
    if sheet.times:
        yield ",".join(f".{name}" for name in sheet.times.values()) + "{visibility:hidden}"
        yield ".s{visibility:visible}"
    for spans, name in sheet.times.items():
        steps = {0: "hidden"}
        for start, end in spans:
            steps[start] = "visible"
            steps.setdefault(end, "hidden")
        last = list(steps.values())[-1]
        shown = "".join(
            f"{at * 100 / length:.3f}".rstrip("0").rstrip(".") + f"%{{visibility:{value}}}"
            for at, value in sorted(steps.items())
            if at < length
        )
        yield f"@keyframes {name}{{{shown}100%{{visibility:{last}}}}}"
        yield f".{name}{{animation:{name} {length / 1000:g}s step-end infinite}}"


def _rows(recording: Recording, sheet: _Sheet, *, ground: str, still: int, text: str) -> Iterator[str]:
    """Every look of every row, with the times at which it is seen."""
    frames = recording.frames
    ends = [*(frame.at for frame in frames[1:]), recording.length]
    for y in range(recording.rows):
        seen: dict[str, list[tuple[int, int]]] = {}
        for frame, end in zip(frames, ends, strict=True):
            drawn = _row(frame.rows[y], sheet, ground=ground, text=text)
            spans = seen.setdefault(drawn, [])
            if spans and spans[-1][1] == frame.at:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((frame.at, end))
        top = f'transform="translate({_EDGE:g} {_HEAD + y * LINE:g})"'
        for drawn, spans in seen.items():
            if drawn:
                yield f"<g {_shown(sheet, tuple(spans), still, recording.length)}{top}>{drawn}</g>"


def _titles(recording: Recording, sheet: _Sheet, *, still: int) -> Iterator[str]:
    """The titles of the chapters, in the head of the window."""
    chapters = recording.chapters
    ends = [*(chapter.at for chapter in chapters[1:]), recording.length]
    middle = recording.columns * CELL / 2 + _EDGE
    for chapter, end in zip(chapters, ends, strict=True):
        times = _shown(sheet, ((chapter.at, end),), still, recording.length)
        yield f'<g {times}><text class="h" x="{middle:g}" y="38">{html.escape(chapter.title)}</text></g>'


def _shown(sheet: _Sheet, spans: _Spans, still: int, length: int) -> str:
    if spans == ((0, length),):
        return ""
    stays = " s" if any(start <= still < end for start, end in spans) else ""
    return f'class="{sheet.timed(spans)}{stays}" '


def _row(strip: Strip, sheet: _Sheet, *, ground: str, text: str) -> str:
    """What is drawn of a row: its grounds first, then its letters."""
    grounds: list[str] = []
    letters: list[str] = []
    x = 0
    for piece in _joined(strip):
        style = piece.style or Style.null()
        colour, behind = _colours(style, ground=ground, text=text)
        width = cell_len(piece.text)
        if behind != ground:
            grounds.append(_rect(x, 0, width, 1, sheet.look(f"fill:{behind}")))
        letters += _letters(piece.text, x, colour, style, sheet)
        x += width
    return "".join((*grounds, *letters))


def _letters(text: str, x: int, colour: str, style: Style, sheet: _Sheet) -> Iterator[str]:
    for match in _PIECES.finditer(text):
        part = match[0]
        at, width = x + cell_len(text[: match.start()]), cell_len(part)
        if part[0] in _BLOCKS:
            left, top, across, down = _BLOCKS[part[0]]
            look = sheet.look(f"fill:{colour}")
            if across == 1:
                yield _rect(at, top, width, down, look)
            else:
                yield from (_rect(at + each + left, top, across, down, look) for each in range(width))
        elif part[0] in _LINES:
            look = sheet.look(f"fill:none;stroke:{colour};stroke-width:1.7")
            yield f'<path class="{look}" d="{_line(_LINES[part[0]], at, width)}"/>'
        elif part.strip():
            first = len(part) - len(part.lstrip(" "))
            bare = part.strip(" ")
            rules = "".join(
                (
                    f"fill:{colour}",
                    ";font-weight:bold" if style.bold else "",
                    ";font-style:italic" if style.italic else "",
                    ";text-decoration:underline" if style.underline else "",
                    ";text-decoration:line-through" if style.strike else "",
                )
            )
            length = CELL * cell_len(bare)
            yield (
                f'<text class="{sheet.look(rules)}" x="{CELL * (at + first):g}" y="{_BASE:g}" '
                f'textLength="{length:g}">{html.escape(bare, quote=False)}</text>'
            )


def _line(sides: str, x: int, width: int) -> str:
    """The way of a line through so many cells, whose corners are round."""
    if sides == "lr":
        return f"M{x * CELL:g} {LINE / 2:g}h{width * CELL:g}"
    ways = []
    for number in range(width):
        middle, half = (x + number + 0.5) * CELL, CELL / 2
        if len(sides) == 2 and sides != "ud":
            across = half if "r" in sides else -half
            down = LINE / 2 if "d" in sides else -LINE / 2
            ways.append(
                f"M{middle:g} {LINE / 2 + down:g}V{LINE / 2 + down / 2:g}"
                f"Q{middle:g} {LINE / 2:g} {middle + across:g} {LINE / 2:g}"
            )
            continue
        ways.append(f"M{middle:g} 0v{LINE:g}")
        if "l" in sides or "r" in sides:
            ways.append(f"M{middle:g} {LINE / 2:g}h{half if 'r' in sides else -half:g}")
    return "".join(ways)


def _rect(x: float, y: float, width: float, height: float, look: str) -> str:
    return (
        f'<rect class="{look}" x="{x * CELL:g}" y="{y * LINE:g}" width="{width * CELL:g}" '
        f'height="{height * LINE:g}"/>'
    )


def _joined(strip: Strip) -> Iterator[Segment]:
    """The pieces of a row, as few as possible."""
    return iter(Strip(Segment.simplify(list(strip))))


def _colours(style: Style, *, ground: str, text: str) -> tuple[str, str]:
    """The colours of letters and of what is behind them."""
    front, back = _hex(style.color, text), _hex(style.bgcolor, ground)
    if style.reverse:
        front, back = back, front
    if style.dim:
        front = _mixed(front, back)
    return front, back


def _hex(colour: Color | None, otherwise: str) -> str:
    return otherwise if colour is None or colour.is_default else colour.get_truecolor().hex


def _mixed(front: str, back: str) -> str:
    values: Sequence[int] = [
        (int(front[at : at + 2], 16) * 6 + int(back[at : at + 2], 16) * 4) // 10 for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{value:02x}" for value in values)

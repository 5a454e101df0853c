"""Drawing of prompts: text, siblings, attachments and state."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from catena.text.formats import truncate
from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.lines import Line, line_of, on_ground, with_mark
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import width_of, wrap_runs, wrap_text
from catena_store.records import Message, MessageState

BAR = "▌"
SIBLING_STEP = "sibling"  # key of -1 or +1 in a style's meta data
_WIDE = 40  # cells of a prompt that has room for the agent before its siblings
_AGENT = 16  # cells of the agent's name, at most


class Siblings(NamedTuple):
    """The place of a prompt among its siblings."""

    position: int  # from 1
    of: int  # how many there are
    agent: str = ""  # that it went to, where siblings of it went to others: the agent's words


def draw_prompt(first_rows: str, siblings: Siblings | None, options: RenderOptions) -> list[Line]:
    """Draw the beginning of a prompt, with its siblings at the right of the first row."""
    style = options.palette.prompt
    if siblings is None:
        return _band(wrap_text(safe(first_rows), style, options.width), options)
    marks = _marks(siblings, options)
    space = sum(width_of(text) for text, _ in marks)
    head, newline, rest = safe(first_rows).partition("\n")
    lines = wrap_runs([(head.expandtabs(4), style)], options.width, first=max(4, options.width - space - 2))
    first = lines[0]
    gap = max(0, options.width - first.cells - space)
    first.segments += [Segment(" " * gap, style), *(Segment(text, style) for text, style in marks)]
    first.cells += gap + space
    if newline:
        lines += wrap_text(rest, style, options.width)
    return _band(lines, options)


def draw_more(rows: str, options: RenderOptions) -> list[Line]:
    """Draw the rest of a long prompt."""
    return _band(wrap_text(safe(rows), options.palette.prompt_text, options.width), options)


def draw_footer(message: Message, options: RenderOptions) -> list[Line]:
    """Draw the lines below a prompt: its attachments and its state."""
    note = options.palette.prompt_note
    lines = [
        line_of((text, note), text="")
        for attachment in attachments_of(message)
        for text in (line.shown for line in wrap_runs([(f"+ {attachment}", note)], options.width))
    ]
    if message.data.get("steered"):
        said = "said into the running turn"
        if message.data.get("doubtful"):
            said += "; whether it was heard is not known"
        lines.append(line_of((said, note), text=""))
    if message.state is MessageState.REFUSED:
        lines.append(line_of(("not sent: no agent took it", options.palette.trouble), text=""))
    return _band(lines, options)


def has_footer(message: Message) -> bool:
    """True if there are lines below a prompt."""
    refused = message.state is MessageState.REFUSED
    return refused or bool(message.data.get("steered")) or bool(attachments_of(message))


def attachments_of(message: Message) -> list[str]:
    """Return one line for each attachment of a prompt."""
    value = message.data.get("attachments")
    names: list[str] = []
    for item in value if isinstance(value, (list, tuple)) else ():
        if isinstance(item, str):
            names.append(safe_line(item))
        elif isinstance(item, dict):
            words = (item.get("name"), item.get("path"), item.get("description"), item.get("kind"))
            names.append(safe_line(str(next((word for word in words if word), "attachment"))))
    return names


def marks_width(siblings: Siblings, width: int) -> int:
    """The cells that the siblings take at the right of a prompt of this width."""
    arrows = f"‹ {siblings.position}/{siblings.of} ›"
    return width_of(_badge(siblings, width) + arrows)


def _badge(siblings: Siblings, width: int) -> str:
    return f"{truncate(safe_line(siblings.agent), _AGENT)} " if siblings.agent and width >= _WIDE else ""


def _marks(siblings: Siblings, options: RenderOptions) -> list[tuple[str, Style]]:
    position, count, _ = siblings
    style = options.palette.prompt_siblings
    back = style + Style(meta={SIBLING_STEP: -1})
    on = style + Style(meta={SIBLING_STEP: 1})
    arrows = [("‹ ", back), (f"{position}/{count}", style), (" ›", on)]
    return [(badge, style), *arrows] if (badge := _badge(siblings, options.width)) else arrows


def _band(lines: list[Line], options: RenderOptions) -> list[Line]:
    """Draw the bar, and the ground behind a prompt."""
    palette = options.palette
    return with_mark(on_ground(lines, palette.prompt_text, padded=True), BAR, palette.prompt_bar)

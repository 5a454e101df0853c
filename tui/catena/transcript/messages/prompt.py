"""How a prompt is drawn: as it was typed, with its siblings and attachments."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.lines import Line, Mark, marked, single
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import lay, lay_plain, width_of
from catena_store.records import Message, MessageState

Siblings = tuple[int, int]  # position from 1, and how many
SIBLING_STEP = "sibling"  # the key of -1 or +1 in the meta data of a style


def draw_prompt(first_rows: str, siblings: Siblings | None, look: RenderOptions) -> list[Line]:
    """Draw the beginning of a prompt; where it has siblings, they stand at the right of its first row."""
    look = _beside_bar(look)
    style = look.palette.prompt
    if siblings is None:
        return _bar(lay_plain(safe(first_rows), style, look.width), look)
    arrows = _arrows(siblings, look)
    space = sum(width_of(text) for text, _ in arrows)
    head, newline, rest = safe(first_rows).partition("\n")
    lines = lay([(head.expandtabs(4), style)], look.width, first=max(4, look.width - space - 2))
    first = lines[0]
    gap = max(0, look.width - first.cells - space)
    first.segments += [Segment(" " * gap, Style.null()), *(Segment(text, style) for text, style in arrows)]
    first.cells += gap + space
    if newline:
        lines += lay_plain(rest, style, look.width)
    return _bar(lines, look)


def draw_more(rows: str, look: RenderOptions) -> list[Line]:
    """Draw the rest of a long prompt."""
    look = _beside_bar(look)
    return _bar(lay_plain(safe(rows), look.palette.prompt, look.width), look)


def draw_below(message: Message, look: RenderOptions) -> list[Line]:
    """Draw what stands under the text of a prompt: its attachments, and what became of it."""
    within = _beside_bar(look)
    lines = [
        single((text, look.palette.muted), text="")
        for attachment in attachments_of(message)
        for text in (line.shown for line in lay([(f"+ {attachment}", look.palette.muted)], within.width))
    ]
    if message.data.get("steered"):
        said = "said into the running turn"
        if message.data.get("doubtful"):
            said += "; whether it was heard is not known"
        lines.append(single((said, look.palette.muted), text=""))
    if message.state is MessageState.REFUSED:
        lines.append(single(("not sent: no agent took it", look.palette.trouble), text=""))
    return _bar(lines, within)


def has_below(message: Message) -> bool:
    """True where something stands under the text of a prompt."""
    refused = message.state is MessageState.REFUSED
    return refused or bool(message.data.get("steered")) or bool(attachments_of(message))


def attachments_of(message: Message) -> list[str]:
    """Return one line for each thing that came with a prompt."""
    value = message.data.get("attachments")
    names: list[str] = []
    for item in value if isinstance(value, (list, tuple)) else ():
        if isinstance(item, str):
            names.append(safe_line(item))
        elif isinstance(item, dict):
            words = (item.get("name"), item.get("path"), item.get("description"), item.get("kind"))
            names.append(safe_line(str(next((word for word in words if word), "attachment"))))
    return names


def arrows_width(siblings: Siblings) -> int:
    """How many cells the siblings take."""
    return len(f"‹ {siblings[0]}/{siblings[1]} ›")


def _arrows(siblings: Siblings, look: RenderOptions) -> list[tuple[str, Style]]:
    position, count = siblings
    style = look.palette.muted
    back = style + Style(meta={SIBLING_STEP: -1})
    on = style + Style(meta={SIBLING_STEP: 1})
    return [("‹ ", back), (f"{position}/{count}", style), (" ›", on)]


def _beside_bar(look: RenderOptions) -> RenderOptions:
    return look.within(2) if look.narrow else look


def _bar(lines: list[Line], look: RenderOptions) -> list[Line]:
    """Where there is no gutter the bar is part of the text."""
    return marked(lines, Mark("▌ ", "▌ ", look.palette.prompt_bar)) if look.narrow else lines

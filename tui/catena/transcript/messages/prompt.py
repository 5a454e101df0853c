"""Drawing of prompts: text, siblings, attachments and state."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from catena.text.formats import truncate
from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.lines import Line, line_of, on_ground, with_mark
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, width_of, wrap_runs, wrap_text
from catena_acp.spoken.spoken import IMPORTED, Prompt
from catena_store.records import Message, MessageState

BAR = "▌"
SIBLING_STEP = "sibling"  # key of -1 or +1 in a style's meta data
_ROOMY = 56  # cells of a prompt that has room for more than its time and place
_AGENT = 16  # cells of the agent's name, at most
_BETWEEN = "   "  # time and siblings


class Siblings(NamedTuple):
    """The place of a prompt among its siblings."""

    position: int  # from 1
    of: int  # how many there are
    agent: str = ""  # that it went to, where siblings of it went to others: the agent's words


def draw_prompt(
    first_rows: str, message: Message, siblings: Siblings | None, options: RenderOptions
) -> list[Line]:
    """Draw the beginning of a prompt: its first line bold, its time and siblings at the right of the first row."""
    palette = options.palette
    head, newline, rest = safe(first_rows).partition("\n")
    beside_note = _first_width(message, siblings, options)
    lines = wrap_runs([(head, palette.prompt)], options.width, first=beside_note)
    lines[0].note = tuple(Segment(text, style) for text, style in _note(message, siblings, options))
    if newline:
        lines += wrap_text(rest, palette.prompt_text, options.width)
    return _band(lines, options)


def draw_rest(rows: str, options: RenderOptions) -> list[Line]:
    """Draw the rest of a long prompt."""
    return _band(wrap_text(safe(rows), options.palette.prompt_text, options.width), options)


def draw_fold(size: str, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw the row that says how much of a long prompt is left out, or was."""
    words = f"… {size} ▸" if folded else f"{size} ▾"
    return _band([line_of((words, options.palette.prompt_note), text="", lead=len(words))], options)


def draw_footer(message: Message, options: RenderOptions) -> list[Line]:
    """Draw the lines below a prompt: its attachments and its state."""
    note = options.palette.prompt_note
    lines = [
        line_of((text, note), text="")
        for attachment in attachments_of(message)
        for text in (line.shown for line in wrap_runs([(f"+ {attachment}", note)], options.width))
    ]
    refused = message.state is MessageState.REFUSED
    for said in _notes_below(message):
        style = options.palette.prompt_failed if refused and said == "not sent" else note
        lines.append(line_of((said, style), text=""))
    return _band(lines, options)


def has_footer(message: Message) -> bool:
    """True if there are lines below a prompt."""
    return bool(_notes_below(message)) or bool(attachments_of(message))


def _notes_below(message: Message) -> list[str]:
    return [note for note in Prompt.of(message).notes if note != IMPORTED]


def attachments_of(message: Message) -> list[str]:
    """Return one line for each attachment of a prompt."""
    return [safe_line(file.name) for file in Prompt.of(message).files]


def time_of(message: Message) -> str:
    """The time of a prompt as a clock shows it, such as `14:02`."""
    return message.created_at.astimezone().strftime("%H:%M")


def _time_words(message: Message, options: RenderOptions) -> str:
    """The time of a prompt, and that it was imported, where there is room."""
    imported = options.width >= _ROOMY and IMPORTED in Prompt.of(message).notes
    return f"{IMPORTED} {time_of(message)}" if imported else time_of(message)


def _first_width(message: Message, siblings: Siblings | None, options: RenderOptions) -> int:
    """The width of a prompt's first row, which leaves room for what stands at its right."""
    marks = width_of(_marks_text(siblings, options)) + len(_BETWEEN) if siblings else 0
    return max(4, options.width - len(_time_words(message, options)) - marks - 2)


def _note(message: Message, siblings: Siblings | None, options: RenderOptions) -> list[Run]:
    palette = options.palette
    time: Run = (_time_words(message, options), palette.prompt_note)
    if siblings is None:
        return [time]
    step = {by: palette.prompt_note + Style(meta={SIBLING_STEP: by}) for by in (-1, 1)}
    place: Run = (f"{siblings.position}/{siblings.of}", palette.prompt_siblings)
    marks = [place] if options.narrow else [("‹ ", step[-1]), place, (" ›", step[1])]
    badge = _badge(siblings, options)
    return [time, (_BETWEEN, palette.prompt_note), (badge, palette.prompt_siblings), *marks]


def _marks_text(siblings: Siblings, options: RenderOptions) -> str:
    place = f"{siblings.position}/{siblings.of}"
    return _badge(siblings, options) + (place if options.narrow else f"‹ {place} ›")


def _badge(siblings: Siblings, options: RenderOptions) -> str:
    """The agent that a prompt went to, where its siblings went to others and there is room."""
    if not siblings.agent or options.width < _ROOMY:
        return ""
    return f"{truncate(safe_line(siblings.agent), _AGENT)} "


def _band(lines: list[Line], options: RenderOptions) -> list[Line]:
    """Draw the bar, and the ground behind a prompt."""
    palette = options.palette
    return with_mark(on_ground(lines, palette.prompt_text, padded=True), BAR, palette.prompt_bar)

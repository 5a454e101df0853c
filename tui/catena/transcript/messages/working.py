"""Drawing of the line below the last message while an agent works."""

from __future__ import annotations

from catena.transcript.drawing.lines import Line, line_of, with_mark
from catena.transcript.drawing.render_options import RenderOptions

FRAMES_A_SECOND = 4
_FRAMES = "◐◓◑◒"


def draw_working(elapsed: float, retry: str, options: RenderOptions, *, still: bool) -> Line:
    """Draw what turns, unless it is to be ``still``, and for how many seconds the agent has worked.

    ``retry`` says that it tries again to call its model, in words of ours.
    """
    seconds = int(elapsed)
    time = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60:02} s"
    mark = _FRAMES[0 if still else int(elapsed * FRAMES_A_SECOND) % len(_FRAMES)]
    palette, words = options.palette, f" · {retry}" if retry else ""
    room = options.width - len(time)
    if len(words) > room:
        words = f"{words[: max(0, room - 1)].rstrip()}…"
    return with_mark(
        [line_of((time, palette.faint), (words, palette.running), text="")], mark, palette.running
    )[0]

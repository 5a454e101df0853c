"""Images of agents below their lines: cells that the terminal draws them in, blank until it has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rich.segment import Segment

from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.messages.parts import Part
from catena_acp.port.images import ImageNote


def image_part(message_id: str, note: ImageNote, lead: Callable[[RenderOptions], int]) -> Part:
    """Make the part of an image, so many cells to the right of the text's edge."""
    part = Part(partial(_draw_image, message_id, note, lead), "", size=0, breaks=0, joint="")
    part.pictured = True
    return part


def _draw_image(
    message_id: str, note: ImageNote, lead: Callable[[RenderOptions], int], options: RenderOptions
) -> list[Line]:
    if options.images is None or options.short or options.narrow:
        return []
    before = lead(options)
    room = options.width - before
    return [
        Line(
            [Segment(" " * (before + row.slot.columns))],
            before + row.slot.columns,
            lead=before,
            joint="",
            image=row,
        )
        for row in options.images.rows(message_id, note, room)
    ]

"""The main line of a transcript whose records hang together by ``uuid`` and ``parentUuid``. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from catena_acp.transcripts.lines import Record


@dataclass(frozen=True, slots=True)
class MainLine:
    """The records from the root to the newest message, in the order of the file, and those beside them."""

    records: Sequence[Record]
    beside: Sequence[Record]
    gaps: int  # records whose parent is not in the file


def main_line(
    said: Sequence[Record], is_message: Callable[[Record], bool], message_id: Callable[[Record], str | None]
) -> MainLine:
    """The main line: the way up from the newest record that is a message, and what follows it.

    Records of one ``message_id`` belong together: of calls that were made at once, only one leads to the next.
    """
    by_id = {record["uuid"]: at for at, record in enumerate(said)}
    newest = next((at for at in range(len(said) - 1, -1, -1) if is_message(said[at])), None)
    if newest is None:
        return MainLine((), (), 0)
    on_line: set[int] = set()
    gaps = 0
    at: int | None = newest
    while at is not None and at not in on_line:
        on_line.add(at)
        above = said[at].get("parentUuid") or said[at].get("logicalParentUuid")
        if above is None:
            break
        place = by_id.get(above) if isinstance(above, str) else None
        if place is None:  # the best guess at what it hangs from is what stands before it
            gaps += 1
            place = at - 1 if at else None
        at = place
    together = {message_id(said[each]) for each in on_line} - {None}
    kept = [
        each in on_line or each > newest or message_id(record) in together for each, record in enumerate(said)
    ]
    return MainLine(
        [record for record, keeps in zip(said, kept, strict=True) if keeps],
        [record for record, keeps in zip(said, kept, strict=True) if not keeps],
        gaps,
    )

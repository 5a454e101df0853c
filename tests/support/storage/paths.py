"""Paths to a prompt, by their rows: what the store would answer about each of them."""

from __future__ import annotations

from collections.abc import Sequence

from catena_store.records import SPOKEN_KINDS, Kind, Path, Place

_KINDS = {
    "U": Kind.USER,
    "a": Kind.AGENT,
    "t": Kind.TOOL,
    "n": Kind.NOTICE,
    "s": Kind.SEAM,
    "x": Kind.THOUGHT,
}


def named_path(rows: str) -> Path:
    """The path to the last of the rows, by name; the first letter tells the kind: `U1 a1 U2`."""
    *above, prompt = rows.split()
    return path_below([(name, _KINDS[name[0]]) for name in above], prompt)


def path_below(rows: Sequence[tuple[str, Kind]], prompt_id: str = "") -> Path:
    """The path to a prompt below these rows, oldest first."""
    place = Place()
    places: dict[str, Place] = {}
    for id, kind in rows:
        place = Place(
            place.position + 1, place.spoken + (kind in SPOKEN_KINDS), place.tools + (kind is Kind.TOOL)
        )
        places[id] = place
    return Path(prompt_id, place, places)

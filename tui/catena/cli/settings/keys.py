"""``catena keys``: every action of a key, by place, with the keys in effect."""

from __future__ import annotations

import json as json_text
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from catena.errors import ExitStatus
from catena.keys.actions import ACTIONS, PLACES, KeyAction
from catena.keys.keymap import KeyMap
from catena.settings.settings import Settings, load_settings
from catena.text.safe_text import safe_line


def print_keys(*, json: bool) -> int:
    """Print every action with its keys; what of the settings cannot be goes to standard error.

    Raises InvalidSettings.
    """
    settings = load_settings()
    warn_of_keys(settings)
    if json:
        print(json_text.dumps([_object(each, settings.keys) for each in ACTIONS.values()], indent=2))
    else:
        print("\n".join(_lines(settings.keys)))
    return ExitStatus.ANSWERED


def warn_of_keys(settings: Settings) -> None:
    """Print to standard error which keys of the settings cannot be."""
    for problem in settings.key_problems:
        print(safe_line(f"catena: {problem}"), file=sys.stderr)


def _lines(keys: KeyMap) -> Iterator[str]:
    widest = max(map(len, ACTIONS))
    for place in PLACES.values():
        yield f"{place.title}:"
        for action in (each for each in ACTIONS.values() if each.place == place.name):
            own = " (yours)" if action.name in keys.own else ""
            pressed = ", ".join(keys.keys(action.name)) or "none"
            yield f"  {action.name:<{widest}}  {f'{pressed}{own}':<24}  {action.does}"
        yield ""


def _object(action: KeyAction, keys: KeyMap) -> dict[str, Any]:
    return {
        "action": action.name,
        "place": action.place,
        "keys": list(keys.keys(action.name)),
        "default": list(action.keys),
        "does": action.does,
    }


def key_document() -> str:
    """The table of the documentation: every action with its default keys, by place."""
    lines = []
    for place in PLACES.values():
        lines += [f"### {place.title}", "", "| action | default | |", "|---|---|---|"]
        here = (each for each in ACTIONS.values() if each.place == place.name)
        lines += [_row(list(numbered)) for _, numbered in groupby(here, _without_number)]
        lines.append("")
    return "\n".join(lines)


def _without_number(action: KeyAction) -> str:
    return re.sub(r"_([1-9]|[a-i])$", "", action.name)


def _row(actions: list[KeyAction]) -> str:
    """One action, or several that differ in their number alone: the first and the last."""
    first, last = actions[0], actions[-1]
    if first is last:
        return f"| `{first.name}` | {_written(first)} | {first.does} |"
    pairs = zip(*(re.split(r"(\W+)", each.does) for each in (first, last)), strict=True)
    does = "".join(one if one == other else f"{one}–{other}" for one, other in pairs)
    return f"| `{first.name}` … `{last.name}` | {_written(first)} … {_written(last)} | {does} |"


def _written(action: KeyAction) -> str:
    return " ".join(f"`{key}`" for key in action.keys)


if __name__ == "__main__":
    print(key_document())

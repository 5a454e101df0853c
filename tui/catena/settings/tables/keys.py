"""The `[keys]` table of the settings: keys of the person's own, by the action that they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from catena.keys.keymap import DEFAULT_KEYS, KeyMap, settled

if TYPE_CHECKING:
    from catena.errors import InvalidSettings

Wrong = Callable[[tuple[str, ...], str], "InvalidSettings"]  # the error for a key of the file, with its line


def read_keys(document: Mapping[str, Any], wrong: Wrong) -> tuple[KeyMap, tuple[InvalidSettings, ...]]:
    """The keys in effect, and an error for each that cannot be and has its default instead.

    Raises InvalidSettings for an unknown action, a text that names no key, and a value of another kind.
    """
    table = document.get("keys", {})
    if not isinstance(table, dict):
        raise wrong(("keys",), 'must be a table: [keys] with action = "key"')
    if not table:
        return DEFAULT_KEYS, ()
    wanted = {name: _keys(name, value, wrong) for name, value in table.items()}
    keys, problems = settled(wanted)
    return keys, tuple(wrong(("keys", each.name), each.why) for each in problems)


def _keys(name: str, value: Any, wrong: Wrong) -> tuple[str, ...]:
    from catena.keys.actions import ACTIONS
    from catena.keys.spelling import UnknownKey, spelled

    if name not in ACTIONS:
        from difflib import get_close_matches

        near = get_close_matches(name, ACTIONS, n=1)
        meant = f"did you mean `{near[0]}`?" if near else "`catena keys` lists them"
        raise wrong(("keys", name), f"is not an action of a key; {meant}")
    texts = value if isinstance(value, list) else [value] if value != "" else []
    if not all(isinstance(text, str) for text in texts):
        raise wrong(
            ("keys", name), 'must be a key, a list of keys, or "" for none: "ctrl+n", ["j", "down"], "g g"'
        )
    try:
        return tuple(dict.fromkeys(map(spelled, texts)))
    except UnknownKey as error:
        raise wrong(("keys", name), f": {error}") from error

"""The keys in effect: the defaults and the person's own, what they are called on the screen, and which cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, zip_longest

from catena.keys.actions import ACTIONS, PLACES, KeyAction
from catena.keys.spelling import (
    needs_kitty,
    never_sent,
    said_key,
    shown_key,
    textual_names,
    types_text,
)

_NAMES = re.compile(r"\{(\*?)([A-Za-z_0-9 ]+)\}")
_NO_KEY = "(no key)"
_ADDITIONAL = "super+"  # keys that are named nowhere but in the list of keys


@dataclass(frozen=True)
class KeyMap:
    """The keys of every action; ``own`` are the person's, by action, and none where an action has no key."""

    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def keys(self, name: str) -> tuple[str, ...]:
        """The keys of an action, as they are spelled."""
        own = self.own.get(name)
        return ACTIONS[name].keys if own is None else own

    def names(self, name: str) -> tuple[str, ...]:
        """The keys of an action, as Textual reports them."""
        return tuple(each for key in self.keys(name) for each in textual_names(key))

    def shown(self, name: str) -> str:
        """The first key of an action, as hints show it; "" if it has none."""
        return next(map(shown_key, self.keys(name)), "")

    def fill(self, template: str) -> str:
        """A text with the first keys in the places of actions: `{fork}`, `{row_up row_down}`, `{*top}` for all keys.

        An action that begins with a capital is spelled as in a sentence. Of a template with several parts behind
        commas those are left out that name an action without a key.
        """
        return ", ".join(part for each in template.split(", ") if (part := self._filled(each)))

    def hints(self, hints: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Hints with the keys in effect, without those of actions that have none."""
        return tuple((key, does) for template, does in hints if (key := self.fill(template)))

    def said(self, template: str, otherwise: str = "") -> str:
        """A sentence with the keys of its actions; where one of them has no key, ``otherwise`` if that is given."""
        return self._filled(template) or otherwise or _NAMES.sub(_NO_KEY, template)

    def _filled(self, template: str) -> str:
        parts = [(found, self._words(found)) for found in _NAMES.finditer(template)]
        if any(not words for _, words in parts):
            return ""
        return _NAMES.sub(lambda found: self._words(found), template)

    def _words(self, found: re.Match[str]) -> str:
        every, names = found.groups()
        if every:
            return self.all_shown(names.split())
        keys = []
        for name in names.split():
            own = self.keys(name.lower())
            if not own:
                return ""
            keys.append(said_key(own[0]) if name[0].isupper() else shown_key(own[0]))
        # Arrows stand together, as on the keyboard; other keys apart.
        return ("" if all(len(key) == 1 and not key.isascii() for key in keys) else " ").join(keys)

    def all_shown(self, names: Sequence[str]) -> str:
        """All keys of some actions: the first of each, then the second of each; digits in a row as `1–9`."""
        of_each = [[key for key in self.keys(name) if not key.startswith(_ADDITIONAL)] for name in names]
        shown = [shown_key(key) for rank in zip_longest(*of_each) for key in rank if key]
        if len(shown) > 2 and shown == [str(number) for number in range(1, len(shown) + 1)]:
            return f"{shown[0]}–{shown[-1]}"
        return " ".join(dict.fromkeys(shown))

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """The keys that begin a sequence of two or more, as Textual reports them."""
        sequences = [name for action in self.own for name in self.names(action) if " " in name]
        return frozenset(
            " ".join(presses[:count])
            for presses in (name.split(" ") for name in sequences)
            for count in range(1, len(presses))
        )


DEFAULT_KEYS = KeyMap()


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """A key of the settings that cannot be: its action, which keeps its default, and why."""

    name: str
    why: str


def settled(wanted: Mapping[str, tuple[str, ...]]) -> tuple[KeyMap, tuple[KeyProblem, ...]]:
    """The keys in effect, and what of ``wanted``, spelled keys by action, cannot be: the defaults hold for that."""
    problems = [
        KeyProblem(name, f"{why}. {_default_words(name)}")
        for name, keys in wanted.items()
        if keys != ACTIONS[name].keys and (why := _refusal(ACTIONS[name], keys))
    ]
    kept = {name: keys for name, keys in wanted.items() if all(name != each.name for each in problems)}
    while (clash := next(_clashes(KeyMap(kept)), None)) is not None:
        one, other, key = clash
        for name, in_the_way in ((one, other), (other, one)):
            if name in kept:
                del kept[name]
                place = PLACES[
                    in_the_way.place if isinstance(in_the_way, KeyAction) else ACTIONS[in_the_way].place
                ]
                also = f'"{key}" is a key of `{in_the_way}`, too ({place.title.lower()})'
                problems.append(KeyProblem(name, f"{also}. {_default_words(name)}"))
    own = {name: keys for name, keys in kept.items() if keys != ACTIONS[name].keys}
    return KeyMap(own), tuple(problems)


def _default_words(name: str) -> str:
    keys = ", ".join(map(shown_key, ACTIONS[name].keys))
    return f"The default applies: {keys}" if keys else "It has no key"


def _refusal(action: KeyAction, keys: Sequence[str]) -> str:
    """Why an action cannot have these keys; "" if it can."""
    for key in keys:
        if other := never_sent(key):
            return f'"{key}" cannot be a key: terminals send {other} for it'
        if PLACES[action.place].types and types_text(key):
            return f'"{key}" cannot be a key of `{action.name}`: it types text there'
    if keys and all(map(needs_kitty, keys)):
        few = "only terminals with the kitty keyboard protocol send it; add another key beside it"
        return f'"{keys[0]}" cannot be the only key: {few}'
    return ""


def _clashes(keymap: KeyMap) -> Iterator[tuple[str, str, str]]:
    """The pairs of actions that have a key in common where both are done, with that key; the defaults' are meant."""
    by_press: dict[str, list[tuple[str, str]]] = {}
    for name in ACTIONS:
        for key in keymap.keys(name):
            by_press.setdefault(key.split(" ")[0], []).append((name, key))
    for entries in by_press.values():
        for (one, key), (other, other_key) in combinations(entries, 2):
            if one == other or not (one in keymap.own or other in keymap.own):
                continue
            overlap = f"{key} ".startswith(f"{other_key} ") or f"{other_key} ".startswith(f"{key} ")
            if overlap and _together(ACTIONS[one], ACTIONS[other]) and not _meant(one, other):
                yield one, other, min(key, other_key, key=len)


def _together(one: KeyAction, other: KeyAction) -> bool:
    """True if there is a place where both can be done."""
    return any({one.place, other.place} <= {place.name, *place.within} for place in PLACES.values())


def _meant(one: str, other: str) -> bool:
    """True if both have a key in common by default: one takes precedence where both can be done."""
    return bool(set(ACTIONS[one].keys) & set(ACTIONS[other].keys))

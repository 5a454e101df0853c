"""Bindings of Textual, from the table of actions with the person's own keys, and keys pressed one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from textual import events
from textual.binding import Binding, BindingsMap, BindingType
from textual.dom import DOMNode

from catena.keys.actions import ACTIONS
from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.keys.spelling import shown_key

_NO_KEY = "no_key"  # that Textual never reports
BindingChain: TypeAlias = "list[tuple[DOMNode, BindingsMap]]"


def keys_of(node: DOMNode) -> KeyMap:
    """The keys in effect in the app of a node; the defaults in an app without any of its own."""
    # Asked for at each key: a runtime protocol would take ten times as long.
    keys = getattr(node.app, "keys", None)
    return keys if isinstance(keys, KeyMap) else DEFAULT_KEYS


def bindings(**acts: str) -> Sequence[BindingType]:
    """The bindings of a class: what Textual is to run, by the name of the action in the table. Raises KeyError."""
    return _bindings(acts, priority=False)


def priority_bindings(**acts: str) -> Sequence[BindingType]:
    """The bindings of a class that come before those of the widgets in it. Raises KeyError."""
    return _bindings(acts, priority=True)


def _bindings(acts: Mapping[str, str], *, priority: bool) -> Sequence[BindingType]:
    return [
        Binding(
            ",".join(DEFAULT_KEYS.names(name)) or _NO_KEY,
            act,
            ACTIONS[name].does,
            show=False,
            id=name,
            priority=priority,
        )
        for name, act in acts.items()
    ]


def with_own_keys(chain: BindingChain, keys: KeyMap) -> BindingChain:
    """The bindings of a chain of nodes, with the keys in effect in the place of the defaults."""
    return [(node, _applied(each, keys)) for node, each in chain] if keys.own else chain


def _applied(bindings: BindingsMap, keys: KeyMap) -> BindingsMap:
    changed = {each.id: each for _, each in bindings if each.id in keys.own}
    if not changed:
        return bindings
    applied = {
        key: kept
        for key, of_key in bindings.key_to_bindings.items()
        if (kept := [each for each in of_key if each.id not in changed])
    }
    for name, binding in changed.items():
        for key in keys.names(name or ""):
            applied.setdefault(key, []).append(binding.with_key(key=key))
    return BindingsMap.from_keys(applied)


class KeySequences:
    """Puts the keys of a sequence together, wherever one begins with what is pressed.

    ``keys`` are those in effect, ``bound`` those of the bindings that are possible now; ``say`` tells the person what
    was pressed so far.
    """

    def __init__(
        self, keys: Callable[[], KeyMap], *, bound: Callable[[], frozenset[str]], say: Callable[[str], None]
    ) -> None:
        self._keys = keys
        self._bound = bound
        self._say = say
        self._pressed = ""

    def taken(self, event: events.Key) -> events.Key | None:
        """The key to handle, or a whole sequence of them; None while one is not complete, or where it is broken off."""
        if not self._keys().prefixes:
            return event
        before, self._pressed = self._pressed, ""
        pressed = f"{before} {event.key}" if before else event.key
        bound = self._bound()
        if before and pressed in bound:
            self._say("")
            return _as_one(event, pressed)
        if pressed in self._keys().prefixes and any(key.startswith(f"{pressed} ") for key in bound):
            self._pressed = pressed
            self._say(f"{_words(pressed)} …")
            return None
        if not before:
            return event
        self._say("" if event.key == "escape" else f"{_words(pressed)} is not a key here.")
        return None


def _as_one(event: events.Key, pressed: str) -> events.Key:
    key = events.Key(pressed, None)
    key.time = event.time
    return key


def _words(pressed: str) -> str:
    return " ".join(shown_key(press) for press in pressed.split(" "))

"""Keys that are pressed one after the other and do one thing, such as `g g`."""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from catena.keys.keymap import KeyMap
from catena.keys.spelling import shown_key


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

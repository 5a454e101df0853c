"""How a key is spelled: in the settings, by Textual, on the screen; and which keys a terminal can send.

A key is written as its modifiers and its name: `ctrl+n`, `shift+up`, `F`, `?`, `pageup`. Keys that are pressed one
after the other are separated by spaces: `g g`, `ctrl+x ctrl+e`.
"""

from __future__ import annotations

_OTHER_NAMES = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "del": "delete",
    "ins": "insert",
    "↑": "up",
    "↓": "down",
    "←": "left",
    "→": "right",
}
_CURSOR_KEYS = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"}
)
_NAMED = (
    _CURSOR_KEYS
    | {"backspace", "tab", "enter", "escape", "space"}
    | {f"f{number}" for number in range(1, 25)}
)
_MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")  # in Textual's order
_ONLY_KITTY = frozenset({"hyper", "meta", "super"})
_SHORT = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_SAID = {"esc": "Esc", "pgup": "PgUp", "pgdn": "PgDn"}
# A terminal sends the same for several of these; with the kitty protocol they differ.
_SPELLINGS = {
    "ctrl+_": ("ctrl+underscore", "ctrl+shift+minus", "ctrl+slash"),
    "ctrl+space": ("ctrl+at", "ctrl+space"),
}
_RENAMED = {  # by Textual
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_SAME_BYTES = {"ctrl+/": "ctrl+_", "ctrl+@": "ctrl+space"}
_OTHER_KEY = {
    "ctrl+i": "Tab",
    "ctrl+m": "Enter",
    "ctrl+[": "Escape",
    "ctrl+h": "Backspace in many terminals",
}
_CONTROLS = frozenset("abcdefghijklmnopqrstuvwxyz[\\]^_ @/")  # that have a control character
_CURSOR_KEYS = frozenset(
    ["up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"]
)


class UnknownKey(ValueError):
    """A text that names no key."""


def spelled(text: str) -> str:
    """A key, or several behind one another, in the one spelling that keys are compared in. Raises UnknownKey."""
    if text == " ":
        return "space"
    presses = text.split()
    if not presses:
        raise UnknownKey("a key cannot be empty")
    return " ".join(map(_spelled_press, presses))


def _spelled_press(text: str) -> str:
    before, _, last = text.rpartition("+")
    if text == "+" or text.endswith("++"):  # the key + itself
        before, last = text[:-1].rpartition("+")[0], "+"
    modifiers = {each.lower() for each in before.split("+")} if before else set()
    if unknown := sorted(modifiers - set(_MODIFIERS)):
        raise UnknownKey(f'"{unknown[0]}" in "{text}" is not a modifier: {", ".join(_MODIFIERS)}')
    name = last if len(last) == 1 and not modifiers else last.lower()
    name = _OTHER_NAMES.get(name, name)
    if len(name) == 1:
        if not name.isprintable():
            raise UnknownKey(f'"{text}" is not a key')
        if "shift" in modifiers and name.isalpha() and modifiers == {"shift"}:
            return name.upper()
    elif name not in _NAMED:
        raise UnknownKey(f'"{text}" is not a key: use a character, or such names as up, pageup, enter, f5')
    key = "+".join([*sorted(modifiers), name])
    return _SAME_BYTES.get(key, key)


def textual_names(key: str) -> tuple[str, ...]:
    """The names by which Textual may report a spelled key; of several presses each first name, joined by spaces."""
    presses = key.split(" ")
    if len(presses) > 1:
        return (" ".join(textual_names(press)[0] for press in presses),)
    if key in _SPELLINGS:
        return _SPELLINGS[key]
    before, name = _parts(key)
    plain = "+".join([*before, _textual_name(name) if len(name) == 1 else name])
    if not before and len(name) == 1 and name.isalpha() and name.isupper():
        return (plain, f"shift+{name.lower()}")
    return (plain,)


def _textual_name(character: str) -> str:
    """The name of a key with a character, as Textual makes it; `catena list` reads the settings without Textual."""
    if character.isalnum():
        return character
    import unicodedata

    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return _RENAMED.get(name, name)


def shown_key(key: str) -> str:
    """A spelled key as hints and lists show it: `ctrl+n`, `esc`, `↑`."""
    return " ".join(
        "+".join([*before, _SHORT.get(name, name)]) for before, name in map(_parts, key.split(" "))
    )


def said_key(key: str) -> str:
    """A spelled key as it stands in a sentence: `Ctrl+N`, `Esc`, `↑`; a character alone stays as it is."""
    return " ".join(_said_press(press) for press in key.split(" "))


def _said_press(press: str) -> str:
    before, name = _parts(press)
    short = _SHORT.get(name, name)
    if len(short) == 1:
        return "+".join([*(each.capitalize() for each in before), short.upper() if before else short])
    return "+".join([*(each.capitalize() for each in before), _SAID.get(short, short.capitalize())])


def types_text(key: str) -> bool:
    """True for a key that writes a character where text is typed; of several presses the first one counts."""
    before, name = _parts(key.split(" ")[0])
    return (len(name) == 1 or name == "space") and not set(before) - {"shift"}


def never_sent(key: str) -> str:
    """What terminals send in the place of a key, "" if it is itself."""
    return next((_OTHER_KEY[press] for press in key.split(" ") if press in _OTHER_KEY), "")


def needs_kitty(key: str) -> bool:
    """True for a key that only terminals with the kitty keyboard protocol send as itself."""
    return any(_needs_kitty(press) for press in key.split(" "))


def _needs_kitty(press: str) -> bool:
    before, name = _parts(press)
    modifiers = set(before)
    if modifiers & _ONLY_KITTY:
        return True
    if not modifiers or name in _CURSOR_KEYS or (name[0] == "f" and len(name) > 1):
        return False
    # Enter, tab, escape, backspace: with a modifier the same without it.
    if len(name) > 1 and name != "space":
        return press != "shift+tab"
    if name == "space":
        return modifiers != {"ctrl"}
    if "ctrl" in modifiers:
        return "shift" in modifiers or name not in _CONTROLS
    return modifiers == {"alt", "shift"} or name.isdigit()


def _parts(press: str) -> tuple[tuple[str, ...], str]:
    """The modifiers of a spelled key, and its name."""
    if press.endswith("+"):
        return tuple(each for each in press[:-1].split("+") if each), "+"
    *before, name = press.split("+")
    return tuple(before), name

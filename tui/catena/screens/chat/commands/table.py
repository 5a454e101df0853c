"""The commands of the chat screen, from the table of acts."""

from __future__ import annotations

from dataclasses import replace

from catena.acts.table import FrontCommand, by_names, command_with_rest, commands_of
from catena.keys.keymap import KeyMap

COMMANDS: tuple[FrontCommand, ...] = tuple(commands_of("screen"))
SLASH_COMMANDS: tuple[FrontCommand, ...] = tuple(each for each in COMMANDS if each.by_name)
_BY_NAME = by_names(COMMANDS)
_TYPED = by_names(SLASH_COMMANDS)


def listed_commands(keys: KeyMap) -> tuple[FrontCommand, ...]:
    """Return the commands that are typed, each with its key in effect."""
    return tuple(replace(each, key=keys.fill(each.key)) for each in SLASH_COMMANDS)


def command(name: str) -> FrontCommand:
    """Return the command of a name or of a name with its verb, whether it is typed or done by a key."""
    return _BY_NAME[name]


def worded_command(words: str) -> tuple[FrontCommand, str]:
    """Return the command that words begin with, and what stands behind it."""
    found, argument = command_with_rest(_BY_NAME, *words.partition(" ")[::2])
    assert found is not None, words
    return found, argument


def slash_command(name: str) -> FrontCommand | None:
    """Return the command that is typed by this name or alias."""
    return _TYPED.get(name)


def typed_command(name: str, argument: str) -> tuple[FrontCommand | None, str]:
    """Return the command that is typed, or that of the verb behind it, and what is left as its argument."""
    return command_with_rest(_TYPED, name, argument)

"""Replies to unknown commands."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from catena.acts.table import FrontCommand, verbs_of

_LONGEST = 40  # characters of a name that are shown


def unknown_command(
    name: str, commands: Iterable[FrontCommand], done: str, others: Iterable[str] = ()
) -> str:
    """Why a command is not sent that nobody has; ``done`` says what became of it.

    ``others`` are names that may have been meant beside those of the ``commands``.
    """
    near = meant_command(name, commands, others)
    meant = f"Did you mean /{shown_name(near)}? " if near else ""
    return f"Unknown command /{shown_name(name)}. {meant}{done}; with a space before it, it is sent as text."


def meant_command(name: str, commands: Iterable[FrontCommand], others: Iterable[str] = ()) -> str:
    """The command that a name nearly names, or that has it in other clients, by the words of the lists.

    None that discards anything is guessed: "" then, and if nothing is near.
    """
    listed = {each.lower(): each for each in others}
    foreign, discarding = dict[str, str](), set[str]()
    for each in commands:
        if each.words:
            shown = each.name if each.name in each.words.split() else each.words
            foreign |= dict.fromkeys(each.meant, shown)
            for known in each.names:
                listed.setdefault(known.lower(), shown)
                if each.discards:
                    discarding.add(known.lower())
    if name.lower() in foreign:
        return foreign[name.lower()]
    near = get_close_matches(name.lower(), listed, n=1)
    return listed[near[0]] if near and near[0] not in discarding else ""


def refused_argument(command: FrontCommand, argument: str, commands: Iterable[FrontCommand]) -> str:
    """Why a command is not done, with its usage, if it does not take what was typed behind it; else ""."""
    if command.accepts(argument):
        return ""
    words = command.words or command.name
    usage = ", ".join(f"/{each.usage}" for each in (command, *verbs_of(command, commands)))
    return unknown_argument(f"{words} {argument}", usage)


def unknown_argument(text: str, usage: str) -> str:
    """Why a command with an argument is not done, and how it is used."""
    name, *words = text.split()
    return f"Unknown argument: /{name} {shown_name(' '.join(words))}. Usage: {usage}"


def shown_name(name: str) -> str:
    """A name as far as it is shown."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"

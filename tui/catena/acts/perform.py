"""Acts by their rows: the coroutine is imported when it is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module

from catena.acts.surface import Cancelled, Done, Here, Surface
from catena.acts.table import FrontCommand, verbs_of
from catena.errors import CommandRefused
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError


def body_of(does: str) -> Callable[..., Awaitable[Done]]:
    """Import the coroutine of an act by the name that its row has."""
    module, _, name = does.partition(":")
    found: Callable[..., Awaitable[Done]] = getattr(import_module(module), name)
    return found


async def perform(command: FrontCommand, argument: str, on: Here) -> None:
    """Do an act, say what it says and show what it found. Raises Refused, and whatever the act raises."""
    body = body_of(command.does)
    argument = argument if command.argument else ""
    await carry_out(body(on, **{command.takes: argument}) if command.takes else body(on), on.surface)


async def carry_out(act: Awaitable[Done], surface: Surface) -> None:
    """Await an act, say its words and show its report; return early if the act is cancelled.

    If the act is cancelled or fails, its typed text is given back. Raises whatever else the act raises.
    """
    try:
        done = await act
    except Cancelled:
        surface.give_back()
        return
    except (CommandRefused, AgentError, StoreError, ReadOnly):
        surface.give_back()
        raise
    with suppress(Cancelled):
        if done.words:
            surface.say(done.words)
        if done.report is not None:
            await surface.show(done.report)


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

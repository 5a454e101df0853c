"""Acts by their rows: the coroutine is imported when it is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module

from catena.acts.surface import Cancelled, Done, Here, Surface
from catena.acts.table import FrontCommand
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

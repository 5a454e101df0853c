"""Stops of tours through the real app: each is one screen, sheet, panel or overlay."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.screen import Screen
from textual.widget import Widget

from catena.screens.common.page import PageScreen
from catena.screens.common.picker import Picker
from catena.themes import catalog
from support.screen.pilot import Person

DOWN = ("down", "up")
Act = Callable[[Person], Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class Stop:
    """What is looked at: how it is opened and closed again, and what stands on it at every size."""

    name: str
    open: Act
    close: Act
    sees: Sequence[str]  # how to go on, or leave
    shows: tuple[type[Widget], ...]
    moves: tuple[str, str] | None = None  # keys that choose the next one, and this one again


@dataclass(frozen=True, slots=True)
class Tour:
    """Stops in one run of the app, one after the other."""

    name: str
    begin: Callable[[Path], AbstractAsyncContextManager[Person]]
    stops: Sequence[Stop]
    theme: str = catalog.DARK


async def stay(person: Person) -> None:
    """Leave everything as it is."""


async def escape(person: Person) -> None:
    """Close what is in front of the chat."""
    for _ in range(6):
        if person.app.screen is person.app.chat:
            await person.back()
            return
        await person.press("escape")
    raise AssertionError(f"{person.app.screen} does not close:\n{person.text}")


def stop(
    name: str,
    *sees: str,
    close: Act = stay,
    shows: tuple[type[Widget], ...] = (),
    moves: tuple[str, str] | None = None,
) -> Callable[[Act], Stop]:
    """The stop that a function opens."""
    return lambda opened: Stop(name, opened, close, sees, shows, moves)


def sheet(
    command: str,
    kind: type[Screen[Any]],
    *waits: str,
    sees: Sequence[str] = ("esc",),
    moves: tuple[str, str] | None = None,
) -> Stop:
    """A screen that a command opens, and Esc closes; ``waits``: texts that are there at first."""

    async def opened(person: Person) -> None:
        await person.writing()
        await person.say(command)
        await person.sees_dialog(kind)
        await person.sees(*waits)

    return Stop(command, opened, escape, sees, (kind,), moves)


def page(command: str, title: str) -> Stop:
    """A page of text that a command opens."""
    return sheet(command, PageScreen, title)


def picker(command: str, *waits: str) -> Stop:
    """A list to choose from that a command opens."""
    return sheet(command, Picker, *waits, moves=DOWN)

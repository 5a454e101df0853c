"""Before a conversation has begun."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catena.screens.chat.panels.start import StartPanel
from catena.screens.commands.help import HelpScreen
from catena.screens.common.picker import Picker
from catena.screens.history.picker import HistoryScreen
from catena.themes import catalog
from support.screen.pilot import Person, at_the_screen
from support.sizes.stop import DOWN, Tour, escape, stop


@stop("start", "Ask Rehearsal", shows=(StartPanel,), moves=DOWN)
async def start(person: Person) -> None:
    """Agents and conversations to begin with."""
    await person.sees("Start with")


@stop("help at the start", "esc", close=escape, shows=(HelpScreen,))
async def help_page(person: Person) -> None:
    """The keys of the place."""
    await person.press("f1")
    await person.sees_dialog(HelpScreen)


@stop("agents", "esc", close=escape, shows=(Picker,), moves=DOWN)
async def agents(person: Person) -> None:
    """The agents, for a new tab."""
    await person.press("ctrl+t")
    await person.sees_dialog(Picker)


@stop("a history without conversations", "esc", close=escape, shows=(HistoryScreen,))
async def history(person: Person) -> None:
    """Nothing to find."""
    await person.press("ctrl+o")
    await person.sees_dialog(HistoryScreen)


@asynccontextmanager
async def begin(place: Path) -> AsyncIterator[Person]:
    """Catena in a directory without a conversation."""
    async with at_the_screen(str(place), choose=True, environment={"NO_COLOR": "1"}) as person:
        yield person


START = Tour("start", begin, (start, help_page, agents, history), catalog.TERMINAL)

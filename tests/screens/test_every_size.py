"""Every screen, sheet, panel and overlay at small and large sizes: nothing is cut, and all is said without colours."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.screen import Screen
from textual.widget import Widget

import catena.screens
from catena.screens.chat.bars.status_row import StatusRow
from catena.screens.chat.panels.attachments import ShellPanel
from catena.screens.chat.panels.elicitation import Asked, ElicitationBand, Fields, FormEnding
from catena.screens.chat.panels.plan import PlanPanel
from catena.screens.chat.screen import ChatScreen
from catena.screens.common.dialog import Dialog, ListScreen
from catena.screens.common.page import ReadingScreen
from catena.themes import catalog
from catena.themes.catalog import ThemeCatalog
from catena.themes.colours import SHIPPED, ColourDepth
from support.screen.pilot import Person
from support.sizes.begun import START
from support.sizes.branches import BRANCHES, PLACES
from support.sizes.faults import faults, unreadable, without_colours
from support.sizes.panes import PANES
from support.sizes.sheets import ASIDE, CHOOSING, HISTORY, LISTS, SESSIONS, SETUP
from support.sizes.stop import Stop, Tour
from support.sizes.talking import ASKING, TALKING, WAITING, WRITING

TOURS = (
    *(START, TALKING, WRITING, ASKING, WAITING, LISTS, HISTORY, SESSIONS, ASIDE),
    *(SETUP, CHOOSING, BRANCHES, PLACES, PANES),
)
FAR = "CATENA_WALKS" in os.environ  # every size and every palette for each of them
SIZES = ((40, 10), (60, 20), (80, 24), (120, 40), (200, 60)) if FAR else ((40, 10), (60, 20), (200, 60))
CHAT_SIZES = (*SIZES, (300, 100)) if FAR else SIZES
PALETTES = (catalog.DARK, catalog.LIGHT, catalog.TERMINAL)
LOOKS = (  # in turn, one for each stop; all of them where walks are long
    *((name, ColourDepth.FULL) for name in SHIPPED),
    (catalog.DARK, ColourDepth.INDEXED),
    (catalog.TERMINAL, ColourDepth.SIXTEEN),
)
BASES = {Dialog, ListScreen, ReadingScreen}  # of which there are only others
PASSING = {PlanPanel, ShellPanel}  # there only while something goes on
PARTS = {Asked, ElicitationBand, Fields, FormEnding, StatusRow}  # of what is looked at


def runs() -> Iterator[tuple[Tour, str]]:
    """Each tour in a palette of its own, or in each where walks are long."""
    for tour in TOURS:
        for theme in PALETTES if FAR else (tour.theme,):
            yield tour, theme


@pytest.mark.parametrize(("tour", "theme"), list(runs()), ids=lambda each: getattr(each, "name", each))
async def test_s01_u09_nothing_is_cut_at_any_size_or_hard_to_read_or_told_by_colour_alone(
    tmp_path: Path, tour: Tour, theme: str
) -> None:
    async with tour.begin(tmp_path) as person:
        home = person.app.size
        person.app.theme = theme
        for at, stop in enumerate(tour.stops, start=TOURS.index(tour)):
            await stop.open(person)
            for kind in stop.shows:
                await person.until(partial(is_shown, person, kind), f"{kind.__name__}, {stop.name}")
            of_chat = isinstance(person.app.screen, ChatScreen)
            for size in CHAT_SIZES if of_chat else SIZES:
                await resized(person, size)
                await has_none(person, partial(faults, person.app, stop.sees), f"{stop.name} at {size}")
            await can_be_read(person, stop, LOOKS if FAR else LOOKS[at % len(LOOKS) :][:1])
            if stop.moves is not None and theme == catalog.TERMINAL:
                await is_told_without_colours(person, stop)
            await resized(person, home)
            await stop.close(person)


async def can_be_read(person: Person, stop: Stop, looks: Sequence[tuple[str, ColourDepth]]) -> None:
    """Every word can be told from its ground, in themes on terminals of some depth."""
    app = person.app
    before = app.theme
    for name, depth in looks:
        theme = replace(ThemeCatalog(depth).theme(name), name=f"{name} with {depth.value} colours")
        app.register_theme(theme)
        app.theme = theme.name
        await person.taken_in()
        await has_none(person, partial(unreadable, app, depth), f"{stop.name} in {theme.name}")
    app.theme = before


def is_shown(person: Person, kind: type[Widget]) -> bool:
    """True where a widget of this kind is on the screen, or is the screen."""
    return any(each.is_on_screen or each is person.app.screen for each in widgets(person, kind))


def widgets(person: Person, kind: type[Widget]) -> Iterator[Widget]:
    """The widgets of this kind on the screen in front."""
    return (each for each in person.app.screen.walk_children(with_self=True) if isinstance(each, kind))


async def resized(person: Person, size: tuple[int, int]) -> None:
    """Give the screen another size."""
    await person.pilot.resize_terminal(*size)
    await person.until(lambda: person.app.screen.size == size, f"the size {size}")
    await person.taken_in()


async def is_told_without_colours(person: Person, stop: Stop) -> None:
    """What is chosen is told by more than a colour."""
    assert stop.moves is not None
    there, back = stop.moves
    before = without_colours(person.app)
    await person.press(there)
    await person.until(
        lambda: without_colours(person.app) != before, f"a mark of what is chosen, {stop.name}"
    )
    await person.press(back)


async def has_none(person: Person, faults_now: Callable[[], list[str]], where: str) -> None:
    """Wait until there is no fault any more."""
    try:
        await person.until(lambda: not faults_now(), "no fault")
    except AssertionError as error:
        raise AssertionError(f"{where}: {faults_now()}\n{error}") from None


def test_every_screen_is_looked_at_at_every_size() -> None:
    """A screen without a stop is in no tour yet: give it one."""
    shown = {kind for tour in TOURS for stop in tour.stops for kind in stop.shows} | {ChatScreen}
    assert not {kind.__name__ for kind in (screens() | panels()) - shown - BASES - PARTS - PASSING}


def screens() -> set[type[Widget]]:
    """Every class of a screen."""
    for module in pkgutil.walk_packages(catena.screens.__path__, "catena.screens."):
        importlib.import_module(module.name)
    return {kind for kind in subclasses(Screen) if kind.__module__.startswith("catena.screens.")}


def panels() -> set[type[Widget]]:
    """Every class of a panel of the chat, and of a bar around it."""
    screens()
    rooms = ("catena.screens.chat.panels.", "catena.screens.chat.bars.")
    return {kind for kind in subclasses(Widget) if kind.__module__.startswith(rooms)}


def subclasses(kind: type[Widget]) -> Iterator[type[Widget]]:
    """The subclasses of a class, and theirs."""
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)

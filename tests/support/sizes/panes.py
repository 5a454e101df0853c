"""Two conversations side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catena.screens.chat.area.area import ChatArea
from catena.screens.chat.bars.tabs import PaneHead
from catena.screens.chat.panels.lineage import LineageLine
from catena.screens.common.picker import Picker
from support.screen.pilot import Person, at_the_screen
from support.sizes.stop import Tour, escape, stop


@stop("what to show side by side", "esc", close=escape, shows=(Picker,))
async def side(person: Person) -> None:
    """The conversations that can stand beside this one."""
    await person.answered("say first")
    await person.say("/side")
    await person.sees_dialog(Picker)


@stop("two panes", "Reply to", shows=(PaneHead, LineageLine))
async def panes(person: Person) -> None:
    """A conversation and its fork."""
    await person.say("/fork side")
    await person.until(lambda: len(areas(person)) == 2, "two panes")
    await person.looks_at(person.tabs[-1])
    await person.answered("say second")


@stop("a permission in the other pane", "Reply to", shows=(PaneHead,))
async def asked(person: Person) -> None:
    """An agent asks where the keys are not."""
    await person.say("edit notes.txt")
    await person.until(lambda: person.area.place == "question", "the keys to go there")
    await person.press("f6")


def areas(person: Person) -> list[ChatArea]:
    """The panes on the screen."""
    return [area for area in person.app.chat.panes.children if isinstance(area, ChatArea) and area.display]


@asynccontextmanager
async def begin(place: Path) -> AsyncIterator[Person]:
    """A conversation on a wide screen."""
    async with at_the_screen(str(place), size=(180, 45), environment={"COLORTERM": "truecolor"}) as person:
        yield person


PANES = Tour("panes", begin, (side, panes, asked))

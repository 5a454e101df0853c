"""The real app with the real store and the real rehearsal agent, driven by Textual's pilot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from catena.app import CatenaApp
from catena.config import Settings
from catena.start import Start
from catena.tab import Tab
from catena_acp.catalog import spec_named
from catena_acp.port import AgentSpec

DEADLINE = 20.0


class Person:
    """Someone at the keyboard."""

    def __init__(self, app: CatenaApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def text(self) -> str:
        """What is on the screen, modal screens included."""
        screen = self.app.screen
        return "\n".join(strip.text.rstrip() for strip in screen._compositor.render_strips())

    @property
    def tab(self) -> Tab:
        """The tab that is shown."""
        assert self.app.chat.acts is not None
        tab = self.app.chat.acts.desk.view.shown
        assert tab is not None
        return tab

    @property
    def tabs(self) -> list[Tab]:
        """All tabs."""
        assert self.app.chat.acts is not None
        return self.app.chat.acts.desk.tabs.tabs

    @property
    def draft(self) -> str:
        """What is in the composer."""
        return self.app.chat.composer.text

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.pilot.press(*text)

    async def say(self, text: str) -> None:
        """Write a text and send it."""
        self.app.chat.composer.put(text)
        await self.press("enter")

    async def sees(self, *texts: str) -> str:
        """The screen as soon as all texts are on it, wherever a line of them is wrapped."""

        def all_there() -> bool:
            as_drawn = self.text
            in_one_line = " ".join(as_drawn.split())
            return all(text in as_drawn or text in in_one_line for text in texts)

        await self.until(all_there, f"{texts} on the screen")
        return self.text

    async def sees_no(self, text: str) -> None:
        """Wait until the text is not on the screen."""
        await self.until(lambda: text not in self.text, f"no {text!r} on the screen")

    async def idle(self) -> None:
        """Wait until the agent of the tab that is shown has nothing to do."""
        await self.until(lambda: not self.tab.busy, "the agent to be idle")

    async def until(self, done: Callable[[], object], what: str) -> None:
        """Wait for something."""
        end = time.monotonic() + DEADLINE
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"waited for {what}; the screen:\n{self.text}")
            await self.pilot.pause(0.01)


@asynccontextmanager
async def at_the_screen(
    directory: str,
    *,
    size: tuple[int, int] = (100, 30),
    agent: AgentSpec | None = None,
    environment: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    conversation_id: str | None = None,
    picker: bool = False,
    choose: bool = False,
    further_directories: tuple[str, ...] = (),
) -> AsyncIterator[Person]:
    """The app, begun with the rehearsal agent where nothing else is said, and left at the end of the block."""
    if agent is None and conversation_id is None and not picker and not choose:
        agent = spec_named("rehearsal")
    start = Start(
        directory,
        agent=agent,
        conversation_id=conversation_id,
        picker=picker,
        further_directories=further_directories,
        settings=settings or Settings(),
    )
    app = CatenaApp(start, environment={"TERM": "xterm-256color", **(environment or {})})
    async with app.served(), app.run_test(size=size) as pilot:
        person = Person(app, pilot)
        acts = app.chat
        await person.until(lambda: acts.acts is not None, "the store to be open")
        if not picker and not choose:
            await person.until(lambda: acts.acts and acts.acts.desk.view.shown, "the first tab")
        yield person
        await asyncio.sleep(0)

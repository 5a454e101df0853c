"""The real app with the real store and the real rehearsal agent, driven by Textual's pilot."""

from __future__ import annotations

import asyncio
import builtins
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, TypeVar

from textual import events
from textual.pilot import Pilot
from textual.screen import Screen

from catena.app.app import CatenaApp
from catena.screens.chat.area.area import ChatArea
from catena.screens.chat.commands.chat import Chat
from catena.settings.settings import Settings, Start
from catena.themes.variables import SparingStylesheet
from catena.transcript import Transcript
from catena.widgets.composer import Composer
from catena.workspace.tab import Tab
from catena_acp.agents.catalog import find_spec
from catena_acp.port.port import AgentSpec
from catena_store.database.location import default_path
from support.screen.messages import SparingPilot, press, taken_in
from support.storage.new_files import put_new_store

DEADLINE = 60.0

S = TypeVar("S", bound=Screen[Any])


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
        tab = self.area.chat.shown
        assert tab is not None
        return tab

    @property
    def tabs(self) -> list[Tab]:
        """All tabs."""
        return self.chat.context.tabs.tabs

    @property
    def draft(self) -> str:
        """What is in the composer."""
        return self.composer.text

    @property
    def area(self) -> ChatArea:
        """Everything of the chat."""
        return self.app.chat.area

    @property
    def composer(self) -> Composer:
        """Where prompts are written."""
        return self.area.prompt.composer

    @property
    def chat(self) -> Chat:
        """What commands and keys do."""
        return self.area.chat

    @property
    def transcript(self) -> Transcript:
        """The transcript of the tab that is shown."""
        assert self.area.conversation.transcript is not None
        return self.area.conversation.transcript

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other; each is taken in before the next."""
        await press(self.pilot, *keys)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.press(*text)

    async def apart(self) -> None:
        """Wait until what was typed last is long enough ago that a letter can answer a question."""
        permission, fork = self.area.panels.permission, self.area.panels.fork

        def over() -> bool:
            now = time.monotonic()
            stands = permission.ask is None or permission.standing.holds(now)
            return permission.pace.apart_from(now) and stands and (not fork.open or fork.standing.holds(now))

        await self.until(over, "the letters before to be over, and what is asked to stand")

    async def type_at_once(self, text: str, *, read_at: float | None = None) -> None:
        """Type a text so fast that all of it has come before any of it is handled; a line end is Enter.

        ``read_at``: when it came, by the monotonic clock; now if None. A machine may be slower than who types.
        """
        driver = self.app._driver
        assert driver is not None
        read_at = time.monotonic() if read_at is None else read_at
        for character in text:
            key = {" ": "space", "\n": "enter"}.get(character, character)
            event = events.Key(key, "\r" if character == "\n" else character)
            event.time = read_at
            event.set_sender(self.app)
            driver.send_message(event)
        await self.taken_in()
        await self.all_in()

    async def all_in(self) -> None:
        """Wait until every key has gone where it belongs, or where it went when the wait for that was given up."""
        await self.until(lambda: self.area.gate.open, "the keys to go in")
        await self.taken_in()

    async def taken_in(self) -> None:
        """Wait until what was pressed is handled and drawn; what it began may go on."""
        await taken_in(self.pilot)

    async def writing(self) -> None:
        """Wait until what is typed goes into the composer."""
        await self.until(lambda: self.app.focused is self.composer, "the composer to have the keys")

    async def say(self, text: str) -> None:
        """Write a text, once the composer has the keys, and send it."""
        await self.writing()
        self.composer.before_typing()  # as the first letter does: what was left behind goes, or the text would with it
        self.composer.put(text)
        await self.press("enter")

    async def browse(self) -> None:
        """Go into the transcript, once all of it is drawn; a message of it is in focus."""
        area = self.area.conversation
        await self.until(lambda: area.transcript and area.transcript.display, "something to browse")
        await self.until(lambda: self.tab.at_work or not self.transcript.busy, "it to be drawn")
        if not area.browsing:
            await self.press("f2")
        await self.until(lambda: area.browsing and self.transcript.current, "a message to be in focus")

    async def escape_twice(self) -> None:
        """Press Esc twice, with no time between them however slow the machine is; a prompt is to be chosen then."""
        await self.idle()
        await self.writing()
        edits = self.chat.actions.edits
        edits.clock, clock = (lambda: 0.0), edits.clock
        await self.press("escape", "escape")
        edits.clock = clock
        await self.until(lambda: self.area.place == "choosing", "a prompt to be chosen")

    async def first_tab(self) -> None:
        """Wait until there is a tab on the screen."""
        await self.until(lambda: self.area.chat.shown, "the first tab")
        await self.looks_at(self.tab)

    async def select(self, key: str) -> None:
        """Go to a row of the start."""
        start = self.area.conversation.start
        await self.until(lambda: start.display and start.selected, "the start")
        for _ in range(100):
            if start.selected is not None and start.selected.key == key:
                return
            await self.press("down")
        raise AssertionError(f"no row {key!r}; the screen:\n{self.text}")

    async def is_asked(self) -> None:
        """Wait until it is asked whether a branch is to be made, and the keys are there."""
        await self.until(lambda: self.area.place == "branch", "a branch to be asked about")

    async def new_tab(self) -> None:
        """Open another tab, and wait until it is looked at."""
        before = len(self.tabs)
        await self.press("ctrl+t")
        await self.until(lambda: len(self.tabs) > before, "another tab")
        await self.looks_at(self.tabs[-1])

    async def to_tab(self, number: int, key: str) -> None:
        """Press a key that goes to the tab of this number, and wait until it is looked at."""
        await self.press(key)
        await self.looks_at(self.tabs[number - 1])

    async def looks_at(self, tab: Tab) -> None:
        """Wait until this tab is on the screen, with its own draft under the keys."""

        def shown() -> bool:
            context = self.chat.context
            return context.presenter.shown is context.tab is tab and self.draft == tab.written

        await self.until(shown, f"the tab {tab.name()!r}")
        await self.taken_in()

    async def sees_dialog(self, kind: builtins.type[S]) -> S:
        """The screen of this kind, once it has the keys."""
        await self.until(lambda: isinstance(self.app.screen, kind), f"the {kind.__name__}")
        await self.taken_in()
        screen = self.app.screen
        assert isinstance(screen, kind)
        return screen

    async def back(self) -> None:
        """Wait until the chat is in front again, and has the keys."""
        await self.until(lambda: self.app.screen is self.app.chat, "the chat")
        await self.taken_in()

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
        """Wait until what was asked for is done, and the agent of the tab that is shown has nothing to do."""
        await self.taken_in()

        def at_rest() -> bool:
            tab = self.tab
            beside = tab.window.idle_work.under_way
            return self.area.gate.open and not (self._acting or beside) and self.is_over(tab)

        while not at_rest():  # a key that was held may begin another act
            await self.until(at_rest, "the agent to be idle")
            await self.taken_in()

    def is_over(self, tab: Tab) -> bool:
        """True where no prompt of the tab is on its way, and all that was told of the last one is drawn."""
        context = self.chat.context
        to_draw = any(told is tab for told, _ in context.tabs.events)
        return not (tab.window.busy or to_draw or tab.busy)

    async def answered(self, text: str) -> None:
        """Say a text, and wait for the end of its turn, whatever else goes on."""
        tab, before = self.tab, self.tab.leaf_id
        await self.say(text)
        await self.until(lambda: tab.leaf_id != before and self.is_over(tab), "the end of its turn")

    @property
    def _acting(self) -> bool:
        """True while something that a key or a command began goes on."""
        return any(worker.group == "acts" and not worker.is_finished for worker in self.app.workers)

    async def done(self) -> None:
        """Wait until what keys and commands began is done."""
        await self.taken_in()
        await self.until(lambda: not self._acting, "it to be done")

    @property
    def agent(self) -> int | None:
        """The process id of the agent that carries the tab that is shown; None before it does."""
        conversation, window_id = self.tab.conversation, self.tab.window_id
        live = (
            conversation.sessions.by_link(link_id)
            if (link_id := conversation._carriers.get(window_id))
            else None
        )
        return live.agent.group[0] if live else None

    @asynccontextmanager
    async def agent_held(self) -> AsyncIterator[None]:
        """The agent of the tab that is shown hears and says nothing within the block, and goes on behind it."""
        await self.until(lambda: self.agent, "the agent to be ready")
        await self.idle()
        group = self.agent
        assert group is not None
        os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(group, signal.SIGCONT)

    @asynccontextmanager
    async def store_held(self, *, on_a_sheet: bool = False) -> AsyncIterator[None]:
        """The store is in use within the block: whatever asks for it waits until the end of it.

        ``on_a_sheet``: the act that shows it goes on meanwhile.
        """
        taken, let_go = asyncio.Event(), asyncio.Event()
        db = self.chat.context.tabs._db

        async def hold() -> None:
            async with db.write():
                taken.set()
                await let_go.wait()

        await (self.taken_in() if on_a_sheet else self.done())
        holding = asyncio.ensure_future(hold())
        await taken.wait()
        try:
            yield
        finally:
            let_go.set()
            await holding

    async def until(self, done: Callable[[], object], what: str, *, patience: int = 1) -> None:
        """Wait for something; ``patience``: so many times as long, where much is to be done."""
        end = time.monotonic() + DEADLINE * patience
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"waited for {what}; the screen:\n{self.text}")
            await self.pilot.pause(0.01)


@cache
def _parsed_styles() -> dict[Any, Any]:
    """What the apps of this process have parsed: their styles are the same, and only some colours are not."""
    return {}


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
    own_styles: bool = False,
) -> AsyncIterator[Person]:
    """The app, begun with the rehearsal agent where nothing else is said, and left at the end of the block.

    ``own_styles``: it parses its styles, as a program does that has just begun.
    """
    if agent is None and conversation_id is None and not picker and not choose:
        agent = find_spec("rehearsal")
    start = Start(
        directory,
        agent=agent,
        conversation_id=conversation_id,
        picker=picker,
        further_directories=further_directories,
        settings=settings or Settings(),
    )
    app = CatenaApp(start, environment={"TERM": "xterm-256color", **(environment or {})})
    if not own_styles:
        assert isinstance(app.stylesheet, SparingStylesheet)
        app.stylesheet._kept = _parsed_styles()
    put_new_store(default_path())
    async with app.services(), app.run_test(size=size):
        person = Person(app, SparingPilot(app))
        await person.until(lambda: person.area.chat.opened, "the store to be open")
        if not picker and not choose:
            await person.first_tab()
        yield person
        await asyncio.sleep(0)

"""The real application on a stage: its agent is a real process with a part, and nothing is left to chance.

Clock, ids, home, directory and terminal are always the same, so that a scene looks the same whenever and wherever it
is played.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.strip import Strip

from catena.app.app import CatenaApp
from catena.films.demo import Demo
from catena.films.recording import rows_of
from catena.settings.settings import Start
from catena.themes.colours import DARK, LIGHT
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.tabs import OpenTabs
from catena_acp.agents.agent import end_group, process_start_time, start_agent
from catena_acp.continuity.services import Printed, WhileIdle
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.protocol.files import FileAccess
from catena_acp.snapshots import keeping
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.database.database import Database
from catena_store.records import AgentGroup
from catena_store.snapshots.repository import snapshots_beside
from screenshots.kept import keep
from screenshots.vector import settled

if TYPE_CHECKING:
    from screenshots.scenes import Scene

NOW = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
# Over SSH nothing is animated.
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "SSH_TTY": "yes"}
SIZES = ((120, 40), (80, 24))
THEMES = {"dark": DARK, "light": LIGHT}
ACTOR = AgentSpec("demo", "Demonstration", (sys.executable, str(Path(__file__).with_name("actor.py"))))
_TITLES = {"opencode": "OpenCode"}
INSTALLED = ("claude-agent-acp", "opencode")
GIT = shutil.which("git") or "git"  # of the machine, before its programs are taken away
PATIENCE = 60.0
_SOON = 2.0  # seconds
_WAITED = re.compile(r"(answer&#160;)\d+")


class StageClock:
    """A clock that stands still, but for where a scene sets it."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> datetime:
        """The time."""
        return self.time

    def set_back(self, **ago: float) -> None:
        """Let it be so long before the moment of the picture."""
        self.time = NOW - timedelta(**ago)


@dataclass
class Stage:
    """One window of the application, and who plays in it."""

    app: CatenaApp
    pilot: Pilot[None]
    clock: StageClock
    snapshots: FileSnapshots
    pause: float = 0.1  # seconds from one look at the screen to the next

    async def say(self, text: str) -> None:
        """Paste a prompt into the composer, once nothing goes on any more, and send it."""
        await self.write(text)
        await self.pilot.press("enter")

    async def write(self, text: str) -> None:
        """Paste a text into the composer, once nothing goes on any more; the sign of a command is typed."""
        await self.until(self.rests, "the application at rest")
        if text.startswith(("/", "!")):
            await self.press(text[0])
            text = text[1:]
        self.app.chat.area.prompt.composer.post_message(events.Paste(text))

    def has_files(self, *paths: str) -> None:
        """Put files into the project, of which none was changed lately."""
        for path in paths:
            place = Path(self.app.chat.area.start.directory, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
            os.utime(place, (0, 0))

    def has_text(self, path: str, text: str) -> None:
        """Put a file with a text into the project."""
        self.has_files(path)
        Path(self.app.chat.area.start.directory, path).write_text(text)

    async def files_kept(self) -> None:
        """Wait until the snapshots of files are made that were begun."""
        await self.snapshots.settled()

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)

    async def type(self, key: str) -> None:
        """Press a key, and go on at once."""
        self.app.post_message(events.Key(*_key(key)))

    async def settle(self) -> None:
        """Wait until every widget has handled what was sent to it, and the screen is laid out."""
        for _ in range(2):
            await self.pilot._wait_for_screen()

    async def choose_prompt(self) -> None:
        """Press Esc twice, and wait until the keys choose a prompt."""
        await self.press("escape", "escape")
        await self.until(lambda: self.app.chat.area.place == "choosing", "a prompt to be chosen")

    async def shows(self, *texts: str) -> None:
        """Wait until the screen shows all of these, nothing goes on behind it, and nothing on it moves any more."""
        stands = self._standing()

        def stand() -> bool:
            shown = "\n".join(row.text for row in rows_of(self.app))
            return stands() and all(text in shown for text in texts) and self.rests()

        await self.until(stand, f"the screen to show {texts}")

    def _standing(self) -> Callable[[], bool]:
        """What tells, look by look, whether the screen is as it was at the look before."""
        before: list[Strip] = []

        def stands() -> bool:
            nonlocal before
            now = rows_of(self.app)
            still, before = now == before, now
            return still

        return stands

    async def all_answered(self, tabs: int) -> None:
        """Wait until there are so many tabs, and every one of them has an answer to its last prompt."""

        def answered() -> bool:
            tabs_open = self.app.chat.area.chat.context.tabs
            there = tabs_open.tabs
            waiting = {id(tab) for tab, _ in tabs_open.events}
            return len(there) == tabs and not any(
                tab.busy or tab.window.busy or tab.untouched or tab.draft or id(tab) in waiting
                for tab in there
            )

        await self.until(answered, f"answers in {tabs} tabs")

    async def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait until something is true; ``what`` it is, in words. Raises TimeoutError."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited for {what}: {self.picture()}")
            await self.pilot.pause(self.pause)

    def rests(self, *, works: bool = False) -> bool:
        """True while only the person can bring anything about; with ``works``, or an agent at work."""
        app, area = self.app, self.app.chat.area
        if area.chat.opened is None:
            return False
        asked = app.screen is not app.chat or area.panels.fork.open
        working = any(
            not worker.is_finished
            for worker in app.workers
            if worker.group not in ("events", "store") and not (asked and worker.group == "acts")
        )
        context = area.chat.context
        seats = [(tab, tab.window) for tab in context.tabs.tabs]
        at_work = any(
            seat.idle_work.under_way or ((seat.busy or tab.busy) and not tab.asks) for tab, seat in seats
        )
        return not (working or (at_work and not works) or context.tabs.events)

    @property
    def wakes_soon(self) -> bool:
        """True while a timer that rings once is about to change the screen; a long one is none of a scene's."""
        nodes = [
            self.app,
            *(node for screen in self.app.screen_stack for node in screen.walk_children(with_self=True)),
        ]
        # Textual has no public way to the timers of a widget.
        timers = [timer for node in nodes for timer in node._timers]
        return any(
            timer._repeat == 0
            and timer._interval <= _SOON
            and timer._task is not None
            and not timer._task.done()
            for timer in timers
        )

    async def picture_in(self, theme: str) -> str:
        """What the screen shows in a theme."""
        self.app.theme = theme
        await self.until(self._standing(), f"the screen in {theme}")
        return self.picture()

    def picture(self) -> str:
        """What the screen shows now."""
        # How long somebody has waited is the one thing that goes on by itself.
        return _WAITED.sub(r"\g<1>4", settled(self.app.export_screenshot(title="catena")))


async def pictures(scene: Scene, folder: Path) -> list[str]:
    """Play a scene at its first size, and take pictures of its end at each of its sizes, there in each theme."""
    drawn = []
    async with stage(folder, agent=scene.agent, size=scene.sizes[0], kept=scene.kept, git=scene.git) as app:
        await scene.play(app)
        for size in scene.sizes:
            await app.pilot.resize_terminal(*size)
            await app.settle()
            drawn += [await app.picture_in(theme) for theme in THEMES.values()]
    return drawn


@asynccontextmanager
async def stage(
    folder: Path,
    *,
    agent: bool,
    size: tuple[int, int],
    kept: bool = False,
    demo: Demo | None = None,
    parks: bool = False,
    git: bool = False,
) -> AsyncIterator[Stage]:
    """The application in ``folder``, as it is when it was just started; with a first tab where there is an agent.

    ``kept``: there are conversations from before. ``git``: the files are in a work tree, and are kept around turns.
    ``demo``: it is in demo mode. ``parks``: forks are kept of where turns ended.
    """
    project = folder / "shop"
    project.mkdir()
    if git:
        (project / ".git").mkdir()
    clock = StageClock()
    keeping.PATIENCE = 2 * PATIENCE  # a slow machine, too, has the files before the agent changes them
    # What depends on the machine is taken away from this process: which agents are installed, whose home it is.
    os.environ |= {"PATH": str(_agents_in(folder / "bin")), "HOME": str(folder)}
    os.environ.pop("NO_COLOR", None)
    os.environ["TZ"] = "UTC"
    time.tzset()
    numbers = itertools.count(1)

    def new_id() -> str:
        return f"{next(numbers):016}"

    start = Start(str(project), agent=ACTOR if agent else None, clock=clock)
    app = CatenaApp(start, environment=TERMINAL, demo=demo)
    async with (
        Database.open(folder / "catena.db", clock=clock) as database,
        Conversations.serve(
            database,
            snapshots=(snapshots := _snapshots(database, clock)),
            start_agent=_start_agent,
            spec_of=lambda name, _: AgentSpec(name, _TITLES.get(name, ACTOR.title), ACTOR.command),
            end_group=_end_group,
            start_time_of=process_start_time,
            new_id=new_id,
            clock=clock,
            while_idle=WhileIdle(park=True, longest=math.inf, share=math.inf, tells=lambda _: False)
            if parks
            else None,
        ) as conversations,
        app.run_test(size=size) as pilot,
    ):
        if kept:
            await keep(database, str(project), now=NOW, new_id=new_id)
        tabs = OpenTabs(
            database, conversations, outgoing=OutgoingTexts(), directory=str(project), new_id=new_id
        )
        await app.chat.begin(tabs)
        app.chat.area.chat.actions.edits.clock = lambda: 0.0  # between two keys of a scene no time goes by
        try:
            yield Stage(app, pilot, clock, snapshots)
        finally:
            await tabs.leave()


def _key(name: str) -> tuple[str, str | None]:
    """A key as the terminal's driver tells of it: its name, and its character."""
    return (_character_to_key(name), name) if len(name) == 1 else (name, None)


def _agents_in(folder: Path) -> Path:
    """A folder with the programs of a few agents, which are found there and never started."""
    folder.mkdir()
    for name in INSTALLED:
        (folder / name).touch(mode=0o755)
    (folder / "git").symlink_to(GIT)
    return folder


def _snapshots(database: Database, clock: StageClock) -> FileSnapshots:
    place = snapshots_beside(database.path)
    return FileSnapshots(database, place, GIT, SnapshotScope.REPOSITORIES, clock=clock)


async def _start_agent(spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
    files = FileAccess(roots=(Path(cwd),), follows_sessions=True)
    return await start_agent(spec, cwd=cwd, client_version="0", files=files, terminals=True)


async def _end_group(group: AgentGroup) -> bool:
    return await end_group(group.pid, group.started)

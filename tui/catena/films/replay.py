"""The replay of a conversation: the transcript and the composer as they were, in a terminal or as a recording."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot
from textual.timer import Timer, TimerCallback
from textual.widgets import Static

from catena.films.recording import Recording, rows_of
from catena.films.timeline import ReplayTimeline, Step, View
from catena.terminal.driver import BackgroundReported, TerminalDriver
from catena.terminal.times import call_after
from catena.text.safe_text import safe, safe_line
from catena.text.strips.safe_strips import SafeStrips
from catena.themes.catalog import ThemeCatalog
from catena.themes.colours import DARK, LIGHT, ColourDepth, colour_depth
from catena.themes.variables import DimSteps, has_dim_steps
from catena.transcript import Transcript
from catena.widgets.column import Centred
from catena.widgets.typing_box import EdgeWord, TypingBox

if TYPE_CHECKING:
    from textual.filter import LineFilter

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_LONGEST_NAP = 0.25  # seconds
_FRAME = 1 / 12  # seconds of a recording from one frame to the next, at least
_KEYS = (("space", "pause"), ("←→", "prompt"), ("+ −", "speed"), ("q", "quit"))


@dataclass(frozen=True, slots=True)
class ReplaySubject:
    """The description of a replay, in words, and the way it is drawn."""

    title: str
    agent: str
    directory: str
    column: int
    half_rows: bool = True
    theme: str | None = None  # None: Catena's own, dark or light as the terminal is


class ReplayTranscript(Transcript):
    """A transcript in which nothing can be done but read."""

    PROMPT_ACTS = ()


class ReplayApp(App[None], inherit_bindings=False):
    """A player of a timeline, which goes on by itself or is led through it; it starts nothing and writes nothing."""

    TITLE = "Catena"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; overflow: hidden; background: $background; color: $foreground; }
    #transcript { height: 1fr; }
    #typed { width: 1fr; height: auto; max-height: 8; }
    #foot { height: 1; padding: 0 2; color: $faint; }
    """

    def __init__(
        self,
        timeline: ReplayTimeline,
        subject: ReplaySubject,
        *,
        environment: Mapping[str, str],
        speed: float = 1.0,
        plays: bool = True,
    ) -> None:
        """``plays``: it goes on by itself, and has keys."""
        self._themes = ThemeCatalog(colour_depth(environment))
        self._subject = subject
        self._half_rows = subject.half_rows and colour_depth(environment) is ColourDepth.FULL
        super().__init__(
            driver_class=TerminalDriver, ansi_color=True if environment.get("NO_COLOR") else None
        )
        self._safe_strips = SafeStrips()
        self._dim_steps = DimSteps()
        for name in self._themes.own_names:
            self.register_theme(self._themes.theme(name))
        self.theme = subject.theme or self._themes.default(dark=True)
        self._timeline = timeline
        self._speed = speed
        self._plays = plays
        self._paused = False
        self._count = 0  # steps that were made
        self._at = 0.0  # seconds of the timeline
        self._view = View()
        self._kept_at: datetime | None = None
        self._changed = asyncio.Event()
        self._transcript = ReplayTranscript(
            directory=subject.directory,
            wall_clock=self._wall_clock,
            still=True,
            column=subject.column,
            half_rows=self._half_rows,
            id="transcript",
        )
        self._typed = Static("", id="typed", markup=False)
        self._box = TypingBox(self._typed, id="box")
        self._foot = Static("", id="foot", markup=False)

    def get_css_variables(self) -> dict[str, str]:
        """The variables that styles are written in, as in the chat."""
        own = {"column": str(self._subject.column), "half-row": "block" if self._half_rows else "blank"}
        return {**super().get_css_variables(), **own}

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of every line of every widget."""
        dim = [self._dim_steps] if has_dim_steps(self.current_theme) else []
        return [*dim, *super().get_line_filters(), self._safe_strips]

    def set_timer(
        self,
        delay: float,
        callback: TimerCallback | None = None,
        *,
        name: str | None = None,
        pause: bool = False,
    ) -> Timer:
        """Call a function after some seconds, without fail: Textual lays out a resized terminal so."""
        return call_after(self, delay, callback, name=name, pause=pause)

    def compose(self) -> ComposeResult:
        """Transcript, composer, keys."""
        yield self._transcript
        with Centred():
            yield self._box
        if self._plays:
            with Centred():
                yield self._foot

    def on_mount(self) -> None:
        """Begin to play."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.accept_input()
        self._show_words()
        if self._plays:
            self.run_worker(self._play())

    def on_background_reported(self, event: BackgroundReported) -> None:
        """Choose dark or light by the terminal's background, unless the person chose a theme."""
        if self._subject.theme is None and self.theme in (DARK, LIGHT):
            name = self._themes.default(dark=event.dark)
            self.register_theme(self._themes.theme(name, ground=event.background))
            self.theme = name

    def on_key(self, event: events.Key) -> None:
        """Pause, go to another prompt, play faster or slower, leave."""
        if not self._plays:
            return
        match event.key:
            case "space":
                self._paused = not self._paused
            case "left":
                # Right behind a prompt's beginning, to the one before it.
                begun = self._timeline.chapter_before(self._count)
                near = (
                    self._at - self._timeline.steps[begun].at < 1 / self._speed
                    if begun < self._count
                    else True
                )
                self.go(self._timeline.chapter_before(begun) if near else begun)
            case "right":
                self.go(self._timeline.chapter_after(self._count))
            case "plus" | "equals_sign" | "minus":
                self._speed = _other_speed(self._speed, faster=event.key != "minus")
            case "q" | "escape" | "ctrl+c" | "ctrl+d":
                self.exit()
            case _:
                return
        event.stop()
        self._show_words()
        self._changed.set()

    @property
    def done(self) -> int:
        """How many steps were made."""
        return self._count

    def go(self, count: int) -> None:
        """Show what the screen showed after so many steps."""
        self._count = min(count, len(self._timeline.steps))
        self._view = self._timeline.view(self._count)
        last = self._timeline.steps[self._count - 1] if self._count else None
        following = self._timeline.steps[self._count] if self._count < len(self._timeline.steps) else last
        self._at = following.at if following is not None else 0.0
        self._kept_at = last.kept_at if last is not None else None
        self._transcript.show(list(self._view.messages.values()), more_above=False)
        self._show_typed(self._view.typed)
        self._show_work()

    def step(self) -> None:
        """Make the next step."""
        step = self._timeline.steps[self._count]
        self._count += 1
        self._at = max(self._at, step.at)
        self._kept_at = step.kept_at
        if step.message is not None:
            self._transcript.add(step.message)
        if step.typed is not None:
            self._show_typed(step.typed)
        if step.works is not None:
            self._view = View(working_since=step.at if step.works else None)
        self._show_work()

    def pass_time(self, at: float) -> None:
        """Let the time of the timeline be so many seconds."""
        self._at = at
        self._show_work()

    async def _play(self) -> None:
        """Make each step at its time."""
        before = monotonic()
        while True:
            self._changed.clear()
            now = monotonic()
            if not self._paused:
                self.pass_time(min(self._at + (now - before) * self._speed, self._timeline.length))
            before = now
            steps = self._timeline.steps
            while not self._paused and self._count < len(steps) and steps[self._count].at <= self._at:
                self.step()
            self._show_words()
            nap = _LONGEST_NAP
            if not self._paused and self._count < len(steps):
                nap = min(nap, max(0.01, (steps[self._count].at - self._at) / self._speed))
            try:
                await asyncio.wait_for(self._changed.wait(), nap)
            except TimeoutError:
                continue

    def _show_typed(self, text: str) -> None:
        cursor = Content.styled(" ", "reverse")
        rest = Content.styled(f"eply to {self._subject.agent}", "$faint")
        if text:
            self._typed.update(Content.assemble(safe(text), cursor))
        else:
            self._typed.update(Content.assemble(Content.styled("R", "$faint reverse"), rest))

    def _show_work(self) -> None:
        since = self._view.working_since
        self._transcript.working(since)
        if since is not None:
            self._transcript.tell_work(max(0.0, self._at - since))

    def _show_words(self) -> None:
        subject = self._subject
        left = [EdgeWord(Content.styled(safe_line(subject.agent), "$foreground"))]
        right = [EdgeWord(Content.styled(safe_line(subject.title), "$muted"))]
        self._box.upper.show((), ())
        self._box.lower.show(left, right)
        for part in (self._box.upper, self._box.lower, *self._box.query(".box--inside")):
            part.set_class(True, "-focused")
        if not self._view.typed and not self._count:
            self._show_typed("")
        if self._plays:
            self._foot.update(self._foot_words())

    def _foot_words(self) -> Content:
        length = self._timeline.length
        ended = self._count == len(self._timeline.steps)
        mark = "paused" if self._paused else "end" if ended else "playing"
        speed = f" · ×{self._speed:g}" if self._speed != 1 else ""
        state = Content.styled(
            f"{mark} · {_clock(min(self._at, length))} of {_clock(length)}{speed}", "$muted"
        )
        keys = [
            Content.assemble(
                (key, "$muted"), (f" {'play' if key == 'space' and self._paused else does}", "$faint")
            )
            for key, does in _KEYS
            if not (key == "space" and ended and not self._paused)
        ]
        room = self._foot.content_size.width or self.size.width
        return _joined(state, keys, room)

    def _wall_clock(self) -> datetime:
        return self._kept_at or datetime.now().astimezone()


def _joined(state: Content, keys: Sequence[Content], room: int) -> Content:
    """The state and the keys as they fit into a row; how to leave always stands there."""
    wide, narrow = Content.styled("  ·  ", "$faint"), Content.styled(" · ", "$faint")
    ways = [wide.join((state, *keys)), *(narrow.join((state, *keys[at:])) for at in range(len(keys)))]
    return next((way for way in ways if way.cell_length <= room), keys[-1])


async def play(app: ReplayApp) -> None:
    """Play in the terminal, until the person leaves."""
    await app.run_async()


async def record(
    app: ReplayApp, timeline: ReplayTimeline, *, size: tuple[int, int], speed: float
) -> Recording:
    """Record a whole timeline at a speed, without a terminal; the app is one that does not play by itself."""
    recording = Recording(*size)

    async def lead(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        recorded = 0.0
        for number, step in enumerate(timeline.steps):
            app.pass_time(step.at)
            app.step()
            if step.chapter:
                recording.begin(step.chapter)
            following = timeline.steps[number + 1] if number + 1 < len(timeline.steps) else None
            left = (following.at if following is not None else timeline.length) - recorded
            if left / speed < _FRAME and following is not None:
                continue
            await _settled(pilot, quickly=_grows(step) and following is not None)
            recording.add(rows_of(app))
            recording.stay(left / speed)
            recorded += left
        app.exit()

    await app.run_async(headless=True, size=size, auto_pilot=lead)
    return recording


def _grows(step: Step) -> bool:
    """True for a step among many that follow one another at once."""
    return step.typed is not None or (step.message is not None and step.message.state == "open")


async def _settled(pilot: Pilot[Any], *, quickly: bool) -> None:
    """Wait until the screen is laid out; not ``quickly``: and nothing on it moves any more."""
    await pilot.pause(0)
    if quickly:
        return
    before = rows_of(pilot.app)
    for _ in range(50):
        await pilot.pause(0.02)
        now = rows_of(pilot.app)
        if now == before:
            return
        before = now


def _other_speed(speed: float, *, faster: bool) -> float:
    others = [each for each in SPEEDS if (each > speed if faster else each < speed)]
    return (others[0] if faster else others[-1]) if others else speed


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

"""The film of the documents: one story, played on the stage in demo mode, and recorded from the real screen.

What is recorded is only what stands still, and its times are the script's: the film is the same bytes on every machine.
A screen stands still once nothing that could change it is under way: no work, no timer, and no agent that has not come
to its next cue.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from textual.strip import Strip

from catena.films.demo import Demo
from catena.films.recording import Recording, asciicast, rows_of
from catena.text.strips.filters import RedactedWords
from catena.themes.colours import SHIPPED
from catena.transcript import Transcript
from screenshots.actor import WAITED_FOR, cue
from screenshots.animation import animated
from screenshots.stage import NOW, THEMES, Stage, stage

TITLE = "Catena: your conversations outlive your agents' sessions"
NAME = "demo"
SIZE = (100, 30)  # so large that its words can be read in the column of a README
_KEY = 0.045  # seconds from one letter to the next
_LOOKS = 2  # at a screen that stands still, after the one that it is compared with
_STILL = "Ask first"  # the chapter at whose end the film stands where nothing may move


@dataclass
class Director:
    """Plays keys and cues on a stage, and records what they lead to."""

    app: Stage
    folder: Path
    recording: Recording
    cues: int = 0
    _worked: float = field(default=0.0)  # seconds of the film since the agent began

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self.recording.begin(title)

    async def types(self, text: str) -> None:
        """Type a text into the composer, two letters to a frame."""
        for number, letter in enumerate(text, 1):
            await self.app.type(letter)
            if number % 2 and number < len(text):
                continue
            await self._until_typed(text[:number])
            await self.app.settle()
            self.recording.add(rows_of(self.app.app))
            self._stay(2 * _KEY)

    async def enters(self, text: str, *shown: str, stay: float) -> None:
        """Type a text at which more appears, and record what stands there at its end."""
        for letter in text:
            await self.app.press(letter)
        await self.shows(*shown, stay=stay)

    async def press(self, key: str, *texts: str, stay: float, works: bool = False) -> None:
        """Press a key, and record what it leads to: the screen shows these texts, and stands still."""
        await self.app.press(key)
        await self.shows(*texts, stay=stay, works=works)

    async def _until_typed(self, text: str) -> None:
        composer = self.app.app.chat.area.prompt.composer
        await self.app.until(lambda: composer.text == text, f"{text!r} in the composer")

    async def erase(self, text: str) -> None:
        """Erase a text of the composer, two letters to a frame."""
        while text:
            text = text[:-1]
            await self.app.type("backspace")
            if len(text) % 2 == 0:
                await self._until_typed(text)
                await self.app.settle()
                self.recording.add(rows_of(self.app.app))
                self._stay(_KEY)

    async def begins(self, text: str, *, stay: float) -> None:
        """Send the first prompt; the film begins with it in the composer, since an empty screen tells nothing."""
        for letter in text:
            await self.app.type(letter)
        await self._until_typed(text)
        await self.shows(text[-10:], stay=stay)
        await self.app.press("enter")
        self._worked = 0.0

    async def sends(self, text: str) -> None:
        """Type a prompt, and send it."""
        await self.types(text)
        self._stay(0.5)
        await self.app.press("enter")
        self._worked = 0.0

    async def cue(self, *texts: str, stay: float, ends: bool = False) -> None:
        """Let the agent take its next step, and record what it leads to; ``ends``: it is the last one of the turn."""
        self.cues += 1
        cue(self.folder, self.cues).touch()
        await self.shows(*texts, stay=stay, works=not ends)

    async def shows(self, *texts: str, stay: float, works: bool = False) -> None:
        """Wait until the screen shows all of these, and record it; ``works``: the agent waits for its next cue."""
        before: list[Strip] = []
        looks = 0

        def stands() -> bool:
            nonlocal before, looks
            if not self._rests(works=works):
                looks = 0
                return False
            self._stop_clocks()
            now = rows_of(self.app.app)
            shown = "\n".join(row.text for row in now)
            looks = looks + 1 if now == before and all(text in shown for text in texts) else 0
            before = now
            return looks >= _LOOKS

        await self.app.until(stands, f"the screen to show {texts}")
        self.recording.add(before)
        self._stay(stay)

    def _rests(self, *, works: bool) -> bool:
        """True while nothing that was begun can still change the screen, however long that takes."""
        if not self.app.rests(works=works) or self.app.wakes_soon:
            return False
        asked = self.app.app.chat.area.panels.question is not None
        return not works or asked or cue(self.folder, self.cues + 1, WAITED_FOR).exists()

    def _stop_clocks(self) -> None:
        """Let the seconds that an agent works be those of the film."""
        for transcript in self.app.app.chat.query(Transcript):
            transcript.tell_work(self._worked)

    def _stay(self, seconds: float) -> None:
        self._worked += seconds
        self.recording.stay(seconds)


async def story(film: Director) -> None:
    """Ask, allow, edit in place, compare, survive a crash, and find it all again."""
    film.chapter("Ask")
    await film.begins("Find out why the login form loses ?next, and fix it.", stay=0.9)
    await film.shows("Thinking", stay=0.7, works=True)
    await film.cue("auth/views.py:12", stay=0.7)
    film.chapter("Ask first")
    await film.cue("Allow once", "form.cleaned_data", "Always in this project", "decide later", stay=3.0)
    await film.press("y", "✓ Edit", stay=0.3, works=True)
    await film.cue("carries it", stay=1.1)
    await film.cue("front page", stay=1.4, ends=True)
    film.chapter("Go on")
    await film.sends("Cover it with a test.")
    await film.shows("without the change", stay=1.8)
    await film.app.files_kept()

    film.chapter("Edit what you said, and restore its files")
    await film.press("escape", stay=0.25)
    await film.press("escape", "enter edit", stay=0.8)
    await film.press("enter", "same context", "F4 also deletes", stay=1.6)
    await film.press("f4", stay=1.6)
    await film.erase("Cover it with a test.")
    await film.sends("Also test that nobody is sent to another site.")
    await film.cue("test_next.py", stay=0.7)
    await film.cue("is followed, and", stay=0.9)  # words that the change above does not have
    await film.cue("Both fail", "2/2", stay=2.0, ends=True)

    film.chapter("Every version stays: compare them side by side")
    await film.enters("/tree", "all branches", stay=0.8)
    await film.press("enter", "2 branches", "Your next prompt here", stay=1.6)
    await film.press("up", "test_login_keeps_next", "Your next prompt here", stay=0.6)
    await film.press("d", "Compare branches", "evil.example", "without the change", stay=2.8)
    await film.press("escape", "2 branches", "Your next prompt here", stay=0.3)
    await film.press("escape", "Both fail", "2/2", stay=0.5)

    film.chapter("An agent crashes: nothing is lost")
    await film.sends("Run them.")
    await film.shows("Running the tests", stay=1.0, works=True)
    await film.cue("killed by signal 9", stay=2.4, ends=True)
    await film.sends("Go on.")
    await film.shows("same session", "15 passed", "All 15 tests pass", stay=2.6)

    film.chapter("Search everything that was ever said")
    await film.press("ctrl+o", "History", "fix the login", stay=1.1)
    await film.enters("site", "in messages", "another site", stay=2.4)
    await film.press("escape", stay=0.2)
    await film.press("escape", "All 15 tests pass", stay=1.8)


async def record(theme: str) -> Recording:
    """Play the story in a theme, in a folder that is thrown away."""
    columns, rows = SIZE
    recording = Recording(columns, rows)
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        demo = Demo(RedactedWords.of(home=str(folder), names=[]), time=NOW)
        async with stage(folder, agent=True, size=SIZE, kept=True, git=True, demo=demo, parks=True) as app:
            app.pause = 0.04
            app.app.theme = THEMES[theme]
            await story(Director(app, folder, recording))
    return recording


def drawn(recording: Recording, theme: str) -> str:
    """The film as an animated SVG in a theme."""
    colours = SHIPPED[THEMES[theme]]
    starts = [chapter.at for chapter in recording.chapters]
    number = [chapter.title for chapter in recording.chapters].index(_STILL)
    return animated(
        recording,
        still=starts[number] + 1500,
        ground=colours.ground,
        text=colours.text,
        faint=colours.faint,
        accent=colours.accent,
    )


def cast(recording: Recording) -> str:
    """The film as an asciicast."""
    colours = SHIPPED[THEMES["dark"]]
    return "".join(asciicast(recording, title=TITLE, foreground=colours.text, background=colours.ground))


def make_film(theme: str, into: Path) -> None:
    """Write the film in a theme, `demo-THEME.svg`; and where that is dark, `demo.cast`."""
    recording = asyncio.run(record(theme))
    (into / f"{NAME}-{theme}.svg").write_text(drawn(recording, theme))
    if theme == "dark":
        (into / f"{NAME}.cast").write_text(cast(recording))

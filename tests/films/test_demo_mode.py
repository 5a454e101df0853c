"""Demo mode: who shows the screen is hidden, keys are shown, the clock stands, and the own store stays apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from catena.app.app import CatenaApp
from catena.films.demo import Demo, PressedKeys
from catena.films.recording import rows_of
from catena.settings.settings import Start
from catena.text.strips.filters import RedactedWords, Redaction
from catena_acp.agents.catalog import find_spec
from support.screen.pilot import Person

WORDS = RedactedWords.of(home="/home/grace", names=["grace", "Grace Hopper"])


def test_d03_home_and_user_are_hidden_and_nothing_else_moves() -> None:
    assert WORDS.hidden("/home/grace/shop") == "/home/•••••/shop"
    assert WORDS.hidden("Grace Hopper wrote") == "•••••••••••• wrote"
    assert WORDS.hidden("disgraceful, gracefully") == "disgraceful, gracefully"
    assert RedactedWords.of(home="/root", names=[]).hidden("the root of the tree") == "the root of the tree"


def test_d03_a_name_is_hidden_across_pieces_of_a_line() -> None:
    red, blue = Style(color="red"), Style(color="blue")

    redacted = Redaction(WORDS).apply(
        [Segment("ls /home/gr", red), Segment("ace now", blue)], Color.parse("black")
    )

    assert redacted == [Segment("ls /home/••", red), Segment("••• now", blue)]


def test_d03_the_strip_has_keys_and_never_what_is_typed_into_a_field() -> None:
    pressed = PressedKeys()
    for key in ("escape", "escape", "ctrl+o"):
        pressed.press(key, types=False)
    assert pressed.words == ["esc ×2", "ctrl+o"]

    pressed.press("s", types=True)
    assert pressed.words == []


async def test_d03_demo_mode_shows_keys_and_a_fixed_time_in_a_store_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "home" / "grace" / "shop"
    project.mkdir(parents=True)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    demo = Demo(RedactedWords.of(home=str(tmp_path / "home" / "grace"), names=["grace"]))
    start = Start(str(project), agent=find_spec("rehearsal"))
    app = CatenaApp(start, environment={"TERM": "xterm-256color"}, demo=demo)

    async with app.services(), app.run_test(size=(100, 30)) as pilot:
        person = Person(app, pilot)
        await person.until(lambda: person.area.chat.opened, "the store to be open")
        await person.first_tab()
        await person.say(f"say it is in {project}, said grace")
        await person.sees("it is in")
        await person.idle()
        await person.until(lambda: "enter" in _last_row(app), "the keys to be shown")
        shown = "\n".join(row.text for row in rows_of(app))
        assert "•••••" in shown and "grace" not in shown
        assert demo.time.astimezone().strftime("%H:%M") in shown
        await person.press("ctrl+o")
        await person.until(lambda: "ctrl+o" in _last_row(app), "the keys to be shown on a sheet")

    assert (tmp_path / "data" / "demo" / "catena.db").exists()
    assert not (tmp_path / "data" / "catena.db").exists()


def _last_row(app: CatenaApp) -> str:
    return rows_of(app)[-1].text

"""The terminal's window is named after the conversation and its state, and gets its own title back."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from catena.app.attention import WindowTitle
from support.screen.terminal import EMPTY_BOX, Place

KEPT, RESTORED = b"\x1b[22;2t", b"\x1b[23;2t"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project of their own."""
    return Place(tmp_path)


def test_s10_the_window_is_named_after_the_conversation_and_its_state_until_the_program_ends(
    place: Place,
) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for(EMPTY_BOX)
        terminal.say("Mend the lamp")
        terminal.wait_for_output("\x1b]2;◐ Mend the lamp – Catena\x1b\\".encode())
        terminal.wait_for_output("\x1b]2;Mend the lamp – Catena\x1b\\".encode())
        terminal.say("ask me")
        terminal.wait_for_output("\x1b]2;? Mend the lamp – Catena\x1b\\".encode())
        assert terminal.output.count(KEPT) == 1 and RESTORED not in terminal.output
        terminal.signal(signal.SIGTERM)
        terminal.ended()
        behind = terminal.output.rpartition(RESTORED)[2]
        assert terminal.output.count(RESTORED) == 1 and b"\x1b]2;" not in behind


def test_s10_a_title_from_outside_cannot_steer_the_terminal() -> None:
    sent: list[str] = []
    title_of_window = WindowTitle(sent.append)
    title_of_window.name("a\x1b\\\x07\x9c\u202e\nb" + "long " * 100, "?")
    title_of_window.show()
    title = "".join(sent).removeprefix("\x1b[22;2t\x1b]2;").removesuffix("\x1b\\")
    assert title.isprintable() and title.startswith("? a") and title.endswith("– Catena") and len(title) < 120


def test_s10_with_the_setting_off_the_window_keeps_its_title(place: Place) -> None:
    (place.config / "config.toml").write_text('window_title = "off"\n')
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for(EMPTY_BOX)
        terminal.say("Mend the lamp")
        terminal.wait_for("Reply to")
        terminal.signal(signal.SIGTERM)
        terminal.ended()
        assert b"\x1b]2;" not in terminal.output and KEPT not in terminal.output

"""Two panes at a real terminal: each key goes to the pane that the keys before it led to, and both survive a kill."""

from __future__ import annotations

import signal
from pathlib import Path

from support.screen.terminal import EMPTY_BOX, Place

F6 = "\x1b[17~"


def test_w19_f6_and_a_text_in_one_write_go_to_the_other_pane_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal", columns=170) as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say first")
        terminal.wait_for(rf"  first[\s\S]*{EMPTY_BOX}")
        terminal.write("/side\r")
        terminal.wait_for("A new conversation")
        terminal.write("new conv\r")
        terminal.wait_for("f6 other pane")
        terminal.write(f"right one{F6}left one{F6}, right two")
        terminal.wait_for(r"│ left one .*│ right one, right two ")
        terminal.wait_until(
            lambda: place.keeps("left one") and place.keeps("right one, right two"), "the drafts to be kept"
        )
        terminal.signal(signal.SIGKILL)
    with place.catena(columns=170) as terminal:
        terminal.wait_for(r"│ left one .*│ right one, right two ")
        terminal.wait_for(r"  first +│")

"""The history at a real terminal: what is typed at once with the key that opens it is its own."""

from __future__ import annotations

from pathlib import Path

from support.screen.terminal import EMPTY_BOX, Place


def test_h02_ctrl_o_a_word_and_enter_in_one_write_open_what_the_word_finds(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        for number, word in enumerate(("kumquat", "mirabelle")):
            for text in (f"begin {number}", f"the {word} is ripe", f"end {number}"):
                terminal.say(f"say {text}")
                terminal.wait_for(rf"  {text}[\s\S]*{EMPTY_BOX}")
            terminal.press("ctrl+t")
            terminal.wait_for(r" new\n[\s\S]*Rehearsal is ready in")
        terminal.write("\x0fsay beg 0\r")  # by its title
        terminal.wait_for(rf"▌ say the kumquat is ripe[\s\S]*{EMPTY_BOX}")
        terminal.write("\x0fmirabelle\r")  # by a message, which is found after Enter was pressed
        terminal.wait_for(rf"▌ say the mirabelle is ripe[\s\S]*{EMPTY_BOX}")

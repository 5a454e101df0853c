"""The history at a real terminal: what is typed at once with the key that opens it is its own."""

from __future__ import annotations

from pathlib import Path

from support.screen.terminal import EMPTY_BOX, Place


def test_h02_ctrl_o_a_word_and_enter_in_one_write_open_what_the_word_finds(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        for title, word in (("ape", "kumquat"), ("bee", "mirabelle")):
            for text in (f"begin {title}", f"the {word} is ripe", f"end {title}"):
                terminal.say(f"say {text}")
                terminal.wait_for(rf"  {text}[\s\S]*{EMPTY_BOX}")
            terminal.press("ctrl+t")
            terminal.wait_for(r" new\n[\s\S]*Rehearsal is ready in")
        terminal.write("\x0fsay beg ape\r")  # by its title; the other one may be unread, and stand first
        terminal.wait_for(rf"▌ say the kumquat is ripe[\s\S]*{EMPTY_BOX}")
        terminal.write("\x0fmirabelle\r")  # by a message, which is found after Enter was pressed
        terminal.wait_for(rf"▌ say the mirabelle is ripe[\s\S]*{EMPTY_BOX}")

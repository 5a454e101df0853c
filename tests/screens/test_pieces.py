"""A long paste stands in the composer as one mark, and its text is always whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot

from catena.widgets.composer import Composer
from support.screen.messages import press, taken_in
from support.screen.terminal import Place
from support.screen.themed import ThemedApp

LOG = "".join(f"line\t{number}\r\n" for number in range(400))
OTHER = "a\x1b[31mb" * 500
MARK, OTHER_MARK = "[pasted 400 lines]", "[pasted 3,500 characters]"


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def test_u02_a_draft_survives_a_restart_with_its_pieces(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("say ")
        whole = pasted(LOG)
        for at in range(0, len(whole), 1000):  # in pieces, as over SSH
            terminal.write_all(whole[at : at + 1000])
        terminal.wait_for(r"│ say \[pasted 400 lines\]")
        terminal.wait_for(r"It will be sent in full\. Enter on the mark shows it, Ctrl\+G opens it\.")
        terminal.write("?")
        terminal.wait_for(r"│ say \[pasted 400 lines\]\?")
        terminal.wait_until(lambda: place.keeps(f"say \ufdd0{LOG}\ufdd1?"), "the draft in the store")
    with place.catena() as terminal:
        terminal.wait_for(r"│ say \[pasted 400 lines\]\?")
        terminal.write("!")
        terminal.wait_until(lambda: place.keeps(f"say \ufdd0{LOG}\ufdd1?!"), "the draft, whole, in the store")


class One(ThemedApp):
    def __init__(self, *, vim: bool = False) -> None:
        super().__init__()
        self.composer = Composer(vim=vim)
        self.sent: list[str] = []
        self.composer.enter = self.sent.append

    def compose(self) -> ComposeResult:
        yield self.composer

    def on_mount(self) -> None:
        self.composer.focus()


async def paste(app: One, pilot: Pilot[None], text: str) -> None:
    app.composer.post_message(events.Paste(text))
    await taken_in(pilot)


def drawn(app: One) -> str:
    return "\n".join(
        app.composer.render_line(y).text.rstrip() for y in range(app.composer.size.height)
    ).rstrip("\n")


async def test_u02_a_long_paste_is_one_mark_and_is_sent_whole() -> None:
    app = One()
    async with app.run_test(size=(80, 20)) as pilot:
        await press(pilot, *"See ", "s")
        app.composer.action_delete_left()
        await paste(app, pilot, LOG)
        await paste(app, pilot, OTHER)
        await press(pilot, *"why")
        assert drawn(app) == f"See {MARK}{OTHER_MARK}why"
        assert app.composer.text == f"See {LOG}{OTHER}why"
        await press(pilot, "enter")
        assert app.sent == [f"See {LOG}{OTHER}why"]


@pytest.mark.parametrize("text", ["\n".join("x" * 20), "x" * 2000])
async def test_u02_what_is_not_longer_than_twenty_lines_and_two_thousand_characters_is_no_piece(
    text: str,
) -> None:
    app = One()
    async with app.run_test(size=(80, 40)) as pilot:
        await paste(app, pilot, text)
        assert "[" not in drawn(app)
        await paste(app, pilot, f"{text}\ny")
        assert drawn(app).endswith(("[pasted 21 lines]", "[pasted 2,002 characters]"))


async def test_u02_a_mark_is_one_unit_for_the_cursor_and_for_deleting_and_undo_brings_it_back() -> None:
    app = One()
    async with app.run_test(size=(80, 20)) as pilot:
        await press(pilot, *"ab", "left")
        await paste(app, pilot, LOG)
        assert drawn(app) == f"a{MARK}b"
        await press(pilot, "left", "x")
        assert drawn(app) == f"ax{MARK}b"
        await press(pilot, "right", "y")
        assert drawn(app) == f"ax{MARK}yb"
        await press(pilot, "backspace", "backspace")
        assert app.composer.text == "axb"
        for _ in range(5):
            app.composer.action_undo()
            if MARK in drawn(app):
                break
        assert LOG in app.composer.text and MARK in drawn(app)
        app.composer.select_all()
        assert app.composer.selected_text == app.composer.text
        app.composer.move_cursor((0, 2))
        await press(pilot, "delete")
        assert app.composer.text.replace("y", "") == "axb"


async def test_u02_enter_on_a_mark_shows_its_text_which_can_be_edited_and_folded_by_undo() -> None:
    app = One()
    async with app.run_test(size=(80, 20)) as pilot:
        await paste(app, pilot, LOG)
        await press(pilot, "left", "enter")
        assert app.sent == [] and drawn(app).startswith("line    0\nline    1")
        app.composer.action_undo()
        assert drawn(app) == MARK
        await press(pilot, "left", "enter", "X", "enter")
        assert app.sent == [f"X{LOG}".rstrip()]


async def test_u02_what_was_typed_and_looks_like_a_mark_is_text() -> None:
    app = One()
    async with app.run_test(size=(80, 20)) as pilot:
        await paste(app, pilot, MARK)
        await press(pilot, "left", "backspace")
        assert app.composer.text == "[pasted 400 line]"
        app.composer.put("\ud800pasted 400 lines]")  # as one begins; half of a pair may come from an agent
        await paste(app, pilot, LOG)
        assert app.composer.text == f"\ufffdpasted 400 lines]{LOG}"


async def test_u02_a_text_that_comes_back_has_its_mark_again_unless_it_was_changed() -> None:
    app = One()
    async with app.run_test(size=(80, 20)) as pilot:
        await paste(app, pilot, LOG)
        whole = f"before {app.composer.text}after"
        app.composer.put("")
        app.composer.put(whole)
        assert drawn(app) == f"before {MARK}after" and app.composer.text == whole
        app.composer.restore("first")
        await taken_in(pilot)
        assert drawn(app) == f"first\nbefore {MARK}after"
        app.composer.put(whole.replace("200", "two hundred"))
        assert MARK not in drawn(app)


async def test_u02_a_pasted_command_is_text_though_its_slash_is_in_a_mark() -> None:
    app = One()
    async with app.run_test(size=(80, 20)) as pilot:
        await paste(app, pilot, f"/quit\n{LOG}")
        assert app.composer.text == f" /quit\n{LOG}"


async def test_u02_vis_keys_delete_and_put_back_whole_pieces() -> None:
    app = One(vim=True)
    async with app.run_test(size=(80, 20)) as pilot:
        await press(pilot, *"ab")
        await paste(app, pilot, LOG)
        await press(pilot, "escape", "0", "l", "l", "x")
        assert app.composer.text == "ab"
        await press(pilot, "u")
        assert app.composer.text == f"ab{LOG}" and drawn(app) == f"ab{MARK}"
        await press(pilot, "d", "d", "p")
        assert app.composer.text.strip("\n") == f"ab{LOG}".strip("\n") and MARK in drawn(app)

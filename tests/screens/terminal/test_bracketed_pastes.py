"""What is pasted arrives whole and in order, in however many pieces the terminal sends it."""

from __future__ import annotations

import random

import pytest

from catena.terminal.input_sequences import PASTE_PATIENCE, PastedText, Piece, TerminalInput
from support.screen.terminal import EMPTY_BOX, Place

_BEGIN, _END = "\x1b[200~", "\x1b[201~"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


def _in_pieces(pieces: list[str]) -> list[Piece]:
    terminal = TerminalInput()
    came = [part for piece in pieces for part in terminal.feed(piece, 0.0)]
    return [*came, *terminal.wait(0.1)]


def _joined(came: list[Piece]) -> list[Piece]:
    """Typed parts that stand side by side are one."""
    joined: list[Piece] = []
    for part in came:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


@pytest.mark.parametrize("seed", range(20))
def test_w23_wherever_it_is_cut_it_is_the_same_paste(seed: int) -> None:
    chance = random.Random(seed)
    text = f"ab{_BEGIN}one\rtwo \x1b[2 {_BEGIN[:4]}\r{_END}c\x1b[A{_BEGIN}{_END}{_BEGIN}three{_END}d"
    whole = [
        "ab",
        PastedText(f"one\rtwo \x1b[2 {_BEGIN[:4]}\r"),
        "c\x1b[A",
        PastedText(""),
        PastedText("three"),
        "d",
    ]
    assert _in_pieces([text]) == whole
    pieces = [text[:2]]
    at = 2
    while at < len(text):
        length = chance.randint(1, 9)
        pieces.append(text[at : at + length])
        at += length
    assert _joined(_in_pieces(pieces)) == whole


def test_w23_a_key_is_held_back_for_a_moment_at_most() -> None:
    terminal = TerminalInput()
    assert list(terminal.feed("\x1b\x1b", 0.0)) == ["\x1b"]  # esc esc
    assert list(terminal.wait(0.1)) == ["\x1b"]
    assert list(terminal.feed("x", 0.2)) == ["x"]
    assert list(terminal.feed("\x1b[A", 0.3)) == ["\x1b[A"]
    assert list(terminal.feed("\x1b[", 0.4)) == []  # alt+[, or the beginning of a mark: the next moment tells
    assert list(terminal.wait(0.5)) == ["\x1b["]
    assert list(terminal.wait(0.6)) == []


def test_w23_each_character_of_a_long_paste_is_looked_at_once() -> None:
    terminal = TerminalInput()
    list(terminal.feed(_BEGIN, 0.0))
    for _ in range(1_300):
        assert list(terminal.feed("line\r" * 800, 0.0)) == []
        assert len(terminal._tail) < len(_END)  # what is searched again with the next piece
    (pasted,) = terminal.feed(_END, 0.0)
    assert isinstance(pasted, PastedText) and pasted.text == "line\r" * 800 * 1_300


def test_w23_a_paste_without_its_end_is_let_go_and_what_is_typed_then_are_keys() -> None:
    terminal = TerminalInput()
    assert list(terminal.feed(f"{_BEGIN}one\rtwo{_END[:4]}", 0.0)) == []
    assert list(terminal.wait(PASTE_PATIENCE)) == [] and terminal.pasting
    assert list(terminal.wait(PASTE_PATIENCE + 0.1)) == [PastedText("one\rtwo")]
    assert list(terminal.feed("\r", 2.0)) == ["\r"]
    assert list(terminal.feed("ab\r", 2.1)) == ["ab\r"]


def test_w23_the_rest_of_a_paste_that_was_let_go_too_early_is_pasted_too() -> None:
    terminal = TerminalInput()
    assert list(terminal.feed(f"{_BEGIN}one\r", 0.0)) == []
    assert list(terminal.wait(2.0)) == [PastedText("one\r")]
    assert list(terminal.feed("two\r", 3.0)) == []
    assert list(terminal.feed(f"three\r{_END}\r", 3.1)) == [PastedText("two\rthree\r"), "\r"]


@pytest.mark.parametrize("key", ["\x03", "\x1b[99;5u", "\x1b[99::99;5u"])
def test_w23_ctrl_c_ends_a_paste_that_does_not_end(key: str) -> None:
    terminal = TerminalInput()
    assert list(terminal.feed(f"{_BEGIN}one", 0.0)) == []
    assert list(terminal.feed(key, 0.1)) == [PastedText("one"), key]


def test_w23_a_paste_that_comes_in_pieces_over_a_slow_line_is_one_text_in_its_order(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        # Each piece is read before the next is sent.
        for piece in (f"{_BEGIN}say one\rsay tw", "o\rsay three\rsay fo", f"ur\rsay five{_END}"):
            terminal.write(piece)
            terminal.wait_until_read()
        text = terminal.wait_for("say five")
        rows = [row.strip(" │") for row in text.splitlines() if "say" in row]
        assert rows == ["say one", "say two", "say three", "say four", "say five"]


def test_w23_an_escape_that_comes_with_what_was_typed_before_it_is_a_key(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("/hel")
        terminal.wait_for("keys and commands for this place")
        terminal.write("p\x1b")
        terminal.wait_for("│ /help")
        terminal.wait_gone("keys and commands for this place")


def test_w23_a_paste_without_its_end_is_there_after_a_moment_and_ctrl_c_clears_it(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write(f"{_BEGIN}say one\rsay two")
        terminal.wait_for("say two")
        terminal.write("\x03")
        terminal.wait_for(EMPTY_BOX)


def test_w23_a_nul_in_a_paste_is_seen_as_other_control_characters_are(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write(f"{_BEGIN}say a\x00b\x01c end{_END}")
        assert "│ say a␀b␁c end" in terminal.wait_for("c end")

"""What is pasted arrives whole and in order, in however many pieces the terminal sends it."""

from __future__ import annotations

import random

import pytest

from catena.terminal.input_filters import BracketedPastes, PastedText
from support.screen.terminal import Place

_BEGIN, _END = "\x1b[200~", "\x1b[201~"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


def _in_pieces(pieces: list[str]) -> list[str | PastedText]:
    pastes = BracketedPastes()
    came = [part for piece in pieces for part in pastes.feed(piece)]
    rest = pastes.release()
    return [*came, rest] if rest else came


def _joined(came: list[str | PastedText]) -> list[str | PastedText]:
    """Typed parts that stand side by side are one."""
    joined: list[str | PastedText] = []
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
    # An escape that comes alone is a key press and never held back: no piece is one.
    pieces = [text[:2]]
    at = 2
    while at < len(text):
        length = chance.randint(2, 9)
        pieces.append(text[at : at + length])
        at += length
    assert _joined(_in_pieces(pieces)) == whole


def test_w23_a_key_is_never_held_back() -> None:
    pastes = BracketedPastes()
    assert list(pastes.feed("\x1b")) == ["\x1b"]
    assert list(pastes.feed("\x1b\x1b")) == ["\x1b\x1b"]  # esc esc
    assert list(pastes.feed("x")) == ["x"]
    assert list(pastes.feed("\x1b[A")) == ["\x1b[A"]
    assert list(pastes.feed("\x1b[")) == []  # alt+[, or the beginning of a mark: the next moment tells
    assert pastes.release() == "\x1b["
    assert pastes.release() == ""


def test_w23_each_character_of_a_long_paste_is_looked_at_once() -> None:
    pastes = BracketedPastes()
    list(pastes.feed(_BEGIN))
    for _ in range(1_300):
        assert list(pastes.feed("line\r" * 800)) == []
        assert len(pastes._tail) < len(_END)  # what is searched again with the next piece
    (pasted,) = pastes.feed(_END)
    assert isinstance(pasted, PastedText) and pasted.text == "line\r" * 800 * 1_300


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

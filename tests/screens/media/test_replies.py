"""What the terminal replies is taken out of what is typed, however late and in however many pieces it comes."""

from __future__ import annotations

import random

import pytest

from catena.terminal.control.replies import (
    ModeReply,
    OscReply,
    Reply,
    VersionReply,
    background_of,
)
from catena.terminal.input_sequences import PATIENCE, TerminalInput


def _in_pieces(pieces: list[str]) -> tuple[str, list[Reply]]:
    """What was typed, and the replies."""
    terminal = TerminalInput()
    parts = [part for piece in pieces for part in terminal.feed(piece, 0.0)]
    parts += terminal.wait(0.1)
    typed = "".join(part for part in parts if isinstance(part, str))
    return typed, [part for part in parts if isinstance(part, Reply)]


@pytest.mark.parametrize("seed", range(20))
def test_w05_wherever_it_is_cut_a_reply_is_never_typed(seed: int) -> None:
    chance = random.Random(seed)
    text = (
        "ab\x1b]11;rgb:fafa/fafa/fafa\x1b\\c\x1b[Ad\x1bP>|kitty(0.44.1)\x1b\\\x1b[?5522;2$ye"
        "\x1b]5522;type=read:status=DATA:mime=Lg==;dGV4dA==\x1b\\\x1b]99;i=catena:p=?;a=focus\x07f\x1b[?5522;0$y\x1b[?69;2$y"
    )
    pieces, at = [text[:1]], 1
    while at < len(text):
        length = chance.randint(1, 9)
        pieces.append(text[at : at + length])
        at += length
    assert _in_pieces(pieces) == (
        "abc\x1b[Adef",
        [
            OscReply(11, "rgb:fafa/fafa/fafa"),
            VersionReply("kitty(0.44.1)"),
            ModeReply(5522, True),
            OscReply(5522, "type=read:status=DATA:mime=Lg==;dGV4dA=="),
            OscReply(99, "i=catena:p=?;a=focus"),
            ModeReply(5522, False),
            ModeReply(69, True),
        ],
    )


def test_w05_what_only_may_be_a_reply_is_a_key_a_moment_later() -> None:
    for keys in ("\x1b", "\x1b]", "\x1bP", "\x1b[", "\x1bO", "\x1b_"):
        terminal = TerminalInput()
        assert list(terminal.feed(keys, 0.0)) == []
        assert list(terminal.wait(0.1)) == [keys]
        assert not terminal.awaits


def test_w05_a_reply_whose_end_never_comes_is_not_typed() -> None:
    for begun in ("\x1b]5522;type=read:status=DA", "\x1b]5", "\x1b[?55", "\x1bP1+r", "\x1b[<35;10"):
        terminal = TerminalInput()
        assert list(terminal.feed(f"a{begun}", 0.0)) == ["a"]
        assert list(terminal.wait(0.1)) == [] and terminal.awaits
        assert list(terminal.wait(PATIENCE + 0.1)) == [] and not terminal.awaits
        assert list(terminal.feed("b", 4.0)) == ["b"]


@pytest.mark.parametrize("cut", ["\x1b]11;rgb:fa", "\x1bP>|kit", "\x1b]5522;" + "A" * 70_000])
def test_w05_of_a_reply_that_is_cut_off_by_another_sequence_nothing_is_typed_and_nothing_else_is_lost(
    cut: str,
) -> None:
    whole = "\x1b]99;i=catena:p=?;\x1b\\"
    for pieces in ([f"{cut}\x1b[Ax{whole}y"], [cut, f"\x1b[Ax{whole}y"], [cut, "\x1b", f"[Ax{whole}y"]):
        assert _in_pieces(pieces) == ("\x1b[Axy", [OscReply(99, "i=catena:p=?;")])


def test_w05_a_reply_that_is_too_long_is_dropped_up_to_its_end() -> None:
    terminal = TerminalInput()
    assert list(terminal.feed("\x1b]5522;" + "A" * 70_000, 0.0)) == []
    assert list(terminal.feed("A" * 70_000, 0.0)) == []
    assert list(terminal.feed("AA\x1b", 0.0)) == []
    assert list(terminal.feed("\\typed", 0.0)) == ["typed"]


@pytest.mark.parametrize(
    ("body", "colour"),
    [
        ("rgb:fafa/fafa/fafa", "#fafafa"),
        ("rgb:1414/1717/1b1b", "#14171b"),
        ("rgba:f/08/800/ffff", "#ff0880"),
        ("rgb:1111//1111", None),
        ("?", None),
    ],
)
def test_w20_the_terminals_background_is_read_in_every_form(body: str, colour: str | None) -> None:
    assert background_of(OscReply(11, body)) == colour
    assert background_of(OscReply(10, body)) is None

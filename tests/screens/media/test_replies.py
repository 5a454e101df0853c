"""What the terminal replies is taken out of what is typed, however late and in however many pieces it comes."""

from __future__ import annotations

import random

import pytest

from catena.terminal.control.replies import (
    ModeReply,
    OscReply,
    Reply,
    TerminalReplies,
    VersionReply,
    background_of,
)


def _in_pieces(pieces: list[str]) -> tuple[str, list[Reply]]:
    """What was typed, and the replies."""
    replies = TerminalReplies()
    parts = [part for piece in pieces for part in replies.feed(piece)]
    typed = "".join(part for part in parts if isinstance(part, str))
    return typed + replies.release(), [part for part in parts if not isinstance(part, str)]


@pytest.mark.parametrize("seed", range(20))
def test_w05_wherever_it_is_cut_a_reply_is_never_typed(seed: int) -> None:
    chance = random.Random(seed)
    text = (
        "ab\x1b]11;rgb:fafa/fafa/fafa\x1b\\c\x1b[Ad\x1bP>|kitty(0.44.1)\x1b\\\x1b[?5522;2$ye"
        "\x1b]5522;type=read:status=DATA:mime=Lg==;dGV4dA==\x1b\\\x1b]99;i=catena:p=?;a=focus\x07f\x1b[?5522;0$y\x1b[?69;2$y"
    )
    pieces, at = [text[:1]], 1
    while at < len(text):
        length = chance.randint(2, 9)  # an escape that comes alone is a key
        while text[at : at + length] == "\x1b" or text[at + length - 1 : at + length] == "\x1b":
            length += 1
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
    for keys in ("\x1b]", "\x1bP", "\x1b[", "\x1b]5", "\x1b[?55"):
        replies = TerminalReplies()
        assert list(replies.feed(keys)) == []
        assert replies.release() == keys
        assert not replies.holds
    assert list(TerminalReplies().feed("\x1b")) == ["\x1b"]


def test_w05_a_reply_whose_end_never_comes_is_not_typed() -> None:
    replies = TerminalReplies()
    assert list(replies.feed("a\x1b]5522;type=read:status=DA")) == ["a"]
    assert replies.release() == "" and replies.holds
    replies.forget()
    assert list(replies.feed("b")) == ["b"]


@pytest.mark.parametrize("cut", ["\x1b]11;rgb:fa", "\x1bP>|kit", "\x1b]5522;" + "A" * 70_000])
def test_w05_of_a_reply_that_is_cut_off_by_another_sequence_nothing_is_typed_and_nothing_else_is_lost(
    cut: str,
) -> None:
    whole = "\x1b]99;i=catena:p=?;\x1b\\"
    for pieces in ([f"{cut}\x1b[Ax{whole}y"], [cut, f"\x1b[Ax{whole}y"], [cut, "\x1b", f"[Ax{whole}y"]):
        assert _in_pieces(pieces) == ("\x1b[Axy", [OscReply(99, "i=catena:p=?;")])


def test_w05_a_reply_that_is_too_long_is_dropped_up_to_its_end() -> None:
    replies = TerminalReplies()
    assert list(replies.feed("\x1b]5522;" + "A" * 70_000)) == []
    assert list(replies.feed("A" * 70_000)) == []
    assert list(replies.feed("AA\x1b")) == []
    assert list(replies.feed("\\typed")) == ["typed"]


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

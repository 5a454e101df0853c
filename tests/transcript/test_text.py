"""Hostile text is made fit to be drawn, and any text breaks into rows of the right width."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.wrapping import (
    break_rows,
    fit,
    fit_end,
    is_single_width,
    shorten,
    width_of,
    wrap_text,
)

HOSTILE = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x9b\x07\r\n\t\u202e\u2066\u200d\ufe0f\u0301\ud800👩日[]/m0;"),
    ),
    max_size=200,
)


@given(text=HOSTILE)
def test_w27_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    made = safe(text)
    made.encode()  # no lone surrogates
    assert not [c for c in made if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert not [c for c in made if "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069"]
    assert safe(made) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("plain [bold]text[/] stays", "plain [bold]text[/] stays"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x1b]8;;http://x\x1b\\y", "␛]8;;http://x␛\\y"),
        ("\x9b31mred", "red"),
        ("\x9b2J", "⟨009B⟩2J"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("user\u202etxt.exe", "user⟨202E⟩txt.exe"),
        ("\ud83d", "\ufffd"),
        ("a\x00b\x7f", "a␀b␡"),
        ("e" + "\u0301" * 500, "e" + "\u0301" * 8),
        ("a" + "\u200b" * 500 + "b", "a" + "\u200b" * 8 + "b"),
        ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),
        ("👩\u200d" * 50 + "👩", "👩" * 51),
        (
            "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        ),
    ],
)
def test_w27_controls_are_dropped_or_made_visible(text: str, made: str) -> None:
    assert safe(text) == made


def test_a_safe_line_is_one_line() -> None:
    assert safe_line(" a\n\tb\x1b[1m\r\nc ") == "a b c"


@settings(max_examples=300)
@given(seed=st.integers(0, 10**9), width=st.integers(2, 40))
def test_rows_are_never_too_wide_and_lose_nothing_but_spaces(seed: int, width: int) -> None:
    chance = random.Random(seed)
    pieces = ("a", "word", " ", "  ", "日本", "、", "（", "é", "e\u0301", "👩‍👩‍👧", "❤️", "-", "x" * 50, "…")
    text = "".join(chance.choice(pieces) for _ in range(chance.randint(0, 60)))
    rows = break_rows(text, width)
    at = 0
    for row in rows:
        assert row.start >= at
        assert text[at : row.start].strip(" ") == ""
        assert row.cells == cell_len(text[row.start : row.end]) <= width
        at = row.next
    assert text[at:].strip(" ") == ""


def test_a_word_that_is_longer_than_a_row_is_folded_and_a_shorter_one_is_not() -> None:
    text = "see https://example.com/a/very/long/path ok"
    assert [text[row.start : row.end] for row in break_rows(text, 12)] == [
        "see",
        "https://exam",
        "ple.com/a/ve",
        "ry/long/path",
        "ok",
    ]


def test_ideographs_break_anywhere_but_not_before_a_full_stop() -> None:
    text = "日本語の文。次"
    assert [text[row.start : row.end] for row in break_rows(text, 10)] == ["日本語の", "文。次"]


def test_joined_emoji_and_combining_marks_are_never_torn() -> None:
    text = "👩‍👩‍👧" * 5
    assert [text[row.start : row.end] for row in break_rows(text, 5)] == [
        "👩‍👩‍👧" * 2,
        "👩‍👩‍👧" * 2,
        "👩‍👩‍👧",
    ]


def test_characters_that_are_counted_without_measuring_are_one_cell_wide() -> None:
    singles = [chr(code) for code in range(0xA0, 0x3000) if is_single_width(chr(code))]
    assert len(singles) > 500
    assert {cell_len(character) for character in singles} == {1}
    assert {cell_len(character + "\ufe0f") for character in singles} == {1}


def test_wrapped_rows_remember_the_spaces_between_them() -> None:
    lines = wrap_text("one two   three\n\n  four", Style(), 8)
    assert "".join(line.text + line.joint for line in lines) == "one two   three\n\n  four\n"


def test_a_megabyte_on_one_line_is_broken() -> None:
    rows = break_rows("x" * 1_000_000, 98)
    assert len(rows) == 10_205


@pytest.mark.parametrize("text", ["auth/views/login/form.py", "日本語/ディレクトリ/ファイル.py", "short"])
def test_a_path_is_shortened_in_its_middle(text: str) -> None:
    for width in range(1, 30):
        made = shorten(text, width)
        assert width_of(made) <= width
        assert made == text or "…" in made
        if "…" in made:
            head, tail = made.split("…")
            assert text.startswith(head)
            assert text.endswith(tail)
    assert fit("日本語", 5) == "日本"
    assert fit_end("日本語", 5) == "本語"

"""An answer that grows piece by piece ends as if it had come whole, and nothing that was read moves."""

from __future__ import annotations

import gc
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena.transcript.drawing.render_options import Palette
from catena.transcript.markdown.markdown import draw_markdown
from catena.transcript.markdown.splitter import split
from catena.transcript.messages.answer import AnswerParts
from support.screen.growth import Walk, answer_rows, rows_of, whole
from support.screen.transcript import markdown, render_options, texts
from support.walks.length import walks


@settings(max_examples=walks(40))
@given(seed=st.integers(0, 10**9), width=st.sampled_from((20, 30, 60, 100)))
def test_q02_a_text_in_random_pieces_is_drawn_as_the_same_text_whole(seed: int, width: int) -> None:
    chance = random.Random(seed)
    text = markdown(chance, 25)
    at = render_options(width)
    growing = AnswerParts("", growing=True, style=lambda palette: palette.text)
    start = 0
    while start < len(text):
        end = start + chance.randint(1, max(12, len(text) // 30))
        growing.grow(text[start:end])
        if chance.random() < 0.3:
            answer_rows(growing, at)
        start = end
    growing.finish()
    assert answer_rows(growing, at) == answer_rows(whole(text), at)


@settings(max_examples=walks(40))
@given(seed=st.integers(0, 10**9), width=st.sampled_from((20, 30, 60, 100)))
def test_the_pieces_of_a_text_mean_alone_what_they_mean_together(seed: int, width: int) -> None:
    text = markdown(random.Random(seed), 25).replace("\r\n", "\n")
    at = render_options(width)
    assert answer_rows(whole(text), at) == texts(draw_markdown(text, at))


def test_cuts_are_made_at_every_paragraph_and_fence_but_never_inside_a_list() -> None:
    text = "one\n\ntwo\n```py\na\n\nb\n```\nthree\n\n- x\n\n- y\n\n  z\n\nfour\n"
    assert [text[piece.start : piece.end] for piece in split(text)] == [
        "one\n\n",
        "two\n",
        "```py\na\n\nb\n```\n",
        "three\n\n",
        "- x\n\n- y\n\n  z\n\n",
        "four\n",
    ]


def test_a_long_list_is_cut_between_its_items_and_numbered_on() -> None:
    text = "".join(f"{number}. item of a long list with some words in it\n" for number in range(1, 100))
    answer = whole(text)
    assert len(answer.parts) > 3
    assert answer_rows(answer, render_options(100)) == text.splitlines()


def test_only_the_last_block_of_a_growing_answer_is_drawn_again() -> None:
    answer = AnswerParts("", growing=True, style=lambda palette: palette.text)
    at = render_options(100)
    answer.grow("first paragraph\n\nsecond ")
    answer_rows(answer, at)
    first, drawn = answer.parts[0], answer.parts[0].lines
    answer.grow("paragraph\n\n```py\nx = 1\n")
    answer_rows(answer, at)
    assert answer.parts[0] is first
    assert answer.parts[0].lines is drawn


def test_a_line_of_an_open_code_block_is_drawn_once() -> None:
    answer = AnswerParts("```py\nfirst\n", growing=True, style=lambda palette: palette.text)
    at = render_options(100)
    before = answer.parts[-1].measure(at)
    answer.grow("second\nthird")
    after = answer.parts[-1].measure(at)
    assert texts(after) == ["first", "second", "third"]
    assert after[0] is before[0]


def test_a_definition_at_the_end_makes_the_link_above_it_when_the_answer_is_whole() -> None:
    answer = AnswerParts("", growing=True, style=lambda palette: palette.text)
    at = render_options(100)
    answer.grow("see [the docs][d]\n\nmore\n\n")
    assert "[the docs][d]" in answer_rows(answer, at)[0]
    answer.grow("[d]: https://example.com/\n")
    answer.finish()
    assert answer_rows(answer, at)[0] == "see the docs (https://example.com/)"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("title\n-", ["title"]),  # may become a heading or a list
        ("title\n\n1.", ["title"]),
        ("title\n| a | b |", ["title"]),
        ("title\n``", ["title"]),
        ("title\n-a", ["title -a"]),
    ],
)
def test_what_is_undecided_at_the_end_of_a_growing_answer_is_not_shown_as_something_else(
    text: str, rows: list[str]
) -> None:
    answer = AnswerParts(text, growing=True, style=lambda palette: palette.text)
    assert answer_rows(answer, render_options(100)) == rows
    answer.release()
    assert len(" ".join(answer_rows(answer, render_options(100)))) >= len("title")
    assert not answer.has_held_text


def test_an_endless_paragraph_and_a_huge_code_block_are_drawn_in_many_parts() -> None:
    code = "```py\n" + "".join(f"line_{number} = {number}\n" for number in range(5000)) + "```\n"
    answer = whole(code + "\n" + "word " * 40_000)
    assert len(answer.parts) > 40
    assert max(len(part.measure(render_options(100))) for part in answer.parts) <= 250
    assert "".join(part.source for part in answer.parts).count("line_") == 5000


# A screen on a branch that changes


@settings(max_examples=walks(5))
@given(seed=st.integers(0, 10**9))
def test_whatever_happens_the_screen_is_a_stretch_of_the_whole_and_what_was_read_stays(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(30):
        walk.step()
        screen, everything = rows_of(walk.view), rows_of(walk.afresh())
        assert len(screen) == min(walk.view.height, len(everything))
        count = len(screen)
        assert any(everything[n : n + count] == screen for n in range(len(everything) - count + 1))


@settings(max_examples=walks(12))
@given(seed=st.integers(0, 10**9))
def test_m06_a_position_brings_back_the_same_rows_on_another_day(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(10):
        walk.step()
    place = walk.view.position()
    if place is None or walk.growing is not None:
        return
    assert 0 <= place < 1 << 63
    fresh = walk.afresh()
    fresh.resize(walk.size[0], walk.view.height, Palette.plain())
    fresh.restore_position(place)
    fresh.place()
    assert rows_of(fresh) == rows_of(walk.view)


def test_a_passage_of_an_answer_is_kept_in_few_objects() -> None:
    passages = 500
    text = "\n\n".join(f"Passage {number} of *many*." for number in range(passages))
    AnswerParts("", growing=False, style=lambda palette: palette.text)  # what is made once
    gc.collect()
    before = len(gc.get_objects())
    answer = AnswerParts(text, growing=False, style=lambda palette: palette.text)
    assert len(answer.parts) == passages
    assert len(gc.get_objects()) - before < 2.5 * passages
    assert answer.parts[7].source == "Passage 7 of *many*."


def test_a_long_answer_is_not_copied_when_it_grows() -> None:
    tracemalloc.start()
    try:
        answer = AnswerParts("x" * 4_000_000, growing=True, style=lambda palette: palette.text)
        for _ in range(100):  # until Python has seen that it is always a text that grows
            answer.grow("y")
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        answer.grow("z")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 1_000_000
    assert answer.text == "x" * 4_000_000 + "y" * 100 + "z"

"""An answer that grows piece by piece ends as if it had come whole, and nothing that was read moves."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena.transcript.drawing.look import Palette, RenderOptions
from catena.transcript.markdown.markdown import draw_markdown
from catena.transcript.markdown.splitter import cut
from catena.transcript.messages.answer import Answer
from catena.transcript.model.column import IN_GAP, Anchor
from catena.transcript.widget.viewport import Viewport
from catena_store.records import Kind, Message, MessageState
from transcript_scene import Writer, look, markdown, texts, viewport
from walk_length import walks


def answer_rows(answer: Answer, at: RenderOptions) -> list[str]:
    rows: list[str] = []
    for part in answer.parts:
        if lines := part.settle(at):
            rows += [""] * part.lead + texts(lines)
    return rows


def whole(text: str) -> Answer:
    return Answer(text, growing=False, style=lambda palette: palette.text)


@settings(max_examples=walks(40))
@given(seed=st.integers(0, 10**9), width=st.sampled_from((20, 30, 60, 100)))
def test_q02_a_text_in_random_pieces_is_drawn_as_the_same_text_whole(seed: int, width: int) -> None:
    chance = random.Random(seed)
    text = markdown(chance, 25)
    at = look(width)
    growing = Answer("", growing=True, style=lambda palette: palette.text)
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
    at = look(width)
    assert answer_rows(whole(text), at) == texts(draw_markdown(text, at))


def test_cuts_are_made_at_every_paragraph_and_fence_but_never_inside_a_list() -> None:
    text = "one\n\ntwo\n```py\na\n\nb\n```\nthree\n\n- x\n\n- y\n\n  z\n\nfour\n"
    assert [text[piece.start : piece.end] for piece in cut(text)] == [
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
    assert answer_rows(answer, look(100)) == text.splitlines()


def test_only_the_last_block_of_a_growing_answer_is_drawn_again() -> None:
    answer = Answer("", growing=True, style=lambda palette: palette.text)
    at = look(100)
    answer.grow("first paragraph\n\nsecond ")
    answer_rows(answer, at)
    first, drawn = answer.parts[0], answer.parts[0].lines
    answer.grow("paragraph\n\n```py\nx = 1\n")
    answer_rows(answer, at)
    assert answer.parts[0] is first
    assert answer.parts[0].lines is drawn


def test_a_line_of_an_open_code_block_is_drawn_once() -> None:
    answer = Answer("```py\nfirst\n", growing=True, style=lambda palette: palette.text)
    at = look(100)
    before = answer.parts[-1].settle(at)
    answer.grow("second\nthird")
    after = answer.parts[-1].settle(at)
    assert texts(after) == ["   first", "   second", "   third"]
    assert after[0] is before[0]


def test_a_definition_at_the_end_makes_the_link_above_it_when_the_answer_is_whole() -> None:
    answer = Answer("", growing=True, style=lambda palette: palette.text)
    at = look(100)
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
    answer = Answer(text, growing=True, style=lambda palette: palette.text)
    assert answer_rows(answer, look(100)) == rows
    answer.release()
    assert len(" ".join(answer_rows(answer, look(100)))) >= len("title")
    assert not answer.holding


def test_an_endless_paragraph_and_a_huge_code_block_are_drawn_in_many_parts() -> None:
    code = "```py\n" + "".join(f"line_{number} = {number}\n" for number in range(5000)) + "```\n"
    answer = whole(code + "\n" + "word " * 40_000)
    assert len(answer.parts) > 40
    assert max(len(part.settle(look(100))) for part in answer.parts) <= 250
    assert "".join(part.source for part in answer.parts).count("line_") == 5000


# A screen on a branch that changes


def rows_of(view: Viewport) -> list[tuple[str, str]]:
    return [(row.entry.message.id, row.line.shown.rstrip() if row.line else "") for row in view.rows]


class Walk:
    """Random acts on a branch and on the screen that shows it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.writer = Writer()
        self.older = [self.message() for _ in range(self.chance.randint(0, 30))]
        newer = [self.message() for _ in range(self.chance.randint(0, 30))]
        self.size = self.some_size()
        self.view = viewport(newer, *self.size)
        self.growing: Message | None = None
        self.text = ""

    def some_size(self) -> tuple[int, int]:
        return self.chance.choice((30, 50, 80, 120)), self.chance.choice((5, 10, 24))

    def message(self) -> Message:
        chance, writer = self.chance, self.writer
        text = markdown(chance, 30)
        match chance.randint(0, 6):
            case 0:
                return writer.prompt(text)
            case 1:
                diff = {"type": "diff", "path": "a", "old": text, "new": markdown(chance, 30)}
                return writer.tool("edit", "do", content=[{"type": "text", "text": text}, diff])
            case 2:
                return writer.row(Kind.THOUGHT, text)
            case 3:
                entries = [{"text": "x " * chance.randint(1, 60), "status": "pending"}] * chance.randint(0, 4)
                return writer.row(Kind.PLAN, data={"entries": entries})
            case 4:
                return writer.row(Kind.SEAM, text)
            case _:
                return writer.answer(text, link=chance.choice("AB"))

    def step(self) -> None:
        view, chance = self.view, self.chance
        column, height = view.column, view.height
        act = chance.choice(
            (
                "up",
                "down",
                "up",
                "wheel",
                "home",
                "end",
                "size",
                "fold",
                "add",
                "add",
                "older",
                "grow",
                "grow",
            )
        )
        before, still = rows_of(view), not view.following and len(view.rows) == height
        match act:
            case "up" | "down":
                view.scroll_to(view.top + (height if act == "down" else -height))
            case "wheel":
                view.scroll_to(view.top + chance.choice((-3, -1, 1, 3)))
            case "home" if column.entries:
                view.go(Anchor(column.entries[0], IN_GAP, 0, 0))
                assert view.top == 0
            case "end":
                view.go(None)
                assert view.following
            case "size":
                self.size = self.some_size()
                view.resize(*self.size, Palette.plain())
            case "fold" if column.entries:
                entry = chance.choice(column.entries)
                if entry.foldable:
                    anchor = view.anchor()
                    column.fold(entry, not entry.folded)
                    view.go(anchor)
            case "add":
                self.add(before if still else None)
            case "older" if self.older:
                self.add_older(before if still else None)
            case "grow":
                self.grow(before if still else None)

    def add(self, before: list[tuple[str, str]] | None) -> None:
        message = self.writer.growing() if self.growing is None else self.message()
        anchor = self.view.anchor()
        self.view.column.add(message)
        self.view.place(anchor)
        if self.growing is None:
            self.growing, self.text = message, ""
        elif before is not None and message.kind is not Kind.SEAM:
            assert rows_of(self.view) == before

    def add_older(self, before: list[tuple[str, str]] | None) -> None:
        count = self.chance.randint(1, len(self.older))
        page, self.older = self.older[-count:], self.older[:-count]
        entries = self.view.column.entries
        seam_first = bool(entries) and entries[0].message.kind is Kind.SEAM
        anchor = self.view.anchor()
        self.view.column.prepend(page)
        self.view.place(anchor)
        if before is not None and not seam_first:
            # The blank row above the first message may go, since two tool calls have none between them.
            assert rows_of(self.view)[1:] == before[1:]

    def grow(self, before: list[tuple[str, str]] | None) -> None:
        if self.growing is None:
            return
        text = markdown(self.chance, 6)
        self.text += text
        anchor = self.view.anchor()
        draw = not self.view.following
        if self.chance.random() < 0.2:
            self.view.column.change(
                replace(self.growing, text=self.text, state=MessageState.FINAL), draw=draw
            )
            self.view.place(anchor)
            self.growing = None
            return
        self.view.column.grow(self.growing.id, text, draw=draw)
        self.view.place(anchor)
        if before is not None:
            for old, new in zip(before, rows_of(self.view), strict=False):
                if self.growing.id in (old[0], new[0]):
                    break
                assert new == old

    def afresh(self) -> Viewport:
        """The same branch on a screen that sees all of it at once."""
        entries = sorted(self.view.column.entries, key=lambda entry: entry.message.depth)
        grown = [
            replace(entry.message, text=entry.answer.text)
            if entry.answer is not None and entry.answer.growing
            else entry.message
            for entry in entries
        ]
        unfolded = [message_id for message_id, folded in self.view.column.folds.items() if not folded]
        return viewport(grown, self.size[0], 100_000, unfolded=unfolded)


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
    fresh.want(place)
    fresh.place()
    assert rows_of(fresh) == rows_of(walk.view)

"""The layout of a file's hunks: every row is where it is said to be, and only those that are looked at are drawn."""

from __future__ import annotations

import random

import pytest

from catena.screens.changes.hunk_view import DiffLayout
from catena.screens.changes.review import place_words, quote_of
from catena.transcript.drawing.lines import Line, line_of
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.messages import diff as drawing
from catena_acp.changes.changed_file import ChangedFile, FileDiff, TextChange, diff_of_file

WORDS = ("alpha", "beta", "gamma\t", "漢字", "a" * 90, "two words", "")


def compared(old: str, new: str, path: str = "/p/a.py") -> FileDiff:
    return diff_of_file(ChangedFile(path, changes=(TextChange(old, new, whole=True),)))


def head(at: int, options: RenderOptions) -> Line:
    return line_of((f"head {at}", options.palette.text))


def laid_out(diff: FileDiff, width: int, *, side_by_side: bool = False, folded: str = "") -> DiffLayout:
    options = RenderOptions(width, Palette.plain(), narrow=width < 60)
    return DiffLayout(diff, options, side_by_side=side_by_side, folded=frozenset({folded}), head=head)


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("width", [36, 96, 150])
def test_w29_every_line_is_on_the_row_that_the_layout_says(width: int, side_by_side: bool) -> None:
    chance = random.Random(width)
    old = [" ".join(chance.choices(WORDS, k=3)) + f" {number}" for number in range(900)]
    new = list(old)
    for _ in range(40):
        at, length = chance.randrange(len(new)), chance.choice((1, 3, 12, 70))
        new[at : at + length] = [f"new {line}" for line in new[at : at + chance.choice((0, length))]]
    diff = compared("\n".join(old), "\n".join(new))

    layout = laid_out(diff, width, side_by_side=side_by_side)
    rows = [layout.line(row).shown for row in range(layout.height)]

    assert layout.line(layout.height).shown == ""
    for at, hunk in enumerate(diff.hunks):
        own = layout.rows_of_hunk(at)
        assert rows[own.start] == f"head {at}" and layout.hunk_at(own.start) == (at, True)
        for number, line in enumerate(hunk.hunk.lines):
            row = layout.row_of_line(at, number)
            assert row in own and layout.hunk_at(row) == (at, False)
            sign = {"-": "−"}.get(line.sign, line.sign)
            assert sign in rows[row]
            if width >= 60:
                assert str(line.number) in rows[row]
    assert sum(row.startswith("head") for row in rows) == len(diff.hunks)


def test_w29_only_what_is_in_sight_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    diff = compared("\n".join(map(str, range(20_000))), "\n".join(f"new {n}" for n in range(20_000)))
    drawn = []

    def counting(rows: list[object], *arguments: object, **named: object) -> list[Line]:
        drawn.append(len(rows))
        return drawing.draw_diff(rows, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("catena.screens.changes.hunk_view.draw_diff", counting)
    for side_by_side in (False, True):
        drawn.clear()
        layout = laid_out(diff, 140, side_by_side=side_by_side)
        assert layout.height > 20_000 - 1 and not drawn
        middle = layout.height // 2
        assert all(layout.line(row).shown for row in range(middle, middle + 40))
        assert sum(drawn) < 400


def test_w29_a_folded_hunk_is_its_head() -> None:
    diff = compared("1\n" * 3 + "x\n" * 20 + "2\n", "one\n" * 3 + "x\n" * 20 + "two\n")
    open_height = laid_out(diff, 90).height
    layout = laid_out(diff, 90, folded=diff.hunks[0].digest)
    assert layout.height == open_height - len(diff.hunks[0].hunk.lines)
    assert layout.row_of_line(0, 2) == layout.rows_of_hunk(0).start == 0


def test_w29_a_hunk_is_quoted_with_its_file_and_lines_and_nothing_in_it_ends_the_quote() -> None:
    diff = compared("a\n```\nb\n", "a\n```\nc\x1b[31m\u202e\r\n", "/p/src/\x1b]0;x\x07a.py")
    (hunk,) = diff.hunks
    text = quote_of(diff.file, hunk, "/p", undo=True)
    assert text == ("Undo this change:\n\nsrc/␛]0;x␇a.py, line 3:\n````diff\n a\n ```\n-b\n+c⟨202E⟩␍\n````")
    assert place_words(hunk) == "line 3"

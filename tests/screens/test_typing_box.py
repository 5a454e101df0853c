"""The box that text is typed into: words on its edges as far as there is room, and one row on a short screen."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import ComposeResult
from textual.content import Content
from textual.dom import DOMNode
from textual.widget import Widget

from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.hint_line import hints_line
from catena.widgets.typing_box import EdgeWord, EdgeWords, TypingBox
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp

_AGENT = EdgeWord(Content("[b]Claude[/b]"), 3)
_MODEL = EdgeWord(Content("Sonnet"), 0)
_MODE = EdgeWord(Content("ask before edits"), 5)
_METER = EdgeWord(Content("42k of 200k"), 1)
_COST = EdgeWord(Content("$0.31"), 4)


class _Boxed(ThemedApp):
    VERTICAL_BREAKPOINTS = [(0, "-short"), (15, "-tall")]  # noqa: RUF012 - as Textual declares them

    def __init__(self) -> None:
        super().__init__()
        self.clicked: list[str] = []

    def compose(self) -> ComposeResult:
        yield TypingBox(SafeInput("some text", compact=True))

    def on_mount(self) -> None:
        box = self.query_one(TypingBox)
        chip = EdgeWord(Content(" ↓ 42 lines "), 9, clicked="end", chip=True)
        box.upper.show((), (EdgeWord(Content("1 queued"), 5), chip))
        box.lower.show((_AGENT, _MODEL, _MODE), (_METER, _COST))
        box.behind.show((_MODE,))

    def on_edge_words_clicked(self, event: EdgeWords.Clicked) -> None:
        self.clicked.append(event.clicked)

    @property
    def rows(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


async def test_words_begin_on_the_second_cell_of_an_edge_and_end_two_before_the_last() -> None:
    app = _Boxed()
    async with app.run_test(size=(70, 20)):
        assert app.rows[:3] == [
            "╭───────────────────────────────────────────── 1 queued  ↓ 42 lines  ╮",
            "│ some text                                                          │",
            "╰ [b]Claude[/b] · Sonnet · ask before edits ──── 42k of 200k · $0.31 ╯",
        ]


async def test_where_there_is_no_room_the_lightest_words_go_first() -> None:
    app = _Boxed()
    async with app.run_test(size=(46, 20)):
        assert app.rows[2] == "╰ [b]Claude[/b] · ask before edits ─── $0.31 ╯"
    app = _Boxed()
    async with app.run_test(size=(32, 20)):
        assert app.rows[2] == "╰ ask before edits ───── $0.31 ╯"


async def test_a_word_that_stands_for_something_is_reported_when_it_is_clicked() -> None:
    app = _Boxed()
    async with app.run_test(size=(70, 20)) as pilot:
        await pilot.click(offset=(app.rows[0].index("42 lines"), 0))
        await pilot.click(offset=(app.rows[0].index("queued"), 0))
        await taken_in(pilot)
        assert app.clicked == ["end"]


async def test_on_a_short_screen_the_box_is_one_row() -> None:
    app = _Boxed()
    async with app.run_test(size=(40, 10)):
        assert app.rows[:2] == ["› some text             ask before edits", ""]


async def test_the_focus_that_comes_and_goes_styles_the_box_and_not_what_is_inside_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = _Boxed()
    async with app.run_test(size=(70, 20)) as pilot:
        box, field = app.query_one(TypingBox), app.query_one(SafeInput)
        field.focus()
        await taken_in(pilot)
        lit = box.upper.styles.color
        styled: list[DOMNode] = []
        apply = app.stylesheet.apply

        def noted(node: DOMNode, **named: Any) -> None:
            styled.append(node)
            apply(node, **named)

        monkeypatch.setattr(app.stylesheet, "apply", noted)
        box.on_descendant_blur()
        assert box.upper.styles.color != lit
        assert {node for node in styled if isinstance(node, Widget)} == {box.upper, field.parent, box.lower}
        box.on_descendant_focus()
        assert box.upper.styles.color == lit


def test_hints_go_from_the_left_and_the_last_one_goes_last() -> None:
    hints = (("ctrl+o", "history"), ("/", "commands"), ("f1", "help"))
    assert hints_line(hints, 40).plain == "ctrl+o history · / commands · f1 help"
    assert hints_line(hints, 36).plain == "/ commands · f1 help"
    assert hints_line(hints, 7).plain == "f1 help"
    assert hints_line(hints, 6).plain == ""

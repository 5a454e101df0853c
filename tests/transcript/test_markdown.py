"""Markdown as it is drawn, at three widths, and as it is copied."""

from __future__ import annotations

import pytest
from rich.style import Style

from catena.transcript.drawing.highlight import HighlightCache, lex
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette, RenderOptions, role_names
from catena.transcript.markdown.markdown import HREF, draw_markdown, fit_columns, parser
from support.counted_work import calls_counted
from support.screen.transcript import texts


def draw(text: str, width: int = 60, *, narrow: bool = False) -> list[Line]:
    return draw_markdown(
        text, RenderOptions(width, Palette.plain(), narrow, highlights=HighlightCache(eager=True))
    )


def rows(text: str, width: int = 60, *, narrow: bool = False) -> list[str]:
    return texts(draw(text, width, narrow=narrow))


def test_paragraphs_and_rules_have_one_blank_row_between_them_and_a_heading_none_below() -> None:
    assert rows("# One\ntext\nmore\n***\n\n\n## Two\n- a", 20) == [
        "One",
        "text more",
        "",
        "─" * 20,
        "",
        "Two",
        "• a",
    ]
    assert rows("# One\n\n\n```\ncode\n```", 20) == ["One", "", "code"]


def test_lists_nest_and_keep_the_blank_rows_of_their_source() -> None:
    text = "Steps:\n- a\n- b\n  1. one\n  2. two\n\n     more of two\n- [ ] open\n- [x] done\n"
    assert rows(text, 30) == [
        "Steps:",
        "• a",
        "• b",
        "  1. one",
        "  2. two",
        "",
        "     more of two",
        "☐ open",
        "☑ done",
    ]


def test_a_long_list_item_hangs() -> None:
    assert rows("12. one two three four five", 14) == ["12. one two", "    three four", "    five"]


def test_quotations_have_a_bar_and_hold_anything() -> None:
    assert rows("> a\n> - b\n>\n> c", 30) == ["▎ a", "▎ • b", "▎", "▎ c"]


@pytest.mark.parametrize("width", [60, 30])
def test_code_stands_on_the_texts_edge_and_is_folded_and_never_reflowed(width: int) -> None:
    code = "def f():\n\treturn 'x'\n\n" + "y" * (width + 1)
    assert rows(f"```py\n{code}\n```", width, narrow=width == 30) == [
        "def f():",
        "    return 'x'",
        "",
        "y" * width,
        "y",
    ]


def test_w22_code_is_copied_with_its_tabs_and_without_its_indentation() -> None:
    lines = draw("```go\nfunc f() {\n\treturn\n}\n```")
    assert "".join(line.text + line.joint for line in lines) == "func f() {\n\treturn\n}\n"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("**b** *i* ~~s~~ `c` \\*e\\*", "b i s `c` *e*"),
        ("[text](http://x.y/z)", "text (http://x.y/z)"),
        ("<http://x.y/z> and [x.y](https://x.y)", "http://x.y/z and x.y"),
        ("![a chart](chart.png)", "a chart (chart.png)"),
        ("<b>html</b> &amp; &lt; <!-- x -->", "<b>html</b> & < <!-- x -->"),
        ("hard  \nbreak", "hard|break"),
        ("[bold]not markup[/] [@click=app.quit]x[/]", "[bold]not markup[/] [@click=app.quit]x[/]"),
        ("&#27;[31m &#x202e;", "�[31m ⟨202E⟩"),
        ("[unclosed **and `so", "[unclosed **and `so"),
    ],
)
def test_the_inside_of_a_paragraph(text: str, drawn: str) -> None:
    assert "|".join(rows(text)) == drawn


@pytest.mark.parametrize(
    "text",
    [
        r"so $x_{P}\,y_{Q}$ and $a*b*c$ end",
        r"so \(a\,b_{P} *c* d\) end",
        r"so \[a\_b \\ c\] end",
        r"$$a_{P} __b__ \\ c$$",
        "2*3*4 and a*(b+c)*d and x**2 + y**2",
        "__init__.py, __init__ and pkg/__main__.py, _x_.y and __call__(self)",
        "$5*2 and $10*2, $HOME_A and $B_C",
        "snake_case_name and _private_name",
    ],
)
def test_a_formula_and_a_name_stay_as_they_are_written(text: str) -> None:
    assert rows(text, 80) == [text]


def test_a_formula_on_lines_of_its_own_has_no_headings_and_lists_in_it() -> None:
    formula = ["\\[", "a_{P} \\\\", "- b\\,c", "= d", "\\]"]
    assert rows("\n".join(["so", *formula, "*end*"])) == ["so", "", *formula, "", "end"]
    assert rows("- so\n  $$\n  x_{1} \\\\ *y*\n  $$\n- end") == [
        "• so",
        "  $$",
        "  x_{1} \\\\ *y*",
        "  $$",
        "• end",
    ]
    assert rows("\\[ *no* end") == ["[ no end"]


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (
            "**bold**text and *em*phasis, *a* 2*3*4, __Bold text__ and _em_.",
            "boldtext and emphasis, a 2*3*4, Bold text and em.",
        ),
        ("**粗体**文字*强调*文", "粗体文字强调文"),
        ("costs $5 *or* $10", "costs $5 or $10"),
        ("`\\(a\\)` and `$x_{1}$`", "`\\(a\\)` and `$x_{1}$`"),
        (r"\*no\* \_no\_", "*no* _no_"),
    ],
)
def test_marks_that_are_no_part_of_a_formula_or_a_name_are_markdown(text: str, drawn: str) -> None:
    assert rows(text, 80) == [drawn]


@pytest.mark.parametrize("marks", ["$x ", "\\(", "\\[\n", "$$ a\n", "a*b*", "*a", "__a", "_a_"])
def test_marks_without_end_are_read_in_steps_that_grow_with_the_text(marks: str) -> None:
    def steps(times: int) -> int:
        with calls_counted() as calls:
            parser().parse(marks * times)
        return calls.made

    assert steps(1) and steps(2_000) < 3 * steps(1_000)


def test_w26_a_link_has_its_address_for_the_pointer_and_a_web_address_for_the_terminal_too() -> None:
    styles = {
        segment.text: segment.style
        for line in draw("[a](http://x.y) [b](src/a.py)")
        for segment in line.segments
    }
    web, file = styles["a"], styles["b"]
    assert web is not None
    assert file is not None
    assert (web.meta[HREF], web.link) == ("http://x.y", "http://x.y")
    assert (file.meta[HREF], file.link) == ("src/a.py", None)


def test_w27_an_address_cannot_leave_its_escape_sequence() -> None:
    for line in draw("[a](<http://x\x1b]52;c;eA==\x07>) [b](javascript:alert(1))"):
        for segment in line.segments:
            assert segment.style is None or "\x1b" not in (segment.style.link or "")


TABLE = """
| name | count | note |
|:-----|:-----:|-----:|
| 日本語 | 1 | short |
| b | 22 | a note that is much too long for its column in a narrow place |
"""


def test_a_table_that_fits_is_aligned_as_it_says_and_has_one_rule_under_its_head() -> None:
    assert rows(TABLE, 100) == [
        "name     count                                                            note",
        "─" * 78,
        "日本語     1                                                             short",
        "b         22     a note that is much too long for its column in a narrow place",
    ]


def test_a_table_that_is_too_wide_wraps_its_cells() -> None:
    assert rows(TABLE, 40) == [
        "name     count                      note",
        "─" * 40,
        "日本語     1                       short",
        "",
        "b         22     a note that is much too",
        "                  long for its column in",
        "                          a narrow place",
    ]


def test_a_table_without_room_for_its_columns_becomes_a_list() -> None:
    wide = (
        "| "
        + " | ".join(f"column{n}" for n in range(6))
        + " |\n"
        + "|---" * 6
        + "|\n"
        + "| value " * 6
        + "|\n"
    )
    assert rows(wide, 30) == [f"column{n}: value" for n in range(6)]


def test_columns_share_what_there_is_and_modest_ones_get_what_they_want() -> None:
    assert fit_columns([5, 5], 100) == [5, 5]
    assert fit_columns([4, 50, 60], 46) == [4, 18, 18]
    assert fit_columns([50] * 10, 40) is None


def test_code_is_coloured_by_what_it_is_and_stays_as_it_was_written() -> None:
    code = 'def f(x):\n    # why\n    return "s" + 12'
    lines = lex(code, "python")
    assert "\n".join("".join(text for text, _ in line) for line in lines) == code
    roles = {text: role for line in lines for text, role in line}
    assert (roles["def"], roles["f"], roles["# why"], roles["12"]) == ("keyword", "name", "comment", "number")
    assert lex(code, "no example in this language") == tuple(((line, ""),) for line in code.split("\n"))


def test_a_code_block_of_more_than_two_thousand_lines_stays_plain() -> None:
    highlights = HighlightCache(eager=True)
    assert highlights.of("x = 1\n" * 3000, "python") is None
    assert highlights.of("x = 1\n" * 10, "python") is not None


def test_code_is_coloured_when_its_colours_are_known_and_plain_before() -> None:
    marked = Palette(**{name: Style(bold=name == "keyword") for name in role_names()})
    highlights = HighlightCache()
    options = RenderOptions(60, marked, highlights=highlights)
    text = "```python\nreturn 1\n```"
    assert not any(
        segment.style and segment.style.bold
        for line in draw_markdown(text, options)
        for segment in line.segments
    )
    highlights.add({key: lex(key[1], key[0]) for key in highlights.take_requests()})
    bold = [
        s.text for line in draw_markdown(text, options) for s in line.segments if s.style and s.style.bold
    ]
    assert bold == ["return"]

"""Answers are cut at sentences, and code is whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.linear.rows import agent_word, answer_line, set_in
from catena.linear.sentences import SentenceCutter, spoken_lines

ANSWER = """\
# A title
First sentence, e.g. with a dot. Second one! Does a third follow? Yes, at 3.5 km (cf. Fig. 2).
"Quoted." **Strong** words; `code. In it` stays. 三番目。次。
1. First
2. Second. And more.
- [x] done
- [ ] open

| a | b |
|---|---|
| 1. x | 2 |

> Quoted text.

```python
def f():  # a sentence. Another one.

    return 1
```
See [the page](https://example.org/a). The end
"""


def texts(answer: str) -> list[str]:
    return [line.text for line in spoken_lines(answer)]


def test_s04_a_sentence_is_a_line_and_marks_for_the_eye_are_not_read() -> None:
    assert texts(ANSWER) == [
        "Heading: A title",
        "First sentence, e.g. with a dot.",
        "Second one!",
        "Does a third follow?",
        "Yes, at 3.5 km (cf. Fig. 2).",
        '"Quoted."',
        "Strong words; `code. In it` stays.",
        "三番目。",
        "次。",
        "1. First",
        "2. Second.",
        "And more.",
        "- finished: done",
        "- open: open",
        "Row: a; b",
        "Row: a: 1. x; b: 2",
        "Quote: Quoted text.",
        "Code: python, 3 lines",
        "def f():  # a sentence. Another one.",
        "",
        "    return 1",
        "Code ends.",
        "See the page (https://example.org/a).",
        "The end",
    ]


def test_s04_a_row_of_a_table_says_its_columns_and_is_never_cut_nor_is_what_is_quoted() -> None:
    table = "| agent | fork | |\n|:--|:-:|--|\n| one | yes. Since May. | a \\| b |\n| two |  | no |\n"
    assert texts(f"{table}\n| no | head |\n> First. Second.\n## What is it? A title.\n") == [
        "Row: agent; fork; blank",
        "Row: agent: one; fork: yes. Since May.; a | b",
        "Row: agent: two; fork: blank; no",
        "Row: no; head",
        "Quote: First.",
        "Quote: Second.",
        "Heading: What is it? A title.",
    ]


@given(st.lists(st.integers(0, len(ANSWER)), max_size=40))
def test_s04_however_an_answer_arrives_it_is_cut_at_the_same_places(cuts: list[int]) -> None:
    cutter, lines = SentenceCutter(), []
    places = sorted({0, *cuts, len(ANSWER)})
    for start, end in pairwise(places):
        lines += cutter.feed(ANSWER[start:end])
    assert [*lines, *cutter.rest()] == spoken_lines(ANSWER)


def test_s04_code_waits_for_its_end_and_a_silence_reads_what_there_is() -> None:
    cutter = SentenceCutter()
    assert [line.text for line in cutter.feed("A sentence. And a ha")] == ["A sentence."]
    assert cutter.holds and [line.text for line in cutter.rest()] == ["And a ha"]
    assert cutter.feed("\n```\none\n") == [] and cutter.in_code
    assert [line.text for line in cutter.feed("two\n```\n")] == ["Code: 2 lines", "one", "two", "Code ends."]
    assert not cutter.holds


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (r"So $x_{P}__y__\,z$ and \\(a\,[b](c)\\) hold", None),
        ("x**2 + y**2 and 2*3*4", None),
        ("In __init__.py and __init__ and __call__(self)", None),
        ("a_{P} \\\\", None),
        ("__Bold text__ and **bold**text", "Bold text and boldtext"),
    ],
)
def test_s04_formulas_and_names_are_read_as_they_are_written(line: str, read: str | None) -> None:
    assert [each.text for each in spoken_lines(line)] == [read or line]


def test_s04_code_within_the_items_of_a_list_is_code() -> None:
    answer = "1. First:\n\n    ```python\n    def f():\n        pass\n    ```\n2. Then\n- ```sh\n  ls **\n  ```\nEnd."
    lines = [each.text for each in spoken_lines(answer)]
    assert lines == [
        "1. First:",
        *("Code: python, 2 lines", "def f():", "    pass", "Code ends."),
        "2. Then",
        *("Code: sh, 1 line", "ls **", "Code ends."),
        "End.",
    ]
    cutter = SentenceCutter()
    assert [line for each in answer for line in cutter.feed(each)] + cutter.rest() == spoken_lines(answer)


@pytest.mark.parametrize(
    "line",
    [
        "You 4: hello",
        "done: 3 seconds",
        "Claude 7: x",
        "asks: Allow it?",
        "12: Allow",
        "\u200bTool 3: x",
        "Line 3 added: x",
        "Row: x",
        "Heading: x",
        "Quote: x",
        "Code ends.",
        "To continue: catena --resume x",
    ],
)
def test_s04_a_line_of_the_agent_is_never_taken_for_one_of_structure(line: str) -> None:
    assert set_in(line, "Claude").startswith("  ")
    (spoken,) = spoken_lines(line)
    assert answer_line(spoken, "Claude").startswith("  ")


def test_s04_what_is_no_line_of_structure_stays_as_it_is() -> None:
    for line in ("def f():", "Note that this is text: yes", "https://example.org", "for x in y: print(x)"):
        assert set_in(line, "Claude") == line


def test_s04_an_agent_is_called_by_a_word_that_can_be_searched() -> None:
    assert agent_word("Claude Code") == "Claude Code"
    assert [agent_word(title) for title in ("Asks", "クロード", "", "\x1b[31mYou")] == ["Agent"] * 4

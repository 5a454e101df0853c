"""A line of output with its colours: nothing else in it reaches the terminal."""

from __future__ import annotations

import pytest

from catena.programs.status_line import coloured_line


def looks(output: str, *, coloured: bool = True) -> list[tuple[str, str]]:
    """The pieces of the line with their styles."""
    line = coloured_line(output, coloured=coloured)
    return [(line.plain[span.start : span.end], str(span.style)) for span in line.spans]


def test_w31_colours_become_those_of_the_theme_and_attributes_stay() -> None:
    assert looks("a\x1b[31mred\x1b[1;4m both\x1b[22m under\x1b[0m none\x1b[90mgrey\x1b[mend") == [
        ("a", "$muted"),
        ("red", "$failure"),
        (" both", "bold underline $failure"),
        (" under", "underline $failure"),
        (" none", "$muted"),
        ("grey", "$faint"),
        ("end", "$muted"),
    ]
    assert looks("\x1b[38;5;208mo\x1b[38;2;1;2;3mt\x1b[48;5;2mg\x1b[38:5:1mc") == [
        ("o", "#ff8700"),
        ("t", "#010203"),
        ("g", "#010203 on $added"),
        ("c", "$failure on $added"),
    ]
    assert looks("\x1b[1;31mred", coloured=False) == [("red", "bold $muted")]


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J\x1b[Hab",
        "a\x1b]0;title\x07b",
        "a\x1b]8;;https://x\x1b\\b\x1b]8;;\x1b\\",
        "a\x1bP1$r0m\x1b\\b",
        "\x9b2Ja\x9d0;t\x07b",
        "a\x1b[38;2;999;0;0mb",
        "a\x1b[38;5mb",
        "a\x1b[38;5;99999mb",
        "a\x1b[?25lb\x1b7\x1bc",
        "a\x00\x08b\r",
        "ab\x1b]52;c;never ends",
        "\r\nab\nsecond",
        "ab\x1b[",
    ],
)
def test_w31_everything_else_that_a_terminal_would_obey_is_dropped(hostile: str) -> None:
    plain = coloured_line(hostile).plain
    assert plain.removesuffix("[").removesuffix("\u241b") == "ab"


def test_w31_markup_is_text_and_overrides_of_direction_are_seen() -> None:
    assert coloured_line("[red]a[/red]").plain == "[red]a[/red]"
    assert coloured_line("a\u202eb").plain == "a⟨202E⟩b"
    assert len(coloured_line("x" * 100_000).plain) == 2_000

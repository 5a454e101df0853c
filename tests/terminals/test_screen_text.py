"""Output of a terminal as the lines that it leaves."""

from __future__ import annotations

import tracemalloc

import pytest

from catena_acp.terminals.screen_text import PLAIN, pieces_of, screen_text, without_colours
from catena_acp.terminals.terminal import SHOWN, KeptOutput, shown_text, text_of

RED = "\x1b[31m"
OFF = "\x1b[0m"


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("10 %\r50 %\r100 %\n", "100 %"),
        ("loading…\r\x1b[Kdone\n", "done"),
        ("long line\rab", "abng line"),
        ("abc\b\bX", "aXc"),
        ("a\tb\x07", "a       b"),
        ("one\ntwo\n\x1b[2A\x1b[2KONE\n\x1b[2KTWO\n", "ONE\nTWO"),
        ("one\ntwo\nthree\n\x1b[2A\x1b[Jend", "one\nend"),
        ("\x1b[2J\x1b[Hfirst\n\x1b[Hagain", "again"),
        ("abcdef\x1b[4D\x1b[2P", "abef"),
        ("abc\x1b[1G\x1b[2X", "  c"),
        ("\x1b]0;a title\x07shown\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "shownlink"),
        ("\x1b[?25l\x1b[?1049hx\x1b[>4;2m\x1b(B\x1b=\x1b7", "x"),
        ("\x1bPq~~~\x1b\\x\x9fbad\x9cy", "xy"),
        ("x\x1b[", "x"),
        ("x\x1b]never ended", "xnever ended"),
        ("日本語\r日\x1b[Kx", "日x"),
        ("日本\b\b\bx", " x本"),
        ("e\u0301\rx", "x"),
        ("\n" * 50 + "\x1b[99Atop", "\n" * 11 + "top"),
        ("end\n\n\n", "end"),
        ("\x00\x01\x7f\x85\x90", ""),
    ],
)
def test_w11_what_a_program_writes_over_is_shown_in_its_last_state(output: str, lines: str) -> None:
    assert screen_text(output) == lines


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (f"{RED}red{OFF} plain", f"{RED}red{OFF} plain"),
        (f"{RED}one\ntwo", f"{RED}one{OFF}\n{RED}two{OFF}"),
        (f"{RED}gone\r\x1b[Kkept", f"{RED}kept{OFF}"),
        ("\x1b[1;4;32mx", "\x1b[1;4;32mx\x1b[0m"),
        ("\x1b[1;31mx\x1b[22my\x1b[39mz", f"\x1b[1;31mx{OFF}{RED}y{OFF}z"),
        ("\x1b[38;5;196mx", "\x1b[91mx\x1b[0m"),
        ("\x1b[38;2;0;130;0mx", "\x1b[32mx\x1b[0m"),
        ("\x1b[38:2::0:0:130mx", "\x1b[34mx\x1b[0m"),
        ("\x1b[48;5;240mx", "\x1b[100mx\x1b[0m"),
        ("\x1b[4:3mx\x1b[4:0my", "\x1b[4mx\x1b[0my"),
        ("\x1b[38;5mx\x1b[38;7;1my\x1b[999999999mz", "xyz"),
    ],
)
def test_w11_colours_are_kept_as_the_16_of_terminals(output: str, lines: str) -> None:
    assert screen_text(output) == lines
    assert screen_text(lines) == lines
    assert without_colours(lines) == "".join(
        piece.text for row in lines.split("\n") for piece in (*pieces_of(row), *pieces_of("\n"))
    ).removesuffix("\n")


@pytest.mark.parametrize(
    ("piece", "most"),
    [
        ("\x1b[9999Cx\n", 14), ("\x1b[1;9999Hx\n", 14), ("\x1b[9999G\x1b[9999Xx\n", 14),
        ("\t" * 50 + "x\n", 14), ("\x1b[9999C\x1b[1Kx\n", 14), ("\x1b[31mx\x1b[32my", 2),
    ],
)  # fmt: skip
def test_w11_an_output_that_jumps_about_leaves_no_more_than_a_screen_is_wide(piece: str, most: int) -> None:
    output = piece * (SHOWN // 4 // len(piece))
    tracemalloc.start()
    lines = screen_text(output)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(lines) <= most * len(output)
    assert peak < 100 * len(output)  # what has left the screen is text, not cells


def test_w11_nothing_but_colours_and_text_is_left_of_any_bytes() -> None:
    noise = bytes((at * 7 + at // 256 * 13) % 256 for at in range(20_000))
    text = shown_text(noise)
    assert not [c for c in without_colours(text) if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"]
    assert all(pen == PLAIN or pen.codes for row in text.split("\n") for pen, _ in pieces_of(row))


def test_w11_an_agent_gets_the_end_of_an_output_cut_where_a_character_begins() -> None:
    output = KeptOutput(101)
    output.add("é".encode() * 50)
    assert not output.truncated and text_of(*output.newest()) == "é" * 50
    output.add("é".encode() * 1_000)
    assert output.truncated and text_of(*output.newest()) == "é" * 50


def test_w11_a_character_that_is_not_there_yet_is_left_out() -> None:
    output = KeptOutput(None)
    output.add(b"done \xe2\x82")
    assert text_of(*output.newest()) == "done "
    output.add(b"\xac\n")
    assert text_of(*output.newest()) == "done €\n"


def test_w11_invalid_bytes_do_not_exceed_the_agents_limit() -> None:
    output = KeptOutput(100)
    output.add(b"\xff" * 1_000)
    assert len(text_of(*output.newest()).encode()) <= 100


def test_w11_an_agent_may_ask_for_no_output_and_not_for_all_memory() -> None:
    none, most = KeptOutput(0), KeptOutput(10**12)
    for output in (none, most):
        for _ in range(300):
            output.add(b"x" * 65_536)
    assert (text_of(*none.newest()), none.truncated) == ("", True)
    assert (len(text_of(*most.newest())), most.truncated) == (1 << 20, True)


def test_w11_the_person_sees_the_last_whole_lines_and_how_many_are_above() -> None:
    output = KeptOutput(10)  # what the agent asks for is no matter of the person's
    for number in range(200_000):
        output.add(b"line %d\n" % number)
    data, hidden = output.shown(running=False)
    rows = shown_text(data).split("\n")
    assert rows[-1] == "line 199999" and len(data) <= SHOWN
    assert rows[0] == f"line {hidden}" and hidden + len(rows) == 200_000

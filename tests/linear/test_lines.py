"""What is typed, what is written, and where linear mode is on."""

from __future__ import annotations

import pytest

from catena.errors import CommandRefused
from catena.linear.commands.commands import COMMANDS
from catena.linear.input import TextAssembly
from catena.linear.output import LineOutput
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.settings.linear import LinearSetting, linear_setting

# Commands of the screen that are about places on it, about its colours and keys, or done by the terminal itself.
ONLY_ON_A_SCREEN = {
    "side": "tabs take the place of panes",
    "other-pane": "the same",
    "swap-panes": "the same",
    "close-pane": "the same",
    "browse": "/read and /show",
    "theme": "no colours",
    "palette": "/help",
    "copy": "a terminal's clipboard takes control sequences; /save writes a file",
    "paste": "the same; /attach takes a path",
    "open-image": "/save writes the image into a file",
    "editor": "three quotes begin a prompt of several lines",
    "suspend": "Ctrl+Z is the terminal's own",
}


def test_s04_every_command_of_the_screen_has_a_twin() -> None:
    ours = {name for command in COMMANDS for name in (command.name, *command.aliases)}
    missing = {each.name for each in SLASH_COMMANDS} - ours
    assert missing == set(ONLY_ON_A_SCREEN)


def test_s04_a_name_stands_for_one_command() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


def assembled(*lines: str) -> list[str]:
    assembly = TextAssembly()
    found = [text for line in lines if (text := assembly.add(line)) is not None]
    assert not assembly.begun
    return found


def test_s04_a_prompt_may_have_several_lines() -> None:
    assert assembled("one", "two") == ["one", "two"]
    assert assembled("one\\", "two\\", "three") == ["one\ntwo\nthree"]
    assert assembled('"""', "one", "", "two", '"""', "three") == ["one\n\ntwo", "three"]
    assert assembled('"""one', 'two"""') == ["one\ntwo"]
    assert assembled('"""all of it"""') == ["all of it"]


def test_s04_no_control_character_is_ever_written() -> None:
    written: list[str] = []
    out = LineOutput(written.append)
    out.mark("You 1: \x1b[2J")
    for code in range(0x100):
        out.line(f"before{chr(code)}behind \x1b]0;title\x07")
    out.last_line("\x9b31m\x08the end\r")
    text = "".join(written)
    assert {each for each in text if ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0} == {"\n", "\t", "\a"}
    assert text.count("\a") == 1 and text.endswith("\a\n")


def test_u11_done_a_question_and_a_failure_ring_differently_unless_bells_are_alike_or_off() -> None:
    for most, rung in ((3, "\a \a\a \a\a\a"), (1, "\a \a \a"), (0, "  ")):
        written: list[str] = []
        out = LineOutput(written.append, most_bells=most)
        for bells in (1, 2, 3):
            out.last_line("", bells=bells)
        assert "".join(written).replace("\n", " ") == f"{rung} "


def test_s04_a_line_never_goes_on_behind_a_marker() -> None:
    written: list[str] = []
    out = LineOutput(written.append)
    out.mark("You 1: ")
    out.line("Note: one")
    out.mark("You 1: ")
    out.mark("You 1: ")
    out.entered()
    out.line("Note: two")
    assert "".join(written) == "You 1: \nNote: one\nYou 1: Note: two\n"


def test_s04_words_of_ours_are_spelt_with_what_the_terminal_has() -> None:
    written: list[str] = []
    LineOutput(written.append, encoding="ascii").line("“Renamed” … · ok")
    assert "".join(written) == '"Renamed" ... , ok\n'


@pytest.mark.parametrize(
    ("flag", "variable", "setting", "term", "reads", "writes", "level"),
    [
        (None, None, "auto", "xterm", True, True, None),
        (None, None, "auto", "dumb", True, True, "normal"),
        (None, None, "auto", "xterm", True, False, "normal"),
        (None, None, "auto", "xterm", False, True, None),
        (None, None, "auto", "dumb", False, False, None),
        (None, None, "quiet", "xterm", False, False, "quiet"),
        (None, "verbose", "quiet", "xterm", True, True, "verbose"),
        ("normal", "verbose", "quiet", "xterm", True, True, "normal"),
        ("off", "verbose", "quiet", "dumb", True, True, None),
        (None, "off", "quiet", "dumb", True, True, None),
        (None, "", "quiet", "xterm", True, True, "quiet"),
        ("screen-reader", "quiet", "off", "xterm", True, True, "screen-reader"),
    ],
)
def test_s04_the_flag_decides_then_the_variable_then_the_setting(
    flag: str | None,
    variable: str | None,
    setting: str,
    term: str,
    reads: bool,
    writes: bool,
    level: str | None,
) -> None:
    environment = {"TERM": term} | ({} if variable is None else {"CATENA_LINEAR": variable})
    found = linear_setting(
        flag, environment, LinearSetting(setting), reads_terminal=reads, writes_terminal=writes
    )
    assert found == level


@pytest.mark.parametrize(
    ("flag", "variable", "level"),
    [(None, None, "screen-reader"), (None, "quiet", "quiet"), ("off", None, None)],
)
def test_u11_accessible_asks_for_linear_mode_unless_the_flag_or_the_variable_says_otherwise(
    flag: str | None, variable: str | None, level: str | None
) -> None:
    environment = {"ACCESSIBLE": "1"} | ({} if variable is None else {"CATENA_LINEAR": variable})
    found = linear_setting(flag, environment, LinearSetting.OFF, reads_terminal=True, writes_terminal=True)
    assert found == level
    environment["ACCESSIBLE"] = "0"
    assert linear_setting(
        None, environment, LinearSetting.OFF, reads_terminal=True, writes_terminal=True
    ) == (variable)


def test_s04_a_level_that_is_none_is_named() -> None:
    with pytest.raises(CommandRefused, match="CATENA_LINEAR must be one of auto, off, quiet"):
        linear_setting(
            None,
            {"CATENA_LINEAR": "loud"},
            LinearSetting.AUTO,
            reads_terminal=True,
            writes_terminal=True,
        )

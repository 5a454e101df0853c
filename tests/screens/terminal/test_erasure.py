"""Which terminals erase with the background that is set."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

ASK = (
    "import os; from catena.terminal.characters import erases_with_background;"
    " print(erases_with_background(os.environ))"
)


def says(environment: Mapping[str, str]) -> bool:
    """The answer in a process of its own: a description is read once in each."""
    run = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout == "True\n"


@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": "xterm-256color"},
        {"TERM": "alacritty"},  # described or not
        {"TERM": "alacritty", "TERMINFO": "/nowhere", "TERMINFO_DIRS": "/nowhere"},
        {"TERM": "tmux-256color"},
        {"TERM": "screen-256color", "TERM_PROGRAM": "tmux"},
    ],
)
def test_a_terminal_erases_with_the_background_where_it_is_described_or_known(
    environment: Mapping[str, str],
) -> None:
    assert says(environment)


@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": "vt100"},
        {"TERM": "screen-256color"},
        {"TERM": "screen", "TERM_PROGRAM": "tmux", "STY": "12.screen"},  # started within tmux
        {"TERM": "xterm-256color", "STY": "12.screen"},
        {"TERM": "no-such-terminal"},
        {},
    ],
)
def test_a_terminal_does_not_in_doubt_or_where_it_may_be_gnu_screen(environment: Mapping[str, str]) -> None:
    assert not says(environment)

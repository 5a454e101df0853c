"""Every command of linear mode at a terminal, as it is done and said: the stories of `goldens/lines`, line by line."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from catena.linear.commands.commands import COMMANDS
from support.clients.conversing import SHELL, SHELL_AT_ONCE, SIGNS, converse, furnish
from support.goldens import is_golden, masked

STORIES = sorted((Path(__file__).parent / "goldens" / "lines").glob("*.txt"))
# A line of a story: what was typed behind whatever stands there, or a command of the shell.
_TYPED = re.compile(rf"^(?:[^{SIGNS}\n]*([{SIGNS}].*)|([{SHELL}{SHELL_AT_ONCE}] .*))$", re.MULTILINE)

# What is said of another tab; if it interrupts a prompt that is waiting, that prompt stands there again behind it.
_OF_ANOTHER_TAB = re.compile(r"^(?:You \d+: \n)?(Tab: \d+, .* goes there\.\n)", re.MULTILINE)
_NEXT_TYPED = re.compile(rf"^You \d+: [{SIGNS}]", re.MULTILINE)


def script_of(story: str) -> list[str]:
    return [typed or shell for typed, shell in _TYPED.findall(story)]


def with_other_tabs_last(said: str) -> str:
    """What was said, with words of other tabs right before what is typed next: they end sooner or later than ours."""
    for told in reversed([*_OF_ANOTHER_TAB.finditer(said)]):
        typed = _NEXT_TYPED.search(said, told.end())
        at = typed.start() if typed else len(said)
        said = said[: told.start()] + said[told.end() : at] + told[1] + said[at:]
    return said


@pytest.mark.parametrize("story", STORIES, ids=[each.stem for each in STORIES])
def test_s04_linear_mode_says_what_it_said(
    story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(story.read_text())
    with furnish(tmp_path, monkeypatch) as project:
        said = asyncio.run(converse(script, project))
    assert is_golden(with_other_tabs_last(masked(said, tmp_path)), story)


def test_s04_every_command_of_linear_mode_is_in_a_story() -> None:
    typed = [f"{line[1:].strip()} " for story in STORIES for line in script_of(story.read_text())]
    left = [
        each
        for each in COMMANDS
        if not any(line.startswith((f"/{each.name} ", f"/{each.words} ")) for line in typed)
    ]
    assert [each.name for each in left] == []

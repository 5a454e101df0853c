"""Every command of linear mode at a terminal, as it is done and said: the stories of `goldens/lines`, line by line."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from catena.linear.commands.table import COMMANDS
from support.clients.conversing import SHELL, SHELL_AT_ONCE, SIGNS, converse, furnish
from support.goldens import is_golden, masked

STORIES = sorted((Path(__file__).parent / "goldens" / "lines").glob("*.txt"))
# A line of a story: what was typed behind whatever stands there, or a command of the shell.
_TYPED = re.compile(rf"^(?:[^{SIGNS}\n]*([{SIGNS}].*)|([{SHELL}{SHELL_AT_ONCE}] .*))$", re.MULTILINE)


def script_of(story: str) -> list[str]:
    return [typed or shell for typed, shell in _TYPED.findall(story)]


@pytest.mark.parametrize("story", STORIES, ids=[each.stem for each in STORIES])
def test_s04_linear_mode_says_what_it_said(
    story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(story.read_text())
    with furnish(tmp_path, monkeypatch) as project:
        said = asyncio.run(converse(script, project))
    assert is_golden(masked(said, tmp_path), story)


def test_s04_every_command_of_linear_mode_is_in_a_story() -> None:
    typed = {line[1:].strip().split(" ")[0] for story in STORIES for line in script_of(story.read_text())}
    assert not {f"/{each.name}" for each in COMMANDS} - typed

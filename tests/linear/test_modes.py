"""A mode is said once: by the command that sets it, else by the line about what the agent does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.clients.conversing import converse, furnish


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with furnish(tmp_path, monkeypatch) as project:
        yield project


async def test_a_mode_that_a_command_sets_is_said_once(project: Path) -> None:
    told = await converse(("▸say One.", "▸/mode plan", "▸/options mode ask", "▸/model mode"), project)
    assert told.count("The mode is Plan.") == told.count("Mode is Ask.") == 1
    assert "Mode: " not in told


async def test_a_mode_that_the_agent_sets_is_said(project: Path) -> None:
    told = await converse(("▸say One.", "▸mode plan"), project)
    assert told.count("Mode: Plan") == 1


async def test_a_mode_that_a_command_sets_is_said_again_when_the_agent_comes_back_to_it(
    project: Path,
) -> None:
    told = await converse(
        ("▸say One.", "▸begin; cue go; mode ask; mode plan", "▹/mode plan", "¶give go"), project
    )
    assert told.count("The mode is Plan.") == 1
    assert told.index("The mode is Plan.") < told.index("Mode: Ask") < told.index("Mode: Plan")

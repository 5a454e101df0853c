"""A command that fails in a way that nobody foresaw: it is said in a line, and linear mode goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena.linear.commands.prompts import PromptCommands
from support.clients.conversing import converse, furnish


async def test_an_error_of_our_own_ends_one_command_and_its_traceback_is_in_the_log_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: PromptCommands) -> None:
        raise LookupError("nothing is\n there")

    monkeypatch.setattr(PromptCommands, "draft", broken)
    with furnish(tmp_path, monkeypatch) as project:
        monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "kept"))
        told = (await converse(("▸/draft", "▸say Still here."), project)).splitlines()
    log = tmp_path / "kept" / "catena.log"
    assert f"Trouble: internal error (LookupError: nothing is there). Details: {log}" in told
    assert "Rehearsal 2: Still here." in told and told[-1].startswith("To continue: ")
    assert "Traceback" in log.read_text()

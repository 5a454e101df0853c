"""What fails: a command in a way that nobody foresaw, and a prompt at a limit, which goes out again at its end."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from catena.linear.commands.prompts import PromptCommands
from catena.workspace.trouble import RETRY_CANCELLED
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


async def test_r01_a_prompt_goes_out_again_at_the_end_of_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catena.workspace.trouble.GRACE", timedelta())
    with furnish(tmp_path, monkeypatch) as project:
        told = await converse(("▸ratelimit 2", "▸/retry wait", "§ sleep 3", "▸/show from 1"), project)
    assert "(version 2 of 2) ratelimit 2" in told, told


async def test_r01_a_prompt_waits_for_the_end_of_its_limit_in_each_tab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_tab = ("▸ratelimit 600", "▸/retry wait")
    with furnish(tmp_path, monkeypatch) as project:
        told = await converse(
            (*in_a_tab, "▸/new", *in_a_tab, "▸/retry wait", "▸/tab 1", "▸/retry wait"), project
        )
    assert re.findall(f"Sent again|{RETRY_CANCELLED}", told) == 2 * ["Sent again"] + 2 * [RETRY_CANCELLED], (
        told
    )


async def test_r01_a_prompt_that_came_back_stays_a_draft_where_the_person_did_something_else_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catena.workspace.trouble.GRACE", timedelta())
    ends = (datetime.now(UTC) + timedelta(seconds=6)).isoformat()
    limit = [-32603, "You have reached your rate limit.", {"errorKind": "rate_limit", "resetsAt": ends}]
    (tmp_path / "full.json").write_text(json.dumps({"new": {"error": limit, "times": 2}}))
    full = 'agents.full = { command = "two", env = { CATENA_REHEARSAL_FAULTS = "../full.json" } }\n'
    script = ("▸/agent full", "▸say hello", "▸/retry wait", "▸/clear", "§ sleep 6", "▸/draft")
    with furnish(tmp_path, monkeypatch, full) as project:
        told = await converse(script, project)
    assert "Sent again when the limit ends" in told, told
    assert told.count("say hello") == 2 and "full 2: hello" not in told, told


async def test_r01_nothing_waits_for_a_limit_that_the_conversation_has_gone_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ("▸ratelimit 600", "▸/agent two", "▸say hello", "▸/retry wait")
    with furnish(tmp_path, monkeypatch) as project:
        told = await converse(script, project)
    assert "There is no limit to wait for." in told and "Sent again" not in told, told

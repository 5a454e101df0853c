"""Which agents there are and which are here, and what importing this floor costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from catena_acp.agents.catalog import (
    catalog,
    command_spec,
    find_agents,
    find_spec,
    lacks_account,
    short_title,
)
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec


def install(folder: Path, *names: str) -> str:
    folder.mkdir(exist_ok=True)
    for name in names:
        program = folder / name
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    return str(folder)


def commands(path: str) -> dict[str, tuple[str, ...]]:
    return {found.entry.name: found.spec.command for found in find_agents(path) if found.spec is not None}


def test_w17_agents_are_found_on_the_path_and_the_built_in_one_always(tmp_path: Path) -> None:
    path = install(tmp_path / "bin", "opencode", "gemini")
    assert commands(path) == {
        "opencode": ("opencode", "acp"),
        "gemini": ("gemini", "--acp"),
        "rehearsal": (sys.executable, "-m", "catena_acp.rehearsal"),
    }


def test_w17_an_agent_whose_adapter_is_not_installed_is_started_through_npx(tmp_path: Path) -> None:
    path = install(tmp_path / "bin", "claude")
    assert "claude" not in commands(path)
    install(tmp_path / "bin", "npx")
    assert commands(path)["claude"] == ("npx", "-y", "@agentclientprotocol/claude-agent-acp")
    assert "codex" not in commands(path)
    install(tmp_path / "bin", "claude-agent-acp")
    assert commands(path)["claude"] == ("claude-agent-acp",)


def test_w17_every_entry_says_how_to_get_it_and_the_built_in_one_is_last() -> None:
    entries = catalog()
    assert len({entry.name for entry in entries}) == len(entries)
    assert entries[-1].name == "rehearsal"
    for entry in entries:
        assert entry.title
        assert entry.install
        assert entry.commands
        assert (entry.login is None) == (entry.name == "rehearsal")


def test_w17_an_agent_without_an_account_is_known_by_its_files_and_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex, opencode = (
        next(each for each in catalog() if each.name == name) for name in ("codex", "opencode")
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    for each in codex.accounts:
        if not each.startswith("~"):
            monkeypatch.delenv(each, raising=False)
    assert lacks_account(codex) and not lacks_account(opencode)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert not lacks_account(codex)
    monkeypatch.delenv("OPENAI_API_KEY")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "auth.json").touch()
    assert not lacks_account(codex)


def test_w17_any_command_is_an_agent_and_its_name_does_not_depend_on_quotes() -> None:
    spec = command_spec("/opt/my\\ agent/run  --x 'a b'")
    assert spec.command == ("/opt/my agent/run", "--x", "a b")
    assert spec.title == "run"
    assert command_spec("'/opt/my agent/run' --x \"a b\"") == spec
    assert find_spec(spec.name) == spec


@pytest.mark.parametrize("command", ["", "  ", "'open"])
def test_a_command_that_is_none_is_missing(command: str) -> None:
    with pytest.raises(AgentMissing):
        command_spec(command)


def test_w17_a_configured_agent_wins_over_the_catalogue() -> None:
    mine = AgentSpec("claude", "Mine", ("mine",))
    assert find_spec("claude", {"claude": mine}) is mine
    assert find_spec("rehearsal", {"claude": mine}).name == "rehearsal"


def test_w17_an_agent_that_is_not_here_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentMissing, match="not installed; catena agents install gemini"):
        find_spec("gemini")
    with pytest.raises(AgentMissing, match="unknown agent"):
        find_spec("nobody")


def test_q03_this_floor_is_imported_without_the_sdk() -> None:
    program = (
        "from catena_acp import errors\n"
        "from catena_acp.port import abilities, port, session_events\n"
        "from catena_acp.agents import agent, catalog\n"
        "from catena_acp.protocol import answers, files, session_updates, transport\n"
        "import sys\n"
        "print([name for name in ('acp', 'pydantic', 'pydantic_core', 'textual', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_agent_is_called_without_the_kind_of_program_it_is() -> None:
    titles = ("Claude Code", "Kimi Code CLI", "OpenCode", "CLI", "")
    assert [short_title(title) for title in titles] == ["Claude", "Kimi", "OpenCode", "CLI", ""]

"""Installs of agents: complete or not at all, and found without PATH."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from catena_acp.agents.catalog import find_agents, find_spec
from catena_acp.agents.registry.entries import read_entries
from catena_acp.agents.registry.installer import install
from catena_acp.agents.registry.installs import (
    Install,
    agents_directory,
    find_install,
    installed_agents,
    locked,
    remove_install,
)
from catena_acp.agents.registry.plans import InstallPlan, plan_install
from catena_acp.errors import AgentMissing, InstallFailed
from support.agents.registry import agent_archive, archived, entry


def plan_of(fields: dict[str, object]) -> InstallPlan:
    (only,), _ = read_entries({"agents": [fields]})
    plan = plan_install(only)
    assert plan
    return plan


def installed(tmp_path: Path, version: str) -> Install:
    return install(plan_of(archived(agent_archive(tmp_path, version), version)), lambda *_: None)


def test_w34_an_installed_agent_is_found_by_its_path_and_gone_when_it_is_removed(tmp_path: Path) -> None:
    done = installed(tmp_path, "1.0")

    program = agents_directory() / "fake/1.0/files/agent/bin/run"
    assert (done.command, done.verified) == ((str(program), "acp"), True)
    assert os.access(program, os.X_OK) and not program.stat().st_mode & 0o7022
    assert find_spec("fake").command == done.command
    found = {each.entry.name: each.version for each in find_agents("")}
    assert found["fake"] == "1.0"
    assert not list(agents_directory().glob("fake/1.0/download"))

    assert remove_install("fake") > 0
    with pytest.raises(AgentMissing):
        find_spec("fake")
    assert installed_agents() == ()


def test_w34_an_agent_of_the_catalogue_keeps_its_name_and_comes_before_the_one_on_path(
    tmp_path: Path,
) -> None:
    here = tmp_path / "claude-agent-acp"
    here.write_text("#!/bin/sh\n")
    here.chmod(0o755)
    archive = agent_archive(tmp_path, "9")

    done = install(plan_of(archived(archive, "9", id="claude-acp")), lambda *_: None)

    claude = next(each for each in find_agents(str(tmp_path)) if each.entry.name == "claude")
    assert claude.spec is not None
    assert (claude.spec.name, claude.spec.title, claude.spec.command) == ("claude", "Claude", done.command)


def test_w34_a_new_version_takes_the_place_of_the_old_which_may_still_run_until_the_next(
    tmp_path: Path,
) -> None:
    for version in ("1.0", "2.0", "2.0", "3.0"):
        installed(tmp_path, version)
        found = find_install("fake")
        assert found and found.version == version

    kept = {each.name for each in (agents_directory() / "fake").iterdir() if each.is_dir()}
    assert kept == {"2.0-2", "3.0"}


@pytest.mark.parametrize(
    ("program", "digest", "why"),
    [("", "f" * 64, "SHA-256"), ("missing", None, "no program"), ("", None, "missing archive")],
)
def test_w34_an_install_that_fails_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, program: str, digest: str | None, why: str
) -> None:
    before = installed(tmp_path, "1.0")
    fields = archived(agent_archive(tmp_path, "2.0"), "2.0", digest=digest)
    for target in fields["distribution"]["binary"].values():
        target["cmd"] = f"agent/{program}" if program else target["cmd"]
        target["archive"] += ".gone" if "archive" in why else ""

    with pytest.raises(InstallFailed, match=why.replace("missing archive", "No such file")):
        install(plan_of(fields), lambda *_: None)

    assert find_install("fake") == before
    assert [each.name for each in (agents_directory() / "fake").iterdir() if each.is_dir()] == ["1.0"]


def test_w34_a_kill_in_the_middle_leaves_the_old_one_and_the_next_install_clears_up(tmp_path: Path) -> None:
    before = installed(tmp_path, "1.0")
    code = (
        "import os, signal, sys, json\n"
        "from agents.test_installs import plan_of\n"
        "from catena_acp.agents.registry.installer import install\n"
        "install(plan_of(json.loads(sys.argv[1])), lambda *_: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    import json

    fields = json.dumps(archived(agent_archive(tmp_path, "2.0"), "2.0"))
    tests = str(Path(__file__).parents[1])
    killed = subprocess.run(
        [sys.executable, "-c", code, fields], env=os.environ | {"PYTHONPATH": tests}, check=False
    )

    assert killed.returncode == -9
    assert (agents_directory() / "fake/2.0/download").exists()
    assert find_install("fake") == before
    installed(tmp_path, "2.0")
    found = find_install("fake")
    assert found and found.version == "2.0" and found.directory == "2.0-2"
    assert not (agents_directory() / "fake/2.0").exists()


def test_w34_two_installs_of_one_agent_do_not_meet_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    plan = plan_of(archived(tmp_path / "gone.tar.gz", "1.0"))
    with pytest.raises(InstallFailed, match="No such file"):
        install(plan, lambda *_: None)
    assert not (agents_directory() / "fake").exists()
    with locked("fake"), pytest.raises(InstallFailed, match="another Catena"):
        installed(tmp_path, "1.0")
    assert find_install("fake") is None
    handle = os.open(agents_directory() / ".fake.lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it was let go
    os.close(handle)


@pytest.mark.parametrize("note", ["", "{}", '{"command": []}', "[1]", '{"command": [1], "directory": "x"}'])
def test_w34_a_damaged_note_is_an_agent_that_is_not_installed(tmp_path: Path, note: str) -> None:
    installed(tmp_path, "1.0")
    (agents_directory() / "fake/install.json").write_text(note)

    assert find_install("fake") is None
    installed(tmp_path, "1.0")
    assert find_install("fake")


@pytest.mark.parametrize(("kind", "tool"), [("npx", "npm"), ("uvx", "uv")])
def test_w34_a_tool_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, tool: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InstallFailed, match=f"^{tool} is needed and was not found"):
        install(plan_of(entry("fake", "1.0", **{kind: {"package": "fake"}})), lambda *_: None)

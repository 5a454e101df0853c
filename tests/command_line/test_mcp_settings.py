"""MCP servers, projects, hooks and the status line in the settings file: read, shown, and refused with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena.app.services import mcp_servers
from catena.errors import InvalidSettings
from catena.settings.settings import parse_settings
from catena.settings.tables import additional_directories
from catena_acp.mcp.servers import Transport
from support.clients.command_line import Catena

SETTINGS = """\
status_line = "~/.claude/statusline.sh"

[mcp.git-hub]
url = "https://example.org/mcp"
headers = { Authorization = "Bearer abc" }
agents = ["claude", "work"]

[mcp.clock]
command = "clock --stdio"
env = { TZ = "UTC" }
projects = ["~/src"]
enabled = false

[agents.work]
agent = "claude"
env = { CLAUDE_CONFIG_DIR = "/w" }

[projects."/tmp/a.b"]
directories = ["../c"]

[hooks]
turn_end = "notify-send done"
seam = [["log", "seam"], "date >> seams"]
"""


def test_w14_servers_are_read_and_named_for_the_agents_and_projects_that_get_them() -> None:
    settings = parse_settings(Path("config.toml"), SETTINGS)
    hub, clock = mcp_servers(settings)
    assert (hub.name, hub.transport, hub.url) == ("git-hub", Transport.HTTP, "https://example.org/mcp")
    assert hub.headers == (("Authorization", "Bearer abc"),)
    assert hub.is_for_agent("claude", "") and hub.is_for_agent("claude", "work")
    assert not hub.is_for_agent("opencode", "")
    assert (clock.command, clock.env, clock.enabled) == (("clock", "--stdio"), (("TZ", "UTC"),), False)
    source = str(Path("~/src").expanduser().resolve())
    assert clock.is_for_directory(f"{source}/catena") and not clock.is_for_directory(f"{source}-old")


def test_w14_config_shows_the_servers_and_hides_what_may_be_secret(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    path = catena.settings(SETTINGS)
    told = {each["key"]: each for each in catena("config", "--json").json}
    assert told["mcp.git-hub.headers.Authorization"]["hidden"] and told["mcp.clock.env.TZ"]["hidden"]
    assert "abc" not in catena("config").out
    assert (told["mcp.git-hub.url"]["value"], told["mcp.git-hub.url"]["line"]) == (
        "https://example.org/mcp",
        4,
    )
    assert told["mcp.clock.enabled"]["value"] is False
    assert told["projects./tmp/a.b.directories"]["line"] == 19
    assert told["hooks.seam"]["value"] == ["log seam", "date >> seams"]
    assert told["hooks.permission"]["value"] == []
    assert (told["status_line"]["value"], told["status_line"]["file"]) == (
        "~/.claude/statusline.sh",
        str(path),
    )


@pytest.mark.parametrize(
    ("wrong", "line", "why"),
    [
        ('[mcp.x]\ncommand = "a"\nurl = "http://b"', 1, "needs either `command` or `url`"),
        ('[mcp.x]\nurl = "ftp://b"', 2, "must begin with http:// or https://"),
        ("[mcp.x]\ncommand = []", 2, "must be a command"),
        ('[mcp.x]\ncommand = "a"\nheaders = { A = "b" }', 3, "is only for a server with `url`"),
        ('[mcp.x]\ncommand = "a"\nagents = ["nobody"]', 3, '"nobody" is not an agent'),
        ('[mcp.x]\ncommand = "a"\nprojects = ["src"]', 3, "must begin with / or ~"),
        ('[mcp.x]\ncommand = "a"\ncwd = "/"', 3, "is not a setting"),
        ('[mcp.catena]\ncommand = "a"', 1, "is the name of Catena's own server"),
        ('[mcp.x]\nurl = "http://b"\nheaders = { A = "b\\nc" }', 3, "must be one line"),
        ('[hooks]\nturn_begin = "a"', 2, "is not a setting; known: turn_end, permission, seam"),
        ("[hooks]\nturn_end = 3", 2, "must be a command"),
        ('[hooks]\nturn_end = [["a"], []]', 2, "must be a command"),
        ("[status_line]\ncommand = []", 2, "must be a command"),
        ('[projects.src]\ndirectories = ["a"]', 1, "must be named by a directory"),
        ('[projects."/a.b"]\n\ndirectories = "a"', 3, "must be a list of directories"),
    ],
)
def test_w14_w15_w31_what_is_wrong_is_refused_with_its_line(wrong: str, line: int, why: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        parse_settings(Path("config.toml"), f'theme = "catena-dark"\n{wrong}\n')
    assert f"config.toml:{line + 1}: " in str(refused.value) and why in str(refused.value)


def test_w15_a_project_gives_its_directories_to_what_works_in_it_or_below(tmp_path: Path) -> None:
    for name in ("api/src", "shared", "apiary"):
        (tmp_path / name).mkdir(parents=True)
    text = f'[projects."{tmp_path}/api"]\ndirectories = ["../shared", "../gone"]\n'
    projects = parse_settings(Path("config.toml"), text).projects
    shared = str(tmp_path / "shared")
    assert additional_directories(projects, str(tmp_path / "api" / "src")) == (shared,)
    assert additional_directories(projects, str(tmp_path / "apiary")) == ()

"""`catena config`: what is in effect and where it comes from, the editor, and the check."""

from __future__ import annotations

from pathlib import Path

from catena.settings.effective import effective_settings
from catena.settings.settings import SETTINGS as DECLARED
from catena.settings.settings import Settings, parse_settings
from support.clients.command_line import Catena
from support.clients.imports import FORBIDDEN, imported

SETTINGS = """\
# mine
theme = "catena-light"
painter = "on"

[checkpoints]
keep = 5

[agents.mine]
command = ["my-agent", "--acp"]
env = { API_KEY = "not for others" }

[[permission_rules]]
kind = "edit"
pattern = "docs/"
answer = "allow"
"""


def editor(catena: Catena, script: str) -> dict[str, str]:
    path = catena.home / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"VISUAL": "", "EDITOR": f"{path} --wait"}


def test_w21_config_tells_what_is_in_effect_and_where_it_comes_from(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    path = catena.settings(SETTINGS)

    told = {each["key"]: each for each in catena("config", "--json", CATENA_PAINTER="off").json}

    def of(key: str) -> tuple[object, ...]:
        each = told[key]
        return each["value"], each["source"], each["line"], each["variable"]

    assert of("theme") == ("catena-light", "file", 2, None)
    assert told["theme"]["file"] == str(path)
    assert of("width") == (100, "default", None, None)
    assert of("agent") == (None, "default", None, None)
    assert of("painter") == ("off", "environment", None, "CATENA_PAINTER")
    assert of("checkpoints.keep") == (5, "file", 6, None)
    assert of("checkpoints.tools") == (False, "default", None, None)
    assert of("agents.mine.command") == (["my-agent", "--acp"], "file", 9, None)
    assert of("permissions.rules") == (["allow edit docs/**"], "file", 12, None)
    assert catena("config", "checkpoints").out.splitlines() == [
        'checkpoints.frequency  "turn"  default',
        f"checkpoints.keep       5       {path}:6",
        "checkpoints.tools      false   default",
    ]
    unknown = catena("config", "colum")
    assert (unknown.status, unknown.out) == (2, "")
    assert unknown.err == "catena: `colum` is not a setting. See catena config\n"


def test_w21_config_hides_what_agents_are_given_in_the_environment_until_it_is_named(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings(SETTINGS)

    for arguments in ((), ("--json",), ("agents.mine",), ("agents.mine.env", "--json")):
        told = catena("config", *arguments)
        assert "agents.mine.env.API_KEY" in told.out
        assert "not for others" not in told.out
    assert '"not for others"' in catena("config", "agents.mine.env.API_KEY").out


def test_w21_every_documented_setting_is_in_config(tmp_path: Path) -> None:
    documented = Path(__file__).parents[2] / "docs" / "configuration.md"
    rows = (line.split("`")[1] for line in documented.read_text().splitlines() if line.startswith("| `"))
    names = {name for name in rows if name.islower()}  # others are tables of any name

    assert names == {each.name for each in effective_settings(tmp_path / "none.toml", {})}


def test_w21_every_choice_of_a_setting_is_documented_and_the_example_has_the_defaults() -> None:
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    example = parse_settings(Path("config.toml"), text.partition("```toml\n")[2].partition("```")[0])
    for each in DECLARED:
        names = ".".join(each.key), *each.other_names
        told = [line for line in text.splitlines() if line.removeprefix("| `").startswith(names)]
        assert [word for word in each.choices if word not in " ".join(told)] == [], each.name
        if each.name not in ("agent", "theme", "permissions.rules", "history.copies"):
            assert each.value(example) == each.value(Settings()), each.name


def test_w21_edit_opens_the_file_in_the_editor_and_checks_what_it_left(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.config.rmdir()

    done = catena("config", "edit", **editor(catena, """[ "$1" = --wait ] && echo 'column = 80' > "$2" """))
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith("config.toml: valid\n")
    assert catena("config", "--json", "column").json[0]["value"] == 80

    for line, why in (
        ("colum = 80", "`colum` is not a setting"),
        ('theme = "nowhere"', "`theme` must be one of"),
        ('theme = "dusk"', '`theme` is "dusk"; the whole name is "catena-dusk"'),
    ):
        wrong = catena("config", "edit", **editor(catena, f"printf '\\n{line}\\n' > \"$2\""))
        assert wrong.status == 2
        assert wrong.err.startswith(f"catena: {catena.config / 'config.toml'}:2: {why}")

    failed = catena("config", "edit", **editor(catena, "exit 3"))
    assert (failed.status, failed.out) == (1, "")
    assert "exited with status 3" in failed.err

    for named, why in (
        ("no-such-editor", "cannot be started"),
        (" ", "names no program"),
        ("'", "cannot be parsed"),
    ):
        refused = catena("config", "edit", VISUAL="", EDITOR=named)
        assert (refused.status, refused.out) == (1, "")
        assert why in refused.err
    taken = tmp_path / "file"
    taken.touch()
    refused = catena("config", "edit", CATENA_CONFIG_DIR=str(taken / "below"), **editor(catena, "exit 0"))
    assert refused.status == 1
    assert "cannot be created" in refused.err


def test_w21_check_tells_the_first_error_with_its_line_and_agents_that_nobody_knows(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert "does not exist" in catena("config", "check").out

    path = catena.settings('column = 90\nagent = "clade"\n')
    wrong = catena("config", "check")
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err == f'catena: {path}:2: `agent` is not an agent: "clade"; see `catena agents`\n'

    catena.settings('theme = "catena-dark"\nagent = "mine"\n\n[agents.mine]\ncommand = "x"\n')
    assert catena("config", "check").status == 0


def test_w21_config_imports_neither_the_screen_nor_the_protocol(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings(SETTINGS)

    assert not imported(catena, "config") & FORBIDDEN

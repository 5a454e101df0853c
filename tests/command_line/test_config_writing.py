"""Settings that are written: `catena config set`, `unset`, and what becomes of the file of the person."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from catena.errors import InvalidSettings, SettingsNotWritten
from catena.settings.checks import check_names
from catena.settings.file.writing import SettingChange, key_of, write_setting
from catena.settings.settings import load_settings
from support.clients.command_line import Catena

COMMENTED = """\
# mine, since 2024

theme = 'catena-light'   # for the sun
column   = 80

[checkpoints]
# fewer
keep = 5

[agents."my agent"]      # at home
command = ["my-agent",
  "--acp"]
"""


def change(name: str, value: object) -> SettingChange:
    return SettingChange(key_of(name), value)


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        ("theme", "catena-ink", "theme = 'catena-light'   # for", 'theme = "catena-ink"   # for'),
        ("checkpoints.keep", 9, "keep = 5", "keep = 9"),
        ("checkpoints.keep", None, "keep = 5\n", ""),
        ("checkpoints.tools", True, "keep = 5\n", "keep = 5\ntools = true\n"),
        ("width", None, "column   = 80\n", ""),
        ("permissions", "deny", "column   = 80\n", 'column   = 80\npermissions = "deny"\n'),
        ('agents."my agent".title', "Mine", '  "--acp"]\n', '  "--acp"]\ntitle = "Mine"\n'),
        ("memory.tools", True, '  "--acp"]\n', '  "--acp"]\n\n[memory]\ntools = true\n'),
    ],
)
def test_w21_one_setting_is_written_and_the_rest_of_the_file_stays(
    tmp_path: Path, name: str, value: object, before: str, after: str
) -> None:
    path = tmp_path / "config.toml"
    for ending in ("\n", "\r\n"):
        path.write_bytes(COMMENTED.replace("\n", ending).encode())
        write_setting(path, change(name, value))
        assert path.read_bytes().decode() == COMMENTED.replace(before, after).replace("\n", ending)


def test_w21_a_setting_is_written_by_its_present_name_and_beside_rules(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    assert write_setting(path, change("width", 120)).width == 120
    assert "column" not in path.read_text()

    rules = '[permissions]\n[[permissions.rules]]\nkind = "edit"\npath = "docs/"\nanswer = "allow"\nproject = "/p"\n'
    path.write_text(rules)
    settings = write_setting(path, change("permissions", "allow-reads"))
    assert settings.permissions.value == "allow-reads"
    assert [(rule.pattern, rule.project) for rule in settings.permission_rules] == [("docs/**", "/p")]
    assert write_setting(path, change("permissions.run", None)) == load_settings(path)
    assert path.read_text() == rules


def test_w21_the_first_write_makes_a_file_with_a_head_and_keeps_link_and_mode(tmp_path: Path) -> None:
    path, target = tmp_path / "new" / "config.toml", tmp_path / "dotfiles" / "catena.toml"
    write_setting(path, change("width", 90))
    assert path.read_text().startswith("# Settings of Catena.")
    assert load_settings(path).width == 90

    target.parent.mkdir()
    target.write_text("vim = true\n")
    target.chmod(0o600)
    path.unlink()
    path.symlink_to(target)
    write_setting(path, change("half_rows", "off"))
    assert path.is_symlink()
    assert target.read_text() == 'vim = true\nhalf_rows = "off"\n'
    assert target.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in target.parent.iterdir()] == ["catena.toml"]


def test_w21_nothing_is_written_where_the_file_or_the_value_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for text, name, value, line, why in (
        ("width = 3\n", "theme", "nord", 1, "`width` must be a number of cells from 40 to 400"),
        ("vim = tru\n", "theme", "nord", 1, "invalid TOML"),
        ("vim = true\n", "width", 3, None, "`width` must be a number of cells from 40 to 400"),
        ("vim = true\n", "colour", "red", None, "`colour` is not a setting"),
        ("vim = true\n", "theme", "nowhere", None, "`theme` must be one of"),
        ("vim = true\n", "agent", "clade", None, "`agent` is not an agent"),
        ("vim = true\n", "keys.fork", "ctrl+m", None, "cannot be a key"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidSettings) as wrong:
            write_setting(path, change(name, value), check=check_names)
        assert (wrong.value.line, path.read_text()) == (line, text)
        assert why in wrong.value.why
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(SettingsNotWritten, match="cannot be written"):
        write_setting(taken / "config.toml", change("width", 90))


def test_w21_what_another_program_wrote_meanwhile_is_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text("vim = true\n")
    fsync, others = os.fsync, iter(["vim = true\nshell = false\n"])

    def other_first(handle: int) -> None:
        fsync(handle)
        for text in others:
            path.write_text(text)

    monkeypatch.setattr(os, "fsync", other_first)
    write_setting(path, change("width", 90))
    assert path.read_text() == "vim = true\nshell = false\nwidth = 90\n"


def test_w21_two_clients_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    names = [f'agents."a{number}".title' for number in range(4)]
    threads = [threading.Thread(target=write_setting, args=(path, change(name, "x"))) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_settings(path).agents) == len(names)


def test_w21_config_set_and_unset_on_the_command_line(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    done = catena("config", "set", "column", "120")
    assert (done.status, done.out.split()[:2]) == (0, ["width", "120"])
    wrong = catena("config", "set", "width", "wide")
    path = catena.config / "config.toml"
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err == f"catena: {path}: `width` must be a number of cells from 40 to 400\n"
    assert load_settings(path).width == 120
    assert catena("config", "unset", "width").out == "width  100  default\n"

    path.write_text("column = 90\n")
    checked = catena("config", "check")
    assert (checked.status, checked.out.splitlines()[0]) == (
        0,
        f"{path}:1: `column` is an old name of `width`",
    )
    for arguments in (("set", "width"), ("unset",), ("set", "a b", "1")):
        assert catena("config", *arguments).status == 2


@pytest.mark.parametrize("name", ["nope", "checkpoints.nope", "width.nope"])
def test_w21_what_is_no_setting_cannot_be_removed(name: str, tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    done = catena("config", "unset", name)
    assert (done.status, done.out, done.err) == (
        2,
        "",
        f"catena: `{name}` is not a setting. See catena config\n",
    )
    assert not (catena.config / "config.toml").exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("width", "width  100  default"),
        *(
            (name, f"{name} is not set.")
            for name in ("keys.fork", "agents.mine", "themes.mine", "mcp.mine.url")
        ),
    ],
)
def test_w21_what_is_not_there_can_be_removed_and_no_file_is_written(
    name: str, told: str, tmp_path: Path
) -> None:
    catena = Catena(tmp_path)
    done = catena("config", "unset", name)
    assert (done.status, done.out) == (0, f"{told}\n")
    assert not (catena.config / "config.toml").exists()

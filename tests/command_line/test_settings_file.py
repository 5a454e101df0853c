"""The settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena.errors import InvalidSettings
from catena.settings.settings import FREQUENCIES, CheckpointSetting, Settings, load_settings
from catena.settings.tables import AgentSetting, Permissions
from catena_store.conversations.checkpoints import Frequency


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = load_settings(tmp_path / "none" / "config.toml")

    assert settings == Settings(agent=None, theme=None, permissions=Permissions.ASK, agents={})


def test_h22_rules_for_masks_are_checked_with_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, '[export]\nmask = ["ACME-[0-9]+"]\n')
    assert load_settings(path).export.mask == ("ACME-[0-9]+",)
    for rules, why in (
        ('["(a+)+"]', "for ever"),
        ('["("]', "not a regular expression"),
        ('"x"', "must be a list"),
    ):
        with pytest.raises(InvalidSettings) as wrong:
            load_settings(written(tmp_path, f"[export]\nmask = {rules}\n"))
        assert wrong.value.line == 2
        assert why in str(wrong.value)


def test_everything_that_can_be_set_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        agent = "mine"
        theme = "nord"
        permissions = "allow-reads"

        [checkpoints]
        frequency = "tool"
        keep = 5
        tools = true

        [agents.mine]
        command = "my-agent --acp 'two words'"
        title = "My agent"
        env = { API_KEY = "secret", MODE = "fast" }

        [agents.claude]
        env = { ANTHROPIC_API_KEY = "secret" }

        [agents.other]
        command = ["other", "--stdio"]
        """,
    )

    assert load_settings(path) == Settings(
        agent="mine",
        theme="nord",
        permissions=Permissions.ALLOW_READS,
        checkpoints=CheckpointSetting("tool", 5, True),
        agents={
            "mine": AgentSetting(
                "mine",
                ("my-agent", "--acp", "two words"),
                "My agent",
                (("API_KEY", "secret"), ("MODE", "fast")),
            ),
            "claude": AgentSetting("claude", env=(("ANTHROPIC_API_KEY", "secret"),)),
            "other": AgentSetting("other", ("other", "--stdio")),
        },
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('agent = "x"\ntheme = \n', 2, "invalid TOML"),
        ('agent = "x"\nagent = "y"\n', 2, "invalid TOML"),
        ('agent = "x', 1, "invalid TOML"),
        ("\n\nagent = 3\n", 3, "`agent` must be a non-empty string"),
        ('theme = ""\n', 1, "`theme` must be a non-empty string"),
        ('# agnet\nagnet = "x"\n', 2, "`agnet` is not a setting"),
        (
            'permissions = "never"\n',
            1,
            '`permissions` must be one of ask, allow-reads, allow, deny; it is "never"',
        ),
        ("checkpoints = 5\n", 1, "`checkpoints` must be a table"),
        (
            "[checkpoints]\nkept = 5\n",
            2,
            "`checkpoints.kept` is not a setting; known: frequency, keep, tools",
        ),
        (
            '[checkpoints]\nfrequency = "often"\n',
            2,
            '`checkpoints.frequency` must be one of turn, tool, manual, off; it is "often"',
        ),
        ("[checkpoints]\nkeep = 0\n", 2, "`checkpoints.keep` must be a number, 1 or more"),
        ("[checkpoints]\nkeep = true\n", 2, "`checkpoints.keep` must be a number, 1 or more"),
        ('[checkpoints]\ntools = "yes"\n', 2, "`checkpoints.tools` must be true or false"),
        ('agents = "claude"\n', 1, "`agents` must be a table"),
        ('agent = "x"\n[agents]\nmine = "my-agent"\n', 3, "`agents.mine` must be a table"),
        ('[agents.a]\ncommand = "a"\n\n[agents.b]\ncommand = 7\n', 5, "`agents.b.command` must be a command"),
        ("[agents.a]\ncommand = []\n", 2, "must be a command"),
        ('[agents.a]\ncommand = "a \'b"\n', 2, "cannot be parsed as a command"),
        ('[agents.a]\ncommand = "a"\ncolour = "red"\n', 3, "`agents.a.colour` is not a setting"),
        ('[agents.a]\ncommand = "a"\nenv = { N = 1 }\n', 3, "`agents.a.env` must be a table of strings"),
        (
            '[agents.a]\ncommand = "a"\n[agents.a.env]\nN = 1\n',
            3,
            "`agents.a.env` must be a table of strings",
        ),
        ('[agents."my agent"]\ntitle = 1\n', 2, "`agents.my agent.title` must be a non-empty string"),
        ("a.b = 1\n", 1, "`a` is not a setting"),
        (
            '[agents.a]\ncommand = "a"\nenv = { "A=B" = "x" }\n',
            3,
            "`agents.a.env.A=B` is not a valid variable name",
        ),
        ('[agents.a]\ncommand = "a"\n[agents.a.env]\n"" = "x"\n', 4, "is not a valid variable name"),
        (
            '[agents.a]\ncommand = "a"\n[agents.a.env]\nN = "x\\u0000"\n',
            4,
            "`agents.a.env.N` contains a NUL",
        ),
        ('[agents.a]\ncommand = ["a", "\\u0000"]\n', 2, "must be a command"),
        (f'theme = "nord"\nagent = {"[" * 5000}\n', 2, "nested too deeply"),
        (f'theme = "nord"\n\nagent = {"9" * 5000}\nagents = 1\n', 3, "invalid TOML"),
    ],
)
def test_w21_what_makes_no_sense_is_named_with_file_and_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    path = written(tmp_path, text)

    with pytest.raises(InvalidSettings) as caught:
        load_settings(path)

    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)


def test_a_file_that_is_too_large_is_said_so_and_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with path.open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(InvalidSettings, match="is larger than 1048576 bytes"):
        load_settings(path)


def test_a_file_that_is_not_text_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"agent = '\xff'\n")

    with pytest.raises(InvalidSettings, match="is not UTF-8 text"):
        load_settings(path)


def test_a_directory_in_the_place_of_the_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot be read"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("written_as", "parks"), [('"on"', True), ('"off"', False), ("true", True), ("false", False)]
)
def test_k10_parking_is_on_unless_it_is_switched_off(tmp_path: Path, written_as: str, parks: bool) -> None:
    assert load_settings(tmp_path / "none").park is True
    assert load_settings(written(tmp_path, f"park = {written_as}\n")).park is parks


@pytest.mark.parametrize("wrong", ['"sometimes"', "1", '["on"]'])
def test_k10_whether_to_park_is_on_or_off(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InvalidSettings, match='`park` must be "on" or "off"') as told:
        load_settings(written(tmp_path, f'agent = "mine"\npark = {wrong}\n'))
    assert told.value.line == 2


def test_k01_the_frequencies_of_the_settings_are_those_of_the_store() -> None:
    assert tuple(FREQUENCIES) == tuple(Frequency)

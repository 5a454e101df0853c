"""The list of commands is short; a name of before, or the word of another client, finds the command too."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from catena.acts.table import FrontCommand, FrontName, by_names, command_with_rest, commands_of, verbs_of
from catena.acts.unknown import meant_command
from catena.keys.keymap import DEFAULT_KEYS
from catena.linear.commands.commands import COMMANDS as LINES
from catena.screens.chat.commands.table import SLASH_COMMANDS, listed_commands, typed_command
from catena.screens.commands.help import help_text
from catena.screens.commands.palette import GROUPS
from catena.widgets.completion import completions
from catena_acp.port.session_events import AgentCommand
from support.places import ROOT

MOST = 42

# Names of before, with the act that each is about: a verb, a command or a key has it now.
OLD = """
    unqueue continue redo reflog label checkpoints other-pane swap-panes close-pane paste detach open-image save-image
    changes blame chain lineage stderr background logout mode options add-dir agents tab next-question inputs versions
    follow read plan linear save theme palette suspend editor browse wait allow reject send draft drop quote takeover
""".split()  # noqa: SIM905 - a list of words
# Words of Claude Code, Codex, OpenCode and Gemini CLI, with the words of ours.
OTHERS = {
    "resume": "history",
    "sessions": "history",
    "cost": "usage",
    "stats": "usage",
    "config": "settings",
    "add-dir": "cd add",
    "directory": "cd add",
    "allowed-tools": "permissions",
    "approvals": "model mode",
    "effort": "model options",
    "models": "model",
    "bashes": "context background",
    "ps": "context background",
    "diff": "files changes",
    "mention": "attach",
    "restore": "rewind",
    "timeline": "tree",
    "themes": "settings theme",
    "auth": "login",
    "connect": "login",
    "logout": "login out",
    "exit": "quit",
    "q": "quit",
}


# Words of theirs that only lead to ours: an agent's command may have such a name.
LEAD = {
    "search": "history",
    "title": "rename",
    "branch": "fork",
    "revert": "rewind",
    "status": "context",
    "compact": "context",
    "tokens": "usage",
    "color": "theme",
    "shells": "background",
}


def test_u08_at_most_42_commands_are_listed_on_the_screen_and_in_linear_mode() -> None:
    listed = {each.name for front in (SLASH_COMMANDS, LINES) for each in front if each.words == each.name}
    assert len(listed) <= MOST, sorted(listed)


@pytest.mark.parametrize("front", ["screen", "lines"])
def test_u08_each_verb_stands_behind_a_listed_command_and_does_what_its_old_name_does(
    front: FrontName,
) -> None:
    commands = by_names(commands_of(front))
    for each in commands_of(front):
        if " " in each.words:
            subject, _, verb = each.words.partition(" ")
            assert commands[subject].words == subject, each.words
            assert command_with_rest(commands, subject, f"{verb} this one") == (each, "this one")
            assert command_with_rest(commands, subject, verb) == (each, "")
        if each.by_name:
            assert command_with_rest(commands, each.name, "this one") == (each, "this one")


def test_u08_every_name_of_before_goes_on() -> None:
    screen, lines = by_names(SLASH_COMMANDS), by_names(LINES)
    assert not [name for name in OLD if name not in screen and name not in lines]


@pytest.mark.parametrize("word", OTHERS)
def test_u08_the_word_of_another_client_finds_the_command(word: str) -> None:
    found, _ = typed_command(word, "")
    assert found is not None and found.words == OTHERS[word]
    assert completions(f"/{word}", listed_commands(DEFAULT_KEYS), ())[0].key == f"own:{OTHERS[word]}"


@pytest.mark.parametrize("word", LEAD)
def test_a_word_of_another_client_leads_to_the_command_and_leaves_the_name_to_the_agent(word: str) -> None:
    assert typed_command(word, "")[0] is None
    for commands in (SLASH_COMMANDS, LINES):
        if any(word in each.meant for each in commands):
            assert meant_command(word, commands) == LEAD[word]
    row, *_ = completions(f"/{word}", listed_commands(DEFAULT_KEYS), ())
    assert row.key.split()[-1].endswith(LEAD[word].split()[-1]) and row.label.endswith(f"= {word}")
    of_agent = completions(f"/{word}", listed_commands(DEFAULT_KEYS), [AgentCommand(word, "", None)])
    assert of_agent[0].key == f"agent:{word}" and not of_agent[0].dim


@pytest.mark.parametrize("commands", [SLASH_COMMANDS, LINES])
def test_no_command_is_guessed_that_discards_or_that_no_list_shows(
    commands: Sequence[FrontCommand],
) -> None:
    for wrong in ("claer", "clea", "rest", "resett", "delte", "rewnid", "Clear", "RESET", "logut"):
        assert meant_command(wrong, commands) == "", wrong
    shown = {part for each in commands for part in (each.words, *each.words.split())}
    for each in commands:
        for name in each.names:
            assert meant_command(f"{name}x", commands) in {"", *shown}, name
    assert meant_command("linage", commands) == "context forks"


@pytest.mark.parametrize("front", ["screen", "lines"])
def test_a_command_without_an_argument_in_its_usage_takes_no_word(front: FrontName) -> None:
    for each in commands_of(front):
        assert each.accepts("")
        assert each.accepts("nosuch") is (each.argument.strip("[]") not in ("", "N")), each.usage
        assert each.accepts("2") is bool(each.argument), each.usage


def test_u08_completion_offers_what_is_listed_then_the_verbs_behind_a_command() -> None:
    commands = listed_commands(DEFAULT_KEYS)

    def keys(typed: str) -> list[str]:
        return [row.key.removeprefix("own:") for row in completions(typed, commands, ())]

    assert keys("/") == [each.name for each in commands if each.words == each.name]
    assert keys("/undo ") == ["undo", "undo redo", "undo list"]
    assert keys("/undo r") == ["undo r", "undo redo"], "Enter does what is typed until a verb is whole"
    assert keys("/undo redo") == ["undo redo"]
    assert keys("/reflog") == ["undo list"]
    assert keys("/editor") == ["editor"] and "editor" not in keys("/edito"), "a key's name works, typed whole"
    assert keys("/model opus") == []


def test_u08_the_documents_list_the_commands_of_the_palette() -> None:
    listed = {each.words: each for each in listed_commands(DEFAULT_KEYS) if each.words}
    made = []
    for title, names in GROUPS:
        made.append(f"**{title}**")
        for name in names:
            verbs = [f"`{words.partition(' ')[2]}`" for words in listed if words.startswith(f"{name} ")]
            behind = f" ({', '.join(verbs)})" if verbs else ""
            made.append(f"* `/{name}`{behind}: {listed[name].summary}")
    section = (ROOT / "docs/keys.md").read_text("utf-8").partition("\n## Commands\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\*.*", section, re.MULTILINE) == made


def test_u08_palette_and_both_helps_list_the_same() -> None:
    commands = listed_commands(DEFAULT_KEYS)
    listed = {each.words for each in commands if each.words}
    assert {name for _, names in GROUPS for name in names} == {words for words in listed if " " not in words}
    helped = f"\n{help_text('composer', (), commands)(96).plain}\n"
    assert not [words for words in listed if not re.search(rf"\n/{words}[ \n]", helped)]
    assert {each.words for each in LINES if " " in each.words} == {
        each.words for command in LINES for each in verbs_of(command, LINES)
    }
    shared = {each.name for each in LINES} & {each.name for each in commands}
    assert {each.words for each in LINES if each.name in shared} >= {
        each.words for each in commands if each.name in shared and each.words
    }

"""Completion in shells, by the real shells where they are installed, and the manual page."""

from __future__ import annotations

import argparse
import inspect
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from catena.cli.completion.candidates import read_line
from catena.cli.parser import Parser
from catena.cli.shared import shared_files
from catena_store.conversations import conversations
from catena_store.finding.names import conversation_names
from support.clients.command_line import EXECUTABLE, Catena, newest, run, shown
from support.clients.imports import FORBIDDEN, imported, imported_modules

BREAKS = " \t\n\"'@><=;|&(:"


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catena, str]:
    """A Catena with one conversation, whose title needs quotes, and its id."""
    catena = Catena(tmp_path_factory.mktemp("used"))
    assert run(catena, "say hello").status == 0
    id = newest(catena)
    catena.write(lambda tx: conversations.set_title(tx, id, "Fix: the $login"))
    return catena, id


def completed(catena: Catena, *words: str) -> list[str]:
    """What fits for the last word, without what it is."""
    told = catena("__complete", "fish", *words)
    assert (told.status, told.err) == (0, "")
    return [line.partition("\t")[0] for line in told.out.splitlines()[1:]]


def test_c05_commands_options_and_their_values_are_completed(used: tuple[Catena, str]) -> None:
    catena, id = used
    assert completed(catena, "l") == ["list", "login", "logout"]
    assert completed(catena, "agents", "in") == ["install"]
    assert completed(catena, "run", "--permissions", "a") == ["ask", "allow-reads", "allow"]
    assert completed(catena, "run", "--permissions=d") == ["deny"]
    assert "--continue" not in completed(catena, "run", "--resume", id, "--")
    assert completed(catena, "run", "--", "--") == []
    assert completed(catena, "--linear=q") == ["quiet"]
    assert completed(catena, "completion", "") == ["bash", "zsh", "fish"]
    assert completed(catena, "permissions", "a") == ["add"]
    assert completed(catena, "permissions", "add", "e") == ["edit", "execute"]
    assert completed(catena, "files", "re") == ["restore"]
    assert completed(catena, "help", "del") == ["delete"]
    assert completed(catena, "permissions", "list", "--conv") == ["--conversation"]
    assert completed(catena, "config", "set", "theme", "catena-d") == ["catena-dark", "catena-dusk"]
    assert completed(catena, "config", "unset", "them") == ["theme"]
    assert "rehearsal" in completed(catena, "--agent", "")
    assert "codex,rehearsal" in completed(catena, "run", "--agents", "codex,rehe")
    assert catena("__complete", "zsh", "run", "--attach", "").out.splitlines()[0].split() == ["files"]
    assert catena("__complete", "zsh", "list", "--cwd", "").out.splitlines()[0].split() == ["directories"]


def test_c05_conversations_messages_and_labelled_checkpoints_are_completed(used: tuple[Catena, str]) -> None:
    catena, id = used
    prompt, answer = (
        each["id"] for each in shown(catena, id)["messages"] if each["kind"] in ("user", "agent")
    )
    assert completed(catena, "show", "") == [id]
    assert completed(catena, "show", id[:3]) == [id]
    assert completed(catena, "show", "fix") == ["Fix: the $login"]
    assert completed(catena, "--resume", "") == [id]
    assert completed(catena, "show", id, "--turn", "") == [answer, prompt]
    assert completed(catena, "run", "--continue", "--edit", prompt[:6]) == [prompt]
    assert catena("__complete", "fish", "show", "").out.splitlines()[1] == f"{id}\tFix: the $login"


def test_c05_completion_reads_the_store_without_the_screen_and_makes_none(
    tmp_path: Path, used: tuple[Catena, str]
) -> None:
    loaded = imported(used[0], "__complete", "fish", "show", "")
    assert not loaded & (FORBIDDEN | {"asyncio", "aiosqlite"})
    empty = Catena(tmp_path)
    assert completed(empty, "show", "") == ["--help", "--json", "--chain", "--turn", "--tree"]
    assert not empty.store.exists()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"no database" * 1000)
    assert conversation_names(damaged, "") == []


def test_c05_agents_are_completed_without_the_settings_and_the_registry(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('theme = "no such theme"\n[agents.mine]\ncommand = "my-agent --acp"\n')
    program = catena.home / "program"
    program.touch(mode=0o755)
    installed = catena.data / "agents" / "other"
    installed.mkdir(parents=True)
    note: dict[str, object] = {
        "id": "other",
        "version": "1",
        "directory": "1",
        "command": [str(program)],
        "env": [],
    }
    note |= {"source": "https://example.org", "size": 1, "verified": True}
    (installed / "install.json").write_text(json.dumps(note))
    assert {"claude", "mine", "other", "rehearsal"} <= set(completed(catena, "--agent", ""))
    loaded = imported_modules(catena, "__complete", "fish", "--agent", "")
    assert "catena_acp.agents.catalog" in loaded
    assert not loaded & {"catena.settings.settings", "catena_acp.agents.registry.data"}


def test_c05_a_word_is_written_as_bash_wants_it_where_the_cursor_stands() -> None:
    for typed, word, inserted in (
        ("catena show fix", "Fix: it's", "Fix:\\ it\\'s"),
        ("catena show fix:", "Fix: it", "\\ it"),
        ('catena show "Fix', 'Fix "$x"', 'Fix \\"\\$x\\"'),
        ("catena show 'Fix", "Fix it's", "Fix it'\\''s"),
        ("catena --agent=cl", "--agent=claude", "claude"),
        ("catena show Fix\\ th", "Fix the", "Fix\\ the"),
    ):
        assert read_line(typed, BREAKS).insert(word) == inserted
    line = read_line("catena show 'a b' c\\ d", BREAKS)
    assert (line.words, line.current) == (["show", "a b"], "c d")


def in_shell(catena: Catena, shell: str, script: str) -> list[str]:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    environment = catena.environment | {"PATH": f"{EXECUTABLE.parent}:{catena.environment['PATH']}"}
    done = subprocess.run(
        [path, "-c", script], capture_output=True, text=True, env=environment, cwd=catena.project, timeout=60
    )
    return done.stdout.splitlines()


def test_c05_bash_completes_with_the_script_that_catena_prints(used: tuple[Catena, str]) -> None:
    catena, id = used

    def reply(line: str, *words: str, kind: int = 9) -> list[str]:
        quoted = " ".join(f"'{word}'" for word in words)
        return in_shell(
            catena,
            "bash",
            f"eval \"$(catena completion bash)\"; COMP_LINE='{line}' COMP_POINT={len(line)} COMP_TYPE={kind}"
            f" COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}; complete -p catena >/dev/null && _catena"
            ' 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"',
        )

    assert reply("catena exp", "catena", "exp") == ["export"]
    assert reply("catena show ", "catena", "show", "") == [id]
    assert reply("catena show fix", "catena", "show", "fix") == ["Fix:\\ the\\ \\$login"]
    assert reply("catena lo", "catena", "lo", kind=63) == [
        "login  (log in to an agent)",
        "logout  (log out of an agent)",
    ]


def test_c05_fish_completes_with_the_script_that_catena_prints(used: tuple[Catena, str]) -> None:
    catena, id = used

    def reply(line: str) -> list[str]:
        return in_shell(catena, "fish", f"catena completion fish | source; complete -C '{line}'")

    assert reply("catena exp") == ["export\twrite a conversation as Markdown, JSON or HTML"]
    assert reply("catena show ") == [f"{id}\tFix: the $login"]
    assert reply("catena --agent=rehe") == ["--agent=rehearsal\tbuilt-in demo, no account needed"]


def test_c05_zsh_completes_with_the_script_that_catena_prints(used: tuple[Catena, str]) -> None:
    catena, id = used
    # What the completion system does with candidates takes a terminal: here they are only collected.
    collect = (
        "compdef() { }; compset() { }; _files() { print files }; compadd() { print -l -- $values };"
        'eval "$(catena completion zsh)";'
    )

    def reply(current: str, words: str, prefix: str) -> list[str]:
        return in_shell(
            catena, "zsh", f"{collect} words=({words}) CURRENT={current} PREFIX='{prefix}'; _catena"
        )

    assert reply("2", "catena exp", "exp") == ["export"]
    assert reply("3", "catena show ''", "") == [id]
    assert reply("3", "catena import ''", "") == ["files"]


def test_c05_the_manual_page_and_completion_are_made_from_the_parsers(tmp_path: Path) -> None:
    files = shared_files()
    assert sorted(files) == [
        "share/bash-completion/completions/catena",
        "share/fish/vendor_completions.d/catena.fish",
        "share/man/man1/catena.1",
        "share/zsh/site-functions/_catena",
    ]
    page = files["share/man/man1/catena.1"]
    for said in (".SS catena agents install", r"\fB\-\-permissions\fR \fIask|allow\-reads|allow|deny\fR"):
        assert said in page
    if shutil.which("groff"):
        for device in ("utf8", "ascii"):
            command = ["groff", "-ww", "-man", f"-T{device}"]
            done = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
            assert done.stderr == ""


def test_c05_help_and_manual_page_are_plain_text_on_every_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # from Python 3.14 on its parsers colour what they say
    assert not any("\x1b" in text for text in shared_files().values())
    assert "\x1b" not in Catena(tmp_path)("run", "--help", FORCE_COLOR="1").out


def test_c05_a_parser_takes_whatever_this_pythons_own_takes() -> None:
    settings = inspect.signature(argparse.ArgumentParser).parameters
    assert set(settings) >= {"prog", "argument_default", "exit_on_error"}
    own = {name: each.default for name, each in settings.items()}
    # A Python that is not out yet passes others on to the parsers of subcommands: none is turned away by us.
    parser = Parser(**own | {"prog": "catena"})
    assert parser.format_help().startswith("usage: catena [-h]")


def test_c05_the_hidden_command_never_fails(used: tuple[Catena, str]) -> None:
    catena, _ = used
    for words in ([], ["fish"], ["bash", ""], ["fish", "permissions", "add", ""], ["zsh", "--", "x", ""]):
        told = catena("__complete", *words)
        assert (told.status, told.err) == (0, ""), words

"""The examples of every `--help`, and so of the manual page: each runs, and ends as the help says."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from catena.cli.arguments import command_table
from support.clients.command_line import Catena, newest, run, shown

TABLE = command_table()
EXAMPLES = [(name, line) for name in ("", *TABLE.names) for line, _ in TABLE.parser(name).examples]
# Their arguments are read, and no more: they need a screen, an agent that is not here, or a network.
_ELSEWHERE = re.compile(
    r"catena( --agent rehearsal| --resume| replay ID| doctor reset)?$"
    r"|catena (agents (claude|install|remove|update)|login|logout|mcp|run --agents) |.*~/\.claude"
    r"|catena (permissions remove|files (finish|undo)|delete) "
)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catena, str, str]:
    """A Catena with a conversation, its id and that of its prompt, an editor, and the files that examples name."""
    catena = Catena(tmp_path_factory.mktemp("used"))
    catena.environment["EDITOR"] = "true"
    subprocess.run(["git", "init", "-q"], cwd=catena.project, env=catena.environment, check=True)
    (catena.project / "src").mkdir()
    (catena.project / "src" / "app.py").write_text("line\n" * 30)
    assert run(catena, "say login form").status == 0
    id = newest(catena)
    (prompt,) = (each["id"] for each in shown(catena, id)["messages"] if each["kind"] == "user")
    assert catena("export", id, "--format", "json", "-o", str(catena.project / "chat.json")).status == 0
    return catena, id, prompt


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_c05_every_example_of_the_help_is_a_command_that_ends_as_the_help_says(
    name: str, line: str, used: tuple[Catena, str, str]
) -> None:
    catena, id, prompt = used
    command = re.match(r"(?:[^|]*\| )??(catena\b[^|>()]*)", line.rpartition("$(")[2])
    assert command is not None
    words = [
        {"ID": id, "MESSAGE": prompt}.get(word, word) for word in shlex.split(command[1], comments=True)[1:]
    ]
    if _ELSEWHERE.match(line):
        named = max(
            (each for each in ("", *TABLE.names) if command[1].startswith(f"catena {each}".rstrip())), key=len
        )
        TABLE.parser(named).parse_args(words[len(named.split()) :])
        return
    if "-o" in words:
        words.append("--force")
    done = catena(*words, stdin="say hello")
    assert done.status == 0 or (name, done.status) in (("search", 1), ("permissions test", 1)), done.err
    if field := re.search(r"jq -r '\.\[0\]\.(\w+)'", line):
        assert done.json[0][field[1]] == id

"""The command line as scripts and people read it: `--help` of every command, `--json` of those that have it."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from catena.cli.arguments import command_table
from support.clients.command_line import Catena, newest
from support.clients.conversing import converse, furnish
from support.goldens import is_golden, masked

GOLDENS = Path(__file__).parent / "goldens"
TABLE = command_table()
STORY = ("▸write notes.txt first; say One.", "▸say Two.", "▸/checkpoint half", "▸/edit", "▸say Two, again.")
# What is printed of it; `ID` is its conversation. A long list is cut, and of what a machine has only the keys are kept.
PRINTED = (
    "list",
    "search two",
    "show ID",
    "show ID --tree",
    "changes ID",
    "changes ID --turn 1",
    "files ID",
    "blame notes.txt",
    "agents",
    "agents two",
    "login list two",
    "config",
    "keys",
    "permissions list",
    "prune --older-than 1d",
    "import all.json",
    "doctor",
    "run --agent rehearsal --permissions allow 'tool read a.txt; edit notes.txt; say Three.'",
)
_CUT = {"agents": 4, "config": 6, "keys": 4}  # entries of a list
_ID = re.compile(r"\b[a-z2-9]{16}\b")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="its argparse lays help out in another way")
@pytest.mark.parametrize("name", ("", *TABLE.names))
def test_c05_the_help_of_a_command_says_what_it_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    golden = GOLDENS / "help" / f"{name.replace(' ', '-') or 'catena'}.txt"
    assert is_golden(TABLE.parser(name).format_help(), golden)


def test_c05_the_json_of_every_command_is_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = list[str]()
    with furnish(tmp_path, monkeypatch) as project:
        asyncio.run(converse(STORY, project))
        catena = Catena(tmp_path)
        id = newest(catena)
        assert catena("export", id, "--format", "json", "-o", "all.json").status == 0
        for command in PRINTED:
            done = catena(*shlex.split(command.replace("ID", id)), "--json")
            assert done.status == 0, (command, done.err)
            values = _in_order(done.events) if command.startswith("run") else [_kept(command, done.json)]
            printed += [f"$ catena {command} --json", *(dumps(_masked(each, tmp_path)) for each in values)]
    ids = dict.fromkeys(_ID.findall(text := "\n".join(printed)))
    for number, each in enumerate(ids, start=1):
        text = text.replace(each, f"ID-{number}")
    assert is_golden(text + "\n", GOLDENS / "json.txt")


def test_c05_every_command_with_json_is_in_the_goldens() -> None:
    takes = {
        name.split(" ")[0] for name in TABLE.names if "--json" in TABLE.parser(name)._option_string_actions
    }
    assert takes == {each.split(" ")[0] for each in PRINTED}


def _kept(command: str, value: Any) -> Any:
    name = command.partition(" ")[0]
    if name == "doctor":
        return sorted(value)
    return value[: _CUT.get(name)] if isinstance(value, list) else value


def _masked(value: Any, home: Path) -> Any:
    """A value without what is otherwise in another run, before its lines are broken by their length."""
    return json.loads(masked(json.dumps(value, ensure_ascii=False), home))


def _in_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a turn, of each row the last, and of its words one.

    How often a row is told of and in how many pieces depends on the machine, and so does when costs are told.
    """
    last = {event.get("id", at): at for at, event in enumerate(events)}
    kept = list[dict[str, Any]]()
    for at, event in enumerate(events):
        before = kept[-1] if kept else {}
        if event["event"] == before.get("event") == "text" and event["message_id"] == before["message_id"]:
            kept[-1] = before | {"text": before["text"] + event["text"]}
        elif last[event.get("id", at)] == at:
            kept.append(event)
    return sorted(kept, key=lambda event: event["event"] == "usage")


def dumps(value: Any) -> str:
    """A value as lines that are as wide as they may be: those that change with it are few."""
    if not isinstance(value, dict | list) or len(json.dumps(value)) <= 100:
        return json.dumps(value, ensure_ascii=False)
    entries = (
        [f"{json.dumps(name)}: {dumps(each)}" for name, each in value.items()]
        if isinstance(value, dict)
        else [dumps(each) for each in value]
    )
    inner = ",\n".join(entries).replace("\n", "\n ")
    return f"{{\n {inner}\n}}" if isinstance(value, dict) else f"[\n {inner}\n]"

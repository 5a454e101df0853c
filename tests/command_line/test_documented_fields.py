"""Every field of the JSON that commands print is named in the document that scripts are written by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clients.command_line import Catena, Finished, newest, run
from support.places import ROOT

DOCUMENTS = [(ROOT / "docs" / name).read_text("utf-8") for name in ("command-line.md", "history.md")]
TEXT = re.sub(r"^```.*?^```", "", "\n".join(DOCUMENTS), flags=re.DOTALL | re.MULTILINE)
NAMED = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", TEXT))))
# What stands below these is the agent's, or has names that someone else chose.
FREE = {"data", "options", "usage", "content", "raw_input", "raw_output", "route", "cost"}
STORY = (
    ("think; plan; say one; title The title", ()),
    ("tool read a.txt; edit! b.txt; usage 5/10", ("--continue",)),
    ("ask thing; notice hello; subagent 1; compact", ("--continue",)),
    ("crash", ("--continue",)),
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catena, list[Any]]:
    """A Catena with a conversation, and all events of it."""
    catena = Catena(tmp_path_factory.mktemp("told"))
    (catena.project / "a.txt").write_text("one line\n")
    ran = [run(catena, "--json", "--permissions", "allow", *further, prompt) for prompt, further in STORY]
    return catena, [json.loads(line) for each in ran for line in each.out.splitlines()]


def fields(value: Any) -> Iterator[str]:
    """The names of all fields, without what is free below them."""
    if isinstance(value, list):
        for each in value:
            yield from fields(each)
    elif isinstance(value, dict):
        yield from value
        for name, each in value.items():
            if name not in FREE:
                yield from fields(each)


def test_c01_every_event_and_its_fields_are_documented(told: tuple[Catena, list[Any]]) -> None:
    _, events = told
    assert {each["event"] for each in events} >= {
        "seam",
        "plan",
        "tool",
        "permission",
        "notice",
        "turn_ended",
    }
    assert {each["event"] for each in events} | set(fields(events)) <= NAMED


@pytest.mark.parametrize(
    "command",
    ["list", "show ID", "show ID --tree", "search one", "changes ID", "files ID", "config", "keys", "agents"],
)
def test_c03_every_field_of_a_command_is_documented(told: tuple[Catena, list[Any]], command: str) -> None:
    catena, _ = told
    printed: Finished = catena(*command.replace("ID", newest(catena)).split(), "--json")
    assert printed.status == 0
    assert set(fields(printed.json)) - NAMED == set()


def test_c03_every_field_of_blame_is_documented(told: tuple[Catena, list[Any]], tmp_path: Path) -> None:
    catena, _ = told
    printed = catena("blame", "a.txt", "--json").json
    assert (
        set(printed) | set(fields(printed["lines"])) | set(fields(list(printed["turns"].values()))) <= NAMED
    )

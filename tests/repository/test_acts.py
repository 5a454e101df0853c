"""The table of acts: plain data, each row has what it names, and what is not an act yet only becomes less."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from itertools import combinations
from typing import Any, cast

import pytest

from catena.acts.perform import body_of
from catena.acts.table import ACTS, ActRow, FrontName, commands_of
from catena.linear.commands import commands as linear_commands
from catena.screens.chat.actions import chat_actions
from support.places import ROOT

# Commands that are written once for each of two fronts, and sentences in two of acts and fronts: these only go down.
MOST_TWICE = 7
MOST_SENTENCES_TWICE = 10

_ROOMS = {"screen": chat_actions.ChatActions, "lines": linear_commands.LinearCommands}
_OF_OLD_NAMES = ("asides.md", "command-line.md")  # say what an old or another client's name does
_MADE = re.compile(r"self\.(\w+)(?:: \w+)? = (\w+)\(")
_MADE_LATER = re.compile(r"def (\w+)\(self\) -> (\w+):\n(?:.*\n)?\s+from ([\w.]+) import")


def action_of(front: FrontName, does: str) -> Callable[..., Any]:
    """The action that a row names, of the class that has it."""
    room = _ROOMS[front]
    subject, _, name = does.rpartition(".")
    if not subject:
        found = getattr(room, name)
    else:
        source, module = inspect.getsource(room), inspect.getmodule(room)
        made = dict(_MADE.findall(source))
        later = {
            each: getattr(import_module(where), kind) for each, kind, where in _MADE_LATER.findall(source)
        }
        found = getattr(later.get(subject) or getattr(module, made[subject]), name)
    return cast("Callable[..., Any]", found)


def test_the_table_of_acts_imports_nothing_of_ours() -> None:
    tree = ast.parse((ROOT / "tui/catena/acts/table.py").read_text("utf-8"))
    named = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    assert named <= {"__future__", "collections.abc", "dataclasses", "typing"}
    assert not [each for each in ast.walk(tree) if isinstance(each, ast.Import)]


def test_a_name_stands_for_one_act_on_each_front() -> None:
    assert len(ACTS) == len({each.name for each in ACTS})
    for front in ("screen", "lines", "shell"):
        names = [name for each in commands_of(front) for name in each.names]
        assert len(names) == len(set(names)), front


@pytest.mark.parametrize("front", ["screen", "lines"])
def test_every_row_names_an_action_that_takes_an_argument_only_if_the_row_has_one(front: FrontName) -> None:
    for each in commands_of(front):
        if not each.does:
            assert (front, each.name) == ("lines", "quit"), each.name  # the client leaves by itself
        elif ":" not in each.does:
            action = action_of(front, each.does)
            signature = inspect.signature(action)
            assert inspect.iscoroutinefunction(action) or signature.return_annotation, each.name
            signature.bind(None, *(["text"] if each.argument else []))


def test_every_command_of_the_shell_names_the_module_of_its_parser() -> None:
    for each in commands_of("shell"):
        assert import_module(each.does).COMMANDS[each.name].parser().prog.startswith("catena"), each.name


def test_an_act_that_is_written_once_takes_where_it_is_done_and_what_its_row_says() -> None:
    for each in ACTS:
        if each.does:
            body = body_of(each.does)
            assert inspect.iscoroutinefunction(body), each.name
            assert list(inspect.signature(body).parameters) == ["on", *filter(None, [each.takes])], each.name
            assert all(not front.does for front in (each.screen, each.lines) if front), each.name


def twice(act: ActRow) -> bool:
    """True if the screen and linear mode each do the act in a way of their own."""
    return bool(act.screen and act.lines and not act.does)


def test_fewer_and_fewer_commands_are_written_for_each_front_anew() -> None:
    assert sum(map(twice, ACTS)) <= MOST_TWICE


def sentences(folder: str) -> set[str]:
    """The literals of a folder that are sentences: three words at least that are no docstring."""
    found: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        documents = {
            id(each.value)
            for each in ast.walk(tree)
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        }
        for each in ast.walk(tree):
            if not isinstance(each, ast.Constant) or not isinstance(each.value, str) or id(each) in documents:
                continue
            if len(each.value.split()) > 2:
                found.add(each.value.strip())
    return found


def test_fewer_and_fewer_sentences_stand_on_two_fronts() -> None:
    rooms = [sentences(f"tui/catena/{each}") for each in ("acts", "cli", "linear", "screens")]
    twice = {each for one, other in combinations(rooms, 2) for each in one & other}
    assert len(twice) <= MOST_SENTENCES_TWICE, sorted(twice)


def test_u08_no_sentence_names_a_command_by_a_name_that_is_in_no_list() -> None:
    listed = {act.name for act in ACTS if act.listed is None}
    names = {name for act in ACTS for name in (act.name, *act.aliases)} - listed
    named = re.compile(rf"(?<![\w/.<~-])/({'|'.join(sorted(names, key=len, reverse=True))})(?![\w/.-])")
    found = {
        (each.group(), sentence)
        for package in ("tui/catena", "acp/catena_acp")
        for sentence in sentences(package)
        for each in named.finditer(sentence)
    }
    assert {sentence for _, sentence in found} == {
        "/insert puts the answer into the draft, /save into a file, /begin into a new conversation.",
    }, "what a side question takes is no command"
    pages = [each for each in (ROOT / "docs").glob("*.md") if each.name not in _OF_OLD_NAMES]
    for page in (ROOT / "README.md", *pages):
        assert named.search(page.read_text(encoding="utf-8").replace("`", " ")) is None, page.name

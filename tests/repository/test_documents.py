"""The documents lead somewhere: every link and every anchor, and the index to every document."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from catena.acts.table import commands_of
from catena.cli.arguments import command_table
from catena.linear.commands.commands import COMMANDS as LINEAR_COMMANDS
from catena.screens.chat.commands.table import COMMANDS
from catena.settings.settings import parse_settings
from catena.settings.templates import find_templates
from support.places import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SETTINGS = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FOREIGN = {  # options and commands of others: agents, programs and templates in examples, and arguments of a command
    *("--acp", "--prefix", "--stdio", "--timeout", "--urgent", "--dir"),
    *("/review", "/cancel", "/name"),
}
_LINK = re.compile(r"\]\(([^()\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: str(each.relative_to(ROOT)))
def test_d05_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    dead = []
    for found in _LINK.finditer(_CODE.sub("", document.read_text("utf-8"))):
        link = found[1] or found[2]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_d04_the_readme_leads_from_what_it_is_to_its_limits_with_pictures() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[:3] == ["Install", "The first minute", "Why"]
    assert {"Agents", "Branches", "Configuration", "How it works", "Limits"} < set(headings)
    assert all(word in text.partition("## How it works")[2] for word in ("branch", "session", "replay"))
    for before, behind in itertools.pairwise(("demo-dark.svg", "## Install", "first-start-120x40-dark.svg")):
        assert text.index(before) < text.index(behind)


def test_d04_the_readme_has_the_command_by_which_everything_is_tested() -> None:
    command = re.search(r'^tests="(.+)"$', _text(".ci/run"), re.MULTILINE)
    assert command is not None and command[1] in _text("README.md")


def test_d05_the_index_names_every_document() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    documents = {str(each.relative_to(ROOT / "docs")) for each in (ROOT / "docs").rglob("*.md")} - {
        "README.md"
    }
    assert not {each for each in documents if f"({each})" not in index}


def test_u12_the_documents_for_users_have_at_most_30000_words() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert sum(len(each.read_text("utf-8").split()) for each in documents) <= 30_000


def written_code(document: Path) -> Iterator[str]:
    """What stands as code in a document: between backticks, and each line of a block."""
    text = document.read_text("utf-8")
    for block in _BLOCK.findall(text):
        yield from block.splitlines()
    yield from _INLINE.findall(_BLOCK.sub("", text))


@cache
def options() -> frozenset[str]:
    """Every option of the command line, of the rehearsal agent and of the benchmark."""
    table = command_table()
    others = ("acp/catena_acp/rehearsal/settings.py", "bench/__main__.py", "screenshots/gif.py")
    found = set(re.findall(r'"(--[a-z-]+)"', "".join(map(_text, others))))
    for name in ("", *table.names):
        for action in table.parser(name)._actions:
            if action.help is not argparse.SUPPRESS:
                found.update(action.option_strings)
    return frozenset(found)


def _text(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


PRESENT = [each for each in DOCUMENTS if each.name != "CHANGELOG.md"]  # which names what is gone


def test_d05_the_settings_of_every_example_are_taken() -> None:
    blocks = [(each, block) for each in PRESENT for block in _SETTINGS.findall(each.read_text("utf-8"))]
    assert blocks
    assert not [problem for each, block in blocks for problem in parse_settings(each, block).key_problems]


@pytest.mark.parametrize("document", PRESENT, ids=lambda each: str(each.relative_to(ROOT)))
def test_d05_options_commands_and_files_that_a_document_names_exist(document: Path) -> None:
    slashes = {f"/{name}" for each in COMMANDS for name in (each.name, *each.aliases)}
    slashes |= {f"/{name}" for line in LINEAR_COMMANDS for name in (line.name, *line.aliases)}
    slashes |= {f"/{each.name}" for each in find_templates(ROOT / "nowhere", str(ROOT / "nowhere"))}
    missing: set[str] = set()
    for code in written_code(document):
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", code))
        # The rehearsal agent makes these of the names of abilities.
        missing |= {each for each in named - options() if not each.startswith("--no-")}
        if command := re.match(r"(/[a-z-]+)(?![\w/.])", code):
            missing |= {command[1]} - slashes
        if command := re.match(r"catena ([a-z]+)(?= |$)", code):
            missing |= {command[1]} - set(command_table().names)
        if (
            re.fullmatch(r"(tui|acp|store|tests|bench|screenshots|docs)/[\w/.-]+", code)
            and not (ROOT / code).exists()
        ):
            missing.add(code)
    assert missing - _FOREIGN == set()


def test_d05_the_command_line_has_a_row_for_each_command() -> None:
    rows = {each.name: each for each in commands_of("shell") if each.summary}
    names = [name for name in command_table().names if name in rows]
    made = [
        f"| `catena {rows[each].usage.replace('|', chr(92) + '|')}` | {rows[each].summary} |"
        for name in names
        if " " not in name
        for each in (name, *(verb for verb in names if verb.startswith(f"{name} ")))
    ]
    assert re.findall(r"^\| `catena .*", _text("docs/command-line.md"), re.MULTILINE) == made

"""Verbs are commands: what was a flag before does what it did, and a conversation is kept without a screen."""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from catena.cli.arguments import command_table
from support.clients.command_line import Catena, newest, run, shown


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catena, str, str]:
    """A Catena with a conversation that changed a file, its id and that of its prompt."""
    catena = Catena(tmp_path_factory.mktemp("used"))
    assert run(catena, "say hello").status == 0
    id = newest(catena)
    (prompt,) = (each["id"] for each in shown(catena, id)["messages"] if each["kind"] == "user")
    return catena, id, prompt


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("doctor --reset", "doctor reset"),
        ("doctor --salvage", "doctor salvage"),
        ("doctor --backup /dev/null/x", "doctor backup /dev/null/x"),
        ("doctor --backup=/dev/null/x", "doctor backup /dev/null/x"),
        ("files ID --finish", "files finish ID"),
        ("files --undo ID", "files undo ID"),
        ("files ID --at MESSAGE --restore", "files restore ID --at MESSAGE"),
        ("files ID --at MESSAGE --restore a b --yes", "files restore ID --at MESSAGE a b --yes"),
        ("agents rehearsal --check --json", "agents check rehearsal --json"),
        ("login rehearsal --list --json", "login list rehearsal --json"),
        ("prune --prompts", "prune prompts"),
        ("prune --prompts hello --json", "prune prompts hello --json"),
        ("show ID --at MESSAGE", "show ID --turn MESSAGE"),
        ("--version", "version"),
    ],
)
def test_u10_what_was_a_flag_before_does_what_the_command_does(
    used: tuple[Catena, str, str], before: str, now: str
) -> None:
    catena, id, prompt = used

    def told(line: str) -> tuple[int, Any, str]:
        done = catena(*({"ID": id, "MESSAGE": prompt}.get(word, word) for word in line.split()))
        # It is told when an agent was looked at.
        out = (
            [{**each, "abilities": None} for each in [json.loads(done.out)]] if "check" in line else done.out
        )
        return done.status, out, done.err

    assert told(before) == told(now)
    assert "unrecognized" not in told(now)[2]
    flag = next(word.partition("=")[0] for word in before.split() if word.startswith("--"))
    assert not (flag != "--at" and flag in catena(*before.partition(" --")[0].split()[:1], "--help").out), (
        "it is not listed"
    )


def test_u10_every_page_has_a_description_options_that_are_explained_examples_and_statuses() -> None:
    table = command_table()
    for name in ("", *table.names):
        parser = table.parser(name)
        assert parser.description and parser.prog == f"catena {name}".rstrip(), name
        assert parser.examples and parser.statuses, name
        assert all(each.help or each.help is argparse.SUPPRESS for each in parser._actions), name


def test_u10_help_prints_what_the_option_prints_and_lists_the_commands_of_a_command(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert catena("help").out == catena("--help").out
    assert catena("help", "files", "restore").out == catena("files", "restore", "--help").out
    assert "  catena config set KEY VALUE  write a setting" in catena("help", "config").out
    assert "--linear[=LEVEL]" in catena("help").out


def kept(catena: Catena) -> list[str]:
    return [each["title"] for each in catena("list", "--json").json]


def test_u10_a_conversation_is_renamed_pinned_archived_and_deleted_and_undo_brings_it_back(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say hello").status == 0
    id = newest(catena)

    assert catena("rename", id, "Login", "form").out == "Renamed to “Login form”.\n"
    assert kept(catena) == ["Login form"]
    assert catena("pin", "Login form").out == "Pinned: first in the history, never pruned.\n"
    assert catena("pin", id).out == "Unpinned.\n"
    done = catena("delete", id[:8])
    assert done.status == 0 and done.out.startswith("Deleted. To restore it, start Catena in ")
    again = catena("delete", id)
    assert again.status == 2 and "It was deleted already. To restore it, start Catena in " in again.err
    assert kept(catena) == []
    before = shown(catena, id)
    for refused in (
        catena("rename", id, "Another"),
        catena("pin", id),
        catena("archive", id),
        catena("run", "--resume", id, "say never"),
        catena("--linear", "--resume", id, stdin="say never\n/quit\n"),
    ):
        assert (refused.status, refused.out, refused.err) == (again.status, "", again.err)
    assert shown(catena, id) == before

    told = catena("--linear", "--agent", "rehearsal", stdin="/undo\n/quit\n").out
    assert "Undone" in told and kept(catena) == ["Login form"]
    assert catena("archive", id).out.startswith("Archived: now at the end of the history. To restore it, ")


def test_u10_a_deleted_conversation_is_not_restored_as_a_tab(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    first = catena("--linear", "--agent", "rehearsal", stdin="say hello\n")
    assert "hello" in first.out
    id = newest(catena)

    assert catena("delete", id).status == 0
    assert "hello" not in catena("--linear", "--agent", "rehearsal", stdin="/tabs\n/quit\n").out


def test_u10_what_is_open_elsewhere_is_only_pinned_and_deleting_at_the_agents_needs_a_yes(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say hello").status == 0
    id = newest(catena)

    with catena.start("run", "--resume", id, "say held\nhang") as holder:
        assert holder.stdout is not None and holder.stdout.read(4) == "held"
        held = catena("delete", id)
        assert held.status == 5 and f"(pid {holder.pid}," in held.err
        assert catena("pin", id).status == 0
        holder.send_signal(signal.SIGINT)
        holder.communicate(timeout=60)

    refused = catena("delete", id, "--everywhere")
    assert refused.status == 2 and "--yes does not ask" in refused.err
    assert newest(catena) == id
    assert catena("delete", id, "--everywhere", "--yes").out.startswith("Deleted. ")

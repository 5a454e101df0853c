"""`catena permissions`, on a real store and a real settings file."""

from __future__ import annotations

from pathlib import Path

from support.clients.command_line import Catena
from support.clients.imports import FORBIDDEN, imported
from support.clients.listed import said


def test_w01_permissions_are_added_listed_tested_and_removed(tmp_path: Path) -> None:
    catena, here = Catena(tmp_path), str(tmp_path)
    said(catena, "talk", "hello")

    assert catena("permissions", "--help").status == 0
    assert catena("permissions", "list", "--cwd", here).out == "no rules: you are asked each time\n"
    added = catena("permissions", "add", "edit", "auth/", "--cwd", here)
    assert added.status == 0 and added.out.startswith("allow   edits below auth/  (this project)  ")
    again = catena("permissions", "add", "edit", "auth/**", "--cwd", here)
    assert again.out == added.out
    catena("permissions", "add", "execute", "rm", "--reject", "--cwd", here, "--conversation", "talk")

    tested = catena("permissions", "test", "edit", "auth/x.py", "--cwd", here)
    assert tested.out == "allowed by your rule: edits below auth/\n"
    assert catena("permissions", "test", "edit", "auth/../x", "--cwd", here).out == "asks: no rule matches\n"
    split = catena("permissions", "test", "execute", "ls $(rm x)", "--cwd", here)
    assert split.out == "asks: not a plain command\n"
    command = ("permissions", "test", "execute", "ls; rm x", "--cwd", here, "--json")
    assert catena(*command).json["answer"] == "ask"
    assert catena(*command, "--conversation", "talk").json["rule"]["scope"] == "conversation"

    (listed,) = catena("permissions", "--cwd", here, "--json").json["rules"]
    assert (listed["kind"], listed["pattern"], listed["answer"]) == ("edit", "auth/**", "allow")
    assert catena("permissions", "list", "--cwd", str(tmp_path / "other"), "--json").json["rules"] == []
    assert catena("permissions", "remove", listed["id"]).out == "removed\n"
    assert catena("permissions", "remove", listed["id"]).status == 2
    refused = catena("permissions", "add", "edit", "../x", "--cwd", here)
    assert refused.status == 2 and "a path within the project" in refused.err


def test_w01_a_tested_request_may_be_one_word_and_its_answer_is_the_exit_status(tmp_path: Path) -> None:
    catena, here = Catena(tmp_path), ("--cwd", str(tmp_path))
    catena("permissions", "add", "edit", "auth/", *here)
    catena("permissions", "add", "execute", "rm", "--reject", *here)

    allowed = catena("permissions", "test", "edit auth/x.py", *here)
    assert (allowed.status, allowed.out) == (0, "allowed by your rule: edits below auth/\n")
    rejected = catena("permissions", "test", "execute rm -r x", *here)
    assert (rejected.status, rejected.out) == (4, "rejected by your rule: commands that begin with “rm”\n")
    asked = catena("permissions", "test", "edit src/x.py", *here)
    assert (asked.status, asked.out) == (1, "asks: no rule matches\n")
    assert catena("permissions", "test", "edit", "src/x.py", "--json", *here).status == 1
    refused = catena("permissions", "test", "edit", *here)
    assert refused.status == 2 and "test needs a kind and an input" in refused.err


def test_w01_rules_of_the_settings_file_are_checked_with_their_line(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    good = '[[permission_rules]]\nkind = "fetch"\npattern = "example.org"\nanswer = "allow"\n'
    path = catena.settings(good)
    assert catena("permissions", "test", "fetch", "https://example.org/x").out == (
        "allowed by your rule: pages of example.org\n"
    )
    for wrong, why in (
        ('kind = "edit"\npattern = "/etc"\nanswer = "allow"\n', "pattern must be a path within the project"),
        ('kind = "edit"\npattern = "**"\n', 'needs kind = "…"'),
        ('kind = "edit"\npattern = "**"\nanswer = "allow"\nscope = "x"\n', "`scope` is not a setting"),
    ):
        catena.settings(f"{good}\n[[permission_rules]]\n{wrong}")
        told = catena("permissions", "list")
        assert told.status == 2 and f"{path}:6: [[permission_rules]] {why}" in told.err


def test_w01_permissions_need_neither_screen_nor_protocol(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    assert not imported(catena, "permissions", "list") & FORBIDDEN


def test_w01_a_rule_of_the_settings_may_hold_in_one_project_only(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (tmp_path / "here" / "below").mkdir(parents=True)
    rule = f'project = "{tmp_path}/here"\nkind = "edit"\npath = "docs/"\nanswer = "allow"\n'
    catena.settings(f'[permissions]\nrun = "deny"\n[[permissions.rules]]\n{rule}')
    below = catena("permissions", "list", "--cwd", str(tmp_path / "here" / "below"))
    assert "edits below docs/" in below.out
    assert catena("permissions", "list", "--cwd", str(tmp_path)).out == "no rules: you are asked each time\n"

"""Permission rules: what a pattern covers, and that no input widens it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena_acp.permissions.commands import commands_of
from catena_acp.permissions.rule import (
    InvalidRule,
    Rule,
    RuleScope,
    decide,
    first_choice,
    proposals,
    rule_of,
    rule_text,
)
from catena_acp.permissions.subject import subject_of, subject_of_text
from catena_acp.port.session_events import Location, ToolCallChanged, ToolDiff

HERE = "/project"


def rule(kind: str, pattern: str, *, allow: bool = True, scope: RuleScope = RuleScope.PROJECT) -> Rule:
    return rule_of(kind, pattern, allow=allow, scope=scope)


def answer(kind: str, pattern: str, text: str, *, allow: bool = True) -> bool | None:
    found = decide([rule(kind, pattern, allow=allow)], subject_of_text(kind, text, HERE)).rule
    return found.allow if found else None


@pytest.mark.parametrize(
    ("pattern", "path", "allowed"),
    [
        ("auth/", "auth/session.py", True),
        ("auth/", "auth/deep/er.py", True),
        ("auth/", "/project/auth/session.py", True),
        ("auth/", "auth/../auth/x.py", True),
        ("auth/", "auth", None),
        ("auth/", "authority/x.py", None),
        ("auth/", "auth/../main.py", None),
        ("auth/", "../auth/x.py", None),
        ("auth/", "/etc/auth/x", None),
        ("auth/", "~/auth/x", None),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a/b.py", True),
        ("src/*.py", "src/a/b.py", None),
        ("[id].py", "[id].py", True),
        ("[id].py", "i.py", None),
        ("**", "a/b", True),
        ("**", ".git/hooks/pre-commit", None),
        ("**", "../project2/a", None),
        (".git/**", ".git/config", True),
    ],
)
def test_w01_a_path_rule_holds_below_its_directory_only(
    pattern: str, path: str, allowed: bool | None
) -> None:
    assert answer("edit", pattern, path) is allowed


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("git status", True),
        ("git status --short 'a b'", True),
        ("git status; git status -s", True),
        ("git status && git 'status'", True),
        ("git stat\\us", True),
        ("git statusx", None),
        ("gitstatus", None),
        ("git", None),
        ("'git status'", None),
        ("git status; rm -rf .", None),
        ("git status && rm x", None),
        ("git status | sh", None),
        ("git status & rm x", None),
        ("git status\nrm x", None),
        ("git status > out", None),
        ("git status < in", None),
        ("git status $(rm x)", None),
        ('git status "$(rm x)"', None),
        ('git status "`rm x`"', None),
        ("git status `rm x`", None),
        ("git status $HOME", None),
        ("git status *", None),
        ("PATH=. git status", None),
        ("git status \\\nrm", None),
        ("git status 'open", None),
        ("git status # rm", None),
        ("git status\r rm", None),
        ("if git status", None),
    ],
)
def test_w01_a_command_rule_is_a_prefix_of_words_and_every_part_must_have_it(
    command: str, allowed: bool | None
) -> None:
    assert answer("execute", "git status", command) is allowed


@pytest.mark.parametrize(
    ("pattern", "url", "allowed"),
    [
        ("example.org", "https://example.org/a?b#c", True),
        ("example.org", "http://EXAMPLE.org:8080/", True),
        ("example.org", "https://a.example.org/", None),
        ("*.example.org", "https://a.example.org/", True),
        ("*.example.org", "https://badexample.org/", None),
        ("example.org", "https://example.org.evil.net/", None),
        ("example.org", "https://example.org@evil.net/", None),
        ("example.org", "https://evil.net\\@example.org/", None),
        ("example.org", "file://example.org/etc/passwd", None),
    ],
)
def test_w01_a_page_rule_goes_by_host(pattern: str, url: str, allowed: bool | None) -> None:
    assert answer("fetch", pattern, url) is allowed


def test_w01_links_are_followed_before_a_rule_is_asked(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "auth").mkdir(parents=True)
    outside.mkdir()
    (project / "auth" / "out").symlink_to(outside)
    (project / "alias").symlink_to(project / "auth")
    edits = [rule("edit", "auth/")]

    assert decide(edits, subject_of_text("edit", "auth/out/x", str(project))).rule is None
    assert decide(edits, subject_of_text("edit", "alias/x", str(project))).rule == edits[0]


def test_w01_rejecting_beats_allowing_and_then_the_narrowest_scope_answers() -> None:
    wide = rule("edit", "**", scope=RuleScope.SETTINGS)
    narrow = rule("edit", "**", scope=RuleScope.CONVERSATION)
    never = rule("edit", "auth/", allow=False, scope=RuleScope.SETTINGS)
    rules = [wide, never, narrow]

    assert decide(rules, subject_of_text("edit", "main.py", HERE)).rule == narrow
    assert decide(rules, subject_of_text("edit", "auth/x.py", HERE)).rule == never
    assert decide(rules, subject_of_text("edit", "AUTH/x.py", HERE)).rule == never
    assert answer("execute", "rm", "ls; /bin/rm -rf x", allow=False) is False
    assert answer("execute", "*", "ls $(x)", allow=False) is False


@pytest.mark.parametrize(
    "call",
    [
        ToolCallChanged("1", title="Edit auth/x.py", kind="edit"),
        ToolCallChanged("1", kind="edit", raw_input="auth/x.py"),
        ToolCallChanged("1", kind="edit", raw_input={"path": "auth/x", "also": "/etc/passwd"}),
        ToolCallChanged("1", kind="edit", raw_input={"changes": {"/etc/passwd": {}, "auth/x": {}}}),
        ToolCallChanged("1", kind="edit", raw_input={"path": "auth/x"}, locations=(Location("/etc/x", 1),)),
        ToolCallChanged("1", kind="edit", raw_input={"path": "auth/x"}, content=(ToolDiff("main", "", ""),)),
        ToolCallChanged("1", kind="edit", raw_input={"path": "auth/x", "command": "rm x"}),
        ToolCallChanged("1", kind="edit", raw_input={"path": "auth/x", "patch": "…"}),
        ToolCallChanged("1", kind="edit", raw_input={"path": ["auth/x", 3]}),
        ToolCallChanged(
            "1", kind="read", raw_input={"path": "auth/x"}, content=(ToolDiff("auth/x", "", ""),)
        ),
        ToolCallChanged("1", kind="execute", raw_input={"command": "ls", "cwd": "/"}),
        ToolCallChanged("1", kind="execute", raw_input={"command": "ls", "with_escalated_permissions": True}),
        ToolCallChanged("1", kind="execute", raw_input={"command": ["bash", "-lc", "ls; rm x"]}),
        ToolCallChanged("1", kind="other", raw_input={"path": "auth/x"}),
        ToolCallChanged("1", raw_input={"path": "auth/x"}),
    ],
)
def test_w01_hostile_and_missing_input_asks(call: ToolCallChanged) -> None:
    rules = [rule("edit", "auth/"), rule("read", "auth/"), rule("execute", "ls")]

    assert decide(rules, subject_of(call, HERE)).rule is None


def test_w01_structured_input_answers_whatever_the_title_says() -> None:
    call = ToolCallChanged(
        "1", title="rm -rf /", kind="execute", raw_input={"command": ["bash", "-lc", "ls -l"]}
    )

    assert decide([rule("execute", "ls")], subject_of(call, HERE)).why.startswith("allowed by your rule")
    assert decide([rule("any", "*")], subject_of(call, HERE)).rule


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("edit", "../x"),
        ("edit", "/etc"),
        ("edit", "~/x"),
        ("edit", "a//b"),
        ("edit", "a**/b"),
        ("edit", " "),
        ("execute", "ls; rm"),
        ("execute", "ls $(rm)"),
        ("fetch", "https://example.org"),
        ("fetch", "*"[:0]),
        ("any", "auth/"),
        ("think", "**"),
    ],
)
def test_w01_a_rule_that_would_reach_outside_cannot_be_made(kind: str, pattern: str) -> None:
    with pytest.raises(InvalidRule):
        rule(kind, pattern)


def test_w01_a_rule_is_said_in_words() -> None:
    assert rule_text(rule("edit", "auth/")) == "edits below auth/"
    assert rule_text(rule("read", "**")) == "reads anywhere in this project"
    assert rule_text(rule("edit", "src/*.py")) == "edits of src/*.py"
    assert rule_text(rule("execute", "git  status")) == "commands that begin with “git status”"


PIECES = st.sampled_from(["..", ".", "auth", "auth ", "x", "/", "//", "*", "**", "~", "etc", "\\", "é"])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_w01_no_path_widens_a_rule(path: str) -> None:
    if answer("edit", "auth/", path):
        assert os.path.realpath(os.path.join(HERE, path)).startswith(f"{HERE}/auth/")  # noqa: PTH118


SHELL = st.lists(
    st.sampled_from(
        [
            "ls",
            "rm",
            " ",
            ";",
            "&",
            "&&",
            "|",
            "||",
            "\n",
            "'",
            '"',
            "\\",
            "$x",
            "`",
            ">",
            "a",
            "#",
            "(",
            "=",
            "!",
        ]
    ),
    max_size=10,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(SHELL)
def test_w01_a_shell_runs_nothing_but_the_commands_that_are_split(text: str) -> None:
    commands = commands_of(text)
    if commands is None or any(word in ("\\", "") for words in commands for word in words[:1]):
        return
    # Each program of the text becomes a function of the shell that says with which words it was called.
    names = {words[0] for words in commands}
    if not all(name.isalpha() for name in names):
        return
    tells = "".join(f'{name}() {{ printf "<%s>" {name} "$@" >&2; echo >&2; }}\n' for name in sorted(names))
    ran = subprocess.run(
        ["/bin/sh", "-c", f"PATH=/nowhere\n{tells}{text}\nwait"], capture_output=True, text=True, check=False
    )
    if "yntax error" in ran.stderr or ran.returncode == 2:
        return
    allowed = {"".join(f"<{word}>" for word in words) for words in commands}
    said = set(ran.stderr.splitlines())
    assert said <= {line for each in allowed for line in each.splitlines()}


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126)), min_size=1, max_size=4))
def test_w01_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    found = commands_of(shlex.join(words))

    assert found is None or found == (tuple(words),)


def test_w01_what_is_offered_answers_the_request_and_goes_from_narrow_to_wide() -> None:
    edits = proposals(subject_of_text("edit", "src/auth/x.py", HERE))
    assert [each.pattern for each in edits] == ["src/auth/x.py", "src/auth/**", "src/**", "**"]
    assert edits[first_choice(edits)].pattern == "src/auth/**"
    assert [each.pattern for each in proposals(subject_of_text("edit", ".git/hooks/x", HERE))] == [
        ".git/hooks/x",
        ".git/hooks/**",
        ".git/**",
    ]
    runs = proposals(subject_of_text("execute", "git log -p; git log 'a b'", HERE))
    assert [each.pattern for each in runs] == ["git log", "git"] and first_choice(runs) == 0
    assert proposals(subject_of_text("execute", "ls; rm x", HERE)) == ()
    assert proposals(subject_of_text("execute", "ls $(rm x)", HERE)) == ()
    assert proposals(subject_of_text("edit", "/etc/passwd", HERE)) == ()
    assert [each.pattern for each in proposals(subject_of_text("fetch", "https://a.org/x", HERE))] == [
        "a.org"
    ]

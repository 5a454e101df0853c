"""How long it takes to hear what linear mode says, and what becomes of a line that answers nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from support.clients.command_line import Catena
from support.clients.listening import lines_told
from support.clients.on_terminal import on_terminal

WORDS_A_SECOND = 3  # 180 a minute


def seconds_to_hear(lines: Iterable[str]) -> float:
    return sum(len(line.split()) for line in lines) / WORDS_A_SECOND


def test_u11_help_and_a_plain_permission_are_short_and_the_rest_is_read_on_wish(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said = lines_told(catena, "/help", "/help all", "/agents", "/agents all", "ask anything", "", "/reject")
    first, last = (at for at, line in enumerate(said) if line.startswith("Help: a line is"))
    assert seconds_to_hear(said[first:last]) <= 30
    assert len([line for line in said[first:last] if line.startswith("/")]) == 10
    assert any(line.startswith("/compare") for line in said[last:])
    agents = [line for line in said if line.startswith("Agent: ")]
    more = next(line for line in agents if "more, not installed. /agent list all reads them." in line)
    assert not any("not installed" in line for line in agents[: agents.index(more)])
    missing = sum(1 for line in agents[agents.index(more) + 1 :] if ", not installed" in line)
    assert more.startswith(f"Agent: {missing} more, ")
    asked, again = (at for at, line in enumerate(said) if line.startswith("Asks: "))
    plain = [
        "$ git status"
        if line.startswith("“")
        else line  # in place of the title of a call that has no command
        for line in said[asked:again]
        if not line.startswith("Note: ")
    ]
    assert seconds_to_hear(plain) <= 8, plain
    assert "5: Reject with a reason" not in plain and "5: Reject with a reason" in said[again:]


def test_u11_a_choice_lets_commands_through_and_a_sentence_there_becomes_the_draft(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said = lines_told(
        catena,
        "say One.",
        "/fork 2",
        "/help quit",  # it only reads: the question waits
        "and what about the tests?",
        "y",
        "/draft",
        "/drop",
        "/mode",
        "why are there two?",
        "/stop",  # it takes the place of the choice
        "/draft",
        "/mode",
        "/quit",
    )
    text = "\n".join(said)
    assert "/quit: " in text and "is not one of them" not in text
    assert (
        text.count("Catena: Not an answer. It is kept as a draft: /draft send sends it, /draft reads it.")
        == 2
    )
    assert any("and what about the tests?" in line for line in said)
    assert any("why are there two?" in line for line in said)
    assert text.count("Catena: Cancelled.") == 2
    assert said[-1].startswith("To continue: ")


def test_u11_a_sentence_at_a_question_of_the_agent_is_kept_and_cancel_leaves_the_question(
    tmp_path: Path,
) -> None:
    said = lines_told(Catena(tmp_path), "form", "/cancel", "no, wait a moment", "/draft", "2", "/quit")
    assert any(line.startswith("Catena: The question is still open. 1 to 2.") for line in said)
    assert "  no, wait a moment" in said or "no, wait a moment" in said
    assert "Answered: declined" in said


def test_u11_whole_answers_are_said_when_they_are_whole(tmp_path: Path) -> None:
    said = lines_told(Catena(tmp_path), "/linear whole", "say One. Two.; tool read a.txt; say Three.")
    assert [line for line in said if line[:4] in ("Two.", "Thre", "Rehe", "Tool")] == [
        "Rehearsal 2: One.",
        "Two.",
        "Tool 3: Read a.txt:1, done",
        "Rehearsal 4: Three.",
    ]


def test_u11_a_line_that_was_typed_ahead_leaves_the_lines_behind_it_whole(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.environment["TERM"] = "dumb"
    with on_terminal(catena, "--agent", "rehearsal") as terminal:
        terminal.type("ask anything\n")
        terminal.wait_for("Answer: ")
        terminal.type("/stop\n/quit\n/quit\n")
        terminal.wait_for("To continue: ")
        assert terminal.status() == 0
    lines = terminal.seen.replace("\r\n", "\n").splitlines()
    assert any(line.startswith("Asks: ") for line in lines), lines
    assert "You 1: ask anything" in lines

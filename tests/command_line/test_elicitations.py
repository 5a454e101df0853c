"""What an agent asks the person for, under `catena run`: declined without a terminal, asked line by line on one."""

from __future__ import annotations

from pathlib import Path

from support.clients.command_line import Catena, run
from support.clients.on_terminal import on_terminal

RUN = ("run", "--agent", "rehearsal")
DECLINED = "declined: Rehearsal asks for input, and there is no terminal to answer at"


def test_w12_without_a_terminal_a_form_is_declined_with_a_word_and_the_turn_goes_on(tmp_path: Path) -> None:
    answered = run(Catena(tmp_path), "form; say and on")
    assert (answered.status, answered.out) == (0, '[form] {"action": "decline"}\n\nand on\n')
    assert DECLINED in answered.err and "Asked: Who are you to be? · declined" in answered.err


def test_w12_with_json_what_is_asked_and_answered_are_events(tmp_path: Path) -> None:
    answered = run(Catena(tmp_path), "--json", "ask name and colour")
    asked, settled = answered.event("elicitation"), answered.event("elicitation_settled")
    assert (asked["mode"], asked["message"]) == ("form", "What is your name, and which colour do you like?")
    assert [(field["name"], field["kind"], field["required"]) for field in asked["fields"]] == [
        ("name", "text", True),
        ("colour", "choice", True),
    ]
    assert asked["fields"][1]["choices"][0] == {"value": "red", "title": "Red"}
    assert (settled["ask_id"], settled["action"], settled["content"], settled["by"]) == (
        asked["ask_id"],
        "decline",
        None,
        "policy",
    )
    page = run(Catena(tmp_path), "--json", "ask url").event("elicitation")
    assert (page["mode"], page["url"]) == ("url", "https://example.org/programme")


def test_w12_on_a_terminal_each_field_is_asked_for_until_it_is_right(tmp_path: Path) -> None:
    with on_terminal(Catena(tmp_path), *RUN, "form") as terminal:
        terminal.wait_for("1-2? ")
        assert "? Rehearsal asks: Who are you to be?" in terminal.seen
        terminal.type("1\n")
        for prompt, line in (
            ("Name: ", "\n"),
            ("This field is required.", "Ada\n"),
            ("Lines: ", "100\n"),
            ("At most 99.", "\n"),
            ("Role: ", "clown\n"),
            ("Choose one of these.", "2\n"),
            ("With a mask: ", "perhaps\n"),
            ("Choose yes or no.", "yes\n"),
            ("Days: ", "1, never\n"),
            ("Choose only of these.", "1, 2\n"),
        ):
            terminal.wait_for(prompt)
            terminal.type(line)
        terminal.wait_for('"role": "villain", "mask": true, "days": ["sat", "sun"]')
        assert '"name": "Ada", "lines": 3' in terminal.seen
        assert terminal.status() == 0


def test_w12_on_a_terminal_the_end_of_input_cancels_and_a_page_is_shown_with_its_host(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    with on_terminal(catena, *RUN, "url") as terminal:
        terminal.wait_for("1-2? ")
        assert "https://example.org/programme" in terminal.seen and "Host: example.org" in terminal.seen
        terminal.type("1\n")
        terminal.wait_for('[url] {"action": "accept"}')
        assert terminal.status() == 0
    with on_terminal(catena, *RUN, "form") as terminal:
        terminal.wait_for("1-2? ")
        terminal.type("\x04")
        terminal.wait_for('{"action": "cancel"}')
        assert terminal.status() == 0


def test_w12_where_the_input_ends_behind_an_invalid_answer_the_form_is_not_sent_with_status_2(
    tmp_path: Path,
) -> None:
    with on_terminal(Catena(tmp_path), *RUN, "ask name and colour") as terminal:
        terminal.wait_for("1-2? ")
        for prompt, line in (
            ("1-2? ", "1\n"),
            ("Name: ", "Ada\n"),
            ("Colour: ", "plaid\n"),
            ("Choose one of", "\x04"),
        ):
            terminal.wait_for(prompt)
            terminal.type(line)
        terminal.wait_for('{"action": "cancel"}')
        terminal.wait_for("the form was not sent:")
        assert terminal.status() == 2

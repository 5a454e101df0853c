"""Linear mode at a terminal, with the terminal's own line editing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.clients.command_line import Catena, turns_kept, wait_until
from support.clients.on_terminal import OnTerminal, on_terminal
from support.transcripts.homes import Home


@contextmanager
def dumb(place: Path, *arguments: str, first: str = "") -> Iterator[OnTerminal]:
    """A client on a dumb terminal, with nothing said about linear mode."""
    catena = Catena(place)
    catena.environment |= {
        "TERM": "dumb",
        "CATENA_REHEARSAL_HOME": str(place / "agent"),
        "XDG_STATE_HOME": str(place / "state"),
    }
    with on_terminal(catena, *arguments, first=first) as terminal:
        yield terminal


def answer(terminal: OnTerminal, text: str = "") -> None:
    """Type a line as a person does who has heard the question."""
    terminal.read(0.5)
    terminal.type(f"{text}\n")


def give_cue(place: Path, name: str) -> None:
    cues = place / "agent" / "cues"
    cues.mkdir(parents=True, exist_ok=True)
    (cues / name).touch()


def test_s04_a_dumb_terminal_has_it_and_what_is_typed_while_an_answer_comes_is_not_lost(
    tmp_path: Path,
) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say Begun.; cue on; say Ended.\n")
        terminal.wait_for("Rehearsal 2: Begun.")
        terminal.type("say Queued.\n")
        terminal.wait_for("Queued: 1: say Queued.")
        give_cue(tmp_path, "on")
        terminal.wait_for("Rehearsal 4: Queued.")
        terminal.wait_for("You 5: ")
        terminal.type('"""\nsay One.\nsay Two.\n"""\n')
        terminal.wait_for("Done: ", times=3)
        terminal.wait_for("You 7: ")
        terminal.type("\x04")
        terminal.wait_for("To continue: catena --resume ")
        assert terminal.status() == 0
    seen = terminal.seen.replace("\r\n", "\n")  # as a terminal ends its lines
    assert not {each for each in seen if ord(each) < 0x20} - {"\n", "\a"}
    assert "You 3: say Queued.\n" in seen  # it was typed elsewhere, and is read where it goes out
    assert seen.count("You 1: ") == 1 and seen.count("You 5: ") == 1


def test_s04_ctrl_c_stops_the_turn_and_twice_leaves(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say Begun.; cue never\n")
        terminal.wait_for("Rehearsal 2: Begun.")
        terminal.type("\x03")
        terminal.wait_for("Stopped: ")
        terminal.wait_for("You 3: ")
        terminal.type("edit notes.txt\n")
        terminal.wait_for("Answer: ")
        terminal.type("\n")
        terminal.wait_for("Answer: ", times=2)
        terminal.type("\x04")  # asked about, since the agent is at work
        terminal.wait_for("is at work")
        while terminal.process.poll() is None:  # twice a second, as a person does who wants to leave
            terminal.type("\x03")
            terminal.read(0.5)
        assert terminal.status() == 130
        terminal.wait_for("To continue: ")
    assert "Answered: " not in terminal.seen


def test_s04_a_refused_command_between_two_quits_lets_the_second_ask_again(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say Begun.; cue never\n")
        terminal.wait_for("Rehearsal 2: Begun.")
        terminal.type("/quit\n")
        terminal.wait_for("is at work")
        terminal.type("/undo nosuch\n")
        terminal.wait_for("Unknown argument: ")
        terminal.type("/quit\n")
        terminal.wait_for("is at work", times=2)
        terminal.type("/quit\n")
        assert terminal.status() == 0


def test_s04_the_end_of_input_cancels_a_question_on_a_line_of_its_own(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say One.\n")
        terminal.wait_for("You 3: ")
        terminal.type("/fork\n")
        terminal.wait_for("Enter to cancel: ")
        terminal.type("\x04")
        terminal.wait_for("You 3: ", times=2)
        terminal.type("\x04")
        assert terminal.status() == 0
    assert "Enter to cancel: \nCatena: Cancelled.\n" in terminal.seen.replace("\r\n", "\n")


def test_g03_files_go_back_by_a_number_and_stay_on_enter(tmp_path: Path) -> None:
    notes, kept = tmp_path / "project" / "notes.txt", tmp_path / "data" / "catena.db"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    notes.write_text("mine\n")
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("cue kept; write notes.txt first\n")
        wait_until(lambda: turns_kept(kept) == 1)  # the agent would not wait for them long
        give_cue(tmp_path, "kept")
        terminal.wait_for("Done: ")
        assert notes.read_text() == "first\n"
        terminal.type("/edit 1\n")
        terminal.wait_for("1: Files stay as they are")
        terminal.wait_for("2: restores 1 file, 1 line added, 1 removed")
        terminal.wait_for("1 to 2, Enter takes 1: ")
        answer(terminal)
        terminal.wait_for("You 1: ", times=2)
        answer(terminal)
        terminal.wait_for("Cancelled; nothing was changed.")
        assert notes.read_text() == "first\n"
        terminal.type("/edit 1\n")
        terminal.wait_for("1 to 2, Enter takes 1: ", times=2)
        answer(terminal, "2")
        terminal.wait_for("You 1: ", times=3)
        answer(terminal, "say Back.")
        terminal.wait_for("Done: ", times=2)
        assert notes.read_text() == "mine\n"
        terminal.type("/versions 1\n")
        terminal.wait_for("1: cue kept; write notes.txt first")
        terminal.type("/open 1\n")
        terminal.wait_for("1 to 2, Enter takes 1: ", times=3)
        assert notes.read_text() == "mine\n"
        answer(terminal, "2")
        terminal.wait_for("1 file was restored.")
        assert notes.read_text() == "first\n"
        terminal.type("\x04")
        terminal.wait_for("To continue: ")


def test_g10_where_all_files_are_the_persons_the_choice_names_them(tmp_path: Path) -> None:
    notes, kept = tmp_path / "project" / "notes.txt", tmp_path / "data" / "catena.db"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("cue kept; write notes.txt first\n")
        wait_until(lambda: turns_kept(kept) == 1)
        give_cue(tmp_path, "kept")
        wait_until(lambda: turns_kept(kept, ended=True) == 1)
        notes.write_text("mine\n")
        terminal.type("/edit 1\n")
        terminal.wait_for("2: deletes notes.txt; notes.txt changed since by someone else")
        terminal.wait_for("1 to 2, Enter takes 1: ")
        answer(terminal)
        terminal.wait_for("You 1: ", times=2)
        answer(terminal, "say Other.")
        terminal.wait_for("You 3: ")
        terminal.type("\x04")
        terminal.wait_for("To continue: ")
    assert notes.read_text() == "mine\n"


def test_s06_a_hangup_and_a_kill_leave_everything_to_be_continued(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say Kept.; cue never\n")
        terminal.wait_for("Rehearsal 2: Kept.")
        terminal.process.send_signal(signal.SIGHUP)
        assert terminal.status() == 128 + signal.SIGHUP
    with dumb(tmp_path, "--continue") as terminal:
        terminal.wait_for("Rehearsal 2: Kept.")
        terminal.wait_for("You 3: ")
        terminal.type("say Kept as well.; cue never\n")
        terminal.wait_for("Rehearsal 4: Kept as well.")
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.status()
    with dumb(tmp_path, "--continue") as terminal:
        terminal.wait_for("You 3: say Kept as well.; cue never")
        terminal.wait_for("Rehearsal 4: Kept as well.")
        terminal.wait_for("Choose: /retry: Retry")
        terminal.type("/quit\n")
        assert terminal.status() == 0


def test_s04_a_second_client_reads_along_and_is_told_who_has_it(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as first:
        first.wait_for("You 1: ")
        first.type("say Mine.\n")
        first.wait_for("Rehearsal 2: Mine.")
        first.wait_for("You 3: ")
        with dumb(tmp_path, "--continue") as second:
            second.wait_for("Read-only: ")
            second.wait_for("Rehearsal 2: Mine.")
            second.wait_for("Another Catena is open here.")
            second.wait_for("You 3: ")
            second.type("say Not sent.\n")
            second.wait_for("Trouble: Read-only: this conversation is open in Catena")
            first.type("say Still mine.\n")
            second.wait_for("Rehearsal 4: Still mine.")
            second.type("/quit\n")
            assert second.status() == 0
        first.type("/quit\n")
        assert first.status() == 0


def test_s06_a_turn_that_was_left_says_that_the_person_quit(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say half of it; hang\n")
        terminal.wait_for("Rehearsal 2: half of it")
        terminal.wait_for("Waiting: ")
        terminal.type("/quit\n")
        terminal.wait_for("/quit again")
        terminal.type("/quit\n")
        terminal.wait_for("To continue: ")
    with dumb(tmp_path, "--continue") as terminal:
        terminal.wait_for("You quit during this turn.")
        terminal.type("/quit\n")
        assert terminal.status() == 0


def test_v03_nothing_that_may_have_been_typed_before_a_question_allows_it(tmp_path: Path) -> None:
    for_ever = "import sys; from catena.linear import context; context._ALONE_SECONDS = 1e9"
    with dumb(tmp_path, "--agent", "rehearsal", first=for_ever) as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("edit notes.txt\n")
        for times, answer in enumerate(("yes", "1", "/allow"), start=1):
            terminal.wait_for("Answer: ", times)
            terminal.type(f"{answer}\n")
            terminal.wait_for("That arrived with other input", times)
        terminal.type("/reject\n")
        terminal.wait_for("Answered: Reject")
        terminal.wait_for("You ", 2)
        terminal.type("/quit\n")
        assert terminal.status() == 0


@contextmanager
def busy_with_a_command(terminal: OnTerminal, place: Path) -> Iterator[None]:
    """A command of the person's runs in the block: what is typed there waits for its end."""
    runs, over = place / "project" / "runs", place / "project" / "over"
    terminal.type("!touch runs; until [ -e over ]; do sleep 0.05; done\n")
    wait_until(runs.exists)
    yield
    over.touch()


@pytest.mark.parametrize("typed", ["y", "1", "/allow"])
def test_v03_what_was_typed_before_a_question_was_said_does_not_answer_it_however_late_it_is_taken(
    tmp_path: Path, typed: str
) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say Begun.; cue on; edit notes.txt\n")
        terminal.wait_for("Rehearsal 2: Begun.")
        with busy_with_a_command(terminal, tmp_path):
            terminal.type(f"{typed}\n")
            terminal.read(0.2)
            give_cue(tmp_path, "on")
            terminal.wait_for("Choose: ")
            terminal.read(1.0)  # longer than anything counts as typed at once with the question
        terminal.wait_for("That arrived with other input")
        terminal.wait_for("Answer: ")
        assert "Answered: " not in terminal.seen
        answer(terminal, "y")
        terminal.wait_for("Answered: Allow")
        terminal.type("/quit\n/quit\n")
        assert terminal.status() == 0


def test_v03_what_was_typed_before_a_command_asked_answers_it_neither_and_a_sentence_is_kept(
    tmp_path: Path,
) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say One.\n")
        terminal.wait_for("You 3: ")
        with busy_with_a_command(terminal, tmp_path):
            terminal.type("/edit 1\n")
            terminal.type("say Other.\n")
            terminal.read(0.2)
        terminal.wait_for("It is kept as a draft")
        terminal.wait_for("You 1: ", times=2)
        answer(terminal)
        terminal.wait_for("Cancelled; nothing was changed.")
        terminal.type("/delete\ny\n")
        terminal.wait_for("That arrived with other input")
        answer(terminal, "y")
        terminal.wait_for("No tab is open")
        terminal.type("/quit\n")
        assert terminal.status() == 0


def test_v03_a_value_of_a_form_that_came_too_early_is_kept_nowhere(tmp_path: Path) -> None:
    early = tmp_path / "early"
    # However late this test is, what it types while the file is there came too early.
    first = (
        "import pathlib, sys; from catena.linear.context import LinearContext; is_early = LinearContext.is_early; "
        f"LinearContext.is_early = lambda *at: pathlib.Path({str(early)!r}).exists() or is_early(*at)"
    )
    with dumb(tmp_path, "--agent", "rehearsal", first=first) as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("form\n")
        terminal.wait_for("Answer: ")
        answer(terminal, "1")
        terminal.wait_for("Field 1 of ")
        early.touch()
        terminal.type("words of a secret\n")
        terminal.wait_for("That arrived with other input")
        early.unlink()
        answer(terminal, "/cancel")
        terminal.wait_for("the form is still open")
        terminal.type("/draft\n")
        terminal.wait_for("There is no draft.")
        terminal.type("/quit\n/quit\n")
        terminal.status()
    assert "It is kept as a draft" not in terminal.seen


def test_s04_what_is_pasted_is_one_prompt_and_answers_nothing(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say One.\nsay Two.\nsay Three.\n")
        terminal.wait_for("Done: ")
        terminal.wait_for("You 3: ")
        terminal.type("edit notes.txt\n")
        terminal.wait_for("Answer: ")
        terminal.type("1\n1\n")
        terminal.wait_for("That arrived with other input")
        terminal.wait_for("Answer: ", times=2)
        terminal.type("/reject not now\n")
        terminal.wait_for("not now")
        terminal.type("/quit\n/quit\n")
        terminal.wait_for("To continue: ")
        terminal.status()
    assert "Answered: Allow" not in terminal.seen


def test_s04_lines_that_were_typed_apart_while_a_command_ran_are_a_prompt_each(tmp_path: Path) -> None:
    with dumb(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        with busy_with_a_command(terminal, tmp_path):
            for line in ("say One.", "say Two."):
                terminal.type(f"{line}\n")
                terminal.wait_until_read()
                terminal.read(0.6)
        terminal.wait_for("Done: ", times=2)
        terminal.wait_for("You 5: ")
        terminal.type("/quit\n")
        assert terminal.status() == 0
    assert "Rehearsal 2: One." in terminal.seen and "Rehearsal 4: Two." in terminal.seen


def test_u05_the_first_start_says_that_other_tools_have_sessions_here_and_which_command_lists_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "project").mkdir()
    Home(tmp_path / "home").with_all(str((tmp_path / "project").resolve()))
    patient = "import sys; from catena.linear.commands import tabs; tabs._COUNTING_SECONDS = 60"
    with dumb(tmp_path, first=patient) as terminal:
        terminal.wait_for(" here: /history here all-sources lists them.")
        terminal.wait_for("Choose: which agent?")
        terminal.type("/history here all-sources\n")
        terminal.wait_for("History: ")
        terminal.type("/quit\n")
        assert terminal.status() == 0

"""Linear mode at a terminal that can draw: the line is edited, and nothing comes into the middle of it."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.clients.command_line import Catena
from support.clients.on_terminal import OnTerminal, on_terminal

LEFT, UP = "\x1b[D", "\x1b[A"
PASTES, PASTES_NOT = "\x1b[?2004h", "\x1b[?2004l"


@contextmanager
def drawing(place: Path, *arguments: str, **environment: str) -> Iterator[OnTerminal]:
    catena = Catena(place)
    catena.environment |= {"TERM": "xterm", "CATENA_REHEARSAL_HOME": str(place / "agent")} | environment
    with on_terminal(catena, "--linear", *arguments) as terminal:
        yield terminal


def give_cue(place: Path, name: str) -> None:
    cues = place / "agent" / "cues"
    cues.mkdir(parents=True, exist_ok=True)
    (cues / name).touch()


def test_u11_arrows_edit_the_line_and_bring_back_earlier_ones_also_after_a_restart(tmp_path: Path) -> None:
    with drawing(tmp_path, "--agent", "rehearsal") as terminal:
        before = termios.tcgetattr(terminal.descriptor)
        terminal.wait_for("You 1: ")
        terminal.type(f"say Thre.{LEFT}e\n")
        terminal.wait_for("Rehearsal 2: Three.")
        terminal.wait_for("You 3: ")
        terminal.type(f"nothing to send\x03{UP}\x7f\x7f\x7fough.\n")
        terminal.wait_for("Rehearsal 4: Through.")
        terminal.wait_for("You 5: ")
        terminal.type("\x04")
        terminal.wait_for("To continue: ")
        assert terminal.status() == 0
        after = termios.tcgetattr(terminal.descriptor)
    assert after[3] & termios.ICANON and after[3] & termios.ECHO and before[3] & termios.ISIG
    assert "nothing to send" in terminal.seen and "Rehearsal 4: Heading" not in terminal.seen
    with drawing(tmp_path, "--continue") as terminal:
        terminal.wait_for("You 5: ")
        terminal.type(f"{UP}{UP}\n")
        terminal.wait_for("Rehearsal 6: Three.")
        terminal.wait_for("You 7: ")
        terminal.type("/quit\n")
        assert terminal.status() == 0


def test_u11_a_line_that_is_being_typed_stands_below_what_the_agent_says(tmp_path: Path) -> None:
    with drawing(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say Begun.; cue on; say Ended.; edit notes.txt\n")
        terminal.wait_for("Rehearsal 2: Begun.")
        terminal.type("and what of the te")
        terminal.wait_for("and what of the te")
        give_cue(tmp_path, "on")
        terminal.wait_for("Answer: and what of the te")  # drawn again, behind what stands there now
        terminal.type("sts?\n")
        terminal.wait_for("It is kept as a draft")
        terminal.type("/reject\n/draft\n")
        terminal.wait_for("and what of the tests?\r\n", times=2)
        terminal.type("/quit\n/quit\n")
        terminal.wait_for("To continue: ")
    assert all(
        each.startswith("Asks: ")
        for each in terminal.seen.replace("\r", "\n").splitlines()
        if "Asks: " in each
    )


def test_u11_what_is_pasted_is_one_text_and_answers_nothing(tmp_path: Path) -> None:
    with drawing(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.wait_for(PASTES)
        terminal.type("\x1b[200~say One.\nsay Two.\x1b[201~\n")
        terminal.wait_for("Two.\r\nDone: ")
        terminal.wait_for("You 3: ")
        terminal.type("edit notes.txt\n")
        terminal.wait_for("Answer: ")
        terminal.type("\x1b[200~1\n1\x1b[201~\n")
        terminal.wait_for("That arrived with other input")
        terminal.type("/reject\n/quit\n/quit\n")
        terminal.wait_for("To continue: ")
    assert "Answered: Allow" not in terminal.seen


def test_u02_a_long_paste_says_its_size_and_is_not_read_back_whole(tmp_path: Path) -> None:
    lines = ["say Begun."] + [f"say Line {number}." for number in range(2, 401)]
    with drawing(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.wait_for(PASTES)
        terminal.type("say One.; cue on\n")
        terminal.wait_for("Rehearsal 2: One.")
        terminal.type("\x1b[200~" + "\n".join(lines) + "\x1b[201~\n")
        terminal.wait_for("Catena: Pasted 400 lines.")
        terminal.wait_for("Queued: 1: ")
        give_cue(tmp_path, "on")
        terminal.wait_for("Done: ", times=2)
        terminal.wait_for("You 5: ")
        terminal.type("/quit\n")
        assert terminal.status() == 0
    seen = terminal.seen.replace("\r\n", "\n")
    assert seen.count("Pasted 400 lines.") == 1
    read = seen[seen.rindex("You 3: say Begun.") :]
    assert "say Line 5.\nNote: 395 lines more; /show 3 reads all.\n" in read
    assert "say Line 6." not in read


def test_u11_ctrl_z_a_new_size_and_a_hang_up_leave_the_line_and_the_terminal_whole(tmp_path: Path) -> None:
    with drawing(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.wait_for(PASTES)
        terminal.type("say Ke")
        terminal.wait_for("say Ke")
        # Nobody could continue a process that is alone on its terminal: it goes on at once.
        terminal.type("\x1a")
        terminal.wait_for(PASTES_NOT)
        terminal.wait_for(PASTES, times=2)
        fcntl.ioctl(terminal.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        terminal.type("pt.\n")
        terminal.wait_for("Rehearsal 2: Kept.")
        terminal.process.send_signal(signal.SIGHUP)
        assert terminal.status() == 128 + signal.SIGHUP
        assert termios.tcgetattr(terminal.descriptor)[3] & termios.ICANON


def test_u11_a_terminal_that_is_gone_ends_it(tmp_path: Path) -> None:
    with drawing(tmp_path, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        other = os.open(os.devnull, os.O_RDWR)
        os.dup2(other, terminal.descriptor)  # closes it
        os.close(other)
        # Whichever is seen first, the signal or the end.
        assert terminal.status() in (
            128 + signal.SIGHUP,
            130,
        )


@pytest.mark.parametrize(
    ("flag", "environment"),
    [("--screen-reader", {}), ("--linear", {"TERM": "dumb"}), ("--no-flag", {"ACCESSIBLE": "1"})],
)
def test_u11_a_screen_reader_and_a_dumb_terminal_have_the_terminal_s_own_line(
    tmp_path: Path, flag: str, environment: dict[str, str]
) -> None:
    catena = Catena(tmp_path)
    catena.environment |= {"TERM": "xterm"} | environment
    flags = [] if flag == "--no-flag" else [flag]
    with on_terminal(catena, *flags, "--agent", "rehearsal") as terminal:
        terminal.wait_for("You 1: ")
        terminal.type("say One.\n")
        terminal.wait_for("Rehearsal 2: One.")
        terminal.wait_for("You 3: ")
        terminal.type("/quit\n")
        assert terminal.status() == 0
        terminal.wait_for("To continue: ")
    assert "\x1b" not in terminal.seen

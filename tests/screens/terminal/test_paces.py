"""What Enter takes of what is typed at the end of a real pty, at any pace."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.screen.terminal import EMPTY_BOX, Place, Terminal

# Seconds a key: all in one write, a roll over the keys, a quick typist, and one who looks for each key.
BURST, ROLLED, QUICK, SLOW = 0.0, 0.03, 0.08, 0.15
COMPLETED = {
    "/plann": r"│ say the template planning",
    "/mdtab": r"│ say the template markdown-table",
    "@view": r"│ @src/view\.py ",
    "@reviewing": r"│ @reviewing\.py ",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    prompts = place.config / "prompts"
    prompts.mkdir()
    for name in ("planning", "decode", "a-plan", "markdown-table"):
        (prompts / f"{name}.md").write_text(f"say the template {name}")
    for name in ("previewing.py", "reviewing.py", "src/view.py", "src/viewer.py"):
        path = place.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    for at in range(600):  # more than what is shown at once while files are looked for
        (place.project / f"a{at}view.txt").write_text("")
    return place


def typed(terminal: Terminal, text: str, pace: float) -> None:
    for key in text if pace else (text,):
        terminal.write(key)
        terminal.pause(pace)


# The last one that is sent is answered without a word, which ends a session.
@pytest.mark.parametrize(
    ("pace", "completed", "sent"),
    [
        (BURST, ("/plann", "/mdtab", "@view", "@reviewing"), ("/code", "/markdown", "/plan")),
        (ROLLED, ("/plann", "@view"), ("/markdown", "/plan")),
        (QUICK, ("/plann", "@view", "@reviewing"), ("/markdown", "/plan")),
        (SLOW, ("/mdtab", "@reviewing"), ("/code",)),
    ],
)
def test_u01_enter_takes_the_best_match_of_the_whole_word_at_any_pace(
    place: Place, pace: float, completed: tuple[str, ...], sent: tuple[str, ...]
) -> None:
    # So high that no answer moves its prompt off the screen before it is looked at.
    with place.catena("--agent", "rehearsal", rows=150) as terminal:
        terminal.wait_for("Understudy")
        terminal.wait_for(EMPTY_BOX + r"[^\n]*@ files")
        for word in completed:
            typed(terminal, f"{word}\r", pace)
            terminal.wait_for(COMPLETED[word])
            terminal.press("ctrl+c")
            terminal.wait_for(EMPTY_BOX)
        for word in sent:
            typed(terminal, f"{word}\r", pace)
            terminal.wait_for(rf"▌ {word} +\d\d:\d\d")  # in the transcript: a row of the list has no time


@pytest.mark.parametrize("paces", [(BURST, SLOW), (QUICK, ROLLED)])
def test_u01_enter_on_a_part_of_a_name_that_was_not_meant_completes_it_at_any_pace(
    place: Place, paces: tuple[float, ...]
) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.wait_for(EMPTY_BOX + r"[^\n]*@ files")
        for pace in paces:
            for word, completed in (("/res", "/clear"), ("/rew", "/rewind"), ("/logou", "/login out")):
                typed(terminal, f"{word}\r", pace)
                terminal.wait_for(rf"│ {completed} ")
                terminal.press("ctrl+c")
                terminal.wait_for(EMPTY_BOX)
        # The second Enter is of somebody who has not read what the first did.
        typed(terminal, "/istory\r\r", 0.0)
        terminal.wait_for(r"enter run[^\n]*\n│ /history ")
        terminal.pause(0.4)
        terminal.write("\r")
        terminal.wait_for("╭ History")

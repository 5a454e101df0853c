"""The composer's box: what its edges say, and the way down to the end of the transcript."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.app import ComposeResult

from catena.screens.chat.bars.tabs import TabBar, TabLabel
from catena.text.agent_text import acts_unasked, runs_everything
from support.screen.messages import taken_in
from support.screen.pilot import Person, at_the_screen
from support.screen.themed import ThemedApp


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


def edges(person: Person) -> tuple[str, str]:
    """The upper edge of the box and the lower one."""
    rows = [row.strip() for row in person.text.splitlines()]
    return next(row for row in rows if row.startswith("╭")), rows[-1]


@pytest.mark.parametrize(
    "names",
    [
        ("acceptEdits", "Accept Edits"),
        ("auto", "Agent"),
        ("autoEdit",),
        ("full-access",),
        ("yolo",),
        ("bypassPermissions",),
    ],
)
def test_a_mode_that_acts_unasked_is_known_by_its_id_or_name(names: tuple[str, ...]) -> None:
    assert acts_unasked(*names)


@pytest.mark.parametrize(
    "names", [("default", "Ask before edits"), ("plan",), ("read-only",), ("author", "automaton")]
)
def test_other_modes_are_not_taken_for_one(names: tuple[str, ...]) -> None:
    assert not acts_unasked(*names)


@pytest.mark.parametrize(
    ("names", "everything"),
    [
        (("bypassPermissions", "Bypass Permissions"), True),
        (("full-access", "Agent (full access)"), True),
        (("yolo", "YOLO", "Auto-approve all tools"), True),
        (("auto", "Auto", "Asks for nothing"), True),
        (("auto", "Auto", "Asks before it leaves the project"), False),
        (("acceptEdits", "Accept Edits", "Automatically accepts edits of files"), False),
        (("default", "Default", "Asks before all else"), False),
    ],
)
def test_a_mode_that_lets_the_agent_do_everything_is_told_from_one_that_takes_edits(
    names: tuple[str, ...], everything: bool
) -> None:
    assert runs_everything(*names) is everything


async def test_hints_stand_in_the_empty_box_and_go_with_the_first_letter(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        text = await person.sees("Ask Rehearsal", "ctrl+o history · @ files · / commands · f1 help")
        assert "edit a prompt" not in text, "there is none yet"
        await person.type("a")
        await person.sees_no("f1 help")
        await person.press("backspace")
        await person.sees("f1 help")
        await person.say("say hello")
        await person.idle()
        await person.sees("│ Reply to Rehearsal")
        assert edges(person)[1].startswith("╰ Rehearsal · Understudy · Ask ─")


async def test_s01_a_composer_of_one_row_says_which_of_its_lines_it_shows(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        await person.type("one")
        await person.press("ctrl+j")
        await person.type("two")
        await person.sees("› two", "line 2/2")
        await person.press("up")
        await person.sees("› one", "line 1/2")
        await person.press("ctrl+c")
        await person.sees_no("line ")


async def test_a_short_message_stands_in_the_empty_box_and_moves_nothing(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say hello")
        await person.idle()
        top = person.area.prompt.box.region.y
        person.area.say("Nothing to undo.")
        await person.sees("Nothing to undo. │")
        assert person.area.prompt.box.region.y == top
        await person.type("a")
        await person.sees_no("Nothing to undo.")
        person.area.say("Nothing to undo.")
        await person.taken_in()
        assert person.area.prompt.box.region.y == top
        assert person.text.splitlines()[top - 1].strip() == "Nothing to undo."


async def test_away_from_the_end_a_chip_says_how_far_it_is_and_a_click_goes_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("history 6; stream 400")
        await person.idle()
        assert "↓" not in edges(person)[0]
        await person.press("pageup")
        await person.until(lambda: re.search(r" ↓ \d+ lines  ╮$", edges(person)[0]), "the chip")
        assert person.transcript.rows_below == int(re.findall(r"↓ (\d+)", edges(person)[0])[0])
        upper = person.area.prompt.box.upper.region
        await person.pilot.click(offset=(upper.right - 6, upper.y))
        await person.until(lambda: person.transcript.following, "the end to be followed")
        assert "↓" not in edges(person)[0]


async def test_the_end_of_a_turn_that_was_not_followed_is_said_by_the_chip(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("history 6; stream 400; cue go-on; say and so it ends")
        # Before there is more than a screen of it, no key leads away from its end.
        transcript = person.transcript
        await person.until(lambda: transcript.content_rows > transcript.size.height, "more than a screen")
        await person.press("pageup")
        await person.until(lambda: re.search(r" [◐◓◑◒] ↓ \d+ lines", edges(person)[0]), "the chip to turn")
        (tmp_path / "rehearsal" / "cues").mkdir(parents=True, exist_ok=True)
        (tmp_path / "rehearsal" / "cues" / "go-on").touch()
        await person.until(lambda: " ↓ answered  ╮" in edges(person)[0], "the chip to say so")


class _Tabs(ThemedApp):
    def compose(self) -> ComposeResult:
        yield TabBar("/somewhere/shop")


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (90, "  1 fix the login and all that it n… ◐   2 docs •   3 release notes ?    /somewhere/shop"),
        (66, "  1 fix the login and all th… ◐   2 docs •   3 release notes ?"),
        (40, "  3/3 release notes ?                ◐ •"),
    ],
)
async def test_titles_are_cut_for_all_tabs_to_have_room(width: int, row: str) -> None:
    app = _Tabs()
    async with app.run_test(size=(width, 20)) as pilot:
        app.query_one(TabBar).show(
            [
                TabLabel("fix the login and all that it needs", "◐", False),
                TabLabel("docs", "•", False),
                TabLabel("release notes", "?", True),
            ]
        )
        await taken_in(pilot)
        assert app.screen._compositor.render_strips()[0].text.rstrip() == row


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_long_draft_takes_a_third_of_the_screen_and_ends_at_its_bottom(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with at_the_screen(str(tmp_path), size=size) as person:
        await person.say("say hello")
        await person.idle()
        person.composer.put("\n".join(f"line {number}" for number in range(60)))
        await person.sees("line 59")
        third = size[1] // 3
        await person.until(lambda: person.composer.size.height == third, "a third of the screen")
        assert person.area.prompt.box.region.bottom == size[1]
        assert "hello" in person.text

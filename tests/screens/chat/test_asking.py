"""Several agents that are asked the same: side by side or in tabs, compared, and one of them kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from catena.screens.comparison.screen import ComparisonScreen
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena.text.chain_text import branch_letter
from catena.workspace.tab import Tab
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


def others(place: Path) -> Settings:
    """Three more agents, of which one wants a login first."""

    def agent(name: str, *flags: str) -> AgentSetting:
        command = (sys.executable, "-m", "catena_acp.rehearsal", "--name", name, *flags)
        return AgentSetting(name, command, name.title(), (("CATENA_REHEARSAL_HOME", str(place / name)),))

    settings = {name: agent(name) for name in ("second", "third")}
    return Settings(agents={**settings, "locked": agent("locked", "--auth=required")})


def cue(place: Path, name: str) -> None:
    """Let the agents go on that wait for a cue."""
    for home in ("rehearsal", "second", "third"):
        cues = place / home / "cues"
        cues.mkdir(parents=True, exist_ok=True)
        (cues / name).touch()


async def compare(person: Person) -> None:
    """Compare the two branches, once both are there."""
    await person.say("/compare")
    await person.sees_dialog(ComparisonScreen)
    await person.sees("A  Rehearsal", "B  Second")


def over(person: Person, *tabs: Tab) -> bool:
    """True where the turns of all tabs have ended."""
    return all(person.is_over(tab) for tab in tabs)


async def test_w17_two_agents_are_asked_at_once_side_by_side_and_one_branch_is_kept(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(180, 45), settings=others(tmp_path)) as person:
        await person.answered("say first")
        asked = person.tab
        await person.say("/ask second cue both; edit! shared.txt; say it is done")
        await person.is_asked()
        await person.sees("Ask Rehearsal and Second this prompt at once?", "2 messages replayed")
        await person.press("enter")
        await person.until(lambda: len(person.tabs) == 2, "a tab for the other agent")
        other = person.tabs[1]
        await person.until(lambda: asked.at_work and other.at_work, "both to work at once")
        assert person.tab is asked, "the keys stay"
        await person.sees("Asked Second in tab 2. /compare compares the answers.")
        await person.until(lambda: person.chat.context.tabs.panes.of(other), "the other pane")
        cue(tmp_path, "both")
        await person.until(lambda: over(person, asked, other), "both answers")
        assert [tab.draft for tab in person.tabs] == ["", ""]
        await compare(person)
        await person.sees("it is done", "shared.txt", "+2 −2")
        await person.press("b")
        await person.until(lambda: person.tabs == [other], "the other tab to be closed")
        await person.looks_at(other)
        await person.sees("The branch of Rehearsal stays in /tree")
        assert len(person.chat.context.tabs.panes.open) == 1
        await person.say("/undo")
        await person.until(lambda: len(person.tabs) == 2, "the tab to be open again")


async def test_w17_nobody_is_asked_before_all_can_be_and_in_80_columns_the_other_is_a_tab(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 24), settings=others(tmp_path)) as person:
        await person.answered("say first")
        asked, leaf = person.tab, person.tab.leaf_id
        await person.say("/ask nobody say it")
        await person.until(lambda: person.draft == "/ask nobody say it", "the text to be there again")
        person.composer.clear()
        await person.say("/ask locked say both")
        await person.is_asked()
        await person.press("escape")
        await person.until(lambda: person.draft == "/ask locked say both", "the text to be there again")
        person.composer.clear()
        await person.say("/ask locked say both")
        await person.is_asked()
        await person.press("enter")
        await person.sees("Nothing was sent.")
        assert (person.draft, person.tabs[1].draft, asked.leaf_id) == ("say both", "say both", leaf)
        person.composer.clear()
        await person.say("/ask second")
        await person.is_asked()
        await person.sees("Ask Second the last prompt, too?")
        await person.press("enter")
        await person.until(lambda: len(person.tabs) == 3, "a tab for the other agent")
        other = person.tabs[2]
        await person.until(lambda: other.leaf_id and other.unread and over(person, other), "its answer")
        assert (person.tab, asked.leaf_id) == (asked, leaf), "the answer that was there stays"
        await person.say("/compare 3")
        await person.sees_dialog(ComparisonScreen)
        await person.sees("Both answer the same first prompt.", "A  Rehearsal")
        await person.press("a")
        await person.until(lambda: other not in person.tabs, "the other tab to be closed")
        await person.looks_at(asked)


async def test_w17_versions_of_a_prompt_are_compared_where_no_other_branch_is_in_a_tab(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(140, 40), settings=others(tmp_path)) as person:
        await person.answered("say first")
        await person.say("/compare")
        await person.sees("No prompt here has another version")
        await person.say("/retry second")
        await person.is_asked()
        await person.press("enter")
        await person.until(lambda: person.is_over(person.tab), "the second answer")
        await person.sees("2/2")
        await compare(person)
        await person.sees("Both answer the same first prompt.")
        await person.press("escape")
        await person.sees("2/2")


async def ask_three(person: Person, prompt: str, *, others: str = "second third") -> list[Tab]:
    """Ask three agents a prompt that waits for the cue `all`."""
    await person.answered("say first")
    await person.say(f"/ask {others} {prompt}")
    await person.is_asked()
    await person.press("enter")
    await person.until(lambda: len(person.tabs) == 3, "a tab for each agent")
    await person.until(lambda: all(tab.at_work for tab in person.tabs), "all to work at once")
    return list(person.tabs)


async def click(person: Person, word: str) -> None:
    """Click on a word where it first stands on the screen."""
    row, line = next((at, each) for at, each in enumerate(person.text.split("\n")) if word in each)
    await person.pilot.click(offset=(line.index(word), row))


def heads(person: Person) -> str:
    """The letters of the branches that stand on the screen."""
    columns = person.app.screen.query(".branch")
    return "".join(branch_letter(at) for at, column in enumerate(columns) if column.display)


async def test_w17_all_answers_are_compared_at_once_and_the_tabs_of_all_others_are_closed_as_one_act(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 40), settings=others(tmp_path)) as person:
        asked, second, third = await ask_three(person, "cue all; edit! shared.txt; say it is done")
        cue(tmp_path, "all")
        await person.until(lambda: over(person, asked, second, third), "all answers")
        await person.say("/compare")
        await person.sees_dialog(ComparisonScreen)
        await person.sees(
            "All 3 start with the same prompt.", "A  Rehearsal · Tab 1", "B  Second", "C  Third"
        )
        await person.sees("a keep A", "b keep B", "c keep C")
        assert heads(person) == "ABC"
        assert "Answers" not in person.text, "nothing is hidden"
        await person.press("d")
        await person.press("b")
        await person.until(lambda: person.tabs == [second], "the other tabs to be closed")
        await person.looks_at(second)
        await person.sees(
            "Kept Second. The branches of Rehearsal and Third stay in /tree; /undo opens their tabs"
        )
        await person.say("/undo")
        await person.until(lambda: len(person.tabs) == 3, "all tabs again")
        await person.sees("Undone: closing 2 tabs.")
        assert [tab.window_id for tab in person.tabs] == [each.window_id for each in (asked, second, third)]
        assert person.tab is person.tabs[0], "where the user stood"
        await person.say("/undo redo")
        await person.until(lambda: person.tabs == [second], "the tabs to be closed again")
        await person.sees("Redone: closing 2 tabs.")


async def test_w17_answers_that_have_no_room_are_gone_to_by_keys_and_clicks(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 24), settings=others(tmp_path)) as person:
        asked, second, third = await ask_three(person, "cue all; say it is done")
        await person.say("/compare")
        await person.sees_dialog(ComparisonScreen)
        await person.sees("Answers 1–2 of 3 ›", "still working", "b keep B", "←→ others")
        assert heads(person) == "AB"
        await person.press("right")
        await person.sees("‹ Answers 2–3 of 3", "C  Third", "c keep C")
        assert heads(person) == "BC"
        await person.press("right")
        assert heads(person) == "BC", "there is none behind the last"
        await click(person, "‹")
        await person.sees("Answers 1–2 of 3 ›")
        await click(person, "›")
        await person.sees("‹ Answers 2–3 of 3")
        await person.pilot.resize_terminal(40, 10)
        await person.sees("Answer 2 of 3", "b keep B", "←→ others", "close")
        assert heads(person) == "B"
        await person.press("right")
        await person.sees("Answer 3 of 3")
        await person.pilot.resize_terminal(200, 50)
        await person.until(lambda: heads(person) == "ABC", "all of them")
        await person.chat.context.tabs.close(third)
        await person.press("c")
        await person.sees("Third's tab is already closed; no other tab was.")
        assert person.tabs == [asked, second]
        await person.say("/compare")
        await person.sees_dialog(ComparisonScreen)
        await person.press("a")
        await person.is_asked()
        await person.sees("Stop Second, and keep Rehearsal?")
        await person.pilot.resize_terminal(40, 10)
        await person.sees("Stop Second, and keep Rehearsal?")  # there is no room for a note
        await person.pilot.resize_terminal(200, 50)
        await person.press("enter")
        await person.sees(
            "Kept Rehearsal. Second was working and is stopped. The branch of Second stays in /tree"
        )
        assert person.tabs == [asked]


async def test_an_agent_that_was_asked_twice_is_named_as_in_the_heads_when_one_answer_is_kept(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 40), settings=others(tmp_path)) as person:
        await ask_three(person, "cue all; say both", others="second second")
        cue(tmp_path, "all")
        await person.until(lambda: over(person, *person.tabs), "all answers")
        await person.say("/compare")
        await person.sees_dialog(ComparisonScreen)
        await person.sees("B  Second · Tab 2", "C  Second · Tab 3")
        await person.press("c")
        await person.sees("Kept Second · Tab 3. The branches of Rehearsal and Second · Tab 2 stay in /tree")

"""What may be done, and when, is the same on every surface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catena.settings.settings import load_settings
from catena_acp.continuity.conversation_events import Doing
from support.clients.command_line import Catena, newest
from support.clients.conversing import converse, furnish
from support.screen.pilot import at_the_screen

_VERSIONS = (("Here", "Three"), ("Version 1", "One"), ("Version 2", "Two"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with furnish(tmp_path, monkeypatch) as project:
        yield project


async def test_e08_a_retry_waits_for_no_agent_that_only_starts_on_any_surface(project: Path) -> None:
    told = await converse(("▸say Before.", "◂/agent slow", "▹/retry", "▹n", "▹/agent rehearsal"), project)
    assert "Retry 1: " in told and "still working" not in told
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/agent slow")
        await person.until(lambda: person.tab.doing is Doing.STARTING, "the agent to start")
        await person.say("/retry")
        await person.sees("Retry this prompt?")


async def test_w17_without_a_number_what_there_is_is_compared_on_every_surface(project: Path) -> None:
    told = await converse(
        ("▸/compare", "▸say One.", "▸/compare", "▸/edit", "▸say Two.", "▸/compare"), project
    )
    nothing = "No prompt here has another version, and no other branch is open in a tab."
    assert told.count(nothing) == 2
    assert "Version 1, You: say One." in told and "Here, You: say Two." in told
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/compare")
        await person.sees("Version 1", "say One.", "say Two.")


async def test_w17_all_answers_are_listed_and_compared_on_every_surface(project: Path) -> None:
    script = ("▸say One.", "▸/edit", "▸say Two.", "▸/edit", "▸say Three.", "▸/compare")
    told = await converse(script, project)
    assert "All 3 answer the same" not in told and "They split at the first prompt." in told
    said = told[told.index("They split") :]
    places = [said.index(f"{name}, You: say {word}.") for name, word in _VERSIONS]
    assert places == sorted(places), told
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.pilot.resize_terminal(120, 40)
        await person.say("/compare")
        await person.sees(
            "They split at the first prompt.", "say One.", "say Two.", "say Three.", "C  Version 3"
        )


async def test_w17_without_a_prompt_the_draft_or_the_last_one_is_asked_on_every_surface(
    project: Path,
) -> None:
    nothing = "Write a prompt first, or put it after the agent: /ask AGENT PROMPT"
    told = await converse(("▸/ask two", "▸say One.", "▸/ask two", "▸y", "▸/tab 2", "▸/chain"), project)
    assert told.count(nothing) == 1
    behind = told[told.index("▸/tab 2") :]
    assert "Two 2: One." in behind or "two 2: One." in behind, told
    async with at_the_screen(str(project), settings=load_settings()) as person:
        await person.first_tab()
        await person.new_tab()
        await person.idle()
        await person.say("/ask two")
        await person.sees(nothing)


async def test_e13_going_back_in_the_undo_history_says_what_was_redone_on_every_surface(
    project: Path,
) -> None:
    script = ("▸say One.", "▸/rename First", "▸/undo", "▸/reflog", "▸/open 1", "▸/undo")
    told = await converse(script, project)
    redone = "Redone: the title “First”."
    assert told.count(redone) == 1 and told.count("Undone: the title “First”.") == 2
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/reflog")
        await person.sees("Undo history", "the title “First”")
        await person.press("enter")
        await person.sees(redone)


async def test_e13_an_undo_that_brings_back_what_was_said_before_a_logout_warns_on_every_surface(
    project: Path,
) -> None:
    script = ("▸say One.", "▸say Two.", "▸/retry", "▸y", "▸/logout", "▸y", "▸/undo")
    told = await converse(script, project)
    assert "Your next prompt includes messages from before you logged out. Undone: the retry." in told
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/redo")
        await person.sees("Redone: the retry.")
        await person.say("/undo")
        await person.sees("Your next prompt includes messages from before you logged out. Undone: the retry.")


async def test_files_whose_size_no_agent_reported_are_listed_without_one_on_every_surface(
    project: Path,
) -> None:
    told = await converse(("▸tool edit notes.txt", "▸/files"), project)
    assert "File: notes.txt, changed 1 time\n" in told
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/files")
        assert "changed 1 time," not in await person.sees("notes.txt", "changed 1 time")


async def test_one_of_the_answers_that_are_compared_is_kept_on_every_surface(project: Path) -> None:
    script = (
        "▸say One.",
        "▸/ask two two say Both.",
        "▸y",
        "▸/compare",
        "▸/open 3",
        "▸/tabs",
        "▸/help compare",
    )
    told = await converse(script, project)
    assert "Keep: /open N to keep one and close the tabs of the others." in told
    assert "1: Rehearsal, Tab 1, here\n2: Two, Tab 2\n3: Two, Tab 3\n" in told
    assert "Kept Two, Tab 3. The branches of Rehearsal and Two, Tab 2 stay in /tree" in told
    assert "Tabs: 1." in told and "and keep one" in told

"""Fork, edit and siblings on the screen: the real app with a real agent process."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from catena.screens.chat.actions.branching.editing import EditActions
from catena.screens.common.picker import Picker
from catena.screens.history.picker import HistoryScreen
from catena.terminal import key_gate
from catena_acp.port.port import AgentSpec
from catena_store.errors import StoreError
from support.conversations.rehearsed import World
from support.screen.pilot import Person, at_the_screen
from support.screen.terminal import Place


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose agent is the built-in one of the screen."""
    world = World(tmp_path)
    for name, value in world.spec().env:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    return world


def edits(person: Person) -> EditActions:
    return person.chat.actions.edits


async def say(person: Person, *words: str) -> None:
    for word in words:
        await person.say(f"say {word}")
        await person.sees(f"  {word[:60].strip()}")
        await person.idle()


async def edit_chosen(person: Person, *keys: str) -> None:
    """Choose a prompt by Esc Esc and these keys, and wait until it is in the composer."""
    await person.escape_twice()
    await person.press(*keys, "enter")
    await person.sees("esc cancel")
    await person.done()
    await person.writing()


async def test_e01_esc_esc_chooses_an_earlier_prompt_in_the_transcript(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha", "beta")
        transcript = person.area.conversation.transcript
        assert transcript is not None
        await person.escape_twice()
        await person.sees("enter edit")
        await person.until(lambda: not transcript.busy, "it to be drawn")
        newest = transcript.record(transcript.current)
        assert transcript.choosing and newest is not None and newest.text == "say beta"
        rows = {strip.text.strip(): strip for strip in transcript._strips}
        dim = [
            text
            for text, strip in rows.items()
            if text and all(segment.style and segment.style.dim for segment in strip if segment.text.strip())
        ]
        assert "alpha" in dim and any(text.startswith("▌ say alpha") for text in dim)
        assert not any("say beta" in text for text in dim)
        await person.press("up", "enter")
        await person.sees("Edit ", "│ say alpha", "esc cancel")
        await person.writing()
        await person.taken_in()
        assert person.draft == "say alpha" and not transcript.choosing
        await person.say("say gamma")
        await person.sees("  gamma", "‹ 2/2 ›")
        await person.idle()
        assert "beta" not in person.text and "esc cancel" not in person.text
    assert world.prompts()[-1] == ["say gamma"], "the first prompt edited tells a fresh session nothing"


async def test_e01_neither_slow_presses_nor_esc_that_closes_something_choose(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        now = 0.0
        edits(person).clock = lambda: now
        area = person.area
        assert area.conversation.transcript is not None
        await person.press("escape")
        now = 0.7
        await person.press("escape")
        assert area.place == "composer", "two slow presses"
        now = 2.0
        await person.press("escape", "x", "escape")
        assert area.place == "composer", "something was typed between"
        await person.press("backspace", "ctrl+f")
        await person.until(lambda: area.place == "finding", "the find bar")
        await person.press("escape", "escape")
        assert area.place == "composer", "the first one closed the find bar"
        await person.press("/")
        await person.until(lambda: area.prompt.completion.is_open, "the completions")
        await person.press("escape", "escape")
        assert area.place == "composer", "the first one closed the completions"
        await person.press("backspace", "ctrl+c", "ctrl+c")
        assert area.place == "composer", "that is not esc"
        await person.press("escape", "escape")
        assert area.place == "choosing"
        await person.press("escape")
        assert area.place == "composer" and not area.conversation.transcript.choosing


async def test_e07_the_edit_says_what_it_would_tell_before_it_is_sent(world: World) -> None:
    plain = world.spec("--no-fork")
    forkless = AgentSpec("command:plain", "plain", plain.command, plain.env)
    async with at_the_screen(str(world.project), agent=forkless) as person:
        await say(person, "alpha", "beta", "gamma")
        await edit_chosen(person)
        await person.sees("4 messages replayed, ~")
        heard = len(world.prompts())
        await person.press("escape")
        await person.sees_no("esc cancel")
        await edit_chosen(person, "up", "up")
        await person.sees("nothing to replay")
        assert len(world.prompts()) == heard


async def test_e01_the_draft_waits_and_comes_back_and_what_was_changed_is_kept(world: World) -> None:
    (world.project / "notes.txt").write_text("notes")
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.say("/attach notes.txt")
        await person.sees("+ notes.txt")
        person.composer.put("my draft")
        await edit_chosen(person)
        assert person.draft == "say alpha" and "notes.txt" not in person.text
        person.composer.put("say half done")
        await person.press("escape")
        await person.sees("my draft", "+ notes.txt", "Edit that prompt again")
        assert person.draft == "my draft"
        await edit_chosen(person)
        assert person.draft == "say half done"
        await person.new_tab()
        assert person.draft == ""
        await person.sees_no("esc cancel")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("esc cancel", "say half done")
        conversation_id = person.tab.conversation.id
    async with at_the_screen(str(world.project), conversation_id=conversation_id) as person:
        await person.sees("say half done")
        assert person.draft == "say half done\nmy draft", "leaving in the middle of it loses nothing"
        await person.sees("+ notes.txt")


async def test_e06_attachments_of_the_prompt_are_in_the_composer_and_go_with_the_sibling(
    world: World,
) -> None:
    (world.project / "notes.txt").write_text("the notes")
    async with at_the_screen(str(world.project)) as person:
        await person.say("/attach notes.txt")
        await person.sees("+ notes.txt")
        await say(person, "alpha")
        await edit_chosen(person)
        await person.sees("+ notes.txt 9 B")
        await person.say("say beta")
        await person.sees("  beta", "‹ 2/2 ›", "+ notes.txt")
        await person.idle()
        assert person.tab.attachments == ()
        transcript = person.area.conversation.transcript
        assert transcript is not None
        prompt = transcript.prompt_above(None)
        assert prompt is not None and prompt.text == "say beta"
        (file,) = await person.chat.context.tabs.branches.attachments_of(prompt.id)
        assert file.content == b"the notes"


async def test_a_command_in_the_middle_of_an_edit_is_done_and_the_prompt_stays(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await edit_chosen(person)
        heard = len(world.prompts())
        await person.say("/rename another title")
        await person.sees("Renamed to “another title”.", "esc cancel")
        assert person.draft == "say alpha" and len(world.prompts()) == heard


async def test_an_edit_that_cannot_be_sent_stays_in_the_composer(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        person.composer.put("my draft")
        await edit_chosen(person)

        async def refuse(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        window = person.tab.window
        window.edit, edit = refuse, window.edit  # type: ignore[method-assign]
        await person.say("say beta")
        await person.sees("the disk is full", "esc cancel", "│ say beta")
        await person.done()
        window.edit = edit  # type: ignore[method-assign]
        await person.press("escape")
        assert person.draft == "my draft"


def test_e01_two_quick_escapes_are_understood_in_a_real_terminal(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.say("say alpha")
        terminal.wait_for(r"  alpha[\s\S]*esc esc edit")  # the turn is over: nothing is left to be stopped
        terminal.write("\x1b\x1b")
        terminal.wait_for("enter edit")
        terminal.press("enter")
        terminal.wait_for("esc cancel")
        terminal.wait_for("│ say alpha")


async def test_e03_each_sibling_comes_back_with_its_own_tail_place_and_draft(world: World) -> None:
    async with at_the_screen(str(world.project), size=(100, 24)) as person:
        await say(person, "alpha", "beta", "tail")
        await person.say("stream 400 end=CURTAIN")
        await person.idle()
        person.composer.put("old draft")
        transcript = person.transcript
        await person.until(lambda: not transcript.busy, "it to be drawn")
        await person.press("pageup")
        await person.until(lambda: person.tab.scroll is not None and not transcript.busy, "a place")
        place, seen = transcript.position(), transcript._strips[3].text[2:]  # behind the mark of browsing
        await person.escape_twice()
        await person.press("escape")
        await person.until(lambda: transcript.position() == place, "the place where one read")
        await edit_chosen(person, "up", "up")
        await person.press("escape")
        await person.until(lambda: transcript.position() == place, "the place, after an edit that is left")
        await edit_chosen(person, "up", "up")
        await person.say("say other")
        await person.sees("  other", "‹ 2/2 ›", "stays on the earlier branch")
        await person.idle()
        assert person.draft == "" and "tail" not in person.text
        person.composer.put("new draft")
        x, y = next(
            (line.index("‹"), y) for y, line in enumerate(person.text.splitlines()) if "‹ 2/2 ›" in line
        )
        await person.pilot.click(offset=(x, y))
        await person.until(lambda: person.draft == "old draft", "the draft of the other sibling")
        await person.until(lambda: transcript.position() == place, "its place")
        await person.until(lambda: transcript._strips[3].text[2:] == seen, "what one read there")
        await person.done()
        await person.browse()
        await person.press("l")
        await person.until(lambda: person.draft == "new draft", "the draft of this one")
        await person.sees("  other")
        await person.done()
        await person.press("l")
        await person.sees("This is the newest version")
        await person.done()
        await person.press("h")
        await person.until(lambda: person.draft == "old draft", "the draft of the other sibling again")
        await person.until(lambda: transcript.position() == place, "its place again")


async def test_e04_editing_while_the_agent_streams_stops_the_turn_first(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.say("stream 1200 rate 20")
        await person.until(lambda: person.tab.at_work, "the turn")
        await person.sees("▌ stream 1200")
        await person.browse()
        await person.press("J", "e")
        await person.sees("enter stop and send")
        await person.say("say instead")
        await person.sees("  instead", "‹ 2/2 ›")
        await person.idle()
        assert "stream" not in person.text
    cancelled = [entry for entry in world.requests() if entry.get("method") == "session/cancel"]
    assert len(cancelled) == 1


async def test_e08_retry_names_its_price_and_asks_and_another_agent_can_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = AgentSpec("command:other", "other", world.spec().command, world.spec().env)
    async with at_the_screen(str(world.project), agent=other) as person:
        await say(person, "alpha", "beta")
        heard = len(world.prompts())
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await person.sees("Retry this prompt?", "enter   Retry")
        await person.press("x", "escape")
        await person.sees_no("Retry this prompt?")
        await person.until(lambda: person.area.place == "browsing", "the keys to go back")
        assert person.draft == ""
        assert len(world.prompts()) == heard
        await person.press("r")
        await person.is_asked()
        await person.apart()
        await person.press("a")
        await person.sees("Retry with which agent?", "2 messages replayed")
        await person.type("rehearsal")
        await person.press("enter")
        await person.sees("Rehearsal ‹ 2/2 ›", "  beta")
        await person.idle()
        assert person.tab.agent == "rehearsal"
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await person.press("enter")
        await person.sees("Rehearsal ‹ 3/3 ›")
        await person.idle()
        await person.browse()
        monkeypatch.setattr(key_gate, "_PATIENCE", 1_000)  # however slow the machine is
        async with person.store_held():
            await person.press("h", "h")  # the second one is for where the first one leads
        await person.sees("other ‹ 1/3 ›")
    assert len(world.prompts()) == heard + 2


async def test_e08_retry_that_is_typed_shows_its_price_and_wants_enter_too(world: World) -> None:
    async with at_the_screen(str(world.project), agent=world.spec()) as person:
        await say(person, "alpha")
        heard = len(world.prompts())
        await person.say("/retry")
        await person.is_asked()
        await person.sees("Retry this prompt?", "enter   Retry")
        assert len(world.prompts()) == heard
        await person.press("enter")
        await person.sees("‹ 2/2 ›")
        await person.idle()
    assert len(world.prompts()) == heard + 1


async def test_f13_a_fork_goes_to_another_directory_that_is_named_and_one_that_is_not_there_is_refused(
    world: World,
) -> None:
    (world.project / "other place").mkdir()
    async with at_the_screen(str(world.project), agent=world.spec()) as person:
        await say(person, "alpha")
        for wrong, words in (("--dir nowhere", "nowhere: No such file"), ("besides", "Unknown argument")):
            await person.say(f"/fork {wrong}")
            await person.sees(words)
            await person.done()
        await person.say("/fork side --dir other place")
        await person.sees("Forked")
        await person.done()
        cwd = str((world.project / "other place").resolve())
        assert person.tab.conversation.record.cwd == cwd
        assert world.requests("session/fork")[-1]["params"]["cwd"] == cwd


async def test_f01_a_fork_in_place_shows_its_price_and_wants_enter(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha", "beta")
        source = person.tab.conversation.id
        person.composer.put("my draft")
        await person.browse()
        await person.press("f")
        await person.is_asked()
        await person.sees(
            "Fork from here in this tab?", "same context, nothing replayed", "s       Fork in a new tab"
        )
        await person.press("escape")
        await person.sees_no("Fork from here")
        await person.until(lambda: person.area.place == "browsing", "the keys to go back")
        assert person.tab.conversation.id == source
        await person.press("f")
        await person.is_asked()
        await person.press("enter")
        await person.sees("Forked in this tab", "forked from “say alpha”")
        await person.done()
        assert person.tab.conversation.id != source and len(person.tabs) == 1
        assert person.draft == "my draft"
        await say(person, "gamma")
        await person.press("ctrl+o")
        await person.sees_dialog(HistoryScreen)
        await person.sees("say alpha", "say gamma")
    assert world.prompts()[-1] == ["say gamma"], "nothing was replayed"


async def test_f01_the_help_beside_the_question_of_a_fork_is_on_its_keys(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.say("/fork")
        await person.is_asked()
        await person.press("f1")
        await person.sees("Before a fork or a retry", "in a new tab, or in this one")
        await person.press("escape")
        await person.back()
        assert person.area.panels.fork.open


@pytest.mark.parametrize("seed", range(4))
async def test_f02_words_that_begin_with_a_key_of_the_question_fork_nothing(world: World, seed: int) -> None:
    """The words of the next prompt, in any order, at any pace, behind a question that opens or stands."""
    chance = random.Random(seed)
    words = ["say x", "so what", "show me", "stop", "s s s"]
    chance.shuffle(words)
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        for number, text in enumerate(words):
            await person.browse()
            read_at = time.monotonic()
            await person.press("F")
            await person.is_asked()
            if number % 2:  # typed in one write, after a look at the question
                await person.apart()
                await person.type_at_once(text)
            else:  # typed on, key by key, from where the question comes
                await person.sees("in a new tab?")
                for character in text:
                    pause = chance.uniform(0.03, 0.15)
                    await asyncio.sleep(pause)
                    read_at += pause
                    await person.type_at_once(character, read_at=read_at)
            assert person.area.panels.fork.open and len(person.tabs) == 1 and not person.draft
            await person.press("escape")
        await person.browse()
        await person.press("F")
        await person.is_asked()
        await person.apart()
        await person.type("s")
        await person.sees("Forked in this tab")


async def test_f02_words_typed_blind_behind_the_key_of_a_fork_answer_nothing(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        source = person.tab.conversation.id
        await person.browse()
        await person.type_at_once("Fsome words\n")
        await person.is_asked()
        await person.sees("in a new tab?", "Press again to confirm")
        assert person.tab.conversation.id == source and len(person.tabs) == 1 and not person.draft
        await person.type("x")
        await person.sees("You cannot type here: enter confirms, esc cancels.")
        await person.apart()
        await person.type("s")
        await person.sees("Forked in this tab")
        await person.done()
        await person.browse()
        await person.type_at_once("F\n")
        await person.until(lambda: len(person.tabs) == 2, "the two keys of a fork, as fast as they come")


async def test_f02_nobody_is_told_that_a_letter_that_decides_cannot_be_typed(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.say("/retry")
        await person.is_asked()
        await person.apart()
        await person.type("a")
        await person.sees_dialog(Picker)
        await person.press("escape")
        await person.back()
        await person.done()
        assert "You cannot type here" not in person.text


async def test_f02_side_by_side_both_answer_and_the_source_streams_on(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.say("stream 1200 rate 20")
        await person.until(lambda: person.tab.at_work, "the turn")
        await person.sees("▌ stream 1200")
        source = person.tab
        await person.browse()
        await person.press("F")
        await person.is_asked()
        await person.sees("in a new tab?", "The running turn")
        await person.press("enter")
        await person.until(lambda: len(person.tabs) == 2 and person.tab is not source, "the fork")
        await say(person, "beta")
        assert source.at_work, "the source streams on"
        await person.to_tab(1, "ctrl+pageup")
        assert person.tab is source
        await person.press("escape")
        await person.idle()
        await say(person, "gamma")
        assert "  beta" not in person.text and "▌ say beta" not in person.text


async def test_f08_a_fork_that_the_agent_refuses_is_made_by_a_replay_and_its_words_are_said(
    world: World,
) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        source, leaf = person.tab.conversation.id, person.tab.leaf_id
        person.composer.put("my draft")
        world.fail({"fork": {"error": [-32603, "no forks on Mondays"]}})
        await person.browse()
        await person.press("f")
        await person.is_asked()
        await person.press("enter")
        await person.sees("no forks on Mondays", "my draft")
        await person.done()
        assert person.tab.conversation.id != source and person.tab.leaf_id == leaf
        assert len(person.tabs) == 1


async def test_f12_one_walks_from_a_fork_to_its_source_and_back(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.say("/fork side")  # unasked: nothing is replayed
        await person.sees("1 say alpha", "2 say alpha (fork)")
        await person.sees("forked from “say alpha” at", "/context forks goes there")
        await person.pilot.resize_terminal(50, 30)
        await person.sees_no("/line")  # said whole or not at all
        await person.sees("forked from “say alpha” at")
        await person.pilot.resize_terminal(100, 30)
        await person.done()
        fork = person.tab
        await say(person, "beta")
        await person.sees("2 say beta")
        await person.sees_no("(fork)")
        await person.say("/lineage")
        await person.until(lambda: person.tab is not fork, "the source")
        await person.sees("forked: “say beta”")
        await person.done()
        await person.pilot.click("#lineage")
        await person.until(lambda: person.tab is fork, "the fork")


async def test_u08_a_fork_side_by_side_is_asked_about_where_its_context_would_be_replayed(
    world: World,
) -> None:
    async with at_the_screen(str(world.project), agent=world.spec("--no-fork")) as person:
        await say(person, "alpha")
        await person.say("/fork side")
        await person.is_asked()
        await person.sees("Fork this branch in a new tab?", "2 messages replayed", "s       Fork in this tab")
        await person.apart()
        await person.press("s")
        await person.sees("Forked in this tab")
        await person.done()
        assert len(person.tabs) == 1


async def test_f09_a_fork_at_a_prompt_begins_before_it_with_its_words(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha", "beta")
        await person.browse()
        await person.press("K", "f")
        await person.is_asked()
        await person.sees("Fork before this prompt", "The prompt becomes the draft")
        await person.press("enter")
        await person.sees("forked from")
        await person.until(lambda: person.draft == "say beta", "its words")
        await person.sees_no("  beta")


async def test_t02_keys_go_to_the_next_and_previous_branch_point(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        transcript = person.area.conversation.transcript
        assert transcript is not None
        await say(person, "alpha", "beta")
        await edit_chosen(person)
        await person.say("say beta2")
        await person.sees("  beta2", "‹ 2/2 ›")
        await person.idle()
        await say(person, *(f"filler{number}" for number in range(3)))

        def stands_at_the_edit() -> bool:
            here = transcript.record(transcript.current)
            return here is not None and here.text == "say beta2"

        await person.browse()
        await person.press("[")
        await person.until(stands_at_the_edit, "branch point above")
        await person.press("[")
        await person.sees("No branch point above")
        await person.press("g", "K", "K", "K", "K", "]")
        await person.until(stands_at_the_edit, "branch point below")


async def test_t02_a_branch_point_above_what_is_loaded_is_found(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await person.press("enter")
        await person.sees("‹ 2/2 ›")
        await person.idle()
        await person.say("; ".join(f"tool read {number}" for number in range(90)))
        await person.idle()
        conversation_id = person.tab.conversation.id
    async with at_the_screen(str(world.project), conversation_id=conversation_id) as person:
        await person.sees("✓ Read")
        transcript = person.area.conversation.transcript
        assert transcript is not None
        newest = transcript.prompt_above(None)
        assert newest is None or not newest.text.startswith("say alpha"), "it is not loaded yet"
        await person.browse()
        await person.press("[")
        await person.sees("‹ 2/2 ›")


async def test_e01_the_mouse_edits_says_again_and_forks_by_the_buttons_of_a_prompt(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha", "beta")
        y = next(y for y, line in enumerate(person.text.splitlines()) if "▌ say alpha" in line)
        await person.pilot.hover(offset=(6, y))
        await person.sees("edit  retry  fork")
        x = person.text.splitlines()[y].index("edit")
        await person.pilot.click(offset=(x, y))
        await person.sees("esc cancel", "│ say alpha")
        await person.done()
        line = next(y for y, text in enumerate(person.text.splitlines()) if "esc cancel" in text)
        await person.pilot.click(offset=(person.text.splitlines()[line].index("esc cancel"), line))
        await person.sees_no("esc cancel")
        await person.pilot.hover(offset=(6, y + 3))
        await person.sees_no("retry")
        words = "many words " * 20
        await say(person, words.strip())
        await person.browse()
        await person.press("K")
        assert "edit  retry" not in person.text, "buttons lie over a text only where somebody points at it"
        y = next(y for y, line in enumerate(person.text.splitlines()) if "█ say many" in line)
        await person.pilot.hover(offset=(6, y))
        await person.sees("edit  retry  fork")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 10)])
async def test_s01_edit_and_fork_fit_into_every_size(world: World, size: tuple[int, int]) -> None:
    async with at_the_screen(str(world.project), size=size) as person:
        for word in ("alpha", "beta"):
            await person.say(f"say {word}")
            await person.sees(f"say {word}", f"{word}\n")
            await person.idle()
        await person.escape_twice()
        await person.press("up", "enter")
        await person.sees("Edit ")
        await person.done()
        assert person.draft == "say alpha"
        assert max(len(line) for line in person.text.splitlines()) <= size[0]
        await person.writing()
        await person.press("escape")
        await person.browse()
        await person.press("f")
        await person.is_asked()
        await person.sees("Fork", "enter")
        await person.press("enter")
        await person.until(lambda: person.tab.conversation.record.fork_point_id, "the fork")


async def test_f09_a_fork_from_the_history_leaves_the_session_that_is_forked_unopened(
    world: World, tmp_path: Path
) -> None:
    async with at_the_screen(str(world.project)) as person:
        await say(person, "alpha")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with at_the_screen(str(elsewhere)) as person:
        await person.press("ctrl+o")
        screen = await person.sees_dialog(HistoryScreen)
        await person.until(lambda: screen._everything.is_set(), "all pages")
        await person.press("shift+tab", "shift+tab", "shift+tab")
        await person.sees("alpha")
        await person.press("f9", "f")
        await person.back()
        await person.sees("the original is in the history")
        await person.idle()
    opened = [each["session"] for each in world.requests() if each.get("method") in _OPENINGS]
    (source,) = {each["session"] for each in world.requests("session/prompt")}
    assert len(world.requests("session/fork")) >= 1
    assert source not in opened


_OPENINGS = ("session/load", "session/resume")

"""The queue and what is attached, on the chat screen. Sections W16, W05, R12."""

from __future__ import annotations

import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual import events
from textual.widget import Widget

from catena.screens.chat.panels.queue import QueueList
from catena.widgets.completion import path_rows
from catena_acp.port.port import AgentSpec
from catena_store.records import QueueItem
from support.screen.pilot import Person, at_the_screen
from support.screen.terminal import EMPTY_BOX, Place

STEERED = AgentSpec("steered", "Steered", (sys.executable, "-m", "catena_acp.rehearsal", "--steering"))


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


async def queued(person: Person, *texts: str, first: str = "say busy; hang") -> None:
    await person.say(first)
    await person.sees("  busy")
    for place, text in enumerate(texts, start=1):
        await person.say(text)
        await person.sees(f"{'next' if place == 1 else place:<6}{text}")


async def in_the_list(person: Person) -> None:
    await person.press("ctrl+n")
    await person.until(lambda: person.app.focused is person.area.panels.queue, "the keys to go there")
    await person.sees("J K move", "s send now")


def focused(person: Person) -> Widget | None:
    return person.app.focused


def order(person: Person) -> list[str]:
    return [item.text for item in person.tab.queue]


async def test_s01_on_a_small_screen_the_way_out_of_the_list_stands_where_the_empty_box_was(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        await person.say("say busy; hang")
        await person.sees("  busy")
        for text in ("say one", "say two"):
            await person.say(text)
        await person.until(lambda: order(person) == ["say one", "say two"], "both to wait")
        assert "Reply to Rehearsal" in person.text
        await person.press("ctrl+n")
        await person.sees("esc back")
        assert "Reply to Rehearsal" not in person.text
        await person.press("escape")
        await person.sees("Reply to Rehearsal")


async def test_w16_the_list_is_worked_by_keys_and_letters_type_nothing_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await queued(person, "say one", "say two", "say three")
        await in_the_list(person)
        await person.sees("› next  say one")
        await person.press("down", "down", "x")
        await person.sees("  next  say one", "  2     say two", "› 3     say three")
        await person.press("K")
        await person.until(lambda: order(person) == ["say one", "say three", "say two"], "three to go up")
        await person.sees("› 2     say three", "  3     say two")
        await person.press("J")
        await person.until(lambda: order(person) == ["say one", "say two", "say three"], "three to go down")
        await person.press("up", "d")
        await person.until(lambda: order(person) == ["say one", "say three"], "two to be gone")
        assert focused(person) is person.area.panels.queue and person.draft == ""
        await person.press("escape")
        assert focused(person) is person.composer
        assert person.tab.busy
        await person.say("/queue")
        await person.until(lambda: person.app.focused is person.area.panels.queue, "the command to go there")
        await person.press("up", "enter")
        await person.until(lambda: person.draft == "say one", "one to be changed")
        await person.writing()
        await person.until(lambda: order(person) == ["say three"], "only three to wait")


@pytest.mark.parametrize("size", [(80, 14), (40, 10)])
async def test_w16_where_the_list_has_no_room_the_composer_says_how_many_wait(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with at_the_screen(str(tmp_path), size=size) as person:
        await person.say("say busy; hang")
        await person.sees("  busy")
        await person.say("say one")
        await person.sees(" 1 queued")
        await person.say("say two")
        await person.sees(" 2 queued")
        assert not person.area.panels.queue.display


async def test_w16_every_one_of_several_quick_keys_counts_in_the_list(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await queued(person, "say one", "say two", "say three", "say four")
        await in_the_list(person)
        await person.pilot.press(*"jjjKKK")
        await person.until(lambda: order(person)[0] == "say four", "the last one to be the first")
        await person.pilot.press("J", *"KKK")  # no further than the first place
        await person.until(lambda: order(person)[0] == "say four", "it to be the first again")
        gone = person.tab.queue[0]
        await person.press("d")
        await person.until(lambda: "say four" not in order(person), "it to be removed")
        person.area.panels.queue.post_message(
            QueueList.Changed(gone, "remove")
        )  # the second of two quick ones
        await person.sees("That prompt is no longer queued.")
        assert order(person) == ["say one", "say two", "say three"]


async def test_the_neighbour_of_a_prompt_that_was_removed_here_can_be_removed_at_once(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await queued(person, "say one", "say two", "say three")
        await in_the_list(person)
        await person.press("d")
        await person.until(lambda: order(person) == ["say two", "say three"], "the first to be removed")
        await person.type_at_once("d", read_at=time.monotonic())
        await person.until(lambda: order(person) == ["say three"], "the next to be removed")


@pytest.mark.parametrize("key", ["d", "s", "enter"])
async def test_a_key_meant_for_a_prompt_that_has_just_gone_out_does_nothing_to_its_neighbour(
    tmp_path: Path, key: str
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say hello")
        async with person.agent_held():
            await queued_behind(person, "say busy", "say one; hang", "say two")
            await in_the_list(person)
            pressed = time.monotonic()
        await person.until(lambda: order(person) == ["say two"], "the first to go out")
        await person.type_at_once("\n" if key == "enter" else key, read_at=pressed)
        await person.done()
        assert order(person) == ["say two"] and person.draft == ""
        await person.sees("This was asked just now. Read it, then press again.")
        standing = person.area.panels.queue.standing
        await person.until(lambda: standing.holds(time.monotonic()), "it to stand long enough")
        await person.press("d")
        await person.until(lambda: not order(person), "it to be removed")


async def queued_behind(person: Person, first: str, *texts: str) -> None:
    """Say something to an agent that does not answer yet, and queue the rest behind it."""
    await person.say(first)
    for text in texts:
        await person.say(text)
    await person.until(lambda: order(person) == list(texts), "them to wait")


async def test_w16_s_stops_the_turn_and_sends_that_one_first_and_the_keys_come_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await queued(person, "say one", "say two; hang")
        await in_the_list(person)
        await person.press("down", "s")
        await person.sees("  two", "next  say one")
        await person.press("escape")  # the list has the keys while something waits
        await person.writing()
        await person.press("escape")
        await person.sees("held  say one", "1 waiting: Enter sends, Ctrl+N opens it")
        await person.type("x")
        await person.sees("1 waiting: Enter sends your text only, Ctrl+N opens it")
        await person.pilot.resize_terminal(40, 10)
        await person.sees(" 1 waiting ")  # the beginning of the sentence alone would be untrue
        assert "Enter sends" not in person.text
        await person.pilot.resize_terminal(100, 30)
        await person.press("backspace")
        await person.sees("1 waiting: Enter sends, Ctrl+N opens it")
        await person.press("enter")
        await person.sees("  one")
        text = person.text
        assert text.index("  busy") < text.index("  two") < text.index("  one")
        await person.writing()


async def test_w16_s_says_it_into_the_running_turn_where_the_agent_takes_that(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), agent=STEERED) as person:
        await queued(person, "mind the gap", first="say busy; heed 20; say the end")
        await in_the_list(person)
        await person.press("s")
        text = await person.sees("▌ mind the gap", "sent to the running turn", "[heeded] mind the gap")
        await person.idle()
        assert text.index("  busy") < text.index("▌ mind the gap") < text.index("  [heeded]")
        assert order(person) == []
        await person.writing()


async def test_w16_a_click_on_now_sends_and_a_click_on_the_cross_takes_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await queued(person, "say one", "say two")
        await person.pilot.click("#queue", offset=(person.app.size.width - 2, 0))
        await person.until(lambda: person.draft == "say one", "one to be taken back")
        await person.sees_no("next  say one")
        await person.taken_in()  # the list is laid out anew: a click goes where its line is by then
        await person.pilot.click("#queue", offset=(person.app.size.width - 6, 0))  # between the two
        await person.pilot.click("#queue", offset=(person.app.size.width - 10, 0))
        await person.sees("  two")
        assert person.draft == "say one"


async def test_w16_on_a_short_screen_the_list_is_there_while_it_has_the_keys(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        await person.say("say busy; hang")
        await person.until(lambda: "busy" in person.text, "the answer")
        for number in range(6):
            await person.say(f"say number {number}")
            await person.until(lambda count=number + 1: len(person.tab.queue) == count, "it to wait")  # type: ignore[misc]
        assert "next" not in person.text
        await person.press("ctrl+n")
        await person.sees("› next  say number 0")
        await person.press(*["down"] * 5)
        await person.sees("› 6     say number 5")
        await person.press("escape")
        await person.sees_no("next  say")


async def test_w16_an_item_says_what_it_was_typed_in_where_that_differs_from_now(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        (tmp_path / "notes.txt").write_text("hello")
        await person.say("say busy; hang")
        await person.sees("  busy")
        await person.say("/attach notes.txt")
        await person.sees("+ notes.txt 5 B ✕")
        await person.say("say later")
        await person.sees("next  say later  + notes.txt")
        await person.sees_no("+ notes.txt 5 B ✕")
        await person.say("/mode code")
        await person.sees("next  say later  Ask · + notes.txt")


async def test_w05_a_file_is_attached_shown_taken_off_and_sent(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        for name in ("one.txt", "two.txt", "three.txt"):
            (tmp_path / name).write_text(name)
        for name in ("one.txt", "two.txt", "three.txt"):
            await person.say(f"/attach {name}")
            await person.sees(f"+ {name} ")
        await person.press("backspace")
        await person.sees_no("+ three.txt")
        await person.say("/detach two.txt")
        await person.sees_no("+ two.txt")
        await person.say("/attach nothing.txt")
        await person.sees("File not found: nothing.txt")
        await person.say("context")
        await person.sees("▌ + one.txt", "context\\none.txt")
        await person.idle()
        assert person.tab.attachments == ()
        await person.say("/attach two.txt")
        await person.sees("+ two.txt 7 B ✕")
        await person.pilot.click("#attached", offset=(4, 0))
        await person.until(lambda: person.tab.attachments == (), "the click to take it off")


async def test_r12_what_is_attached_and_what_waits_come_back_with_the_draft(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    async with at_the_screen(str(tmp_path)) as person:
        await queued(person, "say later")
        await person.say("/attach notes.txt")
        await person.sees("+ notes.txt 5 B")
        await person.type("half a thought")
    async with at_the_screen(str(tmp_path)) as person:
        await person.until(lambda: len(person.tabs) == 2, "both tabs")
        if person.draft != "half a thought":
            await person.to_tab(1, "ctrl+pageup")
        assert person.draft == "half a thought"
        await person.sees("held  say later", "+ notes.txt 5 B")
        assert [file.content for file in person.tab.attachments] == [b"hello"]


async def test_r12_files_come_back_into_the_composer_with_a_prompt_that_no_agent_takes(
    tmp_path: Path,
) -> None:
    nowhere = AgentSpec("command:no-such-agent", "Nowhere", ("no-such-agent-anywhere",))
    (tmp_path / "notes.txt").write_text("hello")
    async with at_the_screen(str(tmp_path), agent=nowhere) as person:
        await person.say("/attach notes.txt")
        await person.sees("+ notes.txt 5 B")
        await person.say("a thought worth keeping")
        await person.until(lambda: person.draft, "the text to come back")
        await person.idle()
        await person.sees("+ notes.txt 5 B")
        assert person.draft == "a thought worth keeping"
        assert [file.name for file in person.tab.attachments] == ["notes.txt"]


async def test_w05_a_path_that_is_dropped_is_attached_with_tab_and_stays_a_text_without(
    tmp_path: Path,
) -> None:
    (tmp_path / "a note.txt").write_text("hello")
    path = str(tmp_path / "a note.txt")
    (project := tmp_path / "project").mkdir()
    async with at_the_screen(str(project)) as person:
        await person.type("look at ")
        person.composer.post_message(events.Paste(f"'{path}'"))
        await person.sees("Tab attaches the file instead of the path.")
        await person.taken_in()
        assert path in person.draft
        await person.press("tab")
        await person.sees("+ a note.txt 5 B")
        await person.done()
        assert person.draft == "look at "
        person.composer.post_message(events.Paste(path))
        await person.until(lambda: path in person.draft, "the paste")
        await person.taken_in()
        await person.type("!")
        await person.press("tab")
        assert person.draft == f"look at {path}!"
        assert len(person.tab.attachments) == 1


async def test_w05_the_path_behind_attach_is_completed(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "notes.txt").write_text("hello")
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("/attach te")
        await person.sees("texts/")
        await person.press("tab")
        assert person.draft == "/attach texts/"
        await person.sees("notes.txt")
        await person.press("enter")
        await person.sees("+ notes.txt 5 B")
        assert person.draft == ""


@pytest.mark.parametrize("way", ["killed", "hung up on"])
def test_r12_draft_files_and_queue_are_there_again_after_the_program_was(tmp_path: Path, way: str) -> None:
    place = Place(tmp_path)
    (place.project / "notes.txt").write_text("hello")
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for(EMPTY_BOX)
        terminal.say("say busy; hang")
        terminal.wait_for("  busy")
        terminal.say("say later")
        terminal.wait_for("next  say later")
        terminal.say("/attach notes.txt")
        terminal.wait_for(r"\+ notes.txt 5 B")
        terminal.write("half a thought")
        terminal.wait_for("half a thought")
        if way == "killed":
            terminal.wait_until(lambda: place.keeps("half a thought"), "the draft to be kept")
            terminal.signal(signal.SIGKILL)
            terminal.ended()
        else:
            terminal.hang_up()
    with place.catena() as terminal:
        terminal.wait_for("│ half a thought")
        terminal.wait_for("held  say later")
        terminal.wait_for(r"\+ notes.txt 5 B")


def test_w05_paths_are_completed_below_the_directory_and_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("Alpha", "beta.txt", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "album").mkdir()

    def offered(text: str) -> list[str]:
        return [row.label for row in path_rows(text, str(tmp_path))]

    assert offered("/attach ") == ["album/", "Alpha", "beta.txt"]
    assert offered("/attach a") == offered("/attach ~/A") == ["album/", "Alpha"]
    assert offered("/attach .h") == [".hidden"]
    assert offered("/attach beta.txt") == offered("/attach nowhere/x") == offered("/help") == []
    assert path_rows("/attach ~/be", "/")[0].key == "path:/attach ~/beta.txt"


def test_q04_only_the_prompts_in_sight_are_described_however_many_wait() -> None:
    described: list[str] = []

    def note(item: QueueItem) -> str:
        described.append(item.id)
        return "fast"

    items = tuple(
        QueueItem(str(at), "window", at, f"say {at}", False, {}, datetime.now(UTC)) for at in range(10_000)
    )
    queue = QueueList()
    queue.show(items, note)
    for _ in range(3):
        queue.show(tuple(items), note)
        assert "and 9999 more" in queue.render().plain

    assert 0 < len(described) < 100

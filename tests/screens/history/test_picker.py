"""The history on the screen: what is seen first, what a key does, and what never moves."""

from __future__ import annotations

import gc
import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

import catena.screens.history.rows.list as history_list
from catena.history import listing
from catena.history.entries import HistoryEntry, HistoryScope
from catena.history.finding import ranked
from catena.screens.history import picker
from catena.screens.history import preview as preview_reading
from catena.screens.history.picker import HistoryScreen
from catena.screens.history.rows.list import with_messages
from catena.settings.file.writing import save_copies
from catena.settings.settings import load_settings
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id, utc_now
from catena_store.records import Kind, NewMessage
from support.screen.pilot import Person, at_the_screen
from support.transcripts.homes import Home


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def keep(cwd: str, titles: Sequence[str], *texts: str) -> list[str]:
    """A conversation for each title, oldest first; its prompts and answers are the texts, in turn."""
    ids = []
    ticks = count()  # two of one millisecond would stand in any order
    began = utc_now() - timedelta(minutes=2)
    async with (
        Database.open(default_path(), clock=lambda: began + timedelta(milliseconds=next(ticks))) as db,
        db.write() as tx,
    ):
        for title in titles:
            tx._now = None  # all in one transaction, and each at a time of its own
            made = await conversations.create(tx, id=new_id(), agent="rehearsal", cwd=cwd, title=title)
            parent = None
            new = []
            for row, text in enumerate(texts or ("a question", "an answer")):
                kind = Kind.AGENT if row % 2 else Kind.USER
                new.append(NewMessage(new_id(), made.id, parent, kind, text))
                parent = new[-1].id
            await messages.insert_many(tx, new)
            ids.append(made.id)
    return ids


async def add_version(conversation_id: str, *texts: str) -> None:
    """Another version of a conversation's first prompt, with what follows it: its newest branch."""
    async with Database.open(default_path()) as db, db.write() as tx:
        parent = None
        for row, text in enumerate(texts):
            kind = Kind.AGENT if row % 2 else Kind.USER
            new = NewMessage(new_id(), conversation_id, parent, kind, text)
            await messages.insert_many(tx, [new])
            parent = new.id


async def history(person: Person) -> HistoryScreen:
    """The history, opened, with all that it counts; where that is no more than a thousand, it is read to its end."""
    await person.press("ctrl+o")
    screen = await person.sees_dialog(HistoryScreen)
    await person.until(
        lambda: screen._everything.is_set() or screen._listing.count(HistoryScope.EVERYWHERE) > 1_000,
        "all pages",
    )
    return screen


def line_of(person: Person, text: str) -> int:
    """The line of the screen that a text is on."""
    return next(at for at, line in enumerate(person.text.splitlines()) if text in line)


def chosen(person: Person) -> str:
    """The title under the cursor."""
    screen = person.app.screen
    assert isinstance(screen, HistoryScreen)
    entry = screen.row_list.chosen
    return entry.name if entry else ""


async def test_h01_the_first_frame_has_the_newest_rows_and_the_preview_of_the_top_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(str(tmp_path), [f"Title {number}" for number in range(1_200)], "What is it?", "It is a test.")
    # Nothing is read behind that frame.
    monkeypatch.setattr(HistoryScreen, "_go_on", lambda self, pages: None)
    async with at_the_screen(str(tmp_path), size=(160, 40)) as person:
        await person.press("ctrl+o")
        screen = await person.sees_dialog(HistoryScreen)
        text = await person.sees("▌ Title 1199", "Title 1180", "Began", "▌ What is it?", "It is a test.")
        assert len(screen.row_list.content) == 100
        assert "new session, nothing to replay" in text or "2 messages replayed" in text
        await person.type("title 11")
        await person.sees("│ title 11 ")


async def test_h01_the_preview_has_no_marks_of_bold_words_and_of_code(tmp_path: Path) -> None:
    await keep(
        str(tmp_path), ["one"], "What is it?", "It is **a `test`** of **2 * 2** and ** not ** of `a**b**c`."
    )
    async with at_the_screen(str(tmp_path), size=(160, 40)) as person:
        await history(person)
        await person.sees("It is a test of **2 * 2** and ** not **", "a**b**c")


async def test_h01_only_rows_in_sight_are_drawn_of_thousands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(str(tmp_path), [f"Title {number}" for number in range(1_500)])
    drawn = count()
    draw = vars(history_list)["title_line"]
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        screen = await history(person)
        await person.press("up")  # around the beginning
        await person.until(lambda: len(screen.row_list.content) == 1_500, "all pages")
        monkeypatch.setattr(
            history_list, "title_line", lambda *args, **named: (next(drawn), draw(*args, **named))[1]
        )
        await person.press("pagedown", "pagedown")
        await person.sees("▌ Title 13")
        assert next(drawn) <= 6 * 30


async def test_h01_opening_reads_a_page_and_says_how_many_there_are_and_words_look_through_all(
    tmp_path: Path,
) -> None:
    await keep(str(tmp_path), ["the lamp of old", *(f"Title {number}" for number in range(2_000))])
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        screen = await history(person)
        await person.sees("2,001", "▌ Title 1999")
        assert len(screen._listing) == 100
        await person.type("lamp")
        await person.sees("▌ the lamp of old", "1 of 2,001", "2 msg")


async def test_h20_the_best_row_is_the_chosen_one_while_all_are_read_and_nobody_moved(tmp_path: Path) -> None:
    # Among the newest hundred the word is within others; a title that it begins is read later.
    await keep(str(tmp_path), ["zinc of old", *(f"Title {number}" for number in range(1_500)), "a blitz"])
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await history(person)
        await person.type("z")  # one letter: rows are shown, and then all are read
        await person.sees("▌ zinc of old", "  a blitz")


async def test_h01_where_there_is_little_room_the_preview_shows_what_was_found_or_how_it_ended(
    tmp_path: Path,
) -> None:
    said = ("How do we begin?", "So.", "Where is the needle?", "In the hay.", "And the end?", "Here it ends.")
    await keep(str(tmp_path), ["one"], *said)
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        await history(person)
        await person.press("f3")
        await person.sees("  one", "Ended", "▌ And the end?")
        await person.type("needle")
        await person.sees("  one", "Found", "▌ Where is the needle?")
        await person.sees_no("Ended")
        await person.pilot.resize_terminal(80, 18)
        await person.sees("Found", "▌ Where is the needle?", "Ended", "Here it ends.")
        await person.sees_no("Began")
        await person.pilot.resize_terminal(80, 24)
        await person.sees("Began", "Found", "Ended")


async def test_h01_the_preview_takes_the_place_of_the_list_until_there_is_room_beside_it(
    tmp_path: Path,
) -> None:
    await keep(str(tmp_path), ["one", "two"], "What is it?", "It is a test.")
    await keep("/nowhere", ["three"], "Where is it?", "Gone.")
    async with at_the_screen(str(tmp_path), size=(80, 24)) as person:
        await history(person)
        await person.press("f3")
        text = await person.sees("Began", "▌ What is it?", "It is a test.")
        assert "Today" not in text
        await person.press("down")
        await person.sees("  one")
        await person.press("tab", "ctrl+u", *"three")
        await person.sees("/nowhere", "This directory no longer exists.")
        await person.pilot.resize_terminal(160, 40)
        await person.sees("▌ three", "This directory no longer exists.")
        assert person.text.count("Where is it?") == 1


async def test_h01_a_narrow_row_has_its_title_and_its_time_on_one_line(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["fix the login"])
    for size in ((80, 24), (40, 10)):
        async with at_the_screen(str(tmp_path), size=size) as person:
            await history(person)
            text = await person.sees("▌ fix the login")
            assert re.search(r"▌ fix the login .*\d\d:\d\d", text)
            lines = text.splitlines()
            assert lines[-1].strip().startswith("enter open")
            assert ("╭ History" in text) == (size[1] >= 15)


async def test_h02_messages_are_searched_below_a_line_and_a_hit_opens_on_its_branch(tmp_path: Path) -> None:
    ids = await keep(str(tmp_path), ["the newest"], "first words", "the hidden kumquat", "more", "the end")
    await add_version(ids[0], "other words", "an answer")
    async with at_the_screen(str(tmp_path), size=(160, 40)) as person:
        await history(person)
        await person.type("kumq")
        await person.sees("─ in messages ─", "‹ 1/2 › the hidden kumquat", "in version 1 of 2")
        await person.press("enter")
        await person.back()
        await person.sees("the hidden kumquat", "the end", "‹ 1/2 ›")
        await person.done()
        assert person.transcript.marks_found
        await person.press("escape")
        assert not person.transcript.marks_found
        await person.say("/undo")
        await person.sees("Undone: the jump to another branch", "other words", "‹ 2/2 ›")


async def test_h02_words_that_matched_are_bold_and_a_row_says_where_it_was_found(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["Release notes"], "about the login", "done")
    async with at_the_screen(str(tmp_path)) as person:
        screen = await history(person)
        await person.type("not")
        await person.sees("▌ Release notes")
        at = line_of(person, "Release notes") - screen.row_list.region.y
        found = [segment for segment in screen.row_list.render_line(at) if segment.text == "not"]
        assert found and found[0].style is not None and found[0].style.bold and found[0].style.underline
        await person.press("ctrl+u", *"login")
        await person.sees("▌ Release notes", "    about the login")


async def test_h02_what_messages_say_stands_where_the_one_order_puts_it(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["kind under mice", "kumquats", "another"], "kumquat", "kumquat")
    async with at_the_screen(str(tmp_path)) as person:
        screen = await history(person)
        for typed in ("kumquat", "kum", "other"):
            await person.press("ctrl+u", *typed)
            await person.until(lambda: not screen._search.searching, "the search")
            matches, hits = screen._matches, screen._search.hits
            rows = ranked(screen._listing, matches, hits)
            assert with_messages(screen._listing, matches, hits) == (
                [row.entry for row in rows],
                [row.quality for row in rows],
            )
            assert hits.found or typed == "other"


async def test_h02_keys_in_a_row_ask_the_store_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        picker, "_PAUSE", 0.5
    )  # longer than what one key has done, however slow the machine is
    monkeypatch.setattr(preview_reading, "_REST", 0.5)
    await keep(str(tmp_path), [f"Title {number}" for number in range(1_000)])
    async with at_the_screen(str(tmp_path), size=(160, 40)) as person:
        screen = await history(person)
        found, previewed = count(), count()
        finder = screen._message_search._finder
        find, preview = finder.find, screen._read_preview
        finder.find = lambda *args, **named: (next(found), find(*args, **named))[1]  # type: ignore[method-assign]
        screen._read_preview = lambda *args: (next(previewed), preview(*args))[1]
        await person.type_at_once("title 99")
        await person.until(lambda: not screen._search.searching, "the search")
        await person.sees("▌ Title 999")
        assert next(found) <= 3
        for _ in range(12):
            screen.action_move(1)
        await person.sees("▌ Title 799")
        assert next(previewed) <= 4


async def test_h03_tab_goes_from_scope_to_scope_and_an_empty_one_says_what_lies_outside(
    tmp_path: Path,
) -> None:
    await keep(str(tmp_path), ["here alone"])
    await keep("/elsewhere", ["far away", "further away"])
    async with at_the_screen(str(tmp_path)) as person:
        await history(person)
        text = await person.sees("here alone", "this directory · everywhere")
        assert "far away" not in text
        await person.type("away")
        await person.sees("0 here · 2 elsewhere, Tab", "0 of 1")
        await person.press("tab")
        await person.sees("▌ further away", "far away", "2 of 3")
        await person.press("shift+tab")
        await person.sees("0 here · 2 elsewhere, Tab")


async def test_h03_words_complete_themselves_and_a_problem_is_said_on_the_edge(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["one", "two"])
    async with at_the_screen(str(tmp_path)) as person:
        screen = await history(person)
        await person.type("age")
        await person.sees("▌ agent:", "conversations of an agent")
        await person.press("tab")
        await person.type("reh")
        await person.sees("▌ agent:rehearsal")
        await person.press("tab")
        await person.sees("│ agent:rehearsal ", "2")
        assert screen.scope.name == "HERE" and len(screen.row_list.content) == 2
        await person.type("before:nonsense")
        await person.sees("“nonsense” is not a date", "▌ two")


async def test_h20_a_selected_row_stays_on_its_line_whatever_comes(tmp_path: Path) -> None:
    await keep(str(tmp_path), [f"Title {number}" for number in range(8)])
    async with at_the_screen(str(tmp_path)) as person:
        screen = await history(person)
        await person.press("down", "down", "down")
        await person.sees("▌ Title 4")
        before = line_of(person, "▌ Title 4")
        (newer,) = await keep(str(tmp_path), ["Newer than all"])
        async with Database.open(default_path()) as db, db.write() as tx:
            await conversations.touch(tx, newer)
            await conversations.set_pinned(tx, newer, True)
        await screen._read_changes()
        await person.sees("Newer than all")
        assert line_of(person, "▌ Title 4") == before
        assert chosen(person) == "Title 4"
        assert screen.row_list.content.entries[0].name == "Newer than all"
        async with Database.open(default_path()) as db, db.write() as tx:
            for entry in list(screen.row_list.content.entries):
                if entry.name != "Title 4":
                    await conversations.set_deleted(tx, entry.key, True)
        await screen._reader.refresh([entry.key for entry in screen.row_list.content.entries])
        screen.list_again(held=True)
        await person.sees_no("Title 3")
        assert line_of(person, "▌ Title 4") == before
        await person.press("enter")
        await person.back()
        await person.until(lambda: person.tab.name() == "Title 4", "its conversation")


@pytest.mark.parametrize(
    ("down", "gone", "moved", "stands_on"),
    [
        (3, (4,), 1, 3),  # another moves from below to the top
        (3, (4, 6), None, 3),
        (3, (4, 6, 7), None, 3),
        (3, (4, 3), 6, 2),
        (3, (4, 5), 3, 2),  # the next one moves to the top
        (7, (0,), 1, 2),  # the last one
        (0, (7,), 0, 6),  # the first one
    ],
)
async def test_h20_the_next_row_is_selected_if_another_process_deletes_the_selected_one_while_others_move(
    tmp_path: Path, down: int, gone: Sequence[int], moved: int | None, stands_on: int
) -> None:
    ids = await keep(str(tmp_path), [f"Title {number}" for number in range(8)])
    async with at_the_screen(str(tmp_path)) as person:
        screen = await history(person)
        await person.press(*["down"] * down)
        await person.until(lambda: chosen(person) == f"Title {gone[0]}", "the row that goes")
        async with Database.open(default_path()) as db, db.write() as tx:
            for number in gone:
                await conversations.set_deleted(tx, ids[number], True)
            if moved is not None:
                await conversations.touch(tx, ids[moved])
        await screen._read_changes()
        await person.sees_no(f"Title {gone[0]}")
        assert moved is None or screen.row_list.content.entries[0].name == f"Title {moved}"
        assert chosen(person) == f"Title {stands_on}"


async def test_h20_how_many_there_are_is_right_though_some_came_while_a_filter_was_typed(
    tmp_path: Path,
) -> None:
    await keep(str(tmp_path), ["Kumquat", *(f"Title {number}" for number in range(7))])
    async with at_the_screen(str(tmp_path)) as person:
        screen = await history(person)
        await person.type("kumquat")
        await person.sees("▌ Kumquat", "1 of 8")
        await keep(str(tmp_path), ["Newer than all"])
        await screen._read_changes()
        await person.sees("▌ Kumquat", "1 of 9")


async def test_h20_hits_and_pages_that_come_later_move_no_selected_row(tmp_path: Path) -> None:
    await keep(str(tmp_path), [f"Title {number}" for number in range(5)], "kumquat", "yes")
    await keep(str(tmp_path), ["kite under many quick unused apple trees"], "nothing", "there")
    async with at_the_screen(str(tmp_path)) as person:
        await history(person)
        await person.type("kumquat")
        await person.sees("Title 0")
        assert chosen(person).startswith(("kite", "Title 4"))


async def test_h08_several_are_marked_and_archived_with_one_undo(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["one", "two", "three", "four"])
    async with at_the_screen(str(tmp_path), size=(80, 24)) as person:
        await history(person)
        await person.press("shift+down", "insert")
        await person.sees("✓ four", "✓ three", "2 marked")
        await person.press("f9", "a")
        await person.sees("2 conversations are archived", "Archived")
        await person.press("ctrl+underscore")
        await person.sees("Undone: archiving 2 conversations")
        await person.sees_no("archived")


async def test_h08_the_menu_has_every_act_and_renames_in_place(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["one", "two"])
    async with at_the_screen(str(tmp_path)) as person:
        await history(person)
        await person.press("f9")
        await person.sees("f   fork", "replayed", "p   pin", "d   delete")
        await person.press("p")
        await person.sees("“two” is pinned", "Pinned")
        await person.press("f9", "r")
        await person.sees("╭ Rename “two”")
        await person.press("ctrl+u", *"another name", "enter")
        await person.sees("Renamed to “another name”", "◆ another name")
        await person.press("ctrl+underscore", "ctrl+underscore")
        await person.sees("Undone: pinning", "▌ two")


async def test_h18_with_no_agent_installed_the_history_opens_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(str(tmp_path), ["kept words"], "a question", "the whole answer")
    monkeypatch.setenv("PATH", str(tmp_path))
    async with Database.open(default_path()) as db, db.write() as tx:
        record = await conversations.latest(tx)
        assert record is not None
        await conversations.set_agent(tx, record.id, "claude", "")
    async with at_the_screen(str(tmp_path), picker=True) as person:
        await person.sees("▌ kept words", "Claude")
        await person.press("enter")
        await person.sees("▌ a question", "the whole answer")


@pytest.fixture
def other_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with sessions of other tools in the directory of the test."""
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.with_all(str(tmp_path))
    monkeypatch.setenv("HOME", str(home.path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    return home


@pytest.mark.usefixtures("other_tools")
async def test_h07_a_session_of_another_tool_is_previewed_read_and_continued_here(tmp_path: Path) -> None:
    await keep(str(tmp_path), ["one of ours"])
    async with at_the_screen(str(tmp_path), size=(160, 40)) as person:
        screen = await history(person)
        assert "claude" not in person.text
        await person.type("source:claude")
        await person.press("shift+tab")
        await person.sees("  claude", "same context, nothing replayed", "Began")
        listed = len(screen.row_list.content)
        last = screen.row_list.content.entries[0].last_prompt
        await person.press("enter")
        await person.sees("o   continue here", "i   import a copy")
        await person.press("v")
        await person.sees("─ read-only", f"▌ {last}")
        await person.press("escape")
        await person.sees_dialog(HistoryScreen)
        await person.press("enter", "o")
        await person.back()
        await person.sees(f"▌ {last}")
        assert len(person.tabs) == 2
        screen = await history(person)
        await person.type("source:claude")
        # Its fork in Claude goes with it: that names a session of ours as its source, and nothing was said in it since.
        await person.until(lambda: len(screen.row_list.content) == listed - 2, "the conversation to be ours")


@pytest.mark.usefixtures("other_tools")
async def test_h21_whether_sessions_are_copied_is_asked_once(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await history(person)
        await person.press("shift+tab")
        await person.sees("Keep copies of other tools' sessions? f5 yes · f12 no")
        await person.press("f5")
        await person.sees("Copied from now on.")
        copies = tmp_path / "data" / "transcripts"
        await person.until(lambda: list(copies.rglob("*.jsonl")), "the copies")
        assert load_settings().history.copies is True
        await person.press("escape")
        await person.back()
        await history(person)
        await person.sees("claude")
        assert "Keep copies" not in person.text


@pytest.mark.parametrize(
    "text", ["", 'theme = "catena-ink"', "[history]\n", '[history]  \n[agents.x]\ntitle = "X"\n']
)
def test_h21_the_answer_is_added_to_whatever_stands_in_the_settings(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    before = load_settings(path)
    save_copies(False, path)
    after = load_settings(path)
    assert after.history.copies is False
    assert (after.theme, after.agents) == (before.theme, before.agents)
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.usefixtures("other_tools")
async def test_h19_importing_a_copy_twice_gives_two_forks_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codex-acp").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with at_the_screen(str(tmp_path)) as person:
        await history(person)
        await person.type("source:codex")
        await person.press("shift+tab")
        await person.sees("  codex")
        await person.press("enter", "i")
        await person.back()
        await person.sees("Forked in this tab; the original is in the history")
        copy, source = person.tab.conversation.id, (await person.tab.conversation.branches.lineage()).source
        assert source is not None
        await history(person)
        screen = await person.sees_dialog(HistoryScreen)
        await person.press("shift+tab", "shift+tab", "shift+tab")
        at = screen.row_list.content.index(source.id)
        assert at is not None
        screen.row_list.cursor = at
        await person.press("f9", "f")
        await person.back()
        await person.until(lambda: person.tab.conversation.id not in (copy, source.id), "another fork")
        assert (await person.tab.conversation.branches.lineage()).source == source


async def test_h25_enter_right_behind_letters_takes_what_they_find_also_where_many_are_matched_between_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picker, "_AT_ONCE", 0)
    monkeypatch.setattr(listing, "_AT_A_TIME", 0.0)
    ids = await keep(str(tmp_path), [f"Title {number}" for number in range(1_500)], "What is it?", "A test.")
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        screen = await history(person)
        await person.sees("Title 1499")
        await person.press(*"title", "space", *"1077", "enter")
        await person.until(lambda: person.tab.conversation.id == ids[1077], "the conversation that was typed")
        assert not screen.is_attached


async def test_h25_while_many_are_matched_the_rows_change_once_the_newest_text_is_matched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picker, "_AT_ONCE", 0)
    monkeypatch.setattr(listing, "_AT_A_TIME", 0.0)
    await keep(str(tmp_path), [f"Title {number}" for number in range(1_200)], "What is it?", "A test.")
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        screen = await history(person)
        await person.type("title")
        await person.sees("1,200 of 1,200")
        await person.type(" 777")
        await person.until(lambda: screen._matched.is_set() and len(screen._matches) == 1, "the only one")
        await person.sees("▌ Title 777", "1 of 1,200")


async def test_h25_the_history_is_styled_once_when_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(str(tmp_path), ["Title"])
    styled: list[str] = []
    update = HistoryScreen.update_node_styles

    def counted(self: HistoryScreen, animate: bool = True) -> None:
        styled.append(" ".join(sorted(self.classes)))
        update(self, animate)

    monkeypatch.setattr(HistoryScreen, "update_node_styles", counted)
    async with at_the_screen(str(tmp_path), size=(150, 40)) as person:
        await history(person)
        await person.sees("▌ Title")
        assert len(styled) == 1 and {"-wide", "-tall"} <= set(styled[0].split())


async def test_h25_a_history_that_is_closed_leaves_no_entries_for_a_collection_to_look_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(str(tmp_path), [f"Title {number}" for number in range(200)])
    async with at_the_screen(str(tmp_path), size=(150, 30)) as person:
        screen = await history(person)
        await person.type("title")
        await person.sees("200 of 200")
        assert screen._everything.is_set()
        gc.collect()
        gc.disable()
        try:
            await person.press("escape", "escape")
            await person.until(lambda: not screen.is_attached, "the chat")
            # The preview may have one.
            await person.until(lambda: _entries_left() < 20, "the entries to be gone")
        finally:
            gc.enable()


def _entries_left() -> int:
    return sum(isinstance(each, HistoryEntry) for each in gc.get_objects())


@pytest.mark.usefixtures("other_tools")
async def test_u05_the_history_says_that_other_tools_have_sessions_here_and_a_key_shows_them(
    tmp_path: Path,
) -> None:
    await keep(str(tmp_path), ["one of ours"])
    async with at_the_screen(str(tmp_path), size=(120, 40)) as person:
        screen = await history(person)
        await person.sees("sessions of other tools here: ctrl+o shows them")
        await person.press("ctrl+o")
        await person.until(
            lambda: any(each.source == "claude" for each in screen.row_list.content.entries), "the sessions"
        )
        await person.sees_no("shows them")

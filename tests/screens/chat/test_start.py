"""The start of a directory without tabs: agents, conversations, and what is typed meanwhile."""

from __future__ import annotations

import asyncio
import shutil
import sys
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from textual.color import Color

from catena.screens.chat.panels.start import ConversationRow, StartPanel
from catena.screens.common.picker import Picker
from catena.screens.history.picker import HistoryScreen
from catena.settings.agent_choices import AgentChoice, Readiness
from catena.settings.settings import Settings
from catena.settings.start_notes import StartNote, StartNotes
from catena.settings.tables import AgentSetting
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.conversation_events import Problem
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id, utc_now
from catena_store.records import Kind, Message, NewMessage, Summary
from support.screen.messages import taken_in
from support.screen.pilot import Person, at_the_screen
from support.screen.themed import ThemedApp
from support.transcripts.homes import Home

CLAUDE = "catena agents install claude"


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store, a home, and no agent but the built-in one."""
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def install(tmp_path: Path, name: str, says: str) -> None:
    """Put a program on PATH that tells its version."""
    program = tmp_path / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nprint({says!r})\n")
    program.chmod(0o755)


async def kept(count: int, cwd: str, *, failed: bool = False) -> None:
    """That many conversations of a directory, the last of them the newest, and ``failed`` in the end."""
    for number in range(count):
        at = utc_now() - timedelta(minutes=count - number)
        async with Database.open(default_path(), clock=partial(_same, at)) as db, db.write() as tx:
            made = await conversations.create(
                tx, id=new_id(), agent="rehearsal", cwd=cwd, title=f"title {number}"
            )
            row = NewMessage(new_id(), made.id, None, Kind.USER, f"prompt {number}")
            end = NewMessage(
                new_id(), made.id, row.id, Kind.NOTICE, "A limit.", data={"trouble": "rate_limit"}
            )
            await messages.insert_many(tx, [row, *([end] if failed else ())])


def _same(at: datetime) -> datetime:
    return at


def line_with(person: Person, text: str) -> str:
    return next(line for line in person.text.splitlines() if text in line)


async def test_the_start_lists_what_is_here_and_enter_begins_with_it(tmp_path: Path) -> None:
    install(tmp_path, "opencode", "1.18.3")
    install(tmp_path, "codex-acp", "codex 0.58.1")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("●─●─● catena", "kept locally, independent of agent sessions", "1.18.3", "0.58.1")
        assert line_with(person, "OpenCode").split() == ["▌", "OpenCode", "1.18.3", "ready", "enter"]
        assert line_with(person, "Codex").split() == ["Codex", "0.58.1", "log", "in", "codex", "login"]
        assert "ready     built-in demo, no account needed" in line_with(person, "Rehearsal")
        assert "Continue here" not in person.text
        await person.writing()
        await person.select("agent rehearsal")
        await person.sees("Ask Rehearsal")
        await person.press("enter")
        await person.sees("Rehearsal is ready in")
        await person.writing()
        assert not person.area.conversation.start.display


async def test_an_agent_is_listed_by_its_title_and_addressed_by_its_short_name(tmp_path: Path) -> None:
    install(tmp_path, "kimi", "1.0")
    program = tmp_path / "bin" / "kimi"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m catena_acp.rehearsal\n")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Kimi Code CLI", "Ask Kimi")
        await person.writing()
        await person.select("agent kimi")
        await person.press("enter")
        await person.first_tab()
        await person.say("say hello; overload")
        text = await person.sees("  hello", "Kimi's provider is overloaded", "Reply to Kimi", "╰ Kimi ")
        assert "Kimi Code" not in text


async def test_the_agent_that_was_used_last_is_the_first(tmp_path: Path) -> None:
    install(tmp_path, "opencode", "1.18.3")
    await kept(1, "/elsewhere")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        assert "last used" in await person.sees("Start with", "last used")
        start = person.area.conversation.start
        assert [each.name for each in start.agents if each.found] == ["rehearsal", "opencode"]


async def test_r12_what_is_written_before_an_agent_is_chosen_goes_to_the_one_that_is(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        await person.type("say not lost")
        await person.press("enter")
        await person.sees("  not lost")


async def test_r12_an_agent_that_is_chosen_while_the_store_is_read_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, may_read = OpenTabs.newest_here, asyncio.Event()

    async def read_slowly(tabs: OpenTabs, limit: int) -> tuple[list[tuple[Summary, Message | None]], int]:
        await may_read.wait()
        return await read(tabs, limit)

    monkeypatch.setattr(OpenTabs, "newest_here", read_slowly)
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        await person.select("agent rehearsal")
        await person.say("say not lost")
        may_read.set()
        await person.sees("  not lost")


async def test_r12_what_is_sent_on_a_row_that_leads_to_no_chat_stays_written(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.select("fold")
        await person.say("say not lost")
        await person.sees("▾", "Claude Code")
        await person.until(lambda: person.draft == "say not lost", "it to be written again")
        assert not person.tabs


async def test_an_agent_that_is_missing_shows_the_whole_command_that_installs_it_and_y_copies_it(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), choose=True, size=(60, 24)) as person:
        await person.select("fold")
        await person.sees("32 more agents, not installed")
        await person.press("enter", "down")
        await person.apart()
        await person.sees("Claude Code", "y copy", CLAUDE)
        await person.press("y")
        await person.sees("to the terminal's clipboard")
        assert person.app._clipboard == CLAUDE and person.draft == ""
        await person.press("enter")
        await person.sees("This terminal cannot be used", CLAUDE)
        await person.apart()
        await person.type_at_once("yes")
        assert person.draft == "yes"
        await person.press("ctrl+c")
        await person.apart()
        await person.press("y")
        person.area._beginning._copied_at = float("inf")  # no time passes before the next key
        await person.press("e")
        assert person.draft == "ye"


async def test_a_letter_is_written_where_no_missing_agent_is_selected(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        await person.apart()
        await person.press("y")
        assert person.draft == "y"


async def test_the_newest_conversations_of_the_directory_continue_and_the_others_are_in_the_history(
    tmp_path: Path,
) -> None:
    await kept(42, str(tmp_path))
    async with at_the_screen(str(tmp_path), choose=True) as person:
        text = await person.sees("Continue here", "39 more in this directory")
        assert [n for n in range(42) if f"title {n} " in text] == [39, 40, 41]
        assert "1 message " in line_with(person, "title 41")
        await person.select("history")
        await person.press("enter")
        await person.sees_dialog(HistoryScreen)
        await person.press("escape")
        await person.back()
        titles = {
            row.title: row.key
            for row in person.area.conversation.start._rows
            if isinstance(row, ConversationRow)
        }
        await person.select(titles["title 40"])
        await person.type("say more of it")
        await person.press("enter")
        await person.sees("▌ prompt 40", "  more of it")


async def test_a_single_conversation_has_no_others_and_a_mark_where_its_last_turn_failed(
    tmp_path: Path,
) -> None:
    await kept(1, str(tmp_path), failed=True)
    async with at_the_screen(str(tmp_path), choose=True) as person:
        assert "more in this directory" not in await person.sees("Continue here", "title 0")
        assert line_with(person, "title 0").split()[:2] == ["!", "title"]


async def test_h18_the_history_opens_from_the_start(tmp_path: Path) -> None:
    await kept(2, "/usr")
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with", "more agents")
        await person.press("ctrl+o")
        await person.sees("title 1")
        await person.press("enter")
        await person.sees("▌ prompt 1")


async def test_a_click_takes_a_row(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        y = next(at for at, line in enumerate(person.text.splitlines()) if "Rehearsal" in line)
        await person.pilot.click(offset=(6, y))
        await person.sees("Rehearsal is ready in")


async def test_an_agent_of_the_settings_that_is_not_here_is_named_on_the_start(tmp_path: Path) -> None:
    settings = Settings(agent="claude")
    async with at_the_screen(str(tmp_path), settings=settings, choose=True) as person:
        await person.sees("Claude Code: not installed", "Start with")
        await person.press("enter")
        await person.sees("Rehearsal is ready in")


async def test_an_agent_of_the_settings_stands_there_with_its_own_title(tmp_path: Path) -> None:
    own = AgentSetting("mine", (sys.executable, "-m", "catena_acp.rehearsal"), "My Code")
    gone = AgentSetting("gone", ("no-such-program",), "Gone")
    settings = Settings(agents={"mine": own, "gone": gone})
    async with at_the_screen(str(tmp_path), settings=settings, choose=True) as person:
        await person.sees("My Code", "from your settings", "Ask My Code")
        await person.select("fold")
        await person.press("enter", "down")
        await person.sees("Gone", "no-such-program, the command in your settings, was not found")


async def test_a_new_tab_without_an_agent_offers_the_same_agents_in_a_sheet(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        await person.press("ctrl+t")
        await person.sees_dialog(Picker)
        await person.sees("Which agent?", "Rehearsal", "built-in demo, no account needed", "not installed")
        await person.type("claude")
        await person.press("enter")
        await person.sees("Claude Code is not installed", CLAUDE)


async def test_a_row_of_60_columns_keeps_whole_words_and_a_login_is_the_persons_turn(tmp_path: Path) -> None:
    install(tmp_path, "codex-acp", "codex 0.58.1")
    async with at_the_screen(str(tmp_path), choose=True, size=(60, 20)) as person:
        await person.sees("Start with", "codex login")
        assert line_with(person, "Rehearsal").rstrip().endswith("built-in demo")
        await person.press("ctrl+t")
        await person.sees_dialog(Picker)
        assert line_with(person, "Rehearsal").split()[:7] == [
            "Rehearsal",
            "built-in",
            "demo,",
            "no",
            "account",
            "needed",
            "ready",
        ]
        asking = Color.parse(person.app.theme_variables["asking"]).rich_color
        segments = [segment for strip in person.app.screen._compositor.render_strips() for segment in strip]
        (login,) = [segment for segment in segments if segment.text.strip() == "log in"]
        assert login.style is not None and login.style.color == asking


async def test_s01_an_empty_conversation_keeps_the_end_of_a_long_path(tmp_path: Path) -> None:
    project = tmp_path / "a-directory-with-a-very-long-name" / "shop"
    project.mkdir(parents=True)
    async with at_the_screen(str(project), size=(40, 10)) as person:
        await person.sees("Rehearsal is ready in …")
        assert line_with(person, "is ready in").rstrip().endswith("name/shop")


@pytest.mark.parametrize("size", [(40, 10), (60, 20), (80, 24), (120, 40)])
async def test_s01_the_start_has_room_on_every_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    project = tmp_path / "a-directory-with-a-very-long-name" / "and-another-one-in-it" / "shop"
    project.mkdir(parents=True)
    await kept(4, str(project))
    async with at_the_screen(str(project), size=size, choose=True) as person:
        await person.sees("Start with", "Rehearsal", "ready", "32 more agents")
        if size[1] < 15:
            assert "●─●─●" not in person.text and "Continue" not in person.text
        else:
            text = await person.sees("●─●─● catena", "Continue here", "title 3")
            assert "in-it/shop" in text
        await person.select("fold")
        await person.press("enter")
        for _ in range(32):
            await person.press("down")
        await person.sees("Stakpak", "y copy")
        await person.press(*["pageup"] * 6)
        await person.sees("Start with", "▌ Rehearsal")


async def test_nothing_moves_when_versions_and_conversations_come() -> None:
    found = [AgentChoice(name, name.title(), Readiness.READY) for name in ("one", "two")]
    missing = [AgentChoice("three", "Three", Readiness.MISSING, how="make three")]
    rows = [ConversationRow(str(n), f"title {n}", "One", 3, "14:09") for n in range(3)]

    class Shown(ThemedApp):
        def compose(self):  # type: ignore[no-untyped-def]
            yield StartPanel("/shop", column=100)

    def lines(app: ThemedApp) -> list[str]:
        return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]

    app = Shown()
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.query_one(StartPanel)
        panel.show_agents([*found, *missing])
        await taken_in(pilot)
        before = [line for line in lines(app) if line]
        place = {line: at for at, line in enumerate(lines(app)) if line}
        panel.show_conversations(rows, more=9)
        await taken_in(pilot)
        after = lines(app)
        assert len(before) == 6 and all(after[at] == line for line, at in place.items())
        assert any("9 more in this directory" in line for line in after)


async def test_who_left_tabs_behind_is_noted_so_that_the_first_frame_shows_no_start(tmp_path: Path) -> None:
    notes = StartNotes(tmp_path / "data")
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("a draft")
        await person.until(lambda: person.tab.draft == "a draft", "the draft")
        assert notes.of(str(tmp_path)) == StartNote(True, "rehearsal")
    assert notes.of(str(tmp_path)).has_tabs
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.first_tab()
        await person.press("ctrl+c")
        await person.until(lambda: person.tab.draft == "", "no draft")
    assert notes.of(str(tmp_path)) == StartNote(False, "rehearsal")


def test_a_directory_that_is_new_has_the_agent_that_was_used_anywhere(tmp_path: Path) -> None:
    notes = StartNotes(tmp_path)
    assert notes.of("/a") == StartNote() and notes.of("/a").last_used is None
    notes.write("/a", StartNote(True, "codex", "work"))
    notes.write("/b", StartNote(False, "claude"))
    notes.write("/with\na line", StartNote(True, "opencode"))
    assert notes.of("/a") == StartNote(True, "codex", "work")
    assert notes.of("/c") == StartNote(False, "claude")
    (tmp_path / "starts").write_bytes(b"\xff\n1\tx")
    assert notes.of("/a") == StartNote()


async def test_u05_the_start_says_that_other_tools_have_sessions_here_and_a_key_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.with_all(str(tmp_path))
    for folder in (".codex", ".gemini", ".qwen"):
        shutil.rmtree(home.path / folder)
    monkeypatch.setenv("HOME", str(home.path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with", " of Claude Code", " of OpenCode", " here: ctrl+o shows them")
        await person.press("ctrl+o")
        screen = await person.sees_dialog(HistoryScreen)
        await person.until(
            lambda: any(each.source == "claude" for each in screen.row_list.content.entries), "the sessions"
        )
        await person.press("escape")
        await person.select("others")
        await person.press("enter")
        await person.sees_dialog(HistoryScreen)


async def test_u05_agents_that_cannot_be_used_are_folded_and_found_by_what_is_typed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        problem = Problem(Trouble.RATE_LIMIT, "Limit reached.")
        person.tab.trouble.restore(problem, agent=("rehearsal", ""), leaf_id="leaf")
        install(tmp_path, "codex-acp", "codex 0.58.1")
        await person.say("/agent")
        picker = await person.sees_dialog(Picker)
        assert isinstance(picker, Picker)
        await person.sees("▌ Codex", "more agents, limit reached or not installed")
        assert "Rehearsal  " not in person.text and "Stakpak" not in person.text
        await person.type("stakpak")
        await person.sees("Stakpak", "not installed")
        await person.press(*["backspace"] * 7, "end", "down", "enter")
        await person.sees("Rehearsal", "limit reached")

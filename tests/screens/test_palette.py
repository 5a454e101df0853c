"""The palette: every command in a group, the agent's folded, and one frame around them."""

from __future__ import annotations

from catena.app.app import CatenaApp
from catena.keys.keymap import DEFAULT_KEYS
from catena.screens.chat.commands.table import SLASH_COMMANDS, listed_commands
from catena.screens.commands.palette import GROUPS, CommandPalette, chosen_command, key_words
from catena.screens.common.page import PageScreen
from catena.settings.settings import Start
from catena.widgets.row_list import RowList
from catena.widgets.sheet_edges import Subject
from catena_acp.port.session_events import AgentCommand
from support.screen.messages import taken_in
from support.screen.transcript import until

LISTED = [each.name for each in SLASH_COMMANDS if each.words == each.name]
ANNOUNCED = [AgentCommand(f"job-{number}", f"does job {number}", None) for number in range(32)]


def palette() -> CommandPalette:
    subject = Subject("fix the login", "Claude · Sonnet")
    return CommandPalette(
        listed_commands(DEFAULT_KEYS), ANNOUNCED, values={"model": "Sonnet"}, subject=subject, agent="Claude"
    )


def lines_of(app: CatenaApp) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def test_w20_every_command_stands_in_one_group() -> None:
    grouped = [name for _, names in GROUPS for name in names]
    assert sorted(grouped) == sorted(LISTED)


def test_w20_a_key_is_said_with_the_place_that_has_it() -> None:
    assert key_words("esc esc, e while browsing") == "esc esc"
    assert key_words("t while browsing") == "browse t"
    assert chosen_command("own:fork") == ("fork", True)
    assert chosen_command("agent:review") == ("review", False)


async def test_w20_the_frame_names_the_conversation_and_the_agent_and_rows_stand_on_its_axes() -> None:
    app = CatenaApp(Start("/"), environment={})
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(palette())
        await taken_in(pilot)
        lines = [line[10:] for line in lines_of(app)]  # the column
        count = len(LISTED) + len(ANNOUNCED)
        assert lines[0].startswith("╭ Commands ─") and lines[0].endswith(f" {count} ╮")
        assert lines[1].startswith("│ Type to filter")
        assert lines[2].startswith("╰ fix the login ─") and lines[2].endswith("─ Claude · Sonnet ╯")
        assert lines[4].rstrip(" ▐") == "  Conversation"
        assert lines[5].startswith("▌ /new")
        assert lines[5].index("new conversation") > 17 and lines[5].rstrip(" ▐").endswith("ctrl+t")
        assert len(lines[5].rstrip(" ▐")) == 98, "what stands on the right ends two cells before the edge"
        assert lines[-1].startswith("  ↑↓ choose  ·  enter run") and lines[-1].endswith("esc close")


async def test_w20_the_agents_commands_are_folded_until_they_are_asked_for_or_found() -> None:
    app = CatenaApp(Start("/"), environment={})
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(palette())
        await taken_in(pilot)
        rows = app.screen.query_one(RowList)
        assert [row.label for row in rows.rows][-4:] == ["/job-0", "/job-1", "/job-2", "29 more"]
        await pilot.press(*"job-31")
        await until(lambda: rows.rows[0].key == "agent:job-31")
        await pilot.press(*["backspace"] * 6, "up", "enter")
        await until(lambda: rows.chosen is not None and rows.chosen.key == "agent:job-3")
        assert len(rows.rows) == len(LISTED) + len(ANNOUNCED)


async def test_w20_f1_shows_the_keys_of_the_sheet_that_is_open() -> None:
    app = CatenaApp(Start("/"), environment={})
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(palette())
        await pilot.press("f1")
        await until(lambda: isinstance(app.screen, PageScreen))
        await taken_in(pilot)
        assert any(line.split() == ["tab", "complete"] for line in lines_of(app))
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, CommandPalette))


async def test_s01_a_short_palette_has_one_row_for_the_filter_and_no_headings() -> None:
    app = CatenaApp(Start("/"), environment={})
    async with app.run_test(size=(40, 10)) as pilot:
        await app.push_screen(palette())
        await taken_in(pilot)
        lines = lines_of(app)
        assert lines[0].startswith("› Type to filter") and "Commands · " in lines[0]
        assert lines[1].startswith("▌ /new")
        assert not any("Conversation" in line for line in lines)
        assert max(map(len, lines)) <= 40

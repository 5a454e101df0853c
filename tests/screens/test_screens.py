"""What the screen looks like and offers: commands, palette, help, themes, finding, browsing, copying, sizes."""

from __future__ import annotations

import base64
from functools import partial
from pathlib import Path

import pytest
from rich.segment import Segments
from textual import events
from textual.color import Color

from catena.app import attention
from catena.app.app import CatenaApp
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.common.picker import Picker
from catena.screens.history.picker import HistoryScreen
from catena.settings.settings import Settings, Start
from catena.terminal.control.replies import dark_by_environment
from catena.terminal.control.sequences import clipboard
from catena.terminal.driver import BackgroundReported, is_burst
from catena.themes import catalog
from catena.widgets.completion import completions
from catena_acp.agents.catalog import find_spec
from catena_acp.port.session_events import AgentCommand
from catena_store.errors import StoreError
from catena_store.records import Kind
from support.screen.pilot import Person, at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent to the terminal beside the screen itself."""
    sequences: list[str] = []
    monkeypatch.setattr(
        "textual.drivers.headless_driver.HeadlessDriver.write", lambda _, data: sequences.append(data)
    )
    return sequences


def fits(person: Person, size: tuple[int, int]) -> bool:
    text = person.text
    return (
        len(text.splitlines()) == size[1]
        and (" 2 new" in text) == (size[1] >= 15)
        and ("/ commands" in text) == (size[0] >= 60 and size[1] >= 15)
    )


async def said(person: Person, text: str) -> None:
    await person.say(text)
    await person.idle()


def test_w03_our_commands_stand_above_the_agents() -> None:
    rows = completions("/", SLASH_COMMANDS, (AgentCommand("research", "looks things up", None),))
    assert [row.key for row in rows][:2] == ["own:new", "own:history"]
    assert rows[-1].key == "agent:research"
    assert rows[-1].detail == "from the agent"


def test_w03_commands_complete_by_their_letters_in_order_the_beginning_first() -> None:
    rows = completions("/mo", SLASH_COMMANDS, (AgentCommand("mkdocs", "", None),))
    assert [row.key for row in rows[:2]] == ["own:model", "own:model mode"]
    assert "agent:mkdocs" in [row.key for row in rows]


def test_w03_another_name_of_a_command_stands_behind_the_names_that_begin_like_it() -> None:
    def keys(typed: str) -> list[str]:
        return [row.key for row in completions(typed, SLASH_COMMANDS, ())]

    assert keys("/co")[0] == "own:copy"
    assert keys("/cost")[0] == "own:usage"


def test_w03_a_clash_of_names_is_shown() -> None:
    clash = [
        row
        for row in completions("/clear", SLASH_COMMANDS, (AgentCommand("clear", "wipe", None),))
        if row.key == "agent:clear"
    ]
    assert clash[0].dim
    assert "Catena has a command of that name" in clash[0].note


def test_w03_a_path_is_no_command() -> None:
    assert completions("/etc/hosts", SLASH_COMMANDS, ()) == []
    assert completions("/tell me more", SLASH_COMMANDS, ()) == []


async def test_w03_tab_completes_and_enter_runs_a_command(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.until(lambda: person.tab.session and person.tab.session.commands, "the agent's commands")
        await person.type("/hel")
        await person.sees("keys and commands for this place")
        await person.press("tab")
        assert person.draft == "/help"
        await person.press("escape", "enter")
        await person.sees("While you write")


async def test_w03_the_agents_commands_are_offered_and_sent_as_they_are(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.until(lambda: person.tab.session and person.tab.session.commands, "the agent's commands")
        await person.type("/markd")
        await person.sees("from the agent")
        await person.press("enter")
        await person.sees("The end, after a rule")


async def test_w20_the_palette_finds_and_does_every_command(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.press("ctrl+p")
        await person.sees_dialog(Picker)
        await person.sees("Commands", "Conversation", "/history")
        await person.type("theme")
        await person.press("enter")
        await person.sees("Theme", "dark", "light")


async def test_w20_help_begins_with_the_place_that_has_the_keys(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say something")
        await person.browse()
        await person.press("f1")
        text = await person.sees("While you browse the transcript", "next, previous message")
        assert "While you write" not in text
        await person.press("a")
        text = await person.sees("While you browse the transcript", "While you write")
        assert text.index("While you browse") < text.index("While you write")


async def test_w20_a_theme_is_previewed_and_escape_brings_the_old_one_back(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        before = person.app.theme
        await person.answered("say the colours of the chat")
        await person.say("/theme")
        await person.sees_dialog(Picker)
        await person.sees("sepia", "the terminal's own")
        await person.type("nord")
        await person.until(lambda: person.app.theme == "nord", "the preview")
        await person.sees("  the colours of the chat")
        ground = Color.parse(person.app.theme_variables["background"]).rich_color
        drawn = [segment for strip in person.app.screen._compositor.render_strips() for segment in strip]
        assert {each.style.bgcolor for each in drawn if "the colours" in each.text and each.style} >= {ground}
        await person.press("escape")
        await person.until(lambda: person.app.theme == before, "the old theme")
        await person.say("/theme nord")
        await person.until(lambda: person.app.theme == "nord", "the theme")
        await person.say("/theme sepia")  # as the list calls it
        await person.until(lambda: person.app.theme == "catena-sepia", "the theme by its name in the list")


async def test_s01_without_colours_only_the_prompt_that_is_edited_is_reversed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), environment={"NO_COLOR": "1"}) as person:
        await person.answered("say `one`")
        await person.escape_twice()
        await person.press("enter")
        await person.sees("Edit ")
        strips = person.app.screen._compositor.render_strips()
        reversed_rows = [
            strip.text.strip("▌ ").split("  ")[0]
            for strip in strips
            if any(segment.style and segment.style.reverse and len(segment.text) > 5 for segment in strip)
        ]
        assert reversed_rows == ["say `one`"]


async def test_s01_in_a_narrow_column_no_scroll_bar_covers_the_text(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 12)) as person:
        await person.answered("stream 200 rate 0")
        await person.press("pageup")
        assert "▐" not in await person.sees("↓ ")
        await person.pilot.resize_terminal(80, 12)
        await person.press("pageup")
        await person.sees("▐")


async def test_w20_the_words_of_an_empty_filter_are_faint_and_not_dim_besides(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), environment={"COLORTERM": "truecolor"}) as person:
        await person.press("ctrl+p")
        await person.sees("Type to filter")
        faint = Color.parse(person.app.theme_variables["faint"]).rich_color
        segments = [segment for strip in person.app.screen._compositor.render_strips() for segment in strip]
        (style,) = [each.style for each in segments if "ype to filter" in each.text]
        assert style is not None and style.color == faint and not style.dim


@pytest.mark.parametrize("environment", [{"TERM": "xterm-16color"}, {"NO_COLOR": "1"}])
async def test_w20_without_colours_to_mix_what_is_read_last_is_the_terminals_own_colour_dim(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    async with at_the_screen(str(tmp_path), environment=environment) as person:
        await person.sees("Ask Rehearsal", "f1 help")
        segments = [segment for strip in person.app.screen._compositor.render_strips() for segment in strip]
        (help_words,) = [each.style for each in segments if each.text == " help"]
        assert help_words is not None and help_words.dim
        assert help_words.color is None or help_words.color.is_default


async def test_w20_a_theme_of_the_settings_is_taken(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), settings=Settings(theme="gruvbox")) as person:
        assert person.app.theme == "gruvbox"


async def test_w20_without_a_choice_the_terminal_decides_between_light_and_dark(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), environment={"COLORFGBG": "0;15"}) as person:
        assert person.app.theme == catalog.LIGHT
    async with at_the_screen(str(tmp_path), environment={"NO_COLOR": "1"}) as person:
        assert person.app.theme == catalog.TERMINAL
    assert dark_by_environment({"COLORFGBG": "15;default;0"})


def test_w20_the_terminals_answer_is_dark_or_light_as_a_person_sees_it() -> None:
    assert all(BackgroundReported(color).dark for color in ("#000000", "#14171b", "#0000ff", "#777777"))
    assert not any(BackgroundReported(color).dark for color in ("#ffffff", "#fbfaf7", "#00ff00", "#888888"))


async def test_w26_find_goes_through_the_places(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say one needle; say two needle")
        await person.press("ctrl+f")
        await person.until(lambda: person.area.place == "finding", "the keys to go to the find bar")
        await person.type("needle")
        await person.sees("4 of 4")
        await person.press("up")
        await person.sees("3 of 4")
        await person.press("escape")
        await person.writing()


async def test_browsing_lets_no_letter_into_the_composer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say something to read")
        await person.browse()
        await person.sees("j k message")
        await person.press("j", "k", "x", "z", "w", "K")
        assert person.draft == ""
        await person.press("escape")
        assert person.app.focused is person.composer


async def test_browsing_quotes_a_message_into_the_composer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say wise words")
        await person.browse()
        await person.press("q")
        await person.until(lambda: person.draft, "the quotation")
        assert person.draft == "> wise words\n\n"


async def test_w22_y_copies_a_message_as_it_was_written(tmp_path: Path, sent: list[str]) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say **bold** words")
        await person.browse()
        await person.press("y")
        await person.sees("Sent 14 characters to the terminal's clipboard")
        assert any(base64.b64encode(b"**bold** words").decode() in data for data in sent)


async def test_w22_a_selection_made_with_the_mouse_is_copied_with_ctrl_c(
    tmp_path: Path, sent: list[str]
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say select me please")
        await person.sees("  select me please")
        row = next(at for at, line in enumerate(person.text.splitlines()) if "  select me" in line)
        await person.pilot.mouse_down(offset=(3, row))
        await person.pilot.hover(offset=(9, row))
        await person.pilot.mouse_up(offset=(9, row))
        assert person.app.focused is person.composer
        await person.press("ctrl+c")
        await person.until(lambda: any("\x1b]52;c;" in data for data in sent), "the copy")


def test_w22_the_clipboard_sequence_is_wrapped_for_tmux_and_screen() -> None:
    plain = "\x1b]52;c;aGk=\x07"
    assert clipboard("hi", {}) == plain
    assert clipboard("hi", {"TMUX": "/tmp/t"}) == plain + "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"
    assert clipboard("hi", {"TERM": "screen-256color"}) == f"\x1bP{plain}\x1b\\"
    within_both = {"TMUX": "/tmp/t", "STY": "1.a"}
    assert clipboard("hi", within_both | {"TERM": "screen"}) == f"\x1bP{plain}\x1b\\"
    assert clipboard("hi", within_both | {"TERM": "tmux-256color"}).startswith(f"{plain}\x1bPtmux;")
    long = clipboard("x" * 2_000, {"TERM": "screen"})
    assert all(len(piece) < 768 for piece in long.split("\x1b\\"))


def test_w23_text_with_a_line_end_inside_is_a_paste_and_a_line_is_typing() -> None:
    assert is_burst("one\rtwo")
    assert is_burst("one\ntwo\n")
    assert is_burst("👩\u200d👧\u00a0one\rtwo \u200f")
    assert not is_burst("typed\r")
    assert not is_burst("\r")
    assert not is_burst("\x1b[A\r\x1b[B")


async def test_w25_an_answer_calls_for_attention_only_while_the_terminal_is_not_looked_at(
    tmp_path: Path, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "PATIENCE", 1_000)  # no turn here is one after which a person has gone
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say seen")
        assert "\x07" not in sent
        person.app.post_message(events.AppBlur())
        await person.until(lambda: not person.app.app_focus, "the focus to be gone")
        person.chat.submit("say unseen")
        await person.until(lambda: "\x07" in sent, "the bell")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20), (40, 10), (300, 100)])
async def test_s01_nothing_that_is_needed_is_cut_off(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_the_screen(str(tmp_path), size=size) as person:
        await said(person, "say hello; tool read README.md")
        assert person.composer.region.bottom <= size[1]
        assert person.area.prompt.box.size.width == min(size[0], 100)
        await person.sees("Rehearsal", "hello")
        lines = person.text.splitlines()
        assert len(lines) == size[1]
        assert lines[-1].strip().startswith("╰ Rehearsal" if size[1] >= 15 else "› Reply to Rehearsal")
        person.composer.put("x" * (size[0] * 3))
        await person.taken_in()
        height = person.composer.size.height
        assert height == 1 if size[1] < 15 else height <= max(1, size[1] // 3)
        await person.say("ask May I?")
        await person.sees("1 y Allow")
        await person.press("ctrl+o")
        await person.sees_dialog(HistoryScreen)


async def test_s01_another_size_keeps_everything_usable(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 40)) as person:
        await said(person, "say hello")
        await person.new_tab()
        await person.sees(" 2 new")
        for size in ((40, 10), (300, 100), (80, 24)):
            await person.pilot.resize_terminal(*size)
            await person.until(partial(fits, person, size), f"everything to fit into {size}")


async def test_the_newest_row_of_a_kind_is_known(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say one; say two")
        newest = person.chat.context.presenter.newest(Kind.AGENT)
        assert newest is not None
        await person.say("/copy")
        await person.sees("to the terminal's clipboard")


async def test_an_error_with_brackets_in_it_is_told_as_it_is(tmp_path: Path) -> None:
    said = "[red] no such [/closing] tag"
    app = CatenaApp(Start(str(tmp_path), agent=find_spec("rehearsal"), settings=Settings()), environment={})
    app._handle_exception(StoreError(said))
    (crash,) = app._exit_renderables
    assert isinstance(crash, Segments)
    assert said in "".join(segment.text for segment in crash.segments)
    app = CatenaApp(Start(str(tmp_path), agent=find_spec("rehearsal"), settings=Settings()), environment={})
    async with app.run_test():
        app._end_with(StoreError(said))
        (left,) = app._exit_renderables
        assert said in "".join(segment.text for segment in app.console.render(left))

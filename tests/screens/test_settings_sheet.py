"""The sheet of settings: what it shows, what it writes, and what holds at once."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from catena.screens.history.picker import HistoryScreen
from catena.screens.settings.screen import SettingsScreen, about, listed_settings, setting_row
from catena.settings.definitions import Applies, SettingKind
from catena.settings.effective import effective_settings
from catena.settings.file.document import SettingsDocument
from catena.settings.settings import ADVANCED, SETTINGS, Settings, at_once, load_settings
from support.screen.pilot import Person, at_the_screen

TEXT = '# mine\ntheme = "catena-dark"  # calm\ncolumn = 90\n\n[agents.mine]\ncommand = "x"\n'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    path = tmp_path / "config" / "config.toml"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def text_of(path: Path) -> str:
    return path.read_text()


def rewrite(path: Path, text: str) -> None:
    path.write_text(text)


async def opened(person: Person) -> SettingsScreen:
    await person.say("/settings")
    return await person.sees_dialog(SettingsScreen)


def test_w21_a_row_says_where_a_value_comes_from_and_what_was_wrong(path: Path) -> None:
    effective = effective_settings(path, {"CATENA_PAINTER": "off"})
    listed = listed_settings(load_settings(path), effective, SettingsDocument(path, TEXT))
    rows = {each.name: setting_row(each, path) for each in listed}

    def of(name: str) -> tuple[str, str]:
        return rows[name].time, rows[name].columns[0].text

    assert of("theme") == ("catena-dark", "config.toml:2")
    assert of("width") == ("90", "config.toml:3")
    assert of("painter") == ("off", "CATENA_PAINTER")
    assert of("agents") == ("1: mine", "config.toml:5")
    assert of("history.copies") == ("not set", ""), "most are defaults, which goes without saying"
    width = next(each for each in listed if each.name == "width")
    assert setting_row(width, path, "`width` must be a number").note == "`width` must be a number"
    assert "(config.toml:3); a change applies at once" in about(width, path)
    assert {each.name for each in SETTINGS} <= set(rows)


def test_w21_what_is_said_to_hold_at_once_does_and_nothing_else(path: Path) -> None:
    path.write_text(
        'agent = "mine"\ntheme = "nord"\nwidth = 90\nhalf_rows = "off"\nshell = "off"\nvim = "on"\npark = "off"\n'
        'window_title = "off"\n'
        'painter = "off"\nfiles = false\nterminals = false\nsnapshots = "off"\nimages = "off"\nnotifications = "bell"\n'
        'linear = "quiet"\nlinear_bells = "off"\nfiles_follow = "on"\n'
        "prompt_history = 7\nidle_agents = 5\nreplay = 20000\n"
        'status_line = "x"\n'
        'permissions = {run = "deny", own_requests = "ask", rules = [{kind="any", pattern = "*", answer = "allow"}]}\n'
        '[checkpoints]\nfrequency = "off"\nkeep = 1\ntools = true\n[history]\ncopies = true\n[export]\nmask = ["x"]\n'
        '[memory]\ntools = true\nscope = "everywhere"\n[hooks]\nturn_end = "x"\npermission = "x"\nseam = "x"\n'
    )
    before, after = Settings(), load_settings(path)
    applied = at_once(before, after)
    for each in SETTINGS:
        assert each.value(before) != each.value(after), each.name
        expected = after if each.applies is Applies.NOW else before
        assert each.value(applied) == each.value(expected), each.name


def test_w21_each_setting_has_a_way_to_be_changed() -> None:
    for each in SETTINGS:
        assert bool(each.choices) == (each.kind is SettingKind.CHOICE), each.name
        assert each.does and not each.does.endswith("."), each.name


async def test_advanced_settings_are_folded_below_one_row_and_found_by_the_filter(
    tmp_path: Path, path: Path
) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 60)) as person:
        sheet = await opened(person)

        def keys() -> list[str]:
            return [row.key for row in sheet.row_list.rows]

        assert len(keys()) <= 16
        assert keys()[-1] == "advanced"
        assert not ADVANCED & set(keys())
        await person.press("slash", *"half_rows", "enter")
        await person.until(lambda: keys() == ["half_rows"], "what the filter finds")
        await person.press("escape", *["down"] * 15)
        await person.until(lambda: sheet.chosen_key == "advanced", "the row that opens them")
        await person.press("enter")
        await person.until(lambda: set(keys()) > ADVANCED, "the advanced settings")
        assert sheet.chosen_key in ADVANCED
        await person.press("escape")
        await person.back()


async def test_u08_an_advanced_setting_that_the_file_sets_is_shown_above_those_that_are_folded(
    tmp_path: Path, path: Path
) -> None:
    rewrite(path, 'half_rows = "off"\n')
    async with at_the_screen(str(tmp_path), size=(120, 60)) as person:
        sheet = await opened(person)
        keys = [row.key for row in sheet.row_list.rows]
        assert keys[-2:] == ["half_rows", "advanced"]
        assert set(keys) & ADVANCED == {"half_rows"}
        await person.sees(f"{len(ADVANCED) - 1} more")
        await person.press("escape")
        await person.back()
        await person.say("/settings advanced")
        sheet = await person.sees_dialog(SettingsScreen)
        await person.until(lambda: sheet.chosen_key in ADVANCED, "the cursor to begin there")
        assert {row.key for row in sheet.row_list.rows} > ADVANCED


def test_advanced_settings_have_the_last_section_of_their_document() -> None:
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    first, _, advanced = text.partition("\n## Advanced\n")

    def described(part: str) -> set[str]:
        names = re.findall(r"^\| `([^`]+)`", part, re.MULTILINE)
        return {name if name in {each.name for each in SETTINGS} else name.split(".")[0] for name in names}

    assert described(advanced) == ADVANCED
    assert not described(first) & ADVANCED
    assert "\n## " not in advanced


async def test_w21_u07_a_setting_is_changed_in_place_and_holds_at_once(tmp_path: Path, path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 40)) as person:
        await opened(person)
        await person.press("slash", *"width", "enter", "enter", *["backspace"] * 3, *"9999", "enter")
        await person.sees("must be a number of cells from 40 to 400")
        assert text_of(path) == TEXT
        await person.press("escape", "enter", *["backspace"] * 3, *"60", "enter")
        await person.sees("width is 60: applies at once.", "config.toml:3")
        assert text_of(path) == TEXT.replace("column = 90", "width = 60")
        assert person.area.start.settings.width == 60
        await person.until(
            lambda: person.app.screen.query_one("#rows").size.width == 60, "the width of the sheet"
        )
        await person.press("d")
        await person.sees("Remove width from the file? Press d again.")
        await person.press("enter", "escape")
        await person.apart()
        now = time.monotonic()
        await person.type_at_once("d", read_at=now)  # whoever did something else is asked again
        await person.sees("Remove width from the file?")
        await person.type_at_once("d", read_at=now)  # a key that is held, or `dd` of a word
        assert "width = 60" in text_of(path)
        await person.apart()
        await person.press("d")
        await person.sees("width is 100 (the default)")
        assert "width" not in text_of(path)
        await person.press("escape", "escape")
        await person.back()


async def test_w21_vi_s_keys_and_keys_of_ones_own_hold_at_once(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def edit(*_: object) -> None:
        rewrite(path, f'{TEXT}[keys]\nhistory = "f9"\nfork = "g f"\n')

    monkeypatch.setattr("catena.screens.settings.screen.edit_file", edit)
    async with at_the_screen(str(tmp_path), size=(120, 40)) as person:
        await opened(person)
        await person.press("e")
        await person.until(lambda: person.app.keys.shown("history") == "f9", "the keys of the file")
        await person.press("slash", *"vi's", "enter", "enter")
        await person.sees("vim is on: applies at once.")
        await person.press("escape", "escape")
        await person.back()
        await person.writing()
        await person.sees("f9 history")
        await person.press(*"words", "escape")
        await person.sees("NORMAL")
        await person.press("0", "x")
        assert person.draft == "ords"
        await person.press("ctrl+o")
        assert person.area.place == "composer"
        await person.press("f9")
        await person.sees_dialog(HistoryScreen)
        await person.press("escape")
        await person.back()
        await person.press("i", "ctrl+u")
        await opened(person)
        await person.press("slash", *"vi's", "enter", "enter")
        await person.sees("vim is off: applies at once.")
        await person.press("escape", "escape")
        await person.back()
        await person.writing()
        await person.sees_no("INSERT")
        await person.type("x y")
        assert person.draft == "x y"


async def test_w21_a_theme_is_shown_while_it_is_chosen_and_a_switch_is_switched(
    tmp_path: Path, path: Path
) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 24)) as person:
        sheet = await opened(person)
        before = person.app.theme
        await person.press("enter", *"sepia")
        await person.until(lambda: person.app.theme == "catena-sepia", "the preview")
        await person.press("escape")
        await person.until(
            lambda: person.app.screen is sheet and person.app.theme == before, "the theme before"
        )
        await person.press("enter", *"sepia", "enter")
        await person.sees("theme is catena-sepia")
        assert person.app.theme == load_settings(path).theme == "catena-sepia"
        assert 'theme = "catena-sepia"  # calm' in text_of(path)
        await person.press("slash", *"shell", "enter", "enter")
        await person.sees("shell is off")
        await person.press("escape", "escape")
        await person.back()
        await person.type("!ls")
        assert person.area.prompt.shell_command is None


async def test_w21_a_file_with_an_error_is_said_with_its_line_and_stays(tmp_path: Path, path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        rewrite(path, "theme = 3\n")
        await opened(person)
        await person.sees(":1: `theme` must be")
        await person.press("j", "j", "enter")
        assert text_of(path) == "theme = 3\n"
        rewrite(path, "")
        await person.press("enter")
        await person.until(lambda: 'vim = "on"' in text_of(path), "the change")
        await person.press("escape")
        await person.back()

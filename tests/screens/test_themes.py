"""Themes: ten colours each, what is mixed from them, and what is left of them where there are few colours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.theme import BUILTIN_THEMES
from textual.widget import Widget

from catena.errors import InvalidSettings
from catena.settings.file.document import settings_path
from catena.settings.settings import Settings, load_settings
from catena.terminal.driver import BackgroundReported
from catena.themes.catalog import ThemeCatalog
from catena.themes.colours import (
    COLOUR_NAMES,
    DARK,
    LIGHT,
    SHIPPED,
    TERMINAL,
    ColourDepth,
    Grounds,
    ThemeColours,
    colour_depth,
    contrast,
)
from catena.themes.variables import DIM, SparingStylesheet
from catena.widgets.fields.text_fields import SafeInput
from support.counted_work import calls_counted
from support.screen.messages import taken_in
from support.screen.pilot import at_the_screen
from support.screen.themed import ThemedApp

_NEAREST = 0.05  # a minimum is met to one decimal


@pytest.mark.parametrize("name", SHIPPED)
def test_w20_u09_everything_in_a_theme_that_ships_can_be_read(name: str) -> None:
    colours = SHIPPED[name]
    grounds = Grounds.of(colours)
    text = {
        colours.ground: (colours.text, colours.muted, colours.accent, colours.unasked),
        grounds.band: (colours.text, colours.muted, colours.accent),
        grounds.code: (colours.text, colours.muted, colours.sand, grounds.inline, grounds.keyword),
        grounds.selection: (colours.text, colours.muted, colours.accent),
        grounds.asking: (colours.text, colours.asking),
        grounds.failure: (colours.text, colours.muted, colours.failure),
        grounds.added: (colours.text, colours.added),
        grounds.added_word: (colours.text,),
        grounds.removed: (colours.text, colours.failure),
        grounds.removed_word: (colours.text,),
    }
    for ground, inks in text.items():
        for ink in inks:
            assert contrast(ink, ground) >= 4.5 - _NEAREST, (ink, ground)
    for ground in (colours.ground, grounds.band, grounds.code):
        assert contrast(colours.faint, ground) >= 4.5 - _NEAREST
    assert contrast(colours.faint, grounds.selection) >= 3
    assert contrast(grounds.focus, colours.ground) >= 3


def test_w20_the_dark_theme_is_mixed_as_it_was_designed() -> None:
    grounds = Grounds.of(SHIPPED[DARK])
    assert (grounds.band, grounds.code, grounds.selection, grounds.rule, grounds.focus) == (
        "#1d262c",
        "#1c1f23",
        "#273942",
        "#3b3e42",
        "#508093",
    )


@pytest.mark.parametrize(
    ("environment", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, ColourDepth.FULL),
        ({"TERM": "xterm-direct"}, ColourDepth.FULL),
        ({"TERM": "screen-256color"}, ColourDepth.INDEXED),
        # Inherited, and not so.
        (
            {"TERM": "screen", "STY": "1.x", "COLORTERM": "truecolor"},
            ColourDepth.INDEXED,
        ),
        ({"TERM": "screen-256color", "STY": "1.x", "COLORTERM": "truecolor"}, ColourDepth.INDEXED),
        ({"TERM": "screen-256color", "TMUX": "/x,1,0", "COLORTERM": "truecolor"}, ColourDepth.FULL),
        ({"TERM": "linux"}, ColourDepth.SIXTEEN),
        ({"TERM": "xterm"}, ColourDepth.SIXTEEN),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(379)"}, ColourDepth.FULL),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(330)"}, ColourDepth.SIXTEEN),
        ({"TERM": "screen", "XTERM_VERSION": "XTerm(379)"}, ColourDepth.INDEXED),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, ColourDepth.NONE),
    ],
)
def test_s01_the_environment_tells_how_many_colours_there_are(
    environment: dict[str, str], depth: ColourDepth
) -> None:
    assert colour_depth(environment) is depth


def test_s01_with_256_colours_nothing_is_tinted_and_words_are_underlined() -> None:
    variables = ThemeCatalog(ColourDepth.INDEXED).theme(DARK).variables
    assert variables["asking-ground"] == variables["ground"]
    grounds = {
        variables[name]
        for name in variables
        if name.startswith(("added-", "removed-")) and name[-4:] != "text"
    }
    assert grounds == {variables["code-ground"]}, "all lines of a diff have one ground"
    assert (variables["code-ground"], variables["band"], variables["selection"]) == (
        "#1c1c1c",
        "#262626",
        "#3a3a3a",
    )
    assert variables["word-style"] == "underline"


@pytest.mark.parametrize("depth", [ColourDepth.SIXTEEN, ColourDepth.NONE])
def test_s01_with_16_colours_every_theme_is_the_terminals_own(depth: ColourDepth) -> None:
    catalog = ThemeCatalog(depth)
    for name in catalog.names:
        variables = catalog.theme(name).variables
        assert not [value for value in variables.values() if value.startswith("#")]
        assert variables["selection-style"] == "reverse"


@pytest.mark.parametrize("name", SHIPPED)
def test_u09_with_256_colours_the_changed_lines_of_a_diff_can_be_read(name: str) -> None:
    variables = ThemeCatalog(ColourDepth.INDEXED).theme(name).variables
    for ink in ("added-text", "removed-text", "muted"):
        assert contrast(variables[ink], variables["added-ground"]) >= 4.5 - _NEAREST, ink
    for ground in ("code-ground", "band", "selection"):
        assert contrast(variables["muted"], variables[ground]) >= 4.5 - _NEAREST, ground


# Of xterm and of the VGA palette: what a name may look like.
_SIXTEEN = {
    "ansi_magenta": ("#cd00cd", "#aa00aa"),
    "ansi_bright_red": ("#ff0000", "#ff5555"),
    "ansi_bright_blue": ("#5c5cff", "#5555ff"),
}


def test_u09_with_16_colours_every_word_can_be_read_on_black_and_on_white() -> None:
    theme = ThemeCatalog(ColourDepth.SIXTEEN).theme(TERMINAL)
    own = ("ansi-background", "ansi-foreground")  # what Textual takes the terminal's to be
    used = [value for name, value in theme.variables.items() if name not in own]
    used += [theme.primary, theme.error or ""]
    for value in {each for each in used if each.startswith("ansi_")} - {"ansi_default", DIM}:
        for colour in _SIXTEEN[value]:
            for ground in ("#000000", "#ffffff"):
                assert contrast(colour, ground) >= 3, (value, ground)


class _OneField(ThemedApp):
    def compose(self) -> ComposeResult:
        yield SafeInput("text")


@pytest.mark.parametrize("name", [*SHIPPED, TERMINAL])
async def test_u09_the_cursor_of_a_field_is_seen_on_every_ground(name: str) -> None:
    async with _OneField(name).run_test() as pilot:
        style = pilot.app.query_one(SafeInput).get_component_rich_style("input--cursor")
        assert style.reverse
        if name == TERMINAL:
            assert style.color is not None and style.color.is_default
            assert style.bgcolor is not None and style.bgcolor.is_default
        else:
            assert style.color is not None and style.color.triplet is not None
            assert contrast(style.color.triplet.hex, SHIPPED[name].ground) >= 4.5


def test_w20_textuals_own_themes_are_made_of_ten_colours_too() -> None:
    catalog = ThemeCatalog(ColourDepth.FULL)
    for name in BUILTIN_THEMES:
        assert set(catalog.theme(name).variables) >= set(catalog.theme(DARK).variables)


def test_a_theme_stands_on_the_terminals_ground_where_its_text_can_be_read_there() -> None:
    catalog = ThemeCatalog(ColourDepth.FULL)
    on_its_own = catalog.theme(DARK)
    moved = catalog.theme(DARK, ground="#1e1e2e")
    assert moved.background == "ansi_default"
    assert moved.variables["band"] == Grounds.of(_on("#1e1e2e")).band != on_its_own.variables["band"]
    assert catalog.theme(DARK, ground="#707070").background == SHIPPED[DARK].ground


def _on(ground: str) -> ThemeColours:
    moved = SHIPPED[DARK].on(ground)
    assert moved is not None
    return moved


async def test_w20_the_terminals_background_decides_on_which_ground_the_theme_stands(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), environment={"COLORTERM": "truecolor"}) as person:
        assert person.app.theme == DARK
        assert person.app.current_theme.background == SHIPPED[DARK].ground
        person.app.post_message(BackgroundReported("#fdf6e3"))
        await person.until(lambda: person.app.theme == LIGHT, "the light theme")
        assert person.app.current_theme.background == "ansi_default"
        person.app.post_message(BackgroundReported("#ffffff"))
        await person.until(
            lambda: person.app.theme_variables["band"] == Grounds.of(_light_on("#ffffff")).band,
            "the same theme on another ground",
        )


def _light_on(ground: str) -> ThemeColours:
    moved = SHIPPED[LIGHT].on(ground)
    assert moved is not None
    return moved


async def test_w20_a_chosen_theme_keeps_its_own_ground(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), settings=Settings(theme="catena-sepia")) as person:
        person.app.post_message(BackgroundReported("#000000"))
        await person.say("/theme")
        await person.sees("╭ Theme ─", "  ink ")
        assert person.app.current_theme.background == SHIPPED["catena-sepia"].ground


_OWN = "\n".join(f'{name} = "#{number:06x}"' for number, name in enumerate(COLOUR_NAMES, 0x101010))


async def test_w20_a_theme_of_ones_own_is_a_table_of_ten_lines(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'theme = "mine"\n[themes.mine]\n{_OWN}\n', encoding="utf-8")
    settings = load_settings(path)
    async with at_the_screen(str(tmp_path), settings=settings) as person:
        assert person.app.theme == "mine"
        assert person.app.current_theme.background == "#101010"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"[themes.mine]\n{_OWN}\ncolour = 'red'", r":12: `themes.mine.colour` is not a setting"),
        (
            f"[themes.mine]\n{_OWN}".replace('"#101010"', '"black"'),
            r':2: `themes.mine.ground` needs ground = "#rrggbb"',
        ),
        ("[themes.mine]\nground = '#000000'", r':1: `themes.mine` needs text = "#rrggbb"'),
        ("column = 12", ":1: `column` must be a number of cells from 40 to 400"),
        ("half_rows = 1", ':1: `half_rows` must be "on" or "off"'),
    ],
)
def test_w21_what_is_wrong_with_a_theme_is_said_with_its_line(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSettings, match=error):
        load_settings(path)


def test_the_terminals_own_theme_is_one_of_the_list() -> None:
    assert TERMINAL in ThemeCatalog(ColourDepth.FULL).names


class _Parts(Widget, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"parts--one", "parts--two"}
    SCOPED_CSS = False
    DEFAULT_CSS = """
    _Parts .parts--one { color: #010101; }
    .-late _Parts .parts--one { color: #020202; }
    _Parts:disabled .parts--two { color: #030303; }
    """


class _AppOfParts(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = SparingStylesheet(variables=self.get_css_variables())

    def compose(self) -> ComposeResult:
        yield _Parts()


async def test_q01_parts_of_a_widget_are_styled_again_only_where_their_rules_can_see_a_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    styled: list[DOMNode] = []
    style = Stylesheet._process_component_classes

    def counted(sheet: Stylesheet, node: DOMNode) -> None:
        styled.append(node)
        style(sheet, node)

    monkeypatch.setattr(Stylesheet, "_process_component_classes", counted)
    async with _AppOfParts().run_test() as pilot:
        parts = pilot.app.query_one(_Parts)

        def colour(name: str) -> str:
            return parts.get_component_styles(name).color.hex

        async def times(change: Callable[[], object]) -> int:
            before = styled.count(parts)
            change()
            await taken_in(pilot)
            return styled.count(parts) - before

        assert colour("parts--one") == "#010101"
        assert not await times(lambda: pilot.app.stylesheet.update(pilot.app.screen))
        assert not await times(lambda: pilot.app.screen.set_focus(None))
        assert await times(lambda: pilot.app.screen.add_class("-late"))
        assert colour("parts--one") == "#020202"
        assert await times(lambda: pilot.app.screen.remove_class("-late"))
        assert colour("parts--one") == "#010101"
        assert await times(lambda: setattr(parts, "disabled", True))
        assert colour("parts--two") == "#030303"
        pilot.app.stylesheet.add_source("_Parts .parts--one { color: #040404; }")
        assert await times(pilot.app.refresh_css)
        assert colour("parts--one") == "#040404"


def test_q01_a_rule_is_found_among_all_others_without_a_call() -> None:
    sheet = SparingStylesheet()
    sheet.add_source("".join(f".name{number} {{ color: red; }}" for number in range(50)))
    rules, among = sheet.rules, set(sheet.rules)
    with calls_counted() as calls:
        assert [rule for rule in rules if rule in among] == rules
    assert calls.made < len(rules)


async def test_a_theme_that_is_chosen_is_kept_in_the_settings(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/theme sepia")
        await person.until(lambda: person.app.theme == "catena-sepia", "the theme")
        await person.until(
            lambda: settings_path().exists() and load_settings().theme == "catena-sepia", "it in the settings"
        )
        assert "To keep it" not in person.text


@pytest.mark.parametrize("name", SHIPPED)
async def test_u09_the_cursor_on_the_hint_of_an_empty_composer_is_seen_on_every_ground(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    async with at_the_screen(str(tmp_path), settings=Settings(theme=name)) as person:
        await person.sees("Ask Rehearsal")
        segment = next(iter(person.composer.render_line(0)))
        assert segment.text == "A" and segment.style is not None
        ink, ground = segment.style.color, segment.style.bgcolor
        assert segment.style.reverse and ink is not None and ink.triplet is not None
        assert ground is not None and ground.triplet is not None
        assert contrast(ink.triplet.hex, ground.triplet.hex) >= 4.5  # the letter on it
        assert contrast(ink.triplet.hex, SHIPPED[name].ground) >= 4.5

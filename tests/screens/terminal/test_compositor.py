"""What is rendered for a frame: the lines that changed and are seen, each once, and no styles that are known."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from catena.terminal.compositor import _divided
from catena.themes.colours import DARK, LIGHT, TERMINAL
from support.screen.messages import taken_in
from support.screen.pilot import Person, at_the_screen
from support.screen.themed import ThemedApp

Lines = Counter[Widget]
LONG = "say " + " ".join(f"**word{number}** of `many`" for number in range(300))


@contextmanager
def lines_counted(monkeypatch: pytest.MonkeyPatch, person: Person) -> Iterator[Lines]:
    """The lines that each widget is asked for within the block."""
    lines: Lines = Counter()

    def counted(widget: Widget) -> Callable[[Region], list[Strip]]:
        render = widget.render_lines

        def render_lines(crop: Region) -> list[Strip]:
            lines[widget] += crop.height
            return render(crop)

        return render_lines

    with monkeypatch.context() as patched:
        for widget in person.app.screen._compositor.visible_widgets:
            patched.setattr(widget, "render_lines", counted(widget))
        yield lines


def seen(strip: Strip, width: int) -> list[tuple[str, str]]:
    """The first cells of a strip, and what a person sees of their styles."""
    cells = [(cell, style or Style.null()) for text, style, _ in strip for cell in text]
    return [
        (cell, f"on {style.bgcolor} {style.reverse}" if cell.isspace() and not style.reverse else str(style))
        for cell, style in cells[:width]
    ]


async def test_what_changes_twice_is_as_high_as_what_it_shows_then_though_it_was_laid_out_between() -> None:
    words = Static("one")
    app = ThemedApp()
    async with app.run_test() as pilot:
        await app.screen.mount(words)
        await taken_in(pilot)
        words.update("one\ntwo")
        mounted = app.screen.mount(Static("four"))
        app.screen._refresh_layout()  # for the other, before the screen hears of the change
        words.update("one\ntwo\nthree")
        await mounted
        await taken_in(pilot)
        assert words.size.height == 3


async def test_a_key_asks_for_the_line_that_it_changes_and_a_row_of_an_answer_for_that_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say("say one")
        await person.idle()
        await person.type("a")
        await person.idle()
        with lines_counted(monkeypatch, person) as lines:
            await person.type("b")
        assert lines == {person.composer: 1}
        newest = person.transcript._column.entries[-1].message.id
        with lines_counted(monkeypatch, person) as lines:
            person.transcript._column.grow(newest, " and two", draw=True)
            person.transcript._place(None)
            await person.type("c")  # far below, in the same frame or the next
        assert lines == {person.composer: 1, person.transcript: 1}


async def test_what_others_cover_is_not_rendered_though_all_of_the_screen_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say("say one")
        await person.idle()
        covered = {person.app.screen, person.area, person.area.conversation}
        with lines_counted(monkeypatch, person) as lines:
            person.app.screen._compositor.render_full_update()
        assert lines[person.transcript] == person.transcript.size.height
        assert not covered & lines.keys()


async def test_a_row_that_only_moved_is_the_strip_that_it_was(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say(LONG)
        await person.idle()
        transcript = person.transcript
        size = Region(0, 0, *transcript.size)
        before = transcript.render_lines(size)
        transcript.scroll_relative(y=-3, animate=False)
        await person.taken_in()
        # Away from the end it is a row shorter.
        after = transcript.render_lines(Region(0, 0, *transcript.size))
        assert len(after) > 20
        assert [id(strip) for strip in after[3:]] == [id(strip) for strip in before[: len(after) - 3]]


def test_a_row_that_is_not_divided_goes_without_a_collection_of_garbage() -> None:
    gc.collect()
    gc.disable()
    try:
        before = strips_in_memory()
        assert [piece.text for piece in _divided(Strip([Segment("a row")]), [5])] == ["a row"]
        assert [piece.text for piece in _divided(Strip([Segment("a row")]), [1, 5])] == ["a", " row"]
        assert strips_in_memory() == before
    finally:
        gc.enable()


def strips_in_memory() -> int:
    """How many strips there are, those among the garbage included."""
    return sum(isinstance(each, Strip) for each in gc.get_objects())


@pytest.mark.parametrize("theme", [DARK, LIGHT, TERMINAL])
async def test_rows_look_as_textual_draws_them(tmp_path: Path, theme: str) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        person.app.theme = theme
        await person.say(LONG)
        await person.idle()
        transcript = person.transcript
        for _ in range(3):
            transcript.scroll_relative(y=-7, animate=False)
            await person.taken_in()
            size = Region(0, 0, *transcript.size)
            transcript._styles_cache.clear()
            transcript._render_content()
            ours, theirs = transcript.render_lines(size), Widget.render_lines(transcript, size)
            assert [seen(strip, size.width) for strip in ours] == [
                seen(strip, size.width) for strip in theirs
            ]


async def test_the_scroll_bar_stands_over_the_edge_of_the_rows_while_their_end_is_out_of_sight(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say(LONG)
        await person.idle()
        transcript = person.transcript
        bar = transcript.vertical_scrollbar
        assert bar not in person.app.screen._compositor.visible_widgets
        transcript.scroll_relative(y=-7, animate=False)
        await person.taken_in()
        assert bar in person.app.screen._compositor.visible_widgets
        assert {strip.text for strip in bar.render_lines(Region(0, 0, *bar.size))} == {"▐"}
        assert bar.region.right == transcript.region.right == 100
        transcript.follow()
        await person.taken_in()
        assert bar not in person.app.screen._compositor.visible_widgets


async def test_keys_read_no_styles_until_these_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.type("a")
        read: list[Any] = []
        get_style = person.composer.get_component_rich_style

        def noted(*names: str, **how: Any) -> Style:
            read.append(names)
            return get_style(*names, **how)

        monkeypatch.setattr(person.composer, "get_component_rich_style", noted)
        await person.type("bcdef")
        assert read == []
        person.app.theme = LIGHT
        await person.taken_in()
        assert ("text-area--cursor",) in read


async def test_a_page_up_lays_nothing_out(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say(f"{LONG} {LONG}")
        await person.idle()
        await person.press("pageup")  # the scroll bar and the way down take their places
        await person.taken_in()
        laid_out: list[object] = []
        person.app.screen.screen_layout_refresh_signal.subscribe(
            person.transcript, laid_out.append, immediate=True
        )
        before = person.transcript.scroll_y
        await person.press("pageup")
        await person.taken_in()
        assert person.transcript.scroll_y < before
        assert not laid_out


async def test_a_conversation_from_the_history_is_the_first_that_is_drawn_when_the_list_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        await person.say("say alpha")
        await person.idle()
        await person.new_tab()
        await person.say("say beta")
        await person.idle()
        await person.press("ctrl+o")
        await person.sees("say alpha", "say beta")
        await person.press("down")
        frames: list[str] = []
        display = person.app._display

        def note(screen: Screen[Any], update: RenderableType | None) -> None:
            if not person.app._batch_count and screen is person.app.chat:
                frames.append(person.text)
            display(screen, update)

        # On a slow machine what comes in between is drawn, so that the list does not stand there for long.
        monkeypatch.setattr("catena.screens.chat.actions.tabs._LONGEST_STILL", 3_600.0)
        monkeypatch.setattr(person.app, "_display", note)
        await person.press("enter")
        await person.sees("  alpha")
        assert frames
        assert all("  alpha" in frame for frame in frames)

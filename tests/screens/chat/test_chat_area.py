"""The chat area as a widget: several on one screen, what leaves them, and the table of their commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.app import ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.screen import Screen

from catena.desktop.clipboard import ImageClipboard
from catena.screens.chat.area.area import ChatArea
from catena.screens.chat.commands.table import COMMANDS, SLASH_COMMANDS, command, slash_command
from catena.settings.settings import Settings, Start
from catena.terminal.key_gate import KeyGate
from catena.workspace.outgoing import OutgoingTexts
from support.screen.messages import press
from support.screen.pilot import at_the_screen
from support.screen.themed import ThemedApp


class TwoAreas(Screen[None], inherit_bindings=False):
    """A screen with two areas beside each other, before any store is open."""

    AUTO_FOCUS = ""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.left_by: list[str] = []
        self.heard: list[type[Message]] = []
        self.outgoing = OutgoingTexts()
        self.first, self.second = (self._area(directory, name) for name in ("first", "second"))

    def _area(self, directory: Path, name: str) -> ChatArea:
        return ChatArea(
            Start(str(directory), settings=Settings()),
            environment={},
            gate=KeyGate(self.app),
            outgoing=self.outgoing,
            call_person=lambda *_: None,
            clipboard=ImageClipboard({}, ask_terminal=lambda: False, most_bytes=1),
            leave=lambda: self.left_by.append(name),
            half_rows=lambda: True,
        )

    def compose(self) -> ComposeResult:
        yield self.first
        yield self.second

    def post_message(self, message: Message) -> bool:
        """Note what comes up from the areas."""
        if type(message).__module__.startswith("catena."):
            self.heard.append(type(message))
        return super().post_message(message)


@asynccontextmanager
async def two_areas(directory: Path) -> AsyncIterator[tuple[TwoAreas, Pilot[None]]]:
    async with ThemedApp().run_test(size=(80, 40)) as pilot:
        screen = TwoAreas(directory)
        await pilot.app.push_screen(screen)
        yield screen, pilot


async def test_w19_each_of_two_areas_knows_whether_it_has_the_keys(tmp_path: Path) -> None:
    async with two_areas(tmp_path) as (screen, pilot):
        first, second = screen.first, screen.second
        first.write_here()
        assert (first.place, second.place) == ("composer", "elsewhere")
        await second.find_bar.open()
        assert (first.place, second.place) == ("elsewhere", "finding")
        second.escape()
        assert (first.place, second.place) == ("elsewhere", "composer")
        await press(pilot, "h", "i")
        assert (first.prompt.composer.text, second.prompt.composer.text) == ("", "hi")


async def test_w19_what_is_sent_in_two_areas_before_the_store_is_open_is_kept_in_each(tmp_path: Path) -> None:
    async with two_areas(tmp_path) as (screen, pilot):
        for area, text in ((screen.first, "one"), (screen.second, "two")):
            area.write_here()
            await press(pilot, *text, "enter", *"more")
        first, second = screen.first.chat, screen.second.chat
        assert first.opened is None and second.opened is None
        assert [each.text for each in screen.outgoing.waiting(first.draft)] == ["one"]
        await pilot.app.pop_screen()
        assert [each.text for each in screen.outgoing.waiting(first.draft)] == ["one", "more"]
        assert [each.text for each in screen.outgoing.waiting(second.draft)] == ["two", "more"]


async def test_no_message_of_a_part_leaves_its_area_and_ctrl_d_leaves_early(tmp_path: Path) -> None:
    async with two_areas(tmp_path) as (screen, pilot):
        screen.second.write_here()
        await press(pilot, "/", "down", "tab", "enter", "x", "enter", "enter", "tab", "up")
        assert screen.second.prompt.composer.blank
        await press(pilot, "ctrl+d")
        assert screen.left_by == ["second"]
        await screen.second.find_bar.open("a")
        await press(pilot, "enter", "escape")
        assert screen.heard == []


async def test_what_is_sent_before_there_is_a_tab_is_in_the_composer_where_no_agent_is_chosen(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        await person.select("fold")
        person.chat.submit("say sent early")
        await person.done()
        assert not person.tabs
        assert person.draft == "say sent early"


def test_every_command_has_one_name_and_is_found_by_each_of_its_names() -> None:
    names = [name for each in SLASH_COMMANDS for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names)) and len(COMMANDS) == len({each.name for each in COMMANDS})
    for each in COMMANDS:
        assert command(each.name) is each
        for name in (each.name, *each.aliases):
            assert slash_command(name) is (each if each.by_name else None)

"""The sheets over a conversation."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catena.screens.aside.screen import AsideScreen
from catena.screens.background.screen import BackgroundScreen
from catena.screens.chain.screen import ChainScreen, LinkPage
from catena.screens.commands.help import HelpScreen
from catena.screens.commands.palette import CommandPalette
from catena.screens.common.page import PageScreen
from catena.screens.common.picker import Picker, PreviewPicker
from catena.screens.context.screen import ContextScreen
from catena.screens.history.acts import ActsMenu
from catena.screens.history.picker import HistoryScreen
from catena.screens.history.preview import ReadScreen
from catena.screens.settings.permissions import PermissionsScreen
from catena.screens.settings.screen import SettingsScreen
from catena.screens.settings.servers import AllowScreen, ServersScreen
from catena.screens.settings.templates import TemplatesScreen
from catena.settings.settings import Settings
from catena.settings.tables import McpSetting
from catena.themes import catalog
from support.screen.pilot import Person, at_the_screen
from support.sizes.stop import DOWN, Tour, escape, page, picker, sheet, stop

SETTINGS = Settings(mcp=(McpSetting("clock", command=("/bin/true",), env=(("TOKEN", "hush hush"),)),))


@stop("palette", "esc", close=escape, shows=(CommandPalette,), moves=DOWN)
async def palette(person: Person) -> None:
    """Every command."""
    await person.press("ctrl+p")
    await person.sees_dialog(Picker)
    await person.sees("Conversation")


@stop("help", "esc", close=escape, shows=(HelpScreen,))
async def help_page(person: Person) -> None:
    """The keys of the composer."""
    await person.press("f1")
    await person.sees_dialog(HelpScreen)


@stop("history", "esc", close=escape, shows=(HistoryScreen,))
async def history(person: Person) -> None:
    """The conversations."""
    await person.press("ctrl+o")
    await person.sees_dialog(HistoryScreen)
    await person.sees("one")


@stop("a preview in the history", "esc", close=escape, shows=(HistoryScreen,))
async def preview(person: Person) -> None:
    """What a conversation is about."""
    await person.press("ctrl+o")
    await person.sees_dialog(HistoryScreen)
    await person.sees("one")
    await person.press("f3")
    await person.sees("Began")


@stop("acts in the history", "esc", close=escape, shows=(ActsMenu,), moves=DOWN)
async def acts(person: Person) -> None:
    """What can be done with a conversation."""
    await person.press("ctrl+o")
    await person.sees_dialog(HistoryScreen)
    await person.sees("one")
    await person.press("f9")
    await person.sees("rename")


@stop("a conversation that is only read", "esc", close=escape, shows=(ReadScreen,))
async def reading(person: Person) -> None:
    """Its prompts and answers."""
    await person.press("ctrl+o")
    await person.sees_dialog(HistoryScreen)
    await person.sees("one")
    await person.press("f9", "v")
    await person.sees_dialog(ReadScreen)


@stop("help of a sheet", "esc", close=escape, shows=(PageScreen,))
async def help_of_sheet(person: Person) -> None:
    """Every key of the history."""
    await person.press("ctrl+o")
    await person.sees_dialog(HistoryScreen)
    await person.press("f1")
    await person.sees_dialog(PageScreen)


@stop("one session", "esc", close=escape, shows=(LinkPage,))
async def link(person: Person) -> None:
    """Everything about a session of the chain."""
    await person.say("/chain")
    await person.sees_dialog(ChainScreen)
    await person.sees("Sessions")
    await person.press("enter")
    await person.sees_dialog(LinkPage)


@stop("one setting", "esc", close=escape, shows=(Picker,))
async def setting(person: Person) -> None:
    """The values of a setting."""
    await person.say("/settings")
    await person.sees_dialog(SettingsScreen)
    await person.press(*["down"] * 7, "enter")
    await person.sees_dialog(Picker)


@stop("servers of a project", "esc", close=escape, shows=(AllowScreen,))
async def allow(person: Person) -> None:
    """Servers that wait for the person's word."""
    await person.say("/mcp")
    await person.sees_dialog(ServersScreen)
    await person.sees("bell")
    await person.press("a")
    await person.sees_dialog(AllowScreen)


@asynccontextmanager
async def begin(place: Path) -> AsyncIterator[Person]:
    """A conversation in a project with servers and templates of its own."""
    brought = {"bell": {"command": "/bin/echo", "args": [f"argument-{at}" for at in range(12)]}}
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": brought}))
    (place / "notes.txt").write_text("alpha\n")
    (prompts := place / ".catena" / "prompts").mkdir(parents=True)
    (prompts / "repeat.md").write_text("---\ndescription: Says it again\n---\nsay $1 again")
    async with at_the_screen(str(place), settings=SETTINGS, environment={"COLORTERM": "truecolor"}) as person:
        yield person


@asynccontextmanager
async def talked(place: Path) -> AsyncIterator[Person]:
    """The same, with prompts, a file that was read, and work that goes on."""
    async with begin(place) as person:
        await person.answered("say one `two` three")
        await person.answered("tool read notes.txt; say it is read")
        await person.answered("background cue never sleep 1000; say it runs")
        yield person


LISTS = Tour("lists", talked, (palette, help_page, help_of_sheet, picker("/inputs")), catalog.TERMINAL)
HISTORY = Tour("history", talked, (history, preview, acts, reading), catalog.TERMINAL)
SESSIONS = Tour(
    "sessions",
    talked,
    (
        sheet("/chain", ChainScreen, "Sessions"),
        link,
        sheet("/context", ContextScreen),
        sheet("/background", BackgroundScreen, "sleep 1000"),
    ),
    catalog.TERMINAL,
)
ASIDE = Tour(
    "aside",
    talked,
    (
        sheet("/btw say an answer beside it", AsideScreen, "an answer beside it"),
        page("/usage", "Cost of this conversation"),
        page("/files", "Files on this branch"),
    ),
    catalog.TERMINAL,
)
SETUP = Tour(
    "setup",
    begin,
    (
        sheet("/settings", SettingsScreen, moves=DOWN),
        setting,
        sheet("/mcp", ServersScreen, "bell", moves=DOWN),
        allow,
        sheet("/permissions", PermissionsScreen),
        sheet("/templates", TemplatesScreen, "repeat"),
        sheet("/theme", PreviewPicker, moves=DOWN),
    ),
    catalog.TERMINAL,
)
CHOOSING = Tour(
    "choosing",
    begin,
    (
        picker("/model"),
        picker("/mode"),
        picker("/options"),
        picker("/agent"),
        picker("/logout"),
    ),
    catalog.TERMINAL,
)

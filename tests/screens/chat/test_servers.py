"""`/mcp`: the servers of a conversation, without their secrets, and the answer to those of a project."""

from __future__ import annotations

import json
from pathlib import Path

from catena.screens.settings.servers import AllowScreen
from catena.settings.settings import Settings
from catena.settings.tables import McpSetting
from support.screen.pilot import at_the_screen

SETTINGS = Settings(
    mcp=(
        McpSetting("clock", command=("/bin/true",), env=(("TOKEN", "hush hush"),)),
        McpSetting("far", url="https://h/mcp?key=sk-ant-api03-abcdefghijklmnop1234", agents=("claude",)),
    )
)


async def test_w14_mcp_lists_what_is_sent_and_why_not_and_allows_what_a_project_brings(
    tmp_path: Path,
) -> None:
    brought = {"bell": {"command": "/bin/echo", "args": ["\x1b]0;x\x07[b]ding"]}, "odd": {}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": brought}))
    async with at_the_screen(str(tmp_path), settings=SETTINGS) as person:
        await person.say("say one")
        await person.idle()
        await person.say("/mcp")
        await person.sees("MCP servers", "clock", "sent", "far", "for other agents", "masked", "[b]ding")
        await person.sees("This project (.mcp.json)", "waits for you to allow it", "cannot be used")
        await person.press("enter")
        await person.sees("TOKEN = (hidden)", "Settings file")
        await person.press("escape")
        await person.sees("allow the project's")
        await person.press("down", "down", "down", "enter")
        await person.sees("odd: has no `command`")
        await person.press("a")
        await person.sees("Allow these servers?", "/bin/echo", "[b]ding")
        await person.press("escape")
        await person.sees("waits for you to allow it")
        await person.type_at_once("ay")
        await person.sees("Press again to confirm.")
        await person.apart()
        await person.press("y")
        await person.sees("sent with your next prompt", "Allowed, until .mcp.json changes")
        await person.press("escape")
        await person.back()
        await person.say("say two")
        await person.idle()
        listed = await person.tab.conversation.servers.listed(person.tab.window_id)
        assert listed.in_session == {"clock", "bell"}


async def test_w14_on_the_smallest_screen_all_that_is_allowed_is_seen_first(tmp_path: Path) -> None:
    brought = {
        "bell": {
            "command": "/bin/echo",
            "args": [f"argument-{at}" for at in range(12)],
            "env": {"LAST": "seen"},
        }
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": brought}))
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        await person.say("/mcp")
        await person.sees("bell")
        await person.press("a")
        await person.sees("Allow these servers?", "/bin/echo")
        while "LAST = seen" not in person.text:
            await person.apart()
            await person.press("y")
            await person.sees("There is more: scroll to the end.")
        await person.apart()
        while isinstance(person.app.screen, AllowScreen):
            await person.apart()
            await person.press("y")
        await person.sees("Allowed, until")

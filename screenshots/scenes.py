"""What the pictures show. Each scene plays in an application of its own and gives the screen it ends with."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path

from screenshots.stage import stage

Scene = Callable[[Path], Coroutine[None, None, str]]


async def first_start(folder: Path) -> str:
    """Catena in a project for the first time: which agents are here."""
    async with stage(folder, agent=False) as app:
        await app.shows("Claude Code", "ready")
        return app.picture()


async def chat(folder: Path) -> str:
    """A conversation with a thought, tools, Markdown and code."""
    async with stage(folder) as app:
        await app.say("The login form loses the `next` parameter. Find out why, and mend it.")
        await app.shows("front page")
        return app.picture()


async def permission(folder: Path) -> str:
    """The agent asks before it changes a file."""
    async with stage(folder) as app:
        await app.say("Go on, mend it.")
        await app.shows("Allow once", "esc leave it open")
        return app.picture()


async def seam(folder: Path) -> str:
    """The agent was killed in the middle of an answer; the next prompt brings the conversation to a new one."""
    async with stage(folder) as app:
        await app.say("What does the view do with the parameter?")
        await app.shows("never sees it")
        await app.say("Now add a test.")
        await app.shows("interrupted")
        await app.say("Go on where you stopped: what does the test do?")
        await app.shows("caught up", "fails")
        return app.picture()


SCENES: dict[str, Scene] = {
    "first-start": first_start,
    "chat": chat,
    "permission": permission,
    "seam": seam,
}
